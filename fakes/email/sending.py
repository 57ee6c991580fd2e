"""The mail API over HTTP, in JSON: sending, scheduling, cancelling, looking up.

    POST /emails                {"from", "to", "cc"?, "bcc"?, "reply_to"?, "subject", "text"?, "html"?, "headers"?,
                                "reference"?, "metadata"?, "scheduled_at"?}, Idempotency-Key: 200 {"id", "message_id", "status"}
    GET  /emails?reference=     newest first; `to=`, `message_id=`, `status=` and `limit=` narrow
    GET  /emails/{id}           one
    POST /emails/{id}/cancel    200; 409 `already-sent`, 409 `already-undone`

Authorization: `Bearer KEY`. Addresses are `a@b.example` or `Name <a@b.example>`; `to`, `cc`, `bcc` and `reply_to` also
take lists. `scheduled_at` is a moment in ISO 8601; one that has passed means now.
Operation of an effect: the request's header `X-Operation`, or `metadata.operation`, or the mail header `X-Operation`; it
travels with the mail as that header. Target: the header `X-Target`, or `metadata.target`, or the mail header `X-Target`,
or the recipients joined with commas. A replayed answer carries `Idempotent-Replayed: true`.
Of the cell, `key` speaks of the keys and `lookup` of every GET (`absent`: 405).
Never here: a rule, and the mailbox.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parseaddr
from typing import Annotated, Any
from urllib.parse import quote, unquote

from pydantic import AfterValidator, Field
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.email.composing import Draft, compose
from fakes.email.letters import HINT_LENGTH_MAX, Address, Letter, is_address, plain
from fakes.email.office import Office, Posting, digest_of
from fakes.email.options import EmailOptions
from fakes.wire.board import Interrupted
from fakes.wire.desk import Desk
from fakes.wire.http import call_of
from fakes.wire.json_api import Body, Change, Refused, change_of, invalid, missing, read_body, utc
from fakes.wire.points import Act
from harness.model.cell import READ_LAG_NS, Lookup

LISTED_MAX = 500
LISTED_USUALLY = 100
OWN_HEADERS = frozenset(
    ("from", "to", "cc", "bcc", "reply-to", "subject", "date", "message-id", "mime-version", "received", "return-path")
)
"""Header fields the API writes itself; and all that begin with `content-`."""


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("one line of text, without control characters")
    return text


def _header_name(text: str) -> str:
    if (
        not re.fullmatch(r"[A-Za-z0-9-]{1,60}", text)
        or text.lower() in OWN_HEADERS
        or text.lower().startswith("content-")
    ):
        raise ValueError("a header field's name, and not one that the API writes itself")
    return text


Line = Annotated[str, Field(max_length=500), AfterValidator(_one_line)]
Text = Annotated[str, Field(max_length=500_000)]
Lines = Annotated[list[Line], Field(max_length=50)]
Fields = Annotated[dict[Annotated[str, AfterValidator(_header_name)], Line], Field(max_length=30)]
Metadata = Annotated[dict[Line, Line], Field(max_length=30)]


class EmailBody(Body):
    """POST /emails."""

    from_: Line = Field(alias="from")
    to: Line | Lines
    cc: Line | Lines = []
    bcc: Line | Lines = []
    reply_to: Line | Lines = []
    subject: Line
    text: Text | None = None
    html: Text | None = None
    headers: Fields = {}
    reference: Line = ""
    metadata: Metadata = {}
    scheduled_at: Line = ""


class SendingApi:
    """The routes of the mail API."""

    def __init__(self, desk: Desk, office: Office, options: EmailOptions) -> None:
        self._desk = desk
        self._office = office
        self._options = options
        self.routes = [
            Route("/emails", self._list, methods=["GET"]),
            Route("/emails", self._send, methods=["POST"]),
            Route("/emails/{id}", self._read, methods=["GET"]),
            Route("/emails/{id}/cancel", self._cancel, methods=["POST"]),
        ]

    # Changes.

    async def _send(self, http: HttpRequest) -> JSONResponse:
        self._check_sender(http)
        change = change_of(http)
        posting = self._posting(await read_body(EmailBody, http), change, _hint(http, "x-target"))
        call = call_of(http)
        mailing = self._office.mailing
        is_replay = mailing.has_answer_to(mailing.as_kept(posting.request()))
        claimed = change.key if mailing.honours_keys else ""
        call.about(what="send", target=posting.about, operation=posting.operation, key=claimed)
        try:
            return await self._desk.treat(call, lambda: self._sent(call.number, posting), is_replay=is_replay)
        except Interrupted as cut:
            if cut.action.act is Act.STATUS and cut.action.code >= 400 and mailing.rules.releases_on_error:
                mailing.release(change.key)
                self._desk.commit()
            raise

    def _sent(self, call: str, posting: Posting) -> JSONResponse:
        reply = self._office.accept(call, posting)
        headers = {"Idempotent-Replayed": "true"} if reply.replayed else None
        return JSONResponse(self._receipt(reply.reference), headers=headers)

    async def _cancel(self, http: HttpRequest) -> JSONResponse:
        self._check_sender(http)
        id_ = http.path_params["id"]
        letter = self._office.find(id_)
        if letter is None or letter.via == "report":
            raise missing("email", id_)
        call = call_of(http).about(what="cancel", target=letter.target, operation=change_of(http).operation)

        def cancel() -> JSONResponse:
            self._office.cancel(id_)
            return JSONResponse(self._receipt(id_))

        return await self._desk.treat(call, cancel)

    def _receipt(self, id_: str) -> dict[str, str]:
        letter = self._office.letter(id_)
        message_id = str(letter.head["message_id"])
        return {"id": id_, "message_id": message_id, "status": letter.status(self._desk.clock.now_ns())}

    def _check_sender(self, http: HttpRequest) -> None:
        scheme, _, given = http.headers.get("authorization", "").partition(" ")
        wanted = self._options.api_key
        is_known = scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), wanted.encode())
        if wanted and not is_known:
            raise Refused(401, "unauthorized", "send Authorization: Bearer KEY with the key of this service")

    # What is asked.

    def _posting(self, said: EmailBody, change: Change, target: str) -> Posting:
        """The message as the office takes it. Raises Refused."""
        operation = change.operation or said.metadata.get("operation") or _unquoted(said.headers, "x-operation")
        target = target or said.metadata.get("target") or _unquoted(said.headers, "x-target")
        headers = {name: value for name, value in said.headers.items() if name.lower() != "x-operation"}
        if operation:
            headers["X-Operation"] = _as_header(operation)
        to, cc, bcc = _addresses(said.to, "to"), _addresses(said.cc, "cc"), _addresses(said.bcc, "bcc")
        sender, replies = _address(said.from_, "from"), _addresses(said.reply_to, "reply_to")
        draft = Draft(sender, to, cc, replies, said.subject, said.text, said.html, headers)
        if not to:
            raise invalid("to: at least one recipient")

        def write(id_: str) -> bytes:
            message_id = f"{id_}@{self._options.hostname}"
            return compose(draft, message_id=message_id, now_ns=self._desk.clock.now_ns())

        return Posting(
            via="http",
            sender=sender[1],
            recipients=tuple(dict.fromkeys(address for _, address in (*to, *cc, *bcc))),
            write=write,
            digest=digest_of(said.model_dump_json().encode()),
            operation=plain(operation)[:HINT_LENGTH_MAX],
            target=plain(target)[:HINT_LENGTH_MAX],
            key=change.key,
            not_after_ns=change.not_after_ns,
            reference=said.reference,
            metadata=said.metadata,
            due_ns=_due_ns(said.scheduled_at),
        )

    # Looks.

    async def _list(self, http: HttpRequest) -> JSONResponse:
        asked = http.query_params
        limit = asked.get("limit", str(LISTED_USUALLY))
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= LISTED_MAX):
            raise invalid(f"limit is a number from 1 to {LISTED_MAX}")
        at_ns = await self._moment(http, "search", asked.get("reference") or asked.get("to") or "")
        views = [view for letter in self._office.letters() if (view := self._view(letter, at_ns)) is not None]
        views = [view for view in reversed(views) if _fits(view, asked)]
        return JSONResponse({"data": views[: int(limit)], "has_more": len(views) > int(limit)})

    async def _read(self, http: HttpRequest) -> JSONResponse:
        id_ = http.path_params["id"]
        letter = self._office.find(id_)
        at_ns = await self._moment(http, "email", letter.target if letter else "")
        view = self._view(self._office.letter(id_), at_ns) if letter else None
        if view is None:
            raise missing("email", id_)
        return JSONResponse(view)

    async def _moment(self, http: HttpRequest, what: str, target: str) -> int:
        """Cross the look's points; the moment whose world it sees. Raises Refused where this cell has no look-ups."""
        self._check_sender(http)
        stale_ns = await self._desk.read(call_of(http).about(what=what, target=target))
        return moment_seen(self._desk, self._office, stale_ns)

    def _view(self, letter: Letter, at_ns: int) -> dict[str, Any] | None:
        """An email as it read at that moment, or None if it was not there, or is the server's own."""
        if letter.via == "report" or letter.made_ns > at_ns:
            return None
        return {
            "id": letter.id,
            "message_id": letter.head["message_id"],
            "reference": letter.reference,
            "operation": letter.operation,
            "target": letter.target,
            "status": letter.status(at_ns),
            "from": letter.sender,
            "to": list(letter.recipients),
            "recipients": {address: letter.fate(address, at_ns) for address in letter.recipients},
            "subject": letter.head["subject"],
            "metadata": letter.metadata,
            "created_at": utc(letter.made_ns),
            "scheduled_at": utc(letter.due_ns) if letter.due_ns > letter.made_ns else None,
        }


