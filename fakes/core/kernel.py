"""The kernel every fake provider is built on; the same one runs inside the simulation and behind a server.

Here: the order in which a request is treated, provider faults, late results, look-ups, and the common rules of doing
and undoing.
Never here: a network, a clock, or the rule of one provider (that is its `domain.py`).

The idea needed to read it: a provider's wrongs happen at two moments. DELIVERED is before anything was done,
COMMITTED is when all was done and nothing has been said. Between the two nothing else runs, so that check and commit
are one step. Time may pass inside the crossing itself, which is why deadline and key are looked at after DELIVERED
and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import ClassVar, NamedTuple

from fakes.core.endpoint import Arrival, At, Endpoint, Later, Record, refuse
from fakes.core.keys import Fingerprint, Keys, KeysState
from fakes.core.rows import NEVER, Row, Table, TableState, frozen
from harness.model.boundary import Phase, Purpose
from harness.model.cell import READ_LAG_NS, SECOND_NS, Cell, Late, Lookup
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import FoundRecord, Reply, Request

__all__ = ["OUTSIDE", "PENDING_NS", "ActionSpec", "Again", "At", "Change", "Later", "Provider", "Record"]

PENDING_NS = 60 * SECOND_NS
"""How long an accepted request stays pending."""
OUTSIDE = "outside"
"""The ownership marker of changes that none of our operations made."""

REFUSALS: dict[Fault, str] = {
    Fault.UNAVAILABLE: "unavailable",
    Fault.RATE_LIMITED: "rate-limited",
    Fault.DECLINED: "declined",
    Fault.REJECTS_DUPLICATE_KEY: "duplicate-key",
    Fault.KEY_REUSED: "key-reused",
    Fault.KEY_IN_USE: "key-in-use",
}
LOOKUP_REFUSALS: dict[Fault, str] = {
    Fault.LOOKUP_UNAVAILABLE: "unavailable",
    Fault.RATE_LIMITED: "rate-limited",
}
PENDING_FAULTS = (Fault.PENDING_THEN_SUCCEEDED, Fault.PENDING_THEN_FAILED)


class Again(StrEnum):
    """What a provider does when asked for the same thing once more, under another key or none."""

    NEW = "new"
    """Every request makes a new effect."""
    SAME = "same"
    """Set semantics: it stands already, so nothing changes, and the answer names what stands."""
    REFUSED = "refused"
    """The identity is taken: `already-exists`; for an undo `already-undone`."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action: the action it undoes, or None for a business action, and what happens when it comes again."""

    undoes: str | None
    again: Again


class Change(NamedTuple):
    """What a rule decided: `existing` names what stands already and nothing changes; otherwise a new row is written."""

    existing: str = ""
    undoes: str | None = None
    amount: int = 0


class Snapshot(NamedTuple):
    """A provider's state. The timers of pending rows are not in it: they are the rig's."""

    arrivals: int
    commits: int
    responses: int
    table: TableState
    keys: KeysState


_NEW_ROW = Change()


