"""Seeded garbage on all three interfaces: it is answered, nothing of ours breaks, and mail goes on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from fakes.email.face import EmailFake
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from tests.fakes.email.post import (
    ALICE,
    BOB,
    HOST,
    KEY,
    PATIENCE_S,
    SECOND_NS,
    api,
    body,
    by_smtplib,
    hosting,
    in_mailbox,
    message,
    smtp_port,
)
from tests.fakes.wire.garbage import fire, shots

SESSION = (
    f"EHLO client.test\r\nMAIL FROM:<{ALICE}> SIZE=100 BODY=8BITMIME SMTPUTF8\r\nRCPT TO:<{BOB}>\r\nDATA\r\n"
    f'From: "A" <{ALICE}>\r\nTo: {BOB}\r\nSubject: =?utf-8?q?x?=\r\nX-Operation: op%20\r\nX-Not-After-Ns: 1\r\n'
    "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>\r\n--b--\r\n"
    ".\r\nRSET\r\nVRFY x\r\nHELP MAIL\r\nNOOP\r\n"
).encode()
ODD = (
    b"MAIL FROM:<>",
    b"MAIL FROM:<<<>>>",
    b"MAIL FROM:",
    b"MAIL FROM:<@a,@b:c@d>",
    b'MAIL FROM:<"a b"@c> SIZE=99999999999999999999',
    b'MAIL FROM:<"\\',
    b"MAIL FROM:<a@[1.2.3",
    b"MAIL FROM:<a@b> SIZE= BODY==",
    b"RCPT TO:<a@b> NOTIFY=NEVER",
    b"RCPT TO:<(",
    b"RCPT TO:\xff\xfe<\xe4@x>",
    b"RCPT TO:<a@b\x00c>",
    b"AUTH LOGIN",
    b"AUTH PLAIN \xff",
    b"AUTH PLAIN AAAA",
    b"AUTH",
    b"HELP \xff\xff",
    b"VRFY <\xed\xa0\x80>",
    b"VRFY (((",
    b"HELO",
    b"EHLO \x00\xff",
    b"STARTTLS",
    b"DATA x",
    b"QUIT x",
    b"\x00",
    b"\r\r\r",
    b".",
    b"EHLO " + b"x" * 3000,
    b"\xff" * 600,
    b"MAIL FROM:<" + b"(" * 400 + b">",
)


def chunks(seed: int, count: int) -> Iterator[bytes]:
    """What a broken client might send on one connection."""
    random = Random(seed)
    for _ in range(count):
        match random.randrange(4):
            case 0:
                yield random.randbytes(random.randrange(400))
            case 1:
                yield b"".join(random.choice(ODD) + random.choice((b"\r\n", b"\n", b"\r", b"")) for _ in range(6))
            case 2:
                yield b"EHLO x\r\n" + b"".join(random.choice(ODD) + b"\r\n" for _ in range(6))
            case _:
                yield _bent(random)


def _bent(random: Random) -> bytes:
    """A whole session with something wrong in it."""
    session = bytearray(SESSION)
    for _ in range(random.randrange(1, 12)):
        at = random.randrange(len(session))
        match random.randrange(3):
            case 0:
                session[at] = random.randrange(256)
            case 1:
                del session[at : at + random.randrange(1, 30)]
            case _:
                session[at:at] = random.choice((*ODD, b"\r\n", b"\n", b"\r\n.\r\n", b"x" * 1500))
    return bytes(session)


def _exchange(port: int, chunk: bytes, number: int) -> bytes:
    """Send it, and read until the server has come to the end of it, or has ended the connection."""
    mark = b"SYNC%d" % number
    with socket.create_connection((HOST, port), timeout=PATIENCE_S) as client:
        client.sendall(chunk + b"\r\n.\r\n.\r\n" + mark + b"\r\n")
        said = b""
        try:
            while mark not in said and (part := client.recv(65536)):
                said += part
        except ConnectionResetError:
            pass  # It ended the connection with some of this unread.
        return said


@pytest.mark.slow
def test_smtp_survives_broken_clients() -> None:
    with hosting(smtp_user="tester", size_max=2000, bounced_recipients=("*",)) as hosted:
        codes = set()
        for number, chunk in enumerate(chunks(11, 2000)):
            said = _exchange(smtp_port(hosted), chunk, number)
            assert said.startswith(b"220 "), chunk
            codes |= {line[:3] for line in said.split(b"\r\n")}
        assert {b"250", b"354", b"334", b"500", b"501", b"503", b"552", b"553", b"555"} <= codes
        hosted.advance(2 * SECOND_NS)
        _still_works(hosted)


REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/emails", body(reference="r", metadata={"a": "b"}, headers={"X-A": "b"}, scheduled_at="2026-01-01")),
    ("POST", "/emails", body(cc=[BOB], html="<p>")),
    ("POST", "/emails/email-1/cancel", {}),
    ("GET", "/emails", {}),
    ("GET", "/emails/email-1", {}),
    ("GET", "/api/v1/messages", {}),
    ("GET", "/api/v1/search", {}),
    ("GET", "/api/v1/message/email-1", {}),
    ("GET", "/api/v1/message/email-1/raw", {}),
    ("GET", "/mails/email-1", {}),
    ("GET", "/", {}),
    ("DELETE", "/api/v1/messages", {"IDs": ["email-2"]}),
]


@pytest.mark.slow
def test_the_http_interfaces_survive_broken_clients() -> None:
    with hosting() as hosted:
        assert isinstance(hosted.fake, EmailFake)
        front = Front(hosted.desk, hosted.fake.application(), hosted.fake)
        headers = [(b"authorization", b"Bearer " + KEY.encode())]
        statuses = fire(hosted, front, shots(5, 3000, REQUESTS, headers))
        assert sum(statuses.values()) == 3000
        assert set(statuses) <= {200, 400, 401, 404, 405, 408, 409}
        assert min(statuses[200], statuses[400], statuses[404], statuses[409]) > 10
        hosted.advance(2 * SECOND_NS)
        _still_works(hosted)


@pytest.mark.slow
def test_any_field_may_have_any_value() -> None:
    random = Random(13)
    odd: list[Any] = [
        None,
        True,
        -1,
        1 << 70,
        1.5,
        "",
        " ",
        "\x00",
        "é\u202e\U0001f600",
        "a" * 600,
        [],
        {},
        [[]],
        "a@b",
        "<@>",
    ]
    fields = (*body(), "cc", "bcc", "reply_to", "html", "headers", "reference", "metadata", "scheduled_at")
    with hosting() as hosted, api(hosted) as client:
        statuses = set()
        for _ in range(1000):
            bent = body()
            for _ in range(random.randrange(1, 3)):
                value = random.choice(odd)
                bent[random.choice(fields)] = random.choice((value, [value], {"X-A": value}, {"operation": value}))
            statuses.add(client.post("/emails", json=bent).status_code)
        assert statuses == {200, 400}
        client.get("/")
        _still_works(hosted)


def _still_works(hosted: Hosted) -> None:
    with api(hosted) as client:
        by_smtplib(smtp_port(hosted), message(subject="still here"))
        assert len(in_mailbox(client, 'subject:"still here"')) == 1
        assert client.get("/").status_code == 200
