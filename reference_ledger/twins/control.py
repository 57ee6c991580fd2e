"""Twins that lose control: leases, cancellation, approvals, recovery that never comes."""

from __future__ import annotations

from sqlalchemy import bindparam, delete

from harness.model.lifecycle import State, WorkflowState
from reference_ledger import schema as s
from reference_ledger.records import Flow, Move, Record
from reference_ledger.store import Store
from reference_ledger.twins.base import TwinRules, TwinWorker

_DROP = delete(s.operations).where(s.operations.c.workflow == bindparam("w"))
_DROP_WORKFLOW = delete(s.workflows).where(s.workflows.c.id == bindparam("w"))


class _UnfencedStore(Store):
    """Reads the current token just before it writes, so that the fence always matches."""

    worker: IgnoresLeaseLoss

    def token_of(self, flow: Flow) -> int:
        row = self.connection.execute(s.SELECT_WORKFLOW, {"w": flow.id}).one()
        if row.lease_token != flow.token:
            self.worker.rules.reached()
        return int(row.lease_token)


class IgnoresLeaseLoss(TwinWorker):
    """A worker that comes back after its lease goes on writing."""

    store_type = _UnfencedStore

    def __init__(self, home: object, handles: object) -> None:
        super().__init__(home, handles)  # type: ignore[arg-type]  # passed on as they are
        assert isinstance(self.store, _UnfencedStore), "made by store_type"
        self.store.worker = self


class NoDeadlines(TwinRules):
    """Requests carry no deadline, so a worker that slept sends what it prepared before."""

    def deadline(self, now: int, timeout: int, lease: int, record: Record) -> int:
        self.reached()
        return 0


class UsesExpiredApproval(TwinRules):
    """An approval once given is good for ever."""

    def approval_expired(self, expires: int, now: int) -> bool:
        if super().approval_expired(expires, now):
            self.reached()
        return False

    def deadline(self, now: int, timeout: int, lease: int, record: Record) -> int:
        if record.approval_expires and now + timeout > record.approval_expires:
            self.reached()
        return now + timeout


class IgnoresCancellation(TwinWorker):
    """A cancelled intent is noticed by nobody but the next reader: new effects are still started."""

    def intend(self, flow: Flow, record: Record, traits: object, opening: list[Move] | None) -> None:
        row = self.store.rows(s.SELECT_WORKFLOW, w=flow.id)
        if row and row[0].cancelled and not flow.cancelled:
            self.rules.reached()
            flow.cancelled = row[0].cancelled
            try:
                super().intend(flow, record, traits, opening)  # type: ignore[arg-type]  # passed on as it is
            finally:
                flow.cancelled = 0
            return
        super().intend(flow, record, traits, opening)  # type: ignore[arg-type]  # the same


class DropsCancelledWorkflow(TwinWorker):
    """Cancelling a workflow deletes its records."""

    def cancel(self, workflow_id: str) -> None:
        self.rules.reached()
        self.store.simple("cancel", _DROP_WORKFLOW, w=workflow_id)
        self.store.connection.execute(_DROP, {"w": workflow_id})
        self.store.connection.commit()


class StuckInFlight(TwinWorker):
    """Recovery leaves alone what was in flight, for its owner to finish, who is dead."""

    def found_in_flight(self, flow: Flow, record: Record) -> None:
        self.rules.reached()

    def step(self, flow: Flow) -> bool:
        going = self.next_in_flight(flow)
        if going is not None and going.state is State.COMMITTING:
            self.found_in_flight(flow, going)
            return False
        return super().step(flow)


class ChildDoesNotWait(TwinWorker):
    """An operation in doubt is left for later, and what depends on it is begun."""

    def next_in_flight(self, flow: Flow) -> Record | None:
        going = super().next_in_flight(flow)
        if going is not None and going.state is State.OUTCOME_UNKNOWN and not flow.is_over and self._waiting(flow):
            self.rules.reached()
            return None
        return going

    def step(self, flow: Flow) -> bool:
        if self.next_in_flight(flow) is None and not flow.is_over:
            for record in self._waiting(flow):
                if any(flow.records[p].state is State.OUTCOME_UNKNOWN for p in record.op.depends_on):
                    self.attempt(flow, record)
                    return True
        return super().step(flow)

    def _waiting(self, flow: Flow) -> list[Record]:
        return [r for r in flow.originals() if r.state is State.PREPARED]


class CompletesInDoubt(TwinRules):
    """A workflow that had to stop is reported as complete."""

    def halted_label(self, flow: Flow) -> WorkflowState:
        if not flow.is_over:
            self.reached()
            return WorkflowState.COMPLETED
        return super().halted_label(flow)
