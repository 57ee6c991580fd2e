"""What a campaign is asked to do, and the limits it keeps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from harness.explore.deeper import FAULTS_MAX
from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.schedule import Schedule

JOBS_MAX = 64
RUN_MAX_S = 86_400.0
"""The longest real time one run may be given."""
SHARDS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Options:
    """`only` and `exclude` are shell patterns over `BOUNDARY=FAULT` items; times in seconds; 0 means no limit.

    `exclude` takes schedules out of the campaign: they are never run. `only` and `shard` choose what is reported of it; recovery
    paths are discovered by running, so the first round is run whole whatever they say, and a selection is exactly the part of the
    whole campaign that it names.
    """

    out: Path
    seed: int = 0
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_schedules: int = 0
    max_time_s: float = 0.0
    run_max_s: float = 0.0
    max_failures: int = 0
    shard: tuple[int, int] = (1, 1)
    jobs: int = 1
    cell: Cell | None = None
    rig: str = "simulation"
    resume: bool = False
    skip_recovery_paths: bool = False
    """No second round, and so nothing to discover: only what is selected is run."""
    faults: int = 1
    """How many faults a run may have: 1 is singles with recovery paths, 2 pairs, 3 triples."""
    reduce: str = "auto"
    """Of pairs and deeper: keep to one operation `always`, `never`, or on large workflows only (`auto`)."""

    def __post_init__(self) -> None:
        index, count = self.shard
        if not 1 <= index <= count <= SHARDS_MAX:
            raise UsageError(
                f"There is no shard {index}/{count}.",
                where="--shard",
                next_step=f"Give i/n with 1 <= i <= n <= {SHARDS_MAX}, for instance --shard 2/4.",
            )
        if not 1 <= self.faults <= FAULTS_MAX:
            raise UsageError(
                f"{self.faults} faults in one run are not explored one by one.",
                where="--faults",
                next_step=f"Give a number from 1 to {FAULTS_MAX}.",
            )
        if not 1 <= self.jobs <= JOBS_MAX:
            raise UsageError(
                f"{self.jobs} jobs are not possible.", where="--jobs", next_step=f"Give a number from 1 to {JOBS_MAX}."
            )
        if not 0 <= self.run_max_s <= RUN_MAX_S:
            raise UsageError(
                f"{self.run_max_s} is no limit for a run.",
                where="--run-limit",
                next_step=f"Give seconds from 0 (never cut) to {RUN_MAX_S:.0f}, for instance 60.",
            )
        if not self.max_time_s >= 0:  # so that NaN, which is neither, is refused too
            raise UsageError(
                f"{self.max_time_s} is no time.", where="--max-time", next_step="Give seconds, for instance 60."
            )

    def excludes(self, schedule: Schedule) -> bool:
        """Does --exclude take this schedule out? One injection that matches is enough."""
        return any(_matches(str(injection), self.exclude) for injection in schedule.injections)

    def selects(self, schedule: Schedule) -> bool:
        """Is this schedule reported? Not excluded, let through by --only (one injection that matches is enough), in our share."""
        items = [str(injection) for injection in schedule.injections]
        is_chosen = not self.only or any(_matches(item, self.only) for item in items)
        return is_chosen and not self.excludes(schedule) and self.in_shard(schedule)

    def in_shard(self, schedule: Schedule) -> bool:
        """Is this schedule in our share? By its text, so that shares do not depend on order."""
        index, count = self.shard
        if count == 1:
            return True
        digest = hashlib.blake2b(str(schedule).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % count == index - 1


def _matches(item: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(item, pattern) or fnmatchcase(item, f"*{pattern}*") for pattern in patterns)
