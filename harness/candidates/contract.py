"""The candidate contract, in-process form: what a candidate is given (`Handles`) and what it gives (`Worker`).

A candidate is a factory `module:name`. Called without arguments it returns a `Candidate`. The rig calls `prepare` once on an empty
store (create the schema), then, for each incarnation of a worker, `start(handles)`, which returns a `Worker`, and one of its verbs.
A worker is ordinary blocking code; the world is reached only through its handles, which may not outlive it: after a crash the same
store comes back, nothing else does. Verbs a candidate does not have raise `Unsupported`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.model.cell import SECOND_NS
from harness.model.claim import Claim, LedgerView
from harness.model.wire import ProviderTraits, Reply, Request
from harness.model.workflow import Workflow


class Unsupported(Exception):
    """The candidate does not have this verb."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a candidate declares of itself, as data.

    `promise`: `at-most-once`, `at-least-once` or `honest-unknown`; `level` L0..L5 as in DESIGN section 4; `lease_ns`: how long after
    a worker's last sign of life another may take its work over (0: it has no leases); `verbs`: those it supports.
    """

    name: str
    promise: str = "honest-unknown"
    level: int = 3
    lease_ns: int = 30 * SECOND_NS
    verbs: frozenset[str] = frozenset({"submit", "work", "recover", "status", "ledger", "cancel"})


class Handles(Protocol):
    """Everything a worker may touch. Times are virtual nanoseconds in simulation and real ones on the other rigs."""

    worker: str
    incarnation: int
    providers: Mapping[str, ProviderTraits]

    def now_ns(self) -> int:
        """The time."""

    def sleep_ns(self, duration_ns: int) -> None:
        """Wait. Another worker may run meanwhile."""

    def connect(self) -> sqlite3.Connection:
        """A new connection to the candidate's store, for this worker alone. Its `commit` is a boundary."""

    def next_write(self, subject: str, label: str) -> None:
        """Optional: name the next ledger transaction, so that its boundaries read well.

        `label` `intent` names the write that must be durable before a send of `subject`, `record` the one after it;
        any other label is used as it is. An unnamed write is called `write-N` of the workflow.
        """

    def call(self, request: Request) -> Reply:
        """Call a provider. Raises ProviderFailure (what the caller saw) for anything but a 2xx answer."""

    def claim(self, claim: Claim) -> None:
        """Say what the ledger now says. Counts when the open transaction of this worker has committed, and is dropped if it does not."""

    def alert(self, subject: str, reason: str) -> None:
        """Call a person. The pager rings once for each subject, however often it is called."""


class Worker(Protocol):
    """One incarnation. Each verb blocks until it has nothing more to do."""

    def submit(self, workflow: Workflow) -> None:
        """Accept the workflow durably. Submitting the same workflow again changes nothing."""

    def work(self) -> None:
        """Drive what this worker may drive until nothing more can be done now."""

    def recover(self) -> None:
        """Start-up recovery: take over work whose owner is gone, then drive it as `work` does."""

    def cancel(self, workflow_id: str) -> None:
        """Cancel the workflow's intent durably. The undoing is done by whoever drives it."""

    def status(self, workflow_id: str) -> str:
        """The workflow's state, a WorkflowState word."""

    def ledger(self, workflow_id: str) -> LedgerView:
        """The durable ledger as it is now."""


class Candidate(Protocol):
    """The system under test.

    It may also have `interfaces`, a mapping of providers to the API by which it reaches them (`{"payment": "stripe"}`): the simulation then
    puts a fake with that API in place, and the real client library runs on a transport without sockets (`fakes/payment/transport.py`).
    """

    traits: Traits

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Create what an empty store needs. Called once; the result is the state every run starts from."""

    def start(self, handles: Handles) -> Worker:
        """Bring up one incarnation."""
