"""The world in real time. The clocks here run so fast that nothing has to be waited for."""

from __future__ import annotations

import pytest

from harness.inject.live import LiveWorld, ScaledClock
from harness.inject.names import StepNames
from harness.inject.world import RunCut
from harness.model.cell import SECOND_NS
from harness.model.workflow import Workflow
from harness.rigs.recorder import Recorder

FAST = 10**6
"""A day in less than a tenth of a second."""
HOUR_NS = 3600 * SECOND_NS


def world(time_max: int = 10**9 * HOUR_NS) -> LiveWorld:
    return LiveWorld(Recorder(), StepNames(Workflow("w", ())), {}, {}, 100, time_max, ScaledClock(FAST))


def test_the_clock_shows_scaled_time() -> None:
    clock = ScaledClock(FAST)
    clock.sleep_until(HOUR_NS)
    assert clock.now_ns() >= HOUR_NS


def test_waiting_lets_the_time_pass() -> None:
    live = world()
    live.advance(HOUR_NS)
    assert live.now >= HOUR_NS


def test_due_timers_are_played_in_their_order_before_a_turn() -> None:
    live = world()
    played: list[str] = []
    with live.turn():
        live.later(2 * HOUR_NS, lambda: played.append("second"))
        live.later(HOUR_NS, lambda: played.append("first"))
    live.clock.sleep_until(3 * HOUR_NS)
    with live.turn():
        assert played == ["first", "second"]


def test_a_timer_that_is_not_due_waits() -> None:
    live = world()
    with live.turn():
        live.later(10**6 * HOUR_NS, lambda: None)
    with live.turn():
        assert live.timers_left == 1


def test_what_is_recorded_between_two_ticks_carries_one_time() -> None:
    live = world()
    with live.turn():
        live.record("rig", "healed")
        live.record("rig", "settled")
        live.tick()
        live.record("rig", "run-ended")
    first, second, third = (event.time_ns for event in live.recorder.events)
    assert first == second < third


def test_waiting_beyond_the_limit_cuts_the_run_without_waiting() -> None:
    with pytest.raises(RunCut, match="virtual-time"):
        world(time_max=HOUR_NS).advance(10**12 * HOUR_NS)


def test_trouble_left_by_another_thread_is_raised() -> None:
    live = world()
    live.trouble = RunCut("crossings")
    with pytest.raises(RunCut, match="crossings"):
        live.check()
