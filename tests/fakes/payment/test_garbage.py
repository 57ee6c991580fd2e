"""Thousands of malformed and mutated requests, the same ones in every run: no bug, and the fake still works."""

from __future__ import annotations

import random
import socket
from typing import Any

import pytest

from fakes.payment.endpoints import ENDPOINTS
from fakes.wire.hosting import Hosted
from tests.fakes.payment.customer import SECRET, Shop, form

REQUESTS = 2500
SEED = 20261128
ODD = [
    "",
    "0",
    "-1",
    "1e9",
    "9" * 30,
    "true",
    "null",
    "[]",
    "{}",
    "\u0000",
    "é" * 40,
    "𝒳",
    "'",
    '"',
    "%",
    "pi_1",
    "x" * 3000,
]
NAMES = [
    "amount",
    "currency",
    "confirm",
    "metadata",
    "metadata[a]",
    "expand",
    "expand[]",
    "created[gt]",
    "card[number]",
    "a[b][c]",
]
VALID: dict[str, dict[str, Any]] = {
    "payment_intent.create": {"amount": 5, "currency": "eur", "confirm": True, "payment_method": "pm_card_visa"},
    "payment_method.create": {"type": "card", "card": {"number": "4242424242424242", "exp_month": 1, "exp_year": 2040}},
    "webhook_endpoint.create": {"url": "http://127.0.0.1:9/", "enabled_events": ["x.y"]},
    "refund.create": {"payment_intent": "pi_00000001"},
}


def requests(chance: random.Random) -> Any:
    """Method, target and body of many requests, as bytes."""
    endpoints = list(ENDPOINTS.items())
    for _ in range(REQUESTS):
        (method, path), endpoint = chance.choice(endpoints)
        path = path.replace(
            "*", chance.choice(["pi_00000001", "cus_00000001", "ch_00000001", "%00", "%ff", "a%2Fb", "x" * 80])
        )
        params = {name: chance.choice(ODD) for name in chance.sample([*NAMES, *endpoint.table], chance.randint(0, 4))}
        body = form({**VALID.get(endpoint.name, {}), **params}).encode()
        for _ in range(chance.choice([0, 0, 1, 3])):
            place = chance.randrange(len(body) + 1)
            body = body[:place] + bytes([chance.randrange(256)]) + body[place + chance.randint(0, 2) :]
        if method == "GET" or chance.random() < 0.1:
            asked = "".join(f"%{byte:02x}" if byte <= 32 or byte >= 127 or byte == 35 else chr(byte) for byte in body)
            yield method, f"{path}?{asked}"[:4000], b""
        else:
            yield chance.choice([method] * 8 + ["PUT", "PATCH", "OPTIONS"]), path, body


class Raw:
    """A kept connection on which anything can be sent; the status of each answer."""

    def __init__(self, hosted: Hosted) -> None:
        self._place = hosted.places["http"]
        self._open()

    def _open(self) -> None:
        self._socket = socket.create_connection(self._place, timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method: str, target: str, body: bytes, key: str) -> int:
        head = f"{method} {target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {SECRET}\r\nidempotency-key: {key}\r\n"
        self._socket.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            part = self._socket.recv(65536)
            assert part, (method, target, body)
            data += part
        head_, _, rest = data.partition(b"\r\n\r\n")
        length = next(int(line[16:]) for line in head_.lower().split(b"\r\n") if line.startswith(b"content-length: "))
        while len(rest) < length:
            rest += self._socket.recv(65536)
        return int(data.split()[1])

    def say(self, text: bytes) -> None:
        """Bytes that are no request."""
        self._socket.sendall(text)
        self._socket.close()
        self._open()


@pytest.mark.slow
def test_garbage_is_answered_and_nothing_breaks(hosted: Hosted, shop: Shop) -> None:
    shop.post("/v1/customers")
    shop.pay()
    raw, chance = Raw(hosted), random.Random(SEED)
    statuses: dict[int, int] = {}
    for number, (method, target, body) in enumerate(requests(chance)):
        status = raw.ask(method, target, body, f"k{number % 500}")
        statuses[status] = statuses.get(status, 0) + 1
    for length in range(0, 200, 5):
        raw.say(chance.randbytes(length))
    assert hosted.entries("bug") == []
    assert set(statuses) <= {200, 400, 402, 404}
    assert min(statuses[200], statuses[400], statuses[404]) > 50, statuses
    assert shop.pay()["status"] == "succeeded"


@pytest.mark.parametrize(
    "header", ["authorization", "idempotency-key", "x-operation", "x-target", "stripe-version", "content-type"]
)
def test_odd_headers_are_answered(hosted: Hosted, header: str) -> None:
    for value in (b"\xff\xfe", b"x" * 3000, b"a\tb", b" ", b'"', "é".encode(), b"a" * 254 + b" b" * 200):
        connection = socket.create_connection(hosted.places["http"], timeout=10)
        lines = {b"host": b"x", b"authorization": b"Bearer " + SECRET.encode(), b"content-length": b"0"}
        lines[header.encode()] = value
        head = b"\r\n".join(name + b": " + text for name, text in lines.items())
        connection.sendall(b"POST /v1/customers HTTP/1.1\r\n" + head + b"\r\n\r\n")
        assert connection.recv(65536).split()[1] in (b"200", b"400", b"401")
        connection.close()
