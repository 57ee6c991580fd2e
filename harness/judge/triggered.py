"""Does a bad state exist in this run? Predicates that measure the bench: a planted bug is *triggered* when one is true.

Here: one predicate per kind of harm, each a plain reading of events. Never here: a guarantee's code, nor its ledgers,
excuses or witnesses. The two must be able to disagree: a harm that is triggered and not detected is what they exist to
show. Nothing here is a verdict, and nothing is tuned for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.model.event import Event, History
from harness.model.lifecycle import TERMINALS
from harness.model.workflow import Operation, Scenario

Place = tuple[str, str, str]
"""Provider, action, target."""


def _place(event: Event) -> Place:
    return event.data["provider"], event.data["action"], event.data["target"]


def _done_at(op: Operation) -> Place:
    return op.provider, op.action, op.target


def _undone_at(op: Operation) -> Place:
    return op.provider, op.undo or "", op.target


def _own_effects(history: History) -> Iterator[Event]:
    return (event for event in history.of_kind("effect") if event.data["call"])


def _changing_calls(history: History) -> Iterator[Event]:
    return (event for event in history.of_kind("call-sent") if event.data["purpose"] in ("effect", "undo"))


def _standing_before(history: History, place: Place, index: int) -> list[str]:
    """Effects at `place` that stand just before event `index`."""
    there: list[str] = []
    for event in history.of_kind("effect"):
        if event.index >= index:
            break
        if event.data["call"] and _place(event) == place:
            there.append(event.data["effect"])
        if event.data["undoes"] in there:
            there.remove(event.data["undoes"])
    return there


def _end(history: History) -> int:
    return history.events[-1].index + 1 if history.events else 0


def _last_words(history: History) -> dict[str, tuple[str, str]]:
    """Subject -> state and resolution of its last claim."""
    return {e.data["subject"]: (e.data["to"], e.data.get("resolution", "")) for e in history.of_kind("claimed")}


def _audit(history: History) -> Mapping[str, Any]:
    found = history.of_kind("audited")
    return found[-1].data if found else {"operations": {}, "workflow": ""}


def _says_done(state: str, resolution: str) -> bool:
    return state == "VERIFIED" or (state, resolution) == ("RECONCILED", "committed")


def _says_absent(state: str, resolution: str) -> bool:
    return state in ("PREPARED", "COMPENSATED") or (state, resolution) == ("RECONCILED", "not-committed")


def two_standing_effects(history: History, scenario: Scenario) -> bool:
    """Effects of two calls stand together at one target; or two copies of one call do at the end, and nobody says so."""
    caused_by = {effect.data["effect"]: effect.data["call"] for effect in _own_effects(history)}
    for effect in _own_effects(history):
        before = _standing_before(history, _place(effect), effect.index)
        if any(caused_by[other] != effect.data["call"] for other in before):
            return True
        at_end = _standing_before(history, _place(effect), _end(history))
        if len(at_end) > 1 and not _is_declared_open(history, scenario, _place(effect)):
            return True
    return False


def _is_declared_open(history: History, scenario: Scenario, place: Place) -> bool:
    """Does the final ledger call the operation done at `place`, or the one undone there, unresolved?"""
    operations = _audit(history)["operations"]
    words = {
        operations[name][0]
        for op in scenario.workflow.operations
        for name in (op.id, op.undo_id)
        if name in operations and place in (_done_at(op), _undone_at(op))
    }
    return bool(words & {"OUTCOME_UNKNOWN", "RECONCILIATION_REQUIRED", "COMPENSATION_FAILED"})


def orphan_effect(history: History, scenario: Scenario) -> bool:
    """At the end an effect stands whose operation the final ledger does not list, or says did not happen."""
    operations = _audit(history)["operations"]
    names = {_done_at(op): op.id for op in scenario.workflow.operations}
    for effect in _own_effects(history):
        place = _place(effect)
        is_undo = any(place == _undone_at(op) for op in scenario.workflow.operations)
        if is_undo or effect.data["effect"] not in _standing_before(history, place, _end(history)):
            continue
        entry = operations.get(names.get(place, ""))
        if entry is None or _says_absent(*entry):
            return True
    return False


def claim_without_effect(history: History, scenario: Scenario) -> bool:
    """An operation is claimed verified, or reconciled as committed, while nothing of it stands."""
    places = {op.id: _done_at(op) for op in scenario.workflow.operations}
    return any(
        claim.data["subject"] in places
        and _says_done(claim.data["to"], claim.data.get("resolution", ""))
        and not _standing_before(history, places[claim.data["subject"]], claim.index)
        for claim in history.of_kind("claimed")
    )


def effect_under_bad_approval(history: History, scenario: Scenario) -> bool:
    """An effect that needs approval happens while no granted, unexpired approval for it exists."""
    for op in scenario.workflow.operations:
        if op.policy.human_approval_required:
            for effect in _own_effects(history):
                if _place(effect) == _done_at(op) and not _is_approved(history, op.id, effect):
                    return True
    return False


def _is_approved(history: History, operation: str, effect: Event) -> bool:
    expiry: dict[str, int] = {}
    for event in history.events[: effect.index]:
        if event.kind in ("approval-granted", "approval-consumed") and event.data["operation"] == operation:
            expiry[event.data["approval"]] = event.data["expires_ns"]
        elif event.kind in ("approval-denied", "approval-revoked"):
            expiry.pop(event.data["approval"], None)
    return any(effect.time_ns <= expires_ns for expires_ns in expiry.values())


def write_after_lease_lost(history: History, scenario: Scenario) -> bool:
    """A worker writes to the ledger, or sends what takes effect, after its lease was lost; or a dead one acts."""
    lost: set[str] = set()
    sent_after: set[str] = set()
    for event in history.events:
        if event.kind == "lease-lost":
            lost.add(event.actor)
        elif event.kind == "call-sent" and event.actor in lost:
            sent_after.add(event.data["call"])
        elif _is_fenced_act(event, lost, sent_after):
            return True
    return False


def _is_fenced_act(event: Event, lost: set[str], sent_after: set[str]) -> bool:
    if event.kind == "effect":
        return event.data["call"] in sent_after
    return event.kind == "dead-call" or (event.kind == "wrote" and event.actor in lost)


def undone_twice(history: History, scenario: Scenario) -> bool:
    """One effect is undone twice, or the undo of one operation happens twice."""
    undoing = {_undone_at(op) for op in scenario.workflow.operations if op.undo}
    undone = [effect.data["undoes"] for effect in history.of_kind("effect") if effect.data["undoes"] is not None]
    places = [_place(effect) for effect in _own_effects(history) if _place(effect) in undoing]
    return len(undone) != len(set(undone)) or len(places) != len(set(places))


def undone_out_of_order(history: History, scenario: Scenario) -> bool:
    """An operation is undone while another that has to be undone before it stands."""
    by_id = {op.id: op for op in scenario.workflow.operations}
    for effect in _own_effects(history):
        for first in scenario.workflow.operations:
            for later in first.must_compensate_before:
                if _place(effect) == _undone_at(by_id[later]) and _standing_before(
                    history, _done_at(first), effect.index
                ):
                    return True
    return False


def effect_before_parent(history: History, scenario: Scenario) -> bool:
    """An effect happens while an operation it depends on has none that stands."""
    by_id = {op.id: op for op in scenario.workflow.operations}
    by_place = {_done_at(op): op for op in scenario.workflow.operations}
    for effect in _own_effects(history):
        op = by_place.get(_place(effect))
        for parent in op.depends_on if op else ():
            if not _standing_before(history, _done_at(by_id[parent]), effect.index):
                return True
    return False


def acted_after_failed_compensation(history: History, scenario: Scenario) -> bool:
    """Something is done or undone after a compensation was claimed failed."""
    failed = [claim.index for claim in history.of_kind("claimed") if claim.data["to"] == "COMPENSATION_FAILED"]
    return bool(failed) and any(call.index > failed[0] for call in _changing_calls(history))


def left_in_doubt(history: History, scenario: Scenario) -> bool:
    """The run ends with an operation under way, or with a workflow that is at no end."""
    audit = _audit(history)
    under_way = any(row[0] in ("COMMITTING", "COMMITTED", "VERIFYING") for row in audit["operations"].values())
    return under_way or audit["workflow"] not in TERMINALS


def key_changed(history: History, scenario: Scenario) -> bool:
    """Two attempts at one thing carry different keys."""
    keys: dict[Place, str] = {}
    return any(keys.setdefault(_place(call), call.data["key"]) != call.data["key"] for call in _changing_calls(history))


def sent_too_often(history: History, scenario: Scenario) -> bool:
    """An operation or its undo is sent more often than its policy allows."""
    sent = [_place(call) for call in _changing_calls(history)]
    return any(
        sent.count(_done_at(op)) > op.policy.attempts_max
        or (op.undo is not None and sent.count(_undone_at(op)) > op.policy.compensation_attempts_max)
        for op in scenario.workflow.operations
    )


def record_lost(history: History, scenario: Scenario) -> bool:
    """The final ledger does not say of a subject what the last claim said."""
    if not history.of_kind("audited"):
        return False
    audit = _audit(history)
    for subject, (state, resolution) in _last_words(history).items():
        if subject == "workflow":
            if audit["workflow"] != state:
                return True
        elif tuple(audit["operations"].get(subject, ())) != (state, resolution):
            return True
    return False


def effect_after_cancel(history: History, scenario: Scenario) -> bool:
    """A business effect happens whose operation was begun after the intent was cancelled.

    Begun is: sent, or its intention made durable, which is the last moment at which a check can stop the send.
    """
    cancelled = history.of_kind("cancelled")
    if not cancelled:
        return False
    business = {_done_at(op) for op in scenario.workflow.operations}
    intended = {e.where: e.index for e in reversed(history.of_kind("crossed")) if e.where.endswith("/intent-recorded")}
    begun: dict[Place, int] = {}
    for call in _changing_calls(history):
        begun.setdefault(_place(call), intended.get(f"{call.where}/intent-recorded", call.index))
    return any(
        _place(effect) in business and begun.get(_place(effect), -1) > cancelled[0].index
        for effect in _own_effects(history)
    )


def nobody_called(history: History, scenario: Scenario) -> bool:
    """A compensation was claimed failed, and no person is called to the end."""
    failed = [claim for claim in history.of_kind("claimed") if claim.data["to"] == "COMPENSATION_FAILED"]
    return bool(failed) and not history.of_kind("alerted")


def undo_sent_again(history: History, scenario: Scenario) -> bool:
    """An undo is sent after it was claimed verified."""
    names = {_undone_at(op): op.undo_id for op in scenario.workflow.operations}
    verified = {
        claim.data["subject"]: claim.index
        for claim in reversed(history.of_kind("claimed"))
        if _says_done(claim.data["to"], claim.data.get("resolution", ""))
    }
    never = _end(history)
    return any(call.index > verified.get(names.get(_place(call), ""), never) for call in _changing_calls(history))


def standing_though_failed(history: History, scenario: Scenario) -> bool:
    """The workflow ends with a label that says nothing stands, and something does."""
    if _audit(history)["workflow"] not in ("FAILED_CLEAN", "FAILED_COMPENSATED", "FAILED_RECONCILED"):
        return False
    end = _end(history)
    return any(_standing_before(history, _done_at(op), end) for op in scenario.workflow.operations)


def effect_after_lease_lost(history: History, scenario: Scenario) -> bool:
    """A call takes effect that its worker sent after its lease was lost."""
    lost = {event.actor: event.index for event in reversed(history.of_kind("lease-lost"))}
    never = _end(history)
    late = {call.data["call"] for call in _changing_calls(history) if call.index > lost.get(call.actor, never)}
    return any(effect.data["call"] in late for effect in _own_effects(history))


def complete_in_doubt(history: History, scenario: Scenario) -> bool:
    """The workflow ends COMPLETED though the final ledger does not say of every operation that it is done."""
    audit = _audit(history)
    if audit["workflow"] != "COMPLETED":
        return False
    return any(not _says_done(*audit["operations"].get(op.id, ("", ""))) for op in scenario.workflow.operations)


PREDICATES: dict[str, Callable[[History, Scenario], bool]] = {
    "two-standing-effects": two_standing_effects,
    "orphan-effect": orphan_effect,
    "claim-without-effect": claim_without_effect,
    "effect-under-bad-approval": effect_under_bad_approval,
    "write-after-lease-lost": write_after_lease_lost,
    "undone-twice": undone_twice,
    "undone-out-of-order": undone_out_of_order,
    "effect-before-parent": effect_before_parent,
    "acted-after-failed-compensation": acted_after_failed_compensation,
    "left-in-doubt": left_in_doubt,
    "key-changed": key_changed,
    "sent-too-often": sent_too_often,
    "record-lost": record_lost,
    "effect-after-cancel": effect_after_cancel,
    "nobody-called": nobody_called,
    "undo-sent-again": undo_sent_again,
    "standing-though-failed": standing_though_failed,
    "effect-after-lease-lost": effect_after_lease_lost,
    "complete-in-doubt": complete_in_doubt,
}
"""Name of the harm -> is it in this run?"""
