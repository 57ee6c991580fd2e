"""The course of the reference ledger under faults: what it sends, claims and calls itself, read from histories."""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.model.cell import SECOND_NS
from harness.model.event import Event, History
from reference_ledger.approvals import ROUNDS_MAX
from reference_ledger.ledger import BACKOFF_NS
from tests.rigs.simulated import after, bad_verdicts, claims, effects, end_of, play

ASKED = "pair/first/attempt-1"
BOTH_STAND = ("COMPLETED", {"first": "VERIFIED", "second": "VERIFIED"})


def sound(line: str) -> History:
    """A run that holds every guarantee: what a test says of it is said of a sound run."""
    history = play(line)
    assert bad_verdicts(history) == []
    return history


def sends(history: History, operation: str) -> list[Event]:
    """The effect or undo calls of this operation."""
    return [
        e
        for e in history.of_kind("call-sent")
        if e.data["operation"] == operation and e.data["purpose"] in ("effect", "undo")
    ]


def actions(history: History) -> list[str]:
    """What was done to the world, in order."""
    return [e.data["action"] for e in history.of_kind("effect")]


# --- submission ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["before-commit", "in-commit"])
def test_a_submission_that_died_before_its_commit_is_made_again(phase: str) -> None:
    history = sound(f"pair:seed=0:pair/workflow/accept/{phase}=crash")
    assert [e.actor for e in history.of_kind("wrote") if "accept" in e.where] == ["w2"]
    assert end_of(history) == BOTH_STAND


def test_a_submission_that_died_after_its_commit_is_found_and_driven_once() -> None:
    history = sound("pair:seed=0:pair/workflow/accept/after-commit=crash")
    assert len(history.of_kind("submitted")) == 2
    assert len([e for e in history.of_kind("wrote") if "accept" in e.where]) == 1
    assert effects(history) == [("first", "charge", 1), ("second", "resource.create", 1)]
    assert end_of(history) == BOTH_STAND


def test_a_submitter_whose_commit_was_not_acknowledged_finds_its_own_workflow() -> None:
    history = sound("pair:seed=0:pair/workflow/accept/in-commit=commit-unacknowledged")
    assert len(history.of_kind("submitted")) == 1
    assert {e.actor for e in history.of_kind("wrote")} == {"w1"}


def test_everything_is_prepared_in_the_one_transaction_that_accepts() -> None:
    history = sound("onboarding:seed=0:")
    accepted, following = history.of_kind("wrote")[:2]
    first = [e for e in history.of_kind("claimed") if accepted.index < e.index < following.index]
    operations = [op["id"] for op in history.header.scenario["workflow"]["operations"]]
    assert [(e.where, e.data["to"]) for e in first] == [
        ("workflow", "RUNNING"),
        *((name, "PREPARED") for name in operations),
    ]


# --- doubt ---------------------------------------------------------------------------------------------------------


def test_a_lost_response_is_found_standing_and_not_sent_again() -> None:
    history = sound(f"pair:seed=0:{ASKED}/committed=lost-response")
    assert claims(history, "first") == ["PREPARED", "COMMITTING", "OUTCOME_UNKNOWN", "RECONCILED"]
    assert len(sends(history, "first")) == 1
    assert end_of(history) == ("COMPLETED", {"first": "RECONCILED/committed", "second": "VERIFIED"})


def test_a_lost_request_is_proved_absent_and_sent_again_under_its_key() -> None:
    history = sound(f"pair:seed=0:{ASKED}/sent=lost-request")
    assert claims(history, "first")[2:5] == ["OUTCOME_UNKNOWN", "RECONCILED", "PREPARED"]
    first, second = sends(history, "first")
    assert first.data["key"] == second.data["key"]
    (look,) = [e for e in history.of_kind("call-sent") if e.data["purpose"] == "lookup"]
    assert look.time_ns > first.data["not_after"], "not before the first request has run out"
    assert end_of(history) == BOTH_STAND


def test_what_cannot_be_established_stops_the_workflow_and_calls_a_person_once() -> None:
    history = sound(f"pair:seed=0:cell=ignored.absent.late:{ASKED}/committed=lost-response")
    assert end_of(history) == ("UNKNOWN", {"first": "RECONCILIATION_REQUIRED", "second": "PREPARED"})
    assert [e.where for e in history.of_kind("alerted")] == ["first"]
    assert not sends(history, "second")


def test_a_worker_that_died_with_a_request_out_leaves_doubt_to_its_successor() -> None:
    history = sound(f"pair:seed=0:{ASKED}/committed=crash")
    assert claims(history, "first") == ["PREPARED", "COMMITTING", "OUTCOME_UNKNOWN", "RECONCILED"]
    assert len(sends(history, "first")) == 1


