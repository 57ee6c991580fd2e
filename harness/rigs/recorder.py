"""The recorder: puts every event of a run into one total order. No rig writes a history any other way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.event import EVENT_KINDS, Event

NOTHING: Mapping[str, Any] = {}
_KINDS = frozenset(EVENT_KINDS)
_make = tuple.__new__


class Recorder:
    """Events of one run, in order. `time_ns` never decreases; kinds are those of EVENT_KINDS."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, time_ns: int, actor: str, kind: str, where: str = "", data: Mapping[str, Any] = NOTHING) -> None:
        """Append one event."""
        events = self.events
        events.append(_make(Event, (len(events), time_ns, actor, kind, where, data)))

    def check(self) -> None:
        """Assert what every history relies on. Called once per run, not per event: the recorder is on the hot path."""
        events = self.events
        times = [event[1] for event in events]
        if (
            [event[0] for event in events] != list(range(len(events)))
            or times != sorted(times)
            or not {event[3] for event in events} <= _KINDS
        ):
            self._explain()

    def _explain(self) -> None:
        """Say which event is wrong; only reached when one is."""
        last = 0
        for index, event in enumerate(self.events):
            assert event.index == index, f"event {index} is numbered {event.index}"
            assert event.time_ns >= last, f"event {index} goes back in time"
            assert event.kind in EVENT_KINDS, f"event {index} has the unknown kind {event.kind!r}"
            last = event.time_ns
