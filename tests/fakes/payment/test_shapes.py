"""The objects have the published form, whatever state they are in, and the library's own classes know their fields."""

from __future__ import annotations

from typing import Any

import pytest
import stripe

from tests.fakes.payment.customer import Desk
from tests.fakes.payment.described import DESCRIBED, deviations

CLASSES = {
    "customer": stripe.Customer,
    "payment_method": stripe.PaymentMethod,
    "payment_intent": stripe.PaymentIntent,
    "charge": stripe.Charge,
    "refund": stripe.Refund,
    "event": stripe.Event,
    "webhook_endpoint": stripe.WebhookEndpoint,
}


def shown(desk: Desk) -> list[Any]:
    """Every object there is, in all states that a busy account has."""
    customer = desk.post("/v1/customers", {"email": "ann@shop.example", "payment_method": "pm_card_visa"}).data["id"]
    desk.pay(customer=customer)
    desk.pay(payment_method="pm_card_visa_chargeDeclined")
    desk.pay(payment_method="pm_card_authenticationRequired", return_url="http://127.0.0.1/")
    held = desk.pay(capture_method="manual")["id"]
    desk.post(f"/v1/payment_intents/{held}/cancel")
    desk.post("/v1/payment_intents", {"amount": 5, "currency": "eur"})
    for token in ("pm_card_visa", "pm_card_pendingRefund"):
        desk.post("/v1/refunds", {"payment_intent": desk.pay(payment_method=token)["id"]})
    desk.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/", "enabled_events": ["*"]})
    return [object_ for kind in CLASSES for object_ in desk.account.records.newest_first(kind)]


def test_every_object_has_the_published_form(desk: Desk) -> None:
    objects = shown(desk)
    assert {each["object"] for each in objects} == set(CLASSES)
    assert [wrong for each in objects for wrong in deviations(each, DESCRIBED[each["object"]], each["id"])] == []


def test_no_object_has_a_field_that_the_library_does_not_know(desk: Desk) -> None:
    for each in shown(desk):
        assert set(each) <= _names(each), set(each) - _names(each)


def _names(object_: Any) -> set[str]:
    """The annotated fields of the library's class."""
    kind = CLASSES[object_["object"]]
    return {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}


@pytest.mark.parametrize("path", ["/v1/customers", "/v1/payment_intents", "/v1/events", "/v1/refunds"])
def test_lists_have_the_published_form(desk: Desk, path: str) -> None:
    desk.pay()
    assert list(deviations(desk.get(path).data, DESCRIBED["list"])) == []


def test_searches_have_the_published_form(desk: Desk) -> None:
    said = desk.get("/v1/payment_intents/search", {"query": "amount>0"})
    assert list(deviations(said.data, DESCRIBED["search_result"])) == []


def test_a_missing_a_null_and_a_wrong_field_are_seen() -> None:
    table = {"a": "text", "b": "whole null", "c": {"d": "flag"}}
    assert list(deviations({"a": "x", "b": None, "c": {"d": True}}, table)) == []
    assert len(list(deviations({"a": None, "b": True, "c": 1}, table))) == 3
    assert list(deviations({"a": "x", "b": 1}, table)) == [".c: missing"]
