"""Parameters of a request: a tree from a form becomes typed values by a table, or is refused as the API refuses it.

A table gives each parameter's reader; an unknown name, a wrong type and a missing value are refused before anything is
done, so they are never kept under an idempotency key. Never here: which endpoint takes what (`endpoints.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from fakes.payment.forms import Tree
from fakes.payment.refusals import SHOWN_MAX, StripeRefusal, wrong

Reader: TypeAlias = Callable[[Any, str], Any]
"""(what the tree has, the parameter's name) -> value. Raises StripeRefusal."""
Table: TypeAlias = Mapping[str, Reader]
Params: TypeAlias = dict[str, Any]

TEXT_LENGTH_MAX = 5000
AMOUNT_MAX = 99_999_999
METADATA_MAX = 50
METADATA_NAME_MAX = 40
METADATA_VALUE_MAX = 500
LIST_MAX = 100
EXPAND_MAX = 20
SECONDS_MAX = 1 << 40
_WHOLE = re.compile(r"-?[0-9]{1,18}\Z")


def read(table: Table, tree: Tree, required: Sequence[str] = ()) -> Params:
    """The values of a request. Raises StripeRefusal."""
    params: Params = {}
    for name, given in tree.items():
        reader = table.get(name)
        if reader is None:
            shown = name[:SHOWN_MAX]
            raise wrong(shown, f"Received unknown parameter: {shown}", "parameter_unknown")
        params[name] = reader(given, name)
    for name in required:
        if params.get(name) is None:
            raise wrong(name, f"Missing required param: {name}.", "parameter_missing")
    return params


def text(given: Any, name: str) -> str:
    """Some text, not empty."""
    if not isinstance(given, str):
        raise wrong(name, f"{name} must be a string.")
    if not given:
        raise wrong(name, f"{name} was given as an empty string.", "parameter_invalid_empty")
    if len(given) > TEXT_LENGTH_MAX:
        raise wrong(name, f"{name} has more than {TEXT_LENGTH_MAX} characters.")
    if "\0" in given:
        raise wrong(name, f"{name} has a character that cannot be accepted.")
    return given


def clearable(given: Any, name: str) -> str | None:
    """Some text, or empty to take it away."""
    return None if given == "" else text(given, name)


def _number(given: Any, name: str) -> int:
    if not isinstance(given, str) or not _WHOLE.match(given):
        raise wrong(name, f"{name} must be a whole number.", "parameter_invalid_integer")
    return int(given)


def whole(least: int, most: int) -> Reader:
    """A whole number within these bounds."""

    def read_whole(given: Any, name: str) -> int:
        number = _number(given, name)
        if not least <= number <= most:
            raise wrong(name, f"{name} must be from {least} to {most}.", "parameter_invalid_integer")
        return number

    return read_whole


def amount(given: Any, name: str) -> int:
    """An amount in minor units."""
    number = _number(given, name)
    if number > AMOUNT_MAX:
        raise wrong(name, f"{name} must be at most {AMOUNT_MAX}.", "amount_too_large")
    if number < 1:
        raise wrong(name, f"{name} must be greater than or equal to 1.", "parameter_invalid_integer")
    return number


def flag(given: Any, name: str) -> bool:
    """`true` or `false`."""
    if given not in ("true", "false"):
        raise wrong(name, f"{name} must be true or false.")
    return bool(given == "true")


def flag_or_text(given: Any, name: str) -> bool | str:
    """A flag, or one of the words that stand for more."""
    return flag(given, name) if given in ("true", "false") else text(given, name)


def currency(given: Any, name: str) -> str:
    """Three letters."""
    if not (isinstance(given, str) and len(given) == 3 and given.isascii() and given.isalpha()):
        raise wrong(name, "The currency must be a three-letter ISO code.")
    return given.lower()


def choice(*words: str) -> Reader:
    """One of these words."""

    def read_choice(given: Any, name: str) -> str:
        if given not in words:
            raise wrong(name, f"{name} must be one of {', '.join(words)}.")
        return str(given)

    return read_choice


def metadata(given: Any, name: str) -> dict[str, str]:
    """Names and values; an empty value takes the name away, and an empty string all of them ("" stands for that)."""
    if given == "":
        return {"": ""}
    if not isinstance(given, dict):
        raise wrong(name, f"{name} must be a set of names and values.")
    if len(given) > METADATA_MAX:
        raise wrong(name, f"{name} can have at most {METADATA_MAX} keys.")
    for key, value in given.items():
        if not isinstance(value, str):
            raise wrong(name, f"Values of {name} must be strings.")
        if not 0 < len(key) <= METADATA_NAME_MAX or len(value) > METADATA_VALUE_MAX:
            raise wrong(
                name, f"Keys of {name} have up to {METADATA_NAME_MAX} characters, values up to {METADATA_VALUE_MAX}."
            )
    return dict(given)


def merged(old: Mapping[str, str], new: Mapping[str, str] | None) -> dict[str, str]:
    """Metadata after an update."""
    if new is None:
        return dict(old)
    kept = {} if "" in new else {name: value for name, value in old.items() if new.get(name) != ""}
    return {**kept, **{name: value for name, value in new.items() if name and value}}


def texts(given: Any, name: str) -> list[str]:
    """A list of strings."""
    if not isinstance(given, dict):
        raise wrong(name, f"{name} must be an array.")
    if len(given) > LIST_MAX or not all(place.isdigit() for place in given):
        raise wrong(name, f"{name} must be an array of at most {LIST_MAX}.")
    return [text(value, name) for _, value in sorted(given.items(), key=lambda item: (len(item[0]), item[0]))]


def expansion(given: Any, name: str) -> list[str]:
    """What is to be expanded."""
    wanted = texts(given, name)
    if len(wanted) > EXPAND_MAX:
        raise wrong(name, f"At most {EXPAND_MAX} properties can be expanded.")
    return wanted


def group(table: Table, required: Sequence[str] = ()) -> Reader:
    """Nested parameters."""

    def read_group(given: Any, name: str) -> Params:
        if not isinstance(given, dict):
            raise wrong(name, f"{name} must be a set of parameters.")
        try:
            return read(table, given, required)
        except StripeRefusal as refused:
            first, bracket, rest = (refused.param or "").partition("[")
            inner = f"{name}[{first}]{bracket}{rest}"
            raise wrong(inner, str(refused), refused.code) from None

    return read_group


def anything(given: Any, name: str) -> Any:
    """Accepted and kept as it is: it has no consequence here."""
    return given


def moments(given: Any, name: str) -> dict[str, int]:
    """A moment in seconds, or bounds on it."""
    seconds = whole(0, SECONDS_MAX)
    if isinstance(given, str):
        moment: int = seconds(given, name)
        return {"gte": moment, "lte": moment}
    return dict(group(dict.fromkeys(("gt", "gte", "lt", "lte"), seconds))(given, name))


def within(moment: int, bounds: Mapping[str, int] | None) -> bool:
    """Does a moment fit these bounds?"""
    if not bounds:
        return True
    return (
        moment > bounds.get("gt", -1)
        and moment >= bounds.get("gte", 0)
        and moment < bounds.get("lt", SECONDS_MAX + 1)
        and moment <= bounds.get("lte", SECONDS_MAX)
    )
