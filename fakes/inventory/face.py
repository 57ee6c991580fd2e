"""The inventory over HTTP, in JSON.

    GET  /stock, /stock/{sku}                     on_hand, held, available
    PUT  /stock/{sku}                             {"quantity", "compare_quantity" | "ignore_compare": true}
    POST /stock/{sku}/adjust                      {"delta"}: relative, so sent twice it is done twice (without a key)
    POST /reservations                            {"id", "sku", "quantity", "ttl_s"?}: 201, or 200 for the same again
    POST /reservations/batch                      {"reservations": [...], "atomic"?}: an outcome for each
    GET  /reservations?sku=&state=, /reservations/{id}
    POST /reservations/{id}/commit, /release, /restock

Target of an effect: the reservation's id, or the article for `stock.set` and `stock.adjust`. Its operation: the header
`X-Operation`, or "". The rule is in `stock.py`. Of the cell, `key` speaks of the `Idempotency-Key` header, and `lookup`
of every GET (`absent`: 405).
Never here: arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.core.kernel import OUTSIDE
from fakes.core.rows import NEVER
from fakes.inventory.domain import QUANTITY_MAX
from fakes.inventory.stock import EXPIRED, HELD, STATES, Stock
from fakes.wire.desk import Desk
from fakes.wire.fake import Options, Place
from fakes.wire.http import call_of
from fakes.wire.journal_file import Document
from fakes.wire.json_api import (
    Body,
    JsonFake,
    Refused,
    answer_to,
    change_of,
    invalid,
    json_application,
    missing,
    read_body,
)
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState
from harness.model.boundary import Purpose
from harness.model.cell import READ_LAG_NS, Lookup
from harness.model.errors import ProviderFailure
from harness.model.wire import Request

BATCH_MAX = 100
LISTED_MAX = 500
TTL_MAX_S = 10 * 366 * 24 * 3600

Quantity = Annotated[int, Field(ge=1, le=QUANTITY_MAX)]
Level = Annotated[int, Field(ge=0, le=QUANTITY_MAX)]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
Name = Annotated[str, Field(pattern=rf"^{NAME.pattern}$")]

RIVALS = {
    "take": ("reserve", Purpose.EFFECT),
    "commit": ("stock.commit", Purpose.EFFECT),
    "release": ("release", Purpose.UNDO),
}


class InventoryOptions(Options):
    """What can be configured."""

    stock: Mapping[Name, Level] = {"sku-1": 100, "sku-2": 5}
    """The articles there are from the beginning, and how many of each are on hand."""
    ttl_s: int = Field(900, ge=0, le=TTL_MAX_S)
    """How long a reservation lasts that does not say; 0: for ever."""
    sweep_delay_ns: int = Field(0, ge=0, le=10**18)
    """How long after its expiry a reservation's stock is given back. It cannot be committed in between."""


class ReservationBody(Body):
    """POST /reservations."""

    id: Name
    sku: Name
    quantity: Quantity
    ttl_s: Annotated[int, Field(ge=0, le=TTL_MAX_S)] | None = None


class BatchBody(Body):
    """POST /reservations/batch."""

    reservations: Annotated[list[ReservationBody], Field(min_length=1, max_length=BATCH_MAX)]
    atomic: bool = False
    """All or none."""


class SetBody(Body):
    """PUT /stock/{sku}."""

    quantity: Level
    compare_quantity: Level | None = None
    ignore_compare: bool = False


class AdjustBody(Body):
    """POST /stock/{sku}/adjust."""

    delta: Annotated[int, Field(ge=-QUANTITY_MAX, le=QUANTITY_MAX)]


