"""The smallest honest ledger: it records before it sends, looks before it believes, and says so when it does not know.

It undoes nothing, has no leases and no cancellation, and declares none of them: level 2, idempotent operations.
"""

import json
import sqlite3
from collections.abc import Mapping

from harness.candidates.contract import Handles, Traits
from harness.model.boundary import Purpose
from harness.model.claim import LedgerView
from harness.model.errors import ProviderFailure
from harness.model.plain import to_plain, workflow_from_plain
from harness.model.wire import Reply, Request
from harness.model.workflow import Operation, Workflow


class Ledger:
    traits = Traits("minimal", level=2, lease_ns=0, verbs=frozenset({"submit", "work", "recover", "status", "ledger"}))

    def prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE jobs (id TEXT PRIMARY KEY, spec TEXT, state TEXT)")
        connection.execute("CREATE TABLE steps (id TEXT PRIMARY KEY, sends INTEGER, done INTEGER)")

    def start(self, handles: Handles) -> "Worker":
        return Worker(handles)


class Worker:
    def __init__(self, handles: Handles) -> None:
        self.handles, self.store, self.accepted = handles, handles.connect(), False

    def submit(self, workflow: Workflow) -> None:
        job = (workflow.id, json.dumps(to_plain(workflow)))
        self.accepted = self.write("workflow", "accept", "INSERT OR IGNORE INTO jobs VALUES (?, ?, 'RUNNING')", *job)

    def work(self) -> None:
        if self.accepted:
            self.recover()

    def recover(self) -> None:
        for job, spec in self.store.execute("SELECT id, spec FROM jobs WHERE state = 'RUNNING'").fetchall():
            end = self.drive(workflow_from_plain(json.loads(spec)))
            self.write("workflow", "finish", "UPDATE jobs SET state = ? WHERE id = ?", end, job)

    def drive(self, workflow: Workflow) -> str:
        for operation in workflow.operations:
            if not self.is_carried_out(operation):
                self.handles.alert(operation.id, "it cannot be brought to an end; what was done before it stands")
                return "UNKNOWN"
        return "COMPLETED"

    def is_carried_out(self, operation: Operation) -> bool:
        query, id = "SELECT sends, done FROM steps WHERE id = ?", operation.id
        sends, done = self.store.execute(query, (id,)).fetchone() or (0, 0)
        repeatable = self.handles.providers[operation.provider].key == "honoured"
        while not done and sends < operation.policy.attempts_max and (repeatable or not sends):
            sends += 1
            self.write(id, "intent", "INSERT OR REPLACE INTO steps VALUES (?, ?, 0)", id, sends)
            done = self.is_there(operation, self.call(operation, Purpose.EFFECT, operation.params, f"key-of-{id}"))
        if not done and not self.is_there(operation, None):
            return False
        self.write(id, "record", "UPDATE steps SET done = 1 WHERE id = ? AND done = 0", id)
        return True

    def is_there(self, operation: Operation, answer: Reply | None) -> bool:
        """Ask the provider. Only where it cannot be asked is its answer all the evidence there is."""
        if self.handles.providers[operation.provider].lookup == "absent":
            return answer is not None and not answer.pending
        for _ in range(5):
            seen = self.call(operation, Purpose.LOOKUP, {})
            if seen and (standing := sum(record.standing for record in seen.found)):
                return standing == 1
            self.handles.sleep_ns(30_000_000_000)
        return False

    def call(
        self, operation: Operation, purpose: Purpose, params: Mapping[str, str | int], key: str = ""
    ) -> Reply | None:
        """The answer, or None: whatever failed, it proves nothing here."""
        op = operation
        try:
            return self.handles.call(Request(op.provider, op.action, purpose, op.id, op.target, params, key))
        except ProviderFailure:
            return None

    def write(self, subject: str, label: str, statement: str, *values: str | int) -> bool:
        changed = self.store.execute(statement, values).rowcount == 1
        self.handles.next_write(subject, label)
        self.store.commit()
        return changed

    def status(self, workflow_id: str) -> str:
        return self.ledger(workflow_id).workflow

    def ledger(self, workflow_id: str) -> LedgerView:
        row = self.store.execute("SELECT state FROM jobs WHERE id = ?", (workflow_id,)).fetchone()
        return LedgerView(row[0] if row else "", {})
