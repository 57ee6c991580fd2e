"""The page on which a person reads the mails: text only, everything escaped, nothing loaded, no script.

Never here: which mails there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from fakes.email.letters import Address, Letter, Reading, text_of
from fakes.wire.json_api import utc

HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}

_NAMES = ("frame.html.j2", "listing.html.j2", "mail.html.j2", "absent.html.j2")
_TEMPLATES = {name: (files("fakes.email") / "templates" / name).read_text(encoding="utf-8") for name in _NAMES}
_ROOM = Environment(loader=DictLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def row(letter: Letter, now_ns: int) -> dict[str, Any]:
    """A mail in the list."""
    return {
        "id": letter.id,
        "from": _people(letter.head["from"]) or letter.sender,
        "to": ", ".join(letter.recipients),
        "subject": letter.head["subject"] or "(no subject)",
        "snippet": letter.head["snippet"],
        "status": letter.status(now_ns),
        "when": utc(letter.due_ns),
    }


def listing(rows: Sequence[Mapping[str, Any]], waiting: Sequence[Mapping[str, Any]]) -> str:
    """All mails: those that wait for their time, and those that were sent, newest first."""
    return _ROOM.get_template("listing.html.j2").render(rows=rows, waiting=waiting)


def mail(letter: Letter, reading: Reading, now_ns: int) -> str:
    """One mail."""
    fates = [(address, letter.fate(address, now_ns)) for address in letter.recipients]
    return _ROOM.get_template("mail.html.j2").render(
        mail=row(letter, now_ns),
        fates=fates,
        message_id=reading.message_id,
        operation=letter.operation,
        text=reading.text or text_of(reading.html),
        attachments=reading.attachments,
    )


def absent() -> str:
    """There is no such mail."""
    return _ROOM.get_template("absent.html.j2").render()


def _people(addresses: Sequence[Address]) -> str:
    return ", ".join(f"{name} <{address}>" if name else address for name, address in addresses)
