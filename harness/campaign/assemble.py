"""Puts a campaign's rows together into one result, picks the failures to show, and writes a bundle for each."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from harness.campaign.bench import Examined, verdict_of
from harness.explore.singles import Planned
from harness.judge.judge import GUARANTEES, not_observable
from harness.judge.telling import most_telling_first, rank_of
from harness.model.plain import to_plain
from harness.model.result import CampaignResult, Coverage, Failure, RunRow
from harness.model.verdict import Outcome
from harness.model.workflow import Expectation
from harness.report.story import story
from harness.store.bundle import clear_bundles, write_bundle
from harness.store.environment import environment
from harness.store.history_file import decode, read_member

if TYPE_CHECKING:
    from harness.campaign.runner import Campaign

FAILURES_MAX = 25
"""So many failures are told in full; the rest are rows."""


class Ended(StrEnum):
    """How a campaign ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    MAX_FAILURES = "max-failures"
    MAX_SCHEDULES = "max-schedules"
    MAX_TIME = "max-time"
    CONTROL_FAILED = "control-failed"


EXIT_CODES = {Outcome.HOLDS: 0, Outcome.VIOLATED: 1, Outcome.UNKNOWN: 3}
INTERRUPTED_EXIT = 130
NOTHING_SELECTED_EXIT = 5


def assemble(campaign: Campaign) -> CampaignResult:
    """The result value of a finished or stopped campaign."""
    options, scenario = campaign.options, campaign.scenario
    pairs = [(p, campaign.rows[str(p.schedule)]) for p in campaign.planned if str(p.schedule) in campaign.rows]
    control = [row for p, row in pairs if not p.fault]
    faulted = [(p, row) for p, row in pairs if p.fault]
    control_outcome = Outcome(control[0].outcome) if control else Outcome.UNKNOWN
    traits = to_plain(campaign.engine.bench.traits)
    level = int(traits["level"])
    judged = {
        g.id: g.statement
        for g in GUARANTEES.values()
        if g.level <= level and (not scenario.guarantees or g.id in scenario.guarantees)
    }
    outcome = _overall(control_outcome, [row for _, row in faulted], campaign.ended)
    result = CampaignResult(
        scenario={**to_plain(scenario), "cells": {n: str(c) for n, c in campaign.engine.bench.rig.cells.items()}},
        candidate=campaign.candidate,
        traits=traits,
        rig=options.rig,
        seed=options.seed,
        cell=str(options.cell or ""),
        guarantees=judged,
        not_observable=not_observable(level),
        control=control_outcome,
        control_verdicts=tuple(verdict_of(v) for row in control for v in row.verdicts),
        outcome=outcome,
        exit_code=_exit_code(campaign, outcome, len(faulted)),
        coverage=_coverage(campaign, faulted),
        rows=tuple(_run_row(p, row) for p, row in faulted),
        failures=(),
        command=campaign.command,
        ended=campaign.ended.value,
        environment=environment(),
        seconds=round(time.monotonic() - campaign.started, 3),
        out=str(campaign.folder),
    )
    shown = pairs if control_outcome is not Outcome.HOLDS else faulted
    return replace(result, failures=tuple(_failures(campaign, shown)))


def _overall(control: Outcome, rows: list[Examined], ended: Ended) -> Outcome:
    if control is not Outcome.HOLDS:
        return Outcome.UNKNOWN
    outcomes = {row.outcome for row in rows}
    if "violated" in outcomes:
        return Outcome.VIOLATED
    if "unknown" in outcomes or ended is not Ended.COMPLETE or not rows:
        return Outcome.UNKNOWN
    return Outcome.HOLDS


def _exit_code(campaign: Campaign, outcome: Outcome, explored: int) -> int:
    if campaign.ended is Ended.INTERRUPTED:
        return INTERRUPTED_EXIT
    if outcome is Outcome.UNKNOWN and not explored and campaign.ended is Ended.COMPLETE:
        return NOTHING_SELECTED_EXIT
    if campaign.scenario.expect is Expectation.VIOLATION and outcome is not Outcome.UNKNOWN:
        return 0 if outcome is Outcome.VIOLATED else 1
    return EXIT_CODES[outcome]


def _coverage(campaign: Campaign, faulted: list[tuple[Planned, Examined]]) -> Coverage:
    planned = [p for p in campaign.planned if p.fault]
    singles = campaign.singles
    known = len(singles.known) if singles else 0
    control_known = singles.control_count if singles else 0
    return Coverage(
        total=len(planned) + campaign.skipped,
        explored=len(faulted),
        fired=sum(row.fired for _, row in faulted),
        boundaries=known,
        recovery_boundaries=known - control_known,
        left_out=tuple(_left_out(campaign, len(planned) - len(faulted))),
        rounds=campaign.rounds,
    )


