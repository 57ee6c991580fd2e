"""The smallest honest ledger: it records before it sends, looks before it believes, and says so when it does not know.

It undoes nothing, has no leases and no cancellation, and declares none of them: level 2, idempotent operations.
"""

import json
import sqlite3

from harness.candidates.contract import Handles, Traits
from harness.model.boundary import Purpose
from harness.model.claim import LedgerView
from harness.model.errors import ProviderFailure
from harness.model.plain import to_plain, workflow_from_plain
from harness.model.wire import Reply, Request
from harness.model.workflow import Operation, Workflow

LOOKS, LOOK_EVERY_NS = 5, 30_000_000_000


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
            fate = self.carry_out(operation)
            if fate == "refused" and operation is workflow.operations[0]:
                return "FAILED_CLEAN"
            if fate != "done":
                self.handles.alert(operation.id, f"{fate}; what was done before it stands")
                return "FAILED_RECONCILIATION_REQUIRED" if fate == "refused" else "UNKNOWN"
        return "COMPLETED"

    def carry_out(self, operation: Operation) -> str:
        """`done`, `refused` (it definitely did not happen), or `open`."""
        sends, done = self.store.execute("SELECT sends, done FROM steps WHERE id = ?", (operation.id,)).fetchone() or (0, 0)
        while not done and sends < operation.policy.attempts_max and (not sends or self.may_repeat(operation)):
            sends += 1
            self.write(operation.id, "intent", "INSERT OR REPLACE INTO steps VALUES (?, ?, 0)", operation.id, sends)
            answer = self.send(operation)
            if isinstance(answer, ProviderFailure) and answer.is_definite and sends == 1:
                return "refused"
            done = self.is_there(operation, answer)
        if not done and not self.is_there(operation):
            return "open"
        self.write(operation.id, "record", "UPDATE steps SET done = 1 WHERE id = ? AND done = 0", operation.id)
        return "done"

    def may_repeat(self, operation: Operation) -> bool:
        return self.handles.providers[operation.provider].key == "honoured"

    def send(self, operation: Operation) -> Reply | ProviderFailure:
        try:
            return self.handles.call(self.request(operation, Purpose.EFFECT, key=f"key-of-{operation.id}"))
        except ProviderFailure as failure:
            return failure

    def is_there(self, operation: Operation, answer: Reply | ProviderFailure | None = None) -> bool:
        """Ask the provider. Only where it cannot be asked is its acknowledgement all the evidence there is."""
        if self.handles.providers[operation.provider].lookup == "absent":
            return isinstance(answer, Reply) and not answer.pending
        for _ in range(LOOKS):
            try:
                found = self.handles.call(self.request(operation, Purpose.LOOKUP)).found
            except ProviderFailure:
                found = ()
            if standing := sum(record.standing for record in found):
                return standing == 1
            self.handles.sleep_ns(LOOK_EVERY_NS)
        return False

    def request(self, operation: Operation, purpose: Purpose, key: str = "") -> Request:
        params = operation.params if key else {}
        return Request(operation.provider, operation.action, purpose, operation.id, operation.target, params, key)

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
