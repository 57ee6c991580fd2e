"""The shipping service over HTTP, in JSON.

    POST /labels                    {"service", "reference"?, "from"?, "to"?, "parcel"?}, Idempotency-Key: 201, or
                                    202 with a `poll_url` if the option `purchase` is `accepted`
    GET  /labels?reference=, /labels/{id}, /purchases/{id}, /balance
    POST /labels/{id}/void          202: a refund is submitted; 200: not applicable
    POST /test/scans                {"label", "status"}: play the carrier

Authorization: `Bearer KEY` or `ShippoToken KEY`. Target of an effect: the `reference`, or the label's id if there is
none. Its operation: the header `X-Operation`, or "". SETTLE is crossed when a purchase or a refund settles; `fail`
there makes the purchase `failed`, the refund `rejected`. Of the cell, `key` speaks of the keys and `lookup` of every
GET (`absent`: 405). The rules are in `labels.py`.
Never here: a rule, and rates.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.shipment.labels import BUY, OPEN, PURCHASED, TRACKING, VOID, Labels, View
from fakes.wire.desk import Desk
from fakes.wire.fake import Options, Place, Sockets
from fakes.wire.http import call_of
from fakes.wire.journal_file import Document
from fakes.wire.json_api import Body, JsonFake, Refused, change_of, invalid, json_application, missing, read_body
from fakes.wire.outbox import Outbox, Receiver
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.boundary import Purpose
from harness.model.cell import READ_LAG_NS, SECOND_NS, Lookup
from harness.model.wire import Request

LISTED_MAX = 500
NS_MAX = 10**18
SCHEMES = ("bearer", "shippotoken")

Text = Annotated[str, Field(max_length=200)]
Fields = Annotated[dict[Text, Text], Field(max_length=30)]


class ShipmentOptions(Options):
    """What can be configured."""

    api_key: str = "shippo_test_fake_0000000000000000"
    """What callers must present; "": nothing."""
    prices: Mapping[str, Annotated[int, Field(ge=0, le=1_000_000)]] = {
        "standard": 750,
        "express": 1890,
        "carrier-paid": 0,
    }
    """Service -> what its label costs, in minor units."""
    funds: int = Field(1_000_000, ge=0, le=10**12)
    """What can be spent."""
    is_key_required: bool = True
    """Is a purchase without Idempotency-Key refused?"""
    purchase: Literal["at-once", "accepted"] = "at-once"
    purchase_settles_ns: int = Field(5 * SECOND_NS, ge=0, le=NS_MAX)
    void_settles_ns: int = Field(24 * 3600 * SECOND_NS, ge=0, le=NS_MAX)
    early_void_ns: int = Field(0, ge=0, le=NS_MAX)
    """For so long after its purchase the refund of a label is wrongly rejected."""
    subscribers: tuple[Receiver, ...] = ()
    """Addresses that events are posted to."""


class LabelBody(Body):
    """POST /labels."""

    service: Text
    reference: Text = ""
    from_: Fields = Field({}, alias="from")
    to: Fields = {}
    parcel: Fields = {}


class ScanBody(Body):
    """POST /test/scans."""

    label: Text
    status: Text = "in_transit"


class ShipmentFake(JsonFake):
    """The shipping service, hosted."""

    name: ClassVar[str] = "shipment"
    title: ClassVar[str] = "Shipping service: labels, refunds and tracking, JSON over HTTP"
    options_class: ClassVar[type[Options]] = ShipmentOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "scan": "The carrier scans the label.",
        "void": "Somebody else has the label refunded, at once.",
    }
    options: ShipmentOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        shelf = Shelf()
        cell, now = options.provider_cell, desk.clock.now_ns
        self.labels = Labels(cell, now=now, record=desk.record, later=lambda delay_ns, action: None)
        self.labels.shelf, self.labels.funds = shelf, self.options.funds
        self.labels.early_ns = self.options.early_void_ns
        self.outbox = Outbox(desk, shelf, self.options.subscribers)
        self._shelf = shelf
        self._about: dict[str, str] = {}
        """Call on its way -> the label it is about: what a competitor acts on."""
        self.state = _ShipmentState(self.labels, shelf, self._take_up)

    async def serve(self, sockets: Mapping[str, Sockets]) -> None:
        await super().serve(sockets)
        self.outbox.open()

    async def close(self) -> None:
        await self.outbox.close()
        await super().close()

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url, key = places[self.port].url, self.options.api_key
        return {"url": url, "api_key": key, "env": {"SHIPMENT_API_BASE": url, "SHIPMENT_API_KEY": key}}

    def view(self) -> Any:
        return {
            "labels": list(self.labels.views()),
            "balance": self.labels.balance(),
            "events": self.outbox.events(),
        }

    def application(self) -> Starlette:
        return json_application(
            [
                Route("/labels", self._list, methods=["GET"]),
                Route("/labels", self._buy, methods=["POST"]),
                Route("/labels/{id}", self._read, methods=["GET"]),
                Route("/labels/{id}/void", self._void, methods=["POST"]),
                Route("/purchases/{id}", self._poll, methods=["GET"]),
                Route("/balance", self._balance, methods=["GET"]),
                Route("/test/scans", self._scan, methods=["POST"]),
            ]
        )

    # Changes.

    async def _buy(self, http: HttpRequest) -> JSONResponse:
        self._check_sender(http)
        said, change = await read_body(LabelBody, http), change_of(http)
        if self.options.is_key_required and not change.key:
            raise Refused(400, "key-required", "a purchase needs the header Idempotency-Key")
        price = self.options.prices.get(said.service)
        if price is None:
            raise invalid(f"service is one of {', '.join(self.options.prices)}")
        digest = blake2b(said.model_dump_json().encode(), digest_size=16).hexdigest()
        params: dict[str, str | int] = {"service": said.service, "amount": price, "body": digest}
        wanted = Request(self.name, BUY, Purpose.EFFECT, change.operation, said.reference, params, *change[1:])
        call = call_of(http).about(what=BUY, target=said.reference, operation=change.operation, key=change.key)
        is_replay = self.labels.has_answer_to(wanted)
        sheet = {"service": said.service, "amount": price, "from": said.from_, "to": said.to, "parcel": said.parcel}
        return await self.desk.treat(call, lambda: self._bought(call.number, wanted, sheet), is_replay=is_replay)

    def _bought(self, call: str, wanted: Request, sheet: Mapping[str, Any]) -> JSONResponse:
        settles_ns = None if self.options.purchase == "at-once" else self.options.purchase_settles_ns
        reply, label = self.labels.buy(call, wanted, sheet, settles_ns=settles_ns)
        if not reply.replayed:
            self._settle_later(reply.reference)
            if settles_ns is None:
                self._tell("label.purchased", label)
        view = self._shown(label)
        headers = {"Idempotent-Replayed": "true"} if reply.replayed else None
        if settles_ns is None:
            return JSONResponse(view, 201, headers)
        return JSONResponse(_purchase(view), 202, headers)

    async def _void(self, http: HttpRequest) -> JSONResponse:
        self._check_sender(http)
        label, change = http.path_params["id"], change_of(http)
        target = self.labels.target_of(label)
        wanted = Request(self.name, VOID, Purpose.UNDO, change.operation, target, {"reference": label}, *change[1:])
        call = call_of(http).about(what=VOID, target=target, operation=change.operation, key=change.key)
        is_replay = self.labels.has_answer_to(wanted)
        self._about[call.number] = label
        try:
            return await self.desk.treat(call, lambda: self._voided(call.number, label, wanted), is_replay=is_replay)
        finally:
            del self._about[call.number]

    def _voided(self, call: str, label: str, wanted: Request) -> JSONResponse:
        if self.labels.waive(label):
            return JSONResponse(self._shown(label))
        reply = self.labels.void(call, label, wanted, settles_ns=self.options.void_settles_ns)
        if not reply.replayed:
            self._settle_later(reply.reference)
        headers = {"Idempotent-Replayed": "true"} if reply.replayed else None
        return JSONResponse(self._shown(label), 202, headers)

    async def _scan(self, http: HttpRequest) -> JSONResponse:
        """For tests of callers: the carrier is played by them."""
        self._check_sender(http)
        said = await read_body(ScanBody, http)
        if said.status not in TRACKING:
            raise invalid(f"status is one of {', '.join(TRACKING)}")
        target = self.labels.target_of(said.label)
        call = call_of(http).about(what="scan", target=target)
        await self.desk.treat(call, lambda: self._track(said.label, said.status))
        return JSONResponse(self._shown(said.label))

    def _track(self, label: str, status: str) -> None:
        self.labels.track(label, status)
        self._tell("tracking.updated", label)

    def _check_sender(self, http: HttpRequest) -> None:
        scheme, _, given = http.headers.get("authorization", "").partition(" ")
        wanted = self.options.api_key
        is_known = scheme.lower() in SCHEMES and hmac.compare_digest(given.strip().encode(), wanted.encode())
        if wanted and not is_known:
            raise Refused(401, "unauthorized", "send Authorization: Bearer KEY with the key of this service")

    # Looks.

    async def _list(self, http: HttpRequest) -> JSONResponse:
        reference = http.query_params.get("reference")
        at_ns = await self._moment(http, "labels", reference or "")
        found = list(self.labels.views(at_ns, reference))
        return JSONResponse({"labels": found[:LISTED_MAX], "has_more": len(found) > LISTED_MAX})

    async def _read(self, http: HttpRequest) -> JSONResponse:
        return JSONResponse(await self._seen(http))

    async def _poll(self, http: HttpRequest) -> JSONResponse:
        return JSONResponse(_purchase(await self._seen(http)))

    async def _seen(self, http: HttpRequest) -> View:
        id_ = http.path_params["id"]
        view = self.labels.view(id_, await self._moment(http, "label", id_))
        if view is None:
            raise missing("label", id_)
        return view

    async def _balance(self, http: HttpRequest) -> JSONResponse:
        return JSONResponse(self.labels.balance(await self._moment(http, "balance")))

    async def _moment(self, http: HttpRequest, what: str, target: str = "") -> int:
        """Cross the look's points; the moment whose world it sees. Raises Refused where this cell has no look-ups."""
        self._check_sender(http)
        stale_ns = await self.desk.read(call_of(http).about(what=what, target=target))
        lookup = self.labels.cell.lookup
        if lookup is Lookup.ABSENT:
            raise Refused(405, "method-not-allowed", "this service has no look-ups")
        return self.desk.clock.now_ns() - max(stale_ns, READ_LAG_NS if lookup is Lookup.EVENTUAL else 0)

    def _shown(self, label: str) -> View:
        view = self.labels.view(label)
        assert view is not None, f"label {label} is asked for after it was found"
        return view

    # Time, others, and events.

    def _take_up(self) -> None:
        for reference in self._shelf.all(OPEN):
            self._settle_later(reference)
        self.outbox.resume()

    def _settle_later(self, reference: str) -> None:
        """Set the timer of what is open under this reference, if anything is."""
        opened, row = self._shelf.get(OPEN, reference), self.labels.row(reference)
        if opened is None:
            return
        facts = Facts(opened["call"], "settle", row.action, row.target, row.operation, opened["key"])
        delay_ns = opened["due_ns"] - self.desk.clock.now_ns()
        self.desk.settle_later(delay_ns, facts, lambda is_done: self._settle(reference, opened, is_done))

    def _settle(self, reference: str, opened: Mapping[str, Any], is_done: bool) -> None:
        if self._shelf.get(OPEN, reference) != opened:
            return  # A timer of a past that a restore took back.
        self.desk.current = opened["call"]
        try:
            self._settled(reference, self.labels.settle(reference, is_done))
        finally:
            self.desk.current = ""

    def _settled(self, reference: str, label: str) -> None:
        view = self._shown(label)
        if label == reference:
            self._tell("label.purchased" if view["status"] == PURCHASED else "label.failed", label)
            return
        about = {"label": label, "target": view["reference"]}
        self.desk.note(f"refund-{view['refund_status']}", self.desk.current, about)
        self._tell("refund.updated", label)

    def _tell(self, kind: str, label: str) -> None:
        view = self._shown(label)
        facts = Facts(call=self.desk.current, target=view["reference"], operation=view["operation"])
        self.outbox.put(kind, facts, {"label": view})

    def compete(self, what: str, facts: Facts) -> None:
        if what not in self.competitors:
            super().compete(what, facts)
        label = self._about.get(facts.call) or self._label_at(facts)
        if what == "scan":
            self._track(label, "in_transit")
            return
        self.labels.void_outside(label)

    def _label_at(self, facts: Facts) -> str:
        """What a settling is about, or the oldest label at the target that could be acted on."""
        for reference, opened in self._shelf.all(OPEN).items():
            row = self.labels.row(reference)
            if opened["call"] == facts.call and row.action == VOID:
                return str(dict(row.params)["reference"])
        for view in self.labels.views(reference=facts.target):
            if view["status"] == PURCHASED and self.labels.scanned_ns(view["id"]) is None:
                return str(view["id"])
        raise LookupError(f"no label at {facts.target!r} can be acted on")


class _ShipmentState(ProviderState):
    """Rows, sheets and events; after a restart, what is open settles, and what is queued is delivered."""

    def __init__(self, labels: Labels, shelf: Shelf, take_up: Callable[[], None]) -> None:
        super().__init__(labels, shelf, count=labels.count)
        self._take_up = take_up

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        super().load(documents)
        self._take_up()


def _purchase(view: View) -> dict[str, Any]:
    label = view if view["status"] != "queued" else None
    return {"id": view["id"], "status": view["status"], "poll_url": f"/purchases/{view['id']}", "label": label}
