"""HTTP faces: any ASGI application behind uvicorn's h11 protocol, with the hook points around it.

The application finds its `Call` in the scope (`call_of(request)`), says what it is about, and lets `desk.treat` or
`desk.read` do the rest. It answers normally or raises; an `Interrupted` that leaves it is done here: cuts on the
connection, statuses in the words of `HttpFake.refusal`. A response is held back until it is complete (unless the
application streams), so that a cut can be counted from its first byte.

Bounds: BODY_BYTES_MAX, HEADERS_MAX, HEAD_BYTES_MAX. Beyond them: 413 and 431, as servers do.
Never here: a provider.
"""

from __future__ import annotations

import asyncio
import json
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, ClassVar, NamedTuple, Protocol

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from fakes.wire.board import Interrupted
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Fake, Place, Sockets
from fakes.wire.points import PASS, Act, Action, Facts, Point
from fakes.wire.tap import Tap
from harness.model.errors import ERRORS, ProviderFailure

BODY_BYTES_MAX = 1 << 20
HEADERS_MAX = 100
HEAD_BYTES_MAX = 32 << 10
LINE_LENGTH_MAX = 200
IDLE_MAX_S = 3600
"""The server must not end idle connections: a client would see a failure that nobody asked for."""

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_CALL = "knownstate.call"
_TAP = "knownstate.tap"


class Refusal(NamedTuple):
    """An answer in a provider's words."""

    headers: Mapping[str, str]
    body: bytes


def call_of(request: Any) -> Call:
    """The call of a Starlette request (or of anything with a `scope`)."""
    call: Call = request.scope[_CALL]
    return call


class Words(Protocol):
    """How a provider words what its application did not say itself."""

    def refusal(self, code: int, call: Call) -> Refusal: ...

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]: ...


def json_refusal(data: Any) -> Refusal:
    """A JSON body."""
    return Refusal({"content-type": "application/json"}, json.dumps(data).encode())


class HttpFake(Fake):
    """A fake whose only port speaks HTTP."""

    port: ClassVar[str] = "http"

    @abstractmethod
    def application(self) -> Application:
        """The ASGI application, made once."""

    def refusal(self, code: int, call: Call) -> Refusal:
        """How this provider words a status it did not come to itself (a hook's, or a bound's). JSON unless overridden."""
        return json_refusal({"error": {"message": f"status {code}"}})

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        """How this provider words a domain's refusal that the application lets through. By the table of errors."""
        spec = ERRORS.get(failed.code)
        status = spec.status if spec is not None and spec.status else 500
        return status, json_refusal({"code": failed.code, "message": str(failed)})

    async def serve(self, sockets: Mapping[str, Sockets]) -> None:
        self._server = HttpServer(self.desk, self.application(), self)
        await self._server.serve(sockets[self.port]["tcp"])

    async def close(self) -> None:
        await self._server.close()

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        return {"url": places[self.port].url, "env": {}}


