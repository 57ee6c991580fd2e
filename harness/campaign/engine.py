"""The engine: examines many schedules, one after the other or on several processes, in batches sized by measured time.

Results do not depend on the number of processes: every row is keyed by its schedule, and the next round is planned in the order of
the schedules, not of their arrival. Whatever stops it, the rows that are finished come out first.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from pathlib import Path
from typing import NamedTuple

from harness.campaign.bench import Bench, BenchSpec, Examined
from harness.campaign.memory import settle
from harness.explore.singles import Variant
from harness.model.errors import HarnessBug, KnownstateError
from harness.model.schedule import Schedule

BATCH_S = 0.15
"""A batch should take about this long: much more than the 0.1 ms a task costs, little enough to stop soon."""
BATCH_MAX = 200
_PR_SET_PDEATHSIG = 1

_bench: Bench | None = None


class Batch(NamedTuple):
    """What a worker process gives back: finished rows, how long they took, and the error that ended the batch early, if any."""

    rows: list[Examined]
    seconds: float
    error: KnownstateError | None


def _start_worker(spec: BenchSpec, folder: str, parent: int) -> None:
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when we stop: Ctrl-C goes to all of us at once
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with(parent)
    _bench = Bench(spec, Path(folder) / f"part-{os.getpid()}.jsonl.gz")
    settle()
    Finalize(None, _bench.close, exitpriority=1)  # a rig may have servers and processes of its own


def _die_with(parent: int) -> None:
    """Nobody is left behind when the campaign is killed with SIGKILL and cannot tell us."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)


def _examine_batch(lines: Sequence[str], known: frozenset[Variant]) -> Batch:
    assert _bench is not None, "the initialiser made it"
    started, rows = time.perf_counter(), list[Examined]()
    try:
        for line in lines:
            rows.append(_bench.examine(Schedule.parse(line), known))
    except KnownstateError as error:
        return Batch(rows, time.perf_counter() - started, error)
    return Batch(rows, time.perf_counter() - started, None)


class Engine:
    """Examines schedules. `stop` is asked between batches (one job: between runs); when it says why, the rest is left out."""

    def __init__(self, spec: BenchSpec, folder: Path, jobs: int) -> None:
        self.spec = spec
        self.folder = folder
        self.jobs = jobs
        self._serial: Bench | None = None
        self._pool: ProcessPoolExecutor | None = None
        self._workers: set[BaseProcess] = set()

    @property
    def bench(self) -> Bench:
        """The bench of this process: for the control run, and for everything when there is one job."""
        if self._serial is None:
            self._serial = Bench(self.spec, self.folder / "part-0.jsonl.gz")
        return self._serial

    def examine(
        self, schedules: Sequence[Schedule], known: frozenset[Variant], stop: Callable[[], str]
    ) -> Iterator[Examined]:
        """Rows in the order they are done. Raises KnownstateError when one cannot be, after those that were under way."""
        if self.jobs == 1 or len(schedules) < 2:
            for schedule in schedules:
                if stop():
                    return
                yield self.bench.examine(schedule, known)
        else:
            try:
                yield from self._on_processes([str(s) for s in schedules], known, stop)
            except BrokenProcessPool as error:
                raise self._broken() from error

    def _on_processes(
        self, waiting: list[str], known: frozenset[Variant], stop: Callable[[], str]
    ) -> Iterator[Examined]:
        size, running, failed = 4, set[Future[Batch]](), None
        while True:
            while waiting and len(running) <= self.jobs and not failed and not stop():
                running.add(self._submit(waiting[:size], known))
                waiting = waiting[size:]
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch = future.result()
                size = max(1, min(BATCH_MAX, int(len(batch.rows) * BATCH_S / max(batch.seconds, 1e-6))))
                failed = failed or batch.error
                yield from batch.rows
        if failed is not None:
            raise failed

    def _submit(self, lines: list[str], known: frozenset[Variant]) -> Future[Batch]:
        if self._pool is not None:
            return self._pool.submit(_examine_batch, lines, known)
        others = set(multiprocessing.active_children())
        self._pool = ProcessPoolExecutor(
            self.jobs,
            multiprocessing.get_context("fork"),
            initializer=_start_worker,
            initargs=(self.spec, str(self.folder), os.getpid()),
        )
        first = self._pool.submit(_examine_batch, lines, known)
        self._workers = set(multiprocessing.active_children()) - others
        return first

    def _broken(self) -> HarnessBug:
        return HarnessBug(
            "A process of the campaign died.",
            where=str(self.folder),
            next_step="Run it with --jobs 1 to see why; a candidate that ends its own process needs --rig process.",
        )

    def kill(self) -> None:
        """Wait for no batch. The histories of the runs under way stay without a row: they are made again on --resume."""
        for worker in self._workers:
            worker.kill()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        if self._serial is not None:
            self._serial.close()