def test_a_false_success_is_found_out_by_verification() -> None:
    history = sound(f"pair:seed=0:cell=ignored.authoritative.prompt:{ASKED}/delivered=false-success")
    assert claims(history, "first")[:5] == ["PREPARED", "COMMITTING", "COMMITTED", "VERIFYING", "OUTCOME_UNKNOWN"]
    assert end_of(history) == BOTH_STAND, "the absence was proved, and the operation done again"


# --- definite refusals ---------------------------------------------------------------------------------------------


def test_a_rate_limit_is_waited_out() -> None:
    history = sound(f"pair:seed=0:{ASKED}/delivered=rate-limited,pair/first/attempt-2/delivered=rate-limited")
    moments = [e.time_ns for e in sends(history, "first")]
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert BACKOFF_NS <= pauses[0] < 2 * BACKOFF_NS <= pauses[1] < 3 * BACKOFF_NS
    assert end_of(history) == BOTH_STAND


def test_attempts_end_where_the_policy_says() -> None:
    refusals = ",".join(f"pair/first/attempt-{n}/delivered=rate-limited" for n in (1, 2, 3))
    history = sound(f"pair:seed=0:{refusals}")
    assert len(sends(history, "first")) == 3
    assert end_of(history) == ("FAILED_CLEAN", {"first": "RECONCILED/not-committed", "second": "PREPARED"})


def test_a_no_is_not_asked_again() -> None:
    history = sound(f"pair:seed=0:{ASKED}/delivered=declined")
    assert len(sends(history, "first")) == 1
    assert end_of(history)[0] == "FAILED_CLEAN"


def test_a_child_is_not_started_before_its_parent_is_verified() -> None:
    history = sound("pair:seed=0:pair/first/verify-1/delivered=lookup-unavailable")
    (verified,) = [e for e in history.of_kind("claimed") if (e.where, e.data["to"]) == ("first", "VERIFIED")]
    (child,) = sends(history, "second")
    assert verified.index < child.index


# --- cancellation --------------------------------------------------------------------------------------------------


def test_cancelled_before_anything_was_sent_it_ends_clean() -> None:
    history = sound("pair:seed=0:pair/workflow/accept/after-commit=cancel")
    assert actions(history) == []
    assert end_of(history) == ("FAILED_CLEAN", {"first": "PREPARED", "second": "PREPARED"})


@pytest.mark.parametrize("phase", ["intent-recorded", "sent", "committed", "acknowledged", "recorded"])
def test_cancelled_in_flight_the_effect_is_settled_and_undone_and_no_other_is_started(phase: str) -> None:
    history = sound(f"pair:seed=0:{ASKED}/{phase}=cancel")
    assert actions(history) == ["charge", "refund"]
    assert end_of(history)[0] == "FAILED_COMPENSATED"
    assert not sends(history, "second")


def test_cancelled_after_its_end_it_stays_complete() -> None:
    history = sound("pair:seed=0:pair/workflow/finish/after-commit=cancel")
    assert actions(history) == ["charge", "resource.create"]
    assert end_of(history) == BOTH_STAND


def test_cancelled_in_mid_rollback_nothing_is_undone_twice() -> None:
    history = sound("rollback:seed=0:rollback/undo.billing.charge/attempt-1/committed=cancel")
    assert sorted(actions(history)[3:]) == ["record.remove", "refund", "tenant.delete"]
    assert end_of(history)[0] == "FAILED_COMPENSATED"


# --- approval ------------------------------------------------------------------------------------------------------


def test_a_denied_operation_is_never_sent_and_what_stands_is_undone() -> None:
    history = sound("drill:seed=0:drill/second/approval-1/committed=approval-denied")
    assert not sends(history, "second")
    assert actions(history) == ["charge", "refund"]
    assert end_of(history)[1]["second"] == "RECONCILED/not-committed"


def test_an_approval_that_ran_out_before_the_send_is_asked_for_again() -> None:
    history = sound("drill:seed=0:drill/second/attempt-1/intent-recorded=approval-expires")
    asked = [e.data["approval"] for e in history.of_kind("approval-requested")]
    assert len(asked) == len(set(asked)) == 2
    late, sent = [e for e in history.of_kind("caller-saw") if e.where.startswith("drill/second/attempt")]
    assert (late.data["code"], sent.data["code"]) == ("deadline-passed", "ok")
    assert end_of(history)[0] == "COMPLETED"


def test_asking_for_approval_has_an_end() -> None:
    expiries = ",".join(f"drill/second/attempt-{n}/intent-recorded=approval-expires" for n in (1, 2))
    history = sound(f"drill:seed=0:{expiries}")
    assert len(history.of_kind("approval-requested")) <= ROUNDS_MAX
    assert end_of(history)[0] == "FAILED_COMPENSATED"
    assert not [e for e in history.of_kind("effect") if e.data["operation"] == "second"]


