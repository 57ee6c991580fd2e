"""Refunds: bounded by the charge, settled later, and sometimes failed after all."""

from __future__ import annotations

import pytest

from fakes.payment.domain import CardPayment
from tests.fakes.payment.customer import Desk


def given_back(desk: Desk, charge: str) -> tuple[int, bool]:
    shown = desk.get(f"/v1/charges/{charge}").data
    return shown["amount_refunded"], shown["refunded"]


def test_a_refund_names_its_own_operation_at_the_charges_target(desk: Desk) -> None:
    intent = desk.pay(metadata={"operation": "bill", "target": "acme"})
    refund = desk.post("/v1/refunds", {"payment_intent": intent["id"], "metadata": {"operation": "undo.bill"}}).data
    assert (refund["status"], refund["amount"], refund["payment_intent"]) == ("succeeded", 1000, intent["id"])
    assert desk.effects() == [("charge", "acme", "bill"), ("refund", "acme", "undo.bill")]
    undone = [event.data["undoes"] for event in desk.journal.events if event.kind == "effect"]
    assert undone == [None, "payment-1"]
    assert desk.get(f"/v1/payment_intents/{intent['id']}").data["status"] == "succeeded"


def test_partial_refunds_add_up_and_never_exceed_the_charge(desk: Desk) -> None:
    charge = desk.pay()["latest_charge"]
    for amount in (300, 300):
        assert desk.post("/v1/refunds", {"charge": charge, "amount": amount}).status == 200
    over = desk.post("/v1/refunds", {"charge": charge, "amount": 401})
    assert (over.status, over.error["param"], over.error["type"]) == (400, "amount", "invalid_request_error")
    assert given_back(desk, charge) == (600, False)
    assert desk.post("/v1/refunds", {"charge": charge}).data["amount"] == 400
    assert given_back(desk, charge) == (1000, True)
    again = desk.post("/v1/refunds", {"charge": charge})
    assert (again.status, again.error["code"]) == (400, "charge_already_refunded")
    assert len(desk.effects()) == 4


def test_a_refund_needs_one_charge_that_succeeded(desk: Desk) -> None:
    held = desk.pay(capture_method="manual")["id"]
    new = desk.post("/v1/payment_intents", {"amount": 5, "currency": "eur"}).data["id"]
    for params in ({"payment_intent": held}, {"payment_intent": new}, {}, {"payment_intent": held, "charge": "ch_1"}):
        assert desk.post("/v1/refunds", params).status == 400
    assert desk.post("/v1/refunds", {"payment_intent": "pi_9"}).error["code"] == "resource_missing"
    assert [action for action, _, _ in desk.effects()] == ["authorize"]


def test_a_pending_refund_counts_against_the_charge_before_it_is_an_effect(desk: Desk) -> None:
    charge = desk.pay(payment_method="pm_card_pendingRefund")["latest_charge"]
    refund = desk.post("/v1/refunds", {"charge": charge, "amount": 700}).data
    assert (refund["status"], refund["pending_reason"]) == ("pending", "processing")
    assert len(desk.effects()) == 1
    assert desk.post("/v1/refunds", {"charge": charge, "amount": 400}).status == 400
    desk.pass_s(60)
    settled = desk.get(f"/v1/refunds/{refund['id']}").data
    assert (settled["status"], "pending_reason" in settled) == ("succeeded", False)
    assert [action for action, _, _ in desk.effects()] == ["charge", "refund"]
    assert given_back(desk, charge) == (700, False)


def test_a_pending_refund_that_fails_was_never_an_effect_and_can_be_made_again(desk: Desk) -> None:
    charge = desk.pay(payment_method="pm_card_pendingRefund")["latest_charge"]
    refund = desk.post("/v1/refunds", {"charge": charge}).data
    desk.fails = {"refund"}
    desk.pass_s(60)
    failed = desk.get(f"/v1/refunds/{refund['id']}").data
    assert (failed["status"], bool(failed["failure_reason"])) == ("failed", True)
    assert given_back(desk, charge) == (0, False)
    assert len(desk.effects()) == 1
    assert desk.post("/v1/refunds", {"charge": charge}).status == 200


@pytest.mark.parametrize("why", ["the card's", "the hook's"])
def test_a_refund_that_had_succeeded_may_turn_out_to_have_failed(desk: Desk, why: str) -> None:
    charge = desk.pay(payment_method="pm_card_refundFail" if why == "the card's" else "pm_card_visa")["latest_charge"]
    refund = desk.post("/v1/refunds", {"charge": charge, "metadata": {"operation": "undo.bill"}}).data
    assert refund["status"] == "succeeded"
    desk.fails = {"refund"} if why == "the hook's" else set()
    desk.pass_s(60)
    assert desk.get(f"/v1/refunds/{refund['id']}").data["status"] == "failed"
    assert given_back(desk, charge) == (0, False)
    assert desk.kinds()[-1] == "refund.failed"
    told = [event.data for event in desk.journal.events if event.kind == "refund-failed"]
    assert [(data["effect"], data["undoes"]) for data in told] == [("payment-2", "payment-1")]
    desk.fails = set()
    again = desk.post("/v1/refunds", {"charge": charge, "amount": 1000})
    assert again.status == 200, "the money is the account's again, so it can be given back"


def test_a_refund_that_stays_succeeded_is_not_made_twice_by_its_settling(desk: Desk) -> None:
    charge = desk.pay()["latest_charge"]
    desk.post("/v1/refunds", {"charge": charge})
    desk.pass_s(3600)
    assert len(desk.effects()) == 2
    assert desk.timers == []


def test_only_a_refund_that_waits_for_the_customer_can_be_cancelled() -> None:
    desk = Desk(refunds_begin="requires_action")
    charge = desk.pay()["latest_charge"]
    refund = desk.post("/v1/refunds", {"charge": charge, "amount": 100}).data
    assert refund["status"] == "requires_action"
    canceled = desk.post(f"/v1/refunds/{refund['id']}/cancel").data
    assert canceled["status"] == "canceled"
    assert given_back(desk, charge) == (0, False)
    assert len(desk.effects()) == 1
    assert desk.post(f"/v1/refunds/{refund['id']}/cancel").status == 400


def test_a_succeeded_refund_cannot_be_cancelled(desk: Desk) -> None:
    refund = desk.post("/v1/refunds", {"charge": desk.pay()["latest_charge"]}).data["id"]
    assert desk.post(f"/v1/refunds/{refund}/cancel").status == 400


def test_the_domain_and_the_api_agree_on_what_is_given_back(desk: Desk) -> None:
    domain: CardPayment = desk.account.domain
    charge = desk.pay(payment_method="pm_card_refundFail")["latest_charge"]
    desk.post("/v1/refunds", {"charge": charge, "amount": 300})
    desk.post("/v1/refunds", {"charge": charge, "amount": 700})
    effect = str(desk.account.records.facts(charge)["effect"])
    assert domain.refunded(effect) == 1000
    assert not domain.row(effect).is_standing
    desk.pass_s(60)
    assert domain.refunded(effect) == 0
    assert domain.row(effect).is_standing
