"""Customers, and the payment methods that may be theirs. An operation is `(account, ids, params) -> object`.

A customer's target is its metadata's, or its own id.
Never here: card numbers beyond the one look that tells what kind of card it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakes.payment import shapes
from fakes.payment.account import Account
from fakes.payment.cards import CARD_TOKENS, IBANS, TOKENS, Instrument, Outcome, Refunding, instrument
from fakes.payment.parameters import Params, merged
from fakes.payment.records import Object
from fakes.payment.refusals import StripeRefusal, missing, wrong

Ids = tuple[str, ...]

# Customers.


def create_customer(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/customers`."""
    if account.asking.made:
        return account.need("customer", account.asking.made)
    method = params.get("payment_method")
    source = resolve_method(account, method, "payment_method") if method else None
    id_ = account.records.new_id("customer")
    metadata = merged({}, params.get("metadata"))
    reference = account.effect("customer.create", account.target(metadata, id_), account.marker(metadata))
    made = {**shapes.customer(id_, account.created(), params), "metadata": metadata}
    made = account.new(made, effect=reference)
    account.tell("customer.created", made)
    if source is not None:
        attach(account, source, made)
    return made


CUSTOMER_FIELDS = ("address", "description", "email", "name", "phone", "preferred_locales", "shipping", "tax_exempt")


def update_customer(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/customers/ID`."""
    customer = account.need("customer", ids[0])
    fields = {name: params[name] for name in CUSTOMER_FIELDS if name in params}
    if "invoice_settings" in params:
        fields["invoice_settings"] = {**customer["invoice_settings"], **params["invoice_settings"]}
    changed = account.change(customer, metadata=merged(customer["metadata"], params.get("metadata")), **fields)
    account.tell("customer.updated", changed)
    return changed


def delete_customer(account: Account, ids: Ids, params: Params) -> Object:
    """`DELETE /v1/customers/ID`. Its payment methods are detached."""
    gone = shapes.deleted("customer", ids[0])
    if account.asking.made == ids[0] and account.records.get("customer", ids[0]) == gone:
        return gone
    customer = account.need("customer", ids[0])
    made = str(account.records.facts(ids[0])["effect"])
    operation = account.marker(customer["metadata"], undoes=True)
    account.effect("customer.delete", account.domain.row(made).target, operation, reference=made)
    account.asking.made = ids[0]
    for method in [m for m in account.records.newest_first("payment_method") if m["customer"] == ids[0]]:
        account.change(method, customer=None)
    account.tell("customer.deleted", customer)
    return account.change(gone)


# Payment methods.


def create_method(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_methods`."""
    if account.asking.made:
        return account.need("payment_method", account.asking.made)
    made = new_method(account, params, "")
    account.asking.made = made["id"]
    return made


def new_method(account: Account, params: Mapping[str, Any], inside: str) -> Object:
    """A payment method from its details, which are the parameter `inside` or stand alone. Raises StripeRefusal."""
    type_ = params["type"]
    if type_ not in params:
        raise wrong(_within(inside, type_), f"Missing required param: {_within(inside, type_)}.", "parameter_missing")
    details = params[type_]
    if type_ == "sepa_debit":
        number = str(details["iban"]).replace(" ", "").upper()
        found = IBANS.get(number)
        if found is None:
            raise wrong(_within(inside, "sepa_debit[iban]"), "This is not a test IBAN.", "invalid_bank_account_iban")
        return _keep(account, found, number[-4:], params)
    return _new_card(account, details, params)


def _new_card(account: Account, details: Mapping[str, Any], params: Mapping[str, Any]) -> Object:
    number = str(CARD_TOKENS.get(details.get("token", ""), details.get("number", ""))).replace(" ", "")
    if "token" in details and not number:
        raise missing("token", details["token"], "card[token]")
    found = instrument(number)
    if found is None:
        message = "The card number is not a valid card number."
        raise StripeRefusal(402, message, code="incorrect_number", param="number", decline_code="incorrect_number")
    more = {name: details[name] for name in ("exp_month", "exp_year") if name in details}
    if more.get("exp_month", 1) not in range(1, 13):
        raise StripeRefusal(402, "The expiry month is not valid.", code="invalid_expiry_month", param="exp_month")
    if not 1970 + account.created() // 31_556_952 <= more.get("exp_year", 9999):
        raise StripeRefusal(402, "The expiry year is not valid.", code="invalid_expiry_year", param="exp_year")
    return _keep(account, found, number[-4:], {**params, **more})


def _keep(account: Account, found: Instrument, last4: str, more: Mapping[str, Any]) -> Object:
    id_ = account.records.new_id("payment_method")
    method = shapes.payment_method(id_, account.created(), found, last4, more)
    facts = {"outcome": found.outcome, "code": found.code, "decline_code": found.decline_code}
    facts["refunding"] = found.refunding
    kept = {name: str(value) for name, value in facts.items()}
    return account.records.put(method, account.now(), **kept)


def instrument_of(account: Account, method: Object) -> Instrument:
    """What is known of the card behind a payment method."""
    facts = account.records.facts(method["id"])
    outcome, refunding = Outcome(facts["outcome"]), Refunding(facts["refunding"])
    return Instrument("", "", outcome, facts["code"], facts["decline_code"], refunding)


def resolve_method(account: Account, id_: str, param: str) -> Object:
    """The payment method of this id, or a new one for a test token such as `pm_card_visa`. Raises StripeRefusal."""
    if (number := TOKENS.get(id_)) is None:
        return account.need("payment_method", id_, param)
    found = instrument(number)
    assert found is not None, f"{id_} is in the table of tokens and its card is not in that of cards"
    return _keep(account, found, number[-4:], {})


def update_method(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_methods/ID`."""
    method = account.need("payment_method", ids[0])
    fields: dict[str, Any] = {"metadata": merged(method["metadata"], params.get("metadata"))}
    if "billing_details" in params:
        fields["billing_details"] = {**method["billing_details"], **params["billing_details"]}
    return account.change(method, **fields)


def attach_method(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_methods/ID/attach`."""
    customer = account.need("customer", params["customer"], "customer")
    method = resolve_method(account, account.asking.made or ids[0], "id")
    account.asking.made = method["id"]
    if method["customer"] not in (None, customer["id"]):
        raise StripeRefusal(400, "The payment method belongs to another customer already.", param="payment_method")
    return attach(account, method, customer)


def attach(account: Account, method: Object, customer: Object) -> Object:
    """The method becomes the customer's."""
    if method["customer"] == customer["id"]:
        return method
    attached = account.change(method, customer=customer["id"])
    account.tell("payment_method.attached", attached)
    return attached


def detach_method(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/payment_methods/ID/detach`."""
    method = account.need("payment_method", ids[0])
    if method["customer"] is None:
        raise StripeRefusal(400, "The payment method is attached to no customer.", param="payment_method")
    detached = account.change(method, customer=None)
    account.tell("payment_method.detached", detached)
    return detached


def _within(inside: str, name: str) -> str:
    return f"{inside}[{name}]" if inside else name
