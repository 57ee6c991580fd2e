"""The journal: events as they are recorded, and the four counts that must not be confused.

A client library re-sends by itself, a network copies, an answer is lost: so what arrived, what was committed, what
was answered and what the caller saw are counted apart. Never here: a verdict on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fakes.core.endpoint import Record
from harness.model.event import Event

COMMIT_KINDS = ("effect", "approval-requested", "approval-revoked", "approval-consumed")
"""Kinds that say an endpoint changed. They count when a call caused it: people and outside actors have no call."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one endpoint: requests delivered, changes made for them, responses written, outcomes seen by callers."""

    arrivals: int = 0
    commits: int = 0
    responses: int = 0
    caller_views: int = 0


class Journal:
    """Events in the order they happened, indexed from 0."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.events: list[Event] = []

    def recorder(self, actor: str) -> Record:
        """A recorder that writes events of this actor."""

        def record(kind: str, where: str, data: Mapping[str, Any]) -> None:
            self.events.append(Event(len(self.events), self._now(), actor, kind, where, data))

        return record

    def counts(self) -> dict[str, Counts]:
        """The four counts so far."""
        return count(self.events)


def count(events: Iterable[Event]) -> dict[str, Counts]:
    """The four counts, by endpoint. An outcome of a call that was neither sent nor delivered is counted under ""."""
    endpoint_of: dict[str, str] = {}
    tally: Counter[tuple[str, str]] = Counter()
    for event in events:
        call = event.data.get("call", "")
        if event.kind == "call-sent":
            endpoint_of[call] = event.data["provider"]
        elif event.kind == "arrived":
            endpoint_of[call] = event.actor
            tally[event.actor, "arrivals"] += 1
        elif event.kind == "responded":
            tally[event.actor, "responses"] += 1
        elif event.kind == "caller-saw":
            tally[endpoint_of.get(call, ""), "caller_views"] += 1
        elif event.kind in COMMIT_KINDS and call:
            tally[event.actor, "commits"] += 1
    names = sorted({name for name, _ in tally})
    return {name: Counts(**{what: n for (of, what), n in tally.items() if of == name}) for name in names}
