"""What is published of the objects' form: fields, types, and which may be null. Written down from Stripe's OpenAPI
description as typed in the `stripe` package 16.1 (API 2026-10-28), on 2026-11-30; optional fields are left out.

A type is one or more of: `text`, `whole`, `flag`, `map` (any object), `list`, `null`, or an object's own table.
Never here: objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Type = str | Mapping[str, Any]

TEXT, TEXT_, WHOLE, WHOLE_, FLAG, MAP, MAP_ = "text", "text null", "whole", "whole null", "flag", "map", "map null"
ID_ = "text map null"
"""An id, or the object instead of it, or null."""

CUSTOMER: Type = {
    "id": TEXT, "object": "=customer", "address": MAP_, "balance": WHOLE, "created": WHOLE, "currency": TEXT_,
    "default_source": ID_, "delinquent": FLAG, "description": TEXT_, "email": TEXT_, "invoice_prefix": TEXT_,
    "invoice_settings": {"custom_fields": "list null", "default_payment_method": ID_, "footer": TEXT_, "rendering_options": MAP_},
    "livemode": FLAG, "metadata": MAP, "name": TEXT_, "next_invoice_sequence": WHOLE, "phone": TEXT_,
    "preferred_locales": "list", "shipping": MAP_, "tax_exempt": TEXT_, "test_clock": ID_,
}  # fmt: skip
BILLING: Type = {"address": MAP_, "email": TEXT_, "name": TEXT_, "phone": TEXT_, "tax_id": TEXT_}
PAYMENT_METHOD: Type = {
    "id": TEXT, "object": "=payment_method", "billing_details": BILLING, "created": WHOLE, "customer": ID_,
    "livemode": FLAG, "metadata": MAP_, "type": TEXT,
    "card": {
        "brand": TEXT, "checks": MAP_, "country": TEXT_, "display_brand": TEXT_, "exp_month": WHOLE, "exp_year": WHOLE,
        "fingerprint": TEXT_, "funding": TEXT, "generated_from": MAP_, "last4": TEXT, "networks": MAP_,
        "three_d_secure_usage": MAP_, "wallet": MAP_,
    },
}  # fmt: skip
PAYMENT_INTENT: Type = {
    "id": TEXT, "object": "=payment_intent", "amount": WHOLE, "amount_capturable": WHOLE, "amount_received": WHOLE,
    "application": ID_, "application_fee_amount": WHOLE_, "automatic_payment_methods": MAP_, "canceled_at": WHOLE_,
    "cancellation_reason": TEXT_, "capture_method": TEXT, "client_secret": TEXT_, "confirmation_method": TEXT,
    "created": WHOLE, "currency": TEXT, "customer": ID_, "description": TEXT_, "last_payment_error": MAP_,
    "latest_charge": ID_, "livemode": FLAG, "metadata": MAP, "next_action": MAP_, "on_behalf_of": ID_,
    "payment_method": ID_, "payment_method_configuration_details": MAP_, "payment_method_options": MAP_,
    "payment_method_types": "list", "processing": MAP_, "receipt_email": TEXT_, "review": ID_,
    "setup_future_usage": TEXT_, "shipping": MAP_, "source": ID_, "statement_descriptor": TEXT_,
    "statement_descriptor_suffix": TEXT_, "status": TEXT, "transfer_data": MAP_, "transfer_group": TEXT_,
}  # fmt: skip
CHARGE: Type = {
    "id": TEXT, "object": "=charge", "amount": WHOLE, "amount_captured": WHOLE, "amount_refunded": WHOLE,
    "application": ID_, "application_fee": ID_, "application_fee_amount": WHOLE_, "balance_transaction": ID_,
    "billing_details": BILLING, "calculated_statement_descriptor": TEXT_, "captured": FLAG, "created": WHOLE,
    "currency": TEXT, "customer": ID_, "description": TEXT_, "disputed": FLAG, "failure_balance_transaction": ID_,
    "failure_code": TEXT_, "failure_message": TEXT_, "fraud_details": MAP_, "livemode": FLAG, "metadata": MAP,
    "on_behalf_of": ID_, "outcome": MAP_, "paid": FLAG, "payment_intent": ID_, "payment_method": TEXT_,
    "payment_method_details": MAP_, "receipt_email": TEXT_, "receipt_number": TEXT_, "receipt_url": TEXT_,
    "refunded": FLAG, "review": ID_, "shipping": MAP_, "source": MAP_, "source_transfer": ID_,
    "statement_descriptor": TEXT_, "statement_descriptor_suffix": TEXT_, "status": TEXT, "transfer_data": MAP_,
    "transfer_group": TEXT_,
}  # fmt: skip
REFUND: Type = {
    "id": TEXT, "object": "=refund", "amount": WHOLE, "balance_transaction": ID_, "charge": ID_, "created": WHOLE,
    "currency": TEXT, "metadata": MAP_, "payment_intent": ID_, "reason": TEXT_, "receipt_number": TEXT_,
    "source_transfer_reversal": ID_, "status": TEXT_, "transfer_reversal": ID_,
}  # fmt: skip
EVENT: Type = {
    "id": TEXT, "object": "=event", "api_version": TEXT_, "created": WHOLE, "data": {"object": MAP}, "livemode": FLAG,
    "pending_webhooks": WHOLE, "request": {"id": TEXT_, "idempotency_key": TEXT_}, "type": TEXT,
}  # fmt: skip
WEBHOOK_ENDPOINT: Type = {
    "id": TEXT, "object": "=webhook_endpoint", "api_version": TEXT_, "application": TEXT_, "created": WHOLE,
    "description": TEXT_, "enabled_events": "list", "livemode": FLAG, "metadata": MAP, "status": TEXT, "url": TEXT,
}  # fmt: skip
LIST: Type = {"object": "=list", "data": "list", "has_more": FLAG, "url": TEXT}
SEARCH_RESULT: Type = {"object": "=search_result", "data": "list", "has_more": FLAG, "url": TEXT, "next_page": TEXT_}

DESCRIBED: Mapping[str, Type] = {
    "customer": CUSTOMER,
    "payment_method": PAYMENT_METHOD,
    "payment_intent": PAYMENT_INTENT,
    "charge": CHARGE,
    "refund": REFUND,
    "event": EVENT,
    "webhook_endpoint": WEBHOOK_ENDPOINT,
    "list": LIST,
    "search_result": SEARCH_RESULT,
}

_WORD: Mapping[type, str] = {str: "text", bool: "flag", int: "whole", dict: "map", list: "list", type(None): "null"}


def deviations(value: Any, type_: Type, path: str = "") -> Iterator[str]:
    """Where a value is not of this type."""
    if isinstance(type_, str):
        fits = value == type_[1:] if type_[0] == "=" else _WORD.get(type(value)) in type_.split()
        if not fits:
            yield f"{path}: {value!r} is not {type_}"
        return
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is no object"
        return
    for name, inner in type_.items():
        if name not in value:
            yield f"{path}.{name}: missing"
        else:
            yield from deviations(value[name], inner, f"{path}.{name}")