def test_the_worker_that_takes_over_asks_again_when_the_approval_in_hand_ran_out() -> None:
    scenario = "approval-expires-recovering"
    history = sound(f"{scenario}:seed=0:{scenario}/billing.charge/attempt-1/intent-recorded=crash")
    consumed = [(e.index, e.data["expires_ns"]) for e in history.of_kind("approval-consumed")]
    (made,) = history.of_kind("effect")
    assert len(consumed) == 2
    assert made.index > consumed[1][0]
    assert consumed[0][1] < made.time_ns <= consumed[1][1]


def test_a_consumed_approval_whose_answer_was_lost_is_consumed_again_by_nobody_else() -> None:
    history = sound("drill:seed=0:drill/second/approval-4/committed=lost-response")
    assert len(history.of_kind("approval-consumed")) == 1
    assert end_of(history)[0] == "COMPLETED"


# --- rollback ------------------------------------------------------------------------------------------------------


def test_undos_keep_the_order_the_author_asked_for() -> None:
    history = sound("rollback:seed=0:")
    assert actions(history) == ["tenant.create", "charge", "record.add", "refund", "record.remove", "tenant.delete"]


def test_without_such_an_order_the_last_made_is_undone_first() -> None:
    history = sound("crash-in-mid-rollback:seed=0:")
    assert actions(history)[3:] == ["record.remove", "refund", "tenant.delete"]


def test_an_undo_has_an_id_a_key_and_a_verification_of_its_own() -> None:
    history = sound("rollback:seed=0:")
    keys = [sends(history, name)[0].data["key"] for name in ("billing.charge", "undo.billing.charge")]
    assert len(set(keys)) == 2
    assert claims(history, "undo.billing.charge") == ["PREPARED", "COMMITTING", "COMMITTED", "VERIFYING", "VERIFIED"]
    assert claims(history, "billing.charge")[-3:] == ["COMPENSATION_REQUIRED", "COMPENSATING", "COMPENSATED"]


def test_the_plan_is_durable_before_the_first_undo_is_sent() -> None:
    history = sound("rollback:seed=0:")
    (planned,) = [e for e in history.of_kind("wrote") if "plan-rollback" in e.where]
    undos = [e for e in history.of_kind("call-sent") if e.data["purpose"] == "undo"]
    assert all(planned.index < e.index for e in undos)
    created = [e for e in history.of_kind("claimed") if e.where.startswith("undo.") and e.data["was"] == ""]
    assert len(created) == 3
    following = after(history, planned, "wrote")[0]
    assert all(planned.index < e.index < following.index for e in created), "all in that one transaction"


MID_ROLLBACK = "crash-in-mid-rollback"


@pytest.mark.parametrize(
    "where",
    [
        "undo.billing.charge/attempt-1/intent-recorded",
        "undo.billing.charge/attempt-1/sent",
        "undo.billing.charge/attempt-1/committed",
        "undo.billing.charge/attempt-1/recorded",
        "undo.billing.charge/verify-2/after-commit",
    ],
)
def test_a_rollback_resumes_after_the_last_verified_undo(where: str) -> None:
    history = sound(f"{MID_ROLLBACK}:seed=0:{MID_ROLLBACK}/{where}=crash")
    (died,) = history.of_kind("worker-died")
    verified = [e for e in history.of_kind("claimed") if (e.where, e.data["to"]) == ("undo.dns.record", "VERIFIED")]
    assert verified[0].index < died.index
    assert not [e for e in after(history, died, "call-sent") if e.data["operation"] == "undo.dns.record"]
    assert actions(history)[3:] == ["record.remove", "refund", "tenant.delete"]
    assert end_of(history)[0] == "FAILED_COMPENSATED"


def test_a_rollback_survives_a_death_in_each_of_its_undos() -> None:
    undos = ("undo.dns.record", "undo.billing.charge", "undo.tenant.create")
    crashes = ",".join(f"{MID_ROLLBACK}/{undo}/attempt-1/committed=crash" for undo in undos)
    history = sound(f"{MID_ROLLBACK}:seed=0:{crashes}")
    assert len(history.of_kind("worker-died")) == 3
    assert actions(history)[3:] == ["record.remove", "refund", "tenant.delete"]


def test_a_declined_undo_halts_and_calls_a_person_once() -> None:
    history = sound("undo-fails:seed=0:")
    state, operations = end_of(history)
    assert (state, operations["billing.charge"]) == ("FAILED_RECONCILIATION_REQUIRED", "COMPENSATION_FAILED")
    assert operations["undo.billing.charge"] == "RECONCILED/not-committed"
    assert [e.where for e in history.of_kind("alerted")] == ["billing.charge"]
    (halted,) = [e for e in history.of_kind("wrote") if "halt" in e.where]
    assert not after(history, halted, "call-sent")
    assert operations["tenant.create"] == "COMPENSATION_REQUIRED", "nothing further is done"


