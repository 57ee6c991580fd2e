"""The reference ledger: a worker that drives workflows from durable state, and nothing but durable state.

The loop: read the workflow, take the one step that `next` names, write what came of it, again. Whenever a write says that the lease is
lost the worker lets go; that the intent changed, or that the store failed, it reads everything again. So a worker that dies anywhere
loses nothing a successor needs, and a crash, a lost commit and a cancellation are all the same thing: start again from what is durable.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from harness.candidates.contract import Handles, Traits
from harness.model.boundary import Purpose
from harness.model.cell import SECOND_NS
from harness.model.claim import LedgerView
from harness.model.errors import ProviderFailure
from harness.model.lifecycle import TERMINALS, State, WorkflowState
from harness.model.wire import ProviderTraits, Reply, Request
from harness.model.workflow import Workflow
from reference_ledger import approvals, recovery
from reference_ledger import schema as s
from reference_ledger.records import Flow, Move, Record
from reference_ledger.rules import LOOK_EVERY_NS, PENDING_EVERY_NS, PENDING_WAITS_MAX, VERIFICATIONS_MAX, Rules, Seen
from reference_ledger.store import Fenced, IntentChanged, Specs, Store, StoreTrouble, create_tables

STORE_RETRIES_MAX = 5
RELOADS_MAX = 50
BACKOFF_NS = SECOND_NS
T = TypeVar("T")

VERBS = frozenset({"submit", "work", "recover", "status", "ledger", "cancel"})


class ReferenceLedger:
    """The candidate: makes workers. `rules` are the decisions; a broken twin brings its own."""

    def __init__(
        self, name: str = "reference", rules: Rules | None = None, worker_type: type[LedgerWorker] | None = None
    ) -> None:
        self.traits = Traits(name=name, promise="honest-unknown", level=4, lease_ns=30 * SECOND_NS, verbs=VERBS)
        self.rules = rules or Rules()
        self.worker_type = worker_type or LedgerWorker
        self.specs = Specs()

    def prepare(self, connection: sqlite3.Connection) -> None:
        create_tables(connection)

    def start(self, handles: Handles) -> LedgerWorker:
        return self.worker_type(self, handles)


class LedgerWorker:
    """One incarnation of a worker of the reference ledger."""

    store_type: type[Store] = Store

    def __init__(self, ledger: ReferenceLedger, handles: Handles) -> None:
        self.home = ledger
        self.rules = ledger.rules
        self.handles = handles
        self.store = self.store_type(handles, ledger.traits.lease_ns)
        self.mine: list[str] = []

    # -- verbs --------------------------------------------------------------------------------------------------------------

    def submit(self, workflow: Workflow) -> None:
        """Accept the workflow durably: every operation PREPARED with its recovery semantics. The same id again changes nothing."""
        records = [
            Record(op.id, op, self.rules.key(workflow.id, op.id, workflow.intent_version), position)
            for position, op in enumerate(workflow.operations)
        ]
        spec = self.home.specs.text(workflow)
        if self._insisting(lambda: self.store.create(workflow, records, spec)):
            self.mine.append(workflow.id)
            return
        flow = self._insisting(lambda: self.store.load(workflow.id))
        if flow is not None and flow.token == 1 and self._owner(workflow.id) == self.handles.worker:
            self.mine.append(workflow.id)  # our own commit, whose acknowledgement was lost

    def work(self) -> None:
        """Drive what this worker accepted or took over."""
        for workflow_id in self.mine:
            self._drive(workflow_id)
        self.mine.clear()

    def recover(self) -> None:
        """Take over every open workflow whose lease has run out, and drive it."""
        now = self.handles.now_ns()
        for row in self._insisting(lambda: self.store.rows(s.SELECT_OPEN, now=now)):
            if self._insisting(lambda row=row: self._take_over(row.id, row.lease_token)):  # type: ignore[misc]
                self.mine.append(row.id)
        self.work()

    def cancel(self, workflow_id: str) -> None:
        """Cancel the intent durably. Whoever drives the workflow undoes what stands."""
        self._insisting(lambda: self.store.simple("cancel", s.CANCEL, w=workflow_id))

    def status(self, workflow_id: str) -> str:
        flow = self.store.load(workflow_id)
        return flow.state.value if flow else ""

    def ledger(self, workflow_id: str) -> LedgerView:
        """The durable ledger as it is now; an empty view for a workflow that was never accepted."""
        state, operations = self.store.view(workflow_id)
        return LedgerView(state, operations)

    # -- the loop -----------------------------------------------------------------------------------------------------------

    def _take_over(self, workflow_id: str, token: int) -> bool:
        now = self.handles.now_ns()
        until = now + self.home.traits.lease_ns
        return (
            self.store.simple(
                "take-over", s.TAKE_OVER, w=workflow_id, token=token, now=now, owner=self.handles.worker, until=until
            )
            or self._owner(workflow_id) == self.handles.worker
        )

    def _owner(self, workflow_id: str) -> str:
        rows = self.store.rows(s.SELECT_WORKFLOW, w=workflow_id)
        return rows[0].lease_owner if rows else ""

    def _insisting(self, do: Callable[[], T]) -> T:
        """Do it, over a new connection each time the store fails. Raises StoreTrouble when it keeps failing."""
        for _ in range(STORE_RETRIES_MAX):
            try:
                return do()
            except StoreTrouble:
                self.handles.sleep_ns(BACKOFF_NS)
                self._reopen()
        return do()

    def _reopen(self) -> None:
        for _ in range(STORE_RETRIES_MAX):
            try:
                self.store.reopen()
                return
            except StoreTrouble:
                self.handles.sleep_ns(BACKOFF_NS)
        self.store.reopen()

    def _drive(self, workflow_id: str) -> None:
        """Step until nothing is left to do here. Bounded: reaching a bound leaves the workflow to the next recovery."""
        for _ in range(RELOADS_MAX):
            try:
                flow = self._insisting(lambda: self.store.load(workflow_id))
                if flow is None or flow.state in TERMINALS or flow.owner != self.handles.worker:
                    return
                while self.step(flow):
                    pass
                return
            except Fenced:
                return
            except IntentChanged:
                continue
            except StoreTrouble:
                self.handles.sleep_ns(BACKOFF_NS)
                self._reopen()

    def step(self, flow: Flow) -> bool:
        """Take the one next step. False when the workflow is at its end."""
        record = self.next_in_flight(flow)
        if record is not None:
            self.go_on_with(flow, record)
            return True
        halted = self.rules.must_halt(flow)
        if halted is not None:
            recovery.finish_halted(self, flow)
            return False
        if flow.is_over:
            return recovery.roll_back(self, flow)
        for record in flow.originals():
            if record.state is State.PREPARED and self.rules.may_start(flow, record):
                self.attempt(flow, record)
                return True
        return self.complete(flow)

    def next_in_flight(self, flow: Flow) -> Record | None:
        """An operation that has been started and is not settled. Doubt is resolved before anything new is begun."""
        for record in flow.records.values():
            if record.state in (State.COMMITTING, State.OUTCOME_UNKNOWN, State.COMMITTED, State.VERIFYING):
                return record
            if record.is_undo and record.state is State.PREPARED and record.attempts:
                return record
        return None

    def go_on_with(self, flow: Flow, record: Record) -> None:
        if record.state is State.COMMITTING:
            self.found_in_flight(flow, record)
        elif record.state is State.OUTCOME_UNKNOWN:
            recovery.reconcile(self, flow, record)
        elif record.state is State.PREPARED:
            self.attempt(flow, record)
        else:
            self.verify(flow, record)

    def found_in_flight(self, flow: Flow, record: Record) -> None:
        """An intention without an outcome: somebody died, or lost touch, between the two. Nothing is known of it."""
        record.doubted = 1
        self.store.write(
            flow, record.id, "in-flight", [Move(record, State.OUTCOME_UNKNOWN, "intention without an outcome")]
        )

    # -- one attempt --------------------------------------------------------------------------------------------------------

    def attempt(self, flow: Flow, record: Record, opening: list[Move] | None = None) -> None:
        """Record the intention, send, record what came back."""
        if record.not_before > self.handles.now_ns():
            self.handles.sleep_ns(record.not_before - self.handles.now_ns())
        if not record.is_undo and record.op.policy.human_approval_required and not approvals.obtain(self, flow, record):
            return
        traits = self.handles.providers[record.op.provider]
        if self.rules.intent_first():
            self.intend(flow, record, traits, opening)
            answer = self.send(flow, record)
        else:
            answer = self.send(flow, record)
            self.intend(flow, record, traits, opening)
        if isinstance(answer, ProviderFailure):
            self.refused(flow, record, answer)
        else:
            self.acknowledged(flow, record, answer)

    def intend(self, flow: Flow, record: Record, traits: ProviderTraits, opening: list[Move] | None) -> None:
        now = self.handles.now_ns()
        if not record.doubted:
            record.first_sent = now
        record.attempts += 1
        record.not_after = self.rules.deadline(now, traits.call_timeout_ns, self.home.traits.lease_ns, record)
        moves = [*(opening or []), Move(record, State.COMMITTING)]
        self.store.write(flow, record.id, "intent", moves, check_intent=not record.is_undo)

    def send(self, flow: Flow, record: Record) -> Reply | ProviderFailure:
        op = record.op
        request = Request(
            op.provider,
            record.action,
            Purpose.UNDO if record.is_undo else Purpose.EFFECT,
            record.id,
            op.target,
            op.params,
            self.rules.key_to_send(record),
            record.not_after,
            flow.token,
            record.approval,
        )
        try:
            return self.handles.call(request)
        except ProviderFailure as failure:
            return failure

    def acknowledged(self, flow: Flow, record: Record, reply: Reply) -> None:
        record.reference = reply.reference
        traits = self.handles.providers[record.op.provider]
        if self.rules.is_done(record, reply, traits) and not reply.pending:
            self.settle_verified(
                flow, record, "record", "the receipt is all the evidence there is", [Move(record, State.COMMITTED)]
            )
            return
        self.store.write(flow, record.id, "record", [Move(record, State.COMMITTED)])

    def refused(self, flow: Flow, record: Record, failure: ProviderFailure) -> None:
        refusal = self.rules.refusal(record, failure)
        if refusal.in_doubt:
            record.doubted = 1
            self.store.write(flow, record.id, "record", [Move(record, State.OUTCOME_UNKNOWN, failure.code)])
        elif refusal.try_again:
            record.not_before = self.handles.now_ns() + BACKOFF_NS * 2 ** (record.attempts - 1)
            self.store.write(flow, record.id, "record", [Move(record, State.PREPARED, failure.code)])
        elif record.is_undo:
            recovery.undo_failed(self, flow, record, failure.code)
        else:
            self.not_committed(flow, record, failure.code)

    def not_committed(self, flow: Flow, record: Record, reason: str) -> None:
        """The operation will not happen: the workflow has failed."""
        move = Move(record, State.RECONCILED, reason, "not-committed")
        self.store.write(
            flow,
            record.id,
            "record",
            [move],
            state=WorkflowState.RECOVERING,
            failed=True,
            reason=f"{record.id}: {reason}",
        )

    # -- verification -------------------------------------------------------------------------------------------------------

    def look(self, record: Record, purpose: Purpose) -> Seen:
        """Observe the world at the operation's target. Never raises: a failed look is `Seen.FAILED`."""
        op = record.op
        traits = self.handles.providers[op.provider]
        if traits.lookup == "absent":
            return Seen.FAILED
        now = self.handles.now_ns()
        try:
            reply = self.handles.call(Request(op.provider, record.action, purpose, record.id, op.target))
        except ProviderFailure:
            return Seen.FAILED
        return self.rules.seen(record, reply, traits, now)

    def verify(self, flow: Flow, record: Record) -> None:
        """Read the world until it shows the effect, or does not within the bounds."""
        looks = waits = 0
        opening = [Move(record, State.VERIFYING)] if record.state is State.COMMITTED else []
        while True:
            seen = self.look(record, Purpose.VERIFY)
            if seen is Seen.ONE:
                self.settle_verified(flow, record, "verify", "seen", opening, verified_opening=bool(opening))
                return
            if seen is Seen.MANY:
                self.unresolved(flow, record, "more than one effect stands", opening)
                return
            if seen is Seen.PENDING and waits < PENDING_WAITS_MAX:
                waits += 1
                self.handles.sleep_ns(PENDING_EVERY_NS)
            elif seen is not Seen.PROVED_ABSENT and looks < VERIFICATIONS_MAX:
                looks += 1
                self.handles.sleep_ns(LOOK_EVERY_NS)
            else:
                break
        record.doubted = 1
        moves = [*opening, Move(record, State.OUTCOME_UNKNOWN, "acknowledged, but not seen")]
        self.store.write(flow, record.id, "verify", moves)

    def settle_verified(
        self, flow: Flow, record: Record, label: str, reason: str, opening: list[Move], verified_opening: bool = False
    ) -> None:
        record.doubted = 0
        moves = list(opening)
        if not verified_opening and record.state is not State.VERIFYING:
            moves.append(Move(record, State.VERIFYING))
        moves.append(Move(record, State.VERIFIED, reason))
        if record.is_undo:
            moves.append(Move(flow.original_of(record), State.COMPENSATED))
        self.store.write(flow, record.id, label, moves)

    def unresolved(self, flow: Flow, record: Record, reason: str, opening: list[Move] | None = None) -> None:
        """Nothing more can be found out here: say so, stop, call a person."""
        moves = [*(opening or []), Move(record, State.RECONCILIATION_REQUIRED, reason)]
        if record.is_undo:
            moves.append(Move(flow.original_of(record), self.rules.undo_failed(), reason))
        self.store.write(flow, record.id, "halt", moves, alert=reason)

    # -- the end ------------------------------------------------------------------------------------------------------------

    def complete(self, flow: Flow) -> bool:
        """Every operation stands: the workflow is complete, unless somebody cancelled it meanwhile."""
        if all(record.stands for record in flow.originals()):
            self.store.write(flow, "workflow", "finish", [], state=WorkflowState.COMPLETED, check_intent=True)
        return False
