"""compensation-is-an-operation, compensation-order, compensation-after-effect, compensation-once."""

from __future__ import annotations

import pytest

from tests.judge.histories import H, holds, shop, violates

OWN = "compensation-is-an-operation"
ORDER = "compensation-order"
AFTER = "compensation-after-effect"
ONCE = "compensation-once"
PROMPT = "ignored.authoritative.prompt"
LATE = "ignored.authoritative.late"


def test_a_compensation_with_id_key_record_and_verification_is_an_operation() -> None:
    holds(H().done("charge").compensated("charge").end("FAILED_COMPENSATED"), OWN)


def test_an_undo_names_itself() -> None:
    h = H().done("charge").said("undo.charge", "PREPARED").sent("undo.charge", operation="charge").note("undo")
    violates(h.end("UNKNOWN"), OWN, "undo")


@pytest.mark.parametrize("key", ["key-charge", ""])
def test_an_undo_has_a_key_of_its_own(key: str) -> None:
    h = H().begun("charge").sent("charge").note("original").said("undo.charge", "PREPARED")
    violates(h.sent("undo.charge", key=key).note("undo").end("UNKNOWN"), OWN, "original", "undo")


def test_an_undo_needs_no_key_where_the_original_had_none() -> None:
    h = H().begun("charge").sent("charge", key="").said("undo.charge", "PREPARED").sent("undo.charge", key="")
    holds(h.end("UNKNOWN"), OWN)


def test_an_undo_has_a_record_before_it_is_sent() -> None:
    holds(H().done("charge").said("undo.charge", "PREPARED").sent("undo.charge").end("UNKNOWN"), OWN)
    h = H().done("charge").sent("undo.charge").note("undo").said("undo.charge", "PREPARED").end("UNKNOWN")
    violates(h, OWN, "undo")


def test_compensated_is_said_after_the_undo_was_verified() -> None:
    h = H().done("charge").begun("undo.charge").sent("undo.charge").effect("undo.charge")
    h.said("undo.charge", "COMMITTED").said("charge", "COMPENSATED").note("claim").end("FAILED_COMPENSATED")
    violates(h, OWN, "claim")


def test_an_outside_undo_may_be_reconciled_instead_of_verified() -> None:
    def run(h: H) -> H:
        h.said("undo.charge", "PREPARED", "RECONCILED/not-committed").said("charge", "COMPENSATED").note("claim")
        return h.end("FAILED_COMPENSATED")

    holds(run(H().done("charge").outsider_undid("charge")), OWN)
    violates(run(H().done("charge")), OWN, "claim")


def test_what_must_be_compensated_first_is() -> None:
    h = H().done("charge").done("ship").compensated("ship").compensated("charge")
    holds(h.end("FAILED_COMPENSATED"), ORDER)


def test_what_must_be_compensated_first_and_still_stands_is_out_of_order() -> None:
    h = H().done("charge").begun("ship").sent("ship").effect("ship").note("effect").verified("ship")
    violates(h.sent("undo.charge").note("undo").end("UNKNOWN"), ORDER, "effect", "undo")


def test_what_is_declared_not_to_be_undone_need_not_be_waited_for() -> None:
    h = H().done("charge").done("ship").said("ship", "IRREVERSIBLE_EFFECT").sent("undo.charge")
    holds(h.end("FAILED_WITH_IRREVERSIBLE_EFFECT"), ORDER)


def test_what_has_no_undo_need_not_be_waited_for() -> None:
    holds(H(shop(ship_undo=None)).done("charge").done("ship").sent("undo.charge").end("UNKNOWN"), ORDER)


def test_without_claims_the_order_is_read_off_the_world() -> None:
    h = H(level=0).sent("ship").effect("ship").note("effect").sent("undo.charge").note("undo").end("UNKNOWN")
    violates(h, ORDER, "effect", "undo")
    h = H(level=0).sent("ship").effect("ship").sent("undo.ship").effect("undo.ship").sent("undo.charge")
    holds(h.end("UNKNOWN"), ORDER)


def test_an_undo_after_a_known_effect_overtakes_nothing() -> None:
    holds(H(shop(LATE)).sent("charge").effect("charge").sent("undo.charge").end("UNKNOWN"), AFTER)


