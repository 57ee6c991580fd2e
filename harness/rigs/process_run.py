"""One run on the process rig: its course, and the workers it is made of.

Here: `Run` (submit, drive, heal, audit; the crash) and `Agent` (one incarnation, a process). Never here: what is kept
between runs, which is the rig's (`process.py`), and what a report or a request means (`harness/inject/crossings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.candidates.answers import ledger_view
from harness.inject.crossings import Crossings, Gate
from harness.inject.live import LiveWorld, ScaledClock
from harness.inject.messages import Messages
from harness.inject.names import StepNames, owners
from harness.inject.process import KILLED, Child, ending
from harness.inject.world import RunCut
from harness.model.boundary import Phase
from harness.model.claim import LedgerView
from harness.model.event import History
from harness.model.fault import Fault
from harness.model.plain import to_plain
from harness.model.schedule import Schedule
from harness.rigs.course import RESTART_NS, Course, make_desks, plan_of
from harness.rigs.recorder import Recorder
from harness.rigs.simulation import Explored
from harness.rigs.worker_handles import Enlistment

if TYPE_CHECKING:
    from harness.rigs.process import ProcessRig

SILENCE_MAX_S = 30.0
"""How long a worker may do nothing that we hear of."""
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

    def does(self, verb: str, *arguments: Any, silent: bool = False) -> Any:
        """Let it do one verb until it is done or has died. Returns the verb's value (None after a death)."""
        argument = arguments[0] if arguments else None
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


class Run(Course):
    """One run on the process rig."""

    world: LiveWorld

    def __init__(self, rig: ProcessRig, schedule: Schedule, folder: Path) -> None:
        self.rig = rig
        self.schedule = schedule
        self.scenario = rig.scenario
        self.folder = folder
        self.recorder = Recorder()
        limits, workflow = self.scenario.limits, self.scenario.workflow
        names = StepNames(workflow, owners(workflow))
        clock = ScaledClock(rig.speed)
        self.world = LiveWorld(
            self.recorder, names, plan_of(schedule), rig.cells, limits.crossings_max, limits.virtual_time_max_ns, clock
        )
        self.world.strikes = self
        self.messages = Messages(self.world, rig.links)
        rig.desks.clear()
        rig.desks.update(make_desks(self.scenario, rig.cells, self.world, self.world.tick))
        self.gate = Gate(self.world, rig.desks, self.messages, folder.name)
        self.agents: list[Agent] = []
        self._names = 0
        self.last_sign_ns = 0
        """When a worker was last heard of."""

    # -- the course of a run -------------------------------------------------------------------------------------------

    def execute(self) -> Explored:
        """Submit, drive, heal, audit."""
        cut = ""
        try:
            self.begin_work()
            self.settle()
        except RunCut as reached:
            cut = reached.reason
        self.note("run-ended", data={"cut_short": cut})
        self.recorder.check()
        history = History(self.rig.header(self.schedule), self.recorder.events)
        return Explored(history, self.world.sites, self.world.crossings)

    def workflow_to_submit(self) -> Any:
        return to_plain(self.scenario.workflow)

    def nobody_is_left(self) -> bool:
        return all(map(self.is_gone, self.agents))

    def is_gone(self, worker: Agent) -> bool:
        return worker.is_gone

    def note(self, kind: str, where: str = "", data: Mapping[str, Any] | None = None) -> None:
        with self.world.turn():
            super().note(kind, where, data)

    def outwait_the_lease(self) -> None:
        """Until the last worker's lease, counted from its last sign of life, has run out. The next process loads."""
        self.rig.have_spare()
        end_ns = self.last_sign_ns + self.rig.traits.lease_ns + RESTART_NS
        self.world.advance(max(0, end_ns - self.world.clock.now_ns()))

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


def _view(value: Any) -> Any:
    """What came over the channel as the view it was, as far as it has that shape; checking it is the contract's business."""
    if not isinstance(value, dict) or not isinstance(value.get("operations"), dict):
        return value
    operations = {k: tuple(v) if isinstance(v, list) else v for k, v in value["operations"].items()}
    return LedgerView(value.get("workflow", ""), operations)
