"""Runs of the simulation rig for tests: by schedule line, of the reference ledger or of a candidate made for one test."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fakes.core.journal import Counts, count
from harness.candidates.contract import Candidate
from harness.candidates.loading import REFERENCE, load_candidate
from harness.judge.judge import judge
from harness.model.cell import Cell
from harness.model.event import Event, History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, Verdict
from harness.model.workflow import Scenario
from harness.rigs.simulation import Explored, Run, SimulationRig
from harness.scenario_files import find, load


@functools.cache
def scenario_of(name: str) -> Scenario:
    """A shipped scenario."""
    return load(find(name))


@functools.cache
def _rig(candidate: str, scenario: str, cell: Cell | None) -> SimulationRig:
    """One rig for all runs of these three: what one run leaves behind must not reach the next, so sharing it is a test too."""
    return SimulationRig(load_candidate(candidate), scenario_of(scenario), candidate, cell)


def explored(line: str, candidate: str = REFERENCE) -> Explored:
    """Run a schedule line of a shipped scenario, and insist that every injection fired."""
    schedule = Schedule.parse(line)
    ran = _rig(candidate, schedule.scenario, schedule.cell).run(schedule)
    for injection in schedule.injections:
        assert ran.history.has_fired(injection.fault.value, injection.boundary), f"{injection} fires in {line}"
    return ran


def play(line: str, candidate: str = REFERENCE) -> History:
    """The history of a schedule line all of whose injections fired."""
    return explored(line, candidate).history


@contextmanager
def begun(candidate: Candidate, line: str) -> Iterator[Run]:
    """A run of a candidate made for this test, not started; reaped at the end, if the test did not do it."""
    schedule = Schedule.parse(line)
    rig = SimulationRig(candidate, scenario_of(schedule.scenario), cell=schedule.cell)
    run = rig.begin(schedule)
    try:
        yield run
    finally:
        run.reap()
        rig.close()


def bad_verdicts(history: History) -> list[Verdict]:
    """The verdicts that do not hold."""
    schedule = Schedule.parse(history.header.schedule)
    return [v for v in judge(history, scenario_of(schedule.scenario)) if v.outcome is not Outcome.HOLDS]


def violated(history: History) -> set[str]:
    return {v.guarantee for v in bad_verdicts(history) if v.outcome is Outcome.VIOLATED}


def counts_of(history: History, call: str) -> Counts:
    """The four counts of one call."""
    by_endpoint = count(event for event in history.events if event.data.get("call") == call)
    assert len(by_endpoint) <= 1, f"{call} goes to one provider"
    return next(iter(by_endpoint.values()), Counts())


def saw(history: History, call: str) -> Event:
    """What the caller of this call saw of it."""
    (event,) = [e for e in history.of_kind("caller-saw") if e.data["call"] == call]
    return event


def fired(history: History) -> Event:
    """The one fault that fired."""
    (event,) = history.of_kind("fault-fired")
    return event


def after(history: History, event: Event, kind: str) -> list[Event]:
    """Events of this kind after that one."""
    return [e for e in history.of_kind(kind) if e.index > event.index]


def effects(history: History) -> list[tuple[str, str, int]]:
    """(operation, action, delivery) of every effect, in order."""
    return [(e.data["operation"], e.data["action"], e.data["delivery"]) for e in history.of_kind("effect")]


def audit(history: History) -> dict[str, Any]:
    """The final audit: `operations`, `workflow`, `timers_left`."""
    (event,) = history.of_kind("audited")
    return dict(event.data)


def end_of(history: History) -> tuple[str, dict[str, str]]:
    """The workflow's final state, and `state` or `state/resolution` of every operation."""
    found = audit(history)
    return found["workflow"], {name: "/".join(filter(None, state)) for name, state in found["operations"].items()}


def claims(history: History, subject: str) -> list[str]:
    """The states a subject went through, as the candidate claimed them."""
    return [str(e.data["to"]) for e in history.of_kind("claimed") if e.data["subject"] == subject]
