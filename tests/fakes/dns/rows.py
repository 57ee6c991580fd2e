"""Rows of the contract: what one is, and how they ask.

Never here: a row (`changes.py`, `answers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.update
import dns.zone

from tests.fakes.dns.asking import Server

Look = Callable[[Server], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what is asked, and what is expected."""

    look: Look
    expected: Any

    @property
    def name(self) -> str:
        return self.look.__name__


ROWS: list[Row] = []


def row(expected: Any) -> Callable[[Look], Look]:
    """Make a function a row of the contract."""

    def add(look: Look) -> Look:
        assert all(known.name != look.__name__ for known in ROWS), f"{look.__name__} is there twice"
        ROWS.append(Row(look, expected))
        return look

    return add


def moved(server: Server, message: dns.message.Message) -> tuple[str, int]:
    """(the response code, by how much the serial moved)."""
    before = server.serial()
    return server.send(message), server.serial() - before


def adding(server: Server, name: str, value: str, ttl: int = 300, rdtype: str = "A") -> dns.update.UpdateMessage:
    update = server.update()
    update.add(name, ttl, rdtype, value)
    return update


def replacing(server: Server, name: str, value: str, ttl: int = 300) -> dns.update.UpdateMessage:
    update = server.update()
    update.replace(name, ttl, "A", value)
    return update


def raised(action: Callable[[], Any]) -> str:
    """The name of the exception the client library raises."""
    try:
        return f"none: {action()}"
    except (dns.exception.DNSException, OSError, EOFError) as error:
        return type(error).__name__


def key_of(server: Server) -> dns.tsig.Key:
    """The key that may change the zone."""
    return dns.tsig.Key(server.key_name, server.secret, dns.tsig.HMAC_SHA256)
