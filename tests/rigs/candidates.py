"""Small candidates that do one strange thing, for the rigs' tests. Each is a factory: `tests.rigs.candidates:NAME`."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable

from harness.candidates.contract import Handles, Traits
from harness.model.boundary import Purpose
from harness.model.claim import LedgerView
from harness.model.wire import Request
from harness.model.workflow import Workflow


class Worker:
    """Accepts everything and does one thing when it is to work."""

    def __init__(self, handles: Handles, act: Callable[[Handles], None]) -> None:
        self.handles = handles
        self.act = act

    def submit(self, workflow: Workflow) -> None:
        connection = self.handles.connect()
        connection.execute("INSERT INTO flows VALUES (?)", (workflow.id,))
        connection.commit()
        connection.close()

    def work(self) -> None:
        self.act(self.handles)

    def recover(self) -> None:
        """There is nothing it could do."""

    def ledger(self, workflow_id: str) -> LedgerView:
        return LedgerView("RUNNING", {})


class Candidate:
    """One table, no leases."""

    def __init__(self, name: str, act: Callable[[Handles], None], worker: type[Worker] = Worker) -> None:
        self.traits = Traits(name=name, lease_ns=0)
        self._act = act
        self._worker = worker

    def prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE flows (id TEXT PRIMARY KEY)")

    def start(self, handles: Handles) -> Worker:
        return self._worker(handles, self._act)


def dying() -> Candidate:
    """Ends by itself in the middle of its work."""

    def act(handles: Handles) -> None:
        sys.stderr.write("out of cheese\n")
        sys.stderr.flush()
        os._exit(7)

    return Candidate("dying", act)


def raising() -> Candidate:
    """Raises in the middle of its work."""

    def act(handles: Handles) -> None:
        raise RuntimeError("no more")

    return Candidate("raising", act)


def interrupting() -> Candidate:
    """Does what a person does with Ctrl-C: interrupts the controller while a worker is at work."""

    def act(handles: Handles) -> None:
        os.kill(os.getppid(), signal.SIGINT)
        handles.sleep_ns(10**15)

    return Candidate("interrupting", act)


def unkeyed() -> Candidate:
    """Calls a provider, and forgets to say what its writes are for."""

    def act(handles: Handles) -> None:
        handles.call(Request("payment", "charge", Purpose.EFFECT, "", "nobody-asked", {"amount": 1}))

    return Candidate("unkeyed", act)


class _Forgetful(Worker):
    def ledger(self, workflow_id: str) -> LedgerView:
        return None  # type: ignore[return-value]  # the breach of contract this candidate is here for


def ledgerless() -> Candidate:
    """Breaks the contract: no ledger."""
    return Candidate("ledgerless", lambda handles: None, _Forgetful)


class _Unprepared(Candidate):
    def prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE")


def unprepared() -> Candidate:
    """Cannot make its tables."""
    return _Unprepared("unprepared", lambda handles: None)
