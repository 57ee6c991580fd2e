"""The approval queue as its protocol knows it: the domain's approvals, and beside each a paper of what people did.

Theory. The domain decides (once, for one digest, spent once); the paper says who, when and about what, as a list of
moments. What a reader sees at some moment is folded from the moments up to it, so the past can be read like the present.
Two states come of time alone: a request that nobody decided in its time, and a grant that was not spent in its time,
read `expired`, and nothing can be done with them. A withdrawal (by the requester) and a revocation (by a person) are one
state of the domain and two words here.

    Refusals, 409 unless said:  already-decided, already-consumed, digest-mismatch, already-exists, self-review (403),
                                and the state that is in the way: pending, denied, withdrawn, revoked, expired
    Each carries the approval as it stands, so that a caller whose answer was lost can recognize its own deed.

Never here: HTTP, timers, and who may approve what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fakes.approval.domain import CONSUMED, DENIED, EXPIRED, GRANTED, PENDING, REVOKED, Approval, ApprovalQueue
from fakes.core.endpoint import Arrival
from fakes.wire.journal_file import Document
from fakes.wire.json_api import Refused, missing
from fakes.wire.shelf import Shelf
from harness.model.boundary import Purpose
from harness.model.wire import Request
from harness.model.workflow import Approver

WITHDRAWN = "withdrawn"
STATES = (PENDING, GRANTED, DENIED, WITHDRAWN, REVOKED, CONSUMED, EXPIRED)
DECISIONS: Mapping[str, str] = {"grant": GRANTED, "deny": DENIED}
PAPER, APPROVAL, QUEUE = "paper", "approval", "queue"

View = dict[str, Any]


class Asked(NamedTuple):
    """What a requester says of the action it wants to be approved."""

    client_id: str
    digest: str
    requester: str
    description: str
    parameters: Mapping[str, Any]
    operation: str
    decide_within_ns: int
    valid_ns: int


class _Watched(dict[str, Approval]):
    """Approvals, and which of them changed."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[str, None] = {}

    def __setitem__(self, id_: str, approval: Approval) -> None:
        super().__setitem__(id_, approval)
        self.touched[id_] = None


class DurableQueue(ApprovalQueue):
    """The domain's queue, kept as documents. Its approver is the caller's to play."""

    __slots__ = ("_kept",)

    def __init__(self, *, now: Callable[[], int], record: Callable[[str, str, Mapping[str, Any]], None]) -> None:
        super().__init__(Approver(), now=now, record=record, later=lambda delay_ns, action: None)
        self._kept = _Watched()
        self._approvals = self._kept

    def get(self, id_: str) -> Approval | None:
        """The approval of this id."""
        return self._approvals.get(id_)

    def do(self, call: str, action: str, approval: Approval, *, target: str = "", operation: str = "") -> Approval:
        """Treat one change as the domain does. Raises ProviderFailure."""
        params = {"digest": approval.digest}
        request = Request(self.name, action, Purpose.APPROVE, operation, target, params, approval=approval.id)
        return self._change(Arrival(call, "", request, 1))

    def expire(self, id_: str) -> None:
        """Its time is over, whatever was said."""
        approval = self._approvals[id_]
        if approval.state == GRANTED:
            self._approvals[id_] = approval._replace(expires_ns=self._now() - 1)

    @staticmethod
    def owns(document: Document) -> bool:
        """Is this document one of the queue's?"""
        return document.kind in (APPROVAL, QUEUE)

    def take_changes(self) -> Iterator[Document]:
        """What changed since the last call."""
        touched, self._kept.touched = self._kept.touched, {}
        for id_ in touched:
            yield Document(APPROVAL, id_, list(self._kept[id_]))
        if touched:
            yield Document(QUEUE, "commits", self.commits)

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        self._approvals = self._kept = _Watched()
        self.commits = 0
        for kind, id_, value in documents:
            if kind == APPROVAL:
                self._kept[id_] = Approval(*value)
            elif kind == QUEUE:
                self.commits = value
        self._kept.touched.clear()