class HttpServer:
    """One listening HTTP port. A fake of several protocols makes one for its HTTP part."""

    def __init__(self, desk: Desk, application: Application, words: Words) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # malformed requests are journalled, not printed
        self._desk = desk
        self._config = uvicorn.Config(
            Front(desk, application, words),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            timeout_keep_alive=IDLE_MAX_S,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        )
        self._config.load()
        self._state = ServerState()

    async def serve(self, sock: Any) -> None:
        """Begin to answer on this listening socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Protocol(self._desk, self._config, self._state, loop), sock=sock
        )

    async def close(self) -> None:
        """Stop listening and end every connection."""
        self._server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        for task in list(self._state.tasks):
            task.cancel()
        await asyncio.gather(*self._state.tasks, return_exceptions=True)


class _Protocol(H11Protocol):
    """uvicorn's, with a tap on its transport and the CONNECT point."""

    def __init__(self, desk: Desk, config: uvicorn.Config, state: ServerState, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(config, state, {}, loop)
        self._desk = desk
        self._inner = config.loaded_app
        self.app = self._tapped

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        tap = Tap(transport)
        super().connection_made(tap)  # type: ignore[arg-type]
        if self._desk.board.wants(Point.CONNECT):
            transport.pause_reading()
            self._desk.go(self._connect(tap))

    def eof_received(self) -> None:
        """The peer has said its last. An unfinished request cannot be finished any more."""
        super().eof_received()

    async def _connect(self, tap: Tap) -> None:
        call = Call("", "connect")
        try:
            await self._desk.cross(Point.CONNECT, call)
        except Interrupted as cut:
            self._desk.cut(call, cut.action, cut.point)
            tap.end(by_reset=cut.action.act is Act.RESET)
            return
        if not tap.is_closing():
            tap.resume_reading()

    async def _tapped(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_TAP] = self.transport
        await self._inner(scope, receive, send)


class _TooLarge(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class Front:
    """The ASGI frame around an application: arrival, body, hooks, and the response as a whole."""

    def __init__(self, desk: Desk, application: Application, words: Words) -> None:
        self._desk = desk
        self._application = application
        self._words = words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        line = f"{scope['method']} {scope['path']}"[:LINE_LENGTH_MAX]
        tap: Tap = scope[_TAP]
        response = _Response(self, tap, send)
        try:
            body = await _body(scope, receive)
        except ConnectionError:
            self._desk.note("torn", "", {"line": line})  # less than a request: it has not arrived
            return
        except _TooLarge as refused:
            call = self._desk.arrived(line)
            scope["headers"].append((b"connection", b"close"))
            await response.refuse(call, refused.code)
            return
        call = scope[_CALL] = self._desk.arrived(line)
        response.call = call
        try:
            await self._desk.cross(Point.RECEIVED, call)
            await self._application(scope, _given(body, receive), response.take)
            await response.finish(call)
        except Interrupted as cut:
            await self._interrupt(call, response, cut)
        except ProviderFailure as failed:
            code, refusal = self._words.failure(failed, call)
            await response.say(call, code, refusal)
        except Exception as error:  # ours: it must not look like a provider's answer for long, so it is noted
            self._desk.note_bug(error, call.number)
            await response.refuse(call, 500)

    async def _interrupt(self, call: Call, response: _Response, cut: Interrupted) -> None:
        if cut.action.act is Act.STATUS:
            await response.refuse(call, cut.action.code, cut.action.retry_after_s)
            return
        self._desk.cut(call, cut.action, cut.point)
        response.tap.end(by_reset=cut.action.act is Act.RESET)

    async def responding(self, call: Call, tap: Tap) -> None:
        """Cross RESPONDING: a truncation is set on the connection. Raises Interrupted for a cut."""
        if self._desk.board.is_empty:
            return
        action = await self._desk.cross(Point.RESPONDING, call)
        if action.act is Act.TRUNCATE:
            self._desk.cut(call, action, Point.RESPONDING)
            tap.limit(action.bytes_count, by_reset=action.by_reset)

    async def responded(self, call: Call, tap: Tap, code: int, bytes_count: int) -> None:
        """The response has been handed over to the network."""
        if tap.is_cut:
            return
        self._desk.responded(call, code=code, bytes=bytes_count)
        if not self._desk.board.is_empty:
            await self._desk.cross(Point.RESPONDED, call)

    def refused(self, code: int, call: Call) -> Refusal:
        return self._words.refusal(code, call)


class _Response:
    """What the application says, held back until it is complete or begins to stream."""

    def __init__(self, front: Front, tap: Tap, send: Send) -> None:
        self._front = front
        self.tap = tap
        self._send = send
        self._start: Message | None = None
        self._body = b""
        self._is_streaming = False
        self.call = Call("", "")

    async def take(self, message: Message) -> None:
        """For the application: its `send`."""
        if message["type"] == "http.response.start":
            self._start = message
        elif self._is_streaming:
            await self._send(message)
        elif message.get("more_body", False):
            await self._front.responding(self.call, self.tap)
            self._is_streaming = True
            assert self._start is not None, "a body before its start"
            await self._send(self._start)
            await self._send({**message, "body": self._body + message.get("body", b"")})
        else:
            self._body += message.get("body", b"")

    async def finish(self, call: Call) -> None:
        """Write what was held back, through RESPONDING and RESPONDED."""
        assert self._start is not None, "the application said nothing"
        if not self._is_streaming:
            await self._front.responding(call, self.tap)
            self.tap.hold()
            await self._send(self._start)
            await self._send({"type": "http.response.body", "body": self._body})
            self.tap.let_go()
        await self._front.responded(call, self.tap, self._start["status"], len(self._body))

    async def refuse(self, call: Call, code: int, retry_after_s: int = -1) -> None:
        """Answer with a status instead of what the application said."""
        if self._is_streaming:
            self.tap.end(by_reset=False)
            return
        await self.say(call, code, self._front.refused(code, call), retry_after_s)

    async def say(self, call: Call, code: int, refusal: Refusal, retry_after_s: int = -1) -> None:
        """Answer with this."""
        headers: Headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in refusal.headers.items()]
        headers.append((b"content-length", str(len(refusal.body)).encode()))
        if retry_after_s >= 0:
            headers.append((b"retry-after", str(retry_after_s).encode()))
        self._start = {"type": "http.response.start", "status": code, "headers": headers}
        self._body = refusal.body
        try:
            await self.finish(call)
        except Interrupted as cut:
            await self._front._interrupt(call, self, cut)


async def _body(scope: Scope, receive: Receive) -> bytes:
    """The whole body. Raises ConnectionError if it does not come, _TooLarge beyond a bound."""
    if len(scope["headers"]) > HEADERS_MAX:
        raise _TooLarge(431)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client went away")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES_MAX:
            raise _TooLarge(413)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _given(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives this body first, and then what the server says: that the client went away."""
    is_given = False

    async def give() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


__all__ = ["PASS", "Action", "Facts", "Front", "HttpFake", "HttpServer", "Refusal", "call_of"]
