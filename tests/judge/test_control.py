"""downstream-waits, cancel-fences, approval-valid-at-commit, fenced-worker."""

from __future__ import annotations

import pytest

from harness.model.workflow import RecoveryPolicy
from tests.judge.histories import H, holds, shop, violates

WAITS = "downstream-waits"
CANCEL = "cancel-fences"
APPROVED = "approval-valid-at-commit"
FENCED = "fenced-worker"
IGNORED = "ignored.authoritative.prompt"


def test_a_step_starts_when_its_parent_is_verified() -> None:
    holds(H().done("charge").sent("ship").end("RUNNING"), WAITS)


@pytest.mark.parametrize("resolution", ["committed", "not-committed"])
def test_a_step_starts_when_its_parent_was_found_committed(resolution: str) -> None:
    h = H().begun("charge").said("charge", f"RECONCILED/{resolution}").note("claim").sent("ship").note("send")
    if resolution == "committed":
        holds(h.end("RUNNING"), WAITS)
    else:
        violates(h.end("RUNNING"), WAITS, "claim", "send")


def test_an_acknowledged_parent_is_not_enough() -> None:
    h = H().begun("charge").sent("charge").effect("charge").said("charge", "COMMITTED").note("claim")
    violates(h.sent("ship").note("send").verified("charge").end("RUNNING"), WAITS, "claim", "send")


def test_a_parent_nobody_spoke_of_is_not_done() -> None:
    violates(H().sent("ship").note("send").end("RUNNING"), WAITS, "send")


def test_without_claims_a_parent_is_done_when_its_effect_stands() -> None:
    holds(H(level=2).sent("charge").effect("charge").sent("ship").end("RUNNING"), WAITS)
    violates(H(level=2).sent("charge").sent("ship").note("send").effect("charge").end("RUNNING"), WAITS, "send")


def _in_doubt_then_rollback(cell: str) -> H:
    h = H(shop(cell)).done("charge").begun("ship").sent("ship").timed_out("ship")
    return h.said("charge", "COMPENSATION_REQUIRED").note("claim").sent("ship").note("again")


def test_asking_again_under_an_honoured_key_starts_nothing() -> None:
    holds(_in_doubt_then_rollback("honoured.authoritative.prompt").end("RECOVERING"), WAITS)
    violates(_in_doubt_then_rollback(IGNORED).end("RECOVERING"), WAITS, "claim", "again")


def _cancelled(h: H) -> H:
    return h.event("cancelled", "person", version=1).note("cancel")


def test_what_was_sent_before_the_cancellation_is_no_new_effect() -> None:
    holds(_cancelled(H().begun("charge").sent("charge")).effect("charge").end("RECOVERING"), CANCEL)


def test_what_is_sent_after_the_cancellation_is_new() -> None:
    h = _cancelled(H().said("charge", "PREPARED")).said("charge", "COMMITTING").sent("charge").note("send")
    violates(h.end("RECOVERING"), CANCEL, "cancel", "send")


def test_a_durable_intention_made_before_the_cancellation_goes_out() -> None:
    holds(_cancelled(H().begun("charge")).sent("charge").end("RECOVERING"), CANCEL)


def test_without_claims_an_intention_shows_as_a_crossed_boundary() -> None:
    def run(path: str) -> H:
        h = H(level=0).event("crossed", "w1", path)
        return _cancelled(h).sent("charge").note("send").end("RECOVERING")

    holds(run("shop/charge/attempt-1/intent-recorded"), CANCEL)
    violates(run("shop/charge/attempt-2/intent-recorded"), CANCEL, "cancel", "send")


def test_asking_again_about_what_is_in_doubt_is_recovery() -> None:
    def run(cell: str) -> H:
        h = _cancelled(H(shop(cell), level=0).sent("charge").timed_out("charge"))
        return h.sent("charge").note("again").end("RECOVERING")

    holds(run("honoured.authoritative.prompt"), CANCEL)
    violates(run(IGNORED), CANCEL, "cancel", "again")


def test_a_retry_after_a_refusal_is_a_new_effect() -> None:
    h = _cancelled(H().begun("charge").sent("charge").refused("charge").said("charge", "PREPARED"))
    violates(h.said("charge", "COMMITTING").sent("charge").note("again").end("RECOVERING"), CANCEL, "cancel", "again")


def test_recovery_of_an_intention_that_may_have_been_sent_goes_on() -> None:
    def run(*states: str) -> H:
        h = _cancelled(H().begun("charge").died()).said("charge", *states, "COMMITTING")
        return h.sent("charge", worker="w2").note("send").end("RECOVERING")

    holds(run("OUTCOME_UNKNOWN"), CANCEL)
    violates(run("PREPARED"), CANCEL, "cancel", "send")


