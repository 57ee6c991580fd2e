"""The approval queue: asked once, decided once, spent once."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.approval.domain import ApprovalQueue
from fakes.core.journal import Counts
from harness.model.boundary import Phase, Purpose
from harness.model.fault import Fault
from harness.model.wire import Request
from tests.fakes.stage import Stage

THINK_NS, VALID_NS = 20, 300
ID = "approval-c-1"


@pytest.fixture
def queue(stage: Stage) -> ApprovalQueue:
    return stage.queue(think_ns=THINK_NS, valid_ns=VALID_NS)


def ask(digest: str = "d-1", client: str = "c-1") -> Request:
    return Request("approval", "request", Purpose.APPROVE, "bill", client, {"digest": digest})


def named(action: str, approval: str = ID, digest: str = "d-1", operation: str = "bill") -> Request:
    return Request("approval", action, Purpose.APPROVE, operation, "c-1", {"digest": digest}, approval=approval)


CONSUME, READ, WITHDRAW = named("consume"), named("read"), named("withdraw")


def state(stage: Stage, queue: ApprovalQueue) -> Any:
    return stage.send(queue, READ).values["state"]


def grant(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    stage.pass_ns(THINK_NS)
    assert state(stage, queue) == "granted"


def test_request_opens_a_pending_approval_named_after_its_client_id(stage: Stage, queue: ApprovalQueue) -> None:
    assert stage.send(queue, ask()).reference == ID
    assert queue.pending() == (ID,)
    assert stage.data("approval-requested") == [
        {"approval": ID, "operation": "bill", "digest": "d-1", "call": "call-1"}
    ]


def test_asking_twice_names_the_same_approval_and_opens_no_second(stage: Stage, queue: ApprovalQueue) -> None:
    assert stage.send(queue, ask()) == stage.send(queue, ask())
    stage.pass_ns(THINK_NS)
    assert len(stage.data("approval-requested")) == len(stage.data("approval-granted")) == 1
    assert (queue.arrivals, queue.commits, queue.responses) == (2, 1, 2)


def test_client_id_with_another_digest_is_a_conflict(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    assert stage.refusal(queue, ask("d-2")) == "already-exists"


@pytest.mark.parametrize("request_", [ask(""), named("consume", digest="")], ids=["request", "consume"])
def test_request_without_a_digest_is_invalid_or_spends_nothing(
    stage: Stage, queue: ApprovalQueue, request_: Request
) -> None:
    grant(stage, queue)
    assert stage.refusal(queue, request_) == "invalid"


def test_approver_grants_after_thinking_and_not_before(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    stage.pass_ns(THINK_NS - 1)
    assert state(stage, queue) == "pending"
    stage.pass_ns(1)
    assert stage.send(queue, READ).values == {
        "state": "granted",
        "expires_ns": THINK_NS + VALID_NS,
        "digest": "d-1",
        "consumer": "",
    }
    assert stage.data("approval-granted") == [
        {"approval": ID, "operation": "bill", "digest": "d-1", "expires_ns": THINK_NS + VALID_NS}
    ]
    assert queue.pending() == ()


def test_approver_who_denies_denies(stage: Stage) -> None:
    queue = stage.queue(decision="denies", think_ns=THINK_NS)
    stage.send(queue, ask())
    stage.pass_ns(THINK_NS)
    assert state(stage, queue) == "denied"
    assert stage.data("approval-denied") == [{"approval": ID}]
    assert stage.refusal(queue, CONSUME) == "approval-invalid"


def test_first_decision_stands(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    assert queue.deny(ID)
    stage.pass_ns(THINK_NS)
    assert state(stage, queue) == "denied"
    assert stage.data("approval-granted") == []
    assert not queue.deny(ID)


def test_granted_approval_cannot_be_denied(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    assert not queue.deny(ID)
    assert state(stage, queue) == "granted"


@pytest.mark.parametrize(
    ("age_ns", "word", "code"), [(VALID_NS, "granted", "ok"), (VALID_NS + 1, "expired", "approval-invalid")]
)
def test_approval_can_be_spent_to_the_moment_it_expires(
    stage: Stage, queue: ApprovalQueue, age_ns: int, word: str, code: str
) -> None:
    grant(stage, queue)
    stage.pass_ns(age_ns)
    assert state(stage, queue) == word
    assert stage.refusal(queue, CONSUME) == code


def test_consuming_spends_it_once_and_says_until_when_it_holds(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    reply = stage.send(queue, CONSUME)
    assert reply.values["expires_ns"] == THINK_NS + VALID_NS
    assert (reply.values["state"], reply.values["consumer"]) == ("consumed", "bill")
    assert [data["operation"] for data in stage.data("approval-consumed")] == ["bill"]


def test_its_consumer_gets_the_same_answer_again(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    assert stage.send(queue, CONSUME) == stage.send(queue, CONSUME)
    assert len(stage.data("approval-consumed")) == 1
    assert queue.commits == 2


def test_its_consumer_gets_no_answer_again_after_it_expired(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    stage.send(queue, CONSUME)
    stage.pass_ns(VALID_NS + 1)
    assert stage.refusal(queue, CONSUME) == "approval-invalid"
    assert state(stage, queue) == "consumed"


@pytest.mark.parametrize(
    "other",
    [named("consume", operation="other"), named("consume", digest="d-2")],
    ids=["another operation", "changed parameters"],
)
def test_spent_approval_is_spent_for_everybody_else(stage: Stage, queue: ApprovalQueue, other: Request) -> None:
    grant(stage, queue)
    stage.send(queue, CONSUME)
    assert stage.refusal(queue, other) == "approval-invalid"


def test_approval_is_not_spent_on_changed_parameters(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    assert stage.refusal(queue, named("consume", digest="d-2")) == "approval-invalid"
    assert state(stage, queue) == "granted"


def test_pending_approval_cannot_be_spent(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    assert stage.refusal(queue, CONSUME) == "approval-invalid"


def test_unknown_approval_cannot_be_spent_nor_read(stage: Stage, queue: ApprovalQueue) -> None:
    assert stage.refusal(queue, CONSUME) == "approval-invalid"
    assert stage.refusal(queue, READ) == "not-found"


def test_revoked_approval_cannot_be_spent(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    assert queue.revoke(ID)
    assert state(stage, queue) == "revoked"
    assert stage.refusal(queue, CONSUME) == "approval-invalid"
    assert stage.data("approval-revoked") == [{"approval": ID}]


def test_only_a_granted_unspent_approval_can_be_revoked(stage: Stage, queue: ApprovalQueue) -> None:
    assert not queue.revoke(ID)
    stage.send(queue, ask())
    assert not queue.revoke(ID)
    stage.pass_ns(THINK_NS)
    stage.send(queue, CONSUME)
    assert not queue.revoke(ID)
    assert stage.data("approval-revoked") == []


def test_expired_approval_cannot_be_revoked(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    stage.pass_ns(VALID_NS + 1)
    assert not queue.revoke(ID)


def test_withdrawn_request_is_never_granted(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    assert stage.send(queue, WITHDRAW).values["state"] == "revoked"
    stage.pass_ns(THINK_NS)
    assert state(stage, queue) == "revoked"
    assert stage.data("approval-granted") == []


def test_withdrawing_twice_is_withdrawing_once(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    assert stage.send(queue, WITHDRAW) == stage.send(queue, WITHDRAW)
    assert len(stage.data("approval-revoked")) == 1


def test_spent_approval_cannot_be_withdrawn(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    stage.send(queue, CONSUME)
    assert stage.refusal(queue, WITHDRAW) == "approval-invalid"


@pytest.mark.parametrize(("fault", "code"), [(Fault.UNAVAILABLE, "unavailable"), (Fault.RATE_LIMITED, "rate-limited")])
def test_refusing_fault_leaves_the_queue_as_it_was(stage: Stage, queue: ApprovalQueue, fault: Fault, code: str) -> None:
    assert stage.refusal(queue, ask(), {Phase.DELIVERED: fault}) == code
    assert (queue.arrivals, queue.commits, queue.responses) == (1, 0, 1)
    assert queue.pending() == ()


def test_error_after_commit_hides_that_it_was_consumed(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    assert stage.refusal(queue, CONSUME, {Phase.COMMITTED: Fault.ERROR_AFTER_COMMIT}) == "internal-error"
    assert state(stage, queue) == "consumed"
    assert stage.refusal(queue, CONSUME) == "ok"


def test_reading_crosses_its_delivery_and_changing_also_the_commit(stage: Stage, queue: ApprovalQueue) -> None:
    stage.send(queue, ask())
    assert stage.crossed == [Phase.DELIVERED, Phase.COMMITTED]
    stage.crossed.clear()
    stage.send(queue, READ)
    assert stage.crossed == [Phase.DELIVERED]


@pytest.mark.parametrize("request_", [named("levitate"), ask()._replace(purpose=Purpose.EFFECT)])
def test_request_the_queue_does_not_know_is_invalid(stage: Stage, queue: ApprovalQueue, request_: Request) -> None:
    assert stage.refusal(queue, request_) == "invalid"


def test_approvals_are_not_effects_and_their_commits_are_counted(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    stage.send(queue, CONSUME)
    assert stage.data("effect") == []
    assert stage.counts(queue) == Counts(arrivals=3, commits=2, responses=3)
    assert (queue.arrivals, queue.commits, queue.responses) == (3, 2, 3)


def test_circumstances_say_whether_it_was_asked_and_could_be_spent(stage: Stage, queue: ApprovalQueue) -> None:
    assert queue.circumstances(ask()) == (False, False)
    stage.send(queue, ask())
    assert queue.circumstances(ask()) == (True, False)
    stage.pass_ns(THINK_NS)
    assert queue.circumstances(CONSUME) == (True, True)


def test_restored_queue_answers_as_the_snapshotted_one_did(stage: Stage, queue: ApprovalQueue) -> None:
    grant(stage, queue)
    kept = queue.snapshot()
    stage.send(queue, CONSUME)
    assert queue.snapshot() != kept
    queue.restore(kept)
    assert queue.snapshot() == kept
    assert state(stage, queue) == "granted"
