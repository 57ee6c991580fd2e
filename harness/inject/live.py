"""The world of one run in real time: plan, sites and crossings of the simulation, under a clock that runs by itself.

Everything that happens in such a run happens in a *turn*: a stretch under one lock, in which due timers are played
first. Reports of workers and requests at providers each take a turn, so events have one order though several threads
and processes are at work.

Time is scaled: the run's clock shows `speed` times the real time since the run began. A candidate sees only this clock,
and so do deadlines, leases, approvals and the history; a lease of 30 s then costs a test run 1.5 s. What is not scaled
is the machine: a commit that takes 2 ms seems to take 40.

Never here: what a fault does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from harness.inject.names import StepNames
from harness.inject.world import RunCut, World
from harness.model.cell import SECOND_NS, Cell
from harness.model.fault import Fault
from harness.rigs.recorder import Recorder

REAL_TIME_MAX_S = 120.0
"""How long one run may take on the wall clock."""


class ScaledClock:
    """Time since it was made, `speed` times as fast. Other processes here read the same from `epoch_ns` and `speed`."""

    __slots__ = ("epoch_ns", "speed")

    def __init__(self, speed: int) -> None:
        assert speed >= 1, "a clock slower than the machine makes runs longer and nothing better"
        self.speed = speed
        self.epoch_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        return (time.monotonic_ns() - self.epoch_ns) * self.speed

    def sleep_until(self, moment_ns: int) -> None:
        while (left_ns := moment_ns - self.now_ns()) > 0:
            time.sleep(left_ns / self.speed / SECOND_NS)


class LiveWorld(World):
    """World of a run on real processes. Use it inside `turn()` only."""

    __slots__ = ("_lock", "clock", "trouble")

    def __init__(
        self,
        recorder: Recorder,
        names: StepNames,
        plan: dict[str, list[Fault]],
        cells: Mapping[str, Cell],
        crossings_max: int,
        time_max: int,
        clock: ScaledClock,
    ) -> None:
        super().__init__(recorder, names, plan, cells, crossings_max, time_max)
        self.clock = clock
        self.trouble: BaseException | None = None
        """What went wrong in a thread that has nobody to tell; the controller raises it at its next turn."""
        self._lock = threading.RLock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The right to act and record. Timers that are due are played first, in their order."""
        with self._lock:
            super().advance(max(0, self.clock.now_ns() - self.now))
            yield

    def tick(self) -> int:
        """Read the clock. Between two readings everything recorded carries one time: what belongs together shows so."""
        self.now = max(self.now, self.clock.now_ns())
        return self.now

    def advance(self, duration_ns: int) -> None:
        """Wait until this much time has passed, outside any turn. Raises RunCut at a limit of the run."""
        end_ns = self.clock.now_ns() + duration_ns
        if end_ns > self.time_max:
            raise RunCut("virtual-time")
        self.clock.sleep_until(end_ns)
        self.check()
        with self.turn():
            pass

    def check(self) -> None:
        """Raise what another thread left behind, or RunCut when the run has taken too long."""
        if self.trouble is not None:
            raise self.trouble
        if self.clock.now_ns() / self.clock.speed > REAL_TIME_MAX_S * SECOND_NS:
            raise RunCut("real-time")
