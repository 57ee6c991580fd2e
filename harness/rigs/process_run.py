"""One run on the process rig: its course, and the workers it is made of.

Here: `Run` (submit, drive, heal, audit; the crash) and `Agent` (one incarnation, a process). Never here: what is kept
between runs, which is the rig's (`process.py`), and what a report or a request means (`harness/inject/crossings.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakes.approval.domain import ApprovalQueue
from fakes.core.endpoint import Endpoint
from fakes.registry import PROVIDERS
from harness.candidates.answers import ledger_view
from harness.inject.crossings import Crossings, Gate
from harness.inject.live import LiveWorld, ScaledClock
from harness.inject.messages import Messages
from harness.inject.names import StepNames, owners
from harness.inject.process import KILLED, Child, ending
from harness.inject.world import RunCut
from harness.model.boundary import Phase
from harness.model.cell import SECOND_NS
from harness.model.claim import LedgerView
from harness.model.event import History
from harness.model.fault import Fault
from harness.model.lifecycle import TERMINALS
from harness.model.plain import to_plain
from harness.model.schedule import Schedule
from harness.rigs.recorder import Recorder
from harness.rigs.simulation import Explored
from harness.rigs.worker_handles import Enlistment

if TYPE_CHECKING:
    from harness.rigs.process import ProcessRig

RESTART_NS = SECOND_NS
"""A new worker starts one second after the lease of the one before it has run out."""
SILENCE_MAX_S = 30.0
"""How long a worker may do nothing that we hear of."""
APPROVAL = "approval"
STORE = "ledger.db"


class Agent:
    """One incarnation of a worker: a process, and the controller's half of its handles."""

    def __init__(self, run: Run, name: str, incarnation: int, child: Child) -> None:
        self.run = run
        self.child = child
        self.crossings = Crossings(run.world, run.gate, name)
        self.is_gone = False
        rig, clock = run.rig, run.world.clock
        addresses = {provider: link.address for provider, link in rig.links.items()}
        store = str(run.folder / STORE)
        enlistment = Enlistment(name, incarnation, store, addresses, rig.provider_traits, clock.epoch_ns, clock.speed)
        self._order({"do": "enlist", "as": asdict(enlistment)})

    @property
    def name(self) -> str:
        return self.crossings.worker

    def does(self, verb: str, argument: Any = None, *, silent: bool = False) -> Any:
        """Let it do one verb until it is done or has died. Returns the verb's value (None after a death)."""
        return self._order({"do": "verb", "verb": verb, "argument": argument, "silent": silent})

    def kill(self) -> int:
        """SIGKILL, now. Returns the exit code."""
        self.is_gone = True
        code = self.child.kill()
        self.crossings.bury()
        return code

    def end(self) -> None:
        """It is not needed any more."""
        self.is_gone = True
        self.child.stop()

    def _order(self, order: dict[str, Any]) -> Any:
        """Give the order and answer every report, until the worker is done. Each report is one turn of the world."""
        world, child = self.run.world, self.child
        child.say(order)
        while True:
            message = self._hear()
            world.check()
            with world.turn():
                if message is None:
                    return self._lost()
                if message["say"] == "done":
                    return message["value"]
                if message["say"] == "error":
                    return self._failed(f"error in {order.get('verb', order['do'])}: {message['error']}")
                answer = self.crossings.report(message)
                self.run.last_sign_ns = world.now
            world.check()
            if not self.is_gone:
                child.say(answer)

    def _hear(self) -> dict[str, Any] | None:
        try:
            return self.child.hear(SILENCE_MAX_S)
        except TimeoutError:
            raise RunCut("worker-silent") from None

    def _lost(self) -> None:
        """The process is gone. If we did not kill it, it ended by itself: an event of the run."""
        self.run.messages.heal()
        if not self.is_gone:
            self._failed(f"{ending(self.kill())}: {self.child.last_words() or 'it said nothing'}")

    def _failed(self, cause: str) -> None:
        self.run.world.record(self.name, "worker-died", "", {"cause": cause})
        if not self.is_gone:
            self.kill()


