"""Questions: retrieve, list with paging and filters, search, and expansion. All of a view at a horizon.

Lists show what is there at once (in an account whose look-ups are authoritative); a search shows it only after its lag.
Never here: changing anything.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from fakes.payment import shapes
from fakes.payment.parameters import Params, within
from fakes.payment.records import Object, Records, kind_of
from fakes.payment.refusals import SHOWN_MAX, missing, wrong

LIMIT_DEFAULT = 10
LIMIT_MAX = 100
EXPAND_DEPTH_MAX = 4
QUERY_LENGTH_MAX = 1000
CLAUSES_MAX = 10
EXACT = ("customer", "charge", "payment_intent", "transfer_group", "type", "email")
"""Filters that ask for exactly this value."""

EXPANDS: Mapping[str, Mapping[str, str]] = {
    "payment_intent": {"latest_charge": "charge", "customer": "customer", "payment_method": "payment_method"},
    "charge": {
        "customer": "customer",
        "payment_intent": "payment_intent",
        "refunds": "refund",
        "balance_transaction": "",
    },
    "refund": {"charge": "charge", "payment_intent": "payment_intent", "balance_transaction": ""},
    "payment_method": {"customer": "customer"},
    "customer": {"default_source": "", "invoice_settings.default_payment_method": "payment_method"},
}
"""Kind -> property -> the kind it is expanded to, "" for what is null here."""


class View(NamedTuple):
    """The objects as they were at the horizon; None: as they are."""

    records: Records
    horizon_ns: int | None

    def get(self, kind: str, id_: str) -> Object | None:
        return self.records.get(kind, id_, self.horizon_ns)

    def all(self, kind: str) -> Iterator[Object]:
        return self.records.newest_first(kind, self.horizon_ns)


def retrieve(view: View, kind: str, id_: str) -> Object:
    """One object. Raises StripeRefusal."""
    found = view.get(kind, id_)
    if found is None or ("deleted" in found and kind != "customer"):
        raise missing(kind, id_)
    return found


# Lists.


def listed(view: View, kind: str, url: str, params: Params) -> Object:
    """One page, newest first. Raises StripeRefusal for a cursor that is no such object."""
    limit: int = params.get("limit", LIMIT_DEFAULT)
    fitting = (object_ for object_ in view.all(kind) if _fits(object_, params))
    if cursor := params.get("ending_before"):
        return _page_before(view, fitting, kind, url, cursor, limit)
    if cursor := params.get("starting_after"):
        _check_cursor(view, kind, cursor, "starting_after")
        after = _number(cursor)
        fitting = (object_ for object_ in fitting if _number(object_["id"]) < after)
    page = list(islice(fitting, limit + 1))
    return shapes.listing(url, page[:limit], len(page) > limit)


def _page_before(view: View, fitting: Iterator[Object], kind: str, url: str, cursor: str, limit: int) -> Object:
    _check_cursor(view, kind, cursor, "ending_before")
    before = _number(cursor)
    newer: deque[Object] = deque(maxlen=limit + 1)
    for object_ in fitting:
        if _number(object_["id"]) <= before:
            break
        newer.append(object_)
    page = list(newer)
    return shapes.listing(url, page[-limit:], len(page) > limit)


def _check_cursor(view: View, kind: str, cursor: str, param: str) -> None:
    if kind_of(cursor) != kind or view.get(kind, cursor) is None:
        raise missing(kind, cursor, param)


def _number(id_: str) -> int:
    """An object's place among those of its kind: ids are numbered."""
    return int(id_.rpartition("_")[2])


def _fits(object_: Object, params: Params) -> bool:
    if "deleted" in object_:
        return False
    if any(object_.get(name) != params[name] for name in EXACT if name in params):
        return False
    if "types" in params and object_["type"] not in params["types"]:
        return False
    return within(object_["created"], params.get("created"))


# Search.

Test = Callable[[Object], bool]

_CLAUSE = re.compile(
    r"""\s*(?P<not>-)?(?P<field>[a-z_]+)(?:\[(?P<quote>["'])(?P<name>[^"']{1,40})(?P=quote)\])?\s*"""
    r"""(?P<sign>>=|<=|[:~><])\s*(?P<value>null|\d{1,15}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*"""
)
_JOIN = re.compile(r"(?i:AND|OR)(?=\s)|")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "payment_intent": ("amount", "created", "currency", "customer", "metadata", "status"),
    "charge": ("amount", "created", "currency", "customer", "metadata", "refunded", "status"),
    "customer": ("created", "email", "metadata", "name", "phone"),
}
NUMBERS = ("amount", "created")


