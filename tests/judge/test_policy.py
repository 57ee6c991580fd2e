"""policy-obeyed."""

from __future__ import annotations

import pytest

from harness.model.workflow import RecoveryPolicy
from tests.judge.histories import H, holds, shop, violates

POLICY = "policy-obeyed"


@pytest.mark.parametrize("subject", ["charge", "undo.charge"])
def test_as_many_sends_as_the_policy_allows_are_made_and_no_more(subject: str) -> None:
    def run(sends_count: int) -> H:
        h = H(shop(policy=RecoveryPolicy(attempts_max=2, compensation_attempts_max=2)))
        for number in range(sends_count):
            h.sent(subject).note(f"send {number}")
        return h.end("UNKNOWN")

    holds(run(2), POLICY)
    violates(run(3), POLICY, "send 0", "send 1", "send 2")


def test_an_undo_that_is_left_to_people_waits_for_one() -> None:
    scenario = shop(policy=RecoveryPolicy(automatic_compensation_allowed=False))
    violates(H(scenario).done("charge").sent("undo.charge").note("undo").end("UNKNOWN"), POLICY, "undo")
    h = H(scenario).done("charge").event("approval-granted", "approval", approval="a", operation="undo.charge")
    holds(h.sent("undo.charge").end("UNKNOWN"), POLICY)


def test_a_send_names_the_approval_it_spends() -> None:
    scenario = shop(policy=RecoveryPolicy(human_approval_required=True))
    holds(H(scenario).sent("charge", approval="a-1").end("UNKNOWN"), POLICY)
    violates(H(scenario).sent("charge").note("send").end("UNKNOWN"), POLICY, "send")


def _timed_out(*, required: bool = True) -> H:
    policy = RecoveryPolicy(reconciliation_required_after_timeout=required)
    return H(shop(policy=policy)).begun("charge").sent("charge").timed_out("charge").note("timeout")


@pytest.mark.parametrize("state", ["COMMITTED", "VERIFIED", "RECONCILED/not-committed"])
def test_after_a_timeout_nothing_is_claimed_on_no_evidence(state: str) -> None:
    violates(_timed_out().said("charge", state).note("claim").end("UNKNOWN"), POLICY, "timeout", "claim")


def test_an_observation_is_evidence() -> None:
    holds(_timed_out().looked("charge").said("charge", "RECONCILED/not-committed").end("FAILED_CLEAN"), POLICY)


def test_an_observation_that_failed_is_none() -> None:
    h = _timed_out().looked("charge", outcome="indefinite").said("charge", "RECONCILED/not-committed").note("claim")
    violates(h.end("FAILED_CLEAN"), POLICY, "timeout", "claim")


def test_an_answer_to_a_repetition_is_evidence() -> None:
    holds(_timed_out().sent("charge").saw_ok("charge").said("charge", "COMMITTED").end("RUNNING"), POLICY)


def test_an_answer_about_another_operation_is_none() -> None:
    h = _timed_out().sent("ship").saw_ok("ship").said("charge", "COMMITTED").note("claim").end("RUNNING")
    violates(h, POLICY, "timeout", "claim")


def test_a_policy_may_do_without_reconciliation() -> None:
    holds(_timed_out(required=False).said("charge", "RECONCILED/not-committed").end("FAILED_CLEAN"), POLICY)


def test_doubt_may_be_declared_without_evidence() -> None:
    holds(_timed_out().said("charge", "OUTCOME_UNKNOWN", "RECONCILIATION_REQUIRED").end("UNKNOWN"), POLICY)
