"""The in-process crossing: a worker's handles, its store connection, and the faults that a call or a commit does to itself.

Which faults: all of the message, provider, look-up and store families that the table gives to the simulation rig. A caller sees the
same exception for a lost request, a lost and a slow response, as real clients do.

What this cannot simulate: a torn or unsynced file (the store is SQLite in memory: what it committed it never loses), a worker stopped
inside a ledger transaction (the embedded store has one writer), two workers truly at the same moment, partial writes on a socket,
threads of the candidate's own, and re-sends inside a client library (calls are made on the provider's domain, not through a client).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from harness.inject.connection import BoundaryConnection, commit_plainly, rollback_plainly
from harness.inject.names import LOOKED_INTO_WHEN_SENT
from harness.inject.world import World
from harness.model.boundary import OBSERVING, Phase, Purpose
from harness.model.cell import LATE_NS, SECOND_NS
from harness.model.claim import Claim
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import ProviderTraits, Reply, Request

HOP_NS = 1_000_000
"""One way over the simulated network: 1 ms."""
WRITE_NS = 100_000
"""One ledger commit: 0.1 ms."""
CALL_TIMEOUT_NS = 5 * SECOND_NS
CLOCK_READS_MAX = 1_000_000
DEAD_CALLS_MAX = 100
"""How often a dead incarnation is told so. One that catches whatever is raised is then left where it stands, for good."""

_LOST_AFTER_COMMIT = {
    Fault.LOST_RESPONSE: ("timeout", CALL_TIMEOUT_NS),
    Fault.SLOW_RESPONSE: ("timeout", CALL_TIMEOUT_NS),
    Fault.CONNECTION_RESET: ("connection-reset", HOP_NS),
    Fault.TRUNCATED_RESPONSE: ("truncated-response", HOP_NS),
}
"""Message faults after the commit: what the caller sees, and after how long."""

_STORE_ERRORS = {
    Fault.COMMIT_UNACKNOWLEDGED: "server closed the connection during COMMIT",
    Fault.COMMIT_LOST: "server closed the connection during COMMIT",
    Fault.SERIALIZATION_FAILURE: "could not serialize access: transaction rolled back",
    Fault.STORE_LOCKED: "database is locked",
    Fault.STORE_FULL: "database or disk is full",
    Fault.STORE_CONNECTION_LOST: "connection lost",
}


class Dead(BaseException):
    """Raised into code of an incarnation that is dead and still tries to act."""


class SimHandles:
    """What one incarnation is given. See `harness.candidates.contract.Handles`."""

    def __init__(
        self,
        world: World,
        worker: str,
        incarnation: int,
        desks: Mapping[str, Any],
        traits: Mapping[str, ProviderTraits],
        store: str,
        die: Callable[[SimHandles], NoReturn],
    ) -> None:
        self.world = world
        self.worker = worker
        self.incarnation = incarnation
        self.providers = traits
        self.dead = False
        self.dying = False
        self.silent = False
        """The auditor reads without crossing boundaries."""
        self.after_reply: Callable[[], None] | None = None
        """A strike that waits until the provider has answered (a worker stopped while it waits for a response)."""
        self._desks = desks
        self._store = store
        self._die = die
        self._connections: list[BoundaryConnection] = []
        self._claims: list[Claim] = []
        self._dead_calls = 0
        self._write = ("", "")

    # -- time and people ----------------------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        world = self.world
        world.clock_reads += 1
        if world.clock_reads > CLOCK_READS_MAX:  # time stands still for one who waits for it without sleeping
            world.cut("busy-wait")
        return world.now

    def sleep_ns(self, duration_ns: int) -> None:
        self._alive("sleep")
        self.world.advance(duration_ns)

    def alert(self, subject: str, reason: str) -> None:
        self._alive("alert")
        if subject in self.world.alerted:
            return
        self.world.alerted.add(subject)
        self.world.record(self.worker, "alerted", subject, {"subject": subject, "reason": reason})

    def mark(self, twin: str) -> None:
        """A broken twin says that its planted line ran."""
        self.world.record(self.worker, "bug-reached", "", {"twin": twin})

    def _alive(self, what: str) -> None:
        if not self.dead:
            return
        self.world.record(self.worker, "dead-call", "", {"what": what})
        self._dead_calls += 1
        if self._dead_calls > DEAD_CALLS_MAX:
            self._die(self)
        raise Dead(what)

    # -- the store ----------------------------------------------------------------------------------------------------------

    def connect(self) -> sqlite3.Connection:
        self._alive("connect")
        connection = sqlite3.connect(
            self._store, uri=True, timeout=0, check_same_thread=False, factory=BoundaryConnection
        )
        connection.handles = self
        self._connections.append(connection)
        return connection

    def next_write(self, subject: str, label: str) -> None:
        self._write = (subject, label)

    def claim(self, claim: Claim) -> None:
        if self.dead:
            self._alive("claim")
        self._claims.append(claim)

    def commit(self, connection: BoundaryConnection) -> None:
        """One ledger transaction: before, in, after; the store's faults; claims count only when it has committed."""
        if self.dead:
            self._alive("commit")
        if self.silent:
            commit_plainly(connection)
            return
        subject, label = self._write
        self._write = ("", "")
        write = self.world.names.named_write(subject, label, self._last_call)
        base, subject, before, after = write
        cross = self.world.cross
        if before is _ACKNOWLEDGED:
            self._last_call = ""
        else:
            fault = cross(self, base + _AT[before], before, _WRITE, "", subject)
            if fault is not None:
                self._store_fails(connection, base + _AT[before], fault)
        inside = write.inside
        fault = cross(self, inside, _IN_COMMIT, _WRITE, "", subject)
        if fault is not None and fault is not Fault.COMMIT_UNACKNOWLEDGED:
            self._store_fails(connection, inside, fault)
        commit_plainly(connection)
        self.world.now += WRITE_NS
        self._wrote(base)
        if fault is not None:
            self._store_fails(connection, inside, fault)
        cross(self, base + _AT[after], after, write.purpose_after, "", subject)

    _last_call = ""

    def _wrote(self, base: str) -> None:
        world, worker = self.world, self.worker
        add, now = world.add, world.now
        add(now, worker, "wrote", base)
        for claim in self._claims:
            data = {"subject": claim.subject, "to": claim.state, "was": claim.was}
            if claim.resolution:
                data["resolution"] = claim.resolution
            if claim.reason:
                data["reason"] = claim.reason
            add(now, worker, "claimed", claim.subject, data)
        self._claims.clear()

    def _store_fails(self, connection: BoundaryConnection, where: str, fault: Fault) -> NoReturn:
        self.world.fired(where, fault)
        self._claims.clear()
        if fault in (Fault.COMMIT_UNACKNOWLEDGED, Fault.COMMIT_LOST, Fault.STORE_CONNECTION_LOST):
            connection.close_underneath()
        else:
            rollback_plainly(connection)
        raise sqlite3.OperationalError(_STORE_ERRORS[fault])

    def drop_claims(self) -> None:
        """The candidate rolled its transaction back."""
        self._claims.clear()

    def close_underneath(self) -> None:
        """All connections of this incarnation end, as a process's do when it dies."""
        for connection in self._connections:
            connection.handles = None
            connection.close_underneath()
        self._connections.clear()

    # -- calls --------------------------------------------------------------------------------------------------------------

    def call(self, request: Request) -> Reply:
        if self.dead:
            self._alive("call")
        return _Call(self, request).run()