def moment_seen(desk: Desk, office: Office, stale_ns: int) -> int:
    """The moment whose world a look-up sees in this cell. Raises Refused where there are none."""
    lookup = office.mailing.cell.lookup
    if lookup is Lookup.ABSENT:
        raise Refused(405, "method-not-allowed", "this service has no look-ups")
    return desk.clock.now_ns() - max(stale_ns, READ_LAG_NS if lookup is Lookup.EVENTUAL else 0)


def _fits(view: Mapping[str, Any], asked: Mapping[str, str]) -> bool:
    if "to" in asked and asked["to"] not in view["to"]:
        return False
    return all(view[name] == asked[name] for name in ("reference", "message_id", "status") if name in asked)


def _hint(http: HttpRequest, name: str) -> str:
    return plain(unquote(http.headers.get(name, "")))


def _unquoted(headers: Mapping[str, str], name: str) -> str:
    return next((unquote(value) for each, value in headers.items() if each.lower() == name), "")


def _as_header(operation: str) -> str:
    """As it can travel: what is not plain ASCII is percent-encoded, as readers of the header expect."""
    return quote(operation, safe=" !#$&'()*+,/:;=?@[]~")


def _addresses(said: str | Sequence[str], field: str) -> list[Address]:
    each = [said] if isinstance(said, str) else said
    return [_address(text, field) for text in each]


def _address(text: str, field: str) -> Address:
    """One address. Raises Refused."""
    name, address = parseaddr(text)
    if not is_address(address):
        raise invalid(f"{field}: an address is written a@b.example or Name <a@b.example>")
    return name, address


def _due_ns(text: str) -> int:
    """A moment in ISO 8601, in ns; 0 for none. Raises Refused."""
    if not text:
        return 0
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(round(moment.timestamp() * 1_000_000) * 1000, 0)
    except (ValueError, OverflowError):
        raise invalid("scheduled_at is a moment in ISO 8601, such as 2026-01-01T12:00:00Z") from None