def _left_out(campaign: Campaign, not_run: int) -> list[str]:
    said = []
    if campaign.skipped:
        beside = len(campaign.seen) - len(campaign.rows)
        found = f" {beside} of them were run all the same, to find the recovery paths." if beside else ""
        said.append(f"{campaign.skipped} schedules were not selected by --only, --exclude or --shard.{found}")
    if campaign.reduced:
        broke = sum(row.outcome == "violated" for line, row in campaign.rows.items() if line in campaign.audit)
        audit = f"{len(campaign.audit)} more were run as an audit of that, {broke} of them violated."
        said.append(f"{campaign.reduced} schedules with faults in several operations were left out (--reduce); {audit}")
    if not_run:
        said.append(f"{not_run} schedules were not run: the campaign ended early ({campaign.ended.value}).")
    if (
        campaign.ended is not Ended.COMPLETE
        and campaign.ended is not Ended.CONTROL_FAILED
        and not campaign.scenario.schedule
    ):
        said.append("Boundaries on recovery paths that the schedules not run would have reached are not counted.")
    singles = campaign.singles
    if singles and singles.beyond:
        said.append(
            f"{len(singles.beyond)} boundaries are reached only with two faults before them: left to deeper exploration."
        )
    if campaign.options.skip_recovery_paths and not campaign.scenario.schedule and campaign.options.faults == 1:
        said.append("Boundaries on recovery paths were left out (--skip-recovery-paths).")
    if campaign.scenario.faults and not campaign.scenario.schedule:
        said.append(
            f"The scenario allows {len(campaign.scenario.faults)} kinds of fault: {', '.join(sorted(campaign.scenario.faults))}."
        )
    return said


def _run_row(planned: Planned, row: Examined) -> RunRow:
    return RunRow(
        row.schedule,
        planned.boundary,
        planned.fault,
        planned.trigger,
        Outcome(row.outcome),
        row.fired,
        tuple(verdict_of(v) for v in row.verdicts),
        row.crossings,
        row.events,
    )


# -- failures -----------------------------------------------------------------------------------------------------------------


def _failures(campaign: Campaign, pairs: list[tuple[Planned, Examined]]) -> list[Failure]:
    """One failure for each kind (guarantee, fault, phase): its smallest schedule. Violations before unknowns, small before large."""
    groups: dict[tuple[str, ...], list[tuple[Planned, Examined]]] = {}
    for planned, row in pairs:
        if row.outcome != "holds":
            groups.setdefault(_kind(planned, row), []).append((planned, row))
    chosen = sorted((min(group, key=_size), len(group)) for group in map(_sortable, groups.values()))
    clear_bundles(campaign.folder / "failures")
    return [
        _failure(campaign, number, pair[-1], count)
        for number, (pair, count) in enumerate(chosen[:FAILURES_MAX], start=1)
    ]


def _kind(planned: Planned, row: Examined) -> tuple[str, ...]:
    return (row.outcome, _worst(row), planned.fault, planned.boundary.rpartition("/")[2])


def _worst(row: Examined) -> str:
    """The most telling guarantee that is not kept in this run."""
    return most_telling_first(verdict_of(v) for v in row.verdicts)[0].guarantee if row.verdicts else ""


_Sortable = tuple[int, int, int, int, str, tuple[Planned, Examined]]


def _sortable(group: list[tuple[Planned, Examined]]) -> list[_Sortable]:
    """Violations first; then few faults; then what says most; then short runs."""
    return [
        (
            0 if row.outcome == "violated" else 1,
            len(p.schedule.injections),
            rank_of(_worst(row)),
            row.events,
            row.schedule,
            (p, row),
        )
        for p, row in group
    ]


def _size(item: _Sortable) -> tuple[int, int, int, int, str]:
    return item[:5]


def _failure(campaign: Campaign, number: int, pair: tuple[Planned, Examined], count: int) -> Failure:
    planned, row = pair
    data = read_member(campaign.folder / "histories" / row.part, row.offset, row.length)
    history = decode(data, row.schedule)
    verdicts = most_telling_first(verdict_of(v) for v in row.verdicts)
    slug = f"{planned.fault or 'control'}-{(verdicts[0].guarantee if verdicts else 'unknown')}"
    failure = Failure(
        id=f"{number:03}-{slug}",
        schedule=row.schedule,
        boundary=planned.boundary,
        fault=planned.fault,
        verdicts=verdicts,
        story=tuple(story(history, campaign.scenario, verdicts)),
        replay=replay_command(row.schedule, campaign.candidate, campaign.scenario.path, campaign.options.rig),
        rows=count,
        events=tuple(history.events),
    )
    write_bundle(campaign.folder / "failures" / failure.id, failure, campaign.scenario, data)
    return failure


def replay_command(line: str, candidate: str, scenario_path: str, rig: str = "simulation") -> str:
    """The command that makes this run again."""
    from harness.candidates.loading import REFERENCE
    from harness.scenario_files.loader import shipped_folder

    words = ["knownstate", "replay", line]
    if candidate != REFERENCE:
        words += ["--candidate", candidate]
    if scenario_path and Path(scenario_path).resolve().parent != shipped_folder().resolve():
        words += ["--scenario", scenario_path]
    if rig != "simulation":
        words += ["--rig", rig]
    return shlex.join(words)
