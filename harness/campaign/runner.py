"""Runs a campaign: the control run first, then rounds of schedules, then the result. What is done is on disk after every batch."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.campaign.assemble import Ended, assemble
from harness.campaign.bench import BenchSpec, Examined
from harness.campaign.engine import Engine, Interrupted
from harness.campaign.options import Options
from harness.explore.singles import Planned, Singles, SiteFacts, Variant
from harness.model.boundary import Phase, Purpose
from harness.model.plain import to_plain
from harness.model.result import CampaignResult
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario
from harness.store.atomic import unwritable, write_whole
from harness.store.campaign_store import CampaignStore
from harness.store.environment import environment

Progress = Callable[[int, int, int], None]
FLUSH_S = 0.5


def no_progress(done: int, total: int, violated: int) -> None:
    """For callers that do not want to hear."""


class Campaign:
    """One campaign in its folder. `run` may be called once; a later campaign in the same folder resumes it if asked to."""

    def __init__(
        self,
        scenario: Scenario,
        candidate: str,
        options: Options,
        command: str = "",
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.scenario = scenario
        self.candidate = candidate
        self.options = options
        self.command = command
        self.say = say
        self.folder = options.out
        self.rows: dict[str, Examined] = {}
        self.planned: list[Planned] = []
        self.skipped = 0
        self.started = time.monotonic()
        self.ended = Ended.COMPLETE
        self._failures = 0
        self._pending: list[Examined] = []
        self._last_flush = time.monotonic()
        self._prepare_folder()
        self.spec = BenchSpec(candidate, scenario, options.cell, options.rig, str(self.folder / "state"))
        self.base = Schedule(scenario.id, options.seed, (), options.cell)

    def _prepare_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / "env.json", json.dumps(environment(), indent=1, sort_keys=True))
        except OSError as error:
            raise unwritable(self.folder, error) from error

    def about(self) -> dict[str, str]:
        """What makes two campaigns the same: used to refuse resuming another one."""
        digest = hashlib.blake2b(
            json.dumps(to_plain(self.scenario), sort_keys=True).encode(), digest_size=12
        ).hexdigest()
        return {
            "scenario": self.scenario.id,
            "scenario digest": digest,
            "candidate": self.candidate,
            "seed": str(self.options.seed),
            "cell": str(self.options.cell or ""),
            "rig": self.options.rig,
        }

    # -- the course ---------------------------------------------------------------------------------------------------------

    def run(self, progress: Progress = no_progress) -> CampaignResult:
        """Control, rounds, result. Always returns a result with what was done; how it ended stands in it."""
        self.store = CampaignStore(self.folder, self.about(), resume=self.options.resume)
        self.engine = Engine(self.spec, self.folder / "histories", self.options.jobs)
        self._old = {line: Examined(**row) for line, row in self.store.done().items()} if self.options.resume else {}
        try:
            self._explore(progress)
        except (Interrupted, KeyboardInterrupt):
            self.ended = Ended.INTERRUPTED
        finally:
            self._flush(force=True)
            self.engine.close()
        try:
            return assemble(self)
        finally:
            self.store.close()

    def _explore(self, progress: Progress) -> None:
        bench = self.engine.bench
        self.singles = Singles(self.scenario, bench.rig.cells, self.base, bench.abilities, bench.rig.name)
        control = self._round([self.singles.control()], frozenset(), progress)
        if not control or control[0].outcome != "holds":
            self.say("control: the run without any fault does not hold; nothing can be concluded from runs with faults")
            self.ended = Ended.CONTROL_FAILED
            return
        self.say(f"control: holds without any fault ({control[0].crossings} crossings, {control[0].events} events)")
        if self.scenario.schedule:
            self._pinned(progress)
            return
        first = self.singles.first_round(_facts(control[0]))
        rows = self._round(first, frozenset(self.singles.variants), progress)
        if self.options.first_round_only or self.ended is not Ended.COMPLETE:
            return
        by_line = {row.schedule: row for row in rows}
        ran = [(p, _facts(by_line[str(p.schedule)])) for p in first if str(p.schedule) in by_line]
        second = self.singles.second_round(ran)
        known = frozenset(self.singles.variants)
        for row in self._round(second, known, progress):
            self.singles.look_beyond(row.sites)

    def _pinned(self, progress: Progress) -> None:
        schedule = Schedule.parse(self.scenario.schedule)
        last = schedule.injections[-1] if schedule.injections else None
        trigger = ",".join(map(str, schedule.injections[:-1]))
        planned = Planned(schedule, last.boundary if last else "", last.fault.value if last else "", trigger)
        self._round([planned], frozenset(), progress)

    def _round(self, planned: Sequence[Planned], known: frozenset[Variant], progress: Progress) -> list[Examined]:
        """Run those that are selected, in our shard and not done; returns all their rows in the order of the plan."""
        wanted = [p for p in planned if self._is_wanted(p)]
        self.skipped += len(planned) - len(wanted)
        self.planned += wanted
        todo = []
        for p in wanted:
            old = self._old.get(str(p.schedule))
            if old is None:
                todo.append(p.schedule)
            else:
                self._take(old)
        for row in self.engine.examine(todo, known, self._why_stop):
            self._take(row)
            self._pending.append(row)
            self._flush()
            if len(self.planned) > 1:
                progress(len(self.rows), len(self.planned), self._failures)
        return [self.rows[str(p.schedule)] for p in wanted if str(p.schedule) in self.rows]

    def _is_wanted(self, planned: Planned) -> bool:
        if not planned.fault:
            return True
        if self.scenario.schedule:
            return True
        return self.options.selects(planned.schedule) and self.options.in_shard(planned.schedule)

    def _take(self, row: Examined) -> None:
        self.rows[row.schedule] = row
        self._failures += row.outcome == "violated"

    def _why_stop(self) -> str:
        """Why no further schedule is begun, or ""."""
        options = self.options
        if options.max_failures and self._failures >= options.max_failures:
            self.ended = Ended.MAX_FAILURES
        elif options.max_schedules and len(self.rows) > options.max_schedules:
            self.ended = Ended.MAX_SCHEDULES
        elif options.max_time_s and time.monotonic() - self.started > options.max_time_s:
            self.ended = Ended.MAX_TIME
        return "" if self.ended is Ended.COMPLETE else self.ended.value

    def _flush(self, *, force: bool = False) -> None:
        if not force and time.monotonic() - self._last_flush < FLUSH_S:
            return
        self.store.add(row.row() for row in self._pending)
        self._pending.clear()
        self._last_flush = time.monotonic()


def _facts(row: Examined) -> dict[str, SiteFacts]:
    """The sites of a row, as they come back from a store or another process."""
    return {
        path: (Phase(facts[0]), Purpose(facts[1]), facts[2], facts[3], facts[4], bool(facts[5]), bool(facts[6]))
        for path, facts in row.sites.items()
    }


def plan_only(scenario: Scenario, candidate: str, options: Options) -> tuple[list[Planned], int]:
    """What a campaign would run: the control run is made (it tells the boundaries), nothing else, nothing is kept.

    Returns the first round, selected, and the number of boundaries.
    """
    from harness.campaign.bench import Bench

    bench = Bench(BenchSpec(candidate, scenario, options.cell, options.rig, str(Path(options.out) / "state")))
    try:
        singles = Singles(
            scenario,
            bench.rig.cells,
            Schedule(scenario.id, options.seed, (), options.cell),
            bench.abilities,
            bench.rig.name,
        )
        ran = bench.rig.run(singles.base)
        first = singles.first_round(ran.sites)
    finally:
        bench.close()
    return [p for p in first if options.selects(p.schedule) and options.in_shard(p.schedule)], len(singles.known)
