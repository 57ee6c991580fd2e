"""A tap on a connection: how a fake ends one on purpose, exactly, on every stream protocol.

RST needs SO_LINGER with no time before the abort. A cut after n bytes counts what is written from the moment it was
set, so it works for any protocol above.
Never here: when to do it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from typing import Any

_NO_LINGER = struct.pack("ii", 1, 0)


def reset(transport: asyncio.BaseTransport) -> None:
    """End a connection with RST; what was not sent yet is lost."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):  # it may be closed already
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()  # type: ignore[attr-defined]  # every stream transport has it


class Tap:
    """Stands before a stream transport and is used in its place."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._left: int | None = None
        self._by_reset = False
        self._held: list[bytes] | None = None
        self.is_cut = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, as far as it may still."""
        if self.is_cut:
            return
        if self._held is not None:
            self._held.append(data)
            return
        if self._left is None:
            self._transport.write(data)
            return
        self._transport.write(data[: self._left])
        self._left -= min(len(data), self._left)
        if not self._left:
            self.end(by_reset=self._by_reset)

    def hold(self) -> None:
        """Keep what is written from now on, until `let_go`: head and body of a response then leave in one piece."""
        self._held = []

    def let_go(self) -> None:
        """Write what was kept."""
        held, self._held = self._held, None
        if held:
            self.write(b"".join(held))

    def limit(self, bytes_count: int, *, by_reset: bool) -> None:
        """So many bytes may still be written; then the connection ends. With 0 it ends now."""
        self._left, self._by_reset = bytes_count, by_reset
        if not bytes_count:
            self.end(by_reset=by_reset)

    def end(self, *, by_reset: bool) -> None:
        """End the connection: with RST, or orderly after what was written."""
        self.is_cut = True
        if by_reset:
            reset(self._transport)
        else:
            self._transport.close()

    def close(self) -> None:
        """As the server's protocol closes it: after a cut there is nothing left to do."""
        self.let_go()
        if not self.is_cut:
            self._transport.close()
