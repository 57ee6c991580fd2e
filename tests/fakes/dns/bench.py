"""The hosted fake as a test sees it: its three views as servers, its hooks, and what its journal counted since.

Never here: a check.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fakes.wire.hosting import Hosted
from fakes.wire.journal_file import Entry
from tests.fakes.dns.asking import Server


def server_of(hosted: Hosted) -> Server:
    """The primary of a hosted fake, with the key of its entry."""
    entry = hosted.host.entry()
    return Server(entry["zone"], entry["tsig"]["name"], entry["tsig"]["secret"], entry["port"])


class Bench:
    """One test's hold on the fake."""

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = hosted
        self.primary = server_of(hosted)
        self.secondary = self.primary.at(hosted.places["secondary"].port)
        self.resolver = self.primary.at(hosted.places["resolver"].port)
        self._since = hosted.call(lambda: hosted.desk.journal.last_number)

    def entries(self, kind: str = "") -> list[Entry]:
        """What happened in this test, of one kind or all."""
        return [entry for entry in self.hosted.entries(kind) if entry.number > self._since]

    def effects(self) -> list[dict[str, Any]]:
        return [dict(entry.data) for entry in self.entries("effect")]

    def counted(self) -> tuple[int, int, int]:
        """Arrivals, commits, responses."""
        kinds = Counter(entry.kind for entry in self.entries())
        return kinds["arrived"], kinds["effect"], kinds["responded"]

    def wait_for(self, kind: str, count: int) -> None:
        """Wait (bounded) until this test has so many entries of the kind."""
        before = len(self.hosted.entries(kind)) - len(self.entries(kind))
        self.hosted.wait_for(kind, before + count)

    def fired(self) -> int:
        """How often a hook did something."""
        return len(self.entries("hook-fired"))

    def arm(self, hook: str) -> str:
        return self.hosted.arm(hook)

    def advance(self, seconds: float) -> None:
        self.hosted.advance(round(seconds * 1e9))

    def add(self, name: str, value: str = "192.0.2.1", *, operation: str = "", ttl: int = 300) -> str:
        """Add an address under the prerequisite that the name is free, with a marker if there is an operation."""
        update = self.primary.update()
        update.absent(name)
        update.add(name, ttl, "A", value)
        if operation:
            update.add(f"_op.{name}", ttl, "TXT", f'"op={operation}"')
        return self.primary.send(update)
