"""Two ledgers side by side, built in one pass over a history: what the candidate claims, and what the world saw.

Here: the rows, the folds that write them, and the few questions every guarantee asks of them. Never here: a rule.
Rows are named tuples since a run has hundreds of events and a campaign hundreds of thousands of runs. Every row carries
the index of its event (`at`), which is what a witness is made of. Which operation an effect belongs to is read off the
scenario's own targets, never off the marker or key the candidate sent: a wrong request must not vouch for itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.model.boundary import UNDO_PREFIX, WORKFLOW_SUBJECT
from harness.model.cell import Cell
from harness.model.errors import Certainty, certainty_of
from harness.model.event import Event, History
from harness.model.lifecycle import SETTLED_WITH_EFFECT, Resolution, State
from harness.model.workflow import Operation, Scenario

END = sys.maxsize
"""A moment after every event."""
NOBODY = ""
"""The owner of an effect that matches no operation of the workflow."""

_row = tuple.__new__
"""Makes a named tuple without its constructor, which costs three times as much."""
_CHANGING = frozenset({"effect", "undo"})
_OBSERVING = frozenset({"lookup", "verify"})


class CallRow(NamedTuple):
    """One request that left its caller. `subject` is the operation its target belongs to, `operation` the one it
    names.
    """

    at: int
    time_ns: int
    worker: str
    where: str
    call: str
    subject: str
    operation: str
    purpose: str
    provider: str
    action: str
    target: str
    key: str
    not_after_ns: int
    approval: str


class SawRow(NamedTuple):
    """What the caller saw of its call. `certain`: it was ok, or an error that by the table proves that nothing
    happened.
    """

    at: int
    outcome: str
    code: str
    certain: bool
    pending: bool
    found: Sequence[Sequence[Any]]
    complete: bool


class EffectRow(NamedTuple):
    """One change of the world. `call` is "" for an outsider's; `subject` the operation it belongs to, or NOBODY."""

    at: int
    time_ns: int
    effect: str
    subject: str
    operation: str
    call: str
    delivery: int
    undoes: str | None


class ClaimRow(NamedTuple):
    """One sentence of the candidate's durable ledger."""

    at: int
    subject: str
    state: str
    was: str
    resolution: str


class AuditRow(NamedTuple):
    """The ledger at the end of a run that was not cut short."""

    at: int
    workflow: str
    operations: Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Ledgers:
    """Both ledgers of one run, and the scenario they are read against. Written by `read_ledgers` only; every list is
    in event order.
    """

    operations: dict[str, Operation]
    owners: dict[tuple[str, str, str], str]
    cells: Mapping[str, Cell]
    level: int
    events: Sequence[Event]
    cut_short: str
    calls: dict[str, CallRow] = field(default_factory=dict)
    sends: dict[str, list[CallRow]] = field(default_factory=dict)
    """Subject -> its calls that change the world; those that match no operation stand under NOBODY."""
    observations: dict[str, list[CallRow]] = field(default_factory=dict)
    """Operation id -> look-ups and verifications of it or of its undo."""
    saw: dict[str, SawRow] = field(default_factory=dict)
    answers: dict[str, list[int]] = field(default_factory=dict)
    """Operation id -> indices at which an ok answer or an ok observation of it or of its undo was seen."""
    timeouts: list[tuple[SawRow, CallRow]] = field(default_factory=list)
    effects: list[EffectRow] = field(default_factory=list)
    effects_of: dict[str, list[EffectRow]] = field(default_factory=dict)
    undone: dict[str, EffectRow] = field(default_factory=dict)
    """Effect id -> the first effect that undid it."""
    caused: dict[str, EffectRow] = field(default_factory=dict)
    """Call -> the first effect it caused."""
    claims: list[ClaimRow] = field(default_factory=list)
    claims_of: dict[str, list[ClaimRow]] = field(default_factory=dict)
    alerts: list[tuple[int, str]] = field(default_factory=list)
    approvals: list[Event] = field(default_factory=list)
    deaths: list[int] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    """Worker -> the event at which its lease was lost."""
    fenced_writes: list[tuple[int, str]] = field(default_factory=list)
    """Ledger writes of workers whose lease was lost before."""
    dead_calls: list[tuple[int, str]] = field(default_factory=list)
    cancelled: int | None = None
    fired: dict[str, list[str]] = field(default_factory=dict)
    """Boundary -> the faults that fired there."""
    is_quiet: bool = False
    audit: AuditRow | None = None

    def stands_at(self, effect: EffectRow, index: int) -> bool:
        """Had this effect happened, and was it not undone, just before event `index`?"""
        undo = self.undone.get(effect.effect)
        return effect.at < index and (undo is None or undo.at >= index)

    def standing(self, subject: str, index: int = END) -> list[EffectRow]:
        """The effects of `subject` that stand just before event `index`."""
        return [effect for effect in self.effects_of.get(subject, ()) if self.stands_at(effect, index)]

    def latest(self, subject: str, index: int = END) -> ClaimRow | None:
        """The last claim about `subject` before event `index`."""
        for claim in reversed(self.claims_of.get(subject, ())):
            if claim.at < index:
                return claim
        return None

    def is_open(self, call: CallRow, index: int) -> bool:
        """Just before event `index`, had the caller seen nothing of this call that proves what became of it?"""
        saw = self.saw.get(call.call)
        return saw is None or saw.at >= index or not saw.certain

    def outside_undo(self, operation: str, after: int = -1, before: int = END) -> EffectRow | None:
        """The effect by which an outside actor undid this operation between two events, if there is one."""
        for effect in self.effects_of.get(operation, ()):
            undo = self.undone.get(effect.effect)
            if undo is not None and not undo.call and after < undo.at < before:
                return undo
        return None