class Book:
    """All approvals with their papers. Every change tells `told` the event and the approval's present view."""

    def __init__(
        self, queue: DurableQueue, shelf: Shelf, now: Callable[[], int], told: Callable[[str, View], None]
    ) -> None:
        self._queue = queue
        self._shelf = shelf
        self._now = now
        self._told = told

    # Reading.

    def view(self, id_: str, at_ns: int | None = None) -> View | None:
        """The approval as it read at that moment (None: now), or None if there was none."""
        paper = self._shelf.get(PAPER, id_)
        moment_ns = self._now() if at_ns is None else at_ns
        return None if paper is None or paper["made_ns"] > moment_ns else _view(id_, paper, moment_ns)

    def views(self, at_ns: int | None = None) -> Iterator[View]:
        """All of them, oldest first."""
        ids = list(self._shelf.all(PAPER))
        return (view for id_ in ids if (view := self.view(id_, at_ns)) is not None)

    def named(self, id_: str) -> View:
        """The approval now. Raises Refused."""
        view = self.view(id_)
        if view is None:
            raise missing("approval", id_)
        return view

    # Changing. All raise Refused, and then nothing was changed.

    def request(self, call: str, asked: Asked) -> tuple[View, bool]:
        """Ask for an approval: (it, whether it is new)."""
        wanted = Approval(id_of(asked.client_id), asked.operation, asked.digest)
        known = self.view(wanted.id)
        if known is not None and known["digest"] != asked.digest:
            raise Refused(409, "already-exists", "this id was requested for another action", approval=known)
        self._queue.do(call, "request", wanted, target=asked.client_id, operation=asked.operation)
        if known is not None:
            return known, False
        self._shelf.put(PAPER, wanted.id, {**asked._asdict(), "made_ns": self._now(), "moments": []})
        return self._tell("requested", wanted.id), True

    def decide(self, id_: str, decision: str, *, by: str, digest: str, is_self_review_barred: bool) -> View:
        """A person decides. The first decision wins."""
        view = self.named(id_)
        _check_digest(view, digest)
        if view["decision"] is not None:
            raise _conflict("already-decided", view)
        if view["state"] != PENDING:
            raise _conflict(view["state"], view)
        if is_self_review_barred and by == view["requester"]:
            raise Refused(403, "self-review", "who asked for an approval does not decide it", approval=view)
        valid_ns = self._shelf.get(PAPER, id_)["valid_ns"]
        is_first = self._queue.grant(id_, valid_ns) if decision == "grant" else self._queue.deny(id_)
        assert is_first, f"{id_} is pending on paper and decided in the queue"
        approval = self._queue.get(id_)
        assert approval is not None
        return self._note(id_, DECISIONS[decision], by, expires_ns=approval.expires_ns or None)

    def consume(self, call: str, id_: str, *, digest: str, consumer: str) -> View:
        """Spend it. Its own consumer gets the same answer again."""
        view = self.named(id_)
        _check_digest(view, digest)
        is_own = view["state"] == CONSUMED and view["consumer"] == consumer
        if is_own and self._now() <= view["expires_ns"]:
            return view
        if view["state"] != GRANTED:
            raise _conflict("already-consumed" if view["state"] == CONSUMED else view["state"], view)
        self._queue.do(call, "consume", self._approval(id_), operation=consumer)
        return self._note(id_, CONSUMED, consumer)

    def withdraw(self, call: str, id_: str) -> View:
        """Its requester gives it up, decided or not, and may say so twice."""
        view = self.named(id_)
        if view["state"] == WITHDRAWN:
            return view
        if view["state"] not in (PENDING, GRANTED):
            raise _conflict(view["state"], view)
        self._queue.do(call, "withdraw", self._approval(id_))
        return self._note(id_, WITHDRAWN, view["requester"])

    def revoke(self, id_: str, *, by: str) -> View:
        """A person takes a grant back before it is spent."""
        view = self.named(id_)
        if not self._queue.revoke(id_):
            raise _conflict(view["state"], view)
        return self._note(id_, REVOKED, by)

    def expire(self, id_: str) -> View:
        """Its time is over, whatever was said."""
        view = self.named(id_)
        if view["state"] not in (PENDING, GRANTED):
            raise _conflict(view["state"], view)
        self._queue.expire(id_)
        return self._note(id_, EXPIRED, "")

    def _approval(self, id_: str) -> Approval:
        approval = self._queue.get(id_)
        assert approval is not None, f"{id_} has a paper and is not in the queue"
        return approval

    def _note(self, id_: str, what: str, by: str, **more: Any) -> View:
        paper = self._shelf.get(PAPER, id_)
        moment = {"at_ns": self._now(), "what": what, "by": by, **more}
        self._shelf.put(PAPER, id_, {**paper, "moments": [*paper["moments"], moment]})
        return self._tell(what, id_)

    def _tell(self, what: str, id_: str) -> View:
        view = self.named(id_)
        self._told(what, view)
        return view


def id_of(client_id: str) -> str:
    """The approval's id, as the domain makes it."""
    return f"approval-{client_id}"


def _view(id_: str, paper: Mapping[str, Any], moment_ns: int) -> View:
    """Fold the moments up to this one."""
    view = {name: paper[name] for name in ("client_id", "digest", "operation", "requester", "description")}
    view |= {"parameters": paper["parameters"], "made_ns": paper["made_ns"], "state": PENDING}
    view |= {"decide_by_ns": paper["made_ns"] + paper["decide_within_ns"], "expires_ns": None}
    view |= {"decision": None, "consumer": None, "closed": None}
    for moment in paper["moments"]:
        if moment["at_ns"] <= moment_ns:
            _fold(view, moment)
    over_ns = {PENDING: view["decide_by_ns"], GRANTED: view["expires_ns"]}.get(view["state"])
    if over_ns is not None and moment_ns > over_ns:
        view["state"] = EXPIRED
    return {"id": id_, **view}


def _fold(view: View, moment: Mapping[str, Any]) -> None:
    what, who = moment["what"], {"by": moment["by"], "at_ns": moment["at_ns"]}
    view["state"] = what
    if what in (GRANTED, DENIED):
        view |= {"decision": {"decision": what, **who}, "expires_ns": moment["expires_ns"]}
    elif what == CONSUMED:
        view["consumer"] = moment["by"]
    else:
        view["closed"] = {"how": what, **who}


def _check_digest(view: View, digest: str) -> None:
    if digest != view["digest"]:
        raise Refused(409, "digest-mismatch", "this approval is for another action", approval=view)


def _conflict(code: str, view: View) -> Refused:
    decided = view["decision"]
    stands = f"{decided['decision']} by {decided['by']}" if decided else "nobody decided it"
    return Refused(409, code, f"it is {view['state']} ({stands})", approval=view)
