"""The self-test itself: the quick form runs every twin's pinned schedule and sweeps the sound ledger; the full one hunts in every cell."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from harness.candidates.loading import REFERENCE
from harness.model.cell import ALL_CELLS
from harness.model.schedule import Schedule
from harness.scenario_files.loader import load, shipped
from harness.selftest.hunt import Hunt, hunt, look_at, make_bench
from harness.selftest.pins import Pin, pins
from reference_ledger.twins.registry import TWINS, Twin

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TwinRow:
    """One twin in the table: three different facts, and what was not as pinned ("" if nothing)."""

    twin: str
    guarantee: str
    reached: bool
    triggered: bool
    detected: bool
    schedule: str
    surprise: str


@dataclass(frozen=True, slots=True)
class SoundRow:
    """The sound ledger on one scenario."""

    scenario: str
    cell: str
    runs: int
    accused: str
    """The schedule of the first accusation, with its guarantee, or ""."""


def check_twins() -> Iterator[TwinRow]:
    """Every twin on its pinned schedule, and on the control run, which must hold."""
    known = pins()
    for name, twin in TWINS.items():
        yield check_twin(twin, known.get(name))


def check_twin(twin: Twin, pin: Pin | None) -> TwinRow:
    """One twin: is it caught where its pin says, for the reason its pin says?"""
    if pin is None:
        return TwinRow(
            twin.name, "", False, False, False, "", "it has no pin: run `knownstate selftest --full --update`"
        )
    bench = make_bench(f"reference_ledger.twins:{twin.name}", twin.scenario, twin.cell)
    try:
        schedule = Schedule.parse(pin.schedule)
        control, _, _ = look_at(bench, Schedule(schedule.scenario, schedule.seed, (), schedule.cell))
        caught, _, _ = look_at(bench, schedule, twin.triggered)
    finally:
        bench.close()
    surprise = ""
    if control.violated or control.unknown:
        surprise = "it fails without any fault"
    elif caught.unknown:
        surprise = caught.unknown
    elif pin.guarantee not in caught.violated:
        surprise = f"{pin.guarantee} was not found broken (found: {', '.join(caught.violated) or 'nothing'}): the twin survives"
    elif not caught.reached or not caught.triggered:
        surprise = "it was convicted without its planted line or without the harm: the conviction is wrong"
    return TwinRow(
        twin.name, pin.guarantee, caught.reached, caught.triggered, bool(caught.violated), pin.schedule, surprise
    )


def check_sound(full: bool = False) -> Iterator[SoundRow]:
    """The reference ledger: the drill swept in its own cells (full: in all of them), and every shipped scenario without faults."""
    for cell in ["", *(str(c) for c in ALL_CELLS)] if full else [""]:
        found = hunt("reference", REFERENCE, "drill", cell)
        accused = f"{found.schedule} breaks {', '.join(found.violated)}" if found.schedule else ""
        yield SoundRow("drill", cell, found.explored + 1, accused)
    for path in shipped():
        scenario = load(path)
        bench = make_bench(REFERENCE, str(path), "")
        try:
            schedule = Schedule.parse(scenario.schedule) if scenario.schedule else Schedule(scenario.id, scenario.seed)
            caught, _, _ = look_at(bench, schedule)
        finally:
            bench.close()
        accused = f"{schedule} breaks {', '.join(caught.violated) or caught.unknown}" if caught.verdicts else ""
        yield SoundRow(scenario.id, "", 1, accused)


def hunt_everywhere(jobs: int, say: Say) -> dict[str, list[Hunt]]:
    """Every twin in its own cell and in all eighteen. Twin -> hunts, its own first."""
    tasks = [(name, cell) for name, twin in TWINS.items() for cell in (twin.cell, *(str(c) for c in ALL_CELLS))]
    found: dict[str, list[Hunt]] = {name: [] for name in TWINS}
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
        hunts = pool.map(_hunt_task, tasks)
        for (name, cell), result in zip(tasks, hunts, strict=True):
            found[name].append(result)
            say(
                f"{name} in {cell or 'its own cells'}: {result.violated[0] if result.violated else 'masked'} ({result.explored} schedules)"
            )
    return found


def _hunt_task(task: tuple[str, str]) -> Hunt:
    name, cell = task
    twin = TWINS[name]
    return hunt(name, f"reference_ledger.twins:{name}", twin.scenario, cell, twin.triggered)


def pin_of(hunts: list[Hunt]) -> Pin:
    """The pin that a full hunt implies."""
    own, cells = hunts[0], hunts[1:]
    masked = tuple(h.cell for h in cells if not h.first)
    guarantee = own.violated[0] if own.violated else ""
    return Pin(own.twin, guarantee, own.violated, own.schedule, own.explored, masked)


def surprises(found: dict[str, list[Hunt]]) -> list[str]:
    """How a full hunt differs from the shipped pins."""
    known, said = pins(), []
    for name, hunts in found.items():
        new, old = pin_of(hunts), known.get(name)
        if not new.guarantee:
            said.append(f"{name} survives in its own cells")
        elif old is None:
            said.append(f"{name} has no pin")
        elif (new.guarantee, new.schedule, set(new.masked)) != (old.guarantee, old.schedule, set(old.masked)):
            said.append(
                f"{name}: found {new.guarantee} by {new.schedule}, masked in {len(new.masked)} cells; the pin says otherwise"
            )
        said += [
            f"{name} fails in {h.cell or 'its own cells'} without any fault" for h in hunts if h.control == "violated"
        ]
    return said