class Run:
    """One run on the process rig."""

    def __init__(self, rig: ProcessRig, schedule: Schedule, folder: Path) -> None:
        self.rig = rig
        self.schedule = schedule
        self.scenario = rig.scenario
        self.folder = folder
        self.recorder = Recorder()
        plan: dict[str, list[Fault]] = {}
        for injection in schedule.injections:
            plan.setdefault(injection.boundary, []).append(injection.fault)
        limits, workflow = self.scenario.limits, self.scenario.workflow
        names = StepNames(workflow, owners(workflow))
        clock = ScaledClock(rig.speed)
        self.world = LiveWorld(
            self.recorder, names, plan, rig.cells, limits.crossings_max, limits.virtual_time_max_ns, clock
        )
        self.world.strikes = self
        self.messages = Messages(self.world, rig.links)
        rig.desks.clear()
        rig.desks.update(self._desks())
        self.gate = Gate(self.world, rig.desks, self.messages, folder.name)
        self.agents: list[Agent] = []
        self._names = 0
        self.last_sign_ns = 0
        """When a worker was last heard of."""

    def _desks(self) -> dict[str, Endpoint]:
        world, declined = self.world, frozenset(self.scenario.always_declined)
        desks: dict[str, Endpoint] = {}
        for name, cell in self.rig.cells.items():
            kind = PROVIDERS[name]
            desks[name] = kind(
                cell, now=world.tick, record=_recording(world, name), later=world.later, declined=declined
            )
        desks[APPROVAL] = ApprovalQueue(
            self.scenario.approver, now=world.tick, record=_recording(world, APPROVAL), later=world.later
        )
        return desks

    # -- the course of a run -------------------------------------------------------------------------------------------

    def execute(self) -> Explored:
        """Submit, drive, heal, audit."""
        cut = ""
        try:
            self.begin_work()
            self.settle()
        except RunCut as reached:
            cut = reached.reason
        self._record("run-ended", data={"cut_short": cut})
        self.recorder.check()
        history = History(self.rig.header(self.schedule), self.recorder.events)
        return Explored(history, self.world.sites, self.world.crossings)

    def begin_work(self) -> None:
        """A worker accepts the workflow and drives it. Whoever got no answer submits again, with another worker."""
        workflow = self.scenario.workflow
        for _ in range(len(self.schedule.injections) + 1):
            worker = self.spawn("submit")
            self._record("submitted", workflow.id)
            worker.does("submit", to_plain(workflow))
            if not worker.is_gone:
                worker.does("work")
                return
            self._outwait_the_lease()

    def settle(self) -> None:
        """Heal and prove recovery: bounded rounds until nothing changes, then the audit."""
        healed = False
        rounds = 0
        view = self.read_ledger()
        limit = self.scenario.limits.settle_rounds_max + len(self.schedule.injections)
        quiet = self._is_at_rest(view)
        while not quiet and rounds < limit:
            if not healed and not self.world.plan:
                self._record("healed")
                healed = True
            rounds += 1
            changed = self._recovery_round()
            view = self.read_ledger()
            if changed:
                quiet = self._is_at_rest(view)
            elif self.world.timers_left:
                self.world.advance_to_last_timer()
            else:
                quiet = True
        self._record("settled", data={"rounds": rounds, "quiet": quiet})
        self._audit(view)

    def _recovery_round(self) -> bool:
        self._outwait_the_lease()
        before = len(self.recorder.events)
        self.spawn("recover").does("recover")
        return any(e.kind in ("wrote", "call-sent", "effect", "worker-died") for e in self.recorder.events[before:])

    def _outwait_the_lease(self) -> None:
        """Until the last worker's lease, counted from its last sign of life, has run out. The next process loads."""
        self.rig.have_spare()
        end_ns = self.last_sign_ns + self.rig.traits.lease_ns + RESTART_NS
        self.world.advance(max(0, end_ns - self.world.clock.now_ns()))

    def _is_at_rest(self, view: LedgerView) -> bool:
        return view.workflow in TERMINALS and not self.world.timers_left

    def _audit(self, view: LedgerView) -> None:
        operations = {name: list(state) for name, state in sorted(view.operations.items())}
        left = self.world.timers_left
        self._record("audited", data={"operations": operations, "workflow": view.workflow, "timers_left": left})

    def read_ledger(self) -> LedgerView:
        """The candidate's ledger, read by an auditor: a process of its own, which crosses no boundaries."""
        auditor = Agent(self, "auditor", 0, self.rig.take_auditor())
        value = auditor.does("ledger", self.scenario.workflow.id, silent=True)
        return ledger_view(
            _view(value), f"{self.rig.candidate_name}, schedule {self.schedule}", f"over the wire: {value!r}"[:300]
        )

    # -- workers -------------------------------------------------------------------------------------------------------

    def spawn(self, verb: str) -> Agent:
        """A new incarnation under a new name: recovery never depends on the old one's.

        One at a time: a process that has nothing left to do ends before the next begins.
        """
        for agent in self.agents:
            if not agent.is_gone:
                agent.end()
        self._names += 1
        agent = Agent(self, f"w{self._names}", self._names, self.rig.take_child())
        self.agents.append(agent)
        with self.world.turn():
            self.world.record(agent.name, "worker-started", "", {"incarnation": self._names, "verb": verb})
        return agent

    def strike(self, who: Any, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        """Crash: kill the worker that waits here. It has fired when the kernel says that the signal killed it."""
        assert fault is Fault.CRASH, f"{fault.value} is not struck on this rig"
        agent = next(a for a in self.agents if a.crossings is who)
        code = agent.kill()
        self.world.tick()
        if code == KILLED:
            self.world.fired(where, fault)
        cause = "crash" if code == KILLED else ending(code)
        self.world.record(agent.name, "worker-died", where, {"cause": cause})
        self.rig.have_spare()

    def end(self) -> None:
        """After the run, whatever came of it: kill who is left, heal the network. All is tried before one raises."""
        with ExitStack() as left:
            left.callback(self.messages.heal)
            for agent in self.agents:
                left.callback(agent.end)
                left.callback(agent.child.kill)

    def _record(self, kind: str, where: str = "", data: Mapping[str, Any] | None = None) -> None:
        with self.world.turn():
            self.world.record("rig", kind, where, data)


def _recording(world: LiveWorld, actor: str) -> Callable[[str, str, Mapping[str, Any]], None]:
    def record(kind: str, where: str, data: Mapping[str, Any]) -> None:
        world.record(actor, kind, where, data)

    return record


def _view(value: Any) -> Any:
    """What came over the channel as the view it was, as far as it has that shape; checking it is the contract's business."""
    if not isinstance(value, dict) or not isinstance(value.get("operations"), dict):
        return value
    operations = {k: tuple(v) if isinstance(v, list) else v for k, v in value["operations"].items()}
    return LedgerView(value.get("workflow", ""), operations)