class InventoryFake(JsonFake):
    """The inventory, hosted."""

    name: ClassVar[str] = "inventory"
    title: ClassVar[str] = "Inventory: stock and reservations, JSON over HTTP"
    options_class: ClassVar[type[Options]] = InventoryOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "expire": "The reservation's time is over.",
        "release": "Somebody else releases the reservation.",
        "commit": "Somebody else commits the reservation.",
        "take": "Somebody else reserves all that is available of the article.",
    }
    options: InventoryOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        cell = options.provider_cell
        self.stock = Stock(cell, now=desk.clock.now_ns, record=desk.record, later=desk.later)
        self.stock.opening = dict(self.options.stock)
        self._articles: dict[str, str] = {}
        """Call on its way -> the article it is about: what a competitor takes."""
        self.state = _StockState(self.stock, self._sweep_later)

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url = places[self.port].url
        return {"url": url, "env": {"INVENTORY_API_BASE": url}}

    def view(self) -> Any:
        return {
            "stock": [self._levels(sku) for sku in self.stock.skus()],
            "reservations": [found.as_data() for found in self.stock.reservations()],
        }

    def application(self) -> Starlette:
        return json_application(
            [
                Route("/stock", self._get_stock, methods=["GET"]),
                Route("/stock/{sku}", self._get_level, methods=["GET"]),
                Route("/stock/{sku}", self._put_level, methods=["PUT"]),
                Route("/stock/{sku}/adjust", self._adjust, methods=["POST"]),
                Route("/reservations", self._get_reservations, methods=["GET"]),
                Route("/reservations", self._reserve, methods=["POST"]),
                Route("/reservations/batch", self._reserve_batch, methods=["POST"]),
                Route("/reservations/{id}", self._get_reservation, methods=["GET"]),
                Route("/reservations/{id}/{verb}", self._act, methods=["POST"]),
            ]
        )

    # Changes.

    async def _put_level(self, http: HttpRequest) -> JSONResponse:
        said, sku = await read_body(SetBody, http), http.path_params["sku"]
        if (said.compare_quantity is None) != said.ignore_compare:
            raise invalid("say the compare_quantity you believe in, or ignore_compare: true, and not both")
        if not NAME.fullmatch(sku):
            raise invalid("a sku is of letters, digits and . _ : - and begins with one of the first two")
        params: dict[str, str | int] = {"quantity": said.quantity}
        if said.compare_quantity is not None:
            params["compare_quantity"] = said.compare_quantity
        return await self._change(http, "stock.set", sku, params)

    async def _adjust(self, http: HttpRequest) -> JSONResponse:
        said, sku = await read_body(AdjustBody, http), http.path_params["sku"]
        self._check_sku(sku)
        return await self._change(http, "stock.adjust", sku, {"delta": said.delta})

    async def _reserve(self, http: HttpRequest) -> JSONResponse:
        said = await read_body(ReservationBody, http)
        self._check_sku(said.sku)
        return await self._change(http, "reserve", said.id, self._params(said))

    async def _act(self, http: HttpRequest) -> JSONResponse:
        id_, verb = http.path_params["id"], http.path_params["verb"]
        if verb not in ("commit", "release", "restock"):
            raise missing("action", verb)
        found = self.stock.reservation(id_)
        if found is None:
            raise missing("reservation", id_)
        if verb != "commit":
            return await self._change(http, verb, id_, {})
        params: dict[str, str | int] = {"reservation": id_, "quantity": found.quantity, "sku": found.sku}
        return await self._change(http, "stock.commit", id_, params)

    async def _change(
        self, http: HttpRequest, action: str, target: str, params: Mapping[str, str | int]
    ) -> JSONResponse:
        """Do it and answer with what it is about, as it stood at that moment."""
        request = self._request(http, action, target, params)
        call = call_of(http)
        call.about(what=action, target=target, operation=request.operation, key=request.key)
        is_replay = self.stock.has_answer_to(request)
        self._articles[call.number] = str(params.get("sku", target))
        try:
            return await self.desk.treat(call, lambda: self._execute(call.number, request), is_replay=is_replay)
        finally:
            del self._articles[call.number]

    def _request(self, http: HttpRequest, action: str, target: str, params: Mapping[str, str | int]) -> Request:
        change = change_of(http)
        spec = self.stock.actions[action]
        purpose = Purpose.EFFECT if spec.undoes is None else Purpose.UNDO
        return Request(self.name, action, purpose, change.operation, target, params, change.key, change.not_after_ns)

    def _execute(self, call: str, request: Request) -> JSONResponse:
        is_new = request.action == "reserve" and self.stock.reservation(request.target) is None
        reply = self.stock.do(call, request)
        if is_new or request.action == "restock":
            self._sweep_later(request.target)
        is_stock = request.action in self.stock.shifts
        data = self._levels(request.target) if is_stock else self._reservation(request.target)
        headers = {"Idempotent-Replayed": "true"} if reply.replayed else None
        return JSONResponse(data, 201 if is_new else 200, headers)

    async def _reserve_batch(self, http: HttpRequest) -> JSONResponse:
        """Every article is looked up when its turn comes, so that one unknown one fails alone."""
        said = await read_body(BatchBody, http)
        whole = self._request(http, "reserve", "", {})
        if len({each.id for each in said.reservations}) < len(said.reservations):
            raise invalid("every reservation of a batch has an id of its own")
        wanted = [whole._replace(target=each.id, params=self._params(each), key="") for each in said.reservations]
        call = call_of(http).about(what="reserve.batch", operation=whole.operation, key=whole.key)
        execute = self._all_or_none if said.atomic else self._each
        outcomes = await self.desk.treat(call, lambda: execute(call.number, wanted))
        is_whole = all(outcome["status"] in (200, 201) for outcome in outcomes)
        return JSONResponse({"results": outcomes}, 200 if is_whole else 207)

    def _each(self, call: str, wanted: list[Request]) -> list[dict[str, Any]]:
        return [self._outcome(call, request) for request in wanted]

    def _all_or_none(self, call: str, wanted: list[Request]) -> list[dict[str, Any]]:
        refusals = [
            self._unknown(request) or failed
            for request, failed in zip(wanted, self.stock.refusals(wanted), strict=True)
        ]
        if not any(refusals):
            return self._each(call, wanted)
        results = [_refused(request, failed) for request, failed in zip(wanted, refusals, strict=True) if failed]
        raise Refused(409, "batch-refused", "nothing was reserved, since not everything could be", results=results)

    def _outcome(self, call: str, request: Request) -> dict[str, Any]:
        try:
            if failed := self._unknown(request):
                raise failed
            answer = self._execute(call, request)
        except ProviderFailure as failed:
            return _refused(request, failed)
        return {"id": request.target, "status": answer.status_code, "reservation": self._reservation(request.target)}

    def _params(self, said: ReservationBody) -> dict[str, str | int]:
        ttl_s = self.options.ttl_s if said.ttl_s is None else said.ttl_s
        return {"sku": said.sku, "quantity": said.quantity, "ttl_s": ttl_s}

    def _unknown(self, request: Request) -> ProviderFailure | None:
        sku = str(request.params["sku"])
        return None if self.stock.knows(sku) else missing("article", sku)

    def _check_sku(self, sku: str) -> None:
        if not self.stock.knows(sku):
            raise missing("article", sku)

    # Looks.

    async def _get_stock(self, http: HttpRequest) -> JSONResponse:
        at_ns = await self._moment(http, "stock")
        return JSONResponse({"stock": [self._levels(sku, at_ns) for sku in self.stock.skus()]})

    async def _get_level(self, http: HttpRequest) -> JSONResponse:
        sku = http.path_params["sku"]
        at_ns = await self._moment(http, "stock", sku)
        self._check_sku(sku)
        return JSONResponse(self._levels(sku, at_ns))

    async def _get_reservation(self, http: HttpRequest) -> JSONResponse:
        id_ = http.path_params["id"]
        found = self.stock.reservation(id_, await self._moment(http, "reservation", id_))
        if found is None:
            raise missing("reservation", id_)
        return JSONResponse(found.as_data())

    async def _get_reservations(self, http: HttpRequest) -> JSONResponse:
        sku, state = http.query_params.get("sku"), http.query_params.get("state")
        if state not in (None, *STATES):
            raise invalid(f"state is one of {', '.join(STATES)}")
        all_ = self.stock.reservations(await self._moment(http, "reservations"))
        found = [one.as_data() for one in all_ if sku in (None, one.sku) and state in (None, one.state)]
        return JSONResponse({"reservations": found[:LISTED_MAX], "has_more": len(found) > LISTED_MAX})

    async def _moment(self, http: HttpRequest, what: str, target: str = "") -> int:
        """Cross the look's points; the moment whose world it sees. Raises Refused where this cell has no look-ups."""
        stale_ns = await self.desk.read(call_of(http).about(what=what, target=target))
        lookup = self.stock.cell.lookup
        if lookup is Lookup.ABSENT:
            raise Refused(405, "method-not-allowed", "this inventory has no look-ups")
        return self.desk.clock.now_ns() - max(stale_ns, READ_LAG_NS if lookup is Lookup.EVENTUAL else 0)

    def _levels(self, sku: str, at_ns: int | None = None) -> dict[str, Any]:
        levels = self.stock.levels(sku, at_ns)
        return {"sku": sku, "on_hand": levels.on_hand, "held": levels.held, "available": levels.available}

    def _reservation(self, id_: str) -> dict[str, Any]:
        found = self.stock.reservation(id_)
        assert found is not None, f"reservation {id_} is asked for after it was found"
        return found.as_data()

    # Time, and others.

    def _sweep_later(self, id_: str) -> None:
        found = self.stock.reservation(id_)
        if found is None or found.expires_ns == NEVER:
            return
        delay_ns = found.expires_ns - self.desk.clock.now_ns() + self.options.sweep_delay_ns
        facts = Facts(what="expire", target=id_, operation=found.operation)
        self.desk.settle_later(delay_ns, facts, lambda is_done: self._sweep(id_, is_done))

    def _sweep(self, id_: str, is_done: bool) -> None:
        if is_done:
            self.stock.sweep(id_)
        else:
            self.desk.note("sweep-failed", "", {"target": id_})

    def compete(self, what: str, facts: Facts) -> None:
        if what not in self.competitors:
            super().compete(what, facts)
        if what == "expire":
            if not self.stock.expire(facts.target):
                raise LookupError(f"no reservation {facts.target!r} is held")
            return
        id_, params = facts.target, {}
        if what == "take":
            id_, params = f"{OUTSIDE}-{facts.call}", self._all_available(facts)
        elif what == "commit" and (found := self.stock.reservation(id_)):
            params = {"reservation": id_, "quantity": found.quantity, "sku": found.sku}
        action, purpose = RIVALS[what]
        self.stock.do("", Request(self.name, action, purpose, OUTSIDE, id_, params))

    def _all_available(self, facts: Facts) -> dict[str, str | int]:
        sku = self._articles.get(facts.call, facts.target)
        return {"sku": sku, "quantity": self.stock.levels(sku).available, "ttl_s": 0}


class _StockState(ProviderState):
    """The rows; after a restart, sweeps are set again."""

    def __init__(self, stock: Stock, sweep_later: Callable[[str], None]) -> None:
        super().__init__(stock, count=stock.count)
        self._stock = stock
        self._sweep_later = sweep_later

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        super().load(documents)
        for found in self._stock.reservations():
            if found.state in (HELD, EXPIRED):
                self._sweep_later(found.id)


def _refused(request: Request, failed: ProviderFailure) -> dict[str, Any]:
    status, data = answer_to(failed)
    return {"id": request.target, "status": status, **data}
