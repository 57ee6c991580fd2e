"""What happens when something did not go as meant: reconciliation, rollback, halting.

Reconciliation asks what is true; it observes first and acts second. Compensation is an operation of its own, made durable as a plan
before the first undo is sent, so that a crash in mid-rollback resumes after the last verified undo.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.model.boundary import Purpose
from harness.model.lifecycle import State, WorkflowState
from harness.model.workflow import RecoveryClass
from reference_ledger.records import Flow, Move, Record
from reference_ledger.rules import LOOK_EVERY_NS, PENDING_EVERY_NS, Next, Seen

if TYPE_CHECKING:
    from reference_ledger.ledger import LedgerWorker


def reconcile(worker: LedgerWorker, flow: Flow, record: Record) -> None:
    """One round for an operation in doubt: look, decide, write or wait."""
    handles, rules = worker.handles, worker.rules
    traits = handles.providers[record.op.provider]
    if rules.waits_for_deadline(traits) and handles.now_ns() <= record.not_after:
        handles.sleep_ns(record.not_after + 1 - handles.now_ns())
    seen = worker.look(record, Purpose.LOOKUP)
    record.observations += 1
    match rules.resolve(flow, record, seen, traits, handles.now_ns()):
        case Next.IS_COMMITTED:
            found_committed(worker, flow, record)
        case Next.IS_NOT_COMMITTED:
            found_absent(worker, flow, record)
        case Next.SEND_AGAIN:
            worker.attempt(flow, record)
        case Next.LOOK_AGAIN:
            handles.sleep_ns(PENDING_EVERY_NS if seen is Seen.PENDING else LOOK_EVERY_NS)
        case Next.ASK_A_PERSON:
            worker.unresolved(flow, record, f"cannot be established ({seen.name.lower().replace('_', ' ')})")


def found_committed(worker: LedgerWorker, flow: Flow, record: Record) -> None:
    record.doubted = 0
    moves = [Move(record, State.RECONCILED, "found standing", "committed")]
    if record.is_undo:
        moves.append(Move(flow.original_of(record), State.COMPENSATED))
    worker.store.write(flow, record.id, "reconcile", moves)


def found_absent(worker: LedgerWorker, flow: Flow, record: Record) -> None:
    """Proved not committed. Within the policy it is tried again; otherwise it will not happen."""
    record.doubted = 0
    again = worker.rules.after_absence(flow, record) is State.PREPARED
    moves = [Move(record, State.RECONCILED, "proved absent", "not-committed")]
    if again:
        worker.store.write(flow, record.id, "reconcile", [*moves, Move(record, State.PREPARED, "to be tried again")])
    elif record.is_undo:
        undo_failed(worker, flow, record, "proved absent")
    elif flow.is_over:
        worker.store.write(flow, record.id, "reconcile", moves)
    else:
        worker.store.write(
            flow,
            record.id,
            "reconcile",
            moves,
            state=WorkflowState.RECOVERING,
            failed=True,
            reason=f"{record.id} absent",
        )


def roll_back(worker: LedgerWorker, flow: Flow) -> bool:
    """One step of the rollback: make the plan durable, then undo one effect after the other in a safe order."""
    originals = flow.originals()
    to_plan = [r for r in originals if worker.rules.must_undo(r) and r.state is not State.IRREVERSIBLE_EFFECT]
    if to_plan:
        plan(worker, flow, to_plan)
        return True
    waiting = [r for r in originals if r.state is State.COMPENSATION_REQUIRED]
    if waiting:
        undo_one(worker, flow, waiting)
        return True
    worker.store.write(
        flow, "workflow", "finish", [], state=worker.rules.failed_label(flow), reason="nothing is left to undo"
    )
    return False


def plan(worker: LedgerWorker, flow: Flow, standing: list[Record]) -> None:
    """The whole rollback in one transaction: what has to be undone, what cannot be, what a person must do."""
    moves: list[Move] = []
    created: list[Record] = []
    alert = ""
    for record in standing:
        if record.op.recovery_class is RecoveryClass.IRREVERSIBLE:
            moves.append(Move(record, State.IRREVERSIBLE_EFFECT))
            continue
        moves.append(Move(record, State.COMPENSATION_REQUIRED))
        if worker.rules.can_undo(record):
            key = worker.rules.key(flow.id, record.op.undo_id, flow.workflow.intent_version)
            created.append(Record(record.op.undo_id, record.op, key, len(flow.records) + len(created)))
        else:
            alert = f"{record.id} has no undo that may run by itself"
            moves.append(Move(record, State.RECONCILIATION_REQUIRED, alert))
    state = WorkflowState.RECOVERING
    worker.store.write(
        flow, "workflow", "plan-rollback", moves, state=state, created=created, alert=alert, reason="rolling back"
    )


def undo_one(worker: LedgerWorker, flow: Flow, waiting: list[Record]) -> None:
    original = worker.rules.undo_next(flow, waiting)
    if original is None:
        worker.unresolved(flow, waiting[0], "the order of undoing is circular")
        return
    undo = flow.undo_of(original)
    assert undo is not None, f"the plan made an undo for {original.id}"
    worker.attempt(flow, undo, opening=[Move(original, State.COMPENSATING)])


def undo_failed(worker: LedgerWorker, flow: Flow, undo: Record, reason: str) -> None:
    """The undo definitely did not happen and will not: the effect stands, and only a person can go on."""
    moves = [Move(undo, State.RECONCILED, reason, "not-committed")]
    moves.append(Move(flow.original_of(undo), worker.rules.undo_failed(), reason))
    worker.store.write(flow, flow.original_of(undo).id, "halt", moves, alert=f"undo of {undo.op.id}: {reason}")


def finish_halted(worker: LedgerWorker, flow: Flow) -> None:
    """Call the person first, then close the workflow under its honest label; a crash in between calls again, and the pager rings once."""
    for subject, reason in worker.store.unsent_alerts(flow.id):
        worker.handles.alert(subject, reason)
    label = worker.rules.halted_label(flow)
    worker.store.write(flow, "workflow", "finish", [], state=label, alerts_sent=True, reason="a person has to act")
