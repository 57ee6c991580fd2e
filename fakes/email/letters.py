"""Mail as values: a message as it was kept, and what a message says of itself, read from its bytes.

Reading never fails: whatever bytes a message consists of, there is a reading, with "" for what cannot be understood,
and nothing in it that cannot be written down as JSON.

    X-Operation      the logical operation the message belongs to (percent-encoded)
    X-Target         what its effect is about, in place of its recipients (percent-encoded)
    X-Not-After-Ns   the moment after which it must not be accepted

Never here: IO, and what becomes of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from html.parser import HTMLParser
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

SNIPPET_LENGTH = 250
HEADER_LENGTH_MAX = 1000
HINT_LENGTH_MAX = 255
ADDRESSES_MAX = 200
HIDDEN_TAGS = ("script", "style", "head", "title")

_GARBLED = (MessageError, ValueError, LookupError, AssertionError, TypeError, AttributeError)
"""What the library raises when it is given garbage; it documents none of it."""

QUEUED, DELIVERED, BOUNCED = "queued", "delivered", "bounced"
SCHEDULED, SENT, CANCELED, FAILED = "scheduled", "sent", "canceled", "failed"

Address: TypeAlias = tuple[str, str]
"""(name, address)."""


class Letter(NamedTuple):
    """A message that was accepted, and what became of it. A moment is None until it comes; times in ns."""

    id: str
    call: str
    key: str
    via: str
    """`smtp`, `http`, `outside` (somebody else sent it) or `report` (the server itself)."""
    sender: str
    recipients: Mapping[str, list[Any]]
    """Recipient -> [queued, delivered or bounced; since when]."""
    operation: str
    target: str
    reference: str
    metadata: Mapping[str, str]
    username: str
    head: Mapping[str, Any]
    """The fields of `Reading` that lists show."""
    size: int
    made_ns: int
    due_ns: int
    """When it is to be sent; the moment of acceptance if it was not scheduled."""
    sent_ns: int | None = None
    ended_ns: int | None = None
    end: str = ""
    """`canceled` or `failed`: how a scheduled message ended that was never sent."""
    deleted_ns: int | None = None
    """When it was deleted from the mailbox; what was sent stays sent."""
    is_read: bool = False

    def status(self, at_ns: int) -> str:
        """How it stood at that moment."""
        if self.ended_ns is not None and self.ended_ns <= at_ns:
            return self.end
        if not self.is_sent(at_ns):
            return SCHEDULED
        fates = {self.fate(address, at_ns) for address in self.recipients}
        return BOUNCED if BOUNCED in fates else SENT if QUEUED in fates else DELIVERED

    def is_sent(self, at_ns: int) -> bool:
        return self.sent_ns is not None and self.sent_ns <= at_ns

    def is_in_mailbox(self, at_ns: int) -> bool:
        """Was it there to be read at that moment?"""
        return self.is_sent(at_ns) and (self.deleted_ns is None or self.deleted_ns > at_ns)

    def fate(self, address: str, at_ns: int) -> str:
        """What had become of it for this recipient."""
        state, since_ns = self.recipients[address]
        return str(state) if since_ns <= at_ns else QUEUED


class Reading(NamedTuple):
    """What a message says of itself."""

    message_id: str
    """Without its angle brackets."""
    subject: str
    sender: list[Address]
    to: list[Address]
    cc: list[Address]
    reply_to: list[Address]
    date_ns: int | None
    text: str
    html: str
    attachments: list[tuple[str, str, int]]
    """(name, content type, bytes)."""
    operation: str
    target: str
    not_after: str

    def head(self) -> dict[str, Any]:
        """What lists show of it, as JSON data: it must be equal to itself after it was stored."""
        shown = (self.text or text_of(self.html)).split()
        return {
            "message_id": self.message_id,
            "subject": self.subject,
            "from": [list(each) for each in self.sender],
            "to": [list(each) for each in self.to],
            "cc": [list(each) for each in self.cc],
            "reply_to": [list(each) for each in self.reply_to],
            "snippet": " ".join(shown)[:SNIPPET_LENGTH],
            "attachments": len(self.attachments),
        }


def read_letter(content: bytes) -> Reading:
    """Read a message."""
    message = _parsed(content)
    texts: dict[str, str] = {"text/plain": "", "text/html": ""}
    attachments: list[tuple[str, str, int]] = []
    for part in _leaves(message):
        kind = part.get_content_type()
        name = _filename(part)
        if kind in texts and not name and not texts[kind]:
            texts[kind] = _text(part)
        else:
            attachments.append((name, plain(kind), _size(part)))
    return Reading(
        message_id=header(message, "Message-ID").strip("<> "),
        subject=header(message, "Subject"),
        sender=_addresses(message, "From"),
        to=_addresses(message, "To"),
        cc=_addresses(message, "Cc"),
        reply_to=_addresses(message, "Reply-To"),
        date_ns=_moment(header(message, "Date")),
        text=texts["text/plain"],
        html=texts["text/html"],
        attachments=attachments,
        operation=_hint(message, "X-Operation"),
        target=_hint(message, "X-Target"),
        not_after=_hint(message, "X-Not-After-Ns"),
    )


def headers_of(content: bytes) -> dict[str, list[str]]:
    """All header fields of a message, in their order, decoded."""
    found: dict[str, list[str]] = {}
    for name, value in _parsed(content).items():
        found.setdefault(plain(name), []).append(_decoded(value))
    return found


def header(message: Message, name: str) -> str:
    """One header field as text; "" if it is not there."""
    try:
        value = message.get(name)
    except _GARBLED:
        return ""
    return "" if value is None else _decoded(value)


def plain(text: str) -> str:
    """Text that can be shown and stored: no lone surrogates, no control characters but tabs and line ends."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c for c in whole if c in "\t\n" or (c >= " " and c != "\x7f"))


