"""The candidate without the harness: the yardstick that every ratio of this folder is taken against.

Here: `BareRig` (a fresh store from a template, the same fake providers, one worker, `submit` and `work`) and its
handles. Never here: boundaries, a history, a plan of faults, claims, greenlets, or anything else of harness/inject and
harness/rigs. What a bare run keeps is what no run can do without: the store, the providers' own work, and a clock whose
timers let a person decide.
"""

from __future__ import annotations

import heapq
import itertools
import os
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from fakes.approval.domain import ApprovalQueue
from fakes.core.endpoint import Endpoint
from fakes.registry import PROVIDERS
from harness.candidates.contract import Candidate
from harness.model.boundary import Phase
from harness.model.cell import KEY_TTL_NS, SECOND_NS, Cell
from harness.model.claim import Claim
from harness.model.fault import Fault
from harness.model.wire import ProviderTraits, Reply, Request
from harness.model.workflow import Scenario

CALL_TIMEOUT_NS = 5 * SECOND_NS
APPROVAL = "approval"
_counter = itertools.count()


def unheard(kind: str, where: str, data: Mapping[str, Any]) -> None:
    """The recorder of a run that keeps no history."""


def passed(phase: Phase) -> Fault | None:
    """The crossing of a run in which nothing is injected."""
    return None


class BareClock:
    """A counter with timers. Time passes only when a worker sleeps."""

    __slots__ = ("_made", "_timers", "now_ns")

    def __init__(self) -> None:
        self.now_ns = 0
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._made = 0

    def now(self) -> int:
        return self.now_ns

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        self._made += 1
        heapq.heappush(self._timers, (self.now_ns + delay_ns, self._made, action))

    def sleep(self, duration_ns: int) -> None:
        """Let time pass, doing what falls due on the way."""
        end = self.now_ns + duration_ns
        while self._timers and self._timers[0][0] <= end:
            self.now_ns, _, action = heapq.heappop(self._timers)
            action()
        self.now_ns = end


class BareHandles:
    """The contract's `Handles` with nothing between the worker and the world."""

    worker = "bare"
    incarnation = 1

    def __init__(
        self, clock: BareClock, desks: Mapping[str, Endpoint], traits: Mapping[str, ProviderTraits], store: str
    ) -> None:
        self.providers = traits
        self._clock = clock
        self._desks = desks
        self._store = store
        self.connections: list[sqlite3.Connection] = []

    def now_ns(self) -> int:
        return self._clock.now_ns

    def sleep_ns(self, duration_ns: int) -> None:
        self._clock.sleep(duration_ns)

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._store, uri=True, timeout=0, check_same_thread=False)
        self.connections.append(connection)
        return connection

    def next_write(self, subject: str, label: str) -> None:
        """Names are for boundaries, and there are none."""

    def call(self, request: Request) -> Reply:
        return self._desks[request.provider].handle("", "", request, passed)

    def claim(self, claim: Claim) -> None:
        """Nobody listens."""

    def alert(self, subject: str, reason: str) -> None:
        """Nobody is on call."""


class BareRig:
    """Fault-free runs of one candidate on one scenario. Keeps store and template between runs, as the rigs do."""

    def __init__(self, candidate: Candidate, scenario: Scenario) -> None:
        self.candidate = candidate
        self.scenario = scenario
        self.traits = {name: _traits(name, cell) for name, cell in scenario.cells.items()}
        self.traits[APPROVAL] = _traits(APPROVAL, Cell())
        self._store = f"file:/knownstate-bare-{os.getpid()}-{next(_counter)}?vfs=memdb"
        self._anchor = sqlite3.connect(self._store, uri=True)
        self._template = sqlite3.connect(":memory:")
        candidate.prepare(self._template)
        self._template.commit()

    def restore(self) -> None:
        """The store as `prepare` left it."""
        self._template.backup(self._anchor)

    def desks(self, clock: BareClock) -> dict[str, Endpoint]:
        """The scenario's providers, new."""
        declined = frozenset(self.scenario.always_declined)
        desks: dict[str, Endpoint] = {
            name: PROVIDERS[name](cell, now=clock.now, record=unheard, later=clock.later, declined=declined)
            for name, cell in self.scenario.cells.items()
        }
        desks[APPROVAL] = ApprovalQueue(self.scenario.approver, now=clock.now, record=unheard, later=clock.later)
        return desks

    def run(self) -> dict[str, Endpoint]:
        """One run: a fresh world, submit, work. Returns the providers, which hold what was done to them."""
        clock = BareClock()
        self.restore()
        desks = self.desks(clock)
        handles = BareHandles(clock, desks, self.traits, self._store)
        worker = self.candidate.start(handles)
        worker.submit(self.scenario.workflow)
        worker.work()
        worker.ledger(self.scenario.workflow.id)  # nobody runs a workflow without asking what became of it
        for connection in handles.connections:
            connection.close()
        return desks

    def work_done(self) -> tuple[int, int]:
        """(ledger transactions that changed something, provider calls) of one run, counted while it is not timed."""
        clock = BareClock()
        self.restore()
        desks = self.desks(clock)
        handles = _Counting(clock, desks, self.traits, self._store)
        worker = self.candidate.start(handles)
        worker.submit(self.scenario.workflow)
        worker.work()
        handles.connections[0].close()
        return handles.commits_count, sum(desk.arrivals for desk in desks.values())

    def close(self) -> None:
        self._anchor.close()
        self._template.close()


class _Counting(BareHandles):
    """Handles that count the commits of open transactions, as the harness counts them."""

    commits_count = 0

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._store, uri=True, timeout=0, check_same_thread=False)
        connection.set_trace_callback(self._traced)
        self.connections.append(connection)
        return connection

    def _traced(self, statement: str) -> None:
        self.commits_count += statement == "COMMIT"


def _traits(name: str, cell: Cell) -> ProviderTraits:
    return ProviderTraits(name, cell.key.value, cell.lookup.value, cell.late.value, KEY_TTL_NS, CALL_TIMEOUT_NS)
