"""Wiring: from the words of a command line to scenarios, candidates and benches. Together with the commands and the plugin, the only
place that knows all rooms."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir

from harness.campaign.bench import Bench, BenchSpec
from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.schedule import Schedule
from harness.model.workflow import Expectation, Scenario
from harness.scenario_files.loader import find, load

RUN_MAX_S = 60.0
"""Real seconds a single simulated run may take at the command line."""


def scenario_named(name: str, seed: int | None, rig: str = "simulation", expect: str = "") -> Scenario:
    """The scenario of this id or path, resolved with the seed. Raises UsageError when it does not run on the rig."""
    scenario = load(find(name), seed=seed)
    if rig not in scenario.rigs:
        raise UsageError(
            f"The scenario {scenario.id} does not run on the {rig} rig (it runs on {', '.join(scenario.rigs)}).",
            where=f"{scenario.path}, rigs",
            next_step="Leave out --rig, or take another scenario: `knownstate list scenarios` shows the rigs of each.",
        )
    return replace(scenario, expect=Expectation(expect)) if expect else scenario


def base_of(scenario: Scenario, seed: int | None, cell: str) -> Schedule:
    """The schedule without faults that a campaign starts from. A pinned schedule brings its own seed and cell.

    Raises UsageError when the options ask for others.
    """
    wanted = cell_named(cell)
    if not scenario.schedule:
        return Schedule(scenario.id, scenario.seed, (), wanted)
    line = Schedule.parse(scenario.schedule)
    if (seed is not None and seed != line.seed) or (wanted is not None and wanted != line.cell):
        raise UsageError(
            f"The scenario {scenario.id} pins a schedule, which says its own seed and cell: {line}.",
            where=scenario.path,
            next_step="Leave out --seed and --cell, or change the line.",
        )
    return Schedule(scenario.id, line.seed, (), line.cell)


def cell_named(text: str) -> Cell | None:
    """The cell of this text, or None for "". Raises UsageError."""
    if not text:
        return None
    try:
        return Cell.parse(text)
    except ValueError as error:
        raise UsageError(
            f"The provider cell cannot be read: {error}.",
            where=f"--cell {text}",
            next_step="For instance --cell ignored.eventual.late.",
        ) from error


def bench_for(scenario: Scenario, schedule: Schedule, candidate: str, rig: str) -> Bench:
    """A bench for single runs. What the process rig needs of the disk is taken from the system's folder for such things."""
    return Bench(BenchSpec(candidate, scenario, schedule.cell, rig, gettempdir(), RUN_MAX_S))


@dataclass(frozen=True, slots=True)
class Replayable:
    """What `replay` was given. `candidate` and `rig` as the history says, "" when it was none; `expect` as a scenario file says."""

    schedule: Schedule
    scenario: Scenario
    candidate: str = ""
    rig: str = ""
    expect: Expectation = Expectation.HOLDS


def replayable(what: str, scenario_name: str) -> Replayable:
    """A schedule line, a scenario file with a pinned schedule, a history, or a failure bundle (its history is taken).

    Raises UsageError when it is none of these, or when line and scenario do not belong together.
    """
    is_there = os.path.exists(what)  # not Path.exists, to which a long line is a file name too long
    if ":" in what and not is_there:
        schedule = Schedule.parse(what)
        scenario = load(_file_of(schedule, scenario_name), seed=schedule.seed)
        return Replayable(belonging(schedule, scenario), scenario)
    if is_there and Path(what).is_dir():
        return _recorded(_in_bundle(Path(what)))
    if what.endswith((".jsonl", ".gz")):
        return _recorded(Path(what))
    scenario = load(find(what))
    if not scenario.schedule:
        raise UsageError(
            f"The scenario {scenario.id} pins no schedule.",
            where=scenario.path,
            next_step="Give a schedule line, or explore it with `knownstate run`.",
        )
    return Replayable(belonging(Schedule.parse(scenario.schedule), scenario), scenario, expect=scenario.expect)


def _file_of(schedule: Schedule, scenario_name: str) -> Path:
    try:
        return find(scenario_name or schedule.scenario)
    except UsageError as error:
        if not scenario_name:
            error.next_step = f"If the scenario is a file of yours, name it with --scenario FILE. {error.next_step}"
        raise


def _recorded(path: Path) -> Replayable:
    from harness.store.history_file import read, scenario_of

    history = read(path)
    scenario, header = scenario_of(history, str(path)), history.header
    return Replayable(belonging(Schedule.parse(header.schedule), scenario), scenario, header.candidate, header.rig)


def _in_bundle(folder: Path) -> Path:
    history = folder / "history.jsonl"
    if history.is_file():
        return history
    bundles = sorted(file.parent for file in folder.glob("failures/*/history.jsonl"))
    raise UsageError(
        f"There is no history.jsonl in {folder}.",
        where=str(folder),
        next_step=f"Give a folder under failures/, for instance {bundles[0]}."
        if bundles
        else "Give a folder under failures/ of a campaign, or a file.",
    )


def belonging(schedule: Schedule, scenario: Scenario) -> Schedule:
    """The schedule, if it is one of this scenario's. Raises UsageError."""
    if schedule.scenario != scenario.id:
        raise UsageError(
            f"The schedule line belongs to the scenario {schedule.scenario!r}, not to {scenario.id!r}.",
            where=f"schedule line {str(schedule)[:200]!r}",
            next_step=f"Replay it with --scenario {schedule.scenario}, or take a line of {scenario.id}.",
        )
    names = (
        {op.id for op in scenario.workflow.operations}
        | {op.undo_id for op in scenario.workflow.operations}
        | {"workflow", "stray"}
    )
    for injection in schedule.injections:
        workflow, subject, _, _ = injection.boundary.split("/")
        if workflow != scenario.workflow.id or subject not in names:
            raise UsageError(
                f"The boundary {injection.boundary!r} is not one of the scenario {scenario.id} (operations: {', '.join(sorted(names))}).",
                where=f"schedule line {str(schedule)[:200]!r}",
                next_step=f"`knownstate list boundaries {scenario.id}` shows its boundaries.",
            )
    return schedule
