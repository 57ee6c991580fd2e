"""The course of a run, the same on every rig: submit, drive, heal, prove recovery, audit.

Here: the order of things and their bounds. Never here: how a worker is started, how a lease is waited out, how the ledger is read; a
rig brings these. Healing is bounded: rounds of recovery until one changes nothing, or the limit, which is an outcome (`settled` says
whether it became quiet).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fakes.approval.domain import ApprovalQueue
from fakes.core.endpoint import Endpoint
from fakes.core.kernel import Provider
from fakes.registry import PROVIDERS
from harness.inject.world import World
from harness.model.cell import SECOND_NS, Cell
from harness.model.claim import LedgerView
from harness.model.fault import Fault
from harness.model.lifecycle import TERMINALS
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario
from harness.rigs.recorder import Recorder

RESTART_NS = SECOND_NS
"""A new worker starts one second after the lease of the one before it has run out."""
APPROVAL = "approval"
_ACTS = frozenset({"wrote", "call-sent", "effect", "worker-died"})


class Incarnation(Protocol):
    """A worker that can be asked to do a verb."""

    def does(self, verb: str, *arguments: Any) -> Any:
        """Play the verb until it is done or the worker is dead."""


class Course(ABC):
    """What a run of any rig does, in order."""

    scenario: Scenario
    schedule: Schedule
    world: World
    recorder: Recorder

    @abstractmethod
    def spawn(self, verb: str) -> Incarnation:
        """A new incarnation under a new name."""

    @abstractmethod
    def is_gone(self, worker: Any) -> bool:
        """Is it dead, or did it end with an error?"""

    @abstractmethod
    def nobody_is_left(self) -> bool:
        """Are all workers dead?"""

    @abstractmethod
    def outwait_the_lease(self) -> None:
        """Let time pass until the last worker's lease has run out."""

    @abstractmethod
    def read_ledger(self) -> LedgerView:
        """The candidate's ledger, read by an auditor that crosses no boundaries."""

    @abstractmethod
    def workflow_to_submit(self) -> Any:
        """The workflow, as `submit` takes it on this rig."""

    def note(self, kind: str, where: str = "", data: Mapping[str, Any] | None = None) -> None:
        """An event of the rig itself."""
        self.world.record("rig", kind, where, data)

    def begin_work(self) -> None:
        """A worker accepts the workflow and drives it. Whoever submitted and got no answer submits again, with another worker."""
        submissions = 0
        while self.may_submit(submissions):
            submissions += 1
            worker = self.spawn("submit")
            self.note("submitted", self.scenario.workflow.id)
            worker.does("submit", self.workflow_to_submit())
            if not self.is_gone(worker):
                worker.does("work")
                return
            self.outwait_the_lease()

    def may_submit(self, submissions: int) -> bool:
        """Each injection may cost one submission. Asked anew each time: a run that is driven by hand gains injections on its way."""
        return submissions <= len(self.schedule.injections)

    def settle(self) -> None:
        """Heal and prove recovery: bounded rounds until nothing changes, then the audit."""
        healed = False
        rounds = 0
        # Whoever might know is dead: a new worker has to come before there is anything to read.
        view = None if self.nobody_is_left() else self.read_ledger()
        quiet = view is not None and self.is_at_rest(view)
        while not quiet and rounds < self.scenario.limits.settle_rounds_max + len(self.schedule.injections):
            if not healed and not self.world.plan:
                self.note("healed")
                healed = True
            rounds += 1
            changed = self._recovery_round()
            view = self.read_ledger()
            if changed:
                quiet = self.is_at_rest(view)
            elif self.world.timers_left:
                self.world.advance_to_last_timer()
            else:
                quiet = True
        self.note("settled", data={"rounds": rounds, "quiet": quiet})
        self.audit(view or self.read_ledger())

    def _recovery_round(self) -> bool:
        """Did a new worker, after the lease, change anything?"""
        self.outwait_the_lease()
        before = len(self.recorder.events)
        self.spawn("recover").does("recover")
        return any(event.kind in _ACTS for event in self.recorder.events[before:])

    def is_at_rest(self, view: LedgerView) -> bool:
        return view.workflow in TERMINALS and not self.world.timers_left

    def audit(self, view: LedgerView) -> None:
        """The final ledger, as the candidate reports it."""
        operations = {name: list(state) for name, state in sorted(view.operations.items())}
        left = self.world.timers_left
        self.note("audited", data={"operations": operations, "workflow": view.workflow, "timers_left": left})


def plan_of(schedule: Schedule) -> dict[str, list[Fault]]:
    """Boundary -> the faults that strike there, in order."""
    plan: dict[str, list[Fault]] = {}
    for injection in schedule.injections:
        plan.setdefault(injection.boundary, []).append(injection.fault)
    return plan


def make_desks(
    scenario: Scenario,
    cells: Mapping[str, Cell],
    world: World,
    now: Callable[[], int],
    kinds: Mapping[str, type[Provider]] = PROVIDERS,
) -> dict[str, Endpoint]:
    """A fresh fake of every provider the scenario uses, and the approval queue."""
    declined = frozenset(scenario.always_declined)
    desks: dict[str, Endpoint] = {
        name: kinds[name](cell, now=now, record=_recording(world, name), later=world.later, declined=declined)
        for name, cell in cells.items()
    }
    record = _recording(world, APPROVAL)
    desks[APPROVAL] = ApprovalQueue(scenario.approver, now=now, record=record, later=world.later)
    return desks


def _recording(world: World, actor: str) -> Callable[[str, str, Mapping[str, Any]], None]:
    add = world.add

    def record(kind: str, where: str, data: Mapping[str, Any]) -> None:
        add(world.now, actor, kind, where, data)

    return record