def test_an_undo_after_the_cancellation_is_welcome() -> None:
    holds(_cancelled(H().done("charge")).compensated("charge").end("FAILED_COMPENSATED"), CANCEL)


def _asking() -> H:
    return H(shop(policy=RecoveryPolicy(human_approval_required=True)))


def _granted(h: H, *, kind: str = "approval-granted", operation: str = "charge", valid_s: int = 10) -> H:
    return h.event(
        kind, "approval", approval="a-1", operation=operation, digest="d", expires_ns=h.now_ns + valid_s * 1_000_000_000
    ).note(kind)


def _taken(h: H, kind: str) -> H:
    return h.event(kind, "approval", approval="a-1").note(kind)


def _takes_effect(h: H) -> H:
    return h.sent("charge", approval="a-1").effect("charge").note("effect").end("COMPLETED")


def test_an_effect_under_a_valid_approval_is_approved() -> None:
    holds(_takes_effect(_granted(_asking())), APPROVED)


def test_an_effect_without_any_approval_is_not() -> None:
    violates(_takes_effect(_asking()), APPROVED, "effect")


def test_an_approval_for_another_operation_does_not_count() -> None:
    violates(_takes_effect(_granted(_asking(), operation="ship")), APPROVED, "effect")


def test_an_operation_that_needs_no_approval_has_none() -> None:
    holds(_takes_effect(H()), APPROVED)


def test_an_approval_granted_afterwards_comes_too_late() -> None:
    h = _asking().sent("charge").effect("charge").note("effect")
    violates(_granted(h).end("COMPLETED"), APPROVED, "effect")


@pytest.mark.parametrize("kind", ["approval-denied", "approval-revoked"])
def test_an_approval_taken_back_before_it_was_spent_is_none(kind: str) -> None:
    violates(_takes_effect(_taken(_granted(_asking()), kind)), APPROVED, kind, "effect")


def test_an_approval_taken_back_after_it_was_spent_was_good() -> None:
    h = _granted(_granted(_asking()), kind="approval-consumed")
    holds(_takes_effect(_taken(h, "approval-revoked")), APPROVED)


def test_an_approval_that_had_expired_is_none() -> None:
    violates(_takes_effect(_granted(_asking()).pause(11)), APPROVED, "approval-granted", "effect")


def test_a_send_within_the_approval_counts_when_the_network_held_it_up() -> None:
    def run(fault: str) -> H:
        h = _granted(_asking()).sent("charge", approval="a-1")
        h.event("fault-fired", "rig", "shop/charge/attempt-1/sent", fault=fault)
        return h.pause(900).effect("charge").note("effect").end("COMPLETED")

    holds(run("late-delivery"), APPROVED)
    holds(run("zombie-worker"), APPROVED)
    violates(run("lost-request"), APPROVED, "approval-granted", "effect")


def _lost(h: H) -> H:
    return h.event("lease-lost", "w1", taken_by="w2").note("loss")


def test_a_worker_without_lease_may_look() -> None:
    holds(_lost(H().done("charge")).looked("charge").end("COMPLETED"), FENCED)


def test_a_call_sent_before_the_lease_was_lost_may_take_effect_after() -> None:
    holds(_lost(H().sent("charge")).effect("charge").end("COMPLETED"), FENCED)


def test_a_worker_without_lease_causes_no_effect() -> None:
    h = _lost(H()).sent("charge").note("send").effect("charge").note("effect").end("COMPLETED")
    violates(h, FENCED, "loss", "send", "effect")


def test_a_call_that_was_fenced_off_at_the_provider_is_no_effect() -> None:
    holds(_lost(H()).sent("charge").saw("charge", "definite", "stale-fence").end("COMPLETED"), FENCED)


def test_the_worker_that_took_over_may_act() -> None:
    h = _lost(H()).sent("charge", worker="w2").effect("charge").event("wrote", "w2").end("COMPLETED")
    holds(h, FENCED)


def test_a_worker_without_lease_writes_nothing() -> None:
    holds(_lost(H().event("wrote", "w1")).end("COMPLETED"), FENCED)
    violates(_lost(H()).event("wrote", "w1").note("write").end("COMPLETED"), FENCED, "loss", "write")


def test_the_dead_do_not_act() -> None:
    holds(H().died().end("COMPLETED"), FENCED)
    violates(H().died().event("dead-call", "w1", what="commit").note("act").end("COMPLETED"), FENCED, "act")
