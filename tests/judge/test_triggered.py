"""The predicates of harm: each true of a run with that harm, and false of its nearest neighbour."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.judge.triggered import PREDICATES
from harness.model.workflow import RecoveryPolicy
from tests.judge.histories import H, shop

APPROVAL = RecoveryPolicy(human_approval_required=True)
ONE_SEND = RecoveryPolicy(attempts_max=1)


def _charged(h: H | None = None) -> H:
    return (h or H()).sent("charge").effect("charge")


def _granted(valid_ns: int) -> H:
    return H(shop(policy=APPROVAL)).event(
        "approval-granted", "approval", approval="a", operation="charge", digest="d", expires_ns=valid_ns
    )


def _failed() -> H:
    return H().said("charge", "COMPENSATION_FAILED")


def _both() -> H:
    return _charged().sent("ship").effect("ship")


def _cancelled(h: H) -> H:
    return h.event("cancelled", "person", version=1)


CASES: dict[str, tuple[Callable[[], H], Callable[[], H]]] = {
    "two-standing-effects": (
        lambda: _charged().sent("charge").effect("charge"),
        lambda: _charged().outsider_undid("charge").sent("charge").effect("charge"),
    ),
    "orphan-effect": (
        lambda: _charged().end("FAILED_CLEAN"),
        lambda: _charged().outsider_undid("charge").end("FAILED_CLEAN"),
    ),
    "claim-without-effect": (
        lambda: H().said("charge", "VERIFIED").sent("charge").effect("charge"),
        lambda: _charged().said("charge", "VERIFIED"),
    ),
    "effect-under-bad-approval": (
        lambda: _charged(_granted(2)),
        lambda: _charged(_granted(100)),
    ),
    "write-after-lease-lost": (
        lambda: H().event("lease-lost", "w1").event("wrote", "w1"),
        lambda: H().event("wrote", "w1").event("lease-lost", "w1").event("wrote", "w2"),
    ),
    "undone-twice": (
        lambda: _charged().sent("undo.charge").effect("undo.charge").outsider_undid("charge"),
        lambda: _charged().sent("undo.charge").effect("undo.charge"),
    ),
    "undone-out-of-order": (
        lambda: _both().sent("undo.charge").effect("undo.charge"),
        lambda: _both().sent("undo.ship").effect("undo.ship").sent("undo.charge").effect("undo.charge"),
    ),
    "effect-before-parent": (
        lambda: H().sent("charge").sent("ship").effect("ship").effect("charge"),
        _both,
    ),
    "acted-after-failed-compensation": (
        lambda: _failed().sent("undo.charge"),
        lambda: _failed().looked("charge"),
    ),
    "left-in-doubt": (
        lambda: _charged().end("COMPLETED", charge=["VERIFYING", ""]),
        lambda: _charged().end("COMPLETED", charge=["VERIFIED", ""]),
    ),
    "key-changed": (
        lambda: H().sent("charge").sent("charge", key="other"),
        lambda: H().sent("charge").sent("charge").sent("ship"),
    ),
    "sent-too-often": (
        lambda: H(shop(policy=ONE_SEND)).sent("charge").sent("charge"),
        lambda: H(shop(policy=ONE_SEND)).sent("charge").sent("ship"),
    ),
    "record-lost": (
        lambda: H().said("charge", "PREPARED").end("RUNNING", charge=None),
        lambda: H().said("charge", "PREPARED").end("RUNNING"),
    ),
    "effect-after-cancel": (
        lambda: _charged(_cancelled(H())),
        lambda: _cancelled(H().sent("charge")).effect("charge"),
    ),
    "nobody-called": (
        _failed,
        lambda: _failed().alerted("charge"),
    ),
    "undo-sent-again": (
        lambda: H().said("undo.charge", "VERIFIED").sent("undo.charge"),
        lambda: H().sent("undo.charge").said("undo.charge", "VERIFIED"),
    ),
    "standing-though-failed": (
        lambda: _charged().end("FAILED_COMPENSATED"),
        lambda: _charged().end("FAILED_RECONCILIATION_REQUIRED"),
    ),
    "effect-after-lease-lost": (
        lambda: _charged(H().event("lease-lost", "w1")),
        lambda: H().sent("charge").event("lease-lost", "w1").effect("charge"),
    ),
    "complete-in-doubt": (
        lambda: H().end("COMPLETED", charge=["VERIFIED", ""], ship=["OUTCOME_UNKNOWN", ""]),
        lambda: H().end("COMPLETED", charge=["VERIFIED", ""], ship=["RECONCILED", "committed"]),
    ),
}


def test_every_predicate_has_a_case() -> None:
    assert set(CASES) == set(PREDICATES)


@pytest.mark.parametrize("name", CASES)
def test_a_harm_is_seen_and_its_nearest_neighbour_is_not(name: str) -> None:
    harmful, harmless = CASES[name]
    for build, expected in ((harmful, True), (harmless, False)):
        h = build()
        assert PREDICATES[name](h.history(), h.scenario) is expected


@pytest.mark.parametrize(
    "h",
    [
        H().event("lease-lost", "w1").sent("charge").effect("charge"),
        H().died().event("dead-call", "w1", what="call"),
    ],
    ids=["an effect of a fenced worker", "a dead worker's call"],
)
def test_acting_without_a_lease_has_more_than_one_form(h: H) -> None:
    assert PREDICATES["write-after-lease-lost"](h.history(), h.scenario)


def test_a_sound_run_shows_no_harm() -> None:
    h = H().done("charge").done("ship").said("workflow", "COMPLETED").end("COMPLETED")
    assert [name for name, predicate in PREDICATES.items() if predicate(h.history(), h.scenario)] == []


def test_an_approval_taken_back_is_a_bad_one() -> None:
    h = _charged(_granted(100).event("approval-revoked", "approval", approval="a"))
    assert PREDICATES["effect-under-bad-approval"](h.history(), h.scenario)


def test_copies_of_one_call_are_no_harm_once_they_are_declared() -> None:
    def run(state: str) -> H:
        return _charged().effect("charge", delivery=2).end("UNKNOWN", charge=[state, ""])

    two = PREDICATES["two-standing-effects"]
    assert two(run("VERIFIED").history(), shop())
    assert not two(run("RECONCILIATION_REQUIRED").history(), shop())


def test_a_send_whose_intention_was_durable_before_the_cancellation_was_begun_before() -> None:
    h = _charged(_cancelled(H().event("crossed", "w1", "shop/charge/attempt-1/intent-recorded")))
    assert not PREDICATES["effect-after-cancel"](h.history(), h.scenario)
