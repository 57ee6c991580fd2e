"""The engine: examines many schedules, one after the other or on several processes, in batches sized by measured time.

Results do not depend on the number of processes: every row is keyed by its schedule, and the next round is planned in the order of
the schedules, not of their arrival. Ctrl-C stops at a schedule boundary; what is done stays done.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from harness.campaign.bench import Bench, BenchSpec, Examined
from harness.explore.singles import Variant
from harness.model.errors import HarnessBug
from harness.model.schedule import Schedule

BATCH_S = 0.15
"""A batch should take about this long: much more than the 0.1 ms a task costs, little enough to stop soon."""
BATCH_MAX = 200

_bench: Bench | None = None


class Interrupted(Exception):
    """Ctrl-C, between two schedules."""


def _start_worker(spec: BenchSpec, folder: str) -> None:
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bench = Bench(spec, Path(folder) / f"part-{os.getpid()}.jsonl.gz")


def _examine_batch(lines: Sequence[str], known: frozenset[Variant]) -> tuple[list[Examined], float]:
    assert _bench is not None, "the initialiser made it"
    started = time.perf_counter()
    rows = [_bench.examine(Schedule.parse(line), known) for line in lines]
    return rows, time.perf_counter() - started


class Engine:
    """Examines schedules. `stop` is asked between batches (serial: between runs); when it says why, the rest is left out."""

    def __init__(self, spec: BenchSpec, folder: Path, jobs: int) -> None:
        self.spec = spec
        self.folder = folder
        self.jobs = jobs
        self._serial: Bench | None = None
        self._pool: ProcessPoolExecutor | None = None

    @property
    def bench(self) -> Bench:
        """The bench of this process: for the control run, and for everything when there is one job."""
        if self._serial is None:
            self._serial = Bench(self.spec, self.folder / "part-0.jsonl.gz")
        return self._serial

    def examine(
        self, schedules: Sequence[Schedule], known: frozenset[Variant], stop: Callable[[], str]
    ) -> Iterator[Examined]:
        """Rows in the order they are done. Raises Interrupted after a Ctrl-C, when what was under way is in."""
        if self.jobs == 1 or len(schedules) < 2:
            yield from self._one_by_one(schedules, known, stop)
        else:
            yield from self._on_processes(schedules, known, stop)

    def _one_by_one(
        self, schedules: Sequence[Schedule], known: frozenset[Variant], stop: Callable[[], str]
    ) -> Iterator[Examined]:
        bench = self.bench
        for schedule in schedules:
            if stop():
                return
            try:
                yield bench.examine(schedule, known)
            except KeyboardInterrupt:
                raise Interrupted from None

    def _on_processes(
        self, schedules: Sequence[Schedule], known: frozenset[Variant], stop: Callable[[], str]
    ) -> Iterator[Examined]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.jobs,
                multiprocessing.get_context("fork"),
                initializer=_start_worker,
                initargs=(self.spec, str(self.folder)),
            )
        waiting = [str(s) for s in schedules]
        size, running, interrupted = 4, set[Future[tuple[list[Examined], float]]](), False
        while running or (waiting and not interrupted):
            while waiting and len(running) < self.jobs + 1 and not interrupted and not stop():
                batch, waiting = waiting[:size], waiting[size:]
                running.add(self._pool.submit(_examine_batch, batch, known))
            if not running:
                return
            try:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    rows, seconds = future.result()
                    size = max(1, min(BATCH_MAX, int(len(rows) * BATCH_S / max(seconds, 1e-6))))
                    yield from rows
            except KeyboardInterrupt:
                interrupted = True
            except BrokenProcessPool as error:
                raise HarnessBug(
                    "A process of the campaign died.",
                    where=str(self.folder),
                    next_step="Run again with --resume and --jobs 1 to see why.",
                ) from error
        if interrupted:
            raise Interrupted

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        if self._serial is not None:
            with contextlib.suppress(OSError):
                self._serial.close()
