"""`LedgerMachine`: Hypothesis drives a candidate from boundary to boundary, and lets things go wrong on the way.

A rule says what happens next: the worker goes on, a fault strikes, a person cancels, a lease runs out, nothing more
goes wrong. Every choice is a rule's argument, so Hypothesis can shrink it; a choice from a list that depends on where
the worker stands is an index modulo its length, which shrinks towards the first. Whatever happens is also written down
as a schedule, and it is the schedule that is kept and replayed: the machine is only the way to it.

When a run is over, the next one begins in the same test case, in a fresh world: a case of many short runs finds more
than one run that idles after its end, and runs that share nothing shrink away one by one. What Hypothesis leaves of the
faults is then tried without each of them (`Stage.without_idle_faults`), so that each fault of a finding is needed.

While a run is under way only those guarantees are asked that nothing to come can mend (`EARLY`). The others wait.
Never here: how a run is driven (`stepping`), and what becomes of a finding (`found`).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from hypothesis import currently_in_test_context, event, target
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from harness.candidates.loading import REFERENCE
from harness.judge.judge import GUARANTEES, judge
from harness.model.cell import Cell
from harness.model.errors import HarnessBug
from harness.model.event import History
from harness.model.fault import Fault
from harness.model.verdict import Outcome, Verdict, overall
from harness.model.workflow import Scenario
from harness.rigs.simulation import Explored
from harness.stateful.found import Found, TraceAhead, Undecided, export, export_folder, tell, unrepeatable, violation_of
from harness.stateful.stage import Factory, Stage
from harness.stateful.stepping import SteppedRun
from harness.store.history_file import encode

EARLY = ("no-duplicate-effect", "no-blind-retry", "stable-identity", "downstream-waits", "fenced-worker")
"""Guarantees whose violation is complete with its last witness: nothing that comes after can make it undone."""
assert set(EARLY) <= set(GUARANTEES), "early guarantees are guarantees"

PAUSES = (Fault.ZOMBIE_WORKER, Fault.LEASE_LOST_IN_RECONCILIATION)
STRIDE_MAX = 16
"""Most boundaries one step may cross."""
_ANY = st.integers(0, 59)


class LedgerMachine(RuleBasedStateMachine):
    """Subclass it, name your candidate, and let pytest collect its `TestCase`.

    `candidate`: `module:factory` or a callable without arguments; `scenario`: an id, a path or a Scenario; `cells`:
    provider cells to choose from, one for all providers of a run (empty: the scenario's own); `faults_max`: most faults
    in one run; `export_to`: the folder for what is found (empty: KNOWNSTATE_EXPORT, else `.knownstate/found`).
    """

    candidate: ClassVar[str | Factory] = REFERENCE
    scenario: ClassVar[str | Path | Scenario] = "pair"
    cells: ClassVar[tuple[Cell, ...]] = ()
    faults_max: ClassVar[int] = 4
    export_to: ClassVar[str | Path] = ""

    _stage: ClassVar[Stage | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.stage = self._shared_stage()
        self.run: SteppedRun | None = None
        self._ahead = TraceAhead(export_folder(self.export_to), self.stage.scenario.id)
        self._cell: Cell | None = None
        self._judged_events = 0
        self._runs_count = 0
        self._widest = 0

    @classmethod
    def _shared_stage(cls) -> Stage:
        """One stage for the class itself: a subclass may name another candidate, so it never takes its parent's."""
        stage = cls.__dict__.get("_stage")
        if stage is None:
            stage = cls._stage = Stage(cls.candidate, cls.scenario)
        return stage

    # -- rules --------------------------------------------------------------------------------------------------------

    @initialize(cell=_ANY)
    def submit(self, cell: int) -> None:
        """A worker is given the workflow, in a fresh world. All runs of a case have the same provider cell."""
        self._cell = self.cells[cell % len(self.cells)] if self.cells else None
        self._begin()

    @rule(boundaries=st.integers(1, STRIDE_MAX))
    def step_worker(self, boundaries: int) -> None:
        """Whoever is about to cross goes on."""
        self._under_way.go_on(boundaries)
        self._look()

    @precondition(lambda self: bool(self.fitting))
    @rule(which=_ANY)
    def inject(self, which: int) -> None:
        """One of the faults that fit this boundary strikes."""
        self._strike(self.fitting[which % len(self.fitting)])

    @precondition(lambda self: any(fault in PAUSES for fault in self.fitting))
    @rule()
    def expire_lease(self) -> None:
        """The worker stands still past its lease, another one recovers its work, then it goes on."""
        self._strike(next(fault for fault in PAUSES if fault in self.fitting))

    @precondition(lambda self: Fault.CANCEL in self.fitting)
    @rule()
    def cancel(self) -> None:
        """A person cancels the intent."""
        self._strike(Fault.CANCEL)

    @rule()
    def heal(self) -> None:
        """Nothing more goes wrong: the run settles and is judged, and the next one begins."""
        self._end()
        self._begin()

    @invariant()
    def nothing_is_broken_beyond_repair(self) -> None:
        """Ask the early guarantees about what has happened so far; if one is broken, the whole run must show it too."""
        run = self._under_way
        if len(run.recorder.events) == self._judged_events:
            return
        self._judged_events = len(run.recorder.events)
        broken = self._broken_already(run)
        if broken:
            self._end()
            raise HarnessBug(
                f"{broken[0].guarantee} was broken half-way through a run and holds at its end.",
                where=f"schedule line {run.schedule}",
                next_step="Report this line: the guarantee does not belong to those that can be asked early.",
            )

    def teardown(self) -> None:
        """Hypothesis is done with this case: a run under way is brought to its end, so that no fault goes unjudged."""
        try:
            if self.stands and (self._under_way.schedule.injections or not self._runs_count):
                self._end()
        finally:
            if self.run is not None:
                self.run.reap()
            self._ahead.forget()
            if self._widest and currently_in_test_context():
                target(float(self._widest), label="boundaries crossed in one run")

    # -- where the run stands -----------------------------------------------------------------------------------------

    @property
    def stands(self) -> bool:
        """Is a run under way?"""
        return self.run is not None and self.run.standing is not None

    @property
    def fitting(self) -> tuple[Fault, ...]:
        """The faults that may strike now."""
        run = self.run
        if run is None or run.standing is None or len(run.schedule.injections) >= self.faults_max:
            return ()
        return run.standing.faults

    @property
    def _under_way(self) -> SteppedRun:
        assert self.run is not None, "a run has begun"
        return self.run

    def _begin(self) -> None:
        self.run = self.stage.begin(self._cell)
        self._judged_events = 0
        self.run.start()

    def _strike(self, fault: Fault) -> None:
        run = self._under_way
        assert run.standing is not None, "it stands where the fault fits"
        self._ahead.write(str(run.schedule.plus(run.standing.where, fault)))
        run.inject(fault)
        self._look()

    # -- judging ------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """If the run is over, judge it and begin the next one."""
        if not self.stands:
            self._conclude()
            self._begin()

    def _end(self) -> None:
        """Bring the run to its end without another fault, and judge it."""
        self._under_way.finish()
        self._conclude()

    def _conclude(self) -> None:
        """The run is over: let go of it and judge it."""
        assert self.run is not None, "a run has begun"
        ended = self.run.result
        assert ended is not None, "it is over"
        self.run.reap()
        self._ahead.forget()
        self._runs_count += 1
        verdicts = judge(ended.history, self.stage.scenario)
        self._report(ended, verdicts)
        match overall(verdicts):
            case Outcome.VIOLATED:
                self._fail(ended.history, verdicts)
            case Outcome.UNKNOWN:
                self._doubt(ended.history, verdicts)

    def _broken_already(self, run: SteppedRun) -> list[Verdict]:
        """The early guarantees, among those the scenario asks for, that the run so far has broken."""
        wanted = self.stage.scenario.guarantees or EARLY
        only = [guarantee for guarantee in EARLY if guarantee in wanted]
        verdicts = judge(run.so_far(), self.stage.scenario, only=only) if only else ()
        return [v for v in verdicts if v.outcome is Outcome.VIOLATED]

    def _report(self, ended: Explored, verdicts: tuple[Verdict, ...]) -> None:
        """Tell Hypothesis what this run was: for its statistics, and to seek runs that reach further."""
        self._widest = max(self._widest, len(ended.sites))
        if not currently_in_test_context():
            return
        fired = [str(e.data["fault"]) for e in ended.history.events if e.kind == "fault-fired"]
        event(f"faults in one run: {len(fired)}")
        event(f"verdict: {overall(verdicts).value}")
        for fault in dict.fromkeys(fired):
            event(f"struck: {fault}")

    def _fail(self, history: History, verdicts: tuple[Verdict, ...]) -> None:
        """Raise what was found, in its smallest form, once a rig that has seen no other run has shown the same."""
        assert self.run is not None, "it has just ended"
        schedule = self.run.schedule
        if encode(self.stage.replay(schedule).history) != encode(history):
            raise unrepeatable(self.stage.spec, schedule)
        guarantee = next(v.guarantee for v in verdicts if v.outcome is Outcome.VIOLATED)
        smallest = self.stage.replay(self.stage.without_idle_faults(schedule, guarantee)).history
        found = Found.of(self.stage.scenario, self.stage.spec, smallest, guarantee)
        path = export(found, export_folder(self.export_to))
        raise violation_of(guarantee)(tell(found, path))

    def _doubt(self, history: History, verdicts: tuple[Verdict, ...]) -> None:
        """A run whose fault found nothing to strike is void and says nothing of the candidate; other doubt fails."""
        assert self.run is not None, "it has just ended"
        if all(history.has_fired(i.fault, i.boundary) for i in self.run.schedule.injections):
            first = next(v for v in verdicts if v.outcome is Outcome.UNKNOWN)
            raise Undecided(f"{first.guarantee}: {first.explanation}\nschedule: {self.run.schedule}")
