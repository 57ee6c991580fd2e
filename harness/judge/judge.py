"""Judging one run: the verdict of every guarantee that the candidate's level can show.

Here: which guarantees are asked, and when an answer does not count. Never here: a rule.
A violation is a value; what cannot be decided is `unknown` and never passes: a fault that did not fire, a history cut
short, a checker that crashed.
"""

from __future__ import annotations

from collections.abc import Collection

from harness.judge.ledgers import Ledgers, read_ledgers
from harness.judge.registry import GUARANTEES, Guarantee
from harness.judge.verdicts import undecided
from harness.model.errors import UsageError
from harness.model.event import History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, Verdict
from harness.model.workflow import Scenario

__all__ = ["GUARANTEES", "Guarantee", "judge", "not_observable"]


def judge(history: History, scenario: Scenario, *, only: Collection[str] = ()) -> tuple[Verdict, ...]:
    """Verdicts in registry order, of `only` or else of the scenario's guarantees or else of all.

    Those above the candidate's level are left out (`not_observable` lists them). Raises UsageError for an unknown id.
    """
    asked = [row for row in _selected(only or scenario.guarantees) if row.level <= int(history.header.traits["level"])]
    try:
        schedule = Schedule.parse(history.header.schedule)
        void = _unfired(history, schedule)
        ledgers = read_ledgers(history, scenario, schedule.cell) if not void else None
    except Exception as error:  # Whatever the history is made of, a judge that cannot read it has no opinion.
        void, ledgers = f"the history cannot be read: {_name(error)}", None
    if ledgers is None:
        return tuple(undecided(row.id, void) for row in asked)
    return tuple(_verdict(row, ledgers) for row in asked)


def not_observable(level: int) -> dict[str, str]:
    """The guarantees that a candidate of this level cannot show, each with the reason."""
    return {
        row.id: f"observable from level {row.level}; the candidate declares level {level}"
        for row in GUARANTEES.values()
        if row.level > level
    }


def _selected(ids: Collection[str]) -> list[Guarantee]:
    unknown = sorted(set(ids) - set(GUARANTEES))
    if unknown:
        raise UsageError(
            f"There is no guarantee {unknown[0]!r}; the guarantees are {', '.join(GUARANTEES)}.",
            next_step="Correct the id in the options or in the scenario's `guarantees`.",
        )
    return [row for row in GUARANTEES.values() if not ids or row.id in ids]


def _unfired(history: History, schedule: Schedule) -> str:
    """Why the run is not the one its schedule asks for, or ""."""
    if not schedule.injections:
        return ""
    fired = {(event.where, event.data["fault"]) for event in history.events if event.kind == "fault-fired"}
    for injection in schedule.injections:
        if (injection.boundary, injection.fault) not in fired:
            return f"fault {injection.fault} at {injection.boundary} did not fire"
    return ""


def _verdict(guarantee: Guarantee, ledgers: Ledgers) -> Verdict:
    try:
        verdict = guarantee.check(ledgers)
    except (
        Exception
    ) as error:  # The one place that must survive a rule's bug: its verdict is void, the others' are not.
        return undecided(guarantee.id, f"checker crashed: {_name(error)}")
    if ledgers.cut_short and verdict.outcome is not Outcome.VIOLATED:
        return undecided(guarantee.id, f"the run was cut short: {ledgers.cut_short}")
    return verdict


def _name(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
