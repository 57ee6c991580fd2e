"""A stage for one endpoint: a clock that only moves when told, its timers, a journal, and faults by phase.

Never here: what an endpoint should answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakes.approval.domain import ApprovalQueue
from fakes.core.endpoint import Endpoint
from fakes.core.journal import Counts, Journal
from fakes.core.kernel import Provider
from fakes.payment.domain import Payment
from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import FoundRecord, Reply, Request
from harness.model.workflow import Approver

Faults = Mapping[Phase, Fault]
NO_FAULTS: Faults = {}


class Stage:
    """The clock, the timers and the journal. `crossed` lists the phases in the order in which they were crossed."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.journal = Journal(self.now)
        self.timers: list[tuple[int, Callable[[], None]]] = []
        self.crossed: list[Phase] = []
        self.stall_ns = 0
        """How much time passes inside each crossing."""
        self.calls = 0

    def now(self) -> int:
        return self.now_ns

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        self.timers.append((self.now_ns + delay_ns, action))

    def pass_ns(self, duration_ns: int) -> None:
        """Let time pass, and do what falls due on the way."""
        end_ns = self.now_ns + duration_ns
        while due := sorted((timer for timer in self.timers if timer[0] <= end_ns), key=lambda timer: timer[0]):
            self.timers.remove(due[0])
            self.now_ns = due[0][0]
            due[0][1]()
        self.now_ns = end_ns

    def send(self, endpoint: Endpoint, request: Request, faults: Faults = NO_FAULTS, delivery: int = 1) -> Reply:
        """One delivery of a new call."""
        self.calls += 1
        call = f"call-{self.calls}"

        def at(phase: Phase) -> Fault | None:
            self.crossed.append(phase)
            self.pass_ns(self.stall_ns)
            return faults.get(phase)

        return endpoint.handle(call, f"flow/{request.operation}/{call}", request, at, delivery)

    def refusal(self, endpoint: Endpoint, request: Request, faults: Faults = NO_FAULTS) -> str:
        """The code of the refusal, or "ok" if there was none."""
        try:
            self.send(endpoint, request, faults)
        except ProviderFailure as failure:
            return failure.code
        return "ok"

    def data(self, kind: str) -> list[Mapping[str, Any]]:
        """What was recorded under this kind."""
        return [event.data for event in self.journal.events if event.kind == kind]

    def counts(self, endpoint: Endpoint) -> Counts:
        return self.journal.counts()[endpoint.name]

    def provider(
        self, cell: str = "honoured.authoritative.prompt", kind: type[Provider] = Payment, declined: str = ""
    ) -> Provider:
        """A provider on this stage."""
        return kind(
            Cell.parse(cell),
            now=self.now,
            record=self.journal.recorder(kind.name),
            later=self.later,
            declined=frozenset({declined} if declined else ()),
        )

    def queue(self, **approver: Any) -> ApprovalQueue:
        """An approval queue on this stage."""
        return ApprovalQueue(
            Approver(**approver), now=self.now, record=self.journal.recorder(ApprovalQueue.name), later=self.later
        )


def effect(action: str = "charge", target: str = "cus-1", operation: str = "bill", **more: Any) -> Request:
    """A request for an effect; a charge is of 100 unless `params` says otherwise."""
    params = more.pop("params", {"amount": 100} if action == "charge" else {})
    return Request("any", action, Purpose.EFFECT, operation, target, params, **more)


def undo(action: str = "refund", target: str = "cus-1", operation: str = "undo.bill", **more: Any) -> Request:
    """A request for an undo."""
    return Request("any", action, Purpose.UNDO, operation, target, **more)


def lookup(action: str = "charge", target: str = "cus-1", purpose: Purpose = Purpose.LOOKUP) -> Request:
    """A question for what is at the target."""
    return Request("any", action, purpose, "bill", target)


def found(stage: Stage, provider: Provider, action: str = "charge", target: str = "cus-1") -> list[FoundRecord]:
    """What a look-up finds now."""
    return list(stage.send(provider, lookup(action, target)).found)


def standing(stage: Stage, provider: Provider, action: str = "charge", target: str = "cus-1") -> list[bool]:
    """For each record a look-up finds, whether it stands."""
    return [record.standing for record in found(stage, provider, action, target)]
