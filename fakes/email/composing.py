"""Messages that the provider writes itself: what the mail API was asked to send, a server's trace, and a bounce report.

Written by hand and not with a library's generator: equal requests make equal bytes, boundaries too.
Never here: when something is sent.
"""

from __future__ import annotations

import quopri
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime, formataddr
from hashlib import blake2b
from typing import NamedTuple

from fakes.email.letters import Address

Field = tuple[str, str]
EOL = "\r\n"


class Draft(NamedTuple):
    """What is to be sent, checked: no line ends in anything but the bodies."""

    sender: Address
    to: Sequence[Address]
    cc: Sequence[Address]
    reply_to: Sequence[Address]
    subject: str
    text: str | None
    html: str | None
    headers: Mapping[str, str]


def compose(draft: Draft, *, message_id: str, now_ns: int) -> bytes:
    """The draft as a message."""
    fields: list[Field] = [
        ("From", addresses([draft.sender])),
        ("To", addresses(draft.to)),
        ("Cc", addresses(draft.cc)),
        ("Reply-To", addresses(draft.reply_to)),
        ("Subject", encoded("Subject", draft.subject)),
        ("Date", date_of(now_ns)),
        ("Message-ID", f"<{message_id}>"),
        *[(name, encoded(name, value)) for name, value in draft.headers.items()],
        ("MIME-Version", "1.0"),
    ]
    parts = [_part("plain", draft.text)] if draft.text is not None or draft.html is None else []
    parts += [_part("html", draft.html)] if draft.html is not None else []
    return _written([field for field in fields if field[1]], parts, "alternative")


def trace(*, helo: str, hostname: str, id_: str, now_ns: int, is_extended: bool) -> bytes:
    """The line a server puts before a message it has taken."""
    name = "".join(c for c in helo if c.isascii() and (c.isalnum() or c in ".-[]:_"))[:255] or "unknown"
    protocol = "ESMTP" if is_extended else "SMTP"
    told = f"Received: from {name} ([127.0.0.1]){EOL}\tby {hostname} with {protocol} id {id_};{EOL}\t{date_of(now_ns)}{EOL}"
    return told.encode()


class Bounce(NamedTuple):
    """A message that could not be delivered to one recipient."""

    hostname: str
    sender: str
    recipient: str
    queue_id: str
    headers: bytes
    """The header section of the original message."""


def report(bounce: Bounce, *, message_id: str, now_ns: int) -> bytes:
    """The delivery status notification its sender gets (RFC 3464)."""
    fields = [
        ("From", f"Mail Delivery System <MAILER-DAEMON@{bounce.hostname}>"),
        ("To", bounce.sender),
        ("Subject", "Undelivered Mail Returned to Sender"),
        ("Date", date_of(now_ns)),
        ("Message-ID", f"<{message_id}>"),
        ("Auto-Submitted", "auto-replied"),
        ("MIME-Version", "1.0"),
    ]
    said = f"The mail system at {bounce.hostname} could not deliver your message to{EOL}{EOL}    {bounce.recipient}"
    status = [
        ("Reporting-MTA", f"dns; {bounce.hostname}"),
        ("X-Queue-ID", bounce.queue_id),
        ("", ""),
        ("Final-Recipient", f"rfc822; {bounce.recipient}"),
        ("Action", "failed"),
        ("Status", "5.1.1"),
        ("Diagnostic-Code", "smtp; 550 5.1.1 Mailbox unavailable"),
    ]
    lines = EOL.join(f"{name}: {value}" if name else "" for name, value in status) + EOL
    parts = [
        _part("plain", f"{said}{EOL}{EOL}It was accepted before. Nothing more will be tried."),
        ([("Content-Type", "message/delivery-status")], lines.encode()),
        ([("Content-Type", "text/rfc822-headers")], bounce.headers),
    ]
    return _written(fields, parts, "report; report-type=delivery-status")


def date_of(moment_ns: int) -> str:
    """A moment as header fields have it."""
    return format_datetime(datetime.fromtimestamp(moment_ns // 1_000_000_000, UTC))


def addresses(each: Iterable[Address]) -> str:
    """Addresses as a header field has them."""
    return f",{EOL} ".join(_address(name, address) for name, address in each)


def encoded(name: str, value: str) -> str:
    """A header field's text in ASCII."""
    return value if value.isascii() else Header(value, "utf-8", header_name=name).encode(linesep=EOL)


def _address(name: str, address: str) -> str:
    if address.isascii():
        return formataddr((name, address))
    return f"{encoded('To', name)} <{address}>" if name else address


_Part = tuple[list[Field], bytes]


def _part(subtype: str, text: str | None) -> _Part:
    lines = (text or "").replace("\r\n", "\n").replace("\r", "\n")
    body = quopri.encodestring(lines.encode()).replace(b"\n", EOL.encode())
    fields = [("Content-Type", f"text/{subtype}; charset=utf-8"), ("Content-Transfer-Encoding", "quoted-printable")]
    return fields, body


def _written(fields: Sequence[Field], parts: Sequence[_Part], subtype: str) -> bytes:
    if len(parts) == 1:
        return _section([*fields, *parts[0][0]], parts[0][1])
    # A boundary made of what it separates: equal messages are equal, and it occurs in none of the parts.
    boundary = "=_" + blake2b(b"".join(body for _, body in parts), digest_size=12).hexdigest()
    edge = f"--{boundary}".encode()
    kind = ("Content-Type", f'multipart/{subtype}; boundary="{boundary}"')
    middle = b"".join(edge + b"\r\n" + _section(each, body) + b"\r\n" for each, body in parts)
    return _section([*fields, kind], middle + edge + b"--\r\n")


def _section(fields: Sequence[Field], body: bytes) -> bytes:
    head = "".join(f"{name}: {value}{EOL}" for name, value in fields)
    return head.encode() + EOL.encode() + body + (b"" if body.endswith(b"\r\n") else b"\r\n")
