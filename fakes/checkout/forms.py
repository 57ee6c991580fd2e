"""What people send with forms: read, checked, and put into words they can act on.

Test card numbers follow the usual ones: 4242 4242 4242 4242 is accepted, 4000 0000 0000 0002 is refused,
4000 0000 0000 9995 has no money. A card is looked at and forgotten: what leaves `card_outcome` is one of three words.
Never here: a session, an order, a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl

FIELDS_MAX = 60
TEXT_LENGTH_MAX = 100
FORM_TYPE = "application/x-www-form-urlencoded"

ACCEPTED = "accepted"
CARDS: Mapping[str, str] = {
    "4242424242424242": ACCEPTED,
    "5555555555554444": ACCEPTED,
    "4000000000000002": "refused",
    "4000000000009995": "no-money",
}
CARD_WORDS: Mapping[str, str] = {
    "refused": "The bank refused this card. Nothing was ordered. Try another card.",
    "no-money": "There is not enough money behind this card. Nothing was ordered. Try another card.",
}
COUNTRIES: Mapping[str, str] = {
    "AT": "Austria",
    "BE": "Belgium",
    "CH": "Switzerland",
    "DE": "Germany",
    "DK": "Denmark",
    "ES": "Spain",
    "FR": "France",
    "GB": "United Kingdom",
    "IE": "Ireland",
    "IT": "Italy",
    "NL": "Netherlands",
    "SE": "Sweden",
    "US": "United States",
}


class FormUnreadable(Exception):
    """The body is no form; `code` is the status to answer with."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class AddressField(NamedTuple):
    """One field of the address form."""

    name: str
    label: str
    autocomplete: str
    is_required: bool = True


ADDRESS_FIELDS = (
    AddressField("name", "Full name", "name"),
    AddressField("street", "Street and number", "street-address"),
    AddressField("postcode", "Postcode", "postal-code"),
    AddressField("city", "Town or city", "address-level2"),
)
"""Besides these there is `country`, a code of COUNTRIES."""

Address = Mapping[str, str]
Problems = Mapping[str, str]
"""Field -> what is wrong with it and what to do."""


def read_form(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a form; of a field that comes twice the first one counts. Raises FormUnreadable."""
    if content_type.partition(";")[0].strip().lower() not in (FORM_TYPE, ""):
        raise FormUnreadable(415, "This shop reads plain web forms only.")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError:
        raise FormUnreadable(400, "What was sent is not a form.") from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        fields.setdefault(name, value)
    return fields


def problem_of_text(text: str, *, is_required: bool) -> str:
    """What is wrong with one line of text, or ""."""
    if not text.strip():
        return "Please fill this in." if is_required else ""
    if len(text) > TEXT_LENGTH_MAX:
        return f"Please use at most {TEXT_LENGTH_MAX} characters."
    return "" if is_plain(text) else "This contains characters that cannot be used."


def is_plain(text: str) -> bool:
    """Can it be shown and kept: no control characters, and nothing that is half a character?"""
    return all(character.isprintable() for character in text)


def read_address(fields: Mapping[str, str]) -> tuple[Address, Problems]:
    """The address as typed, and what is wrong with it."""
    address = {field.name: fields.get(field.name, "").strip() for field in ADDRESS_FIELDS}
    problems = {
        field.name: problem
        for field in ADDRESS_FIELDS
        if (problem := problem_of_text(address[field.name], is_required=field.is_required))
    }
    address["country"] = fields.get("country", "")
    if address["country"] not in COUNTRIES:
        problems["country"] = "Please choose a country."
    return address, problems


def address_lines(address: Address) -> list[str]:
    """An address as it is written on a parcel."""
    town = f"{address['postcode']} {address['city']}"
    return [address["name"], address["street"], town, COUNTRIES[address["country"]]]


class Payment(NamedTuple):
    """What the payment form said, without the card: what became of it, the marks of the order, and what is wrong."""

    card: str
    reference: str
    operation: str
    problems: Problems


def read_payment(fields: Mapping[str, str], now_month: tuple[int, int]) -> Payment:
    """Read the payment form. `now_month` is (year, month): a card is good to the end of its month."""
    problems: dict[str, str] = {}
    card = card_outcome(fields.get("card", ""))
    if not card:
        problems["card"] = "This is not one of the test card numbers below."
    if not _is_good_until(fields.get("expiry", ""), now_month):
        problems["expiry"] = "Please give a month that is not over yet, as MM/YY."
    if not re.fullmatch(r"[0-9]{3,4}", fields.get("cvc", "").strip()):
        problems["cvc"] = "Please give the three digits on the back."
    marks = {name: fields.get(name, "").strip() for name in ("reference", "operation")}
    for name, text in marks.items():
        if problem := problem_of_text(text, is_required=False):
            problems[name] = problem
    return Payment(card, marks["reference"], marks["operation"], problems)


def card_outcome(number: str) -> str:
    """What this card leads to: a value of CARDS, or "" for a number that is none of them."""
    return CARDS.get(re.sub(r"[ -]", "", number.strip()), "")


def _is_good_until(text: str, now_month: tuple[int, int]) -> bool:
    found = re.fullmatch(r"(0[1-9]|1[0-2]) ?/ ?([0-9]{2})", text.strip())
    return found is not None and (2000 + int(found[2]), int(found[1])) >= now_month
