"""no-blind-retry and stable-identity."""

from __future__ import annotations

import pytest

from harness.model.cell import KEY_TTL_NS, SECOND_NS
from tests.judge.histories import H, holds, shop, violates

BLIND = "no-blind-retry"
SAME = "stable-identity"
HONOURED = "honoured.authoritative.prompt"
EXPIRES = "expires.authoritative.prompt"
IGNORED = "ignored.authoritative.prompt"
CHARGED = ("p-1", "charge", "charge", True, False)


def _timed_out(cell: str) -> H:
    return H(shop(cell)).sent("charge").note("send").timed_out("charge").note("outcome")


def test_the_same_key_goes_again_to_a_cell_that_honours_it() -> None:
    holds(_timed_out(HONOURED).sent("charge").end("UNKNOWN"), BLIND)


def test_the_same_key_does_not_help_where_keys_are_ignored() -> None:
    violates(_timed_out(IGNORED).sent("charge").note("retry").end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_another_key_is_another_request() -> None:
    h = _timed_out(HONOURED).sent("charge", key="other").note("retry")
    violates(h.end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_no_key_is_no_protection() -> None:
    h = H().sent("charge", key="").note("send").timed_out("charge").note("outcome").sent("charge", key="").note("retry")
    violates(h.end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_a_key_protects_until_it_expires() -> None:
    ttl_s = KEY_TTL_NS // SECOND_NS
    holds(_timed_out(EXPIRES).pause(ttl_s - 1).sent("charge").end("UNKNOWN"), BLIND)
    late = _timed_out(EXPIRES).pause(ttl_s + 1).sent("charge").note("retry").end("UNKNOWN")
    violates(late, BLIND, "send", "outcome", "retry")


def test_the_age_of_a_key_counts_from_its_first_send() -> None:
    half_s = KEY_TTL_NS // SECOND_NS // 2 + 1
    h = H(shop(EXPIRES)).sent("charge").note("first").timed_out("charge").note("outcome").pause(half_s)
    h.sent("charge").refused("charge").pause(half_s).sent("charge").note("retry").end("UNKNOWN")
    violates(h, BLIND, "first", "outcome", "retry")


def test_a_retry_after_a_definite_refusal_is_seeing() -> None:
    holds(H(shop(IGNORED)).sent("charge").refused("charge").sent("charge").end("COMPLETED"), BLIND)


@pytest.mark.parametrize("code", ["duplicate-key", "key-in-use", "already-exists", "unheard-of"])
def test_a_code_that_proves_nothing_is_indefinite_whatever_the_rig_says(code: str) -> None:
    h = H(shop(IGNORED)).sent("charge").note("send").saw("charge", "definite", code).note("outcome")
    violates(h.sent("charge").note("retry").end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_a_crash_leaves_the_send_open() -> None:
    h = H(shop(IGNORED)).sent("charge").note("send").died().sent("charge", worker="w2").note("retry").end("UNKNOWN")
    violates(h, BLIND, "send", "retry")


def test_an_outcome_seen_after_the_retry_comes_too_late() -> None:
    h = H(shop(IGNORED)).sent("charge").note("send").sent("charge", worker="w2").note("retry").refused("charge", 1)
    violates(h.end("UNKNOWN"), BLIND, "send", "retry")


def test_a_proof_of_absence_after_the_deadline_allows_the_retry() -> None:
    holds(_timed_out(IGNORED).pause(9).looked("charge").sent("charge").end("COMPLETED"), BLIND)


@pytest.mark.parametrize(
    ("cell", "pause_s", "found", "complete", "outcome"),
    [
        pytest.param(IGNORED, 1, (), True, "ok", id="before the deadline"),
        pytest.param(IGNORED, 9, (CHARGED,), True, "ok", id="it stands"),
        pytest.param(IGNORED, 9, (("p-1", "charge", "charge", False, True),), True, "ok", id="it is pending"),
        pytest.param(IGNORED, 9, (), False, "ok", id="incomplete"),
        pytest.param(IGNORED, 9, (), True, "indefinite", id="not answered"),
        pytest.param("ignored.eventual.prompt", 9, (), True, "ok", id="reads lag"),
        pytest.param("ignored.authoritative.late", 9, (), True, "ok", id="requests may be late"),
    ],
)
def test_a_look_up_that_proves_no_absence_does_not_allow_the_retry(
    cell: str, pause_s: int, found: tuple[tuple[str, str, str, bool, bool], ...], complete: bool, outcome: str
) -> None:
    h = _timed_out(cell).pause(pause_s).looked("charge", *found, complete=complete, outcome=outcome)
    violates(h.sent("charge").note("retry").end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_what_was_undone_since_is_absent() -> None:
    gone = ("p-1", "charge", "charge", False, False)
    holds(_timed_out(IGNORED).pause(9).looked("charge", gone).sent("charge").end("COMPLETED"), BLIND)


def test_a_look_up_of_another_operation_proves_nothing() -> None:
    h = _timed_out(IGNORED).pause(9).looked("ship").sent("charge").note("retry").end("UNKNOWN")
    violates(h, BLIND, "send", "outcome", "retry")


def test_without_a_deadline_absence_is_never_proved() -> None:
    h = H(shop(IGNORED)).sent("charge", deadline_ns=None).note("send").timed_out("charge").note("outcome").pause(9)
    violates(h.looked("charge").sent("charge").note("retry").end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_every_open_send_counts_and_not_the_last_alone() -> None:
    h = _timed_out(IGNORED).pause(9).looked("charge").sent("charge").refused("charge").sent("charge")
    holds(h.end("COMPLETED"), BLIND)
    h = _timed_out(HONOURED).sent("charge", key="other").note("retry").refused("charge").sent("charge", key="other")
    violates(h.end("COMPLETED"), BLIND, "send", "outcome", "retry")


def test_a_result_that_is_pending_is_open() -> None:
    h = H(shop(IGNORED)).sent("charge").note("send").saw("charge", "ok", "ok", pending=True).note("outcome")
    violates(h.sent("charge").note("retry").end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_an_undo_is_not_sent_again_blindly_either() -> None:
    h = H(shop(IGNORED)).done("charge").sent("undo.charge").note("send").timed_out("undo.charge").note("outcome")
    violates(h.sent("undo.charge").note("retry").end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_the_original_seen_standing_proves_that_the_undo_did_not_happen() -> None:
    h = H(shop(IGNORED)).done("charge").sent("undo.charge").note("send").timed_out("undo.charge").note("outcome")
    holds(h.pause(9).looked("charge", CHARGED).sent("undo.charge").end("UNKNOWN"), BLIND)


def test_the_original_seen_undone_forbids_another_undo() -> None:
    h = H(shop(IGNORED)).done("charge").sent("undo.charge").note("send").timed_out("undo.charge").note("outcome")
    h.pause(9).looked("charge", ("p-1", "charge", "charge", False, False)).sent("undo.charge").note("retry")
    violates(h.end("UNKNOWN"), BLIND, "send", "outcome", "retry")


def test_all_attempts_carry_one_key() -> None:
    holds(H().sent("charge").sent("charge").end("COMPLETED"), SAME)
    h = H().sent("charge").note("first").sent("charge", key="other").note("second").end("COMPLETED")
    violates(h, SAME, "first", "second")


def test_all_attempts_carry_one_operation_id() -> None:
    h = H().sent("charge").note("first").sent("charge", operation="charge-again").note("second").end("COMPLETED")
    violates(h, SAME, "first", "second")


def test_two_operations_never_share_a_key() -> None:
    holds(H().sent("charge").sent("ship").end("COMPLETED"), SAME)
    h = H().sent("charge", key="k").note("first").sent("ship", key="k").note("second").end("COMPLETED")
    violates(h, SAME, "first", "second")


def test_two_operations_without_keys_share_none() -> None:
    holds(H().sent("charge", key="").sent("ship", key="").end("COMPLETED"), SAME)


def test_an_effect_names_the_owner_of_its_target() -> None:
    holds(H().sent("charge").effect("charge").end("COMPLETED"), SAME)
    h = H().sent("charge", operation="ship").effect("charge", operation="ship").note("effect").end("COMPLETED")
    violates(h, SAME, "effect")


def test_below_level_four_an_undo_may_go_under_the_name_of_what_it_undoes() -> None:
    def run(level: int) -> H:
        h = H(level=level).done("charge").sent("undo.charge", operation="charge")
        return h.effect("undo.charge", operation="charge").note("undo").end("FAILED_COMPENSATED")

    holds(run(3), SAME)
    violates(run(4), SAME, "undo")
