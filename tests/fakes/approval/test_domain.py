"""What people do at the queue's domain: the first decision wins, whoever makes it."""

from __future__ import annotations

from harness.model.boundary import Purpose
from harness.model.wire import Request
from tests.fakes.stage import Stage

ASK = Request("approval", "request", Purpose.APPROVE, "bill", "c-1", {"digest": "d-1"})
READ = Request("approval", "read", Purpose.APPROVE, "bill", "c-1", approval="approval-c-1")


def test_a_person_grants_for_a_time_and_the_approver_comes_too_late(stage: Stage) -> None:
    queue = stage.queue(decision="denies", think_ns=20)
    stage.send(queue, ASK)
    assert queue.grant("approval-c-1", 100)
    assert not queue.grant("approval-c-1", 900)
    assert not queue.deny("approval-c-1")
    stage.pass_ns(20)
    assert stage.send(queue, READ).values["state"] == "granted"
    assert stage.data("approval-granted") == [
        {"approval": "approval-c-1", "operation": "bill", "digest": "d-1", "expires_ns": 100}
    ]
    stage.pass_ns(81)
    assert stage.send(queue, READ).values["state"] == "expired"


def test_what_nobody_asked_for_is_not_granted(stage: Stage) -> None:
    assert not stage.queue().grant("approval-c-1", 100)
    assert not stage.data("approval-granted")
