"""The simulation rig: workers as greenlets in one process, one virtual clock, thousands of runs a second.

One run: a worker submits the workflow and drives it. Where the schedule says so, something goes wrong. Then the rig heals: it starts
new workers, each after the dead one's lease has run out, lets held-up messages arrive, until a recovery round changes nothing; then
it takes the final audit. Only one worker runs at a time: a second one runs while the first stands still at a boundary, which is the
interleaving that matters and is exactly repeatable.

A crash abandons the worker's greenlet without unwinding it: no `finally`, no `except`, no `with` of the candidate runs, and its store
connections are closed underneath. A greenlet that is garbage-collected would be unwound after all, so the dead are kept until the run
has been judged (`Run.reap`), and their handles raise if they act again (a `dead-call` event, which is a violation).
"""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from greenlet import GreenletExit, getcurrent, greenlet

from fakes.approval.domain import ApprovalQueue
from fakes.catalogue import in_process
from fakes.core.kernel import Provider
from harness.candidates.answers import ledger_view
from harness.candidates.contract import Candidate, Unsupported, Worker
from harness.inject.names import StepNames, owners
from harness.inject.simulation import CALL_TIMEOUT_NS, Dead, SimHandles
from harness.inject.world import RunCut, SiteFacts, World
from harness.model.boundary import Phase
from harness.model.cell import KEY_TTL_NS, SECOND_NS, Cell
from harness.model.claim import LedgerView
from harness.model.errors import CandidateError, HarnessBug
from harness.model.event import SCHEMA_VERSION, Header, History
from harness.model.fault import Fault
from harness.model.plain import to_plain
from harness.model.schedule import Schedule
from harness.model.wire import ProviderTraits
from harness.model.workflow import Scenario, Workflow
from harness.rigs.course import APPROVAL, RESTART_NS, Course, make_desks, plan_of
from harness.rigs.recorder import Recorder

JUMP_NS = 25 * 3600 * SECOND_NS
_counter = itertools.count()
_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
"""Where an assertion that fails is our own bug and not the candidate's."""


@dataclass(frozen=True, slots=True)
class Explored:
    """A finished run: its history, and the sites it crossed (path -> facts) for the explorer."""

    history: History
    sites: Mapping[str, SiteFacts]
    crossings: int


