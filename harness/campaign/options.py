"""What a campaign is asked to do, and the limits it keeps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.schedule import Schedule

JOBS_MAX = 64


@dataclass(frozen=True, slots=True)
class Options:
    """`only` and `exclude` are shell patterns over `BOUNDARY=FAULT` items; times in seconds; 0 means no limit."""

    out: Path
    seed: int = 0
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_schedules: int = 0
    max_time_s: float = 0.0
    max_failures: int = 0
    shard: tuple[int, int] = (1, 1)
    jobs: int = 1
    cell: Cell | None = None
    rig: str = "simulation"
    resume: bool = False
    first_round_only: bool = False

    def __post_init__(self) -> None:
        index, count = self.shard
        if not 1 <= index <= count:
            raise UsageError(
                f"There is no shard {index}/{count}.",
                where="--shard",
                next_step="Give i/n with 1 <= i <= n, for instance --shard 2/4.",
            )
        if not 1 <= self.jobs <= JOBS_MAX:
            raise UsageError(
                f"{self.jobs} jobs are not possible.", where="--jobs", next_step=f"Give a number from 1 to {JOBS_MAX}."
            )

    def selects(self, schedule: Schedule) -> bool:
        """Do --only and --exclude let this schedule run? One injection that matches is enough; the control run always runs."""
        items = [str(injection) for injection in schedule.injections]
        if any(_matches(item, self.exclude) for item in items):
            return False
        return not self.only or any(_matches(item, self.only) for item in items)

    def in_shard(self, schedule: Schedule) -> bool:
        """Is this schedule in our share? By its text, so that shares do not depend on order."""
        index, count = self.shard
        if count == 1:
            return True
        digest = hashlib.blake2b(str(schedule).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % count == index - 1


def _matches(item: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(item, pattern) or fnmatchcase(item, f"*{pattern}*") for pattern in patterns)
