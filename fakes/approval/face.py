"""The approval queue over HTTP, in JSON for programs and as a page for people.

    POST /requests                 {"id", "digest", "requester"?, "description"?, "parameters"?, "operation"?,
                                    "decide_within_s"?, "valid_s"?}: 201; 200 for the same id and digest again
    GET  /requests?state=&client_id=, /requests/{id}
    POST /requests/{id}/decide     {"decision": "grant" | "deny", "by", "digest"}: the first wins
    POST /requests/{id}/consume    {"digest", "consumer"}
    POST /requests/{id}/withdraw   {}
    POST /requests/{id}/revoke     {"by"}
    GET  /review, /review/{id}     the page; POST /review/{id} is its form

`{id}` is the id that the answer to POST /requests names: `approval-` and the client's. Target of an entry: that id. Its
operation: the `operation` of the body, or "". Nobody decides by himself unless the option `approver` says so; then
SETTLE is crossed first, and `fail` there makes it a denial. The rules are in `book.py`. There are no keys: the client's
id and compare-and-set do their work.
Never here: a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeVar
from urllib.parse import parse_qs

from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from fakes.approval import page
from fakes.approval.bodies import Consumption, Decision, Nothing, RequestBody, Revocation
from fakes.approval.book import DECISIONS, STATES, Asked, Book, DurableQueue, View, id_of
from fakes.approval.domain import PENDING
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Options, Place, Sockets
from fakes.wire.http import Refusal, call_of
from fakes.wire.journal_file import Document
from fakes.wire.json_api import JsonFake, Refused, answer_to, invalid, json_application, missing, read_body
from fakes.wire.outbox import Outbox, Receiver
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf
from harness.model.cell import SECOND_NS
from harness.model.errors import ProviderFailure

LISTED_MAX = 500
NAME_LENGTH_MAX = 100
RIVAL = "somebody else"
APPROVER = "approver"
NS_MAX = 10**18

T = TypeVar("T")


class ApprovalOptions(Options):
    """What can be configured. The cell has no meaning here: every reading is authoritative, and there are no keys."""

    decide_within_ns: int = Field(30 * 24 * 3600 * SECOND_NS, ge=0, le=NS_MAX)
    """How long a request waits for a decision if it does not say."""
    valid_ns: int = Field(600 * SECOND_NS, ge=0, le=NS_MAX)
    """How long a grant can be spent if its request does not say."""
    is_self_review_barred: bool = False
    """May not the requester decide?"""
    approver: Literal["", "approves", "denies"] = ""
    """Somebody who decides everything, after `think_ns`; "": nobody."""
    think_ns: int = Field(2 * SECOND_NS, ge=0, le=NS_MAX)
    subscribers: tuple[Receiver, ...] = ()
    """Addresses that events are posted to."""


class ApprovalFake(JsonFake):
    """The approval queue, hosted."""

    name: ClassVar[str] = "approval"
    commit_kinds: ClassVar[tuple[str, ...]] = (
        "approval-requested",
        "approval-granted",
        "approval-denied",
        "approval-revoked",
        "approval-consumed",
    )
    title: ClassVar[str] = "Approval queue: requests, decisions by people and their consumption, over HTTP"
    options_class: ClassVar[type[Options]] = ApprovalOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "grant": "Somebody else grants it.",
        "deny": "Somebody else denies it.",
        "withdraw": "Its requester withdraws it.",
        "revoke": "Somebody else revokes the grant.",
        "expire": "Its time is over.",
    }
    options: ApprovalOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        self._by = ""
        shelf, now = Shelf(), desk.clock.now_ns
        queue = DurableQueue(now=now, record=self._record)
        self.book = Book(queue, shelf, now, self._told)
        self.outbox = Outbox(desk, shelf, self.options.subscribers)
        self.state = _ApprovalState(queue, shelf, self._take_up)

    async def serve(self, sockets: Mapping[str, Sockets]) -> None:
        await super().serve(sockets)
        self.outbox.open()

    async def close(self) -> None:
        await self.outbox.close()
        await super().close()

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url = places[self.port].url
        return {"url": url, "page": f"{url}/review", "env": {"APPROVAL_API_BASE": url}}

    def view(self) -> Any:
        return {"approvals": list(self.book.views()), "events": self.outbox.events()}

    def refusal(self, code: int, call: Call) -> Refusal:
        if not _is_page(call):
            return super().refusal(code, call)
        return Refusal(page.HEADERS, page.error(f"The approval queue answers {code}.").encode())

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        if not _is_page(call):
            return super().failure(failed, call)
        return answer_to(failed)[0], Refusal(page.HEADERS, page.error(str(failed)).encode())

    def application(self) -> Starlette:
        return json_application(
            [
                Route("/requests", self._list, methods=["GET"]),
                Route("/requests", self._request, methods=["POST"]),
                Route("/requests/{id}", self._read, methods=["GET"]),
                Route("/requests/{id}/decide", self._decide, methods=["POST"]),
                Route("/requests/{id}/consume", self._consume, methods=["POST"]),
                Route("/requests/{id}/withdraw", self._withdraw, methods=["POST"]),
                Route("/requests/{id}/revoke", self._revoke, methods=["POST"]),
                Route("/review", self._page_of_all, methods=["GET"]),
                Route("/review/{id}", self._page, methods=["GET"]),
                Route("/review/{id}", self._form, methods=["POST"]),
            ]
        )

    # Changes by programs.

    async def _request(self, http: HttpRequest) -> JSONResponse:
        said = await read_body(RequestBody, http)
        asked = self._asked(said)
        call = call_of(http).about(what="request", target=id_of(said.id), operation=said.operation)
        view, is_new = await self.desk.treat(call, lambda: self._open(call, asked))
        return JSONResponse(view, 201 if is_new else 200)

    def _asked(self, said: RequestBody) -> Asked:
        options = self.options
        return Asked(
            said.id,
            said.digest,
            said.requester,
            said.description,
            said.parameters,
            said.operation,
            options.decide_within_ns if said.decide_within_s is None else said.decide_within_s * SECOND_NS,
            options.valid_ns if said.valid_s is None else said.valid_s * SECOND_NS,
        )

    def _open(self, call: Call, asked: Asked) -> tuple[View, bool]:
        view, is_new = self.book.request(call.number, asked)
        if is_new:
            self._approve_later(view)
        return view, is_new

    async def _decide(self, http: HttpRequest) -> JSONResponse:
        said = await read_body(Decision, http)
        view = await self._change(http, "decide", lambda id_: self._decided(id_, said.decision, said.by, said.digest))
        return JSONResponse(view)

    async def _consume(self, http: HttpRequest) -> JSONResponse:
        said = await read_body(Consumption, http)
        number, consumer = call_of(http).number, said.consumer
        view = await self._change(
            http, "consume", lambda id_: self.book.consume(number, id_, digest=said.digest, consumer=consumer)
        )
        return JSONResponse(view)

    async def _withdraw(self, http: HttpRequest) -> JSONResponse:
        await read_body(Nothing, http)
        number = call_of(http).number
        return JSONResponse(await self._change(http, "withdraw", lambda id_: self.book.withdraw(number, id_)))

    async def _revoke(self, http: HttpRequest) -> JSONResponse:
        said = await read_body(Revocation, http)
        view = await self._change(
            http, "revoke", lambda id_: self._as(said.by, lambda: self.book.revoke(id_, by=said.by))
        )
        return JSONResponse(view)

    async def _change(self, http: HttpRequest, what: str, change: Callable[[str], View]) -> View:
        id_ = http.path_params["id"]
        call = call_of(http).about(what=what, target=id_, operation=self._operation(id_))
        return await self.desk.treat(call, lambda: change(id_))

    def _operation(self, id_: str) -> str:
        view = self.book.view(id_)
        return str(view["operation"]) if view else ""

    def _decided(self, id_: str, decision: str, by: str, digest: str) -> View:
        is_barred = self.options.is_self_review_barred
        return self._as(
            by,
            lambda: self.book.decide(id_, decision, by=by, digest=digest, is_self_review_barred=is_barred),
        )

    def _as(self, by: str, act: Callable[[], T]) -> T:
        """What is recorded meanwhile is done by this person."""
        self._by = by
        try:
            return act()
        finally:
            self._by = ""

    # Looks.

    async def _list(self, http: HttpRequest) -> JSONResponse:
        state, client_id = http.query_params.get("state"), http.query_params.get("client_id")
        if state not in (None, *STATES):
            raise invalid(f"state is one of {', '.join(STATES)}")
        views = self.book.views(await self._moment(http, "list"))
        found = [v for v in views if state in (None, v["state"]) and client_id in (None, v["client_id"])]
        return JSONResponse({"requests": found[:LISTED_MAX], "has_more": len(found) > LISTED_MAX})

    async def _read(self, http: HttpRequest) -> JSONResponse:
        return JSONResponse(await self._seen(http))

    async def _seen(self, http: HttpRequest) -> View:
        id_ = http.path_params["id"]
        view = self.book.view(id_, await self._moment(http, "read", id_))
        if view is None:
            raise missing("approval", id_)
        return view

    async def _moment(self, http: HttpRequest, what: str, target: str = "") -> int:
        call = call_of(http).about(what=what, target=target, operation=self._operation(target))
        stale_ns = await self.desk.read(call)
        return self.desk.clock.now_ns() - stale_ns

    # The page.

    async def _page_of_all(self, http: HttpRequest) -> HTMLResponse:
        views = list(self.book.views(await self._moment(http, "list")))
        return HTMLResponse(page.listing(views[-LISTED_MAX:]), headers=page.HEADERS)

    async def _page(self, http: HttpRequest) -> HTMLResponse:
        return HTMLResponse(page.approval(await self._seen(http)), headers=page.HEADERS)

    async def _form(self, http: HttpRequest) -> Response:
        """A person decides. After it the page is shown by another request, so that reloading it sends nothing again."""
        id_, said = http.path_params["id"], await _fields(http)
        by, decision = said.get("by", "").strip(), said.get("decision", "")
        if not by or len(by) > NAME_LENGTH_MAX or decision not in DECISIONS:
            raise invalid("Say who you are, and choose to grant or to deny.")
        try:
            await self._change(http, "decide", lambda i: self._decided(i, decision, by, said.get("digest", "")))
        except Refused as refused:
            if "approval" not in refused.facts:
                raise
            shown = page.refused(refused.facts["approval"], refused.code, by=by, decision=DECISIONS[decision])
            return HTMLResponse(shown, refused.status, page.HEADERS)
        return RedirectResponse(f"/review/{id_}", 303)

    # Time, others, and events.

    def _take_up(self) -> None:
        for view in self.book.views():
            self._approve_later(view)
        self.outbox.resume()

    def _approve_later(self, view: View) -> None:
        if not self.options.approver or view["state"] != PENDING:
            return
        delay_ns = view["made_ns"] + self.options.think_ns - self.desk.clock.now_ns()
        facts = Facts(what="decide", target=view["id"], operation=view["operation"])
        self.desk.settle_later(delay_ns, facts, lambda is_done: self._approve(view, is_done))

    def _approve(self, asked: View, is_done: bool) -> None:
        """The approver has thought. Somebody may have decided or withdrawn meanwhile, and the first decision stands."""
        view = self.book.view(asked["id"])
        if view is None or view["made_ns"] != asked["made_ns"] or view["state"] != PENDING:
            return
        decision = "grant" if is_done and self.options.approver == "approves" else "deny"
        self._decided(view["id"], decision, APPROVER, view["digest"])

    def compete(self, what: str, facts: Facts) -> None:
        id_ = facts.target
        match what:
            case "grant" | "deny":
                self._decided(id_, what, RIVAL, self.book.named(id_)["digest"])
            case "withdraw":
                self.book.withdraw("", id_)
            case "revoke":
                self._as(RIVAL, lambda: self.book.revoke(id_, by=RIVAL))
            case "expire":
                self.book.expire(id_)
                self.desk.note("approval-expired", "", {"approval": id_})
            case _:
                super().compete(what, facts)

    def _record(self, kind: str, where: str, data: Mapping[str, Any]) -> None:
        self.desk.record(kind, where, {**data, "by": self._by} if self._by else data)

    def _told(self, what: str, view: View) -> None:
        facts = Facts(call=self.desk.current, target=view["id"], operation=view["operation"])
        self.outbox.put(f"approval.{what}", facts, {"approval": view})


class _ApprovalState:
    """The queue, the papers and the events; after a restart, the approver thinks on and events are delivered."""

    def __init__(self, queue: DurableQueue, shelf: Shelf, take_up: Callable[[], None]) -> None:
        self._queue = queue
        self._shelf = shelf
        self._take_up = take_up

    def take_changes(self) -> Iterator[Document]:
        """What changed since the last call."""
        yield from self._queue.take_changes()
        yield from self._shelf.take_changes()

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        all_ = list(documents)
        self._queue.load(all_)
        self._shelf.load(d for d in all_ if not self._queue.owns(d))
        self._take_up()


def _is_page(call: Call) -> bool:
    return "/review" in call.facts.line


async def _fields(http: HttpRequest) -> dict[str, str]:
    """A form's fields. Raises Refused for something else."""
    try:
        body = (await http.body()).decode()
        read = parse_qs(body, keep_blank_values=True, strict_parsing=bool(body), max_num_fields=20)
    except ValueError:
        raise invalid("This is no form.") from None
    return {name: values[0] for name, values in read.items()}
