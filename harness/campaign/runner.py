"""Runs a campaign: the control run first, then rounds of schedules, then the result. What is done is on disk after every batch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.campaign.assemble import Ended, assemble
from harness.campaign.bench import BenchSpec, Examined
from harness.campaign.engine import Engine
from harness.campaign.interrupt import Interrupt
from harness.campaign.options import Options
from harness.explore.deeper import next_round
from harness.explore.singles import Planned, Singles, SiteFacts, Variant
from harness.model.boundary import Phase, Purpose
from harness.model.errors import KnownstateError, UsageError
from harness.model.plain import to_plain
from harness.model.result import CampaignResult
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario
from harness.store.atomic import write_whole
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
        interrupt: Interrupt | None = None,
    ) -> None:
        self.scenario = scenario
        self.candidate = candidate
        self.options = options
        self.command = command
        self.say = say
        self.interrupt = interrupt or Interrupt()
        self.folder = options.out
        self.rows: dict[str, Examined] = {}
        """Of the schedules that are reported, the control run among them."""
        self.planned: list[Planned] = []
        self.skipped = 0
        self.rounds = 0
        self.reduced = 0
        """Schedules that the per-operation reduction left out."""
        self.audit: set[str] = set()
        """Schedules across operations that were run all the same, to put the reduction to the test."""
        self.singles: Singles | None = None
        self.started = time.monotonic()
        self.ended = Ended.COMPLETE
        self.spec = BenchSpec(
            candidate, scenario, options.cell, options.rig, str(self.folder / "state"), options.run_max_s
        )
        self.base = Schedule(scenario.id, options.seed, (), options.cell)
        self.seen: dict[str, Examined] = {}
        """All rows: those reported, and those that were run to discover recovery paths."""
        self._total = 0
        self._violated = 0
        self._pending: list[Examined] = []
        self._last_flush = time.monotonic()

    def about(self) -> dict[str, str]:
        """What makes two campaigns the same: used to refuse resuming another one."""
        plain = {**to_plain(self.scenario), "path": "", "expect": ""}  # neither decides what is run
        digest = hashlib.blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=12).hexdigest()
        return {
            "scenario": self.scenario.id,
            "scenario digest": digest,
            "candidate": self.candidate,
            "seed": str(self.options.seed),
            "cell": str(self.options.cell or ""),
            "rig": self.options.rig,
            "exclude": " ".join(sorted(self.options.exclude)),
            "faults": str(self.options.faults),
            "reduce": self.options.reduce if self.options.faults > 1 else "",
        }

    # -- the course ---------------------------------------------------------------------------------------------------------

    def run(self, progress: Progress = no_progress) -> CampaignResult:
        """Control, rounds, result. How it ended stands in the result, which holds whatever was done.

        Raises KnownstateError when candidate, machine or harness do not let it go on; what was done is kept for --resume.
        """
        self.store = CampaignStore(self.folder, self.about(), resume=self.options.resume)
        try:
            self._clear_state()
            self.engine = Engine(self.spec, self.folder / "histories", self.options.jobs)
            self._old = {line: Examined(**row) for line, row in self.store.done().items()}
            self._explore_and_keep(progress)
            return assemble(self)
        finally:
            self.store.close()

    def _explore_and_keep(self, progress: Progress) -> None:
        try:
            self._explore(progress)
        except KeyboardInterrupt:  # the second Ctrl-C, or one where no handler of ours was
            self.ended = Ended.INTERRUPTED
            self.engine.kill()
        except BaseException as error:
            self._flush()
            if isinstance(error, KnownstateError) and self.seen:
                error.next_step += f" The {len(self.seen)} runs made before are kept in {self.folder}, for --resume."
            raise
        finally:
            self.engine.close()
            self._clear_state()
        self._flush()

    def _clear_state(self) -> None:
        """What rigs keep there while they run, they remove; a campaign that was killed could not."""
        state = self.folder / "state"
        for old in state.glob("process-rig-*"):
            shutil.rmtree(old, ignore_errors=True)
        with contextlib.suppress(OSError):  # not there, or somebody keeps something of theirs in it
            state.rmdir()

    def _explore(self, progress: Progress) -> None:
        bench = self.engine.bench
        self.singles = Singles(self.scenario, bench.rig.cells, self.base, bench.abilities, bench.rig.name)
        control = self._control()
        write_whole(self.folder / "env.json", json.dumps(environment(), indent=1, sort_keys=True))
        if control.outcome != "holds":
            self.say("control: the run without any fault does not hold; nothing can be concluded from runs with faults")
            self.ended = Ended.CONTROL_FAILED
            return
        self.say(f"control: holds without any fault ({control.crossings} crossings, {control.events} events)")
        first = self.singles.first_round(_facts(control))
        if self.scenario.schedule:
            self._round([pinned(self.scenario)], frozenset(), progress)
            return
        first = self._not_excluded(first)
        if self.options.faults > 1:
            self._deeper(first, progress)
            return
        self._round(first, frozenset(self.singles.variants), progress)
        if self.options.skip_recovery_paths:
            return
        self._run([p.schedule for p in first], frozenset(self.singles.variants), progress)
        if self._why_stop():
            return
        second = self._not_excluded(self.singles.second_round((p, _facts(self.seen[str(p.schedule)])) for p in first))
        self._round(second, frozenset(self.singles.variants), progress)
        for planned in second:
            row = self.rows.get(str(planned.schedule))
            self.singles.look_beyond(row.sites if row else ())

    def _deeper(self, planned: list[Planned], progress: Progress) -> None:
        """Singles, then each of their runs with one more fault, and so on: breadth first in the number of faults."""
        assert self.singles is not None, "made before the control run"
        depth_max = self.options.faults
        for depth in range(1, depth_max + 1):
            known = frozenset(self.singles.variants) if depth == depth_max else frozenset()
            self._round(planned, known, progress)
            if depth == depth_max:
                return
            self._run([p.schedule for p in planned], known, progress)  # what is not reported is needed to go on from
            if self._why_stop():
                return
            runs = ((p, _facts(self.seen[str(p.schedule)])) for p in planned)
            found = next_round(self.singles, runs, reduce=self.options.reduce)
            self.reduced += found.left_out
            self.audit |= found.audit
            planned = self._not_excluded(found.planned)

    def _control(self) -> Examined:
        """The run without any fault. No limit keeps it from being made: without it there is nothing to say at all."""
        planned = Planned(self.base)
        self.planned.append(planned)
        row = self._old.get(str(self.base))
        if row is None:
            row = self.engine.bench.examine(self.base)
            self._pending.append(row)
        self.seen[row.schedule] = self.rows[row.schedule] = row
        return row

    def _not_excluded(self, planned: Sequence[Planned]) -> list[Planned]:
        kept = [p for p in planned if not self.options.excludes(p.schedule)]
        self.skipped += len(planned) - len(kept)
        return kept

    def _round(self, planned: Sequence[Planned], known: frozenset[Variant], progress: Progress) -> None:
        """Run what is to be reported of a round, as far as --max-schedules allows."""
        self.rounds += 1
        wanted = [p for p in planned if self.scenario.schedule or self.options.selects(p.schedule)]
        self.skipped += len(planned) - len(wanted)
        self.planned += wanted
        lines = [p.schedule for p in wanted]
        if self.options.max_schedules:
            lines = lines[: max(0, self.options.max_schedules - (len(self.rows) - 1))]
        self._run(lines, known, progress)
        for line in map(str, lines):
            if line in self.seen:
                self.rows[line] = self.seen[line]
        if len(lines) < len(wanted) and self.ended is Ended.COMPLETE:
            self.ended = Ended.MAX_SCHEDULES

    def _run(self, schedules: Sequence[Schedule], known: frozenset[Variant], progress: Progress) -> None:
        """Have a row of every one of these schedules, unless something stops us. None is run twice."""
        missing = [s for s in schedules if str(s) not in self.seen]
        self._total += len(missing)
        for line in map(str, missing):
            if line in self._old:
                self._take(self._old[line])
        for row in self.engine.examine([s for s in missing if str(s) not in self.seen], known, self._why_stop):
            self._take(row)
            self._pending.append(row)
            if time.monotonic() - self._last_flush > FLUSH_S:
                self._flush()
            progress(len(self.seen) - 1, self._total, self._violated)

    def _take(self, row: Examined) -> None:
        self.seen[row.schedule] = row
        self._violated += row.outcome == "violated" and (
            bool(self.scenario.schedule) or self.options.selects(Schedule.parse(row.schedule))
        )

    def _why_stop(self) -> str:
        """Why no further schedule is begun, or ""."""
        options = self.options
        if self.ended is not Ended.COMPLETE:
            return self.ended.value
        if self.interrupt.asked:
            self.ended = Ended.INTERRUPTED
        elif options.max_failures and self._violated >= options.max_failures:
            self.ended = Ended.MAX_FAILURES
        elif options.max_time_s and time.monotonic() - self.started > options.max_time_s:
            self.ended = Ended.MAX_TIME
        return "" if self.ended is Ended.COMPLETE else self.ended.value

    def _flush(self) -> None:
        self.store.add(row.row() for row in self._pending)
        self._pending.clear()
        self._last_flush = time.monotonic()


def _facts(row: Examined) -> dict[str, SiteFacts]:
    """The sites of a row, as they come back from a store or another process."""
    return {
        path: (Phase(facts[0]), Purpose(facts[1]), facts[2], facts[3], facts[4], bool(facts[5]), bool(facts[6]))
        for path, facts in row.sites.items()
    }


def pinned(scenario: Scenario) -> Planned:
    """The one schedule of a scenario that pins one. Raises UsageError when no fault is in it."""
    schedule = Schedule.parse(scenario.schedule)
    if not schedule.injections:
        raise UsageError(
            f"The scenario {scenario.id} pins a schedule without a fault, which is the control run.",
            where=f"{scenario.path}, schedule",
            next_step="Leave `schedule` out to explore it, or pin a line with a fault.",
        )
    last = schedule.injections[-1]
    return Planned(schedule, last.boundary, last.fault.value, ",".join(map(str, schedule.injections[:-1])))


def plan_only(scenario: Scenario, candidate: str, options: Options, state: Path) -> tuple[list[Planned], int]:
    """What a campaign would run: the control run is made (it tells the boundaries), nothing else, nothing is kept.

    Returns the pinned schedule or the first round, selected, and the number of boundaries.
    """
    from harness.campaign.bench import Bench

    bench = Bench(BenchSpec(candidate, scenario, options.cell, options.rig, str(state)))
    try:
        base = Schedule(scenario.id, options.seed, (), options.cell)
        singles = Singles(scenario, bench.rig.cells, base, bench.abilities, bench.rig.name)
        first = singles.first_round(bench.rig.run(base).sites)
    finally:
        bench.close()
    if scenario.schedule:
        return [pinned(scenario)], len(singles.known)
    return [p for p in first if options.selects(p.schedule)], len(singles.known)