def test_in_a_prompt_cell_an_undo_waits_for_the_deadline() -> None:
    holds(H(shop(PROMPT)).sent("charge").timed_out("charge").pause(6).sent("undo.charge").end("UNKNOWN"), AFTER)
    h = H(shop(PROMPT)).sent("charge").note("send").timed_out("charge").pause(4).sent("undo.charge").note("undo")
    violates(h.end("UNKNOWN"), AFTER, "send", "undo")


def test_a_call_without_deadline_may_commit_at_any_time() -> None:
    h = H(shop(PROMPT)).sent("charge", deadline_ns=None).note("send").pause(900).sent("undo.charge").note("undo")
    violates(h.end("UNKNOWN"), AFTER, "send", "undo")


def test_in_a_late_cell_no_deadline_is_enough() -> None:
    h = H(shop(LATE)).sent("charge").note("send").timed_out("charge").pause(900).sent("undo.charge").note("undo")
    violates(h.end("UNKNOWN"), AFTER, "send", "undo")


def test_a_refused_call_commits_no_more() -> None:
    holds(H(shop(LATE)).sent("charge").refused("charge").sent("undo.charge").end("UNKNOWN"), AFTER)


def test_under_an_honoured_key_one_effect_speaks_for_all_attempts() -> None:
    def run(cell: str) -> H:
        h = H(shop(cell)).sent("charge").note("send").timed_out("charge").sent("charge").effect("charge")
        return h.saw_ok("charge").sent("undo.charge").note("undo").end("UNKNOWN")

    holds(run("honoured.authoritative.late"), AFTER)
    violates(run(LATE), AFTER, "send", "undo")


def test_a_pending_result_that_comes_after_the_undo_was_overtaken() -> None:
    def run() -> H:
        return H(shop(PROMPT)).sent("charge").note("send").saw("charge", "ok", "ok", pending=True).pause(60)

    holds(run().effect("charge").sent("undo.charge").end("UNKNOWN"), AFTER)
    violates(run().sent("undo.charge").note("undo").effect("charge").end("UNKNOWN"), AFTER, "send", "undo")


def _left_behind() -> H:
    h = H(shop(PROMPT)).sent("charge").effect("charge").sent("charge").pause(9)
    return h.sent("undo.charge").effect("undo.charge").note("undo").effect("charge").note("late")


def test_no_effect_is_left_behind_an_undo() -> None:
    violates(_left_behind().end("FAILED_COMPENSATED"), AFTER, "undo", "late")
    holds(_left_behind().outsider_undid("charge").end("FAILED_COMPENSATED"), AFTER)


def test_a_business_step_done_anew_is_not_left_behind() -> None:
    h = H().sent("charge").effect("charge").sent("undo.charge").effect("undo.charge").sent("charge").effect("charge")
    holds(h.end("COMPLETED"), AFTER)


def test_one_undo_is_once() -> None:
    holds(H().done("charge").sent("undo.charge").sent("undo.charge").effect("undo.charge").end("UNKNOWN"), ONCE)


def test_two_calls_that_undo_one_operation_are_twice() -> None:
    h = H().done("charge").sent("undo.charge").effect("undo.charge").note("first")
    violates(h.sent("undo.charge").effect("undo.charge").note("second").end("UNKNOWN"), ONCE, "first", "second")


def test_an_effect_undone_under_another_name_is_undone_twice() -> None:
    h = H().done("charge").sent("undo.charge").effect("undo.charge").note("first")
    h.sent("ship").event(
        "effect", "payment", effect="x", call="shop/ship/attempt-1", delivery=1, operation="ship", key="",
        undoes="charge!1", provider="payment", action="void", target="order-1",
    ).note("second")  # fmt: skip
    violates(h.end("UNKNOWN"), ONCE, "first", "second")


def test_a_copy_of_one_undo_by_the_network_is_not_the_candidates_second() -> None:
    h = H().done("charge").sent("undo.charge").effect("undo.charge").effect("undo.charge", delivery=2)
    holds(h.end("UNKNOWN"), ONCE)


def test_an_outside_undo_is_not_counted() -> None:
    holds(H().done("charge").sent("undo.charge").effect("undo.charge").outsider_undid("charge").end("UNKNOWN"), ONCE)
