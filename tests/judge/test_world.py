"""known-state and no-duplicate-effect."""

from __future__ import annotations

import pytest

from tests.judge.histories import H, holds, is_unknown, shop, violates

KNOWN = "known-state"
ONCE = "no-duplicate-effect"
IGNORED = "ignored.authoritative.prompt"


def test_verified_operations_whose_effects_stand_are_known() -> None:
    holds(H().done("charge").done("ship").end("COMPLETED"), KNOWN)


def test_a_verified_operation_without_an_effect_is_not_known() -> None:
    h = H().begun("charge").sent("charge").saw_ok("charge").verified("charge").note("claim").end("FAILED_CLEAN")
    violates(h, KNOWN, "claim")


def test_an_outside_undo_after_the_claim_excuses_it() -> None:
    holds(H().done("charge").outsider_undid("charge").end("COMPLETED"), KNOWN)


def test_an_outside_undo_before_the_claim_does_not_excuse_it() -> None:
    h = H().begun("charge").sent("charge").effect("charge").outsider_undid("charge").verified("charge").note("claim")
    violates(h.end("COMPLETED"), KNOWN, "claim")


def test_our_own_undo_after_the_claim_does_not_excuse_it() -> None:
    h = H().done("charge").note("claim").sent("undo.charge").effect("undo.charge")
    violates(h.end("COMPLETED", undo__charge=["VERIFIED", ""]), KNOWN, "claim")


@pytest.mark.parametrize("state", [["PREPARED", ""], ["RECONCILED", "not-committed"], ["COMPENSATED", ""]])
def test_an_effect_that_stands_where_the_ledger_says_there_is_none_is_not_known(state: list[str]) -> None:
    h = H().sent("charge").effect("charge").note("effect")
    violates(h.end("FAILED_CLEAN", charge=state), KNOWN, "effect", "audit")


def test_a_state_that_says_there_is_no_effect_is_known_without_one() -> None:
    holds(H().sent("charge").end("FAILED_CLEAN", charge=["RECONCILED", "not-committed"]), KNOWN)


def test_two_standing_effects_are_not_one() -> None:
    h = H().begun("charge").sent("charge").effect("charge").note("first").verified("charge").note("claim")
    violates(h.sent("charge").effect("charge").note("second").end("COMPLETED"), KNOWN, "first", "claim", "second")


def test_an_unresolved_operation_blocks_a_label_that_says_nothing_is_open() -> None:
    unresolved = ["OUTCOME_UNKNOWN", ""]
    holds(H().sent("charge").effect("charge").end("UNKNOWN", charge=unresolved), KNOWN)
    violates(H().sent("charge").effect("charge").end("FAILED_CLEAN", charge=unresolved), KNOWN, "audit")


def test_an_operation_in_recovery_is_known_while_the_workflow_is_open() -> None:
    h = H().done("charge").said("charge", "COMPENSATION_REQUIRED")
    holds(h.end("FAILED_RECONCILIATION_REQUIRED"), KNOWN)


def test_an_operation_in_recovery_is_not_known_under_a_label_that_says_it_is_over() -> None:
    violates(H().done("charge").said("charge", "COMPENSATION_REQUIRED").end("FAILED_COMPENSATED"), KNOWN, "audit")


@pytest.mark.parametrize(
    "states", [["COMMITTING"], ["COMMITTING", "COMMITTED"], ["COMMITTING", "COMMITTED", "VERIFYING"]]
)
def test_an_operation_left_under_way_is_not_known(states: list[str]) -> None:
    h = H().said("charge", "PREPARED").sent("charge").effect("charge").said("charge", *states).note("claim")
    violates(h.end("RUNNING"), KNOWN, "claim", "audit")


def test_an_effect_at_a_target_of_nobody_is_not_known() -> None:
    h = H().done("charge").sent("charge", target="order-2").effect("charge", target="order-2").note("stray")
    violates(h.end("COMPLETED"), KNOWN, "stray", "audit")


