"""failed-compensation-halts and rollback-resumes."""

from __future__ import annotations

import pytest

from tests.judge.histories import H, holds, is_unknown, violates

HALTS = "failed-compensation-halts"
RESUMES = "rollback-resumes"
OPEN = "FAILED_RECONCILIATION_REQUIRED"


def _failed() -> H:
    h = H().done("charge").said("charge", "COMPENSATION_REQUIRED", "COMPENSATING", "COMPENSATION_FAILED")
    return h.note("failure")


def test_a_failed_compensation_that_calls_a_person_and_stops_has_halted() -> None:
    holds(_failed().alerted("charge").end(OPEN), HALTS)


def test_nobody_called_is_no_halt() -> None:
    violates(_failed().end(OPEN), HALTS, "failure")


def test_a_call_about_something_else_does_not_count() -> None:
    violates(_failed().alerted("ship").end(OPEN), HALTS, "failure")


def test_a_person_is_called_once() -> None:
    h = _failed().alerted("charge").note("first").alerted("charge").note("second").end(OPEN)
    violates(h, HALTS, "failure", "first", "second")


def test_after_a_crash_a_person_may_be_called_again() -> None:
    holds(_failed().alerted("charge").died().alerted("charge").end(OPEN), HALTS)


@pytest.mark.parametrize("subject", ["ship", "undo.ship", "undo.charge"])
def test_nothing_further_is_done_after_a_failed_compensation(subject: str) -> None:
    h = _failed().alerted("charge").sent(subject).note("call").end(OPEN)
    violates(h, HALTS, "failure", "call")


def test_looking_is_not_doing() -> None:
    holds(_failed().alerted("charge").looked("charge").end(OPEN), HALTS)


def test_the_failure_stays_said() -> None:
    h = _failed().alerted("charge").said("charge", "COMPENSATION_REQUIRED").note("later").end(OPEN)
    violates(h, HALTS, "failure", "later")


def test_a_person_may_let_it_go_on() -> None:
    h = _failed().alerted("charge").event("approval-granted", "approval", operation="undo.charge", approval="a")
    holds(h.said("charge", "COMPENSATION_REQUIRED").sent("undo.charge").end(OPEN), HALTS)


def test_whether_a_person_is_called_is_open_until_the_audit() -> None:
    assert "audit" in is_unknown(_failed().ended(), HALTS)


def _half_undone() -> H:
    """`ship` is undone and verified; `charge` still has to be."""
    h = H().begun("charge").sent("charge").effect("charge").note("effect").verified("charge").done("ship")
    h.said("charge", "COMPENSATION_REQUIRED").note("required").said("ship", "COMPENSATION_REQUIRED")
    h.begun("undo.ship").sent("undo.ship").effect("undo.ship").saw_ok("undo.ship").verified("undo.ship").note(
        "verified"
    )
    return h.died().note("death")


def test_a_rollback_goes_on_behind_the_last_verified_undo() -> None:
    h = _half_undone().sent("undo.charge").effect("undo.charge").verified("undo.charge").said("charge", "COMPENSATED")
    holds(h.end("FAILED_COMPENSATED", ship=["COMPENSATED", ""]), RESUMES)


def test_a_verified_undo_is_not_sent_again_after_a_crash() -> None:
    h = _half_undone().sent("undo.ship", worker="w2").note("again").end("FAILED_COMPENSATED", ship=["COMPENSATED", ""])
    violates(h, RESUMES, "verified", "death", "again")


def test_an_undo_that_was_not_verified_may_be_sent_again() -> None:
    h = H().done("charge").said("charge", "COMPENSATION_REQUIRED").begun("undo.charge").sent("undo.charge").died()
    h.sent("undo.charge", worker="w2").effect("undo.charge").verified("undo.charge").said("charge", "COMPENSATED")
    holds(h.end("FAILED_COMPENSATED"), RESUMES)


def test_nothing_that_had_to_be_undone_is_dropped() -> None:
    h = _half_undone().end("FAILED_COMPENSATED", ship=["COMPENSATED", ""], charge=["VERIFIED", ""])
    violates(h, RESUMES, "effect", "required", "audit")


def test_what_is_declared_unresolved_is_not_dropped() -> None:
    h = _half_undone().end("RECOVERING", ship=["COMPENSATED", ""], charge=["RECONCILIATION_REQUIRED", ""])
    holds(h, RESUMES)


def test_a_halted_rollback_drops_nothing() -> None:
    holds(_half_undone().end(OPEN, ship=["COMPENSATION_FAILED", ""]), RESUMES)


def test_a_crash_before_the_rollback_is_another_matter() -> None:
    h = H().done("charge").died().said("charge", "COMPENSATION_REQUIRED").begun("undo.charge").sent("undo.charge")
    holds(h.effect("undo.charge").verified("undo.charge").sent("undo.charge").end(OPEN), RESUMES)