def base(subject: str) -> str:
    """The operation a subject is about: of `undo.x` it is `x`."""
    return subject.removeprefix(UNDO_PREFIX)


def is_undo(subject: str) -> bool:
    return subject.startswith(UNDO_PREFIX)


def is_committed(state: str, resolution: str) -> bool:
    """Does the ledger say: it is done, and it has been observed?"""
    return state == State.VERIFIED or (state == State.RECONCILED and resolution == Resolution.COMMITTED)


def effects_promised(state: str, resolution: str) -> int | None:
    """How many standing effects a state says there are: 1, 0, or None where it leaves that open."""
    if state in SETTLED_WITH_EFFECT or (state == State.RECONCILED and resolution == Resolution.COMMITTED):
        return 1
    if state in (State.PREPARED, State.COMPENSATED):
        return 0
    return 0 if state == State.RECONCILED and resolution == Resolution.NOT_COMMITTED else None


def read_ledgers(history: History, scenario: Scenario, cell: Cell | None = None) -> Ledgers:
    """Both ledgers of a run. `cell` replaces every provider's, as a schedule may. Raises KeyError on events of
    another shape.
    """
    cells = scenario.cells if cell is None else dict.fromkeys(scenario.cells, cell)
    operations = {op.id: op for op in scenario.workflow.operations}
    ledgers = Ledgers(
        operations, _owners(operations), cells, int(history.header.traits["level"]), history.events, history.cut_short
    )
    fold_of = FOLDS.get
    for event in history.events:
        fold = fold_of(event[3])
        if fold is not None:
            fold(ledgers, event)
    return ledgers


def _owners(operations: Mapping[str, Operation]) -> dict[tuple[str, str, str], str]:
    owners = {(op.provider, op.action, op.target): op.id for op in operations.values()}
    for op in operations.values():
        if op.undo is not None:
            owners.setdefault((op.provider, op.undo, op.target), op.undo_id)
    return owners


def _sent(ledgers: Ledgers, event: Event) -> None:
    at, time_ns, worker, _, where, data = event
    provider, action, target = data["provider"], data["action"], data["target"]
    subject = ledgers.owners.get((provider, action, target), NOBODY)
    purpose, get = data["purpose"], data.get
    row = _row(CallRow, (
        at, time_ns, worker, where, data["call"], subject, get("operation", ""), purpose,
        provider, action, target, get("key", ""), get("not_after", 0), get("approval", ""),
    ))  # fmt: skip
    ledgers.calls[row.call] = row
    if purpose in _CHANGING:
        ledgers.sends.setdefault(subject, []).append(row)
    elif purpose in _OBSERVING and subject:
        ledgers.observations.setdefault(base(subject), []).append(row)


