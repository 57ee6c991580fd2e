"""Customers and payment methods."""

from __future__ import annotations

import pytest

from tests.fakes.payment.customer import Desk

CARD = {"number": "4242 4242 4242 4242", "exp_month": 4, "exp_year": 2031, "cvc": "123"}


def test_a_customer_is_made_changed_and_deleted_once(desk: Desk) -> None:
    made = desk.post(
        "/v1/customers", {"email": "ann@shop.example", "metadata": {"operation": "join", "target": "acme"}}
    ).data
    path = f"/v1/customers/{made['id']}"
    assert desk.post(path, {"name": "Ann", "metadata": {"target": "moved"}}).data["name"] == "Ann"
    assert desk.ask("DELETE", path).data == {"id": made["id"], "object": "customer", "deleted": True}
    assert desk.effects() == [("customer.create", "acme", "join"), ("customer.delete", "acme", "undo.join")]
    assert desk.get(path).data["deleted"] is True
    again = desk.ask("DELETE", path)
    assert (again.status, again.error["code"]) == (404, "resource_missing")
    assert desk.get("/v1/customers").data["data"] == []
    assert desk.kinds() == ["customer.created", "customer.updated", "customer.deleted"]


def test_without_a_target_the_customer_itself_is_it(desk: Desk) -> None:
    made = desk.post("/v1/customers").data
    assert desk.effects() == [("customer.create", made["id"], "")]


def test_a_deleted_customer_cannot_be_charged(desk: Desk) -> None:
    made = desk.post("/v1/customers").data["id"]
    desk.ask("DELETE", f"/v1/customers/{made}")
    refused = desk.post("/v1/payment_intents", {"amount": 5, "currency": "eur", "customer": made})
    assert (refused.status, refused.error["param"]) == (400, "customer")


def test_a_card_is_known_by_its_brand_and_last_digits_only(desk: Desk) -> None:
    method = desk.post("/v1/payment_methods", {"type": "card", "card": CARD}).data
    card = method["card"]
    assert (card["brand"], card["last4"], card["exp_month"], card["exp_year"]) == ("visa", "4242", 4, 2031)
    assert "4242424242424242" not in repr(list(desk.account.shelf.all("payment_method").values()))


@pytest.mark.parametrize(
    ("card", "code"),
    [
        ({"number": "4242424242424241"}, "incorrect_number"),
        ({"number": "42"}, "incorrect_number"),
        ({"number": "४२४२४२४२४२४२४२४२"}, "incorrect_number"),
        ({"exp_month": 13}, "invalid_expiry_month"),
        ({"exp_year": 2001}, "invalid_expiry_year"),
    ],
)
def test_a_card_that_cannot_be_is_refused_without_repeating_it(desk: Desk, card: dict[str, object], code: str) -> None:
    said = desk.post("/v1/payment_methods", {"type": "card", "card": {**CARD, **card}})
    assert (said.status, said.error["code"]) == (402, code)
    assert "4242" not in said.error["message"]


def test_a_possible_card_that_is_no_test_card_is_declined(desk: Desk) -> None:
    method = desk.post("/v1/payment_methods", {"type": "card", "card": {**CARD, "number": "4111111111111111"}}).data
    said = desk.post(
        "/v1/payment_intents", {"amount": 5, "currency": "eur", "payment_method": method["id"], "confirm": True}
    )
    assert said.error["decline_code"] == "test_mode_live_card"


def test_a_token_stands_for_a_card(desk: Desk) -> None:
    made = desk.post("/v1/payment_methods", {"type": "card", "card": {"token": "tok_amex"}}).data
    assert made["card"]["brand"] == "amex"
    assert desk.post("/v1/payment_methods", {"type": "card", "card": {"token": "tok_nothing"}}).status == 400
    assert desk.post("/v1/payment_methods", {"type": "card"}).error["param"] == "card"
    assert desk.post("/v1/payment_methods", {"card": CARD}).error["param"] == "type"


def test_a_method_belongs_to_one_customer_until_it_is_detached(desk: Desk) -> None:
    ann, ben = (desk.post("/v1/customers").data["id"] for _ in range(2))
    method = desk.post("/v1/payment_methods/pm_card_visa/attach", {"customer": ann}).data
    path = f"/v1/payment_methods/{method['id']}"
    assert method["customer"] == ann
    assert desk.post(f"{path}/attach", {"customer": ann}).data["customer"] == ann
    assert desk.post(f"{path}/attach", {"customer": ben}).status == 400
    foreign = {"amount": 5, "currency": "eur", "payment_method": method["id"], "confirm": True}
    assert desk.post("/v1/payment_intents", {**foreign, "customer": ben}).status == 400
    assert desk.post("/v1/payment_intents", {**foreign, "customer": ann}).data["status"] == "succeeded"
    for asked in (
        ("/v1/payment_methods", {"customer": ann, "type": "card"}),
        (f"/v1/customers/{ann}/payment_methods", {}),
    ):
        assert [each["id"] for each in desk.get(*asked).data["data"]] == [method["id"]]
    assert desk.post(f"{path}/detach").data["customer"] is None
    assert desk.post(f"{path}/detach").status == 400


def test_a_customer_can_be_made_with_a_method_and_loses_it_when_deleted(desk: Desk) -> None:
    made = desk.post("/v1/customers", {"payment_method": "pm_card_visa"}).data["id"]
    (method,) = desk.get(f"/v1/customers/{made}/payment_methods").data["data"]
    desk.ask("DELETE", f"/v1/customers/{made}")
    assert desk.get(f"/v1/payment_methods/{method['id']}").data["customer"] is None


def test_a_methods_details_can_be_changed(desk: Desk) -> None:
    method = desk.post("/v1/payment_methods", {"type": "card", "card": CARD}).data
    changed = desk.post(f"/v1/payment_methods/{method['id']}", {"billing_details": {"name": "Ann"}}).data
    assert changed["billing_details"]["name"] == "Ann"
