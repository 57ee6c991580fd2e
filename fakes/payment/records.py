"""The account's objects, each with the versions it has been through, and the views a caller may have of them.

An object is a JSON value as the API shows it, replaced as a whole and never changed. Its record also keeps the domain's
references to the effects it stands for, and what else the API does not show. A view at a horizon is what stood then.
Never here: what an object means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from fakes.wire.shelf import Shelf

Object: TypeAlias = dict[str, Any]

VERSIONS_MAX = 30
"""How many versions of one object are kept; of older ones no view is left."""
PREFIX: Mapping[str, str] = {
    "customer": "cus",
    "payment_method": "pm",
    "payment_intent": "pi",
    "charge": "ch",
    "refund": "re",
    "event": "evt",
    "webhook_endpoint": "we",
}
KIND_OF: Mapping[str, str] = {prefix: kind for kind, prefix in PREFIX.items()}


def kind_of(id_: str) -> str:
    """The kind of object this id belongs to, or ""."""
    return KIND_OF.get(id_.partition("_")[0], "")


class Records:
    """All objects of an account, on a shelf. The value of a record is `[facts, [moment, object], ...]`."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def new_id(self, kind: str) -> str:
        """The next id of this kind, equal in equal runs."""
        return f"{PREFIX[kind]}_{self.shelf.number(kind):08d}"

    def put(self, object_: Object, now_ns: int, **facts: str | int) -> Object:
        """Add a new version, or a new object; `facts` are added to what is known of it. Returns the object."""
        kind, id_ = object_["object"], object_["id"]
        record = self.shelf.get(kind, id_)
        if record is None:
            self.shelf.put(kind, id_, [facts, [now_ns, object_]])
        else:
            self.shelf.put(kind, id_, [{**record[0], **facts}, *record[1:][1 - VERSIONS_MAX :], [now_ns, object_]])
        return object_

    def facts(self, id_: str) -> Mapping[str, Any]:
        """What is known of an object and not shown."""
        record = self.shelf.get(kind_of(id_), id_)
        facts: Mapping[str, Any] = {} if record is None else record[0]
        return facts

    def get(self, kind: str, id_: str, horizon_ns: int | None = None) -> Object | None:
        """The object as it is, or as it was at the horizon; None if there is none."""
        record = self.shelf.get(kind, id_)
        return None if record is None else _version(record, horizon_ns)

    def newest_first(self, kind: str, horizon_ns: int | None = None) -> Iterator[Object]:
        """All objects of a kind."""
        for record in reversed(self.shelf.all(kind).values()):
            if (object_ := _version(record, horizon_ns)) is not None:
                yield object_


def _version(record: list[Any], horizon_ns: int | None) -> Object | None:
    newest: Object = record[-1][1]
    if horizon_ns is None:
        return newest
    return next((object_ for moment_ns, object_ in reversed(record[1:]) if moment_ns <= horizon_ns), None)