def found(view: View, kind: str, url: str, params: Params) -> Object:
    """One page of a search. Raises StripeRefusal for a query that cannot be read."""
    test = query(kind, params["query"])
    limit: int = params.get("limit", LIMIT_DEFAULT)
    page: str = params.get("page") or "0"
    if not (page.isascii() and page.isdigit() and len(page) < 10):
        raise wrong("page", "This is not a page that a search has named.")
    fitting = (object_ for object_ in view.all(kind) if "deleted" not in object_ and test(object_))
    data = list(islice(fitting, int(page), int(page) + limit + 1))
    has_more = len(data) > limit
    shown = shapes.listing(url, data[:limit], has_more)
    return {**shown, "object": "search_result", "next_page": str(int(page) + limit) if has_more else None}


def query(kind: str, text: str) -> Test:
    """A query as a test of objects: clauses joined by AND, or by OR, not both. Raises StripeRefusal."""
    if len(text) > QUERY_LENGTH_MAX:
        raise wrong("query", f"A query has at most {QUERY_LENGTH_MAX} characters.")
    tests: list[Test] = []
    joins: set[str] = set()
    place = 0
    while place < len(text) or not tests:
        clause = _CLAUSE.match(text, place)
        if clause is None or len(tests) >= CLAUSES_MAX:
            raise wrong("query", f"The query cannot be understood near {text[place : place + 20]!r}.")
        tests.append(_test(kind, clause))
        place = clause.end()
        if place < len(text):
            join = _JOIN.match(text, place)
            joins.add(join[0].upper() if join else "")
            place = join.end() if join else place
    if len(joins - {""}) > 1:
        raise wrong("query", "A query joins its clauses by AND or by OR, not by both.")
    return _joined(any if "OR" in joins else all, tests)


def _joined(how: Callable[[Any], bool], tests: list[Test]) -> Test:
    return lambda object_: how(test(object_) for test in tests)


def _test(kind: str, clause: re.Match[str]) -> Test:
    field, name, sign, given = clause["field"], clause["name"], clause["sign"], clause["value"]
    if field not in FIELDS[kind] or (field == "metadata") != (name is not None):
        raise wrong("query", f"{field[:SHOWN_MAX]} cannot be searched for; what can: {', '.join(FIELDS[kind])}.")
    value: Any = None if given == "null" else given
    if value is not None and value[0] in "'\"":
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
    if field in NUMBERS:
        if not str(value).isdigit():
            raise wrong("query", f"{field} is compared with a whole number.")
        value = int(value)
    elif sign not in ":~" or (value is None and sign == "~"):
        raise wrong("query", f"{field} cannot be compared so.")
    compare = _COMPARE[sign]
    is_negated = clause["not"] is not None

    def test(object_: Object) -> bool:
        has = object_[field].get(name) if field == "metadata" else object_[field]
        has = str(has).lower() if isinstance(has, bool) else has
        return compare(has, value) != is_negated

    return test


_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ":": lambda has, value: has == value or (isinstance(has, str) and has.lower() == str(value).lower()),
    "~": lambda has, value: has is not None and str(value).lower() in str(has).lower(),
    ">": lambda has, value: has > value,
    "<": lambda has, value: has < value,
    ">=": lambda has, value: has >= value,
    "<=": lambda has, value: has <= value,
}


# Expansion.


def check_expansion(kind: str, paths: list[str], is_list: bool) -> None:
    """Can all of these be expanded? Raises StripeRefusal."""
    for path in paths:
        parts = path.split(".")
        if is_list and parts[0] == "data":
            parts = parts[1:]
        if len(parts) > EXPAND_DEPTH_MAX:
            raise wrong("expand", f"At most {EXPAND_DEPTH_MAX} levels can be expanded.")
        here = kind
        while parts:
            name, parts = _first(here, parts)
            if name not in EXPANDS.get(here, {}):
                raise wrong("expand", f"This property cannot be expanded ({path[:SHOWN_MAX]}).")
            here = EXPANDS[here][name]


def _first(kind: str, parts: list[str]) -> tuple[str, list[str]]:
    """The property a path begins with: most have one part."""
    joined = ".".join(parts[:2])
    return (joined, parts[2:]) if joined in EXPANDS.get(kind, {}) else (parts[0], parts[1:])


def expanded(view: View, object_: Object, paths: list[str]) -> Object:
    """The object with what these paths lead to, instead of its ids."""
    for path in paths:
        object_ = _expand(view, object_, path.split("."))
    return object_


def _expand(view: View, object_: Object, parts: list[str]) -> Object:
    if not parts:
        return object_
    name, rest = parts[0], parts[1:]
    if object_.get("object") == "charge" and name == "refunds":
        refunds = [each for each in view.all("refund") if each["charge"] == object_["id"]]
        return {**object_, name: shapes.listing(f"/v1/charges/{object_['id']}/refunds", refunds, False)}
    value = object_.get(name)
    if name == "data" and isinstance(value, list):
        return {**object_, name: [_expand(view, each, rest) for each in value]}
    if isinstance(value, str):
        value = view.get(kind_of(value), value) or value
    return {**object_, name: _expand(view, value, rest)} if isinstance(value, dict) else object_
