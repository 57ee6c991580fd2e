"""When a message fault may say that it fired: only after both ends have been seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.inject.live import LiveWorld, ScaledClock
from harness.inject.messages import Messages
from harness.inject.names import StepNames
from harness.model.boundary import Phase
from harness.model.fault import Fault
from harness.model.workflow import Workflow
from harness.rigs.recorder import Recorder

CALL = "w/billing.charge/attempt-1"


class Wire:
    """A link that writes down what is done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def drop_responses(self) -> None:
        self.done.append("drop_responses")

    def drop_requests(self) -> None:
        self.done.append("drop_requests")

    def refuse(self) -> None:
        self.done.append("refuse")

    def heal(self) -> None:
        self.done.append("heal")


class Scene:
    """A world in which events are written by hand."""

    def __init__(self) -> None:
        names = StepNames(Workflow("w", ()))
        self.world = LiveWorld(Recorder(), names, {}, {}, 100, 10**15, ScaledClock(1))
        self.wire = Wire()
        self.messages = Messages(self.world, {"payment": self.wire})

    def arm(self, fault: Fault, phase: Phase = Phase.SENT) -> None:
        self.messages.arm(fault, CALL, phase, "payment")

    def happens(self, kind: str, data: Mapping[str, Any]) -> None:
        self.world.record("payment", kind, CALL, {"call": CALL, **data})

    def fired(self) -> list[str]:
        return [event.data["fault"] for event in self.world.recorder.events if event.kind == "fault-fired"]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_response_is_lost_if_it_was_written_and_the_caller_is_in_doubt(scene: Scene) -> None:
    scene.arm(Fault.LOST_RESPONSE, Phase.COMMITTED)
    scene.happens("responded", {"code": "ok"})
    scene.messages.seen(CALL, "indefinite", "timeout")
    assert scene.fired() == ["lost-response"]


def test_a_response_that_came_through_was_not_lost(scene: Scene) -> None:
    scene.arm(Fault.LOST_RESPONSE, Phase.COMMITTED)
    scene.happens("responded", {"code": "ok"})
    scene.messages.seen(CALL, "ok", "ok")
    assert scene.fired() == []


def test_a_response_that_was_never_written_was_not_lost(scene: Scene) -> None:
    scene.arm(Fault.LOST_RESPONSE, Phase.COMMITTED)
    scene.messages.seen(CALL, "indefinite", "timeout")
    assert scene.fired() == []


def test_a_request_is_lost_if_it_never_arrived_and_the_caller_is_in_doubt(scene: Scene) -> None:
    scene.arm(Fault.LOST_REQUEST)
    scene.messages.seen(CALL, "indefinite", "timeout")
    assert scene.fired() == ["lost-request"]


def test_a_request_that_arrived_was_not_lost(scene: Scene) -> None:
    scene.arm(Fault.LOST_REQUEST)
    scene.happens("arrived", {"delivery": 1})
    scene.messages.seen(CALL, "indefinite", "timeout")
    assert scene.fired() == []


def test_a_refused_connection_is_seen_as_such(scene: Scene) -> None:
    scene.arm(Fault.CONNECTION_REFUSED)
    scene.messages.seen(CALL, "definite", "connection-refused")
    assert scene.fired() == ["connection-refused"]


def test_a_reset_is_no_refused_connection(scene: Scene) -> None:
    scene.arm(Fault.CONNECTION_REFUSED)
    scene.messages.seen(CALL, "indefinite", "connection-reset")
    assert scene.fired() == []


def test_the_outcome_of_another_call_proves_nothing_and_heals_nothing(scene: Scene) -> None:
    scene.arm(Fault.LOST_REQUEST)
    scene.messages.seen("w/mail.receipt/attempt-1", "indefinite", "timeout")
    assert (scene.fired(), scene.wire.done) == ([], ["drop_requests"])


@pytest.mark.parametrize(
    ("fault", "shape"),
    [
        (Fault.LOST_RESPONSE, "drop_responses"),
        (Fault.LOST_REQUEST, "drop_requests"),
        (Fault.CONNECTION_REFUSED, "refuse"),
    ],
)
def test_each_fault_has_its_shape_and_is_taken_back_once(scene: Scene, fault: Fault, shape: str) -> None:
    scene.arm(fault)
    scene.messages.seen(CALL, "indefinite", "timeout")
    scene.messages.heal()
    assert scene.wire.done == [shape, "heal"]


def test_a_fault_whose_caller_died_is_healed_and_did_not_fire(scene: Scene) -> None:
    scene.arm(Fault.LOST_RESPONSE, Phase.COMMITTED)
    scene.happens("responded", {"code": "ok"})
    scene.messages.heal()
    assert (scene.fired(), scene.wire.done) == ([], ["drop_responses", "heal"])
