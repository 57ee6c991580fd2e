"""New objects in the API's shape: every field there is, with the value of an object that was just made.

Field names and types: Stripe's published OpenAPI description as typed in the `stripe` package 16.1 (API 2026-10-28).
Never here: what becomes of an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakes.payment.cards import Instrument
from fakes.payment.records import Object

API_VERSION = "2026-10-28.endive"
_NO_ADDRESS = {"city": None, "country": None, "line1": None, "line2": None, "postal_code": None, "state": None}


def customer(id_: str, created: int, params: Mapping[str, Any]) -> Object:
    return {
        "id": id_,
        "object": "customer",
        "address": params.get("address"),
        "balance": params.get("balance", 0),
        "created": created,
        "currency": None,
        "default_source": None,
        "delinquent": False,
        "description": params.get("description"),
        "discount": None,
        "email": params.get("email"),
        "invoice_prefix": id_.replace("_", "").upper(),
        "invoice_settings": {
            "custom_fields": None,
            "default_payment_method": (params.get("invoice_settings") or {}).get("default_payment_method"),
            "footer": None,
            "rendering_options": None,
        },
        "livemode": False,
        "metadata": {},
        "name": params.get("name"),
        "next_invoice_sequence": 1,
        "phone": params.get("phone"),
        "preferred_locales": params.get("preferred_locales", []),
        "shipping": params.get("shipping"),
        "tax_exempt": params.get("tax_exempt", "none"),
        "test_clock": None,
    }


def deleted(kind: str, id_: str) -> Object:
    """What is left of an object that was deleted."""
    return {"id": id_, "object": kind, "deleted": True}


def payment_method(id_: str, created: int, instrument: Instrument, last4: str, more: Mapping[str, Any]) -> Object:
    """`more`: billing_details, metadata, and the card's exp_month and exp_year."""
    type_ = "sepa_debit" if instrument.brand == "sepa_debit" else "card"
    billing = more.get("billing_details") or {}
    details = {name: billing.get(name) for name in ("email", "name", "phone")}
    return {
        "id": id_,
        "object": "payment_method",
        "allow_redisplay": more.get("allow_redisplay", "unspecified"),
        "billing_details": {"address": {**_NO_ADDRESS, **_group(billing.get("address"))}, **details, "tax_id": None},
        type_: _sepa(instrument, last4) if type_ == "sepa_debit" else _card(instrument, last4, more),
        "created": created,
        "customer": None,
        "livemode": False,
        "metadata": more.get("metadata", {}),
        "type": type_,
    }


