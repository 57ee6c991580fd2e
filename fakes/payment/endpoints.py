"""The endpoints: method and path, the parameters each takes, and what does it. Literal tables.

Never here: doing any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from fakes.payment import customers, intents, outbox, refunds
from fakes.payment.account import Account
from fakes.payment.customers import Ids
from fakes.payment.parameters import (
    AMOUNT_MAX,
    Params,
    Table,
    amount,
    anything,
    choice,
    clearable,
    currency,
    expansion,
    flag,
    flag_or_text,
    group,
    metadata,
    moments,
    text,
    texts,
    whole,
)
from fakes.payment.records import Object

Operation = Callable[[Account, Ids, Params], Object]


class Endpoint(NamedTuple):
    """One endpoint. `name` is its noun and verb, `kind` the object it is about; `run` is None for a question."""

    name: str
    kind: str
    table: Table
    required: tuple[str, ...] = ()
    run: Operation | None = None

    @property
    def verb(self) -> str:
        return self.name.rpartition(".")[2]


_ANY: Table = {"expand": expansion}
_CHANGE: Table = {**_ANY, "metadata": metadata}
_PAGE: Table = {**_ANY, "limit": whole(1, 100), "starting_after": text, "ending_before": text}
_LIST: Table = {**_PAGE, "created": moments}
_SEARCH: Table = {**_ANY, "query": text, "limit": whole(1, 100), "page": text}

_CARD: Table = {
    "number": text,
    "exp_month": whole(0, 10_000),
    "exp_year": whole(0, 10_000),
    "cvc": text,
    "token": text,
    "networks": anything,
}
_METHOD: Table = {
    "type": choice("card", "sepa_debit"),
    "card": group(_CARD),
    "sepa_debit": group({"iban": text}, ("iban",)),
    "billing_details": group(
        {"address": anything, "email": clearable, "name": clearable, "phone": clearable, "tax_id": text}
    ),
    "allow_redisplay": choice("always", "limited", "unspecified"),
    "metadata": metadata,
    "radar_options": anything,
}
_CUSTOMER: Table = {
    **_CHANGE,
    "address": anything,
    "balance": whole(-AMOUNT_MAX, AMOUNT_MAX),
    "description": clearable,
    "email": clearable,
    "invoice_settings": group({"default_payment_method": clearable, "footer": clearable, "custom_fields": anything}),
    "name": clearable,
    "payment_method": text,
    "phone": clearable,
    "preferred_locales": texts,
    "shipping": anything,
    "tax_exempt": choice("none", "exempt", "reverse"),
}
_CAPTURING = choice("automatic", "automatic_async", "manual")
_PAYING: Table = {
    **_ANY,
    "capture_method": _CAPTURING,
    "error_on_requires_action": flag,
    "mandate_data": anything,
    "off_session": flag_or_text,
    "payment_method": text,
    "payment_method_data": group(_METHOD, ("type",)),
    "payment_method_options": anything,
    "payment_method_types": texts,
    "receipt_email": clearable,
    "return_url": text,
    "setup_future_usage": choice("off_session", "on_session", ""),
    "shipping": anything,
    "use_stripe_sdk": flag,
}
_INTENT: Table = {
    **_PAYING,
    "amount": amount,
    "automatic_payment_methods": group({"enabled": flag, "allow_redirects": choice("always", "never")}, ("enabled",)),
    "confirm": flag,
    "confirmation_method": choice("automatic", "manual"),
    "currency": currency,
    "customer": text,
    "description": clearable,
    "metadata": metadata,
    "statement_descriptor": clearable,
    "statement_descriptor_suffix": clearable,
    "transfer_group": text,
}
_REFUND: Table = {
    **_CHANGE,
    "amount": amount,
    "charge": text,
    "instructions_email": text,
    "payment_intent": text,
    "reason": choice("duplicate", "fraudulent", "requested_by_customer"),
    "refund_application_fee": flag,
    "reverse_transfer": flag,
}
_HOOK: Table = {**_CHANGE, "url": text, "enabled_events": texts, "description": clearable}
_REASONS = choice("duplicate", "fraudulent", "requested_by_customer", "abandoned")
_CREATING = {name: reader for name, reader in _INTENT.items() if name != "setup_future_usage"} | {
    "setup_future_usage": choice("off_session", "on_session")
}
_UPDATING = {
    name: reader
    for name, reader in _INTENT.items()
    if name not in ("confirm", "confirmation_method", "off_session", "error_on_requires_action", "return_url")
}
_CONFIRMING = {name: reader for name, reader in _PAYING.items() if name != "payment_method_types"}


def _questions(path: str, kind: str, filters: Table, *, can_search: bool) -> dict[tuple[str, str], Endpoint]:
    """The questions that most kinds of object have."""
    asked = {
        ("GET", path): Endpoint(f"{kind}.list", kind, {**_LIST, **filters}),
        ("GET", f"{path}/*"): Endpoint(f"{kind}.retrieve", kind, _ANY),
    }
    if can_search:
        asked["GET", f"{path}/search"] = Endpoint(f"{kind}.search", kind, _SEARCH, ("query",))
    return asked


_C, _M, _P, _R, _W = "customer", "payment_method", "payment_intent", "refund", "webhook_endpoint"

ENDPOINTS: Mapping[tuple[str, str], Endpoint] = {
    **_questions("/v1/customers", _C, {"email": text}, can_search=True),
    ("POST", "/v1/customers"): Endpoint("customer.create", _C, _CUSTOMER, (), customers.create_customer),
    ("POST", "/v1/customers/*"): Endpoint("customer.update", _C, _CUSTOMER, (), customers.update_customer),
    ("DELETE", "/v1/customers/*"): Endpoint("customer.delete", _C, {}, (), customers.delete_customer),
    ("GET", "/v1/customers/*/payment_methods"): Endpoint("payment_method.list", _M, {**_PAGE, "type": text}),
    **_questions("/v1/payment_methods", _M, {"customer": text, "type": text}, can_search=False),
    ("POST", "/v1/payment_methods"): Endpoint(
        "payment_method.create", _M, {**_METHOD, **_ANY}, ("type",), customers.create_method
    ),
    ("POST", "/v1/payment_methods/*"): Endpoint(
        "payment_method.update",
        _M,
        {**_CHANGE, "billing_details": _METHOD["billing_details"], "allow_redisplay": _METHOD["allow_redisplay"]},
        (),
        customers.update_method,
    ),
    ("POST", "/v1/payment_methods/*/attach"): Endpoint(
        "payment_method.attach", _M, {**_ANY, "customer": text}, ("customer",), customers.attach_method
    ),
    ("POST", "/v1/payment_methods/*/detach"): Endpoint("payment_method.detach", _M, _ANY, (), customers.detach_method),
    **_questions("/v1/payment_intents", _P, {"customer": text}, can_search=True),
    ("POST", "/v1/payment_intents"): Endpoint(
        "payment_intent.create", _P, _CREATING, ("amount", "currency"), intents.create_intent
    ),
    ("POST", "/v1/payment_intents/*"): Endpoint("payment_intent.update", _P, _UPDATING, (), intents.update_intent),
    ("POST", "/v1/payment_intents/*/confirm"): Endpoint(
        "payment_intent.confirm", _P, _CONFIRMING, (), intents.confirm_intent
    ),
    ("POST", "/v1/payment_intents/*/capture"): Endpoint(
        "payment_intent.capture", _P, {**_CHANGE, "amount_to_capture": amount}, (), intents.capture_intent
    ),
    ("POST", "/v1/payment_intents/*/cancel"): Endpoint(
        "payment_intent.cancel", _P, {**_ANY, "cancellation_reason": _REASONS}, (), intents.cancel_intent
    ),
    **_questions(
        "/v1/charges", "charge", {"customer": text, "payment_intent": text, "transfer_group": text}, can_search=True
    ),
    **_questions("/v1/refunds", _R, {"charge": text, "payment_intent": text}, can_search=False),
    ("POST", "/v1/refunds"): Endpoint("refund.create", _R, _REFUND, (), refunds.create_refund),
    ("POST", "/v1/refunds/*"): Endpoint("refund.update", _R, _CHANGE, (), refunds.update_refund),
    ("POST", "/v1/refunds/*/cancel"): Endpoint("refund.cancel", _R, _ANY, (), refunds.cancel_refund),
    **_questions("/v1/events", "event", {"type": text, "types": texts}, can_search=False),
    **_questions("/v1/webhook_endpoints", _W, {}, can_search=False),
    ("POST", "/v1/webhook_endpoints"): Endpoint(
        "webhook_endpoint.create", _W, _HOOK, ("url", "enabled_events"), outbox.create_endpoint
    ),
    ("DELETE", "/v1/webhook_endpoints/*"): Endpoint("webhook_endpoint.delete", _W, {}, (), outbox.delete_endpoint),
}
"""(method, path with `*` for an id) -> endpoint."""


def find(method: str, path: str) -> tuple[Endpoint, Ids] | None:
    """The endpoint of a request, and the ids in its path."""
    path = path.rstrip("/")
    exact = ENDPOINTS.get((method, path))
    if exact is not None:
        return exact, ()
    parts = path.split("/")
    if len(parts) not in (4, 5) or not parts[3]:
        return None
    id_, parts[3] = parts[3], "*"
    found = ENDPOINTS.get((method, "/".join(parts)))
    return None if found is None else (found, (id_,))
