"""Hosted zones over REST-XML.

    POST   /2013-04-01/hostedzone                 CreateHostedZone: 201
    GET    /2013-04-01/hostedzone, -sbyname       ListHostedZones, ListHostedZonesByName
    GET    /2013-04-01/hostedzone/{id}            GetHostedZone
    DELETE /2013-04-01/hostedzone/{id}            DeleteHostedZone
    POST   /2013-04-01/hostedzone/{id}/rrset/     ChangeResourceRecordSets
    GET    /2013-04-01/hostedzone/{id}/rrset      ListResourceRecordSets
    GET    /2013-04-01/change/{id}                GetChange

While a change of a zone is on its way another one is answered `PriorRequestNotComplete`, which clients repeat.
Never here: what a batch does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from fakes.cloud import rest
from fakes.cloud.account import said_in, zone_key
from fakes.cloud.names import normal, shown_type, sort_key
from fakes.cloud.seat import Seat, answered
from fakes.cloud.words import ZONES_NAMESPACE, ZONES_PREFIX
from fakes.cloud.xml import Many, Value, document
from fakes.cloud.zones import Key, Wanted, Zone, Zones
from fakes.wire.desk import Call
from fakes.wire.http import call_of
from harness.model.errors import ProviderFailure

T = TypeVar("T")
ZONES_LISTED_MAX = 100


class Route53:
    """The actions. `expect(id)` is called for every new change. `batches`: call on its way -> what it wants."""

    def __init__(self, seat: Seat, zones: Zones, expect: Callable[[str], None]) -> None:
        self._seat = seat
        self._zones = zones
        self._expect = expect
        self._busy: set[str] = set()
        self.batches: dict[str, list[Wanted]] = {}

    async def create_zone(self, http: HttpRequest, body: bytes) -> Response:
        """POST hostedzone."""
        wanted, call = rest.read_zone(body), call_of(http)
        said = said_in(wanted.comment)
        call.about(
            what="zone.create",
            target=said.get("target") or wanted.name.removesuffix("."),
            operation=said.get("operation", ""),
            key=self._seat.claimed(zone_key(wanted.caller_reference)),
        )
        zone, change = await self._treat(call, lambda: self._zones.create(call.number, *wanted))
        said_of = {**self._zone_said(zone), "ChangeInfo": self._change_said(change), "DelegationSet": rest.delegation()}
        location = f"https://route53.amazonaws.com{ZONES_PREFIX}hostedzone/{zone.id}"
        return self._answered(call, "CreateHostedZoneResponse", said_of, 201, location)

    async def delete_zone(self, http: HttpRequest, body: bytes) -> Response:
        """DELETE hostedzone/{id}."""
        call, id_ = call_of(http), http.path_params["id"]
        name = self._zones.zone(id_).name
        call.about(what="zone.delete", target=name.removesuffix("."))
        with self._claimed(id_):
            _, change = await self._treat(call, lambda: (None, self._zones.delete(call.number, id_)))
        return self._answered(call, "DeleteHostedZoneResponse", {"ChangeInfo": self._change_said(change)})

    async def change_records(self, http: HttpRequest, body: bytes) -> Response:
        """POST hostedzone/{id}/rrset/."""
        call, id_ = call_of(http), http.path_params["id"]
        batch, comment = rest.read_batch(id_, body)
        self._zones.zone(id_)
        said, first = said_in(comment), batch[0].key
        target = said.get("target") or f"{first.name.removesuffix('.')} {shown_type(first)}"
        call.about(what="record-set.change", target=target, operation=said.get("operation", ""))

        def execute() -> tuple[None, str]:
            return None, self._zones.apply(call.number, id_, batch, comment)

        self.batches[call.number] = batch
        try:
            with self._claimed(id_):
                _, change = await self._treat(call, execute)
        finally:
            del self.batches[call.number]
        return self._answered(call, "ChangeResourceRecordSetsResponse", {"ChangeInfo": self._change_said(change)})

    async def _treat(self, call: Call, execute: Callable[[], tuple[T, str]]) -> tuple[T, str]:
        def executing() -> tuple[T, str]:
            result, change = execute()
            self._expect(change)
            return result, change

        return await self._seat.desk.treat(call, executing)

    @contextmanager
    def _claimed(self, zone_id: str) -> Iterator[None]:
        if zone_id in self._busy:
            raise ProviderFailure("key-in-use")
        self._busy.add(zone_id)
        try:
            yield
        finally:
            self._busy.discard(zone_id)

    # Looks.

    async def get_change(self, http: HttpRequest, body: bytes) -> Response:
        """GET change/{id}."""
        call, id_ = call_of(http), http.path_params["id"]
        at_ns = await self._seat.moment(call, "change", id_)
        shown = rest.change_info(self._zones.change(id_, at_ns))
        return self._answered(call, "GetChangeResponse", {"ChangeInfo": shown})

    async def get_zone(self, http: HttpRequest, body: bytes) -> Response:
        """GET hostedzone/{id}."""
        call, id_ = call_of(http), http.path_params["id"]
        at_ns = await self._seat.moment(call, "zone", id_)
        said = {**self._zone_said(self._zones.zone(id_, at_ns)), "DelegationSet": rest.delegation()}
        return self._answered(call, "GetHostedZoneResponse", said)

    async def list_zones(self, http: HttpRequest, body: bytes) -> Response:
        """GET hostedzone."""
        call, marker = call_of(http), http.query_params.get("marker", "")
        size = _size(http, ZONES_LISTED_MAX)
        zones = self._zones.zones(await self._seat.moment(call, "zones"))
        ids = [zone.id for zone in zones]
        start = ids.index(marker) if marker in ids else 0
        said: dict[str, Value] = {"HostedZones": _shown(zones[start : start + size])}
        if marker:
            said["Marker"] = marker
        is_cut = len(zones) > start + size
        said |= {"IsTruncated": is_cut, "MaxItems": size}
        if is_cut:
            said["NextMarker"] = ids[start + size]
        return self._answered(call, "ListHostedZonesResponse", said)

    async def list_zones_by_name(self, http: HttpRequest, body: bytes) -> Response:
        """GET hostedzonesbyname."""
        call, size = call_of(http), _size(http, ZONES_LISTED_MAX)
        asked, from_id = http.query_params.get("dnsname", ""), http.query_params.get("hostedzoneid", "")
        start = (_labels(normal(asked)), from_id) if asked else ([], "")
        zones = sorted(
            self._zones.zones(await self._seat.moment(call, "zones")), key=lambda zone: (_labels(zone.name), zone.id)
        )
        found = [zone for zone in zones if (_labels(zone.name), zone.id) >= start]
        said: dict[str, Value] = {"HostedZones": _shown(found[:size])}
        if asked:
            said["DNSName"] = asked
        said |= {"IsTruncated": len(found) > size, "MaxItems": size}
        if len(found) > size:
            said |= {"NextDNSName": found[size].name, "NextHostedZoneId": found[size].id}
        return self._answered(call, "ListHostedZonesByNameResponse", said)

    async def list_records(self, http: HttpRequest, body: bytes) -> Response:
        """GET hostedzone/{id}/rrset."""
        call, id_, asked = call_of(http), http.path_params["id"], http.query_params
        size = _size(http, rest.LISTED_MAX)
        name, type_, set_ = asked.get("name", ""), asked.get("type", ""), asked.get("identifier", "")
        if (type_ and not name) or (set_ and not type_):
            raise rest.invalid("A type is given with a name, and an identifier with both")
        start = Key(id_, normal(name), type_, set_) if name else None
        at_ns = await self._seat.moment(call, "records", name)
        self._zones.zone(id_, at_ns)
        records = self._zones.records(id_, at_ns)
        found = [each for each in records if start is None or sort_key(each[0]) >= sort_key(start)]
        said: dict[str, Value] = {"ResourceRecordSets": rest.records_shown(found[:size])}
        said |= {"IsTruncated": len(found) > size, "MaxItems": size}
        if len(found) > size:
            following = found[size][0]
            said |= {"NextRecordName": following.name, "NextRecordType": following.type}
            if following.set:
                said["NextRecordIdentifier"] = following.set
        return self._answered(call, "ListResourceRecordSetsResponse", said)

    # Wording.

    def _zone_said(self, zone: Zone) -> dict[str, Value]:
        return {"HostedZone": rest.zone_shown(zone)}

    def _change_said(self, id_: str) -> Value:
        return rest.change_info(self._zones.change(id_))

    def _answered(
        self, call: Call, root: str, said: dict[str, Value], status: int = 200, location: str = ""
    ) -> Response:
        return answered(call, lambda id_: document(root, ZONES_NAMESPACE, said), status, location)


def _shown(zones: list[Zone]) -> Many:
    return Many("HostedZone", [rest.zone_shown(zone) for zone in zones])


def _size(http: HttpRequest, most: int) -> int:
    text = http.query_params.get("maxitems", str(most))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise rest.invalid("MaxItems is a positive whole number")
    return min(int(text), most)


def _labels(name: str) -> list[str]:
    return name.removesuffix(".").split(".")[::-1]