def _group(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _card(instrument: Instrument, last4: str, more: Mapping[str, Any]) -> Object:
    return {
        "brand": instrument.brand,
        "checks": {"address_line1_check": None, "address_postal_code_check": None, "cvc_check": "pass"},
        "country": instrument.country,
        "display_brand": instrument.brand,
        "exp_month": more.get("exp_month", 12),
        "exp_year": more.get("exp_year", 2034),
        "fingerprint": f"fp{instrument.brand}{last4}",
        "funding": "credit",
        "generated_from": None,
        "last4": last4,
        "networks": {"available": [instrument.brand], "preferred": None},
        "regulated_status": "unregulated",
        "three_d_secure_usage": {"supported": True},
        "wallet": None,
    }


def _sepa(instrument: Instrument, last4: str) -> Object:
    return {
        "bank_code": None,
        "branch_code": "",
        "country": instrument.country,
        "fingerprint": f"fpsepa{last4}",
        "generated_from": {"charge": None, "setup_attempt": None},
        "last4": last4,
    }


def payment_intent(id_: str, created: int, params: Mapping[str, Any], types: list[str]) -> Object:
    return {
        "id": id_,
        "object": "payment_intent",
        "amount": params["amount"],
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "application": None,
        "application_fee_amount": None,
        "automatic_payment_methods": params.get("automatic_payment_methods"),
        "canceled_at": None,
        "cancellation_reason": None,
        "capture_method": params.get("capture_method", "automatic_async"),
        "client_secret": f"{id_}_secret_{id_[3:][::-1]}",
        "confirmation_method": params.get("confirmation_method", "automatic"),
        "created": created,
        "currency": params["currency"],
        "customer": params.get("customer"),
        "description": params.get("description"),
        "excluded_payment_method_types": None,
        "last_payment_error": None,
        "latest_charge": None,
        "livemode": False,
        "metadata": {},
        "next_action": None,
        "on_behalf_of": None,
        "payment_method": None,
        "payment_method_configuration_details": None,
        "payment_method_options": {},
        "payment_method_types": types,
        "processing": None,
        "receipt_email": params.get("receipt_email"),
        "review": None,
        "setup_future_usage": params.get("setup_future_usage"),
        "shipping": params.get("shipping"),
        "source": None,
        "statement_descriptor": params.get("statement_descriptor"),
        "statement_descriptor_suffix": params.get("statement_descriptor_suffix"),
        "status": "requires_payment_method",
        "transfer_data": None,
        "transfer_group": params.get("transfer_group"),
    }


def charge(id_: str, created: int, intent: Object, method: Object) -> Object:
    """A charge that is to be decided: `status` is pending."""
    type_ = method["type"]
    shown = {**method[type_]}
    return {
        "id": id_,
        "object": "charge",
        "amount": intent["amount"],
        "amount_captured": 0,
        "amount_refunded": 0,
        "application": None,
        "application_fee": None,
        "application_fee_amount": None,
        "balance_transaction": None,
        "billing_details": method["billing_details"],
        "calculated_statement_descriptor": intent["statement_descriptor"] or "KNOWNSTATE",
        "captured": False,
        "created": created,
        "currency": intent["currency"],
        "customer": intent["customer"],
        "description": intent["description"],
        "disputed": False,
        "failure_balance_transaction": None,
        "failure_code": None,
        "failure_message": None,
        "fraud_details": {},
        "livemode": False,
        "metadata": intent["metadata"],
        "on_behalf_of": None,
        "outcome": None,
        "paid": False,
        "payment_intent": intent["id"],
        "payment_method": method["id"],
        "payment_method_details": {"type": type_, type_: shown},
        "receipt_email": intent["receipt_email"],
        "receipt_number": None,
        "receipt_url": None,
        "refunded": False,
        "review": None,
        "shipping": intent["shipping"],
        "source": None,
        "source_transfer": None,
        "statement_descriptor": intent["statement_descriptor"],
        "statement_descriptor_suffix": intent["statement_descriptor_suffix"],
        "status": "pending",
        "transfer_data": None,
        "transfer_group": intent["transfer_group"],
    }


def outcome(network_status: str, reason: str | None, message: str, type_: str) -> Object:
    """How a charge was decided."""
    return {
        "advice_code": None,
        "network_advice_code": None,
        "network_decline_code": None,
        "network_status": network_status,
        "reason": reason,
        "risk_level": "normal",
        "risk_score": 0,
        "seller_message": message,
        "type": type_,
    }


def refund(id_: str, created: int, amount: int, charged: Object, params: Mapping[str, Any]) -> Object:
    return {
        "id": id_,
        "object": "refund",
        "amount": amount,
        "balance_transaction": None,
        "charge": charged["id"],
        "created": created,
        "currency": charged["currency"],
        "destination_details": {"type": charged["payment_method_details"]["type"]},
        "metadata": params.get("metadata", {}),
        "payment_intent": charged["payment_intent"],
        "reason": params.get("reason"),
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "succeeded",
        "transfer_reversal": None,
    }


def event(id_: str, created: int, type_: str, object_: Object, request: Mapping[str, str | None]) -> Object:
    return {
        "id": id_,
        "object": "event",
        "api_version": API_VERSION,
        "created": created,
        "data": {"object": object_},
        "livemode": False,
        "pending_webhooks": 0,
        "request": request,
        "type": type_,
    }


def webhook_endpoint(id_: str, created: int, params: Mapping[str, Any]) -> Object:
    return {
        "id": id_,
        "object": "webhook_endpoint",
        "api_version": params.get("api_version"),
        "application": None,
        "created": created,
        "description": params.get("description"),
        "enabled_events": params["enabled_events"],
        "livemode": False,
        "metadata": params.get("metadata", {}),
        "status": "enabled",
        "url": params["url"],
    }


def listing(url: str, data: list[Object], has_more: bool) -> Object:
    return {"object": "list", "url": url, "has_more": has_more, "data": data}
