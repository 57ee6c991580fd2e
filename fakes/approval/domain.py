"""An approval queue: people decide once, and what they granted is spent once.

Theory. An approval is bound to the digest of the exact action it is for. Deciding and spending are apart: `consume`
is a compare-and-set at the queue, so that a caller that died after it can ask again and a second caller cannot spend
it too.

    pending --grant--> granted --consume--> consumed
    pending --deny---> denied
    pending, granted --withdraw (the requester)--> revoked
    granted --revoke (a person)--> revoked
    granted, past its expiry: expired

The request's identity is the client id its caller chose: the queue has no keys and no cell, and asking again names
the same approval. Every reading is authoritative. Approvals are not effects: none is recorded for them.
Never here: who may approve what (that is the scenario's approver), HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, NamedTuple

from fakes.core.endpoint import Arrival, At, Endpoint, Later, Record, refuse
from harness.model.boundary import Phase, Purpose
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import Reply, Request
from harness.model.workflow import Approver

PENDING, GRANTED, DENIED, REVOKED, CONSUMED = "pending", "granted", "denied", "revoked", "consumed"
EXPIRED = "expired"
"""Never stored: it is what GRANTED reads as once its time is over."""

REFUSALS: dict[Fault, str] = {
    Fault.UNAVAILABLE: "unavailable",
    Fault.RATE_LIMITED: "rate-limited",
}


class Approval(NamedTuple):
    """One approval. `expires_ns` is 0 until it is granted, `consumer` the operation that spent it or ""."""

    id: str
    operation: str
    digest: str
    state: str = PENDING
    expires_ns: int = 0
    consumer: str = ""

    def state_at(self, now_ns: int) -> str:
        """Its state as a reader sees it."""
        return EXPIRED if self.state == GRANTED and now_ns > self.expires_ns else self.state


class Snapshot(NamedTuple):
    """The queue's state. The timers of people still thinking are not in it: they are the rig's."""

    arrivals: int
    commits: int
    responses: int
    approvals: tuple[tuple[str, Approval], ...]


class ApprovalQueue(Endpoint):
    """Approvals by id, which is `approval-` and the client id."""

    __slots__ = ("_approvals", "_approver")

    name: ClassVar[str] = "approval"
    actions: ClassVar[tuple[str, ...]] = ("request", "read", "consume", "withdraw")

    def __init__(self, approver: Approver, *, now: Callable[[], int], record: Record, later: Later) -> None:
        super().__init__(now=now, record=record, later=later)
        assert approver.decision in ("approves", "denies"), f"{approver.decision!r} is neither approves nor denies"
        self._approver = approver
        self._approvals: dict[str, Approval] = {}

    # What people do, and what a rig asks.

    def pending(self) -> tuple[str, ...]:
        """Ids of the approvals nobody has decided, oldest first."""
        return tuple(approval.id for approval in self._approvals.values() if approval.state == PENDING)

    def grant(self, approval: str, valid_ns: int) -> bool:
        """Grant it for so long if it is pending: the first decision wins. Was it?"""
        found = self._approvals.get(approval)
        if found is None or found.state != PENDING:
            return False
        expires_ns = self._now() + valid_ns
        self._approvals[approval] = found._replace(state=GRANTED, expires_ns=expires_ns)
        self._record("approval-granted", found.operation, _terms(found, expires_ns))
        return True

    def deny(self, approval: str) -> bool:
        """Deny it if it is pending: the first decision wins. Was it?"""
        found = self._approvals.get(approval)
        if found is None or found.state != PENDING:
            return False
        self._approvals[approval] = found._replace(state=DENIED)
        self._record("approval-denied", found.operation, {"approval": approval})
        return True

    def revoke(self, approval: str) -> bool:
        """Take it back if it is granted, unexpired and unspent. Was it?"""
        found = self._approvals.get(approval)
        if found is None or found.state_at(self._now()) != GRANTED:
            return False
        self._approvals[approval] = found._replace(state=REVOKED)
        self._record("approval-revoked", found.operation, {"approval": approval})
        return True

    def circumstances(self, request: Request) -> tuple[bool, bool]:
        """(the client id was seen before, the approval could be spent now)."""
        asked = self._approvals.get(_id_of(request.target))
        named = self._approvals.get(request.approval, asked)
        return asked is not None, named is not None and named.state_at(self._now()) == GRANTED

    def snapshot(self) -> object:
        """All state now, as one hashable value."""
        return Snapshot(self.arrivals, self.commits, self.responses, tuple(self._approvals.items()))

    def restore(self, snapshot: object) -> None:
        """Go back to a snapshot, which stays usable."""
        assert isinstance(snapshot, Snapshot), f"the approval queue cannot go back to {snapshot!r}"
        self.arrivals, self.commits, self.responses, approvals = snapshot
        self._approvals = dict(approvals)

    # Requests.

    def _answer(self, arrival: Arrival, at: At) -> Reply:
        request = arrival.request
        refuse(at(Phase.DELIVERED), REFUSALS)
        if request.purpose is Purpose.APPROVE and request.action == "read":
            return self._reply(self._named(request))
        reply = self._reply(self._change(arrival))
        if at(Phase.COMMITTED) is Fault.ERROR_AFTER_COMMIT:
            raise ProviderFailure("internal-error")
        return reply

    def _change(self, arrival: Arrival) -> Approval:
        match arrival.request.purpose, arrival.request.action:
            case Purpose.APPROVE, "request":
                return self._request(arrival)
            case Purpose.APPROVE, "consume":
                return self._consume(arrival)
            case Purpose.APPROVE, "withdraw":
                return self._withdraw(arrival)
            case purpose, action:
                raise ProviderFailure("invalid", f"the approval queue has no {purpose.value} {action!r}")

    def _request(self, arrival: Arrival) -> Approval:
        request = arrival.request
        digest, approval_id = _digest(request), _id_of(request.target)
        known = self._approvals.get(approval_id)
        if known is None:
            return self._open(arrival, Approval(approval_id, request.operation, digest))
        if known.digest != digest:
            raise ProviderFailure("already-exists", f"{approval_id} was requested for another action")
        return known

    def _open(self, arrival: Arrival, approval: Approval) -> Approval:
        data = {"approval": approval.id, "operation": approval.operation, "digest": approval.digest}
        self._commit(arrival, "approval-requested", approval, data)
        self._later(self._approver.think_ns, partial(self._decide, approval.id))
        return approval

    def _decide(self, approval_id: str) -> None:
        """The approver has thought. Somebody may have decided or withdrawn meanwhile, and the first decision stands."""
        if self._approver.decision == "denies":
            self.deny(approval_id)
        else:
            self.grant(approval_id, self._approver.valid_ns)

    def _consume(self, arrival: Arrival) -> Approval:
        """Compare and set. Its own consumer gets the same answer again while the approval has not expired."""
        request = arrival.request
        approval = self._approvals.get(request.approval)
        if approval is None or approval.digest != _digest(request) or self._now() > approval.expires_ns:
            raise ProviderFailure("approval-invalid")
        if approval.state == GRANTED:
            approval = approval._replace(state=CONSUMED, consumer=request.operation)
            data = {**_terms(approval, approval.expires_ns), "operation": request.operation}
            self._commit(arrival, "approval-consumed", approval, data)
        elif approval.state != CONSUMED or approval.consumer != request.operation:
            raise ProviderFailure("approval-invalid")
        return approval

    def _withdraw(self, arrival: Arrival) -> Approval:
        """Its requester gives it up, decided or not, and may say so twice. Spent, denied or expired, it is refused."""
        approval = self._named(arrival.request)
        state = approval.state_at(self._now())
        if state in (PENDING, GRANTED):
            approval = approval._replace(state=REVOKED)
            self._commit(arrival, "approval-revoked", approval, {"approval": approval.id})
        elif state != REVOKED:
            raise ProviderFailure("approval-invalid")
        return approval

    def _commit(self, arrival: Arrival, kind: str, approval: Approval, data: Mapping[str, str | int]) -> None:
        self.commits += 1
        self._approvals[approval.id] = approval
        self._record(kind, arrival.where, {**data, "call": arrival.call})

    def _named(self, request: Request) -> Approval:
        approval = self._approvals.get(request.approval)
        if approval is None:
            raise ProviderFailure("not-found", f"there is no approval {request.approval!r}")
        return approval

    def _reply(self, approval: Approval) -> Reply:
        values: dict[str, str | int] = {
            "state": approval.state_at(self._now()),
            "expires_ns": approval.expires_ns,
            "digest": approval.digest,
            "consumer": approval.consumer,
        }
        return Reply(approval.id, values=values)


def _id_of(client_id: str) -> str:
    return f"approval-{client_id}"


def _digest(request: Request) -> str:
    """The digest the request binds itself to. Raises ProviderFailure `invalid` if it carries none."""
    digest = request.params.get("digest", "")
    if not digest:
        raise ProviderFailure("invalid", "the request carries no digest of the action to approve")
    return str(digest)


def _terms(approval: Approval, expires_ns: int) -> dict[str, str | int]:
    return {
        "approval": approval.id,
        "operation": approval.operation,
        "digest": approval.digest,
        "expires_ns": expires_ns,
    }
