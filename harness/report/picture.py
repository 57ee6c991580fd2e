"""The time-space picture of a run as a value: lanes, rows in event order, marks, arrows. Drawn by `svg`, told by
`markdown`.

Here: choosing what is drawn (at most ITEMS_MAX events; a call is drawn whole or not at all) and where it stands. Never
here: pixels. A message that was lost is an arrow that ends half-way. The first broken moment is the earliest event at
which a violation is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.model.event import Event
from harness.model.fault import FAULTS, Family, Fault
from harness.model.verdict import Outcome, Verdict
from harness.report import words
from harness.report.facts import NEVER, Call, Facts, call_id, subjects_of, weight
from harness.report.story import sentence

ITEMS_MAX = 60
LABEL_CHARS_MAX = 30


class LaneKind(StrEnum):
    WORKER = "worker"
    LEDGER = "ledger"
    PROVIDER = "provider"
    PEOPLE = "people"
    NONE = "none"
    """The whole width: something that concerns everybody."""


class Shape(StrEnum):
    SEND = "send"
    SAW = "saw"
    ARRIVED = "arrived"
    EFFECT = "effect"
    UNDO = "undo"
    CLAIM = "claim"
    FAULT = "fault"
    DEATH = "death"
    NOTE = "note"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Lane:
    """One vertical line. The order is workers, ledger, providers, people."""

    name: str
    kind: LaneKind


@dataclass(frozen=True, slots=True)
class Mark:
    """One drawn event. `lane` is None for what concerns everybody; `doubt` marks an outcome that was left open."""

    event: int
    row: int
    lane: int | None
    shape: Shape
    label: str
    told: str
    time: str
    doubt: bool = False
    witness: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """One message from a lane and row to another. A lost one never arrives: its end is where it would have gone."""

    lane: int
    row: int
    to_lane: int
    to_row: int
    label: str
    lost: bool
    answer: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """What is to be drawn. `gaps` are (row, count): so many tellable events were left out before this row."""

    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    arrows: tuple[Arrow, ...]
    gaps: tuple[tuple[int, int], ...]
    broken_row: int | None
    elided: int


def draw(events: Sequence[Event], verdicts: Sequence[Verdict], items_max: int = ITEMS_MAX) -> Picture:
    """The picture of a history, seen with the eyes of these verdicts."""
    facts = Facts.of(events)
    kept, elided = _keep(facts, verdicts, items_max)
    rows = {event.index: row for row, event in enumerate(kept)}
    lanes = _lanes(facts, kept)
    witness = frozenset(index for verdict in verdicts for index in verdict.witness)
    marks = tuple(_mark(event, rows[event.index], lanes, facts, event.index in witness) for event in kept)
    arrows = tuple(arrow for call in facts.calls.values() for arrow in _arrows(call, rows, lanes, facts))
    return Picture(lanes, marks, arrows, _gaps(facts, kept), _broken(verdicts, rows), elided)


def _keep(facts: Facts, verdicts: Sequence[Verdict], items_max: int) -> tuple[list[Event], int]:
    """The events drawn, in order, and how many tellable ones are not.

    Whole calls go in by the weight of their weightiest event.
    """
    bad = [v for v in verdicts if v.outcome is not Outcome.HOLDS]
    subjects, witness = subjects_of(bad), frozenset(index for verdict in bad for index in verdict.witness)
    units: dict[str, list[Event]] = {}
    ranks: dict[str, int] = {}
    for event in facts.events:
        rank = weight(event, facts, subjects, witness)
        if rank < NEVER:
            name = _unit(event, facts)
            units.setdefault(name, []).append(event)
            ranks[name] = min(rank, ranks.get(name, NEVER))
    kept: list[Event] = []
    for name in sorted(units, key=ranks.__getitem__):
        if len(kept) + len(units[name]) <= items_max:
            kept += units[name]
    return sorted(kept, key=lambda event: event.index), sum(map(len, units.values())) - len(kept)


def _unit(event: Event, facts: Facts) -> str:
    belongs = (
        event.kind in ("call-sent", "arrived", "effect", "responded", "caller-saw") and call_id(event) in facts.calls
    )
    return call_id(event) if belongs else f"#{event.index}"


def _gaps(facts: Facts, kept: Sequence[Event]) -> tuple[tuple[int, int], ...]:
    """Rows before which tellable events were left out."""
    rows = {event.index: row for row, event in enumerate(kept)}
    gaps: list[tuple[int, int]] = []
    skipped = 0
    for event in facts.events:
        if event.index in rows:
            if skipped:
                gaps.append((rows[event.index], skipped))
            skipped = 0
        elif weight(event, facts, frozenset(), frozenset()) < NEVER:
            skipped += 1
    return (*gaps, (len(kept), skipped)) if skipped else tuple(gaps)


def _broken(verdicts: Sequence[Verdict], rows: dict[int, int]) -> int | None:
    complete = [max(v.witness) for v in verdicts if v.outcome is Outcome.VIOLATED and v.witness]
    return rows.get(min(complete)) if complete else None


def _lanes(facts: Facts, kept: Sequence[Event]) -> tuple[Lane, ...]:
    """The lanes of what is drawn, and of the providers that were called though nothing reached them."""
    called = [call for event in kept if event.kind == "call-sent" and (call := facts.call_of(event))]
    found = [*(_lane(event, facts) for event in kept), *(Lane(call.provider, LaneKind.PROVIDER) for call in called)]
    order = list(LaneKind)
    return tuple(
        sorted((lane for lane in dict.fromkeys(found) if lane != _EVERYBODY), key=lambda lane: order.index(lane.kind))
    )


_LEDGER = Lane("ledger", LaneKind.LEDGER)
_PEOPLE = Lane("people", LaneKind.PEOPLE)
_EVERYBODY = Lane("", LaneKind.NONE)
_PEOPLES_KINDS = (
    "cancelled", "alerted", "approval-requested", "approval-granted", "approval-denied", "approval-revoked",
)  # fmt: skip


def _lane(event: Event, facts: Facts) -> Lane:
    """Where an event is drawn."""
    if event.kind == "fault-fired":
        return _fault_lane(event, facts)
    if event.kind in ("arrived", "effect", "responded", "drifted"):
        return Lane(facts.provider_of(event), LaneKind.PROVIDER)
    if event.kind in ("claimed", "wrote"):
        return _LEDGER
    if event.kind in _PEOPLES_KINDS:
        return _PEOPLE
    works = event.kind in ("call-sent", "caller-saw", "lease-lost", "dead-call") or event.kind.startswith("worker-")
    return Lane(event.actor, LaneKind.WORKER) if works else _EVERYBODY


def _fault_lane(event: Event, facts: Facts) -> Lane:
    """A crash strikes its worker, a decision its person, a store the ledger.

    The rest strikes the provider's side of the call.
    """
    call = facts.call_of(event)
    name = str(event.data.get("fault", ""))
    family = FAULTS[Fault(name)].family if name in {f.value for f in Fault} else Family.MESSAGE
    if family is Family.STORE:
        return _LEDGER
    if family is Family.CONTROL:
        return _PEOPLE
    if call is None:
        return _EVERYBODY
    return (
        Lane(call.sent.actor, LaneKind.WORKER)
        if family in (Family.CRASH, Family.LEASE)
        else Lane(call.provider, LaneKind.PROVIDER)
    )


def _mark(event: Event, row: int, lanes: tuple[Lane, ...], facts: Facts, witness: bool) -> Mark:
    lane = _lane(event, facts)
    return Mark(
        event.index,
        row,
        lanes.index(lane) if lane in lanes else None,
        _shape(event, lane),
        _short(_label(event, facts)),
        f"{words.seconds(event.time_ns).strip()} {sentence(event, facts)}",
        words.seconds(event.time_ns).strip(),
        doubt=event.data.get("outcome") == "indefinite",
        witness=witness,
    )


_SHAPES = {
    "call-sent": Shape.SEND, "caller-saw": Shape.SAW, "arrived": Shape.ARRIVED, "responded": Shape.ARRIVED,
    "effect": Shape.EFFECT, "drifted": Shape.EFFECT, "claimed": Shape.CLAIM, "fault-fired": Shape.FAULT,
    "worker-died": Shape.DEATH,
}  # fmt: skip


def _shape(event: Event, lane: Lane) -> Shape:
    if event.kind == "effect" and event.data.get("undoes"):
        return Shape.UNDO
    return _SHAPES.get(event.kind, Shape.RULE if lane.kind is LaneKind.NONE else Shape.NOTE)


def _label(event: Event, facts: Facts) -> str:
    data = event.data
    match event.kind:
        case "call-sent":
            return f"{words.imperative(str(data.get('action', '')))}, {words.step(event.where.split('/')[-1])}"
        case "caller-saw":
            return "done" if data.get("outcome") == "ok" and "found" not in data else _seen(event)
        case "arrived":
            return "" if data.get("delivery", 1) == 1 else "a second copy"
        case "responded":
            return "" if data.get("code") == "ok" else str(data.get("code", ""))
        case "effect":
            return facts.change(event)
        case "claimed":
            return f"{data.get('subject', '')}: {data.get('to', '')}"
        case "fault-fired":
            return str(data.get("fault", ""))
        case _:
            return _NOTES.get(event.kind, event.kind.replace("-", " "))


_NOTES = {
    "worker-started": "starts", "worker-finished": "nothing more to do", "worker-died": "dies",
    "worker-paused": "stands still", "worker-resumed": "goes on", "lease-lost": "lease lost",
    "dead-call": "acts although dead", "alerted": "called by the ledger", "submitted": "workflow submitted",
    "cancelled": "cancels the intent", "settled": "recovery is done", "clock-jumped": "time jumps",
    "drifted": "changed from outside", "audited": "the ledger's last word", "run-ended": "run ends",
    "approval-requested": "approval asked for", "approval-granted": "approves", "approval-denied": "denies",
    "approval-revoked": "takes approval back", "approval-consumed": "approval spent",
}  # fmt: skip


def _seen(event: Event) -> str:
    if event.data.get("outcome") != "ok":
        return str(event.data.get("code", ""))
    found = event.data.get("found")
    count = len(found) if isinstance(found, (list, tuple)) else found
    return f"found {count or 'nothing'}" + ("" if event.data.get("complete", True) else " (incomplete)")


def _short(label: str) -> str:
    return label if len(label) <= LABEL_CHARS_MAX else label[: LABEL_CHARS_MAX - 1] + "…"


def _arrows(call: Call, rows: dict[int, int], lanes: tuple[Lane, ...], facts: Facts) -> list[Arrow]:
    """The request, one arrow per copy that arrived, and the answer. Nothing for a call that is not drawn."""
    if call.sent.index not in rows:
        return []
    caller = lanes.index(_lane(call.sent, facts))
    provider = lanes.index(Lane(call.provider, LaneKind.PROVIDER))
    start, there = rows[call.sent.index], [*call.arrived, *call.effects, *call.answers]
    name = words.imperative(str(call.sent.data.get("action", "")))
    if not there:
        return [Arrow(caller, start, provider, start + 1, name, True, False)]
    copies = call.arrived or (min(there, key=lambda event: event.index),)
    request = [Arrow(caller, start, provider, rows[copy.index], name, False, False) for copy in copies]
    return [*request, *_answer(call, caller, provider, rows, there)]


def _answer(call: Call, caller: int, provider: int, rows: dict[int, int], there: list[Event]) -> list[Arrow]:
    said = max(call.answers or there, key=lambda event: event.index)
    code = str(call.answers[-1].data.get("code", "")) if call.answers else "answer"
    if call.answer_came and call.saw and call.saw.index > said.index:
        return [Arrow(provider, rows[said.index], caller, rows[call.saw.index], code, False, True)]
    answered = bool(call.answers or call.effects)
    return [Arrow(provider, rows[said.index], caller, rows[said.index] + 1, code, True, True)] if answered else []
