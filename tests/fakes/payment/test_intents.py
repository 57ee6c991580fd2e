"""Payment intents: what happens in which state, and what it does to the world."""

from __future__ import annotations

import pytest

from fakes.payment.intents import OPEN, STATES, authenticate
from tests.fakes.payment.customer import Desk, Said

MANUAL = {"capture_method": "manual"}
DAY_S = 24 * 3600


def test_a_confirmed_payment_is_one_charge_of_the_operation_in_its_metadata(desk: Desk) -> None:
    intent = desk.pay(metadata={"operation": "bill", "target": "acme"})
    assert (intent["status"], intent["amount_received"]) == ("succeeded", 1000)
    charge = desk.get(f"/v1/charges/{intent['latest_charge']}").data
    assert (charge["paid"], charge["captured"], charge["amount_captured"]) == (True, True, 1000)
    assert desk.effects() == [("charge", "acme", "bill")]
    assert desk.kinds() == ["payment_intent.created", "charge.succeeded", "payment_intent.succeeded"]


def test_without_a_target_the_customer_is_it_and_without_one_the_intent(desk: Desk) -> None:
    customer = desk.post("/v1/customers").data["id"]
    intent = desk.pay()
    desk.pay(customer=customer)
    assert [target for _, target, _ in desk.effects()] == [customer, intent["id"], customer]


def test_the_headers_say_operation_and_target_where_there_are_no_metadata(desk: Desk) -> None:
    intent = desk.pay(metadata={"operation": "bill"}, **MANUAL)
    desk.post(f"/v1/payment_intents/{intent['id']}/cancel", x_operation="undo.bill-2")
    assert desk.effects()[-1] == ("authorization.cancel", intent["id"], "undo.bill-2")


def test_an_intent_goes_step_by_step_from_method_to_confirmation(desk: Desk) -> None:
    intent = desk.post("/v1/payment_intents", {"amount": 500, "currency": "EUR"}).data
    assert (intent["status"], intent["currency"]) == ("requires_payment_method", "eur")
    path = f"/v1/payment_intents/{intent['id']}"
    refused = desk.post(f"{path}/confirm")
    assert (refused.status, refused.error["code"]) == (400, "payment_intent_unexpected_state")
    assert desk.post(path, {"payment_method": "pm_card_visa", "amount": 700}).data["status"] == "requires_confirmation"
    assert desk.effects() == []
    confirmed = desk.post(f"{path}/confirm").data
    assert (confirmed["status"], confirmed["amount_received"]) == ("succeeded", 700)
    assert len(desk.effects()) == 1


def test_held_money_is_captured_once_and_the_rest_is_released(desk: Desk) -> None:
    intent = desk.pay(metadata={"operation": "bill"}, **MANUAL)
    assert (intent["status"], intent["amount_capturable"], intent["amount_received"]) == ("requires_capture", 1000, 0)
    path = f"/v1/payment_intents/{intent['id']}/capture"
    too_much = desk.post(path, {"amount_to_capture": 1001})
    assert (too_much.status, too_much.error["param"]) == (400, "amount_to_capture")
    captured = desk.post(path, {"amount_to_capture": 400}).data
    assert (captured["status"], captured["amount_received"], captured["amount_capturable"]) == ("succeeded", 400, 0)
    assert desk.post(path).error["code"] == "payment_intent_unexpected_state"
    assert [action for action, _, _ in desk.effects()] == ["authorize", "capture"]
    assert desk.post("/v1/refunds", {"payment_intent": intent["id"], "amount": 401}).status == 400
    assert desk.post("/v1/refunds", {"payment_intent": intent["id"]}).data["amount"] == 400


def test_held_money_is_given_back_by_a_cancel_and_marked_as_an_undo(desk: Desk) -> None:
    intent = desk.pay(metadata={"operation": "bill", "target": "acme"}, **MANUAL)
    canceled = desk.post(f"/v1/payment_intents/{intent['id']}/cancel", {"cancellation_reason": "duplicate"}).data
    assert (canceled["status"], canceled["cancellation_reason"]) == ("canceled", "duplicate")
    assert desk.effects() == [("authorize", "acme", "bill"), ("authorization.cancel", "acme", "undo.bill")]


def test_held_money_that_nobody_takes_is_released_after_its_time(desk: Desk) -> None:
    intent = desk.pay(**MANUAL)
    desk.pass_s(7 * DAY_S - 1)
    assert desk.get(f"/v1/payment_intents/{intent['id']}").data["status"] == "requires_capture"
    desk.pass_s(1)
    assert desk.get(f"/v1/payment_intents/{intent['id']}").data["cancellation_reason"] == "expired"
    assert desk.effects()[-1][0] == "authorization.cancel"


