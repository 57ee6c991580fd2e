"""The two transports of DNS: datagrams, and messages with a length before them on a stream (RFC 1035 4.2, RFC 7766).

A `Way` is the way back to whoever sent a message. Streams are served one message after the other, in order.
Bounds: CONNECTIONS_MAX and DATAGRAMS_MAX at once, MESSAGES_MAX on one connection, BUFFER_BYTES_MAX not read yet, IDLE_MAX_S
between messages; beyond them a connection is closed and a datagram lost, as servers do.
Never here: what a message says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from fakes.wire.board import Interrupted
from fakes.wire.desk import Call, Desk
from fakes.wire.points import Act, Point
from fakes.wire.tap import Tap

LENGTH_BYTES = 2
CONNECTIONS_MAX = 150
DATAGRAMS_MAX = 1000
MESSAGES_MAX = 100_000
BUFFER_BYTES_MAX = 1 << 18
IDLE_MAX_S = 600.0

Address = Any
"""As the socket library has it."""


class Way(Protocol):
    """The way back to the sender of a message."""

    is_datagram: bool

    @property
    def is_cut(self) -> bool:
        """Was it ended on purpose?"""

    def write(self, message: bytes) -> None: ...

    def limit(self, bytes_count: int, *, by_reset: bool) -> None:
        """Only so many bytes of what is written from now on arrive."""

    def end(self, *, by_reset: bool) -> None:
        """Nothing arrives any more."""


Handle = Callable[[bytes, Way], Awaitable[None]]


class Streams:
    """The listening side of one stream port."""

    def __init__(self, desk: Desk, handle: Handle, *, idle_max_s: float = IDLE_MAX_S) -> None:
        self.desk = desk
        self.handle = handle
        self.idle_max_s = idle_max_s
        self.open: set[Stream] = set()

    async def serve(self, sock: Any) -> None:
        """Begin to answer on this listening socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Stream(self), sock=sock)

    def close(self) -> None:
        """Stop listening and end every connection."""
        self._server.close()
        for stream in list(self.open):
            stream.abort()


class Stream(asyncio.Protocol):
    """One connection."""

    is_datagram = False

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._buffer = bytearray()
        self._more = asyncio.Event()
        self._is_ended = False
        self._is_idle = False

    @property
    def is_cut(self) -> bool:
        return self._tap.is_cut

    def write(self, message: bytes) -> None:
        self._tap.write(len(message).to_bytes(LENGTH_BYTES, "big") + message)

    def limit(self, bytes_count: int, *, by_reset: bool) -> None:
        self._tap.limit(bytes_count, by_reset=by_reset)

    def end(self, *, by_reset: bool) -> None:
        self._tap.end(by_reset=by_reset)

    def abort(self) -> None:
        """End it at once, whatever is being done for it."""
        self._tap.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "streams are served by stream transports"
        self._tap = Tap(transport)
        if len(self._streams.open) >= CONNECTIONS_MAX:
            self._tap.abort()
            self._is_ended = True
            return
        self._streams.open.add(self)
        self._tap.pause_reading()
        self._streams.desk.go(self._run())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) >= BUFFER_BYTES_MAX:
            self._tap.pause_reading()
        self._more.set()

    def eof_received(self) -> bool:
        self._is_ended = True
        self._more.set()
        return True  # the sender may still read what is being answered

    def connection_lost(self, error: Exception | None) -> None:
        self._is_ended = True
        self._more.set()
        self._streams.open.discard(self)

    async def _run(self) -> None:
        if not await self._connect():
            return
        self._tap.resume_reading()
        for _ in range(MESSAGES_MAX):
            message = await self._next()
            if message is None:
                break
            await self._streams.handle(message, self)
            if self.is_cut:
                return
        self._tap.close()

    async def _connect(self) -> bool:
        desk, call = self._streams.desk, Call("", "connect")
        try:
            await desk.cross(Point.CONNECT, call)
        except Interrupted as cut:
            desk.cut(call, cut.action, cut.point)
            self.end(by_reset=cut.action.act is Act.RESET)
            return False
        return not self._tap.is_closing()

    async def _next(self) -> bytes | None:
        """The next message; None when the connection ends, or nothing came for too long."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._streams.idle_max_s, self._idle)
        try:
            while (message := self._taken()) is None:
                if self._is_ended or self._is_idle:
                    if self._buffer:
                        self._streams.desk.note("torn", "", {"bytes": len(self._buffer), "transport": "tcp"})
                    return None
                self._more.clear()
                await self._more.wait()
            return message
        finally:
            timer.cancel()

    def _idle(self) -> None:
        self._is_idle = True
        self._more.set()

    def _taken(self) -> bytes | None:
        if len(self._buffer) < LENGTH_BYTES:
            return None
        end = LENGTH_BYTES + int.from_bytes(self._buffer[:LENGTH_BYTES], "big")
        if len(self._buffer) < end:
            return None
        message = bytes(self._buffer[LENGTH_BYTES:end])
        del self._buffer[:end]
        if not self._tap.is_reading() and not self._tap.is_closing():
            self._tap.resume_reading()
        return message


class Datagrams(asyncio.DatagramProtocol):
    """One datagram port. Datagrams are handled side by side."""

    def __init__(self, desk: Desk, handle: Handle) -> None:
        self._desk = desk
        self._handle = handle
        self._in_hand = 0

    async def serve(self, sock: Any) -> None:
        """Begin to answer on this socket."""
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=sock)

    def close(self) -> None:
        """Stop answering."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def datagram_received(self, data: bytes, sender: Address) -> None:
        if self._in_hand >= DATAGRAMS_MAX:
            self._desk.note("torn", "", {"bytes": len(data), "transport": "udp"})
            return
        self._in_hand += 1
        self._desk.go(self._handled(data, sender))

    async def _handled(self, data: bytes, sender: Address) -> None:
        try:
            await self._handle(data, DatagramWay(self._transport, sender))
        finally:
            self._in_hand -= 1


class DatagramWay:
    """Back to the sender of one datagram. It has no connection, so every end of it is silence."""

    is_datagram = True

    def __init__(self, transport: asyncio.DatagramTransport, sender: Address) -> None:
        self._transport = transport
        self._sender = sender
        self._left: int | None = None
        self.is_cut = False

    def write(self, message: bytes) -> None:
        if self.is_cut or self._transport.is_closing():
            return
        part = message if self._left is None else message[: self._left]
        self.is_cut = len(part) < len(message)
        self._transport.sendto(part, self._sender)

    def limit(self, bytes_count: int, *, by_reset: bool) -> None:
        self._left = bytes_count
        self.is_cut = not bytes_count

    def end(self, *, by_reset: bool) -> None:
        self.is_cut = True
