"""honest-claim and nothing-lost."""

from __future__ import annotations

import pytest

from tests.judge.histories import H, holds, is_unknown, violates

HONEST = "honest-claim"
KEPT = "nothing-lost"


def test_verified_is_said_of_an_effect_that_stands() -> None:
    holds(H().done("charge").end("RUNNING"), HONEST)


def test_an_acknowledgement_is_no_proof() -> None:
    h = H().begun("charge").sent("charge").saw_ok("charge").verified("charge").note("claim")
    violates(h.effect("charge").end("RUNNING"), HONEST, "claim")


def test_verified_is_not_said_of_two_effects() -> None:
    h = H().sent("charge").effect("charge").note("one").effect("charge", delivery=2).note("two")
    violates(h.said("charge", "VERIFIED").note("claim").end("RUNNING"), HONEST, "one", "two", "claim")


def test_compensated_is_said_when_nothing_stands() -> None:
    holds(H().done("charge").compensated("charge").end("FAILED_COMPENSATED"), HONEST)
    h = H().begun("charge").sent("charge").effect("charge").note("effect").said("charge", "COMPENSATED").note("claim")
    violates(h.end("FAILED_COMPENSATED"), HONEST, "effect", "claim")


def test_reconciled_as_committed_needs_the_effect() -> None:
    h = H().begun("charge").sent("charge").effect("charge").said("charge", "RECONCILED/committed")
    holds(h.end("RUNNING"), HONEST)
    h = H().begun("charge").sent("charge").said("charge", "RECONCILED/committed").note("claim").end("RUNNING")
    violates(h, HONEST, "claim")


def test_reconciled_as_not_committed_needs_its_absence() -> None:
    holds(H().begun("charge").sent("charge").said("charge", "RECONCILED/not-committed").end("RUNNING"), HONEST)
    h = H().begun("charge").sent("charge").effect("charge").note("effect")
    violates(h.said("charge", "RECONCILED/not-committed").note("claim").end("RUNNING"), HONEST, "effect", "claim")


def test_not_committed_is_also_about_what_comes_late() -> None:
    h = H().begun("charge").sent("charge").said("charge", "RECONCILED/not-committed").note("claim")
    violates(h.effect("charge").note("late").end("RUNNING"), HONEST, "claim", "late")


def test_not_committed_says_nothing_of_calls_sent_afterwards() -> None:
    h = H().begun("charge").sent("charge").said("charge", "RECONCILED/not-committed").sent("charge").effect("charge")
    holds(h.end("RUNNING"), HONEST)


def test_completed_needs_every_effect() -> None:
    holds(H().done("charge").done("ship").said("workflow", "COMPLETED").end("COMPLETED"), HONEST)
    h = H().done("charge").said("workflow", "COMPLETED").note("claim").end("COMPLETED")
    assert violates(h, HONEST, "claim").subject == "ship"


def test_completed_is_not_false_for_what_an_outsider_undid_after_it_was_verified() -> None:
    h = H().done("charge").outsider_undid("charge").done("ship").said("workflow", "COMPLETED")
    holds(h.end("COMPLETED"), HONEST)


@pytest.mark.parametrize("label", ["FAILED_CLEAN", "FAILED_COMPENSATED", "FAILED_RECONCILED"])
def test_a_label_without_effects_is_not_said_while_one_stands(label: str) -> None:
    holds(H().sent("charge").said("workflow", label).end(label), HONEST)
    h = H().sent("charge").effect("charge").note("effect").said("workflow", label).note("claim").end(label)
    violates(h, HONEST, "effect", "claim")


def test_an_undo_is_verified_by_its_own_effect() -> None:
    h = H().done("charge").sent("undo.charge").saw_ok("undo.charge").said("undo.charge", "VERIFIED").note("claim")
    violates(h.end("FAILED_COMPENSATED"), HONEST, "claim")


def test_an_undo_has_nothing_to_do_when_an_outsider_did_it() -> None:
    holds(H().done("charge").outsider_undid("charge").said("undo.charge", "VERIFIED").end("RUNNING"), HONEST)


def test_a_false_claim_is_proved_before_the_run_is_over() -> None:
    violates(H().said("charge", "VERIFIED").note("claim").ended("crossings"), HONEST, "claim")


def test_claims_along_the_lifecycle_are_kept() -> None:
    h = H().said("workflow", "RUNNING").done("charge").done("ship").said("workflow", "COMPLETED")
    holds(h.end("COMPLETED"), KEPT)


def test_an_operation_begins_as_prepared() -> None:
    violates(H().said("charge", "COMMITTING").note("claim").end("RUNNING"), KEPT, "claim")


def test_a_pair_that_is_not_in_the_table_is_lost() -> None:
    h = H().said("charge", "PREPARED").note("old").said("charge", "VERIFIED").note("new").end("RUNNING")
    violates(h, KEPT, "old", "new")


def test_a_final_state_is_never_left() -> None:
    h = H().done("charge").compensated("charge").note("old").said("charge", "PREPARED").note("new").end("RUNNING")
    violates(h, KEPT, "old", "new")


def test_a_word_that_is_no_state_leads_nowhere() -> None:
    h = H().said("charge", "PREPARED").note("old").said("charge", "DONE").note("new").end("RUNNING")
    violates(h, KEPT, "old", "new")


def test_a_claim_starts_where_the_last_one_ended() -> None:
    h = H().begun("charge").note("old").said("charge", "RECONCILED/not-committed", was="PREPARED").note("new")
    violates(h.end("RUNNING"), KEPT, "old", "new")


def test_a_workflow_never_leaves_its_label() -> None:
    h = H().said("workflow", "FAILED_CLEAN").note("old").said("workflow", "RUNNING").note("new").end("RUNNING")
    violates(h, KEPT, "old", "new")


def test_a_subject_once_claimed_is_in_the_final_ledger() -> None:
    h = H().done("charge").note("claim").end("RUNNING", charge=None)
    violates(h, KEPT, "claim", "audit")


def test_the_final_ledger_says_what_the_last_claim_said() -> None:
    h = H().done("charge").note("claim").end("RUNNING", charge=["COMMITTED", ""])
    violates(h, KEPT, "claim", "audit")


def test_a_resolution_is_part_of_what_was_said() -> None:
    h = H().begun("charge").said("charge", "RECONCILED/not-committed").note("claim")
    violates(h.end("RUNNING", charge=["RECONCILED", "committed"]), KEPT, "claim", "audit")


def test_the_final_label_is_the_last_one_claimed() -> None:
    h = H().said("workflow", "RUNNING").note("claim").end("COMPLETED")
    violates(h, KEPT, "claim", "audit")


def test_a_state_nobody_claimed_comes_from_nowhere() -> None:
    violates(H().end("RUNNING", charge=["VERIFIED", ""]), KEPT, "audit")


def test_without_an_audit_nothing_shows_that_it_is_kept() -> None:
    assert "audit" in is_unknown(H().done("charge").ended(), KEPT)