def text_of(html: str) -> str:
    """What a person would read of an HTML body."""
    stripper = _Stripper()
    stripper.feed(html)
    return "".join(stripper.parts)


def is_address(text: str) -> bool:
    """Could mail be sent there? Also over a wire whose lines end at a line end."""
    local, at, domain = text.rpartition("@")
    return bool(at and local and domain and len(text) <= 320 and text.isprintable()) and not set(text) & set(
        " <>,\"'()"
    )


def joined(recipients: Iterable[str]) -> str:
    """The target of a message that names none itself."""
    return ",".join(recipients)


class _Stripper(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in HIDDEN_TAGS
        if tag in ("p", "br", "div", "tr", "li", "h1", "h2", "h3"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in HIDDEN_TAGS), 0)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)

    def unknown_decl(self, data: str) -> None:
        """Such as `<![CDATA[`: nothing a person reads."""


def _decoded(value: object) -> str:
    raw = str(value)
    try:
        text = str(make_header(decode_header(raw)))
    except _GARBLED:
        text = raw
    return " ".join(plain(text[:HEADER_LENGTH_MAX]).split())


def _hint(message: Message, name: str) -> str:
    return plain(unquote(header(message, name)))[:HINT_LENGTH_MAX]


def _addresses(message: Message, name: str) -> list[Address]:
    text = header(message, name)
    try:
        found = getaddresses([text])[:ADDRESSES_MAX]
    except _GARBLED:
        return []
    return [(who, address) for who, address in found if address]


def _moment(text: str) -> int | None:
    try:
        return int(parsedate_to_datetime(text).timestamp()) * 1_000_000_000
    except (*_GARBLED, OverflowError):
        return None


def _parsed(content: bytes) -> Message:
    """The message; only its header, if its parts are nested deeper than the library can follow."""
    try:
        return message_from_bytes(content)
    except RecursionError:
        return message_from_bytes(content.partition(b"\r\n\r\n")[0])


def _leaves(message: Message) -> Iterator[Message]:
    """The parts that are no multiparts, in their order; a message within the message is one."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if part.get_content_maintype() == "multipart" and part.is_multipart():
            parts: list[Any] = list(part.get_payload())
            waiting.extend(reversed(parts))
        else:
            yield part


def _size(part: Message) -> int:
    return sum(len(_bytes(each)) for each in part.walk())


def _filename(part: Message) -> str:
    try:
        return plain(part.get_filename() or "")
    except _GARBLED:
        return ""


def _bytes(part: Message) -> bytes:
    try:
        payload = part.get_payload(decode=True)
    except _GARBLED:
        payload = None
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    try:
        return plain(_bytes(part).decode(part.get_content_charset() or "utf-8", "replace").replace("\r\n", "\n"))
    except _GARBLED:  # an encoding nobody knows, or none that makes text
        return plain(_bytes(part).decode("utf-8", "replace").replace("\r\n", "\n"))
