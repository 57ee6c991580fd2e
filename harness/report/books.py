"""Claims beside effects.

Per operation, what the ledger says and what the world has. Here: values. Never here: judging or markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from harness.model.boundary import UNDO_PREFIX
from harness.model.event import Event
from harness.report import words
from harness.report.facts import Facts, said

_T = TypeVar("_T")

LINES_MAX = 14
"""Most claims, and most effects, shown of one operation."""


@dataclass(frozen=True, slots=True)
class ClaimLine:
    time: str
    subject: str
    state: str


@dataclass(frozen=True, slots=True)
class EffectLine:
    """One change of the world; `stands` is False when it was undone since."""

    time: str
    effect: str
    what: str
    stands: bool


@dataclass(frozen=True, slots=True)
class Books:
    """Both books of one operation and its undo.

    `last_word` is the final audit's state, "" without one; `*_left_out` count the rest.
    """

    operation: str
    claims: tuple[ClaimLine, ...]
    claims_left_out: int
    effects: tuple[EffectLine, ...]
    effects_left_out: int
    last_word: str
    standing: int
    in_question: bool


def open_books(events: Sequence[Event], subjects: frozenset[str]) -> tuple[Books, ...]:
    """The books of every operation the history names, those in question first."""
    facts = Facts.of(events)
    names = dict.fromkeys(
        facts.operation_of(e).removeprefix(UNDO_PREFIX) for e in events if e.kind in ("claimed", "effect", "call-sent")
    )
    books = [_books(name, facts, name in subjects) for name in names if name and name != "workflow"]
    return tuple(sorted(books, key=lambda book: not book.in_question))


def _books(name: str, facts: Facts, in_question: bool) -> Books:
    own = [e for e in facts.events if facts.operation_of(e) in (name, UNDO_PREFIX + name)]
    claims = [_claim(e, name) for e in own if e.kind == "claimed"]
    changes = [_effect(e, facts) for e in own if e.kind == "effect"]
    standing = sum(line.stands for line in changes)
    shown_claims, shown_effects = _both_ends(claims), _both_ends(changes)
    return Books(
        name,
        tuple(shown_claims),
        len(claims) - len(shown_claims),
        tuple(shown_effects),
        len(changes) - len(shown_effects),
        _last_word(name, facts.events),
        standing,
        in_question,
    )


def _both_ends(lines: list[_T]) -> list[_T]:
    return lines if len(lines) <= LINES_MAX else lines[: LINES_MAX // 2] + lines[-LINES_MAX // 2 :]


def _claim(event: Event, name: str) -> ClaimLine:
    subject = str(event.data.get("subject", ""))
    resolution = f" ({event.data['resolution']})" if event.data.get("resolution") else ""
    about = "" if subject == name else words.operation(subject)
    return ClaimLine(words.seconds(event.time_ns).strip(), about, f"{event.data.get('to', '')}{resolution}")


def _effect(event: Event, facts: Facts) -> EffectLine:
    data = event.data
    undoes = f", undoing {data['undoes']}" if data.get("undoes") else ""
    what = facts.change(event) + undoes
    name = str(data.get("effect", ""))
    return EffectLine(words.seconds(event.time_ns).strip(), name, what, name not in facts.undone and not undoes)


def _last_word(name: str, events: Sequence[Event]) -> str:
    """What the final audit says of the operation and, where it has one, of its undo."""
    audits = [e for e in events if e.kind == "audited"]
    rows = audits[-1].data.get("operations", {}) if audits else {}
    found = [(subject, said(rows[subject])) for subject in (name, UNDO_PREFIX + name) if subject in rows]
    return ", ".join(state if subject == name else f"undo {state}" for subject, state in found)