@pytest.mark.parametrize("phase", ["before-commit", "in-commit"])
def test_a_death_between_the_call_and_the_label_calls_the_person_once_all_the_same(phase: str) -> None:
    history = sound(f"undo-fails:seed=0:undo-fails/workflow/finish/{phase}=crash")
    (died,) = history.of_kind("worker-died")
    (alerted,) = history.of_kind("alerted")
    assert alerted.index < died.index
    assert not after(history, died, "call-sent")
    assert claims(history, "workflow")[-1] == "FAILED_RECONCILIATION_REQUIRED"


def test_a_death_before_the_call_leaves_it_to_the_successor() -> None:
    history = sound("undo-fails:seed=0:undo-fails/billing.charge/halt/after-commit=crash")
    (died,) = history.of_kind("worker-died")
    (alerted,) = history.of_kind("alerted")
    assert (alerted.actor, alerted.index > died.index) == ("w2", True)


def test_an_undo_that_nobody_named_is_a_gap_and_not_invented() -> None:
    history = sound("undo-missing:seed=0:")
    state, operations = end_of(history)
    assert (state, operations["billing.charge"]) == ("FAILED_RECONCILIATION_REQUIRED", "RECONCILIATION_REQUIRED")
    assert "undo.billing.charge" not in operations
    assert len(history.of_kind("alerted")) == 1


def test_an_undo_whose_effect_is_gone_reads_the_world_and_is_done() -> None:
    scenario = "changed-before-compensation"
    history = sound(f"{scenario}:seed=0:{scenario}/undo.billing.charge/attempt-1/sent=external-change")
    assert end_of(history)[1]["undo.billing.charge"] == "RECONCILED/committed"
    assert end_of(history)[0] == "FAILED_COMPENSATED"


# --- leases --------------------------------------------------------------------------------------------------------


def test_each_takeover_has_a_higher_fencing_token() -> None:
    history = sound(f"pair:seed=0:{ASKED}/committed=crash,pair/second/attempt-1/committed=crash")
    fences = {e.actor: e.data["fence"] for e in history.of_kind("call-sent") if e.data["purpose"] == "effect"}
    assert fences == {"w1": 1, "w2": 2}
    third = [e for e in history.of_kind("wrote") if "take-over" in e.where]
    assert [e.actor for e in third] == ["w2", "w3"]


@pytest.mark.parametrize("phase", ["intent-recorded", "committed", "acknowledged", "recorded"])
def test_a_worker_that_lost_its_lease_writes_nothing_more(phase: str) -> None:
    history = sound(f"pair:seed=0:{ASKED}/{phase}=zombie-worker")
    (resumed,) = history.of_kind("worker-resumed")
    assert not [e for e in after(history, resumed, "wrote") if e.actor == "w1"]
    assert end_of(history)[0] == "COMPLETED"


def test_a_lease_is_renewed_by_every_write() -> None:
    """A recovery that comes 29 s after the last write finds the lease valid, however old the workflow is."""
    history = sound(
        "pair:seed=0:pair/first/attempt-1/delivered=pending-then-succeeded,pair/first/verify-1/sent=lost-request"
    )
    assert {e.actor for e in history.of_kind("wrote")} == {"w1"}
    assert history.events[-1].time_ns > 30 * SECOND_NS


# --- terminals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("pair:seed=0:", "COMPLETED"),
        (f"pair:seed=0:{ASKED}/delivered=declined", "FAILED_CLEAN"),
        ("pair:seed=0:pair/second/attempt-1/delivered=declined", "FAILED_COMPENSATED"),
        (f"pair:seed=0:{ASKED}/delivered=pending-then-failed", "FAILED_RECONCILED"),
        ("charge-mail:seed=0:charge-mail/mail.receipt/attempt-1/recorded=cancel", "FAILED_WITH_IRREVERSIBLE_EFFECT"),
        ("undo-fails:seed=0:", "FAILED_RECONCILIATION_REQUIRED"),
        (f"pair:seed=0:cell=ignored.absent.late:{ASKED}/sent=lost-request", "UNKNOWN"),
    ],
)
def test_a_workflow_ends_under_the_label_that_is_true(line: str, label: str) -> None:
    assert end_of(sound(line))[0] == label


def test_an_irreversible_effect_is_named_and_everything_else_is_undone() -> None:
    history = sound("charge-mail:seed=0:charge-mail/mail.receipt/attempt-1/recorded=cancel")
    assert end_of(history)[1] == {
        "billing.charge": "COMPENSATED",
        "mail.receipt": "IRREVERSIBLE_EFFECT",
        "undo.billing.charge": "VERIFIED",
    }
