"""Payment intents and their charges. An operation is `(account, ids, params) -> object`.

An intent goes through states; what may happen in which is `STATES`, and everything else is refused as
`payment_intent_unexpected_state` and changes nothing. A decline is no end: it returns to `requires_payment_method`.
What it does to the world is the domain's: `authorize` when money is held, `charge` when it is taken at once or when it
settles, `capture`, and `authorization.cancel`. Target and operation are the metadata's `target` and `operation`; without
a target it is the customer, or the intent itself.
Never here: refunds, and the form of the objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fakes.payment import shapes
from fakes.payment.account import Account
from fakes.payment.cards import MESSAGES, Instrument, Outcome
from fakes.payment.customers import Ids, instrument_of, new_method, resolve_method
from fakes.payment.parameters import Params, merged
from fakes.payment.records import Object
from fakes.payment.refusals import StripeRefusal, wrong

OPEN = {
    "method": "requires_confirmation",
    "no-method": "requires_payment_method",
    "succeed": "succeeded",
    "hold": "requires_capture",
    "act": "requires_action",
    "process": "processing",
    "decline": "requires_payment_method",
    "cancel": "canceled",
}
STATES: Mapping[str, Mapping[str, str]] = {
    "requires_payment_method": OPEN,
    "requires_confirmation": OPEN,
    "requires_action": OPEN,
    "processing": {"succeed": "succeeded", "decline": "requires_payment_method"},
    "requires_capture": {"capture": "succeeded", "cancel": "canceled"},
    "succeeded": {},
    "canceled": {},
}
"""State -> what may happen -> the next state."""
UPDATED = ("description", "receipt_email", "setup_future_usage", "shipping", "statement_descriptor", "transfer_group")
MANUAL = "manual"


def step(intent: Object, what: str) -> str:
    """The state after this. Raises StripeRefusal if it cannot happen now."""
    following = STATES[intent["status"]].get(what)
    if following is None:
        raise unexpected(intent, f"It cannot be done to a PaymentIntent whose status is {intent['status']}.")
    return following


def unexpected(intent: Object, message: str) -> StripeRefusal:
    """The intent is in a state in which this cannot be done."""
    return StripeRefusal(400, message, code="payment_intent_unexpected_state", payment_intent=intent)


def subject(account: Account, intent: Object) -> str:
    """The business target of what is done for this intent."""
    return account.target(intent["metadata"], intent["customer"], intent["id"])


# Operations.


def create_intent(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_intents`."""
    if made := account.asking.made:
        intent = account.need("payment_intent", made)
        if not (params.get("confirm") and _is_open(intent)):
            return intent
        return confirm(account, _take_method(account, intent, params), params)
    if params.get("customer"):
        account.need("customer", params["customer"], "customer")
    if params.get("off_session") and not params.get("confirm"):
        raise wrong("off_session", "off_session can only be given together with confirm.", "parameter_unknown")
    method = _given_method(account, params)
    types = params.get("payment_method_types") or sorted({"card", method["type"]} if method else {"card"})
    id_ = account.records.new_id("payment_intent")
    made_ = shapes.payment_intent(id_, account.created(), params, types)
    intent = account.new({**made_, "metadata": merged({}, params.get("metadata")), **_with_method(made_, method)})
    account.tell("payment_intent.created", intent)
    return confirm(account, intent, params) if params.get("confirm") else intent


