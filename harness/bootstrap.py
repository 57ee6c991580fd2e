"""Wiring: from the words of a command line to scenarios, candidates and benches. Together with the commands and the plugin, the only
place that knows all rooms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.campaign.bench import Bench, BenchSpec
from harness.candidates.loading import REFERENCE
from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.schedule import Schedule
from harness.model.workflow import Expectation, Scenario
from harness.scenario_files.loader import find, load

RIGS = ("simulation", "process")


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


def bench_for(
    scenario: Scenario, schedule: Schedule, candidate: str = REFERENCE, rig: str = "simulation", state: str = ""
) -> Bench:
    """A bench for single runs."""
    return Bench(BenchSpec(candidate, scenario, schedule.cell, rig, state))


def schedule_and_scenario(what: str, scenario_name: str) -> tuple[Schedule, Scenario, bool]:
    """What `replay` was given: a schedule line, a scenario file with a pinned schedule, a history or a failure bundle.

    Returns (schedule, scenario, pinned): pinned is True when the scenario file says what to expect.
    Raises UsageError when it is none of these, or when line and scenario do not belong together.
    """
    path = Path(what)
    if ":" in what and not path.exists():
        schedule = Schedule.parse(what)
        scenario = load(find(scenario_name or schedule.scenario), seed=schedule.seed)
        return belonging(schedule, scenario), scenario, False
    if path.is_dir():
        path = _in_bundle(path)
    if path.suffix in (".jsonl", ".gz"):
        from harness.store.history_file import read, scenario_of

        history = read(path)
        scenario = scenario_of(history, str(path))
        return belonging(Schedule.parse(history.header.schedule), scenario), scenario, False
    scenario = load(find(what))
    if not scenario.schedule:
        raise UsageError(
            f"The scenario {scenario.id} pins no schedule.",
            where=scenario.path,
            next_step="Give a schedule line, or explore it with `knownstate run`.",
        )
    return belonging(Schedule.parse(scenario.schedule), scenario), scenario, True


def _in_bundle(folder: Path) -> Path:
    for pattern in ("*.scenario.yaml", "history.jsonl"):
        found = sorted(folder.glob(pattern))
        if found:
            return found[0]
    raise UsageError(
        f"There is nothing to replay in {folder}.",
        where=str(folder),
        next_step="Give a folder under failures/ of a campaign, or a file.",
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
