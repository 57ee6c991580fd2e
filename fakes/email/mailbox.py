"""The mailbox as programs read it, after the convention of Mailpit; and the page on which a person does.

    GET    /api/v1/messages?start=&limit=     newest first
    GET    /api/v1/search?query=&start=&limit=
    GET    /api/v1/message/{ID}               `latest` is the newest; opening marks it as read
    GET    /api/v1/message/{ID}/raw, /headers
    DELETE /api/v1/messages                   {"IDs": [...]}: these; without any: all
    DELETE /api/v1/search?query=
    GET    /, /mails/{ID}                     the page

All mailboxes are one, as there: it holds what was sent, by whichever way, and bounce reports. A tag says how a message
stands: `sent`, `delivered`, `bounced`; scheduled ones are not there before they are sent. Deleting does not undo a sending. Looks
obey the cell's `lookup` (`absent`: 405) and hooks at READ (`what` is `messages`, `search` or `message`); the page, which
is for people, shows the present.
Never here: sending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fakes.email import page
from fakes.email.letters import Address, Letter, Reading, headers_of, read_letter, text_of
from fakes.email.office import Office
from fakes.email.searching import Entry, fits
from fakes.email.sending import moment_seen
from fakes.wire.desk import Desk
from fakes.wire.http import call_of
from fakes.wire.json_api import invalid, missing

LISTED_USUALLY = 50
QUERY_LENGTH_MAX = 2000
LATEST = "latest"


class IdsBody(BaseModel):
    """DELETE /api/v1/messages."""

    IDs: list[str] = Field([], max_length=10_000)


class Mailbox:
    """The routes of the mailbox."""

    def __init__(self, desk: Desk, office: Office) -> None:
        self._desk = desk
        self._office = office
        self.routes = [
            Route("/api/v1/messages", self._messages, methods=["GET"]),
            Route("/api/v1/messages", self._delete, methods=["DELETE"]),
            Route("/api/v1/search", self._search, methods=["GET"]),
            Route("/api/v1/search", self._delete_found, methods=["DELETE"]),
            Route("/api/v1/message/{id}", self._message, methods=["GET"]),
            Route("/api/v1/message/{id}/raw", self._raw, methods=["GET"]),
            Route("/api/v1/message/{id}/headers", self._headers, methods=["GET"]),
            Route("/mails/{id}", self._mail_page, methods=["GET"]),
            Route("/", self._list_page, methods=["GET"]),
        ]

    # Looks.

    async def _messages(self, http: HttpRequest) -> Response:
        start, limit = _window(http.query_params)
        at_ns = await self._moment(http, "messages")
        letters = self._in_mailbox(at_ns)
        return JSONResponse(_summary(letters, letters, start, limit, at_ns))

    async def _search(self, http: HttpRequest) -> Response:
        start, limit = _window(http.query_params)
        query = _query(http.query_params)
        at_ns = await self._moment(http, "search", query)
        return JSONResponse(_summary(self._in_mailbox(at_ns), self._found(query, at_ns), start, limit, at_ns))

    async def _message(self, http: HttpRequest) -> Response:
        letter, at_ns = await self._one(http)
        if not letter.is_read:
            self._office.mark_read(letter.id)
            self._desk.commit()
        content = self._office.content(letter.id)
        return JSONResponse(_whole(letter, read_letter(content), at_ns))

    async def _raw(self, http: HttpRequest) -> Response:
        letter, _ = await self._one(http)
        return PlainTextResponse(self._office.content(letter.id))

    async def _headers(self, http: HttpRequest) -> Response:
        letter, _ = await self._one(http)
        return JSONResponse(headers_of(self._office.content(letter.id)))

    async def _one(self, http: HttpRequest) -> tuple[Letter, int]:
        """The message that is asked for, and the moment it is seen at. Raises Refused."""
        id_ = http.path_params["id"]
        asked = self._office.find(id_)
        at_ns = await self._moment(http, "message", asked.target if asked else "")
        if id_ == LATEST:
            letter = next(iter(self._in_mailbox(at_ns)), None)
        else:
            letter = self._office.find(id_)
        if letter is None or not letter.is_in_mailbox(at_ns):
            raise missing("message", id_)
        return letter, at_ns

    async def _moment(self, http: HttpRequest, what: str, target: str = "") -> int:
        stale_ns = await self._desk.read(call_of(http).about(what=what, target=target))
        return moment_seen(self._desk, self._office, stale_ns)

    def _in_mailbox(self, at_ns: int) -> list[Letter]:
        """Newest first."""
        return [letter for letter in reversed(list(self._office.letters())) if letter.is_in_mailbox(at_ns)]

    def _found(self, query: str, at_ns: int) -> list[Letter]:
        return [letter for letter in self._in_mailbox(at_ns) if fits(self._entry(letter, at_ns), query)]

    def _entry(self, letter: Letter, at_ns: int) -> Entry:
        reading = read_letter(self._office.content(letter.id))
        text = reading.text or text_of(reading.html)
        return Entry(letter.head, _bcc(letter), text, letter.size, [letter.status(at_ns)], letter.is_read)

    # Changes: of the mailbox alone.

    async def _delete(self, http: HttpRequest) -> Response:
        ids = _ids(await http.body())

        def delete() -> None:
            now_ns = self._desk.clock.now_ns()
            self._office.delete(ids or [letter.id for letter in self._in_mailbox(now_ns)])

        return await self._deleted(http, delete)

    async def _delete_found(self, http: HttpRequest) -> Response:
        query = _query(http.query_params)

        def delete() -> None:
            now_ns = self._desk.clock.now_ns()
            self._office.delete([letter.id for letter in self._found(query, now_ns)])

        return await self._deleted(http, delete)

    async def _deleted(self, http: HttpRequest, delete: Callable[[], None]) -> Response:
        await self._desk.treat(call_of(http).about(what="delete"), delete)
        return PlainTextResponse("ok")

    # The page.

    async def _list_page(self, http: HttpRequest) -> Response:
        now_ns = self._desk.clock.now_ns()
        rows = [page.row(letter, now_ns) for letter in self._in_mailbox(now_ns)]
        waiting = [page.row(each, now_ns) for each in self._office.letters() if each.sent_ns is None and not each.end]
        return HTMLResponse(page.listing(rows, waiting), headers=page.HEADERS)

    async def _mail_page(self, http: HttpRequest) -> Response:
        now_ns = self._desk.clock.now_ns()
        letter = self._office.find(http.path_params["id"])
        if letter is None or letter.deleted_ns is not None:
            return HTMLResponse(page.absent(), 404, headers=page.HEADERS)
        reading = read_letter(self._office.content(letter.id))
        return HTMLResponse(page.mail(letter, reading, now_ns), headers=page.HEADERS)


def _window(asked: Mapping[str, str]) -> tuple[int, int]:
    """Start and limit. What is no number is taken as if it were not there; so does Mailpit."""

    def number(name: str, usually: int) -> int:
        text = asked.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else usually

    return number("start", 0), number("limit", LISTED_USUALLY)


def _query(asked: Mapping[str, str]) -> str:
    query = asked.get("query", "").strip()
    if not query or len(query) > QUERY_LENGTH_MAX:
        raise invalid(f"query says what to look for, in at most {QUERY_LENGTH_MAX} characters")
    return query


def _ids(body: bytes) -> list[str]:
    """The ids in a body. Raises Refused for a body that is there and says something else."""
    if not body.strip():
        return []
    try:
        return IdsBody.model_validate_json(body).IDs
    except ValidationError:
        raise invalid('the body is {"IDs": [...]}, or there is none') from None


def _summary(mailbox: list[Letter], found: list[Letter], start: int, limit: int, at_ns: int) -> dict[str, Any]:
    shown = found[start : start + limit]
    return {
        "total": len(mailbox),
        "unread": _unread(mailbox),
        "count": len(shown),
        "messages_count": len(found),
        "messages_unread": _unread(found),
        "start": start,
        "tags": sorted({letter.status(at_ns) for letter in mailbox}),
        "messages": [_short(letter, at_ns) for letter in shown],
    }


def _unread(letters: Iterable[Letter]) -> int:
    return sum(not letter.is_read for letter in letters)


def _common(letter: Letter, at_ns: int) -> dict[str, Any]:
    head = letter.head
    return {
        "ID": letter.id,
        "MessageID": head["message_id"],
        "From": _address(head["from"][0]) if head["from"] else None,
        "To": [_address(each) for each in head["to"]],
        "Cc": [_address(each) for each in head["cc"]],
        "Bcc": [_address(each) for each in _bcc(letter)],
        "ReplyTo": [_address(each) for each in head["reply_to"]],
        "Subject": head["subject"],
        "Username": letter.username,
        "Tags": [letter.status(at_ns)],
        "Size": letter.size,
    }


def _short(letter: Letter, at_ns: int) -> dict[str, Any]:
    """A message in a list."""
    return {
        **_common(letter, at_ns),
        "Read": letter.is_read,
        "Created": _rfc3339(letter.made_ns),
        "Attachments": letter.head["attachments"],
        "Snippet": letter.head["snippet"],
    }


def _whole(letter: Letter, reading: Reading, at_ns: int) -> dict[str, Any]:
    """A message that was opened."""
    return {
        **_common(letter, at_ns),
        "ReturnPath": letter.sender.strip("<>"),
        "Date": _rfc3339(letter.made_ns if reading.date_ns is None else reading.date_ns),
        "Text": reading.text,
        "HTML": reading.html,
        "Inline": [],
        "Attachments": [
            {"PartID": str(number), "FileName": name, "ContentType": kind, "ContentID": "", "Size": size}
            for number, (name, kind, size) in enumerate(reading.attachments, start=2)
        ],
    }


def _address(address: Address) -> dict[str, str]:
    name, mailbox = address
    return {"Name": name, "Address": mailbox}


def _bcc(letter: Letter) -> list[Address]:
    """Who got it without standing in it."""
    named = {address.lower() for _, address in (*letter.head["to"], *letter.head["cc"])}
    return [("", address) for address in letter.recipients if address.lower() not in named]


def _rfc3339(moment_ns: int) -> str:
    seconds, rest = divmod(moment_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1_000_000:03}Z"