def test_an_effect_of_nobody_that_was_undone_is_no_harm() -> None:
    h = H().done("charge").sent("ship", target="parcel-2").effect("ship", target="parcel-2").outsider_undid("ship")
    holds(h.end("COMPLETED"), KNOWN)


def test_an_effect_of_an_operation_that_the_ledger_forgot_is_not_known() -> None:
    h = H().sent("charge").effect("charge").note("effect")
    violates(h.end("FAILED_CLEAN", charge=None), KNOWN, "effect", "audit")


def test_an_undo_is_judged_by_its_own_effect() -> None:
    holds(H().done("charge").compensated("charge").end("FAILED_COMPENSATED"), KNOWN)
    h = H().done("charge").outsider_undid("charge").said("charge", "COMPENSATED").sent("undo.charge")
    h.effect("undo.charge").note("undo").end("FAILED_COMPENSATED", undo__charge=["PREPARED", ""])
    violates(h, KNOWN, "undo", "audit")


def test_an_outside_undo_leaves_a_verified_undo_nothing_to_show() -> None:
    h = H().done("charge").outsider_undid("charge").said("charge", "COMPENSATED")
    holds(h.end("FAILED_COMPENSATED", undo__charge=["VERIFIED", ""]), KNOWN)


def test_from_level_four_an_undo_has_a_record_of_its_own() -> None:
    def run(level: int) -> H:
        h = H(level=level).done("charge").sent("undo.charge").effect("undo.charge").note("undo")
        return h.end("FAILED_COMPENSATED", charge=["COMPENSATED", ""])

    holds(run(3), KNOWN)
    violates(run(4), KNOWN, "undo", "audit")


def test_without_an_audit_nothing_is_known() -> None:
    assert "audit" in is_unknown(H().done("charge").ended(), KNOWN)


def test_one_effect_after_another_was_undone_is_no_duplicate() -> None:
    h = H().sent("charge").effect("charge").outsider_undid("charge").sent("charge").effect("charge")
    holds(h.end("COMPLETED"), ONCE)


def test_two_calls_with_an_effect_each_are_a_duplicate() -> None:
    h = H().sent("charge").effect("charge").note("first").sent("charge").effect("charge").note("second")
    violates(h.end("COMPLETED"), ONCE, "first", "second")


def test_a_duplicate_stays_one_though_it_is_undone_later() -> None:
    h = H().sent("charge").effect("charge").note("first").sent("charge").effect("charge").note("second")
    violates(h.outsider_undid("charge").end("COMPLETED"), ONCE, "first", "second")


def test_a_duplicate_is_proved_before_the_run_is_over() -> None:
    h = H().sent("charge").effect("charge").note("first").sent("charge").effect("charge").note("second")
    violates(h.ended("crossings"), ONCE, "first", "second")


def _network_copy(level: int = 5) -> H:
    h = H(shop(IGNORED), level=level).sent("charge").effect("charge").note("first")
    return h.effect("charge", delivery=2).note("copy")


def test_a_copy_by_the_network_must_be_declared() -> None:
    holds(_network_copy().end("FAILED_RECONCILIATION_REQUIRED", charge=["RECONCILIATION_REQUIRED", ""]), ONCE)
    violates(_network_copy().end("COMPLETED", charge=["VERIFIED", ""]), ONCE, "first", "copy")


def test_a_copy_by_the_network_may_be_undone_instead() -> None:
    holds(_network_copy().outsider_undid("charge").end("COMPLETED", charge=["VERIFIED", ""]), ONCE)


def test_a_candidate_without_operation_states_cannot_declare_a_copy() -> None:
    holds(_network_copy(level=2).end("COMPLETED"), ONCE)


def test_a_copy_is_open_until_the_audit() -> None:
    assert is_unknown(_network_copy().ended(), ONCE)


def test_two_refunds_of_one_charge_are_a_duplicate_of_the_undo() -> None:
    h = H().done("charge").sent("undo.charge").effect("undo.charge").note("first")
    h.sent("undo.charge").effect("undo.charge").note("second").end("FAILED_COMPENSATED")
    violates(h, ONCE, "first", "second")