def _saw(ledgers: Ledgers, event: Event) -> None:
    data = event.data
    call = ledgers.calls.get(data["call"])
    if call is None:
        return  # Refused by its own client before anything left: nothing was sent, so nothing can be in doubt.
    outcome, code, pending = data["outcome"], data.get("code", ""), bool(data.get("pending"))
    is_answered = outcome == "ok" and not pending
    certain = is_answered or (outcome == "definite" and certainty_of(code) is Certainty.DEFINITE)
    row = _row(
        SawRow, (event.index, outcome, code, certain, pending, data.get("found") or (), data.get("complete", True))
    )
    ledgers.saw[call.call] = row
    if is_answered and call.subject:
        ledgers.answers.setdefault(base(call.subject), []).append(event.index)
    elif code == "timeout" and call.purpose in _CHANGING:
        ledgers.timeouts.append((row, call))


def _effect(ledgers: Ledgers, event: Event) -> None:
    data = event.data
    call, undoes = data["call"], data.get("undoes")
    # An outside actor's effect may undo one, but belongs to nobody whatever its target.
    subject = ledgers.owners.get((data["provider"], data["action"], data["target"]), NOBODY) if call else NOBODY
    row = EffectRow(
        event.index, event.time_ns, data["effect"], subject, data["operation"], call, data.get("delivery", 1), undoes
    )
    ledgers.effects.append(row)
    ledgers.effects_of.setdefault(subject, []).append(row)
    ledgers.caused.setdefault(call, row)
    if undoes is not None:
        ledgers.undone.setdefault(undoes, row)


def _claimed(ledgers: Ledgers, event: Event) -> None:
    data = event.data
    subject = data["subject"]
    row = _row(ClaimRow, (event.index, subject, data["to"], data.get("was", ""), data.get("resolution", "")))
    ledgers.claims.append(row)
    ledgers.claims_of.setdefault(subject, []).append(row)


def _wrote(ledgers: Ledgers, event: Event) -> None:
    if event.actor in ledgers.lost:
        ledgers.fenced_writes.append((event.index, event.actor))


def _lease_lost(ledgers: Ledgers, event: Event) -> None:
    ledgers.lost.setdefault(event.actor, event.index)


def _dead_call(ledgers: Ledgers, event: Event) -> None:
    ledgers.dead_calls.append((event.index, event.actor))


def _died(ledgers: Ledgers, event: Event) -> None:
    ledgers.deaths.append(event.index)


def _alerted(ledgers: Ledgers, event: Event) -> None:
    ledgers.alerts.append((event.index, event.data["subject"]))


def _approval(ledgers: Ledgers, event: Event) -> None:
    ledgers.approvals.append(event)


def _cancelled(ledgers: Ledgers, event: Event) -> None:
    if ledgers.cancelled is None:
        ledgers.cancelled = event.index


def _fired(ledgers: Ledgers, event: Event) -> None:
    ledgers.fired.setdefault(event.where, []).append(event.data["fault"])


def _settled(ledgers: Ledgers, event: Event) -> None:
    ledgers.is_quiet = bool(event.data["quiet"])


def _audited(ledgers: Ledgers, event: Event) -> None:
    # A run that was cut short may have been about to repair what its audit shows: such an audit proves nothing.
    if not ledgers.cut_short:
        ledgers.audit = AuditRow(event.index, event.data["workflow"], event.data["operations"])


FOLDS: dict[str, Callable[[Ledgers, Event], None]] = {
    "call-sent": _sent,
    "caller-saw": _saw,
    "effect": _effect,
    "claimed": _claimed,
    "wrote": _wrote,
    "lease-lost": _lease_lost,
    "dead-call": _dead_call,
    "worker-died": _died,
    "alerted": _alerted,
    "approval-granted": _approval,
    "approval-denied": _approval,
    "approval-revoked": _approval,
    "approval-consumed": _approval,
    "cancelled": _cancelled,
    "fault-fired": _fired,
    "settled": _settled,
    "audited": _audited,
}
"""Event kind -> what it writes. Kinds that no guarantee reads are not here."""

assert WORKFLOW_SUBJECT != NOBODY
