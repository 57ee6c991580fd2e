"""The one place of the wire faces that knows a real clock, and the one that can do without it.

A real clock runs; a manual one stands still until it is advanced. Both can be advanced, so that nobody has to wait
for a key to expire or a secondary to catch up. Times are nanoseconds since the Unix epoch.
Never here: what happens when a timer is due.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable

MANUAL_START_NS = 1_767_225_600 * 1_000_000_000
"""2026-01-01T00:00:00Z: where a manual clock begins, so that equal runs have equal times."""


class Clock:
    """Time and timers of one fake. To be used from its event loop."""

    def __init__(self, *, is_manual: bool = False, start_ns: int | None = None) -> None:
        self.is_manual = is_manual
        self.offset_ns = (MANUAL_START_NS if start_ns is None else start_ns) if is_manual else 0
        """Of a manual clock its time; of a real one how far it was advanced."""
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.TimerHandle | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on timers fire in this loop."""
        self._loop = loop
        self._schedule()

    def detach(self) -> None:
        """Timers fire no more."""
        if self._wake is not None:
            self._wake.cancel()
        self._loop = self._wake = None

    def now_ns(self) -> int:
        return self.offset_ns if self.is_manual else time.time_ns() + self.offset_ns

    def now_s(self) -> int:
        """Whole seconds, as most protocols want them."""
        return self.now_ns() // 1_000_000_000

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Do it when so much time has passed; what is due at one moment is done in the order it was asked for."""
        heapq.heappush(self._timers, (self.now_ns() + max(delay_ns, 0), next(self._numbers), action))
        self._schedule()

    async def sleep(self, duration_ns: int) -> None:
        """Wait for so much time of this clock."""
        over = asyncio.Event()
        self.later(duration_ns, over.set)
        await over.wait()

    def advance_ns(self, duration_ns: int) -> None:
        """Let time pass at once, and do what falls due on the way, each at its own moment."""
        assert duration_ns >= 0, "time does not run backwards"
        if not self.is_manual:
            self.offset_ns += duration_ns
            self._fire()
            return
        end_ns = self.offset_ns + duration_ns
        while self._timers and self._timers[0][0] <= end_ns:
            due_ns, _, action = heapq.heappop(self._timers)
            self.offset_ns = max(self.offset_ns, due_ns)
            action()
        self.offset_ns = end_ns

    def _fire(self) -> None:
        self._wake = None
        while self._timers and self._timers[0][0] <= self.now_ns():
            heapq.heappop(self._timers)[2]()
        self._schedule()

    def _schedule(self) -> None:
        if self._loop is None or self.is_manual or not self._timers:
            return
        if self._wake is not None:
            self._wake.cancel()
        delay_s = max(self._timers[0][0] - self.now_ns(), 0) / 1e9
        self._wake = self._loop.call_later(delay_s, self._fire)
