"""right-terminal and settles."""

from __future__ import annotations

import pytest

from tests.judge.histories import H, holds, is_unknown, shop, violates

LABEL = "right-terminal"
SETTLES = "settles"
UNKNOWN = ["OUTCOME_UNKNOWN", ""]


def test_completed_means_that_every_operation_is_verified() -> None:
    holds(H().done("charge").done("ship").end("COMPLETED"), LABEL)
    violates(H().done("charge").end("COMPLETED"), LABEL, "audit")


def test_completed_may_rest_on_a_reconciliation_that_found_it_committed() -> None:
    reconciled = ["RECONCILED", "committed"]
    holds(H().done("charge").end("COMPLETED", ship=reconciled), LABEL)
    violates(H().done("charge").end("COMPLETED", ship=["RECONCILED", "not-committed"]), LABEL, "audit")


def test_below_level_three_completed_is_compared_with_the_world() -> None:
    holds(H(level=1).sent("charge").effect("charge").sent("ship").effect("ship").end("COMPLETED"), LABEL)
    violates(H(level=1).sent("charge").effect("charge").sent("ship").end("COMPLETED"), LABEL, "audit")


def test_clean_means_that_nothing_stands() -> None:
    holds(H().sent("charge").end("FAILED_CLEAN"), LABEL)
    violates(H().sent("charge").effect("charge").note("effect").end("FAILED_CLEAN"), LABEL, "effect", "audit")


def test_clean_means_that_nothing_had_to_be_compensated() -> None:
    violates(H().done("charge").compensated("charge").end("FAILED_CLEAN"), LABEL, "audit")


def test_below_level_three_clean_means_that_nothing_was_undone() -> None:
    h = H(level=1).sent("charge").effect("charge").sent("undo.charge").effect("undo.charge").note("undo")
    violates(h.end("FAILED_CLEAN"), LABEL, "undo", "audit")


def test_compensated_means_that_something_was_and_nothing_stands() -> None:
    holds(H().done("charge").compensated("charge").end("FAILED_COMPENSATED"), LABEL)
    violates(H().sent("charge").end("FAILED_COMPENSATED"), LABEL, "audit")
    h = H().done("charge").compensated("charge").sent("ship").effect("ship").note("effect")
    violates(h.end("FAILED_COMPENSATED"), LABEL, "effect", "audit")


def test_reconciled_means_that_something_was_and_nothing_stands() -> None:
    reconciled = ["RECONCILED", "not-committed"]
    holds(H().sent("charge").end("FAILED_RECONCILED", charge=reconciled), LABEL)
    violates(H().sent("charge").end("FAILED_RECONCILED"), LABEL, "audit")
    h = H().sent("charge").effect("charge").note("effect").end("FAILED_RECONCILED", charge=reconciled)
    violates(h, LABEL, "effect", "audit")


def test_irreversible_means_that_such_an_effect_stands_and_no_other() -> None:
    irreversible = ["IRREVERSIBLE_EFFECT", ""]
    label = "FAILED_WITH_IRREVERSIBLE_EFFECT"
    holds(H().sent("ship").effect("ship").end(label, ship=irreversible), LABEL)
    violates(H().end(label), LABEL, "audit")
    h = H().sent("ship").effect("ship").sent("charge").effect("charge").note("other").end(label, ship=irreversible)
    violates(h, LABEL, "other", "audit")


def test_below_level_three_irreversible_is_read_off_the_workflow() -> None:
    label = "FAILED_WITH_IRREVERSIBLE_EFFECT"
    holds(H(shop(ship_undo=None), level=1).sent("ship").effect("ship").end(label), LABEL)
    h = H(shop(ship_undo="recall"), level=1).sent("ship").effect("ship").note("other").end(label)
    violates(h, LABEL, "other", "audit")


@pytest.mark.parametrize("label", ["FAILED_RECONCILIATION_REQUIRED", "UNKNOWN"])
def test_an_unresolved_label_needs_something_unresolved(label: str) -> None:
    holds(H().end(label, charge=UNKNOWN), LABEL)
    violates(H().end(label), LABEL, "audit")


def test_a_word_that_is_no_label_means_nothing() -> None:
    violates(H().end("FAILED"), LABEL, "audit")


def test_a_workflow_under_way_says_nothing_yet() -> None:
    holds(H().end("RUNNING"), LABEL)


def test_without_an_audit_there_is_no_label() -> None:
    assert "audit" in is_unknown(H().ended(), LABEL)


def test_a_terminal_label_is_an_end() -> None:
    holds(H().end("COMPLETED"), SETTLES)
    violates(H().end("RUNNING"), SETTLES, "audit")


def test_a_workflow_may_rest_unresolved_when_a_person_was_called() -> None:
    holds(H().alerted("charge").end("RUNNING", charge=UNKNOWN), SETTLES)
    violates(H().end("RUNNING", charge=UNKNOWN), SETTLES, "audit")


def test_a_workflow_that_never_becomes_quiet_does_not_rest() -> None:
    h = H().alerted("charge").audited("RUNNING", quiet=False, charge=UNKNOWN).ended()
    violates(h, SETTLES, "audit")


def test_an_operation_under_way_is_not_declared() -> None:
    h = H().alerted("charge").end("RUNNING", charge=UNKNOWN, ship=["COMMITTING", ""])
    violates(h, SETTLES, "audit")


def test_a_call_for_help_without_anything_open_is_no_rest() -> None:
    violates(H().alerted("charge").end("RUNNING"), SETTLES, "audit")


def test_a_submission_that_never_became_durable_leaves_nothing_to_settle() -> None:
    nothing: dict[str, list[str] | None] = {"charge": None, "ship": None}
    holds(H().end("", **nothing), SETTLES)
    violates(H().sent("charge").end("", **nothing), SETTLES, "audit")


@pytest.mark.parametrize("limit", ["crossings", "virtual-time"])
def test_a_run_that_reaches_its_limit_does_not_settle(limit: str) -> None:
    violates(H().sent("charge").ended(limit), SETTLES, "end")


def test_a_run_cut_for_another_reason_says_nothing() -> None:
    assert "interrupted" in is_unknown(H().sent("charge").ended("interrupted"), SETTLES)
