"""The simulated world: timers in their order, faults in theirs, limits that end a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.inject.names import StepNames
from harness.inject.world import HANDED_BACK, RunCut, World
from harness.model.boundary import Phase, Purpose
from harness.model.fault import FAULTS, Fault
from harness.model.workflow import Workflow
from harness.rigs.recorder import Recorder

WHERE = "w/op/attempt-1/sent"


@dataclass
class Somebody:
    """A worker that crosses."""

    worker: str = "w1"
    dead: bool = False
    dying: bool = False


@dataclass
class Striking:
    """Keeps what it was asked to strike."""

    struck: list[tuple[str, Fault]] = field(default_factory=list)

    def strike(self, who: Any, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        self.struck.append((where, fault))


def world(*faults: Fault, crossings_max: int = 10, time_max: int = 1000) -> World:
    plan = {WHERE: list(faults)} if faults else {}
    made = World(Recorder(), StepNames(Workflow("w", ())), plan, {}, crossings_max, time_max)
    made.strikes = Striking()
    return made


def cross(world: World, where: str = WHERE) -> Fault | None:
    return world.cross(Somebody(), where, Phase.SENT, Purpose.EFFECT, "payment", "op")


def kinds(world: World) -> list[str]:
    return [event.kind for event in world.recorder.events]


# --- time ----------------------------------------------------------------------------------------------------------


def test_timers_fire_by_moment_and_at_one_moment_as_they_were_made() -> None:
    there = world()
    fired: list[tuple[str, int]] = []
    for name, delay_ns in (("late", 30), ("one", 10), ("two", 10)):
        there.later(delay_ns, lambda name=name: fired.append((name, there.now)))  # type: ignore[misc]  # a lambda's default has no type
    there.advance(30)
    assert fired == [("one", 10), ("two", 10), ("late", 30)]


def test_a_timer_that_is_not_due_stays() -> None:
    there = world()
    there.later(11, lambda: pytest.fail("it is not due"))
    there.advance(10)
    assert (there.now, there.timers_left) == (10, 1)


def test_a_timer_made_by_a_timer_fires_in_the_same_wait_if_it_is_due() -> None:
    there = world()
    fired: list[int] = []
    there.later(10, lambda: there.later(5, lambda: fired.append(there.now)))
    there.advance(20)
    assert (fired, there.now) == ([15], 20)


def test_waiting_for_the_last_timer_includes_those_made_meanwhile() -> None:
    there = world()
    there.later(10, lambda: there.later(5, lambda: None))
    there.advance_to_last_timer()
    assert (there.now, there.timers_left) == (15, 0)


def test_an_overdue_timer_does_not_turn_time_back() -> None:
    there = world()
    there.later(10, lambda: None)
    there.now = 50
    there.advance(0)
    assert (there.now, there.timers_left) == (50, 0)


def test_time_ends_at_its_limit_and_not_before() -> None:
    there = world(time_max=100)
    there.advance(100)
    with pytest.raises(RunCut) as cut:
        there.advance(1)
    assert cut.value.reason == "virtual-time"
    assert there.now == 100


def test_timers_that_make_timers_for_ever_end_at_the_limit() -> None:
    there = world(time_max=100)

    def again() -> None:
        there.later(10, again)

    again()
    with pytest.raises(RunCut, match="virtual-time"):
        there.advance_to_last_timer()


# --- crossing ------------------------------------------------------------------------------------------------------


def test_a_crossing_without_a_fault_is_recorded_and_remembered() -> None:
    there = world()
    assert cross(there) is None
    (event,) = there.recorder.events
    assert (event.kind, event.actor, event.where) == ("crossed", "w1", WHERE)
    assert there.sites[WHERE] == (Phase.SENT, Purpose.EFFECT, "payment", "op", "", False, False)


def test_a_site_is_remembered_as_it_was_crossed_first() -> None:
    there = world()
    cross(there)
    there.cross(Somebody(), WHERE, Phase.SENT, Purpose.EFFECT, "payment", "op", None, True, True)
    assert there.sites[WHERE][5:] == (False, False)
    assert there.crossings == 2


def test_crossings_end_at_their_limit_and_not_before() -> None:
    there = world(crossings_max=2)
    cross(there)
    cross(there)
    with pytest.raises(RunCut) as cut:
        cross(there)
    assert cut.value.reason == "crossings"


@pytest.mark.parametrize("fault", [f for f, row in FAULTS.items() if row.family in HANDED_BACK])
def test_a_fault_of_a_call_or_a_commit_is_handed_to_it(fault: Fault) -> None:
    there = world(fault)
    assert cross(there) is fault
    assert kinds(there) == ["crossed", "fault-armed"], "whoever does it says that it fired"
    assert there.strikes == Striking()


@pytest.mark.parametrize("fault", [f for f, row in FAULTS.items() if row.family not in HANDED_BACK])
def test_any_other_fault_strikes_on_the_spot(fault: Fault) -> None:
    there = world(fault)
    assert cross(there) is None
    assert there.strikes == Striking([(WHERE, fault)])
    assert kinds(there) == ["crossed", "fault-armed"], "the intention is recorded before it is done"


def test_a_fault_strikes_at_the_first_crossing_only() -> None:
    there = world(Fault.LOST_REQUEST)
    assert (cross(there), cross(there)) == (Fault.LOST_REQUEST, None)
    assert there.plan == {}


def test_two_faults_at_one_boundary_happen_in_their_order() -> None:
    there = world(Fault.CANCEL, Fault.LOST_REQUEST)
    assert cross(there) is Fault.LOST_REQUEST
    assert there.strikes == Striking([(WHERE, Fault.CANCEL)])


def test_two_faults_that_are_handed_back_need_two_crossings() -> None:
    there = world(Fault.LOST_REQUEST, Fault.DUPLICATE_DELIVERY)
    assert (cross(there), cross(there)) == (Fault.LOST_REQUEST, Fault.DUPLICATE_DELIVERY)


def test_a_fault_elsewhere_does_not_strike_here() -> None:
    there = world(Fault.LOST_REQUEST)
    assert cross(there, "w/op/attempt-2/sent") is None
    assert there.plan == {WHERE: [Fault.LOST_REQUEST]}


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.CONNECTION_REFUSED, Fault.CANCEL])
def test_a_fault_that_fired_says_how_certain_it_leaves_the_caller(fault: Fault) -> None:
    there = world()
    there.fired(WHERE, fault)
    certainty = FAULTS[fault].certainty
    (event,) = there.recorder.events
    assert event.data == {"fault": fault.value, "certainty": certainty.value if certainty else ""}