class SimulationRig:
    """Runs of one candidate on one scenario. Keeps the store, the template and the tables between runs; each run gets a fresh world."""

    name = "simulation"

    def __init__(
        self, candidate: Candidate, scenario: Scenario, candidate_name: str = "", cell: Cell | None = None
    ) -> None:
        self.candidate = candidate
        self.scenario = scenario
        self.cells = {name: cell or own for name, own in scenario.cells.items()}
        self.cell = cell
        self.kinds = in_process(getattr(candidate, "interfaces", {}))
        """Provider -> its fake: one that has its own API where the candidate says that it uses that."""
        self.real_time_max_s = 0.0
        """See `_alarmed`. 0: no alarm is set."""
        self.candidate_name = candidate_name or candidate.traits.name
        self.provider_traits = {name: _traits(name, c) for name, c in self.cells.items()}
        self.provider_traits[APPROVAL] = _traits(APPROVAL, Cell())
        self._owners = owners(scenario.workflow)
        self._store = f"file:/knownstate-{os.getpid()}-{next(_counter)}?vfs=memdb"
        self._anchor = sqlite3.connect(self._store, uri=True, check_same_thread=False)
        self._template = sqlite3.connect(":memory:", check_same_thread=False)
        self._prepare()
        self._plain = to_plain(scenario)
        self._plain["cells"] = {name: str(c) for name, c in self.cells.items()}
        self._traits_plain = to_plain(candidate.traits)

    def _prepare(self) -> None:
        scratch = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            self.candidate.prepare(scratch)
            scratch.commit()
            scratch.backup(self._template)
        except Exception as error:  # a stranger's code
            raise CandidateError(
                f"The candidate could not prepare an empty store: {type(error).__name__}: {error}.",
                where=f"{self.candidate_name}.prepare",
                next_step="prepare(connection) must create its tables on the sqlite3 connection it is given.",
            ) from error
        finally:
            scratch.close()

    def fresh_world(self) -> None:
        """The store as `prepare` left it, visible to every connection. `deserialize` would cut other connections off: never use it."""
        self._template.backup(self._anchor)

    def header(self, schedule: Schedule) -> Header:
        return Header(
            SCHEMA_VERSION,
            self._plain,
            str(schedule),
            schedule.seed,
            self.candidate_name,
            self.name,
            self._traits_plain,
        )

    def begin(self, schedule: Schedule) -> Run:
        """A fresh run, not started."""
        self.fresh_world()
        return Run(self, schedule)

    def run(self, schedule: Schedule) -> Explored:
        """One run under this schedule. Equal schedules give equal histories, byte for byte."""
        run = self.begin(schedule)
        with self._alarmed(run):
            try:
                return run.execute()
            finally:
                run.reap()

    @contextmanager
    def _alarmed(self, run: Run) -> Iterator[None]:
        """Cut the run when it takes more real time than it may: a candidate can loop without ever crossing a boundary.

        The alarm rings again every second, since one that catches everything may go on while its end is being made.
        """
        if not self.real_time_max_s:
            yield
            return
        before = signal.signal(signal.SIGALRM, lambda number, frame: run.out_of_time())
        signal.setitimer(signal.ITIMER_REAL, self.real_time_max_s, 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def close(self) -> None:
        self._anchor.close()
        self._template.close()


def _traits(name: str, cell: Cell) -> ProviderTraits:
    return ProviderTraits(name, cell.key.value, cell.lookup.value, cell.late.value, KEY_TTL_NS, CALL_TIMEOUT_NS)


class Agent:
    """One incarnation of a worker: its handles, and a greenlet for each verb it is asked to do."""

    __slots__ = ("ended", "greenlets", "handles", "run", "worker")

    def __init__(self, run: Run, name: str, incarnation: int) -> None:
        self.run = run
        rig = run.rig
        self.handles = SimHandles(run.world, name, incarnation, run.desks, rig.provider_traits, rig._store, run.die)
        self.worker: Worker | None = None
        self.greenlets: list[greenlet] = []
        self.ended = ""

    def does(self, verb: str, *arguments: Any) -> Any:
        """Play one verb until it is done or the worker has died. Returns the verb's value (None after a death)."""
        body = greenlet(self._body)
        body.parent = getcurrent()
        self.greenlets.append(body)
        kind, value = body.switch(verb, arguments)
        if kind == "cut":
            self.run.cut(value.reason)
        if kind == "error":
            self._failed(verb, value)
        return value if kind == "done" else None

    def _body(self, verb: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
        try:
            if self.worker is None:
                self.worker = self.run.rig.candidate.start(self.handles)
            return "done", getattr(self.worker, verb)(*arguments)
        except RunCut as cut:
            return "cut", cut
        except Dead as dead:
            return "dead", dead
        except GreenletExit:
            return "dead", None
        except (Exception, SystemExit) as error:  # the candidate's own failure is an event of the run, whatever it is
            return "error", error

    def _failed(self, verb: str, error: Exception | SystemExit) -> None:
        if isinstance(error, Unsupported):
            return
        if isinstance(error, (HarnessBug, AssertionError)) and _where(error).startswith(_OURS):
            raise error
        self.ended = f"error in {verb}: {type(error).__name__}: {error}"
        self.run.died(self, self.ended)


def _where(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace else ""


class Run(Course):
    """One run on the simulation rig."""

    def __init__(self, rig: SimulationRig, schedule: Schedule) -> None:
        self.rig = rig
        self.schedule = schedule
        self.scenario = rig.scenario
        self.recorder = Recorder()
        limits = self.scenario.limits
        self.world = World(
            self.recorder,
            StepNames(self.scenario.workflow, rig._owners),
            plan_of(schedule),
            rig.cells,
            limits.crossings_max,
            limits.virtual_time_max_ns,
        )
        self.world.strikes = self
        self.world.cut = self.cut
        world = self.world
        self.desks = make_desks(self.scenario, rig.cells, world, lambda: world.now, rig.kinds)
        self.agents: list[Agent] = []
        self._names = 0
        self.reap_errors = 0
        self.is_under_way = False

    # -- the course of a run ------------------------------------------------------------------------------------------------

    def execute(self) -> Explored:
        """Submit, drive, heal, audit."""
        cut = ""
        self.is_under_way = True
        try:
            self.begin_work()
            self.settle()
        except RunCut as reached:
            cut = reached.reason
        self.is_under_way = False
        self.note("run-ended", data={"cut_short": cut})
        return self.explored()

    def explored(self) -> Explored:
        self.recorder.check()
        return Explored(
            History(self.rig.header(self.schedule), self.recorder.events), self.world.sites, self.world.crossings
        )

    def workflow_to_submit(self) -> Workflow:
        return self.scenario.workflow

    def outwait_the_lease(self) -> None:
        self.world.advance(self.rig.candidate.traits.lease_ns + RESTART_NS)

    def read_ledger(self) -> LedgerView:
        """The candidate's ledger, read by an auditor that crosses no boundaries."""
        auditor = self._auditor()
        handles = auditor.handles
        handles.silent = True
        try:
            view = auditor.does("ledger", self.scenario.workflow.id)
        finally:
            handles.silent = False
        return ledger_view(view, f"{self.rig.candidate_name}, schedule {self.schedule}", auditor.ended)

    def _auditor(self) -> Agent:
        if self.agents and not self.is_gone(self.agents[-1]):
            return self.agents[-1]
        agent = Agent(self, "auditor", 0)
        self.agents.append(agent)
        return agent

    # -- workers ------------------------------------------------------------------------------------------------------------

    def spawn(self, verb: str) -> Agent:
        """A new incarnation under a new name: recovery never depends on the old one's."""
        self._names += 1
        agent = Agent(self, f"w{self._names}", self._names)
        self.agents.append(agent)
        self.world.record(agent.handles.worker, "worker-started", "", {"incarnation": self._names, "verb": verb})
        return agent

    def nobody_is_left(self) -> bool:
        return all(map(self.is_gone, self.agents))

    def is_gone(self, agent: Agent) -> bool:
        return agent.handles.dead or bool(agent.ended)

    def died(self, agent: Agent, cause: str) -> None:
        self.world.record(agent.handles.worker, "worker-died", "", {"cause": cause})
        agent.handles.close_underneath()
        agent.handles.dead = True

    def die(self, handles: SimHandles) -> NoReturn:
        """The greenlet that runs this worker stops here for good. Control goes to whoever plays it."""
        handles.dead = True
        here = getcurrent()
        parent = here.parent
        assert parent is not None
        parent.switch(("dead", None))
        raise Dead("a dead incarnation was resumed")

    def out_of_time(self) -> None:
        """The alarm rang. Whoever is at it, worker or rig, stops here; outside a run's course only a dead worker can be."""
        if self.is_under_way or any(getcurrent() in agent.greenlets for agent in self.agents):
            self.cut("real-time")

    def cut(self, reason: str) -> NoReturn:
        """A limit is reached. A worker is left where it stands: raised into it, a candidate that catches all would go on."""
        here = getcurrent()
        if any(here in agent.greenlets for agent in self.agents):
            assert here.parent is not None
            here.parent.switch(("cut", RunCut(reason)))
        raise RunCut(reason)

    # -- strikes ------------------------------------------------------------------------------------------------------------

    def strike(self, who: Any, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        """Do a fault of the crash, control or lease family while `who` stands at `where`."""
        action = _STRIKES.get(fault)
        if action is None:
            raise HarnessBug(
                f"The simulation rig cannot do {fault.value}.", where=where, next_step="Report this schedule line."
            )
        action(self, who, where, phase, fault, request)

    def crash(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        self.world.fired(where, fault)
        self.world.record(who.worker, "worker-died", where, {"cause": "crash"})
        who.close_underneath()
        if phase in (Phase.SENT, Phase.DELIVERED, Phase.COMMITTED):
            who.dying = True  # what is on the wire goes on; nobody will be there for the answer
            return
        self.die(who)

    def cancel(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        self.world.fired(where, fault)
        agent = self.spawn("cancel")
        agent.does("cancel", self.scenario.workflow.id)
        if not self.is_gone(agent):  # only an answered cancellation is one: whoever died on the way promised nothing
            version = self.scenario.workflow.intent_version
            self.world.record("person", "cancelled", self.scenario.workflow.id, {"version": version})

    def double_submit(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        self.world.fired(where, fault)
        second = self.spawn("submit")
        second.does("submit", self.scenario.workflow)
        if not self.is_gone(second):
            second.does("work")

    def zombie(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        if phase in (Phase.DELIVERED, Phase.COMMITTED):
            who.after_reply = lambda: self._stand_still(who, where, fault)
            return
        self._stand_still(who, where, fault)

    def _stand_still(self, who: SimHandles, where: str, fault: Fault) -> None:
        world = self.world
        world.fired(where, fault)
        world.record(who.worker, "worker-paused", where)
        world.advance(self.rig.candidate.traits.lease_ns + RESTART_NS)
        other = self.spawn("recover")
        before = len(self.recorder.events)
        other.does("recover")
        if any(e.kind == "wrote" and e.actor == other.handles.worker for e in self.recorder.events[before:]):
            # Only now: a recovery that died before its take-over was durable has taken nothing from anybody.
            world.record(who.worker, "lease-lost", where, {"taken_by": other.handles.worker})
        world.record(who.worker, "worker-resumed", where)

    def recover_beside(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        self.world.fired(where, fault)
        self.spawn("recover").does("recover")

    def jump(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        self.world.fired(where, fault)
        by_ns = JUMP_NS if fault is Fault.CLOCK_JUMP else self.scenario.approver.valid_ns + SECOND_NS
        self.world.record("rig", "clock-jumped", where, {"by_ns": by_ns})
        self.world.advance(by_ns)

    def deny(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        queue = self._queue()
        denied = [approval for approval in queue.pending() if queue.deny(approval)]
        if denied:
            self.world.fired(where, fault)

    def _queue(self) -> ApprovalQueue:
        queue = self.desks[APPROVAL]
        assert isinstance(queue, ApprovalQueue), "made by make_desks"
        return queue

    def revoke(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        if self._queue().revoke(request.approval):
            self.world.fired(where, fault)

    def outside(self, who: SimHandles, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        provider = self.desks[request.provider]
        assert isinstance(provider, Provider), "undos go to providers; the approval queue has none"
        if provider.external_undo(request):
            self.world.fired(where, fault)

    # -- the dead -----------------------------------------------------------------------------------------------------------

    def reap(self) -> None:
        """After the run: unwind what was abandoned. What it raises is counted and dropped; its handles are fenced."""
        self.world.recorder = Recorder()  # what the dead do from here on is no part of the history
        for agent in self.agents:
            agent.handles.dead = True
            agent.handles.close_underneath()
            for body in agent.greenlets:
                if not body.dead:
                    body.parent = getcurrent()
                    self._unwind(body)
            agent.greenlets.clear()
        self.agents.clear()
        self.world.release()

    def _unwind(self, body: greenlet) -> None:
        """Let its clean-up run. It may fail in any way, or catch the end and go on until it is left where it stands."""
        left = body.throw(GreenletExit)
        raised = isinstance(left, tuple) and left[1] is not None
        if raised or not body.dead:
            self.reap_errors += 1


_Strike = Callable[[Run, Any, str, Phase, Fault, Any], None]
_STRIKES: dict[Fault, _Strike] = {
    Fault.CRASH: Run.crash,
    Fault.CANCEL: Run.cancel,
    Fault.DOUBLE_SUBMIT: Run.double_submit,
    Fault.ZOMBIE_WORKER: Run.zombie,
    Fault.LEASE_LOST_IN_RECONCILIATION: Run.zombie,
    Fault.RECOVERY_ADOPTS_LIVE_RUN: Run.recover_beside,
    Fault.CLOCK_JUMP: Run.jump,
    Fault.APPROVAL_EXPIRES: Run.jump,
    Fault.APPROVAL_DENIED: Run.deny,
    Fault.APPROVAL_REVOKED: Run.revoke,
    Fault.EXTERNAL_CHANGE: Run.outside,
}
__all__ = ["Explored", "Run", "SimulationRig"]
