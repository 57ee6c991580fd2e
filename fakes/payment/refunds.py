"""Refunds. An operation is `(account, ids, params) -> object`.

The refunds of a charge never exceed it, pending ones included. A refund is `succeeded` at once, or `pending` and then
`succeeded` or `failed`; and one that has succeeded may turn out to have failed: then the money is the account's again.
Its effect is at the target of what it gives back, since that is where the money is; its operation is its own
metadata's.
Never here: charges.
"""

from __future__ import annotations

from functools import partial

from fakes.payment import shapes
from fakes.payment.account import Account
from fakes.payment.cards import Instrument, Outcome, Refunding
from fakes.payment.customers import Ids, instrument_of
from fakes.payment.parameters import Params, merged
from fakes.payment.records import Object
from fakes.payment.refusals import StripeRefusal, wrong


def refunded_charge(account: Account, params: Params) -> Object:
    """The charge that a request is to give back. Raises StripeRefusal."""
    if ("charge" in params) == ("payment_intent" in params):
        raise wrong("payment_intent", "Say one of charge and payment_intent.", "parameter_missing")
    if "charge" in params:
        return account.need("charge", params["charge"], "charge")
    intent = account.need("payment_intent", params["payment_intent"], "payment_intent")
    if intent["latest_charge"] is None:
        raise _not_paid(intent["id"])
    return account.need("charge", intent["latest_charge"])


def _not_paid(id_: str) -> StripeRefusal:
    message = f"{id_} has no successful charge that could be refunded."
    return StripeRefusal(400, message, code="charge_not_refundable", param="payment_intent")


def create_refund(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/refunds`."""
    if account.asking.made:
        return account.need("refund", account.asking.made)
    charge = refunded_charge(account, params)
    if charge["status"] != "succeeded" or not charge["captured"]:
        raise _not_paid(charge["id"])
    if charge["refunded"]:
        raise StripeRefusal(400, f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded")
    left = charge["amount"] - charge["amount_refunded"]
    amount = params.get("amount", left)
    if amount > left:
        message = f"A refund of {amount} is more than the {left} that are left of the charge."
        raise StripeRefusal(400, message, param="amount")
    return _refund(account, charge, amount, params)


def _refund(account: Account, charge: Object, amount: int, params: Params) -> Object:
    metadata = merged({}, params.get("metadata"))
    charged = str(account.records.facts(charge["id"])["effect"])
    target, operation = account.domain.row(charged).target, account.marker(metadata)
    card = _wanted(account, charge)
    status = _first_status(account, card)
    about: dict[str, str | int] = {"reference": charged, "amount": amount}
    if status == "succeeded":
        facts: dict[str, str | int] = {"effect": account.effect("refund", target, operation, **about)}
    else:
        facts = account.accept("refund", target, operation, **about)
    id_ = account.records.new_id("refund")
    made = shapes.refund(id_, account.created(), amount, charge, params)
    made |= {"metadata": metadata, "status": status}
    if status == "pending":
        made["pending_reason"] = "processing"
    if status == "requires_action":
        made["next_action"] = {"type": "display_details", "display_details": {"expires_at": account.created()}}
    refund = account.new(made, **facts, refunding=str(card.refunding), outcome=str(card.outcome))
    account.tell("refund.created", refund)
    account.tell("charge.refunded", _add(account, charge, amount))
    if status == "pending" or card.refunding is Refunding.FAILS_LATER or account.habits.refunds_may_fail:
        account.later("refund", id_, account.habits.refunds_settle_ns)
    return refund


def _wanted(account: Account, charge: Object) -> Instrument:
    """The instrument, or what this execution is told to make of it."""
    card = instrument_of(account, account.need("payment_method", charge["payment_method"]))
    if account.asking.wanted in (Outcome.SETTLES, Outcome.BOUNCES):
        return card._replace(refunding=Refunding.PENDS, outcome=Outcome(account.asking.wanted))
    return card._replace(outcome=Outcome.SUCCEEDS)


def _first_status(account: Account, card: Instrument) -> str:
    match card.refunding:
        case Refunding.PENDS:
            return "pending"
        case Refunding.FAILS_LATER:
            return "succeeded"
        case Refunding.SUCCEEDS:
            return account.habits.refunds_begin


def _add(account: Account, charge: Object, amount: int) -> Object:
    """What is given back of a charge grows, or shrinks again."""
    sum_ = charge["amount_refunded"] + amount
    assert 0 <= sum_ <= charge["amount"], f"{sum_} of {charge['id']} are given back"
    return account.change(charge, amount_refunded=sum_, refunded=sum_ == charge["amount"])


def update_refund(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/refunds/ID`."""
    refund = account.need("refund", ids[0])
    changed = account.change(refund, metadata=merged(refund["metadata"], params.get("metadata")))
    account.tell("refund.updated", changed)
    return changed


def cancel_refund(account: Account, ids: Ids, params: Params) -> Object:
    """`POST /v1/refunds/ID/cancel`."""
    refund = account.need("refund", ids[0])
    if account.asking.made == refund["id"] and refund["status"] == "canceled":
        return refund
    if refund["status"] != "requires_action":
        raise StripeRefusal(400, f"A refund whose status is {refund['status']} cannot be canceled.")
    account.asking.made = refund["id"]
    account.settle(refund, succeeds=False)
    _add(account, account.need("charge", refund["charge"]), -refund["amount"])
    changed = account.change(refund, status="canceled", next_action=None)
    account.tell("refund.updated", changed)
    return changed


def settle_refund(account: Account, id_: str, succeeds: bool) -> None:
    """A refund comes to its end, or to a second one."""
    refund = account.need("refund", id_)
    facts = account.records.facts(id_)
    if refund["status"] == "succeeded":
        if succeeds and facts["refunding"] != Refunding.FAILS_LATER:
            return
        account.domain.take_back(str(facts["effect"]))
        _fail(account, refund)
        return
    assert refund["status"] == "pending", f"{id_} is {refund['status']} and was to be settled"
    reference = account.settle(refund, succeeds=succeeds and facts["outcome"] != Outcome.BOUNCES)
    if not reference:
        _fail(account, refund)
        return
    shown = {name: value for name, value in refund.items() if name != "pending_reason"}
    account.tell("refund.updated", account.change(shown, {"effect": reference}, status="succeeded"))


def _fail(account: Account, refund: Object) -> None:
    charge = account.need("charge", refund["charge"])
    _add(account, charge, -refund["amount"])
    shown = {name: value for name, value in refund.items() if name != "pending_reason"}
    failed = account.change(
        shown, status="failed", failure_reason="expired_or_canceled_card", failure_balance_transaction=None
    )
    account.tell("refund.failed", failed)


def settlers(account: Account) -> None:
    """Who settles what is here."""
    account.settlers["refund"] = partial(settle_refund, account)
