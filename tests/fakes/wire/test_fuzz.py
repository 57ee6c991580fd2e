"""Malformed HTTP, seeded: what every HTTP face has in common answers it, or ends the connection, and goes on."""

from __future__ import annotations

import random
import socket

import httpx
import pytest

from fakes.wire.hosting import Hosted
from tests.fakes.wire.echo import Echo

SEED = 20261130
COUNT = 2000
VALID = b"POST /notes HTTP/1.1\r\nhost: x\r\nkey: k\r\ncontent-length: 3\r\n\r\nabc"
CHUNKED = b"POST /notes HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"


def mutated(dice: random.Random) -> bytes:
    """A request with a few bytes changed, cut, doubled or put in; or no request at all."""
    if dice.random() < 0.2:
        return dice.randbytes(dice.randrange(1, 200))
    data = bytearray(dice.choice([VALID, CHUNKED]))
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(4):
            case 0:
                data[at : at + 1] = dice.randbytes(1)
            case 1:
                del data[at : at + dice.randrange(1, 9)]
            case 2:
                data[at:at] = data[: dice.randrange(1, 40)]
            case _:
                data[at:at] = dice.choice([b"\x00", b"\r\n", b":", b"999999999999", b"\xff\xfe", b" ", b"%00"])
    return bytes(data)


@pytest.mark.slow
def test_whatever_comes_there_is_no_bug_and_the_next_request_is_answered() -> None:
    dice = random.Random(SEED)
    with Hosted(Echo) as echo:
        for _ in range(COUNT):
            with socket.create_connection(echo.places["http"]) as sock:
                sock.sendall(mutated(dice))
                sock.shutdown(socket.SHUT_WR)
        assert httpx.post(echo.places["http"].url + "/notes", content="a").status_code == 200
        bugs = [entry.data for entry in echo.entries("bug") if "a bug of ours" not in entry.data["error"]]
        assert bugs == []
        assert echo.counts()["arrivals"] > COUNT / 50, "some of it must have been a request"
