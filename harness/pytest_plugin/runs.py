"""One case in one test: what the fixture gives, what a scenario item runs, and what is printed when it fails.

Here: choosing the run to tell, and putting its story, its verdicts and its replay command below each other. Never here:
judging (the outcome is the judge's), and names or collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import pytest

from harness.campaign.assemble import replay_command
from harness.campaign.bench import Examined, verdict_of
from harness.model.errors import KnownstateError
from harness.model.schedule import Schedule
from harness.pytest_plugin.sweeps import CONTROL, VIOLATION, Case, Sweep
from harness.report.redact import redact
from harness.report.story import story
from harness.store.history_file import decode, read_member

OTHERS_SHOWN_MAX = 10
"""So many schedules that fail beside the one told are listed."""


class KnownstateRun:
    """One case in one test. `check()` fails the test with the story; `run()` leaves the judgement to the test."""

    def __init__(self, case: Case, item: pytest.Item) -> None:
        self.case = case
        self._properties = item.user_properties
        self._rows: list[Examined] = []
        self._note(seed=case.sweep.scenario.seed)
        if case.only is not None:
            self._note_schedule(str(case.only))

    @property
    def schedule(self) -> Schedule:
        """The schedule, or the first of several. Skips the test when there is none."""
        with plainly(_failed):
            return next(iter(self.case.schedules()), None) or _nothing_to_run()

    def run(self) -> Examined:
        """Examine every schedule; the worst is returned, of equally bad ones the smallest. Skips when there is none."""
        if not self._rows:
            with plainly(_failed):
                self._rows += _until_violated(self.case) if self.case.name == VIOLATION else _all_of(self.case)
        return min(self._rows, key=_rank, default=None) or _nothing_to_run()

    def check(self) -> None:
        """Fail, with the story and the replay command, unless the outcome is the one the scenario expects."""
        control = self.case.sweep.control
        if control.outcome != "holds" and self.case.name != CONTROL:
            self._fail(control, f"not judged: without any fault the outcome is {control.outcome} already")
        worst = self.run()
        if self.case.only is None:
            self._note(schedules=len(self._rows))
        if worst.outcome != self._wanted():
            self._fail(worst, _headline(worst))

    def _wanted(self) -> str:
        return self.case.sweep.scenario.expect.value.replace("violation", "violated")

    def _fail(self, row: Examined, headline: str) -> NoReturn:
        self._note_schedule(row.schedule)
        others = [r.schedule for r in sorted(self._rows, key=_rank) if r.outcome != self._wanted() and r is not row]
        text = [headline, *_story(self.case.sweep, row), *_others(others, len(self._rows)), "", "Replay:"]
        raise _failed("\n".join([*text, _replay(self.case.sweep, row.schedule)]))

    def _note_schedule(self, line: str) -> None:
        self._note(schedule=line, replay=_replay(self.case.sweep, line))

    def _note(self, **properties: object) -> None:
        """Properties go with the report, from any xdist worker into the JUnit file; the last word of a name counts."""
        kept = [(name, value) for name, value in self._properties if name not in properties]
        self._properties[:] = [*kept, *((name, str(value)) for name, value in properties.items())]


def _failed(text: str) -> BaseException:
    return pytest.fail.Exception(text, pytrace=False)


def _nothing_to_run() -> NoReturn:
    pytest.skip("other schedules lead to every boundary on these recovery paths, or another shard runs them")


def _all_of(case: Case) -> list[Examined]:
    return [case.sweep.examine(schedule) for schedule in case.schedules()]


def _until_violated(case: Case) -> list[Examined]:
    rows = []
    for schedule in case.schedules():
        rows.append(case.sweep.examine(schedule))
        if rows[-1].outcome == "violated":
            break
    return rows


def _rank(row: Examined) -> tuple[int, int, int, str]:
    return ("violated", "unknown", "holds").index(row.outcome), row.schedule.count("="), row.events, row.schedule


def _headline(row: Examined) -> str:
    names = ", ".join(v["guarantee"] for v in row.verdicts if v["outcome"] == row.outcome)
    said = {
        "violated": f"{names} violated",
        "unknown": f"unknown, which never passes ({names})",
        "holds": "every guarantee holds, and the scenario expects a violation",
    }
    return f"{said[row.outcome]}: {row.schedule}"


def _story(sweep: Sweep, row: Examined) -> Iterator[str]:
    """The run as the report tells it, from the history on disk, and what the judge says of it."""
    verdicts = [verdict_of(verdict) for verdict in row.verdicts]
    history = decode(read_member(sweep.part, row.offset, row.length), row.schedule)
    yield from ("", *story(history, sweep.scenario, verdicts))
    for verdict in verdicts:
        yield from ("", f"{verdict.guarantee} is {verdict.outcome}:", redact(verdict.explanation))


def _others(lines: Sequence[str], total: int) -> Iterator[str]:
    if lines:
        yield from ("", f"{len(lines) + 1} of {total} schedules fail. Beside the one above:", *lines[:OTHERS_SHOWN_MAX])
    if len(lines) > OTHERS_SHOWN_MAX:
        yield f"and {len(lines) - OTHERS_SHOWN_MAX} more"


def _replay(sweep: Sweep, line: str) -> str:
    return replay_command(line, sweep.candidate, sweep.scenario.path)


def paragraph(error: KnownstateError) -> str:
    """What, where and next, a line each."""
    lines = [
        error.what,
        f"Where: {error.where}" if error.where else "",
        f"Next: {error.next_step}" if error.next_step else "",
    ]
    return "\n".join(filter(None, lines))


@contextmanager
def plainly(shown_as: Callable[[str], BaseException]) -> Iterator[None]:
    """An error that a person can act on is shown as its paragraph, without a traceback."""
    try:
        yield
    except KnownstateError as error:
        raise shown_as(paragraph(error)) from None
