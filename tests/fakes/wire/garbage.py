"""Seeded garbage: requests that a JSON interface must survive. Equal seeds make equal requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from fakes.wire.tap import Tap

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1 << 70,
    10**4000,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    " ",
    "\x00",
    "é\u202e\U0001f600",
    "a" * 5000,
    "<script>alert(1)</script>",
    "../../etc",
    [],
    {},
    [[[[]]]],
    {"a": {"b": [None]}},
    "grant",
    "deny",
    "1",
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"idempotency-key", b"k"),
    (b"idempotency-key", b"\xff%ff%00"),
    (b"idempotency-key", b"k" * 300),
    (b"x-operation", b"%E2%82"),
    (b"x-not-after-ns", b"1"),
    (b"x-not-after-ns", b"9" * 40),
    (b"x-not-after-ns", b"\xb2"),
    (b"x-not-after-ns", b"-5"),
    (b"authorization", b"Bearer \xff\xfe"),
    (b"content-type", b"\xff"),
)


class Shot(NamedTuple):
    """One request in ASGI's terms."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


def shots(
    seed: int,
    count: int,
    valid: Sequence[tuple[str, str, Mapping[str, Any]]],
    headers: Sequence[tuple[bytes, bytes]] = (),
) -> Iterator[Shot]:
    """Requests near the valid ones: (method, path, body)."""
    random = Random(seed)
    for _ in range(count):
        method, path, body = random.choice(valid)
        if random.random() < 0.1:
            method = random.choice(("GET", "POST", "PUT", "DELETE", "PATCH", "BREW"))
        if random.random() < 0.15:
            path = _bent(random, path)
        query = random.choice((b"", b"", b"state=%ff", b"state=pending&sku=\xff", b"reference=%00", b"=&&=&a=[]"))
        extra = [random.choice(HEADERS)] if random.random() < 0.3 else []
        yield Shot(method, path, query, [*headers, *extra], _body(random, body))


def _bent(random: Random, path: str) -> str:
    at = random.randrange(1, len(path) + 1)
    return path[:at] + random.choice(("\ufffd", "%00", "//", "é", "..", " ", "x" * 300, "\x00")) + path[at:]


def _body(random: Random, valid: Mapping[str, Any]) -> bytes:
    match random.randrange(6):
        case 0:
            return random.randbytes(random.randrange(60))
        case 1:
            text = bytearray(json.dumps(valid).encode())
            for _ in range(random.randrange(1, 4)):
                text[random.randrange(len(text))] = random.randrange(256)
            return bytes(text)
        case 2:
            return b"[" * random.randrange(1, 3000) + b"]" * random.randrange(3000)
        case 3:
            return json.dumps(valid)[: random.randrange(len(json.dumps(valid)) + 1)].encode()
        case _:
            bent = dict(valid)
            for _ in range(random.randrange(3)):
                bent[random.choice([*valid, "extra", "id", "digest"])] = random.choice(ODD)
            return _dumped(bent)


def _dumped(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except ValueError:  # a whole number with too many digits for Python to print
        return b'{"quantity": 1' + b"0" * 5000 + b"}"


class _Wire:
    """A transport that takes everything."""

    def close(self) -> None: ...

    def abort(self) -> None: ...


def fire(hosted: Hosted, front: Front, all_shots: Iterator[Shot]) -> dict[int, int]:
    """Fire them at the face inside its loop, without sockets; how often each status was answered."""
    statuses: dict[int, int] = {}

    async def firing() -> None:
        for shot in all_shots:
            status = await _answered(front, shot)
            statuses[status] = statuses.get(status, 0) + 1

    hosted.run(firing())
    return statuses


async def _answered(front: Front, shot: Shot) -> int:
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": shot.body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http",
        "method": shot.method,
        "path": shot.path,
        "raw_path": shot.path.encode(errors="replace"),
        "root_path": "",
        "scheme": "http",
        "query_string": shot.query,
        "headers": list(shot.headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "http_version": "1.1",
        "knownstate.tap": Tap(_Wire()),  # type: ignore[arg-type]
    }
    await front(scope, receive, send)  # type: ignore[arg-type]
    return status
