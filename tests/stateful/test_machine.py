"""What Hypothesis finds with the machine, within a budget, and what a finding is worth without it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from harness.judge.judge import judge
from harness.model.cell import ALL_CELLS, Cell
from harness.model.errors import CandidateError
from harness.model.fault import Fault
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, overall
from harness.scenario_files import load
from harness.stateful import LedgerMachine
from harness.stateful.found import Violated
from harness.stateful.machine import EARLY
from harness.stateful.stage import Factory
from tests.stateful import ledgers

CASES_MAX = 40
"""The budget within which each planted bug must be found, and without a finding in which the sound ledger must pass."""
FAULTS_LEFT_MAX = 2
ROOT = Path(__file__).parents[2]


def budget(cases: int = CASES_MAX, *, shrinks: bool = True) -> settings:
    return settings(
        max_examples=cases, stateful_step_count=20, derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
    )  # fmt: skip


def machine(candidate: str | Factory, folder: Path, **attributes: object) -> type[LedgerMachine]:
    chosen = {"candidate": staticmethod(candidate) if callable(candidate) else candidate, "export_to": folder}
    return type("Machine", (LedgerMachine,), {**chosen, **attributes})


@dataclass(frozen=True, slots=True)
class Finding:
    """What was raised, and the file it says it was kept in."""

    error: Violated
    path: Path

    @property
    def guarantee(self) -> str:
        return self.path.name.removeprefix("pair-").removesuffix(".scenario.yaml")


def find(candidate: str, folder: Path) -> Finding:
    with pytest.raises(Violated) as raised:
        run_state_machine_as_test(machine(candidate, folder, faults_max=3), settings=budget())
    line = next(line for line in str(raised.value).splitlines() if line.startswith("kept in:"))
    return Finding(raised.value, Path(line.removeprefix("kept in:").strip()))


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    """Both planted bugs, each found once for all tests of this file."""
    folder = tmp_path_factory.mktemp("found")
    return {name: find(f"tests.stateful.ledgers:{name}", folder / name) for name in ("blind", "clean")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "guarantees"),
    [
        ("blind", {"no-blind-retry", "stable-identity", "no-duplicate-effect", "known-state"}),
        ("clean", {"known-state", "honest-claim", "right-terminal"}),
    ],
)
def test_a_planted_bug_is_found_by_a_guarantee_it_breaks(
    findings: dict[str, Finding], name: str, guarantees: set[str]
) -> None:
    assert findings[name].guarantee in guarantees


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blind", "clean"])
def test_what_is_left_after_shrinking_is_small(findings: dict[str, Finding], name: str) -> None:
    schedule = Schedule.parse(load(findings[name].path).schedule)
    assert 0 < len(schedule.injections) <= FAULTS_LEFT_MAX


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blind", "clean"])
def test_the_message_tells_of_the_smallest_case(findings: dict[str, Finding], name: str) -> None:
    assert f"schedule: {load(findings[name].path).schedule}\n" in str(findings[name].error)


REPLAY = """
import json, sys
from pathlib import Path
from harness.candidates.loading import load_candidate
from harness.judge.judge import judge
from harness.model.schedule import Schedule
from harness.rigs.simulation import SimulationRig
from harness.scenario_files import load

