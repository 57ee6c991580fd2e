"""What a caller sees on a real socket, as a code: one small server for each way a connection can end."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from fakes.core import wire_format as wire
from harness.model.boundary import Purpose
from harness.model.errors import ProviderFailure
from harness.model.wire import Reply, Request
from harness.rigs.provider_client import ProviderClient

CHARGE = Request("payment", "charge", Purpose.EFFECT, "billing.charge", "ORD-1", {"amount": 1}, key="k")
LOOKUP = Request("payment", "charge", Purpose.LOOKUP, "billing.charge", "ORD-1")
TIMEOUT_S = 5.0
WHOLE = json.dumps(wire.write_reply(Reply("payment-1"))).encode()
Behaviour = Callable[[socket.socket], None]


def answer(status: str, body: bytes, *, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\ncontent-length: {size}\r\n\r\n".encode() + body


def says(text: bytes) -> Behaviour:
    """Read the request, write this, end the connection."""
    return lambda connection: connection.sendall(text)


def resets(connection: socket.socket) -> None:
    """End with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@contextmanager
def server(*behaviours: Behaviour) -> Iterator[ProviderClient]:
    """A server that treats its connections by these behaviours, one after the other, and a client of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, behaviours), daemon=True)
        thread.start()
        client = ProviderClient({"payment": listening.getsockname()})
        try:
            yield client
        finally:
            client.close()
            thread.join(TIMEOUT_S)
    assert not thread.is_alive(), "the server met every connection it was made for"


def _serve(listening: socket.socket, behaviours: tuple[Behaviour, ...]) -> None:
    for behave in behaviours:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            behave(connection)


def outcome(client: ProviderClient, timeout_s: float = TIMEOUT_S) -> str:
    try:
        client.call(LOOKUP, "1", timeout_s)
    except ProviderFailure as failure:
        return failure.code
    return "ok"


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (says(answer("200 OK", WHOLE)), "ok"),
        (says(b""), "connection-closed"),
        (resets, "connection-reset"),
        (says(b"HTTP/1.1 2"), "truncated-response"),
        (says(b"HTTP/1.1 200 OK\r\nserver: x\r\n"), "truncated-response"),
        (says(answer("200 OK", WHOLE[:20], length=len(WHOLE))), "truncated-response"),
        (says(answer("200 OK", WHOLE[:20])), "truncated-response"),
        (says(answer("200 OK", b"{}")), "truncated-response"),
        (says(answer("402 Payment Required", b'{"code": "declined"}')), "declined"),
        (says(answer("500 Oh", b'{"code": "strange-new-code"}')), "strange-new-code"),
        (says(answer("502 Bad Gateway", b"<html>")), "truncated-response"),
    ],
)
def test_each_way_a_call_can_end_has_its_code(behaviour: Behaviour, code: str) -> None:
    with server(behaviour) as client:
        assert outcome(client) == code


def test_silence_is_a_timeout() -> None:
    let_go = threading.Event()
    with server(lambda connection: let_go.wait(TIMEOUT_S) and None) as client:
        assert outcome(client, timeout_s=0.05) == "timeout"
        let_go.set()


def test_where_nobody_listens_the_connection_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
    assert outcome(ProviderClient({"payment": address})) == "connection-refused"


def test_a_connection_that_has_failed_is_not_used_again() -> None:
    with server(says(answer("200 OK", WHOLE[:20], length=len(WHOLE))), says(answer("200 OK", WHOLE))) as client:
        assert [outcome(client), outcome(client)] == ["truncated-response", "ok"]


def test_an_idle_connection_that_the_other_side_has_ended_is_replaced_before_sending() -> None:
    """Otherwise the first call after a provider's restart would be in doubt for nothing."""
    ended = threading.Event()

    def answers_and_ends(connection: socket.socket) -> None:
        connection.sendall(answer("200 OK", WHOLE))
        connection.shutdown(socket.SHUT_RDWR)
        ended.set()

    with server(answers_and_ends, says(answer("200 OK", WHOLE))) as client:
        assert outcome(client) == "ok"
        assert ended.wait(TIMEOUT_S)
        assert outcome(client) == "ok"


def test_a_failed_call_is_sent_once() -> None:
    """The server would meet a second connection if the client sent again by itself."""
    arrivals: list[bytes] = []

    def counts(connection: socket.socket) -> None:
        arrivals.append(b"one")

    with server(counts) as client, pytest.raises(ProviderFailure):
        client.call(CHARGE, "1", TIMEOUT_S)
    assert len(arrivals) == 1
