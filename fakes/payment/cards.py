"""The test cards: what each does when it is charged, and when it is refunded. Numbers and tokens as published.

Never here: keeping a number. From a number only brand and last digits go on.
Source: docs.stripe.com/testing, as of 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """What comes of a charge."""

    SUCCEEDS = "succeeds"
    DECLINED = "declined"
    ACTS = "acts"
    """The customer has to authenticate first."""
    SETTLES = "settles"
    """Accepted now, succeeds later."""
    BOUNCES = "bounces"
    """Accepted now, fails later."""


class Refunding(StrEnum):
    """What comes of a refund."""

    SUCCEEDS = "succeeds"
    PENDS = "pends"
    """Pending, then succeeded."""
    FAILS_LATER = "fails-later"
    """Succeeded, then failed after all."""


class Instrument(NamedTuple):
    """One test card or account."""

    brand: str
    country: str = "US"
    outcome: Outcome = Outcome.SUCCEEDS
    code: str = ""
    """The error's code when it is declined."""
    decline_code: str = ""
    refunding: Refunding = Refunding.SUCCEEDS


def _declined(code: str, decline_code: str) -> Instrument:
    return Instrument("visa", "US", Outcome.DECLINED, code, decline_code)


_LIVE = _declined("card_declined", "test_mode_live_card")

CARDS: Mapping[str, Instrument] = {
    "4242424242424242": Instrument("visa"),
    "4000056655665556": Instrument("visa"),
    "4000002760003184": Instrument("visa", "DE", Outcome.ACTS),
    "5555555555554444": Instrument("mastercard"),
    "378282246310005": Instrument("amex"),
    "4000000000000002": _declined("card_declined", "generic_decline"),
    "4000000000009995": _declined("card_declined", "insufficient_funds"),
    "4000000000009987": _declined("card_declined", "lost_card"),
    "4000000000009979": _declined("card_declined", "stolen_card"),
    "4000000000000069": _declined("expired_card", "expired_card"),
    "4000000000000127": _declined("incorrect_cvc", "incorrect_cvc"),
    "4000000000000119": _declined("processing_error", "processing_error"),
    "4000000000003220": Instrument("visa", "IE", Outcome.ACTS),
    "4000002500003155": Instrument("visa", "DE", Outcome.ACTS),
    "4000000000007726": Instrument("visa", refunding=Refunding.PENDS),
    "4000000000005126": Instrument("visa", refunding=Refunding.FAILS_LATER),
}

TOKENS: Mapping[str, str] = {
    "pm_card_visa": "4242424242424242",
    "pm_card_visa_debit": "4000056655665556",
    "pm_card_mastercard": "5555555555554444",
    "pm_card_amex": "378282246310005",
    "pm_card_visa_chargeDeclined": "4000000000000002",
    "pm_card_chargeDeclined": "4000000000000002",
    "pm_card_visa_chargeDeclinedInsufficientFunds": "4000000000009995",
    "pm_card_chargeDeclinedInsufficientFunds": "4000000000009995",
    "pm_card_visa_chargeDeclinedLostCard": "4000000000009987",
    "pm_card_visa_chargeDeclinedStolenCard": "4000000000009979",
    "pm_card_chargeDeclinedExpiredCard": "4000000000000069",
    "pm_card_chargeDeclinedIncorrectCvc": "4000000000000127",
    "pm_card_chargeDeclinedProcessingError": "4000000000000119",
    "pm_card_threeDSecure2Required": "4000000000003220",
    "pm_card_authenticationRequired": "4000002500003155",
    "pm_card_pendingRefund": "4000000000007726",
    "pm_card_refundFail": "4000000000005126",
}
CARD_TOKENS: Mapping[str, str] = {
    "tok_visa": "4242424242424242",
    "tok_mastercard": "5555555555554444",
    "tok_amex": "378282246310005",
    "tok_visa_chargeDeclined": "4000000000000002",
    "tok_chargeDeclinedInsufficientFunds": "4000000000009995",
}

IBANS: Mapping[str, Instrument] = {
    "AT611904300234573201": Instrument("sepa_debit", "AT", Outcome.SETTLES),
    "DE89370400440532013000": Instrument("sepa_debit", "DE", Outcome.SETTLES),
    "AT861904300235473202": Instrument("sepa_debit", "AT", Outcome.BOUNCES, "", "insufficient_funds"),
    "DE62370400440532013001": Instrument("sepa_debit", "DE", Outcome.BOUNCES, "", "insufficient_funds"),
}

MESSAGES: Mapping[str, str] = {
    "card_declined": "Your card was declined.",
    "expired_card": "Your card has expired.",
    "incorrect_cvc": "Your card's security code is incorrect.",
    "processing_error": "An error occurred while the card was processed.",
    "authentication_required": "This payment needs the customer's authentication.",
}


def instrument(number: str) -> Instrument | None:
    """The card of this number; None if there can be no such card. Numbers that are no test cards are declined."""
    return CARDS.get(number) or (_LIVE if _is_possible(number) else None)


def _is_possible(number: str) -> bool:
    """Has it the length and the check digit of a card number?"""
    if not (number.isascii() and number.isdigit() and 12 <= len(number) <= 19):
        return False
    doubled = "0246813579"
    digits = [doubled[int(d)] if place % 2 else d for place, d in enumerate(reversed(number))]
    return sum(map(int, digits)) % 10 == 0
