"""A slow, obvious second opinion on no-duplicate-effect and known-state agrees with the judge on random histories.

The second opinion replays the world event by event and looks at the state after each one; it knows no witness and no
table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from harness.model.event import Event
from harness.model.verdict import Outcome
from tests.judge.histories import H

SUBJECTS = ("charge", "undo.charge", "ship", "undo.ship")
OPERATION_STATES = (
    "PREPARED/", "COMMITTING/", "COMMITTED/", "VERIFYING/", "VERIFIED/", "OUTCOME_UNKNOWN/", "COMPENSATION_REQUIRED/",
    "COMPENSATING/", "COMPENSATED/", "COMPENSATION_FAILED/", "RECONCILIATION_REQUIRED/", "RECONCILED/committed",
    "RECONCILED/not-committed", "IRREVERSIBLE_EFFECT/",
)  # fmt: skip
OPEN_LABELS = ("RUNNING", "RECOVERING", "FAILED_RECONCILIATION_REQUIRED", "UNKNOWN")
LABELS = (*OPEN_LABELS, "COMPLETED", "FAILED_CLEAN", "FAILED_COMPENSATED", "FAILED_RECONCILED")
PLACES = {
    ("payment", "charge", "order-1"): "charge",
    ("payment", "refund", "order-1"): "undo.charge",
    ("parcels", "ship", "parcel-1"): "ship",
    ("parcels", "recall", "parcel-1"): "undo.ship",
}


@dataclass
class World:
    """What stands: effect id -> (owner, call, delivery). `removed_by_outsider` keeps owner and moment."""

    standing: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    removed_by_outsider: list[tuple[str, int]] = field(default_factory=list)

    def apply(self, event: Event) -> None:
        data = event.data
        if data["undoes"] in self.standing:
            owner, _, _ = self.standing.pop(data["undoes"])
            if data["call"] == "":
                self.removed_by_outsider.append((owner, event.index))
        if data["call"]:
            owner = PLACES.get((data["provider"], data["action"], data["target"]), "nobody")
            self.standing[data["effect"]] = (owner, data["call"], data["delivery"])

    def count(self, owner: str) -> int:
        return sum(1 for name, _, _ in self.standing.values() if name == owner)


def _has_duplicate(h: H) -> bool:
    world = World()
    for event in h.events:
        if event.kind == "effect":
            world.apply(event)
        calls = [(owner, call) for owner, call, _ in world.standing.values() if owner in SUBJECTS]
        if len(set(calls)) != len({owner for owner, _ in calls}):
            return True
    (audit,) = [event.data for event in h.events if event.kind == "audited"]
    for subject in SUBJECTS:
        words = {audit["operations"].get(name, [""])[0] for name in (subject, subject.removeprefix("undo."))}
        declared = words & {"OUTCOME_UNKNOWN", "RECONCILIATION_REQUIRED", "COMPENSATION_FAILED"}
        if world.count(subject) > 1 and not declared:
            return True
    return False


def _is_unknown_state(h: H) -> bool:
    world = World()
    for event in h.events:
        if event.kind == "effect":
            world.apply(event)
    (audit,) = [event.data for event in h.events if event.kind == "audited"]
    if any(owner not in audit["operations"] for owner, _, _ in world.standing.values()):
        return True
    return any(
        _is_wrong(h, world, audit["workflow"], subject, f"{state}/{resolution}")
        for subject, (state, resolution) in audit["operations"].items()
    )


def _is_wrong(h: H, world: World, label: str, subject: str, state: str) -> bool:
    count = world.count(subject)
    match state:
        case "VERIFIED/" | "RECONCILED/committed" | "IRREVERSIBLE_EFFECT/":
            return count != 1 and not (count == 0 and _is_excused(h, world, subject))
        case "PREPARED/" | "COMPENSATED/" | "RECONCILED/not-committed":
            return count != 0
        case "COMMITTING/" | "COMMITTED/" | "VERIFYING/":
            return True
        case _:
            return label not in OPEN_LABELS


def _is_excused(h: H, world: World, subject: str) -> bool:
    said = [e.index for e in h.events if e.kind == "claimed" and e.data["subject"] == subject]
    since = said[-1] if said else -1
    if subject.startswith("undo."):
        return any(owner == subject.removeprefix("undo.") for owner, _ in world.removed_by_outsider)
    return any(owner == subject and index > since for owner, index in world.removed_by_outsider)


@st.composite
def histories(draw: st.DrawFn) -> H:
    """A few sends, effects, outside undos and claims in any order, and an audit that may say anything."""
    h = H()
    effects: dict[str, int] = dict.fromkeys(SUBJECTS, 0)
    attempts: dict[str, int] = dict.fromkeys(SUBJECTS, 0)
    copies: dict[tuple[str, int], int] = {}
    for kind in draw(st.lists(st.sampled_from(["send", "effect", "effect", "outside", "claim", "stray"]), max_size=9)):
        subject = draw(st.sampled_from(SUBJECTS[:2] if draw(st.booleans()) else SUBJECTS))
        if kind == "send":
            h.sent(subject)
            attempts[subject] += 1
        elif kind == "effect" and attempts[subject]:
            attempt = draw(st.integers(1, attempts[subject]))
            copies[subject, attempt] = copies.get((subject, attempt), 0) + 1
            h.effect(subject, attempt=attempt, delivery=copies[subject, attempt])
            effects[subject] += 1
        elif kind == "outside" and effects[subject] and not subject.startswith("undo."):
            h.outsider_undid(subject)
        elif kind == "claim":
            h.said(subject, draw(st.sampled_from(OPERATION_STATES)).removesuffix("/"))
        elif kind == "stray" and draw(st.integers(0, 4)) == 0:
            h.sent("ship", target="parcel-2").effect("ship", target="parcel-2")
            attempts["ship"] += 1
    listed = draw(st.sets(st.sampled_from(SUBJECTS))) | {"charge"}
    states = {
        name.replace(".", "__"): draw(st.sampled_from(OPERATION_STATES)).split("/") if name in listed else None
        for name in SUBJECTS
        if name in listed or name in ("charge", "ship") or any(e.data.get("subject") == name for e in h.events)
    }
    return h.end(draw(st.sampled_from(LABELS)), **states)


@given(histories())
def test_the_judge_finds_a_duplicate_exactly_where_a_replay_does(h: H) -> None:
    assert (h.verdict("no-duplicate-effect").outcome is Outcome.VIOLATED) == _has_duplicate(h)


@given(histories())
def test_the_judge_knows_a_state_exactly_where_a_replay_does(h: H) -> None:
    assert (h.verdict("known-state").outcome is Outcome.VIOLATED) == _is_unknown_state(h)