def update_intent(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_intents/ID`."""
    intent = account.need("payment_intent", ids[0])
    fields = {name: params[name] for name in UPDATED if name in params}
    for name in ("amount", "currency", "customer", "payment_method_types", "capture_method"):
        if name in params and params[name] != intent[name]:
            if not _is_open(intent):
                raise unexpected(intent, f"{name} cannot be changed when the status is {intent['status']}.")
            fields[name] = params[name]
    if fields.get("customer"):
        account.need("customer", fields["customer"], "customer")
    method = _given_method(account, params)
    if method is not None:
        step(intent, "method")
        fields |= _with_method({**intent, **fields}, method)
    return account.change(intent, metadata=merged(intent["metadata"], params.get("metadata")), **fields)


def confirm_intent(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_intents/ID/confirm`."""
    intent = account.need("payment_intent", ids[0])
    if account.asking.made == intent["id"] and not _is_open(intent):
        return intent
    account.asking.made = intent["id"]
    step(intent, "succeed" if intent["status"] != "processing" else "method")
    intent = _take_method(account, intent, params)
    changed = {name: params[name] for name in ("capture_method", "receipt_email", "shipping") if name in params}
    if changed:
        intent = account.change(intent, **changed)
    return confirm(account, intent, params)


def capture_intent(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_intents/ID/capture`."""
    intent = account.need("payment_intent", ids[0])
    if account.asking.made == intent["id"] and intent["status"] == "succeeded":
        return intent
    status = step(intent, "capture")
    held: int = intent["amount_capturable"]
    amount = params.get("amount_to_capture", held)
    if amount > held:
        message = "The amount to capture exceeds what can be captured."
        raise StripeRefusal(400, message, code="amount_too_large", param="amount_to_capture")
    account.asking.made = intent["id"]
    metadata = merged(intent["metadata"], params.get("metadata"))
    charge = account.need("charge", intent["latest_charge"])
    authorized = str(account.records.facts(charge["id"])["effect"])
    target, operation = account.domain.row(authorized).target, account.marker(metadata)
    reference = account.effect("capture", target, operation, reference=authorized, amount=amount)
    # What was held and is not taken is released, which the API shows as refunded.
    left = charge["amount"] - amount
    fields = {"captured": True, "amount_captured": amount, "amount_refunded": left}
    captured = account.change(charge, {"effect": reference, "authorized": authorized}, **fields)
    account.forget("expiry", intent["id"])
    intent = account.change(intent, status=status, metadata=metadata, amount_received=amount, amount_capturable=0)
    account.tell("charge.captured", captured)
    account.tell("payment_intent.succeeded", intent)
    return intent


def cancel_intent(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_intents/ID/cancel`."""
    intent = account.need("payment_intent", ids[0])
    if account.asking.made == intent["id"] and intent["status"] == "canceled":
        return intent
    step(intent, "cancel")
    account.asking.made = intent["id"]
    return _cancel(account, intent, account.marker(intent["metadata"], undoes=True), params.get("cancellation_reason"))


def _cancel(account: Account, intent: Object, operation: str, reason: str | None) -> Object:
    status = step(intent, "cancel")
    if intent["status"] == "requires_capture":
        charge = account.need("charge", intent["latest_charge"])
        held = str(account.records.facts(charge["id"])["effect"])
        target = account.domain.row(held).target
        account.effect("authorization.cancel", target, operation, reference=held)
        released = account.change(charge, amount_refunded=charge["amount"], refunded=True)
        account.tell("charge.refunded", released)
    account.forget("expiry", intent["id"])
    moment = account.created()
    fields = {"status": status, "canceled_at": moment, "cancellation_reason": reason, "amount_capturable": 0}
    intent = account.change(intent, **fields, next_action=None)
    account.tell("payment_intent.canceled", intent)
    return intent


# Confirming: what the instrument makes of it.


def confirm(account: Account, intent: Object, params: Params) -> Object:
    """Try to pay. Raises StripeRefusal for a decline, after everything about it was kept."""
    if intent["payment_method"] is None:
        message = "A PaymentIntent needs a payment method before it can be confirmed."
        raise StripeRefusal(
            400, message, code="payment_intent_unexpected_state", param="payment_method", payment_intent=intent
        )
    method = account.need("payment_method", intent["payment_method"], "payment_method")
    if method["customer"] not in (None, intent["customer"]):
        message = "The payment method belongs to another customer than the PaymentIntent."
        raise StripeRefusal(400, message, param="payment_method")
    if method["type"] not in intent["payment_method_types"]:
        message = f"A payment method of type {method['type']} is not among those of this PaymentIntent."
        raise StripeRefusal(400, message, param="payment_method")
    card = _wanted(account, instrument_of(account, method), intent)
    match card.outcome:
        case Outcome.DECLINED:
            raise decline(account, intent, method, card)
        case Outcome.ACTS:
            return _ask_customer(account, intent, method, params)
        case Outcome.SETTLES | Outcome.BOUNCES:
            return _process(account, intent, method, card)
        case Outcome.SUCCEEDS:
            return pay(account, intent, method)


def _wanted(account: Account, card: Instrument, intent: Object) -> Instrument:
    """The instrument, or what this execution is told to make of it."""
    if account.asking.wanted == "declined" or account.domain.declines(account.marker(intent["metadata"])):
        return card._replace(outcome=Outcome.DECLINED, code="card_declined", decline_code="generic_decline")
    if account.asking.wanted and intent["capture_method"] != MANUAL:
        return card._replace(outcome=Outcome(account.asking.wanted))
    return card


def pay(account: Account, intent: Object, method: Object) -> Object:
    """The money is taken, or held."""
    is_held = intent["capture_method"] == MANUAL
    status = step(intent, "hold" if is_held else "succeed")
    target, operation = subject(account, intent), account.marker(intent["metadata"])
    action = "authorize" if is_held else "charge"
    reference = account.effect(action, target, operation, amount=intent["amount"])
    charge = shapes.charge(account.records.new_id("charge"), account.created(), intent, method)
    charge |= _paid(charge, is_held=is_held)
    account.records.put(charge, account.now(), effect=reference)
    account.tell("charge.succeeded", charge)
    return _after_payment(account, intent, charge, status)


def _paid(charge: Object, *, is_held: bool) -> Object:
    return {
        "status": "succeeded",
        "paid": True,
        "captured": not is_held,
        "amount_captured": 0 if is_held else charge["amount"],
        "outcome": shapes.outcome("approved_by_network", None, "Payment complete.", "authorized"),
    }


def _after_payment(account: Account, intent: Object, charge: Object, status: str) -> Object:
    amount = intent["amount"]
    is_held = status == "requires_capture"
    sums = {"amount_capturable": amount} if is_held else {"amount_received": amount}
    shown = {"latest_charge": charge["id"], "next_action": None, "last_payment_error": None, "processing": None}
    intent = account.change(intent, status=status, **sums, **shown)
    account.tell("payment_intent.amount_capturable_updated" if is_held else "payment_intent.succeeded", intent)
    if is_held and account.habits.authorizations_last_ns:
        account.later("expiry", intent["id"], account.habits.authorizations_last_ns)
    return intent


def decline(account: Account, intent: Object, method: Object, card: Instrument) -> StripeRefusal:
    """Keep a declined charge; returns what is to be raised."""
    charge = shapes.charge(account.records.new_id("charge"), account.created(), intent, method)
    message = MESSAGES.get(card.code, MESSAGES["card_declined"])
    outcome = shapes.outcome("declined_by_network", card.decline_code, message, "issuer_declined")
    failed = {"status": "failed", "failure_code": card.code, "failure_message": message, "outcome": outcome}
    charge = account.records.put({**charge, **failed}, account.now())
    account.tell("charge.failed", charge)
    intent, refusal = _declined(account, intent, method, card, charge["id"])
    return refusal


def _declined(
    account: Account, intent: Object, method: Object, card: Instrument, charge: str | None
) -> tuple[Object, StripeRefusal]:
    message = MESSAGES.get(card.code, MESSAGES["card_declined"])
    error = {"type": "card_error", "code": card.code, "message": message, "decline_code": card.decline_code}
    if charge is not None:
        error["charge"] = charge
    last = {**error, "payment_method": method}
    fields: dict[str, Any] = {
        "payment_method": None,
        "next_action": None,
        "processing": None,
        "last_payment_error": last,
    }
    if charge is not None:
        fields["latest_charge"] = charge
    intent = account.change(intent, status=step(intent, "decline"), **fields)
    account.tell("payment_intent.payment_failed", intent)
    more: dict[str, Any] = {name: error[name] for name in ("decline_code", "charge") if name in error}
    refusal = StripeRefusal(402, message, code=card.code, **more, payment_intent=intent, payment_method=method)
    return intent, refusal


# Confirming: what comes later.


def _ask_customer(account: Account, intent: Object, method: Object, params: Params) -> Object:
    if params.get("off_session") or params.get("error_on_requires_action"):
        code = "authentication_required"
        raise decline(account, intent, method, Instrument("", "", Outcome.DECLINED, code, code))
    action: Object = {"type": "use_stripe_sdk", "use_stripe_sdk": {"type": "three_d_secure_redirect"}}
    if params.get("return_url"):
        page = f"/authenticate/{intent['id']}"
        action = {"type": "redirect_to_url", "redirect_to_url": {"return_url": params["return_url"], "url": page}}
    intent = account.change(intent, status=step(intent, "act"), next_action=action)
    account.tell("payment_intent.requires_action", intent)
    return intent


def authenticate(account: Account, id_: str, *, succeeds: bool) -> Object:
    """The customer has authenticated, or has not. Raises StripeRefusal if nobody waits for it."""
    intent = account.need("payment_intent", id_)
    if intent["status"] != "requires_action":
        raise unexpected(intent, f"Nobody waits for the customer when the status is {intent['status']}.")
    method = account.need("payment_method", intent["payment_method"], "payment_method")
    if succeeds:
        return pay(account, intent, method)
    code = "payment_intent_authentication_failure"
    return _declined(account, intent, method, Instrument("", "", Outcome.DECLINED, code, ""), None)[0]


def _process(account: Account, intent: Object, method: Object, card: Instrument) -> Object:
    if intent["capture_method"] == MANUAL:
        raise wrong("capture_method", f"A {method['type']} cannot be held: capture_method must be automatic.")
    status = step(intent, "process")
    target, operation = subject(account, intent), account.marker(intent["metadata"])
    accepted = account.accept("charge", target, operation, amount=intent["amount"])
    charge = shapes.charge(account.records.new_id("charge"), account.created(), intent, method)
    account.records.put(charge, account.now(), **accepted, outcome=str(card.outcome), decline_code=card.decline_code)
    account.tell("charge.pending", charge)
    intent = account.change(intent, status=status, latest_charge=charge["id"], next_action=None)
    account.tell("payment_intent.processing", intent)
    account.later("payment", intent["id"], account.habits.payments_settle_ns)
    return intent


def settle_payment(account: Account, id_: str, succeeds: bool) -> None:
    """What was accepted comes to its end."""
    intent = account.need("payment_intent", id_)
    charge = account.need("charge", intent["latest_charge"])
    facts = account.records.facts(charge["id"])
    reference = account.settle(charge, succeeds=succeeds and facts["outcome"] == Outcome.SETTLES)
    if reference:
        charge = account.change(charge, {"effect": reference}, **_paid(charge, is_held=False))
        account.tell("charge.succeeded", charge)
        _after_payment(account, intent, charge, step(intent, "succeed"))
        return
    method = account.need("payment_method", intent["payment_method"], "payment_method")
    card = Instrument("", "", Outcome.DECLINED, "payment_intent_payment_attempt_failed", facts["decline_code"])
    failed = {"status": "failed", "failure_code": card.decline_code or None, "failure_message": "The payment failed."}
    account.tell("charge.failed", account.change(charge, **failed))
    _declined(account, intent, method, card, charge["id"])


def expire(account: Account, id_: str, succeeds: bool) -> None:
    """Held money that nobody took is released."""
    intent = account.need("payment_intent", id_)
    if intent["status"] == "requires_capture":
        _cancel(account, intent, "", "expired")


def settlers(account: Account) -> None:
    """Who settles what is here."""
    account.settlers["payment"] = partial(settle_payment, account)
    account.settlers["expiry"] = partial(expire, account)


# Parameters.


def _is_open(intent: Object) -> bool:
    return STATES[intent["status"]] is OPEN


def _given_method(account: Account, params: Params) -> Object | None:
    """The payment method a request names or describes."""
    if params.get("payment_method"):
        return resolve_method(account, params["payment_method"], "payment_method")
    if params.get("payment_method_data"):
        return new_method(account, params["payment_method_data"], "payment_method_data")
    return None


def _take_method(account: Account, intent: Object, params: Params) -> Object:
    method = _given_method(account, params)
    return intent if method is None else account.change(intent, **_with_method(intent, method))


def _with_method(intent: Object, method: Object | None) -> dict[str, Any]:
    """What an intent shows of its payment method."""
    if method is None:
        return {}
    options: dict[str, Any] = {}
    if method["type"] == "card":
        options = {
            "card": {
                "installments": None,
                "mandate_options": None,
                "network": None,
                "request_three_d_secure": "automatic",
            }
        }
    return {
        "payment_method": method["id"],
        "payment_method_options": options,
        "status": step(intent, "method"),
        "last_payment_error": None,
    }