scenario = load(Path(sys.argv[1]))
rig = SimulationRig(load_candidate(sys.argv[2]), scenario)
verdicts = judge(rig.run(Schedule.parse(scenario.schedule)).history, scenario)
violated = [v.guarantee for v in verdicts if v.outcome.value == "violated"]
print(json.dumps({"violated": violated, "hypothesis": "hypothesis" in sys.modules}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blind", "clean"])
def test_the_exported_file_is_violated_again_without_hypothesis(findings: dict[str, Finding], name: str) -> None:
    command = [sys.executable, "-c", REPLAY, str(findings[name].path), f"tests.stateful.ledgers:{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    said = json.loads(done.stdout)
    assert findings[name].guarantee in said["violated"]
    assert said["hypothesis"] is False


@pytest.mark.slow
def test_the_sound_ledger_is_not_accused(tmp_path: Path) -> None:
    run_state_machine_as_test(machine("reference_ledger:factory", tmp_path), settings=budget(shrinks=False))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_sound_ledger_is_not_accused_in_any_cell(tmp_path: Path) -> None:
    class EveryCell(LedgerMachine):
        cells: ClassVar[tuple[Cell, ...]] = ALL_CELLS
        export_to: ClassVar[str | Path] = tmp_path

    run_state_machine_as_test(EveryCell, settings=budget(shrinks=False))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_candidate_that_remembers_outside_its_store_is_no_finding(tmp_path: Path) -> None:
    forgetful = machine(ledgers.blind_and_forgetful, tmp_path)
    with pytest.raises(CandidateError, match="two different runs"):
        run_state_machine_as_test(forgetful, settings=budget(shrinks=False))
    assert not list(tmp_path.glob("*.yaml"))


# --- by hand: one machine, its rules called in order ----------------------------------------------------------------


def begun(candidate: str | Factory, folder: Path, **attributes: object) -> LedgerMachine:
    sut = machine(candidate, folder, **attributes)()
    sut.submit(cell=0)
    return sut


def walk_to(sut: LedgerMachine, fault: Fault) -> None:
    while fault not in sut.fitting:
        sut.step_worker(boundaries=1)


def watch_to_the_end(sut: LedgerMachine) -> None:
    """Step by step, with the invariant after each, as Hypothesis does."""
    run = sut.run
    while sut.run is run:
        sut.nothing_is_broken_beyond_repair()
        sut.step_worker(boundaries=1)


def test_a_crash_never_reaches_hypothesis(tmp_path: Path) -> None:
    sut = begun("reference_ledger:factory", tmp_path)
    walk_to(sut, Fault.CRASH)
    sut.inject(which=sut.fitting.index(Fault.CRASH))
    sut.heal()
    sut.teardown()


def test_when_a_run_is_over_the_next_begins_in_a_fresh_world(tmp_path: Path) -> None:
    sut = begun("reference_ledger:factory", tmp_path)
    first = sut.run
    sut.heal()
    assert sut.run is not first
    assert sut.stands
    sut.teardown()


def test_no_more_faults_fit_than_the_machine_allows(tmp_path: Path) -> None:
    sut = begun("reference_ledger:factory", tmp_path, faults_max=1)
    walk_to(sut, Fault.CANCEL)
    sut.cancel()
    assert sut.fitting == ()
    sut.teardown()


def test_the_schedule_is_on_disk_while_a_fault_strikes_and_not_afterwards(tmp_path: Path) -> None:
    sut = begun("reference_ledger:factory", tmp_path)
    walk_to(sut, Fault.ZOMBIE_WORKER)
    sut.expire_lease()
    assert sut.run is not None, "it has begun"
    (ahead,) = tmp_path.iterdir()
    assert ahead.read_text() == f"{sut.run.schedule}\n"
    sut.heal()
    assert list(tmp_path.iterdir()) == []
    sut.teardown()


def test_a_violation_that_nothing_can_mend_is_raised_while_the_run_is_under_way(tmp_path: Path) -> None:
    sut = begun(ledgers.blind, tmp_path)
    walk_to(sut, Fault.LOST_RESPONSE)
    sut.inject(which=sut.fitting.index(Fault.LOST_RESPONSE))
    with pytest.raises(Violated, match="no-duplicate-effect") as raised:
        watch_to_the_end(sut)
    assert "nothing_is_broken_beyond_repair" in [entry.name for entry in raised.traceback]
    sut.teardown()


def test_a_violation_only_the_end_can_show_is_raised_at_the_end(tmp_path: Path) -> None:
    sut = begun(ledgers.clean, tmp_path)
    walk_to(sut, Fault.CANCEL)
    sut.step_worker(boundaries=8)
    walk_to(sut, Fault.CANCEL)
    sut.cancel()
    sut.nothing_is_broken_beyond_repair()
    with pytest.raises(Violated):
        sut.teardown()


@pytest.mark.parametrize("line", ["pair:seed=0:pair/first/attempt-1/committed=lost-response"])
def test_an_early_violation_of_a_beginning_is_one_of_the_whole(line: str, tmp_path: Path) -> None:
    """What EARLY promises: once broken, broken in every longer history."""
    sut = begun(ledgers.blind, tmp_path)
    whole = sut.stage.replay(Schedule.parse(line)).history
    broken_at = [
        {v.guarantee for v in judge(replace(whole, events=whole.events[:end]), sut.stage.scenario, only=EARLY)
         if v.outcome is Outcome.VIOLATED}
        for end in range(len(whole.events) + 1)
    ]  # fmt: skip
    assert broken_at[-1], "the blind ledger breaks one of them"
    assert all(earlier <= later for earlier, later in pairwise(broken_at))
    sut.teardown()


def test_a_history_the_machine_passes_is_judged_whole(tmp_path: Path) -> None:
    sut = begun("reference_ledger:factory", tmp_path)
    run = sut.run
    sut.heal()
    assert run is not None, "it has begun"
    assert run.result is not None, "it is over"
    assert overall(judge(run.result.history, sut.stage.scenario)) is Outcome.HOLDS
    sut.teardown()
