"""The search language of the mailbox, as much of Mailpit's as people use to find a mail.

    plain "a phrase" from:a@b to:... cc:... bcc:... addressed:... reply-to:... subject:"..." message-id:... tag:sent
    is:read is:unread is:tagged has:attachment larger:10k smaller:1m, and `-` or `!` before any of them

All words must fit; comparing ignores case. A word that is no filter is looked for in the message's text, subject and
addresses.
Never here: which messages there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from fakes.email.letters import Address

WORDS_MAX = 50
_WORD = re.compile(r'[-!]?(?:[a-z-]+:)?"[^"]*"|\S+')
_FILTER = re.compile(r"([-!]?)(?:([a-z-]+):)?(.*)", re.DOTALL | re.IGNORECASE)
_SIZES = {"": 1, "k": 1024, "kb": 1024, "m": 1 << 20, "mb": 1 << 20}


class Entry(NamedTuple):
    """What is searched of one message."""

    head: Mapping[str, Any]
    bcc: list[Address]
    text: str
    size: int
    tags: list[str]
    is_read: bool


Test = Callable[[Entry, str], bool]


def fits(entry: Entry, query: str) -> bool:
    """Does this message fit every word of the query?"""
    return all(_fits(entry, word) for word in words_of(query))


def words_of(query: str) -> list[str]:
    """The words of a query; a phrase in quotes is one."""
    return [found.group() for found in _WORD.finditer(query)][:WORDS_MAX]


def _fits(entry: Entry, word: str) -> bool:
    found = _FILTER.fullmatch(word)
    assert found is not None, "every word is a filter or text"
    negated, name, value = found[1], (found[2] or "").lower(), found[3]
    test = _TESTS.get(name)
    if test is None:
        test, value = _anywhere, f"{name}:{value}" if name else value
    value = value.strip('"').lower()
    return test(entry, value) is not bool(negated) if value else True


def _among(addresses: Iterable[Address], value: str) -> bool:
    return any(value in f"{name} {address}".lower() for name, address in addresses)


def _of(*fields: str) -> Test:
    return lambda entry, value: any(_among(entry.head[field], value) for field in fields)


def _addressed(entry: Entry, value: str) -> bool:
    return _of("from", "to", "cc", "reply_to")(entry, value) or _among(entry.bcc, value)


def _is(entry: Entry, value: str) -> bool:
    return {"read": entry.is_read, "unread": not entry.is_read, "tagged": bool(entry.tags)}.get(value, False)


def _anywhere(entry: Entry, value: str) -> bool:
    return value in f"{entry.head['subject']}\n{entry.text}".lower() or _addressed(entry, value)


def _bytes(value: str) -> int | None:
    found = re.fullmatch(r"(\d{1,12})(|k|kb|m|mb)", value, re.ASCII)
    return int(found[1]) * _SIZES[found[2]] if found else None


def _larger(entry: Entry, value: str) -> bool:
    size = _bytes(value)
    return size is not None and entry.size > size


def _smaller(entry: Entry, value: str) -> bool:
    size = _bytes(value)
    return size is not None and entry.size < size


_TESTS: Mapping[str, Test] = {
    "from": _of("from"),
    "to": _of("to"),
    "cc": _of("cc"),
    "bcc": lambda entry, value: _among(entry.bcc, value),
    "reply-to": _of("reply_to"),
    "addressed": _addressed,
    "subject": lambda entry, value: value in entry.head["subject"].lower(),
    "message-id": lambda entry, value: value.strip("<>") in entry.head["message_id"].lower(),
    "tag": lambda entry, value: value in entry.tags,
    "is": _is,
    "has": lambda entry, value: value in ("attachment", "attachments") and entry.head["attachments"] > 0,
    "larger": _larger,
    "smaller": _smaller,
}
