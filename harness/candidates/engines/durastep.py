"""durastep 0.1.0 on the bench: a decorator that stores the result of each successful step of a run in SQLite.

Two candidates. `factory` is the README's quick start: `@step` functions inside `with run(id)`. `keyed` follows also the
advice of its "Limits" section: each request carries an idempotency key that is the same in every run.

The engine runs as it is: `run`, `step`, `SQLiteStore`, `Run.history`, nothing private. Only the connection is ours.
`SQLiteStore` opens one by itself, in autocommit mode, at its first use; while it does so, the name `sqlite3` inside
`durastep.store` stands for something whose `connect` hands out a connection to the bench's store. Each statement that
changes a row is then a transaction of its own, as in autocommit mode, and its commit is a boundary; at a simulated
crash the connection is closed underneath. A statement that finds its row already there changes nothing and is none.

What durastep leaves to its user, and what this adapter therefore assumes:

- The list of jobs is the application's. It is a table of its own in the same database, written by `submit`, so that a
  worker that starts anew knows which runs there are. The run id is the workflow's id.
- An attempt ends at the first step that raises. The job stays in the list and the next worker runs it again, under the
  same run id: the one recovery the documentation describes. Nothing is given up, and nothing is undone.
- Whoever submits a job runs it. Nothing keeps two workers from the same run; durastep asks its user not to do that.
- Every answer of a provider that is not an error is a step's success, `pending` ones too.
- A workflow is COMPLETED when every step has a stored result, and RUNNING until then. A stored result is claimed as
  COMMITTED (acknowledged): durastep observes no provider. Operations without one are not in the ledger view.

Never here: look-ups, retries inside a worker, compensation, cancellation. durastep has none of them.
"""

from __future__ import annotations

import importlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from types import SimpleNamespace
from typing import Any

from harness.candidates.contract import Handles, Traits, Unsupported
from harness.model.boundary import WORKFLOW_SUBJECT, Boundary, Phase, Purpose
from harness.model.claim import Claim, LedgerView
from harness.model.errors import CandidateError, EnvironmentMissing, ProviderFailure
from harness.model.event import Event, History
from harness.model.lifecycle import State, WorkflowState
from harness.model.plain import to_plain, workflow_from_plain
from harness.model.wire import Request
from harness.model.workflow import Operation, Workflow

VERSION = "0.1.0"
INSTALL = f"uv pip install durastep=={VERSION}"
VERBS = frozenset({"submit", "work", "recover", "status", "ledger"})
LEVEL = 2
"""Its results are durable and its steps idempotent after success; it has no operation states."""
JOBS = "CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, spec TEXT NOT NULL)"


def factory() -> Durastep:
    """durastep as its quick start shows it: no idempotency key. Raises EnvironmentMissing."""
    return Durastep("durastep", load_engine(), is_keyed=False)


def keyed() -> Durastep:
    """durastep with a stable idempotency key on each request, as its limits advise. Raises EnvironmentMissing."""
    return Durastep("durastep-keyed", load_engine(), is_keyed=True)


def load_engine() -> Any:
    """The engine's package."""
    try:
        return importlib.import_module("durastep")
    except ModuleNotFoundError as error:
        if error.name != "durastep":
            raise
        raise EnvironmentMissing(
            "The engine durastep is not installed.", where="harness.candidates.engines.durastep", next_step=INSTALL
        ) from None


class Durastep:
    """The candidate: makes workers."""

    def __init__(self, name: str, engine: Any, *, is_keyed: bool) -> None:
        self.traits = Traits(name=name, promise="at-least-once", level=LEVEL, lease_ns=0, verbs=VERBS)
        self.engine = engine
        self.is_keyed = is_keyed

    def prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(JOBS)
        open_store(Autocommit(connection, _nothing))

    def start(self, handles: Handles) -> DurastepWorker:
        return DurastepWorker(self, handles)


def _nothing() -> None:
    """Nothing needs to be said before this write."""


class Autocommit:
    """The connection `SQLiteStore` asks for: each statement is a transaction. Has what the store uses of one."""

    def __init__(self, connection: sqlite3.Connection, before_commit: Callable[[], None]) -> None:
        self._connection = connection
        self._before_commit = before_commit

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        cursor = self._connection.execute(statement, parameters)
        if self._connection.in_transaction:
            self._end(changed=cursor.rowcount > 0)
        return cursor

    def _end(self, *, changed: bool) -> None:
        if not changed:
            self._connection.rollback()
            return
        self._before_commit()
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


def open_store(connection: Autocommit) -> Any:
    """A `SQLiteStore` that has opened this connection instead of a file. Raises CandidateError if it opened another."""
    module: Any = importlib.import_module("durastep.store")
    opened: list[str] = []

    def connect(path: str, **options: Any) -> Autocommit:
        opened.append(path)
        return connection

    module.sqlite3 = SimpleNamespace(connect=connect, OperationalError=sqlite3.OperationalError)
    try:
        store = module.SQLiteStore("the bench's store")
        store.list_run(WORKFLOW_SUBJECT)
    finally:
        module.sqlite3 = sqlite3
    if not opened:
        raise CandidateError(
            "durastep opened its store in a way this adapter does not see, so its commits would be no boundaries.",
            where="durastep.store.SQLiteStore",
            next_step=f"Use the version this adapter was written for: {INSTALL}",
        )
    return store


