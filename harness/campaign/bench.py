"""The bench: one candidate on one scenario on one rig, and what an examination of a schedule gives.

An examination runs the schedule, writes the history, and only then judges it. Benches are made where they are used (each process of a
campaign makes its own), from a spec that can be pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from harness.candidates.contract import Traits
from harness.candidates.loading import load_candidate
from harness.explore.singles import Abilities, Variant, variant_of
from harness.judge.judge import judge
from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell
from harness.model.errors import CandidateError, HarnessBug, KnownstateError
from harness.model.event import History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, Verdict, overall
from harness.model.workflow import Expectation, Scenario
from harness.store.history_file import Part, encode, hash_of

Sites = Mapping[str, tuple[Phase, Purpose, str, str, str, bool, bool]]


class Ran(Protocol):
    """What a rig gives for one run."""

    @property
    def history(self) -> History: ...

    @property
    def sites(self) -> Sites: ...

    @property
    def crossings(self) -> int: ...


class Rig(Protocol):
    """Where runs happen."""

    @property
    def name(self) -> str: ...

    @property
    def cells(self) -> Mapping[str, Cell]: ...

    def run(self, schedule: Schedule) -> Ran:
        """One run."""

    def close(self) -> None:
        """Leave nothing behind."""


@dataclass(frozen=True, slots=True)
class BenchSpec:
    """Everything needed to make a bench in another process."""

    candidate: str
    scenario: Scenario
    cell: Cell | None
    rig: str
    state_root: str
    run_max_s: float = 0.0
    """Real seconds after which a simulated run is cut; 0: never. It takes the process's alarm: only for processes of our own."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One examined schedule: plain data, small enough to travel between processes. `sites` are those nobody knew before."""

    schedule: str
    outcome: str
    fired: bool
    verdicts: list[dict[str, Any]]
    crossings: int
    events: int
    trace: str
    part: str
    offset: int
    length: int
    sites: dict[str, list[Any]]

    def row(self) -> dict[str, Any]:
        """As a row of the campaign store."""
        return {name: getattr(self, name) for name in Examined.__slots__}


class Bench:
    """Makes runs, keeps their histories, judges them."""

    def __init__(self, spec: BenchSpec, part: Path | None = None) -> None:
        self.spec = spec
        self.scenario = as_run(spec.scenario)
        self.rig, self.traits = make_rig(spec, self.scenario)
        self._part = Part(part) if part is not None else None

    @property
    def abilities(self) -> Abilities:
        """What the candidate declares, for the explorer."""
        return Abilities(self.traits.verbs, self.traits.lease_ns > 0)

    def examine(self, schedule: Schedule, known: frozenset[Variant] = frozenset()) -> Examined:
        """Run, write, judge. Raises KnownstateError only: HarnessBug for whatever breaks that is ours."""
        try:
            return self._examined(schedule, known)
        except KnownstateError:
            raise
        except Exception as error:  # the one place where an error of rig or judge gets the line that brought it about
            raise _void(schedule, error) from error

    def _examined(self, schedule: Schedule, known: frozenset[Variant]) -> Examined:
        ran = self.rig.run(schedule)
        data = encode(ran.history)
        offset, length = self._part.append(data) if self._part is not None else (0, 0)
        verdicts = judge(ran.history, self.scenario)
        return Examined(
            schedule=str(schedule),
            outcome=overall(verdicts).value,
            fired=all(ran.history.has_fired(i.fault.value, i.boundary) for i in schedule.injections),
            verdicts=[plain_verdict(v) for v in verdicts if v.outcome is not Outcome.HOLDS],
            crossings=ran.crossings,
            events=len(ran.history.events),
            trace=hash_of(data),
            part=self._part.path.name if self._part else "",
            offset=offset,
            length=length,
            sites={path: list(facts) for path, facts in ran.sites.items() if variant_of(path, facts) not in known},
        )

    def close(self) -> None:
        self.rig.close()
        if self._part is not None:
            self._part.close()


def make_rig(spec: BenchSpec, scenario: Scenario) -> tuple[Rig, Traits]:
    """The rig of this name, with the candidate on it. Rigs are imported when they are used."""
    candidate = load_candidate(spec.candidate)
    if spec.rig == "process":
        from harness.rigs.process import ProcessRig

        root = Path(spec.state_root)
        return ProcessRig(spec.candidate, scenario, state_root=root, cell=spec.cell), candidate.traits
    from harness.rigs.simulation import SimulationRig

    try:
        made = SimulationRig(candidate, scenario, spec.candidate, spec.cell)
    except KnownstateError:
        raise
    except Exception as error:  # a stranger's `prepare` may raise anything
        raise CandidateError(
            f"The candidate could not prepare an empty store: {type(error).__name__}: {error}.",
            where=f"{spec.candidate}, prepare",
            next_step="prepare(connection) must create its tables on the sqlite3 connection it is given.",
        ) from error
    made.real_time_max_s = spec.run_max_s
    return made, candidate.traits


def as_run(scenario: Scenario) -> Scenario:
    """The scenario as a run's history carries it: without what decides no run (where the file lies, what is explored or expected).

    So a schedule gives the same history, byte for byte, from its line, from a bundle's scenario file and from another folder.
    """
    return replace(scenario, path="", faults=frozenset(), schedule="", expect=Expectation.HOLDS)


def _void(schedule: Schedule, error: Exception) -> HarnessBug:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f", {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return HarnessBug(
        f"A run could not be examined: {type(error).__name__}: {error}.",
        where=f"schedule line {str(schedule)!r}{place}",
        next_step="This is a fault of knownstate, not of the candidate: report the line.",
    )


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "guarantee": verdict.guarantee,
        "outcome": verdict.outcome.value,
        "witness": list(verdict.witness),
        "explanation": verdict.explanation,
        "subject": verdict.subject,
    }


def verdict_of(data: Mapping[str, Any]) -> Verdict:
    return Verdict(
        data["guarantee"], Outcome(data["outcome"]), tuple(data["witness"]), data["explanation"], data["subject"]
    )
