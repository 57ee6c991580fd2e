"""The facts of one history, indexed: which call belongs to whom, what became of it, and how much each event matters.

Here: lookups and the weights by which stories and pictures choose. Never here: words or drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.model.boundary import OBSERVING, UNDO_PREFIX, Purpose
from harness.model.errors import ERRORS
from harness.model.event import Event
from harness.model.lifecycle import TERMINALS, UNRESOLVED, State
from harness.model.verdict import Outcome, Verdict
from harness.report import words

NEVER = 99
"""The weight of events that are not told at all: the machinery of a run."""
WITNESS = 0
_ELSEWHERE = 3
"""Added for events about another operation than the one in question."""
_WEIGHTS: dict[str, int] = {
    "fault-fired": 0, "effect": 1, "worker-died": 1, "lease-lost": 1, "drifted": 1, "cancelled": 1, "clock-jumped": 1,
    "worker-paused": 2, "worker-resumed": 2, "alerted": 2, "dead-call": 2, "call-sent": 2, "worker-started": 3,
    "approval-requested": 3, "approval-granted": 3, "approval-denied": 2, "approval-revoked": 2, "approval-consumed": 3,
    "audited": 3, "submitted": 4, "caller-saw": 4, "claimed": 4, "arrived": 6, "settled": 6, "responded": 7,
    "worker-finished": 7,
}  # fmt: skip
_ECHOES = {
    "crash": "worker-died",
    "cancel": "cancelled",
    "clock-jump": "clock-jumped",
    "zombie-worker": "worker-paused",
    "lease-lost-in-reconciliation": "worker-paused",
    "external-change": "drifted",
    "approval-denied": "approval-denied",
    "approval-revoked": "approval-revoked",
}
_SAID_ALOUD = {State.VERIFIED, State.COMPENSATED, State.RECONCILED, State.IRREVERSIBLE_EFFECT, *UNRESOLVED, *TERMINALS}


@dataclass(frozen=True, slots=True)
class Call:
    """One call and what became of it.

    `arrived`, `effects` and `answers` are in order and may be empty; `saw` is None if nobody was left.
    """

    sent: Event
    arrived: tuple[Event, ...]
    effects: tuple[Event, ...]
    answers: tuple[Event, ...]
    saw: Event | None

    @property
    def provider(self) -> str:
        return str(self.sent.data.get("provider", ""))

    @property
    def answer_came(self) -> bool:
        """Did the caller get an answer from the provider, of whatever content?"""
        if self.saw is None:
            return False
        spec = ERRORS.get(str(self.saw.data.get("code", "")))
        return spec is None or spec.status > 0


@dataclass(frozen=True, slots=True)
class Facts:
    """Index over a history's events. `nth` gives, for an effect's event index, how many alike had been seen with it."""

    events: Sequence[Event]
    calls: Mapping[str, Call]
    nth: Mapping[int, int]
    busy: frozenset[str]
    """Actors that called somebody: others came, found nothing to do and went."""
    undone: frozenset[str]

    @classmethod
    def of(cls, events: Sequence[Event]) -> Facts:
        undone = frozenset(str(e.data["undoes"]) for e in events if e.kind == "effect" and e.data.get("undoes"))
        busy = frozenset(e.actor for e in events if e.kind == "call-sent")
        return cls(events, _calls(events), _ordinals(events), busy, undone)

    def call_of(self, event: Event) -> Call | None:
        """The call this event belongs to; for faults by the place they struck."""
        return self.calls.get(call_id(event))

    def change(self, effect: Event) -> str:
        """What an effect did: `charged ORD-1 a second time`."""
        nth = self.nth.get(effect.index, 1)
        return f"{words.past(str(effect.data.get('action', '')))} {effect.data.get('target', '')}{words.again(nth)}"

    def provider_of(self, event: Event) -> str:
        call = self.call_of(event)
        return str(event.data.get("provider") or (call.provider if call else "") or event.actor)

    def operation_of(self, event: Event) -> str:
        """The operation (or `undo.` id, or `workflow`) the event is about, or ""."""
        named = event.data.get("operation") or event.data.get("subject")
        call = self.call_of(event)
        if named or call is None:
            return str(named or _subject(event.where))
        return str(call.sent.data.get("operation", ""))


def call_id(event: Event) -> str:
    """The path of the call an event belongs to, or ""."""
    if event.data.get("call"):
        return str(event.data["call"])
    if event.kind in ("call-sent", "arrived", "responded", "caller-saw"):
        return event.where
    return event.where.rpartition("/")[0] if words.boundary_or_none(event.where) else ""


def said(audited: object) -> str:
    """State and resolution of one operation in the final audit, which gives them as a mapping or as a pair."""
    if isinstance(audited, Mapping):
        audited = (audited.get("state", ""), audited.get("resolution", ""))
    return " ".join(str(part) for part in audited if part) if isinstance(audited, (list, tuple)) else str(audited)


def echoes(events: Iterable[Event]) -> frozenset[int]:
    """Indices of events that only say again what a fault just said: a crash and the death it is, for instance."""
    found: set[int] = set()
    last: Event | None = None
    for event in events:
        if event.kind == "fault-fired":
            last = event
        elif last and event.time_ns == last.time_ns and _ECHOES.get(str(last.data.get("fault"))) == event.kind:
            found.add(event.index)
    return frozenset(found)


def subjects_of(verdicts: Iterable[Verdict], fallback: str = "") -> frozenset[str]:
    """The operations the verdicts are about, each with its undo; the fallback when they name none."""
    named = {v.subject for v in verdicts if v.outcome is not Outcome.HOLDS and v.subject} or {fallback}
    bare = {name.removeprefix(UNDO_PREFIX) for name in named if name}
    return frozenset(bare | {UNDO_PREFIX + name for name in bare})


def weight(event: Event, facts: Facts, subjects: frozenset[str], witness: frozenset[int]) -> int:
    """How much an event matters for the verdicts in question: 0 most, NEVER not at all."""
    if event.index in witness or (event.kind == "run-ended" and event.data.get("cut_short")):
        return WITNESS
    base = _base(event, facts)
    if base in (0, NEVER):
        return base
    if event.kind == "call-sent" and _caused(facts.call_of(event), witness):
        return 1
    about = facts.operation_of(event)
    return (
        base
        + (1 if event.kind == "claimed" and about == "workflow" else 0)
        + (_ELSEWHERE if about and about not in subjects and about != "workflow" else 0)
    )


def _base(event: Event, facts: Facts) -> int:
    purpose = _purpose(facts.call_of(event))
    if event.kind == "caller-saw":
        return 1 if event.data.get("outcome") == "indefinite" else 2 if purpose in OBSERVING else 4
    if event.kind == "call-sent" and purpose in OBSERVING:
        return 4
    if event.kind == "claimed" and event.data.get("to") in _SAID_ALOUD:
        return 2
    if event.kind == "arrived" and event.data.get("delivery", 1) > 1:
        return 2
    if event.kind == "worker-started" and event.data.get("verb") == "recover":
        return 2 if event.actor in facts.busy else 5
    return _WEIGHTS.get(event.kind, NEVER)


def _caused(call: Call | None, witness: frozenset[int]) -> bool:
    """Is an effect of this call among the witness? Then who asked for it matters as much."""
    return call is not None and any(effect.index in witness for effect in call.effects)


def _purpose(call: Call | None) -> Purpose | None:
    return Purpose(call.sent.data["purpose"]) if call and "purpose" in call.sent.data else None


def _calls(events: Sequence[Event]) -> dict[str, Call]:
    parts: dict[str, dict[str, list[Event]]] = {}
    for event in events:
        if event.kind in ("call-sent", "arrived", "effect", "responded", "caller-saw"):
            parts.setdefault(call_id(event), {}).setdefault(event.kind, []).append(event)
    return {name: _call(found) for name, found in parts.items() if name and "call-sent" in found}


def _call(found: Mapping[str, list[Event]]) -> Call:
    saw = found.get("caller-saw")
    arrived, effects, answers = (tuple(found.get(kind, ())) for kind in ("arrived", "effect", "responded"))
    return Call(found["call-sent"][0], arrived, effects, answers, saw[0] if saw else None)


def _ordinals(events: Sequence[Event]) -> dict[int, int]:
    seen: dict[tuple[object, ...], int] = {}
    nth: dict[int, int] = {}
    for event in events:
        if event.kind == "effect":
            alike = tuple(event.data.get(name) for name in ("provider", "action", "target"))
            nth[event.index] = seen[alike] = seen.get(alike, 0) + 1
    return nth


def _subject(where: str) -> str:
    parts = where.split("/")
    return parts[1] if len(parts) in (3, 4) else where