_AT = {phase: f"/{phase.value}" for phase in Phase}
"""Phase -> the end of its boundary's path. Enum members look their values up by attribute, which costs more than a dict."""
_PURPOSES = {purpose: purpose.value for purpose in Purpose}
_ACKNOWLEDGED, _IN_COMMIT, _SENT, _DELIVERED = Phase.ACKNOWLEDGED, Phase.IN_COMMIT, Phase.SENT, Phase.DELIVERED
_WRITE, _APPROVE, _LOOKED_INTO = Purpose.WRITE, Purpose.APPROVE, LOOKED_INTO_WHEN_SENT
_OK = "ok"


def _with_own_params(request: Request) -> Request:
    provider, action, purpose, operation, target, params, key, not_after, fence, approval = request
    return Request(provider, action, purpose, operation, target, dict(params), key, not_after, fence, approval)


class _Call:
    """One call on its way: from its caller to the provider and back, or not back."""

    __slots__ = ("base", "desk", "handles", "lost", "met", "request", "subject", "twice", "world")

    def __init__(self, handles: SimHandles, request: Request) -> None:
        self.handles = handles
        self.world = handles.world
        # The parameters are the candidate's own; what it does to them later must change neither evidence nor copies.
        self.request = request = _with_own_params(request)
        self.desk: Any = handles._desks[request.provider]
        self.lost: Fault | None = None
        self.met: Fault | None = None
        """What the request met at the provider's door. A copy right behind it meets the same."""
        self.twice = False

    def run(self) -> Reply:
        handles, world, request = self.handles, self.world, self.request
        self.base, self.subject, crossed = world.names.call(request)
        if not crossed and request.purpose not in OBSERVING:
            self.cross(Phase.INTENT_RECORDED)
        if request.not_after_ns and world.now > request.not_after_ns:
            return self.fail("deadline-passed")
        world.add(world.now, handles.worker, "call-sent", self.base, self.described())
        key_seen, stands = self.desk.circumstances(request) if request.purpose is _LOOKED_INTO else (False, False)
        fault = self.cross(_SENT, key_seen, stands)
        world.now += HOP_NS
        if fault is not None and not handles.dying:
            early = self.on_the_way(fault)
            if early:
                return self.fail(early)
        try:
            reply = self.desk.handle(self.base, self.base, request, self.at)
        except ProviderFailure as failure:
            self.copies()
            return self.fail(failure.code, failure)
        self.copies()
        return self.answered(reply)

    def described(self) -> dict[str, Any]:
        provider, action, purpose, operation, target, params, key, not_after, fence, approval = self.request
        return {
            "call": self.base,
            "operation": operation,
            "provider": provider,
            "action": action,
            "purpose": _PURPOSES[purpose],
            "target": target,
            "key": key,
            "params": params,
            "not_after": not_after,
            "fence": fence,
            "approval": approval,
        }

    def cross(self, phase: Phase, key_seen: bool = False, stands: bool = False) -> Fault | None:
        request = self.request
        return self.world.cross(
            self.handles,
            self.base + _AT[phase],
            phase,
            request.purpose,
            request.provider,
            self.subject,
            request,
            key_seen,
            stands,
        )

    def on_the_way(self, fault: Fault) -> str:
        """Message faults before delivery. Returns what the caller sees, or "" when the request is delivered now all the same."""
        world = self.world
        world.fired(f"{self.base}/sent", fault)
        if fault is Fault.CONNECTION_REFUSED:
            return "connection-refused"
        if fault is Fault.DUPLICATE_DELIVERY:
            self.twice = True
            return ""
        if fault is Fault.LATE_DELIVERY:
            world.later(LATE_NS, lambda: self.deliver_copy(1))
        world.advance(CALL_TIMEOUT_NS)
        return "timeout"

    def copies(self) -> None:
        """The duplicate comes right behind the original, before the answer is back."""
        if self.twice:
            self.deliver_copy(2)

    def deliver_copy(self, delivery: int) -> None:
        """A copy arrives for which nobody waits; whatever the provider answers is lost."""
        try:
            self.desk.handle(self.base, self.base, self.request, self.at_for_a_copy, delivery)
        except ProviderFailure:
            return

    def at_for_a_copy(self, phase: Phase) -> Fault | None:
        return self.met if phase is _DELIVERED else None

    def at(self, phase: Phase) -> Fault | None:
        """The provider's hook: called when the request has arrived, and again when it is committed but not answered."""
        if self.handles.dying:
            return None
        if phase is Phase.DELIVERED:
            key_seen, stands = self.desk.circumstances(self.request)
            self.met = fault = self.cross(phase, key_seen, stands)
            if fault is not None:
                self.world.fired(f"{self.base}/{phase.value}", fault)
            return fault
        fault = self.cross(phase, False, self.undecided())
        self.world.now += HOP_NS
        if fault is None:
            return None
        self.world.fired(f"{self.base}/{phase.value}", fault)
        if fault in _LOST_AFTER_COMMIT:
            self.lost = fault
        return fault

    def undecided(self) -> bool:
        """Is this the question to a person who has not answered yet?"""
        if self.request.purpose is not Purpose.APPROVE or self.request.action != "request":
            return False
        return f"approval-{self.request.target}" in self.desk.pending()

    def answered(self, reply: Reply) -> Reply:
        if self.lost is not None:
            code, wait_ns = _LOST_AFTER_COMMIT[self.lost]
            self.world.advance(wait_ns)
            return self.fail(code)
        self.world.now += HOP_NS
        seen: dict[str, Any] = {"call": self.base, "outcome": "ok", "code": "ok"}
        if self.request.purpose in OBSERVING:
            seen["found"] = reply.found
            seen["complete"] = reply.complete
        elif reply.pending:
            seen["pending"] = True
        self.back(seen)
        return reply

    def fail(self, code: str, told: ProviderFailure | None = None) -> NoReturn:
        """The call has failed; `told` is the provider's own answer, with all it said, where there is one."""
        failure = told or ProviderFailure(code)
        self.back({"call": self.base, "outcome": failure.certainty.value, "code": code})
        raise failure

    def back(self, seen: dict[str, Any]) -> None:
        """The outcome reaches the caller, if it is still there."""
        handles = self.handles
        if handles.dying:
            handles._die(handles)
        if handles.after_reply is not None:
            strike, handles.after_reply = handles.after_reply, None
            strike()
        self.world.add(self.world.now, handles.worker, "caller-saw", self.base, seen)
        handles._last_call = self.base
        if self.request.purpose is Purpose.APPROVE:
            self.cross(Phase.ACKNOWLEDGED, *self.desk.circumstances(self.request))
        else:
            self.cross(Phase.ACKNOWLEDGED)
