"""A driven run is the run of its schedule: byte for byte, wherever it stood and whatever struck."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from harness.judge.judge import judge
from harness.model.fault import Fault
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, overall
from harness.stateful.stage import Factory, Stage
from harness.stateful.stepping import SteppedRun
from harness.store.history_file import encode
from reference_ledger import factory
from tests.stateful import ledgers

FAULTS_MAX = 4


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage(factory, "pair")
    yield stage
    stage.close()


def drive(run: SteppedRun, choose: random.Random) -> None:
    """Step and strike at random until the run is over."""
    run.start()
    while run.standing is not None:
        may_strike = run.standing.faults and len(run.schedule.injections) < FAULTS_MAX
        if may_strike and choose.random() < 0.2:
            run.inject(choose.choice(run.standing.faults))
        else:
            run.go_on(choose.randint(1, 6))


def bytes_of(run: SteppedRun) -> bytes:
    assert run.result is not None, "it is over"
    return encode(run.result.history)


def come_to(run: SteppedRun, is_there: Callable[[SteppedRun], bool]) -> None:
    while not is_there(run):
        run.go_on()


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize(
    ("candidate", "scenario"),
    [(factory, "pair"), (factory, "rollback"), (ledgers.blind, "pair"), (ledgers.dies_of_submission, "pair")],
    ids=["pair", "rollback", "blind", "dies-of-submission"],
)
def test_a_driven_run_equals_the_run_of_its_schedule(candidate: Factory, scenario: str, seed: int) -> None:
    stage = Stage(candidate, scenario)
    run = stage.begin(None)
    drive(run, random.Random(seed))
    run.reap()
    line = str(run.schedule)
    assert encode(stage.replay(Schedule.parse(line)).history) == bytes_of(run), line
    stage.close()


def test_a_submitter_that_gave_up_is_given_no_further_try_by_a_fault() -> None:
    """A fault more is a submission more in a run of the finished schedule: after the last one none may strike."""
    stage = Stage(ledgers.never_ready, "pair")
    run = stage.begin(None)
    run.start()
    come_to(run, lambda run: any(e.kind == "worker-died" for e in run.recorder.events))
    assert run.standing is not None, "a recovery goes on"
    assert run.standing.faults == ()
    run.finish()
    run.reap()
    assert encode(stage.replay(run.schedule).history) == bytes_of(run)
    stage.close()


def test_a_run_nobody_strikes_is_the_control_run(stage: Stage) -> None:
    run = stage.begin(None)
    run.start()
    run.finish()
    run.reap()
    assert run.schedule == stage.schedule(None)
    assert encode(stage.replay(run.schedule).history) == bytes_of(run)


def test_a_fault_strikes_where_the_run_stands(stage: Stage) -> None:
    run = stage.begin(None)
    run.start()
    come_to(run, lambda run: Fault.LOST_RESPONSE in run.standing.faults if run.standing else True)
    assert run.standing is not None, "some response can be lost"
    where = run.standing.where
    run.inject(Fault.LOST_RESPONSE)
    history = run.finish().history
    run.reap()
    assert history.has_fired(Fault.LOST_RESPONSE, where)
    assert str(run.schedule).endswith(f"{where}=lost-response")


def test_a_crash_ends_the_worker_and_not_its_driver(stage: Stage) -> None:
    run = stage.begin(None)
    run.start()
    run.inject(Fault.CRASH)
    deaths = [e.actor for e in run.finish().history.of_kind("worker-died")]
    run.reap()
    assert deaths == ["w1"]


def test_a_recovery_within_a_pause_stands_still_too(stage: Stage) -> None:
    run = stage.begin(None)
    run.start()
    come_to(run, lambda run: Fault.ZOMBIE_WORKER in run.standing.faults if run.standing else True)
    run.inject(Fault.ZOMBIE_WORKER)
    assert run.standing is not None, "the one who takes over is under way"
    assert run.standing.worker == "w2"
    run.inject(Fault.CRASH)
    history = run.finish().history
    run.reap()
    assert [(e.actor, e.data["cause"]) for e in history.of_kind("worker-died")] == [("w2", "crash")]
    assert len(run.schedule.injections) == 2


def test_a_step_crosses_as_many_boundaries_as_asked(stage: Stage) -> None:
    run = stage.begin(None)
    run.start()
    before = run.world.crossings
    run.go_on(7)
    assert run.world.crossings == before + 7
    run.reap()


def test_an_abandoned_run_leaves_nothing_to_the_next(stage: Stage) -> None:
    control = encode(stage.replay(stage.schedule(None)).history)
    abandoned = stage.begin(None)
    abandoned.start()
    abandoned.go_on(20)
    abandoned.reap()
    run = stage.begin(None)
    run.start()
    run.finish()
    run.reap()
    assert bytes_of(run) == control


def test_the_history_so_far_has_no_end(stage: Stage) -> None:
    run = stage.begin(None)
    run.start()
    run.go_on(10)
    so_far = run.so_far()
    assert so_far.cut_short
    assert so_far.events == run.recorder.events
    run.reap()


def test_a_worker_whose_lease_nobody_took_is_not_accused(stage: Stage) -> None:
    """Found by driving: the one who should take over dies before its take-over is durable, and the paused one goes on."""
    faults = "pair/first/attempt-1/intent-recorded=zombie-worker,pair/workflow/take-over/before-commit=crash"
    history = stage.replay(Schedule.parse(f"pair:seed=0:{faults}")).history
    assert len(history.of_kind("fault-fired")) == 2
    assert not history.of_kind("lease-lost")
    assert overall(judge(history, stage.scenario)) is Outcome.HOLDS
