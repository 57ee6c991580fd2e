"""A violation that was found: kept as a pinned scenario file, and told to a person.

While Hypothesis shrinks, each failing run replaces the file of its guarantee. Hypothesis runs the smallest case last,
so the file that remains is the smallest one's. A candidate may also take the whole process down with it; for that the
schedule under way is written ahead of each fault. Never here: Hypothesis.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, replace
from pathlib import Path

from harness.judge.judge import judge
from harness.model.errors import CandidateError
from harness.model.event import History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, Verdict
from harness.model.workflow import Expectation, Scenario
from harness.store.atomic import unwritable, write_whole

EXPORT_VARIABLE = "KNOWNSTATE_EXPORT"
EXPORT_FOLDER = Path(".knownstate") / "found"


class Violated(AssertionError):
    """A guarantee is broken. Each has a class of its own, so that Hypothesis shrinks each as a failure of its own."""


class Undecided(AssertionError):
    """All faults fired and the judge still has no opinion. That never passes."""


@functools.cache
def violation_of(guarantee: str) -> type[Violated]:
    """The class for one guarantee: `no-duplicate-effect` -> `ViolatedNoDuplicateEffect`."""
    name = "Violated" + "".join(part.capitalize() for part in guarantee.split("-"))
    return type(name, (Violated,), {"__module__": __name__, "__doc__": f"{guarantee} is broken."})


@dataclass(frozen=True, slots=True)
class Found:
    """A violating run, whole. `verdicts` are the violated ones, first the one it was found by and is named after."""

    scenario: Scenario
    candidate: str
    history: History
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, scenario: Scenario, candidate: str, history: History, guarantee: str) -> Found:
        """Judge the run once more, all guarantees, and put `guarantee` first."""
        bad = [v for v in judge(history, scenario) if v.outcome is Outcome.VIOLATED]
        bad.sort(key=lambda v: v.guarantee != guarantee)
        assert bad, "a finding has a violation"
        assert bad[0].guarantee == guarantee, f"{guarantee} is violated"
        return cls(scenario, candidate, history, tuple(bad))

    @property
    def first(self) -> Verdict:
        return self.verdicts[0]

    @property
    def line(self) -> str:
        return self.history.header.schedule


def unrepeatable(candidate: str, schedule: Schedule) -> CandidateError:
    """Two runs of one schedule differ: what one of them shows is no finding anybody could act on."""
    return CandidateError(
        "The same schedule gave two different runs: the candidate keeps or draws something outside its store.",
        where=f"{candidate}, schedule line {schedule}",
        next_step="Take time and identity from the handles; keep nothing in modules and classes.",
    )


class TraceAhead:
    """The schedule under way, on disk while it is under way and no longer: it remains only if the process dies."""

    def __init__(self, folder: Path, scenario: str) -> None:
        self.path = folder / f"{scenario}-{os.getpid()}.last-seen"

    def write(self, line: str) -> None:
        """Say what is about to be done. Raises EnvironmentMissing when the folder cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(f"{line}\n")
        except OSError as error:
            raise unwritable(self.path, error) from error

    def forget(self) -> None:
        """It is done, and the process lives."""
        self.path.unlink(missing_ok=True)


def export_folder(chosen: str | Path = "") -> Path:
    """Where findings go: what the test chose, else KNOWNSTATE_EXPORT, else `.knownstate/found`, relative to here."""
    return Path(chosen or os.environ.get(EXPORT_VARIABLE) or EXPORT_FOLDER)


def export(found: Found, folder: Path) -> Path:
    """Write the pinned scenario, whole or not at all. A later one of the same guarantee replaces it."""
    from harness.scenario_files.writer import dump

    path = folder / f"{found.scenario.id}-{found.first.guarantee}.scenario.yaml"
    write_whole(path, dump(pinned(found)))
    return path


def pinned(found: Found) -> Scenario:
    """The scenario with the violating schedule in it, expected to be violated until somebody mends the candidate."""
    verdict = found.first
    return replace(
        found.scenario,
        title=f"{verdict.guarantee} is broken in {found.scenario.id}",
        why=" ".join(verdict.explanation.split()),
        source="found by LedgerMachine",
        rigs=("simulation",),
        schedule=found.line,
        expect=Expectation.VIOLATION,
    )


def tell(found: Found, path: Path) -> str:
    """The failure's message: the story, the contradiction, where it is kept, and the command that runs it again."""
    from harness.campaign.assemble import replay_command
    from harness.report.story import story

    replay = replay_command(found.line, found.candidate, str(path))
    broken = ", ".join(v.guarantee for v in found.verdicts)
    return "\n".join(
        [
            f"{broken}: broken by {found.candidate} on {found.scenario.id}",
            "",
            *story(found.history, found.scenario, found.verdicts),
            "",
            found.first.explanation,
            "",
            f"schedule: {found.line}",
            f"kept in:  {path}",
            f"replay:   {replay}",
        ]
    )
