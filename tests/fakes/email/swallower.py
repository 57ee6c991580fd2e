"""A relay before an SMTP server that passes everything on, and swallows the answer to the final dot.

The server has answered when the connection to the client is cut: so the message is the server's, and the client was
not told. Never here: what either of them makes of it.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.email.post import HOST, PATIENCE_S

FINAL_DOT = b"\r\n.\r\n"


class Swallower:
    """`swallowed` are the answers it kept to itself; with `swallows_left` at 0 it only passes on."""

    def __init__(self, port: int, swallows: int) -> None:
        self._server_port = port
        self.swallows_left = swallows
        self.swallowed: list[bytes] = []
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        """One connection after the other."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, socket.create_connection((HOST, self._server_port), timeout=PATIENCE_S) as server:
                client.settimeout(PATIENCE_S)
                self._relay(client, server)

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        """SMTP takes turns: the server speaks first, and then each time once it has got something whole."""
        _pass_reply(server, client)
        content = b""
        in_data = False
        while said := client.recv(65536):
            server.sendall(said)
            content = content + said if in_data else said
            if (in_data and not content.endswith(FINAL_DOT)) or (not in_data and not said.endswith(b"\n")):
                continue
            if in_data and self.swallows_left:
                self.swallows_left -= 1
                self.swallowed.append(_reply(server))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            reply = _pass_reply(server, client)
            in_data, content = reply.startswith(b"354"), b""


def _pass_reply(server: socket.socket, client: socket.socket) -> bytes:
    reply = _reply(server)
    client.sendall(reply)
    return reply


def _reply(server: socket.socket) -> bytes:
    """One whole reply: its last line has no hyphen after the code."""
    reply = b""
    while not (reply.endswith(b"\r\n") and reply.split(b"\r\n")[-2][3:4] != b"-"):
        part = server.recv(65536)
        if not part:
            break
        reply += part
    return reply


@contextmanager
def swallowing(port: int, swallows: int = 1) -> Iterator[Swallower]:
    relay = Swallower(port, swallows)
    try:
        yield relay
    finally:
        relay.close()
