"""The ledger's store: every write is one transaction that checks the fencing token first.

If the fence matches no row the lease belongs to somebody else: `Fenced`. If the intent was cancelled since it was read: `IntentChanged`.
If the store fails in any way, its outcome is not guessed: `StoreTrouble`, and the caller reads everything again over a new connection.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateTable

from harness.candidates.contract import Handles
from harness.model.claim import Claim
from harness.model.lifecycle import State, WorkflowState, advance
from harness.model.plain import to_plain, workflow_from_plain
from harness.model.workflow import Workflow
from reference_ledger import schema as s
from reference_ledger.records import Flow, Move, Record


class Fenced(Exception):
    """The lease is no longer ours. Nothing was written."""


class IntentChanged(Exception):
    """The intent is not what this worker has read. Nothing was written."""


class StoreTrouble(Exception):
    """The store failed. What it did is unknown until it is read again."""


_opening: list[Handles] = []


@functools.lru_cache(maxsize=1)
def engine() -> Engine:
    """One engine for the process: building one costs milliseconds. The connection comes from the worker that is being opened."""
    return create_engine(
        "sqlite://",
        creator=lambda: _opening[-1].connect(),
        poolclass=NullPool,
        pool_reset_on_return=None,
        skip_autocommit_rollback=True,
    )


def open_connection(handles: Handles) -> Connection:
    _opening.append(handles)
    try:
        return engine().connect()
    except DBAPIError as error:
        raise StoreTrouble(str(error)) from error
    finally:
        _opening.pop()


def create_tables(connection: sqlite3.Connection) -> None:
    """The schema on an empty store."""
    dialect = sqlite.dialect()
    for table in s.metadata.sorted_tables:
        connection.execute(str(CreateTable(table).compile(dialect=dialect)))


@functools.lru_cache(maxsize=64)
def _read_workflow(text: str) -> Workflow:
    return workflow_from_plain(json.loads(text))


class Specs:
    """Workflow -> JSON text, remembering the last one: a campaign submits the same workflow thousands of times."""

    def __init__(self) -> None:
        self._last: tuple[Workflow, str] | None = None

    def text(self, workflow: Workflow) -> str:
        if self._last is None or self._last[0] is not workflow:
            self._last = workflow, json.dumps(to_plain(workflow), sort_keys=True)
        return self._last[1]


class Store:
    """One worker's connection to the ledger's tables."""

    def __init__(self, handles: Handles, lease_ns: int) -> None:
        self.handles = handles
        self.lease_ns = lease_ns
        self.connection = open_connection(handles)

    def reopen(self) -> None:
        """A new connection; the old one is given up."""
        try:
            self.connection.invalidate()
            self.connection.close()
        except (DBAPIError, sqlite3.Error):
            pass
        self.connection = open_connection(self.handles)

    # -- reading ------------------------------------------------------------------------------------------------------------

    def rows(self, statement: Any, **values: Any) -> Sequence[Any]:
        try:
            found = self.connection.execute(statement, values).all()
            self.connection.rollback()
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreTrouble(str(error)) from error
        return found

    def load(self, workflow_id: str) -> Flow | None:
        """The workflow as it is durable now, or None."""
        found = self.rows(s.SELECT_WORKFLOW, w=workflow_id)
        if not found:
            return None
        row = found[0]
        workflow = _read_workflow(row.spec)
        flow = Flow(
            workflow,
            WorkflowState(row.state),
            row.lease_token,
            row.lease_until,
            row.cancelled,
            row.failed,
            owner=row.lease_owner,
        )
        for op_row in self.rows(s.SELECT_OPERATIONS, w=workflow_id):
            flow.records[op_row.id] = _record(workflow, op_row)
        return flow

    def view(self, workflow_id: str) -> tuple[str, dict[str, tuple[str, str]]]:
        """State of the workflow and of every operation, by one query; ("", {}) when there is no such workflow."""
        rows = self.rows(s.SELECT_VIEW, w=workflow_id)
        return (rows[0][0] if rows else ""), {row[1]: (row[2], row[3]) for row in rows}

    def unsent_alerts(self, workflow_id: str) -> list[tuple[str, str]]:
        return [(row.subject, row.reason) for row in self.rows(s.SELECT_ALERTS, w=workflow_id)]

    # -- writing ------------------------------------------------------------------------------------------------------------

    def create(self, workflow: Workflow, records: Sequence[Record], spec: str) -> bool:
        """Accept a workflow: all its operations PREPARED, one transaction. False when it is there already."""
        handles, run = self.handles, self.connection.execute
        now = handles.now_ns()
        try:
            run(
                s.INSERT_WORKFLOW,
                {
                    "w": workflow.id,
                    "spec": spec,
                    "state": "RUNNING",
                    "version": workflow.intent_version,
                    "owner": handles.worker,
                    "until": now + self.lease_ns,
                },
            )
            run(s.INSERT_OPERATION, [self._new_row(workflow.id, r) for r in records])
            run(s.INSERT_EVENT, [self._event(workflow.id, r.id, "", r.state, "", now) for r in records])
        except IntegrityError:
            self.connection.rollback()
            return False
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreTrouble(str(error)) from error
        handles.claim(Claim("workflow", "RUNNING"))
        for record in records:
            handles.claim(Claim(record.id, record.state))
        handles.next_write("workflow", "accept")
        self._commit()
        return True

    def write(
        self,
        flow: Flow,
        subject: str,
        label: str,
        moves: Sequence[Move],
        *,
        state: WorkflowState | None = None,
        failed: bool = False,
        created: Sequence[Record] = (),
        alert: str = "",
        check_intent: bool = False,
        alerts_sent: bool = False,
        reason: str = "",
        touched: Sequence[Record] = (),
    ) -> None:
        """One transaction: fence, transitions, events. When it raises, the flow in memory is worth nothing and must be read again."""
        now = self.handles.now_ns()
        new_state = state or flow.state
        new_failed = 1 if failed or flow.failed else 0
        claims, events = self._apply(flow, moves, created, now)
        if new_state is not flow.state:
            claims.append(Claim("workflow", new_state, was=flow.state, reason=reason))
            events.append(self._event(flow.id, "workflow", flow.state, new_state, reason, now))
        self._send(
            flow, moves, created, touched, events, new_state, new_failed, now, check_intent, alert, subject, alerts_sent
        )
        for claim in claims:
            self.handles.claim(claim)
        self.handles.next_write(subject, label)
        self._commit()
        flow.state, flow.failed, flow.lease_until = new_state, new_failed, now + self.lease_ns
        for record in created:
            flow.records[record.id] = record

    def _apply(
        self, flow: Flow, moves: Sequence[Move], created: Sequence[Record], now: int
    ) -> tuple[list[Claim], list[dict[str, Any]]]:
        claims: list[Claim] = []
        events: list[dict[str, Any]] = []
        for record in created:
            claims.append(Claim(record.id, record.state))
            events.append(self._event(flow.id, record.id, "", record.state, "", now))
        for move in moves:
            record = move.record
            was, record.state = record.state, advance(record.state, move.to)
            record.resolution = move.resolution
            claims.append(Claim(record.id, record.state, was, record.resolution, move.reason))
            events.append(self._event(flow.id, record.id, was, record.state, move.reason, now))
        return claims, events

    def _send(
        self,
        flow: Flow,
        moves: Sequence[Move],
        created: Sequence[Record],
        touched: Sequence[Record],
        events: list[dict[str, Any]],
        new_state: str,
        new_failed: int,
        now: int,
        check_intent: bool,
        alert: str,
        subject: str,
        alerts_sent: bool,
    ) -> None:
        run = self.connection.execute
        fence = {
            "w": flow.id,
            "token": self.token_of(flow),
            "until": now + self.lease_ns,
            "new_state": new_state,
            "new_failed": new_failed,
        }
        try:
            if check_intent:
                matched = run(s.FENCE_INTENT, {**fence, "seen_cancelled": flow.cancelled}).rowcount
            else:
                matched = run(s.FENCE, fence).rowcount
            if matched != 1:
                self.connection.rollback()
                raise self._why_not(flow)
            if created:
                run(s.INSERT_OPERATION, [self._new_row(flow.id, r) for r in created])
            changed = {id(m.record): m.record for m in moves}
            changed.update((id(r), r) for r in touched)
            for record in changed.values():
                run(s.UPDATE_OPERATION, _columns(flow.id, record))
            if events:
                run(s.INSERT_EVENT, events)
            if alert:
                run(s.INSERT_ALERT, {"w": flow.id, "subject": subject, "reason": alert})
            if alerts_sent:
                run(s.ALERTS_SENT, {"w": flow.id})
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreTrouble(str(error)) from error

    def token_of(self, flow: Flow) -> int:
        """The fencing token a write is checked against."""
        return flow.token

    def _why_not(self, flow: Flow) -> Fenced | IntentChanged:
        rows = self.rows(s.SELECT_WORKFLOW, w=flow.id)
        if rows and rows[0].lease_token == flow.token:
            return IntentChanged(flow.id)
        return Fenced(flow.id)

    def simple(self, label: str, statement: Any, **values: Any) -> bool:
        """One statement in a transaction of its own. True when it changed something."""
        try:
            matched = self.connection.execute(statement, values).rowcount
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreTrouble(str(error)) from error
        if matched != 1:
            self.connection.rollback()
            return False
        self.handles.next_write("workflow", label)
        self._commit()
        return True

    def _commit(self) -> None:
        try:
            self.connection.commit()
        except (DBAPIError, sqlite3.Error) as error:
            raise StoreTrouble(str(error)) from error

    def _new_row(self, workflow_id: str, record: Record) -> dict[str, Any]:
        undoes = record.op.id if record.is_undo else ""
        return {
            "w": workflow_id,
            "o": record.id,
            "position": record.position,
            "undoes": undoes,
            "key": record.key,
            "state": record.state.value,
        }

    def _event(self, workflow_id: str, subject: str, was: str, to: str, reason: str, now: int) -> dict[str, Any]:
        return {
            "w": workflow_id,
            "subject": subject,
            "was": was,
            "to": to,
            "reason": reason,
            "at": now,
            "worker": self.handles.worker,
        }


def _columns(workflow_id: str, record: Record) -> dict[str, Any]:
    return {
        "w": workflow_id,
        "o": record.id,
        "n_state": record.state.value,
        "n_resolution": record.resolution,
        "n_attempts": record.attempts,
        "n_doubted": record.doubted,
        "n_not_after": record.not_after,
        "n_first_sent": record.first_sent,
        "n_observations": record.observations,
        "n_approval": record.approval,
        "n_approval_expires": record.approval_expires,
        "n_approval_round": record.approval_round,
        "n_reference": record.reference,
        "n_not_before": record.not_before,
    }


def _record(workflow: Workflow, row: Any) -> Record:
    record = Record(
        row.id, workflow.operation(row.undoes or row.id), row.key, row.position, State(row.state), row.resolution
    )
    record.attempts, record.doubted, record.not_after, record.first_sent = (
        row.attempts,
        row.doubted,
        row.not_after,
        row.first_sent,
    )
    record.observations, record.approval, record.approval_expires = row.observations, row.approval, row.approval_expires
    record.approval_round, record.reference, record.not_before = row.approval_round, row.reference, row.not_before
    return record