def test_what_was_captured_does_not_expire(desk: Desk) -> None:
    intent = desk.pay(**MANUAL)
    desk.post(f"/v1/payment_intents/{intent['id']}/capture")
    desk.pass_s(8 * DAY_S)
    assert desk.get(f"/v1/payment_intents/{intent['id']}").data["status"] == "succeeded"


@pytest.mark.parametrize("path", ["confirm", "cancel", "capture"])
def test_a_payment_that_succeeded_can_only_be_refunded(desk: Desk, path: str) -> None:
    intent = desk.pay()
    refused = desk.post(f"/v1/payment_intents/{intent['id']}/{path}")
    assert (refused.status, refused.error["code"]) == (400, "payment_intent_unexpected_state")
    assert refused.error["payment_intent"]["status"] == "succeeded"
    assert len(desk.effects()) == 1


@pytest.mark.parametrize(
    ("token", "code", "decline_code"),
    [
        ("pm_card_visa_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
        ("pm_card_chargeDeclinedExpiredCard", "expired_card", "expired_card"),
        ("pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc"),
        ("pm_card_chargeDeclinedProcessingError", "processing_error", "processing_error"),
    ],
)
def test_a_decline_is_no_end_of_the_intent(desk: Desk, token: str, code: str, decline_code: str) -> None:
    said = desk.post("/v1/payment_intents", {"amount": 5, "currency": "eur", "payment_method": token, "confirm": True})
    error = said.error
    assert (said.status, error["type"], error["code"], error["decline_code"]) == (402, "card_error", code, decline_code)
    intent = error["payment_intent"]
    assert (intent["status"], intent["payment_method"]) == ("requires_payment_method", None)
    assert intent["last_payment_error"]["code"] == code
    assert desk.get(f"/v1/charges/{error['charge']}").data["status"] == "failed"
    assert desk.effects() == []
    path = f"/v1/payment_intents/{intent['id']}/confirm"
    assert desk.post(path, {"payment_method": "pm_card_visa"}).data["status"] == "succeeded"


def test_a_payment_that_needs_the_customer_goes_on_when_the_customer_has_acted(desk: Desk) -> None:
    intent = desk.pay(payment_method="pm_card_authenticationRequired", return_url="http://127.0.0.1/back")
    assert (intent["status"], intent["next_action"]["type"]) == ("requires_action", "redirect_to_url")
    assert desk.effects() == []
    assert authenticate(desk.account, intent["id"], succeeds=True)["status"] == "succeeded"
    assert len(desk.effects()) == 1


def test_a_customer_who_does_not_authenticate_leaves_the_intent_without_a_method(desk: Desk) -> None:
    intent = desk.pay(payment_method="pm_card_threeDSecure2Required")
    failed = authenticate(desk.account, intent["id"], succeeds=False)
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["code"] == "payment_intent_authentication_failure"
    assert desk.effects() == []


def test_off_session_a_card_that_needs_the_customer_is_declined(desk: Desk) -> None:
    said = desk.post("/v1/payment_intents", _off_session())
    assert (said.status, said.error["code"]) == (402, "authentication_required")


def _off_session() -> dict[str, object]:
    method = "pm_card_authenticationRequired"
    return {"amount": 5, "currency": "eur", "payment_method": method, "confirm": True, "off_session": True}


def debit(desk: Desk, iban: str) -> Said:
    data = {
        "type": "sepa_debit",
        "sepa_debit": {"iban": iban},
        "billing_details": {"name": "A", "email": "a@b.example"},
    }
    params = {"amount": 900, "currency": "eur", "confirm": True, "payment_method_data": data}
    return desk.post("/v1/payment_intents", {**params, "metadata": {"operation": "bill"}})


def test_a_debit_is_processing_and_an_effect_only_when_it_has_settled(desk: Desk) -> None:
    intent = debit(desk, "AT61 1904 3002 3457 3201").data
    assert intent["status"] == "processing"
    assert desk.effects() == []
    refused = desk.post(f"/v1/payment_intents/{intent['id']}/cancel")
    assert refused.error["code"] == "payment_intent_unexpected_state"
    assert desk.post("/v1/refunds", {"payment_intent": intent["id"]}).status == 400
    desk.pass_s(5)
    assert desk.get(f"/v1/payment_intents/{intent['id']}").data["status"] == "succeeded"
    assert desk.effects() == [("charge", intent["id"], "bill")]
    assert desk.kinds()[-1] == "payment_intent.succeeded"


@pytest.mark.parametrize("fails", ["the account's", "the hook's"])
def test_a_debit_that_bounces_was_never_an_effect(desk: Desk, fails: str) -> None:
    intent = debit(desk, "AT861904300235473202" if fails == "the account's" else "DE89370400440532013000").data
    desk.fails = {"payment"} if fails == "the hook's" else set()
    desk.pass_s(5)
    after = desk.get(f"/v1/payment_intents/{intent['id']}").data
    assert (after["status"], after["last_payment_error"]["code"]) == (
        "requires_payment_method",
        "payment_intent_payment_attempt_failed",
    )
    assert desk.effects() == []
    assert desk.kinds()[-1] == "payment_intent.payment_failed"


def test_a_debit_cannot_be_held(desk: Desk) -> None:
    data = {"type": "sepa_debit", "sepa_debit": {"iban": "DE89370400440532013000"}}
    params = {"amount": 9, "currency": "eur", "confirm": True, "payment_method_data": data, **MANUAL}
    assert desk.post("/v1/payment_intents", params).error["param"] == "capture_method"


def test_the_amount_of_a_held_payment_cannot_be_changed_and_its_description_can(desk: Desk) -> None:
    path = f"/v1/payment_intents/{desk.pay(**MANUAL)['id']}"
    assert desk.post(path, {"amount": 5}).error["code"] == "payment_intent_unexpected_state"
    changed = desk.post(path, {"description": "for ann", "metadata": {"a": "1", "b": "2"}}).data
    assert (changed["description"], changed["metadata"]) == ("for ann", {"a": "1", "b": "2"})
    assert desk.post(path, {"description": "", "metadata": {"a": ""}}).data["metadata"] == {"b": "2"}
    assert desk.post(path, {"metadata": ""}).data["metadata"] == {}


@pytest.mark.parametrize(
    ("params", "status", "param", "code"),
    [
        ({"currency": "eur"}, 400, "amount", "parameter_missing"),
        ({"amount": 5}, 400, "currency", "parameter_missing"),
        ({"amount": 0, "currency": "eur"}, 400, "amount", "parameter_invalid_integer"),
        ({"amount": -5, "currency": "eur"}, 400, "amount", "parameter_invalid_integer"),
        ({"amount": "1.5", "currency": "eur"}, 400, "amount", "parameter_invalid_integer"),
        ({"amount": "٣", "currency": "eur"}, 400, "amount", "parameter_invalid_integer"),
        ({"amount": 10**9, "currency": "eur"}, 400, "amount", "amount_too_large"),
        ({"amount": "9" * 400, "currency": "eur"}, 400, "amount", "parameter_invalid_integer"),
        ({"amount": 5, "currency": "euro"}, 400, "currency", None),
        ({"amount": 5, "currency": "eur", "colour": "red"}, 400, "colour", "parameter_unknown"),
        ({"amount": 5, "currency": "eur", "customer": ""}, 400, "customer", "parameter_invalid_empty"),
        ({"amount": 5, "currency": "eur", "customer": "cus_9"}, 400, "customer", "resource_missing"),
        ({"amount": 5, "currency": "eur", "payment_method": "pm_9"}, 400, "payment_method", "resource_missing"),
        ({"amount": 5, "currency": "eur", "confirm": "yes"}, 400, "confirm", None),
        ({"amount": 5, "currency": "eur", "metadata": "x"}, 400, "metadata", None),
        ({"amount": 5, "currency": "eur", "metadata": {"k" * 41: "v"}}, 400, "metadata", None),
        ({"amount": 5, "currency": "eur", "metadata": {"k": "v" * 501}}, 400, "metadata", None),
        ({"amount": 5, "currency": "eur", "expand": ["colour"]}, 400, "expand", None),
        (
            {"amount": 5, "currency": "eur", "expand": ["latest_charge.payment_intent." * 3 + "customer"]},
            400,
            "expand",
            None,
        ),
        (
            {
                "amount": 5,
                "currency": "eur",
                "payment_method_data": {"type": "card", "card": {"number": "1", "x": "1"}},
            },
            400,
            "payment_method_data[card][x]",
            "parameter_unknown",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_naming_the_parameter(
    desk: Desk, params: dict[str, object], status: int, param: str, code: str | None
) -> None:
    said = desk.post("/v1/payment_intents", params)
    assert (said.status, said.error["param"], said.error.get("code")) == (status, param, code)
    assert said.error["type"] == "invalid_request_error"


def test_every_state_is_reachable_and_two_are_final() -> None:
    reachable = {following for state in STATES.values() for following in state.values()}
    assert reachable | {"requires_payment_method"} == set(STATES)
    assert [state for state, steps in STATES.items() if not steps] == ["succeeded", "canceled"]
    assert STATES["requires_action"] is OPEN
