"""The self-test itself: the quick form runs every twin's pinned schedule and sweeps the sound ledger; the full one hunts in every cell."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from harness.candidates.loading import REFERENCE
from harness.model.cell import ALL_CELLS
from harness.model.errors import UsageError
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome
from harness.scenario_files.loader import load, shipped
from harness.selftest.hunt import Hunt, hunt, look_at, make_bench
from harness.selftest.pins import Pin
from reference_ledger.twins.registry import TWINS, Twin


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


def twins_named(names: Collection[str]) -> list[Twin]:
    """The twins of these names, all for none. Raises UsageError."""
    from difflib import get_close_matches

    for name in names:
        if name not in TWINS:
            near = get_close_matches(name, TWINS, n=1)
            raise UsageError(
                f"There is no twin {name!r}.",
                where="--only",
                next_step=f"{f'Did you mean {near[0]!r}? ' if near else ''}`knownstate list twins` shows them all.",
            )
    return [twin for twin in TWINS.values() if not names or twin.name in names]


def check_twin(twin: Twin, pin: Pin | None) -> TwinRow:
    """One twin: is it caught where its pin says, for the reason its pin says? Its control run must hold."""
    if pin is None or not pin.schedule:
        missing = "it has no pin: run `knownstate selftest --full --update`"
        return TwinRow(twin.name, "", False, False, False, "", missing)
    bench = make_bench(f"reference_ledger.twins:{twin.name}", twin.scenario, twin.cell)
    try:
        schedule = Schedule.parse(pin.schedule)
        control, _ = look_at(bench, Schedule(schedule.scenario, schedule.seed, (), schedule.cell))
        caught, _ = look_at(bench, schedule, twin.triggered)
    finally:
        bench.close()
    surprise = ""
    if control.outcome is not Outcome.HOLDS:
        surprise = "it fails without any fault"
    elif caught.unknown:
        surprise = caught.unknown
    elif pin.guarantee not in caught.violated:
        found = ", ".join(caught.violated) or "nothing"
        surprise = f"{pin.guarantee} was not found broken (found: {found}): the twin survives"
    elif not caught.reached or not caught.triggered:
        surprise = "it was convicted without its planted line or without the harm: the conviction is wrong"
    return TwinRow(
        twin.name, pin.guarantee, caught.reached, caught.triggered, bool(caught.violated), pin.schedule, surprise
    )


def check_sound(full: bool = False) -> Iterator[SoundRow]:
    """The reference ledger: the drill swept in its own cells (full: in all of them), and every shipped scenario without faults."""
    for cell in ["", *(str(c) for c in ALL_CELLS)] if full else [""]:
        found = hunt("reference", REFERENCE, "drill", cell)
        yield SoundRow("drill", cell, found.explored + 1, _accusation(found.schedule, found.violated, found.control))
    for path in shipped():
        scenario = load(path)
        bench = make_bench(REFERENCE, str(path), "")
        try:
            schedule = Schedule.parse(scenario.schedule) if scenario.schedule else Schedule(scenario.id, scenario.seed)
            caught, _ = look_at(bench, schedule)
        finally:
            bench.close()
        accused = "" if caught.outcome is Outcome.HOLDS else str(schedule)
        yield SoundRow(scenario.id, "", 1, _accusation(accused, caught.violated, caught.unknown))


def _accusation(schedule: str, violated: tuple[str, ...], otherwise: str) -> str:
    if not schedule:
        return ""
    return f"{schedule} breaks {', '.join(violated)}" if violated else f"{schedule}: {otherwise}"


def hunt_everywhere(twins: Collection[Twin], jobs: int) -> Iterator[tuple[str, Hunt]]:
    """Every twin in its own cell and in all eighteen: (twin, hunt), for each twin its own cell first."""
    tasks = [(twin, cell) for twin in twins for cell in (twin.cell, *(str(c) for c in ALL_CELLS))]
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context, initializer=signal.signal, initargs=_DEAF) as pool:
        try:
            yield from pool.map(_hunt_task, tasks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_DEAF = (signal.SIGINT, signal.SIG_IGN)
"""Ctrl-C goes to all processes at once; only the first decides."""


def _hunt_task(task: tuple[Twin, str]) -> tuple[str, Hunt]:
    twin, cell = task
    predicate = twin.triggered if cell == twin.cell else ""
    return twin.name, hunt(twin.name, f"reference_ledger.twins:{twin.name}", twin.scenario, cell, predicate)


def pin_of(hunts: list[Hunt]) -> Pin:
    """The pin that a full hunt implies."""
    own, cells = hunts[0], hunts[1:]
    masked = tuple(h.cell for h in cells if not h.violated)
    guarantee = own.violated[0] if own.violated else ""
    return Pin(own.twin, guarantee, own.violated, own.schedule, own.explored, masked)


def surprises(found: Mapping[str, list[Hunt]], known: Mapping[str, Pin]) -> list[str]:
    """How a full hunt differs from the pins."""
    said = []
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
            f"{name} fails in {h.cell or 'its own cells'} without any fault" for h in hunts if h.control != "holds"
        ]
    return said