class DurastepWorker:
    """One incarnation of an application that uses durastep."""

    def __init__(self, candidate: Durastep, handles: Handles) -> None:
        self.engine = candidate.engine
        self.is_keyed = candidate.is_keyed
        self.handles = handles
        self.jobs = handles.connect()
        self.store = open_store(Autocommit(handles.connect(), self._before_result))
        self._answered = ""
        """The operation whose step returned last: the next result that is stored is its."""

    # -- verbs ----------------------------------------------------------------------------------------------------

    def submit(self, workflow: Workflow) -> None:
        """Put the job on the application's list."""
        spec = json.dumps(to_plain(workflow))
        added = self.jobs.execute("INSERT OR IGNORE INTO jobs VALUES (?, ?)", (workflow.id, spec)).rowcount
        if not added:
            self.jobs.rollback()
            return
        self.handles.next_write(WORKFLOW_SUBJECT, "accept")
        self.jobs.commit()

    def work(self) -> None:
        """Run every job on the list once."""
        for (spec,) in self.jobs.execute("SELECT spec FROM jobs ORDER BY id").fetchall():
            self._run(workflow_from_plain(json.loads(spec)))

    def recover(self) -> None:
        """Run again under the same run id: there is no other recovery."""
        self.work()

    def cancel(self, workflow_id: str) -> None:
        raise Unsupported("durastep has no cancellation")

    def status(self, workflow_id: str) -> str:
        return self.ledger(workflow_id).workflow

    def ledger(self, workflow_id: str) -> LedgerView:
        """What `Run.history` lists is acknowledged; of anything else durastep says nothing."""
        job = self.jobs.execute("SELECT spec FROM jobs WHERE id = ?", (workflow_id,)).fetchone()
        if job is None:
            return LedgerView("", {})
        stored = self._stored(workflow_id)
        names = [operation.id for operation in workflow_from_plain(json.loads(job[0])).operations]
        is_complete = all(name in stored for name in names)
        state = WorkflowState.COMPLETED if is_complete else WorkflowState.RUNNING
        return LedgerView(state.value, {name: (State.COMMITTED.value, "") for name in names if name in stored})

    # -- the engine's pattern -------------------------------------------------------------------------------------

    def _stored(self, run_id: str) -> frozenset[str]:
        with self.engine.run(run_id, store=self.store) as run:
            return frozenset(step.step_name for step in run.history())

    def _run(self, workflow: Workflow) -> None:
        try:
            with self.engine.run(workflow.id, store=self.store):
                for operation in in_order(workflow):
                    self._perform(workflow.id, operation)
        except ProviderFailure:
            return  # This attempt is over, as the history says; the job is still on the list for the next one.

    def _perform(self, run_id: str, operation: Operation) -> None:
        """The step of one operation, called with everything that makes it this one."""
        key = f"{run_id}/{operation.id}" if self.is_keyed else ""

        def effect(provider: str, action: str, target: str, params: dict[str, str | int]) -> str:
            request = Request(provider, action, Purpose.EFFECT, operation.id, target, params, key)
            reference = self.handles.call(request).reference
            self._answered = operation.id
            return reference

        step = self.engine.step(name=operation.id)(effect)
        step(operation.provider, operation.action, operation.target, dict(operation.params))

    def _before_result(self) -> None:
        """The engine is about to commit a step's result."""
        self.handles.next_write(self._answered, "record")
        self.handles.claim(Claim(self._answered, State.COMMITTED.value, reason="the step's result is stored"))


def in_order(workflow: Workflow) -> list[Operation]:
    """The operations, each after those it depends on, otherwise as the author wrote them."""
    graph = {operation.id: operation.depends_on for operation in workflow.operations}
    return [workflow.operation(name) for name in TopologicalSorter(graph).static_order()]


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """durastep's own promise, broken: after its result was stored (event `stored`) a step was begun anew, or another
    result was stored for it (event `again`).
    """

    operation: str
    stored: int
    again: int


def broken_promises(history: History) -> list[BrokenPromise]:
    """Where a run broke what durastep promises: once a step's result is stored, the step is not executed again in that
    run and its result is not replaced.

    Two workers may both execute a step that is new to both (its "Limits" say so): what counts is that a step was begun
    after the result was there, not that a request left after it.
    """
    stored: dict[str, int] = {}
    broken: list[BrokenPromise] = []
    for event in history.events:
        operation = _result_of(event) or _step_begun(event)
        if operation in stored:
            broken.append(BrokenPromise(operation, stored[operation], event.index))
        elif _result_of(event):
            stored[operation] = event.index
    return broken


def _result_of(event: Event) -> str:
    """The operation whose step's result became durable with this event, or ""."""
    return event.where if event.kind == "claimed" and event.data["to"] == State.COMMITTED.value else ""


def _step_begun(event: Event) -> str:
    """The operation whose step begins with this event, or ""."""
    if event.kind != "crossed":
        return ""
    boundary = Boundary.parse(event.where)
    return boundary.subject if boundary.phase is Phase.INTENT_RECORDED else ""
