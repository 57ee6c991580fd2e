"""Routes that read: one object, a list of them by pages, and the beginning of a watch.

A list is a picture of one version, and its continuation is of the same one, or is refused with 410 once that version
is compacted. A stale read (of the cell, or of a hook) is such a picture of an earlier moment.
Never here: the stream of a watch (`watching.py`), changes.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from fakes.cluster.asking import Resource, is_yes, whole
from fakes.cluster.kinds import Kind, Object
from fakes.cluster.selectors import fields_test, labels_test
from fakes.cluster.statuses import Refused, bad, forbidden, not_found
from fakes.cluster.store import Place, place_of, shown, target_of
from fakes.wire.http import call_of
from harness.model.cell import READ_LAG_NS, Lookup

if TYPE_CHECKING:
    from fakes.cluster.face import ClusterFake

Meant = Callable[[Object], bool]


class Reading:
    """The routes that change nothing."""

    def __init__(self, fake: ClusterFake) -> None:
        self._fake = fake
        self._store = fake.store

    async def get(self, http: HttpRequest, asked: Resource) -> Response:
        """GET an object."""
        kind, place = asked.kind, place_of(asked.kind, asked.namespace, asked.name)
        version = await self._version(http, "get", asked)
        value = (
            self._store.all_at(version, kind).get(place) if version < self._store.version else self._store.get(place)
        )
        if value is None:
            raise not_found(kind, asked.name)
        return self._fake.answer(shown(kind, value))

    async def list(self, http: HttpRequest, asked: Resource) -> Response:
        """GET a collection: as a list, or as a watch."""
        is_meant, query = self.selected(http), http.query_params
        limit, wanted = whole(query, "limit") or 0, whole(query, "resourceVersion")
        token = query.get("continue", "")
        if is_yes(query, "watch"):
            version = await self._version(http, "watch", asked)
            return self._fake.watching.stream(http, asked, is_meant, wanted or 0, version)
        version = await self._version(http, "list", asked)
        start: tuple[str, str] | None = None
        if token:
            version, start = _continued(token)
        elif wanted and query.get("resourceVersionMatch") == "Exact":
            version = wanted
        self._check(max(wanted or 0, version), version)
        found = self._store.all_at(version, asked.kind, asked.namespace)
        left = [(p, v) for p, v in found.items() if (start is None or (p.namespace, p.name) >= start) and is_meant(v)]
        page, rest = (left[:limit], left[limit:]) if limit else (left, [])
        more: dict[str, Any] = {}
        if rest:
            more["continue"] = _token(version, rest[0][0])
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                more["remainingItemCount"] = len(rest)
        return self._fake.answer(self.listed(asked.kind, [value for _, value in page], version, more))

    def listed(
        self, kind: Kind, values: Sequence[Object], version: int, more: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """A list as it is answered."""
        metadata = {"resourceVersion": str(version), **(more or {})}
        return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata, "items": list(values)}

    def selected(self, http: HttpRequest) -> Meant:
        """Which objects the selectors of a request mean. Raises Refused."""
        query = http.query_params
        try:
            by_labels = labels_test(query.get("labelSelector", ""))
        except ValueError as error:
            raise bad(f"unable to parse requirement: {str(error)[:100]!r} is none") from None
        try:
            by_fields = fields_test(query.get("fieldSelector", ""))
        except ValueError as error:
            raise bad(f"field label not supported: {str(error)[:100]}") from None
        return lambda value: by_labels(value["metadata"].get("labels", {})) and by_fields(value["metadata"])

    async def _version(self, http: HttpRequest, verb: str, asked: Resource) -> int:
        """Cross the points of a read; the version it sees. Raises Refused where the cell has no look-ups."""
        target = target_of(asked.kind, asked.namespace, asked.name or "*")
        stale_ns = await self._fake.desk.read(call_of(http).about(what=f"object.{verb}", target=target))
        lookup = self._fake.effects.cell.lookup
        if lookup is Lookup.ABSENT:
            raise forbidden(
                asked.kind, asked.name, f"User {self._fake.user!r} cannot {verb} resource {asked.kind.plural!r}"
            )
        lag_ns = max(stale_ns, READ_LAG_NS if lookup is Lookup.EVENTUAL else 0)
        return self._store.version_at(self._fake.desk.clock.now_ns() - lag_ns) if lag_ns else self._store.version

    def _check(self, least: int, version: int) -> None:
        """Raise Refused unless this version is known, and the least that is asked for has come."""
        if least > self._store.version:
            message = f"Too large resource version: {least}, current: {self._store.version}"
            raise Refused(504, message, details={"retryAfterSeconds": 1})
        if version < self._store.compacted:
            raise Refused(410, "The provided continue parameter is too old to display a consistent list result.")


def _token(version: int, place: Place) -> str:
    return urlsafe_b64encode(orjson.dumps([version, place.namespace, place.name])).decode().rstrip("=")


def _continued(token: str) -> tuple[int, tuple[str, str]]:
    """Version and first object of a continuation. Raises Refused."""
    try:
        version, namespace, name = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, TypeError, binascii.Error):
        raise bad("continue key is not valid") from None
    if not (isinstance(version, int) and isinstance(namespace, str) and isinstance(name, str)):
        raise bad("continue key is not valid")
    return version, (namespace, name)