class Provider(Endpoint):
    """A fake external system. A subclass gives `name` and `actions`, and a rule of its own where it has one."""

    __slots__ = ("_declined", "_is_prompt", "_keys", "_lag_ns", "_table", "cell")

    actions: ClassVar[Mapping[str, ActionSpec]]

    def __init__(
        self,
        cell: Cell,
        *,
        now: Callable[[], int],
        record: Record,
        later: Later,
        declined: frozenset[str] = frozenset(),
    ) -> None:
        """`declined` are the ids of operations (`undo.` ids too) that are always refused for a business reason."""
        super().__init__(now=now, record=record, later=later)
        self.cell = cell
        self._declined = declined
        self._is_prompt = cell.late is Late.NO
        self._lag_ns = READ_LAG_NS if cell.lookup is Lookup.EVENTUAL else 0
        self._table = Table()
        self._keys = Keys(cell.key)

    # What a rig asks besides `handle`.

    def circumstances(self, request: Request) -> tuple[bool, bool]:
        """(the key was seen before, something stands): what an UNDO would undo, otherwise an effect of the action."""
        seen = self._keys.use_of(request.key, self._now()) is not None
        if request.purpose is Purpose.UNDO:
            return seen, self._standing_to_undo(request) is not None
        return seen, self._table.standing(request.action, request.target) is not None

    def external_undo(self, request: Request) -> bool:
        """An outside actor undoes, wholly, what this undo would. Was there anything? It counts as nobody's commit."""
        row = self._standing_to_undo(request)
        if row is None:
            return False
        named = {"reference": row.reference}
        outside = Request(self.name, request.action, Purpose.UNDO, OUTSIDE, request.target, named)
        change = self._undo(outside, row, self._now())
        reference = self._write(Arrival("", "", outside, 1), change, self._new_reference())
        self._record("drifted", "", {"provider": self.name, "target": request.target, "effect": reference})
        return True

    def snapshot(self) -> object:
        """All state now, as one hashable value."""
        return Snapshot(self.arrivals, self.commits, self.responses, self._table.snapshot(), self._keys.snapshot())

    def restore(self, snapshot: object) -> None:
        """Go back to a snapshot of this provider, which stays usable."""
        assert isinstance(snapshot, Snapshot), f"{self.name} cannot go back to {snapshot!r}"
        self.arrivals, self.commits, self.responses, table, keys = snapshot
        self._table.restore(table)
        self._keys.restore(keys)

    # The order of treatment.

    def _answer(self, arrival: Arrival, at: At) -> Reply:
        match arrival.request.purpose:
            case Purpose.EFFECT | Purpose.UNDO:
                return self._change(arrival, at)
            case Purpose.LOOKUP | Purpose.VERIFY:
                return self._observe(arrival.request, at)
            case other:
                raise ProviderFailure("invalid", f"{self.name} takes no request with purpose {other.value!r}")

    def _change(self, arrival: Arrival, at: At) -> Reply:
        request = arrival.request
        fault = at(Phase.DELIVERED)
        refuse(fault, REFUSALS)
        now_ns = self._now()
        if self._is_prompt and 0 < request.not_after_ns < now_ns:
            raise ProviderFailure("expired")
        fingerprint = (request.action, request.target, frozen(request))
        reply = self._keys.replay(request.key, fingerprint, now_ns)
        if reply is None:
            reply = self._execute(arrival, fingerprint, fault, now_ns)
        if at(Phase.COMMITTED) is Fault.ERROR_AFTER_COMMIT:
            raise ProviderFailure("internal-error")
        return reply

    def _execute(self, arrival: Arrival, fingerprint: Fingerprint, fault: Fault | None, now_ns: int) -> Reply:
        """Do what is asked, or what the fault makes of it, and keep the answer under the key."""
        key = arrival.request.key
        try:
            reply = self._perform(arrival, now_ns) if fault is None else self._misperform(arrival, fault, now_ns)
        except ProviderFailure as refusal:
            self._keys.keep_refusal(key, fingerprint, now_ns, refusal.code)
            raise
        self._keys.keep(key, fingerprint, now_ns, reply)
        return reply

    def _misperform(self, arrival: Arrival, fault: Fault, now_ns: int) -> Reply:
        if fault is Fault.FALSE_SUCCESS:
            return Reply(self._new_reference())
        if fault in PENDING_FAULTS:
            return Reply(self._accept(arrival, fault is Fault.PENDING_THEN_SUCCEEDED, now_ns), pending=True)
        return self._perform(arrival, now_ns)

    def _perform(self, arrival: Arrival, now_ns: int) -> Reply:
        change = self._apply(arrival.request, now_ns)
        if change.existing:
            return Reply(change.existing)
        self.commits += 1
        return Reply(self._write(arrival, change, self._new_reference()))

    def _observe(self, request: Request, at: At) -> Reply:
        """Only DELIVERED is crossed: nothing is done, so losing the answer is the same as losing the question."""
        fault = at(Phase.DELIVERED)
        refuse(fault, LOOKUP_REFUSALS)
        if fault is Fault.STALE_LOOKUP:
            return Reply()
        if fault is Fault.PARTIAL_LOOKUP:
            return Reply(complete=False)
        if self.cell.lookup is Lookup.ABSENT or request.action not in self.actions:
            raise ProviderFailure("invalid", f"{self.name} has no look-up of {request.action!r}")
        return Reply(found=self._visible(self._table.at(request.action, request.target)))

    def _visible(self, rows: list[Row]) -> tuple[FoundRecord, ...]:
        """The rows as this cell shows them now, in the given order."""
        horizon_ns = self._now() - self._lag_ns
        views = [row.seen_at(horizon_ns) for row in rows]
        return tuple([view for view in views if view is not None])

    # Rules. A provider overrides `_make` and `_undo`; which of them applies is read from its table of actions.

    def _apply(self, request: Request, now_ns: int) -> Change:
        """Decide by this provider's rule. Raises ProviderFailure, and then nothing was changed."""
        if request.operation in self._declined:
            raise ProviderFailure("declined")
        spec = self.actions.get(request.action)
        if spec is None:
            raise ProviderFailure("invalid", f"{self.name} has no action {request.action!r}")
        if spec.undoes is None:
            return self._make(request, spec.again)
        row = self._standing_to_undo(request)
        if row is None:
            raise self._nothing_to_undo(request, spec.undoes)
        return self._undo(request, row, now_ns)

    def _make(self, request: Request, again: Again) -> Change:
        """The rule of a business action. Raises ProviderFailure."""
        if again is Again.NEW:
            return _NEW_ROW
        row = self._table.standing(request.action, request.target)
        if row is None:
            return _NEW_ROW
        if again is Again.SAME and self._is_same(row, request):
            return Change(existing=row.reference)
        raise ProviderFailure("already-exists")

    def _is_same(self, row: Row, request: Request) -> bool:
        """Does the request ask for exactly what stands?"""
        return row.params == frozen(request)

    def _undo(self, request: Request, row: Row, now_ns: int) -> Change:
        """The rule of an undo, given the standing row it is for. Raises ProviderFailure."""
        self._table.put(row._replace(undone_ns=now_ns))
        return Change(undoes=row.reference)

    def _undo_choices(self, request: Request, action: str) -> Iterator[Row]:
        """Rows of `action` at the request's target, oldest first; only the one named, if it names a `reference`."""
        wanted = request.params.get("reference")
        return (row for row in self._table.at(action, request.target) if wanted is None or row.reference == wanted)

    def _standing_to_undo(self, request: Request) -> Row | None:
        spec = self.actions.get(request.action)
        if spec is None or spec.undoes is None:
            return None
        return next((row for row in self._undo_choices(request, spec.undoes) if row.is_standing), None)

    def _nothing_to_undo(self, request: Request, action: str) -> ProviderFailure:
        was_undone = any(row.undone_ns != NEVER for row in self._undo_choices(request, action))
        return ProviderFailure("already-undone" if was_undone else "not-found")

    # Commit, at once or later.

    def _new_reference(self) -> str:
        """A fresh reference, which is also the effect's id if it becomes one. Equal in equal runs."""
        return f"{self.name}-{self._table.number()}"

    def _accept(self, arrival: Arrival, will_succeed: bool, now_ns: int) -> str:
        """Accept a request whose result comes later. Returns the reference under which it is pending."""
        # The request outlives the call that brought it, so its parameters must not be the caller's any more.
        request = arrival.request._replace(params=dict(arrival.request.params))
        reference = self._new_reference()
        self._table.put(_row(reference, request, _NEW_ROW, now_ns))
        self._later(PENDING_NS, partial(self._settle, arrival._replace(request=request), reference, will_succeed))
        return reference

    def _settle(self, arrival: Arrival, reference: str, will_succeed: bool) -> None:
        """The result of an accepted request: it becomes an effect if the rule lets it now, or vanishes."""
        row = self._table.get(reference)
        if row is None or not row.is_pending:
            return  # A timer of a past that a restore took back.
        change = self._try_apply(arrival.request) if will_succeed else None
        if change is None or change.existing:
            self._table.put(row._replace(gone_ns=self._now()))
            return
        self.commits += 1
        self._write(arrival, change, reference)

    def _try_apply(self, request: Request) -> Change | None:
        try:
            return self._apply(request, self._now())
        except ProviderFailure:
            return None  # Nobody waits for an answer any more: a refusal shows as the record's absence.

    def _write(self, arrival: Arrival, change: Change, reference: str) -> str:
        """Write the row, new or pending until now, as an effect, and record it. Returns its reference."""
        call, where, request, delivery = arrival
        now_ns = self._now()
        accepted = self._table.get(reference)
        assert accepted is None or accepted.is_pending, f"{reference} was settled before"
        made_ns = now_ns if accepted is None else accepted.made_ns
        self._table.put(_row(reference, request, change, made_ns, now_ns))
        effect = {
            "effect": reference,
            "provider": self.name,
            "action": request.action,
            "target": request.target,
            "operation": request.operation,
            "key": request.key,
            "call": call,
            "delivery": delivery,
            "undoes": change.undoes,
        }
        self._record("effect", where, effect)
        return reference


def _row(reference: str, request: Request, change: Change, made_ns: int, settled_ns: int = NEVER) -> Row:
    return Row(
        reference,
        request.action,
        request.target,
        request.operation,
        frozen(request),
        change.undoes,
        change.amount,
        made_ns,
        settled_ns,
    )
