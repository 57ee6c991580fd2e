"""How the tests of the mail provider send: by two client libraries with their defaults, by HTTP, and by bare lines.

Never here: a check.
"""

from __future__ import annotations

import asyncio
import smtplib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any, NamedTuple

import aiosmtplib
import httpx

from fakes.email.face import EmailFake
from fakes.email.options import EmailOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted

HOST = "127.0.0.1"
KEY = EmailOptions().api_key
SECOND_NS = 1_000_000_000
PATIENCE_S = 5.0
SHORT_S = 0.15
SIZE_MAX = 65536
"""The size limit in the contract."""
ALICE, BOB, CAROL = "alice@example.test", "bob@example.test", "carol@example.test"


@contextmanager
def hosting(folder: Any = None, **options: Any) -> Iterator[Hosted]:
    """The fake, on a clock that stands still. In the end nothing of it may have gone wrong."""
    with Hosted(EmailFake, EmailOptions(**options), folder=folder, clock=Clock(is_manual=True)) as hosted:
        yield hosted
        assert hosted.entries("bug") == []


def message(to: str = BOB, subject: str = "Hello", text: str = "Hi Bob\n", **headers: str) -> EmailMessage:
    """A message with a Message-ID of its sender's."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"], mail["Message-ID"] = ALICE, to, subject, "<greeting-1@client.test>"
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(text)
    return mail


def smtp_port(hosted: Hosted) -> int:
    return hosted.places["smtp"].port


def by_smtplib(port: int, mail: EmailMessage, timeout_s: float = PATIENCE_S) -> Any:
    with smtplib.SMTP(HOST, port, timeout=timeout_s) as client:
        return client.send_message(mail)


def by_aiosmtplib(port: int, mail: EmailMessage, timeout_s: float = PATIENCE_S) -> Any:
    return asyncio.run(aiosmtplib.send(mail, hostname=HOST, port=port, timeout=timeout_s))


Sender = Callable[..., Any]
SENDERS: dict[str, Sender] = {"smtplib": by_smtplib, "aiosmtplib": by_aiosmtplib}


class Outcome(NamedTuple):
    """What a caller saw: the exception's name, or what was returned."""

    error: str
    code: int
    returned: Any = None


def outcome(send: Sender, port: int, mail: EmailMessage, timeout_s: float = PATIENCE_S) -> Outcome:
    """Send, and tell what the caller saw."""
    try:
        return Outcome("", 0, send(port, mail, timeout_s))
    except (OSError, aiosmtplib.SMTPException) as error:  # smtplib's own are of the former
        return Outcome(type(error).__name__, int(getattr(error, "smtp_code", getattr(error, "code", 0)) or 0))


def three(hosted: Hosted) -> tuple[int, int, int]:
    """Arrivals, commits, responses."""
    counted = hosted.counts()
    return counted["arrivals"], counted["commits"], counted["responses"]


def fired(hosted: Hosted) -> int:
    return len(hosted.entries("hook-fired"))


def effects(hosted: Hosted) -> list[dict[str, Any]]:
    return [dict(entry.data) for entry in hosted.entries("effect")]


class Wire:
    """A bare connection: lines as they are, and the replies to them."""

    def __init__(self, port: int, *, greeted: bool = True) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=PATIENCE_S)
        self._file = self.socket.makefile("rb")
        self.greeting = self.reply()
        if greeted:
            self.say("EHLO client.test")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def lines(self) -> list[str]:
        """The lines of one reply; none when the connection has ended."""
        lines: list[str] = []
        while line := self._file.readline().decode("utf-8", "replace"):
            lines.append(line.rstrip("\r\n"))
            if line[3:4] != "-":
                break
        return lines

    def reply(self) -> str:
        """One reply; the last line of several. "" when the connection has ended."""
        return next(reversed(self.lines()), "")

    def replies(self, count: int) -> list[str]:
        return [self.reply()[:3] for _ in range(count)]

    def say(self, line: str | bytes) -> str:
        """One command and its reply."""
        self.send((line.encode() if isinstance(line, str) else line) + b"\r\n")
        return self.reply()

    def envelope(self, *recipients: str) -> list[str]:
        """Up to DATA: the codes."""
        lines = [f"MAIL FROM:<{ALICE}>", *[f"RCPT TO:<{each}>" for each in recipients or (BOB,)], "DATA"]
        return [self.say(line)[:3] for line in lines]

    def mail(self, content: bytes = b"Subject: x\r\n\r\nx\r\n", *recipients: str) -> str:
        """A whole message; the reply to its final dot. The content is sent as it is."""
        assert self.envelope(*recipients)[-1] == "354"
        self.send(content + b".\r\n")
        return self.reply()

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@contextmanager
def wire(port: int, *, greeted: bool = True) -> Iterator[Wire]:
    connection = Wire(port, greeted=greeted)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def api(hosted: Hosted, key: str = KEY) -> Iterator[httpx.Client]:
    """A client of the two HTTP interfaces."""
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(
        base_url=hosted.places["http"].url, headers=headers, timeout=PATIENCE_S, trust_env=False
    ) as client:
        yield client


def body(**more: Any) -> dict[str, Any]:
    """What a POST /emails says."""
    return {"from": f"Alice <{ALICE}>", "to": BOB, "subject": "Hello", "text": "Hi Bob\n", **more}


def in_mailbox(client: httpx.Client, query: str = "") -> list[dict[str, Any]]:
    """What the mailbox shows, newest first."""
    if query:
        return list(client.get("/api/v1/search", params={"query": query}).json()["messages"])
    return list(client.get("/api/v1/messages").json()["messages"])
