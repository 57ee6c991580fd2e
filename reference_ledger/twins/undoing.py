"""Twins that undo wrongly: order, failure, resumption, what is left."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.errors import ProviderFailure
from harness.model.lifecycle import State, WorkflowState
from reference_ledger import recovery
from reference_ledger import schema as s
from reference_ledger.records import Flow, Move, Record
from reference_ledger.twins.base import TwinRules, TwinWorker


class ReverseTimeOrder(TwinRules):
    """Undoes in the reverse order of time, whatever must come first."""

    def undo_next(self, flow: Flow, waiting: Sequence[Record]) -> Record | None:
        last = waiting[-1]
        if super().undo_next(flow, waiting) is not last:
            self.reached()
        return last


class ForgetsFailedCompensation(TwinRules):
    """An undo that fails is marked as done, so that the workflow can be closed."""

    def undo_failed(self) -> State:
        self.reached()
        return State.COMPENSATED


class GoesOnAfterFailedCompensation(TwinRules):
    """A failed undo is noted, and the rollback goes on with the next one."""

    def must_halt(self, flow: Flow) -> Record | None:
        halted = super().must_halt(flow)
        left = any(r.state is State.COMPENSATION_REQUIRED for r in flow.originals())
        if halted is not None and halted.state is State.COMPENSATION_FAILED and left:
            self.reached()
            return None
        return halted


class HaltsSilently(TwinWorker):
    """It stops when a person is needed, and calls nobody."""

    def step(self, flow: Flow) -> bool:
        if self.next_in_flight(flow) is None and self.rules.must_halt(flow) is not None:
            self.rules.reached()
            label = self.rules.halted_label(flow)
            self.store.write(flow, "workflow", "finish", [], state=label, alerts_sent=True, reason="stopped")
            return False
        return super().step(flow)


class RestartsRollback(TwinWorker):
    """A rollback found half done is begun again from its first undo."""

    def recover(self) -> None:
        now = self.handles.now_ns()
        for row in self.store.rows(s.SELECT_OPEN, now=now):
            flow = self.store.load(row.id)
            if flow is not None:
                self._again(flow)
        super().recover()

    def _again(self, flow: Flow) -> None:
        for record in flow.records.values():
            if record.is_undo and record.state is State.VERIFIED:
                self.rules.reached()
                own, record.key, record.not_after = record.key, f"{record.key}:again", 0
                self.send(flow, record)
                record.key = own


class CleanWithStandingEffect(TwinRules):
    """A failed workflow is closed as FAILED_CLEAN without undoing what stands."""

    def must_undo(self, record: Record) -> bool:
        if super().must_undo(record):
            self.reached()
        return False

    def failed_label(self, flow: Flow) -> WorkflowState:
        return WorkflowState.FAILED_CLEAN


class UndoesOnlyTheLast(TwinRules):
    """Only the step before the failed one is undone."""

    def must_undo(self, record: Record) -> bool:
        if super().must_undo(record) and record.position == 0:
            self.reached()
            return False
        return super().must_undo(record)


class DeclinedUndoIsDone(TwinWorker):
    """A refused undo is read as `there was nothing to undo`."""

    def refused(self, flow: Flow, record: Record, failure: ProviderFailure) -> None:
        if record.is_undo and failure.code == "declined":
            self.rules.reached()
            recovery.found_committed(self, flow, self._unknown(flow, record))
            return
        super().refused(flow, record, failure)

    def _unknown(self, flow: Flow, record: Record) -> Record:
        self.store.write(flow, record.id, "record", [Move(record, State.OUTCOME_UNKNOWN)])
        return record
