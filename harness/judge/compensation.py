"""Guarantees about an undo: what it is, when it may be sent, and that there is one.

Here: compensation-is-an-operation, compensation-order, compensation-after-effect, compensation-once.
Never here: how a rollback as a whole goes on after a crash or a failure; `rollback.py` has that.
"""

from __future__ import annotations

from harness.judge.ledgers import NOBODY, CallRow, ClaimRow, EffectRow, Ledgers, is_committed, is_undo
from harness.judge.verdicts import holds, violated
from harness.model.cell import Key, Late
from harness.model.lifecycle import State
from harness.model.verdict import Verdict
from harness.model.workflow import Operation

IS_AN_OPERATION = "compensation-is-an-operation"
ORDER = "compensation-order"
AFTER_EFFECT = "compensation-after-effect"
ONCE = "compensation-once"

_CLAIMS_LEVEL = 3
_TO_BE_UNDONE = frozenset({State.COMPENSATION_REQUIRED, State.COMPENSATING, State.VERIFIED, State.RECONCILED})
"""States of an operation whose standing effect a rollback still has to undo."""


def compensation_is_an_operation(ledgers: Ledgers) -> Verdict:
    """Each undo goes under its own id and key, has its own record before it is sent, and is verified before it
    counts.
    """
    for operation in ledgers.operations.values():
        originals = ledgers.sends.get(operation.id, ())
        for undo in ledgers.sends.get(operation.undo_id, ()):
            verdict = (
                _own_name(operation, undo)
                or _own_key(operation, originals, undo)
                or _own_record(ledgers, operation, undo)
            )
            if verdict is not None:
                return verdict
        for claim in ledgers.claims_of.get(operation.id, ()):
            if claim.state == State.COMPENSATED and not _is_verified(ledgers, operation, claim):
                return _unverified(operation, claim)
    return holds(IS_AN_OPERATION)


def _own_name(operation: Operation, undo: CallRow) -> Verdict | None:
    if undo.operation == operation.undo_id:
        return None
    return violated(
        IS_AN_OPERATION,
        operation.undo_id,
        (undo.at,),
        let=f"{operation.id} be undone by a call (event {undo.at})",
        then=f"the call names {operation.undo_id}",
        but=f"it names {undo.operation!r}",
    )


def _own_key(operation: Operation, originals: list[CallRow] | tuple[()], undo: CallRow) -> Verdict | None:
    for original in originals:
        if original.key and (not undo.key or undo.key == original.key):
            return violated(
                IS_AN_OPERATION,
                operation.undo_id,
                (original.at, undo.at),
                let=f"{operation.id} be sent with key {original.key!r} (event {original.at})",
                then="its undo has a key of its own",
                but=f"the undo carries {undo.key!r} (event {undo.at})",
            )
    return None


def _own_record(ledgers: Ledgers, operation: Operation, undo: CallRow) -> Verdict | None:
    claims = ledgers.claims_of.get(operation.undo_id, ())
    if claims and claims[0].at < undo.at and claims[0].state == State.PREPARED:
        return None
    return violated(
        IS_AN_OPERATION,
        operation.undo_id,
        (undo.at,),
        let=f"{operation.undo_id} be sent (event {undo.at})",
        then="the ledger said PREPARED of it before",
        but="it said nothing of the kind",
    )


def _is_verified(ledgers: Ledgers, operation: Operation, claim: ClaimRow) -> bool:
    """RECONCILED not-committed will do if somebody else had undone the effect: there was nothing to verify but that."""
    undo = ledgers.latest(operation.undo_id, claim.at)
    if undo is None:
        return False
    if is_committed(undo.state, undo.resolution):
        return True
    return undo.state == State.RECONCILED and ledgers.outside_undo(operation.id, before=claim.at) is not None


def _unverified(operation: Operation, claim: ClaimRow) -> Verdict:
    return violated(
        IS_AN_OPERATION,
        operation.id,
        (claim.at,),
        let=f"{operation.id} be claimed COMPENSATED (event {claim.at})",
        then=f"{operation.undo_id} was verified before",
        but="no claim before says so",
    )


def compensation_order(ledgers: Ledgers) -> Verdict:
    """While an operation that must be compensated first still stands and is to be undone, the later one's undo is not
    sent.
    """
    for first in ledgers.operations.values():
        if first.undo is None:
            continue
        for later in first.must_compensate_before:
            for undo in ledgers.sends.get(ledgers.operations[later].undo_id, ()):
                standing = ledgers.standing(first.id, undo.at)
                if standing and _is_to_be_undone(ledgers, first, undo.at):
                    return _out_of_order(first, later, standing[0], undo)
    return holds(ORDER)


def _is_to_be_undone(ledgers: Ledgers, first: Operation, index: int) -> bool:
    if ledgers.level < _CLAIMS_LEVEL:
        return True
    claim = ledgers.latest(first.id, index)
    return claim is not None and claim.state in _TO_BE_UNDONE


def _out_of_order(first: Operation, later: str, effect: EffectRow, undo: CallRow) -> Verdict:
    return violated(
        ORDER,
        undo.subject,
        (effect.at, undo.at),
        let=f"{first.id} have to be compensated before {later}",
        then=f"no undo of {later} is sent while the effect of {first.id} stands (event {effect.at})",
        but=f"one is (event {undo.at})",
    )


def compensation_after_effect(ledgers: Ledgers) -> Verdict:
    """No undo is sent while a call of the original may still commit, and no effect of one is left behind the undo."""
    for operation in ledgers.operations.values():
        undos = ledgers.sends.get(operation.undo_id)
        if not undos:
            continue
        originals = ledgers.sends.get(operation.id, [])
        for undo in undos:
            for call in originals:
                if call.at < undo.at and _may_still_commit(ledgers, originals, call, undo):
                    return _overtakes(ledgers, operation, call, undo)
        left = _left_behind(ledgers, operation)
        if left is not None:
            return left
    return holds(AFTER_EFFECT)


def _may_still_commit(ledgers: Ledgers, originals: list[CallRow], call: CallRow, undo: CallRow) -> bool:
    if not ledgers.is_open(call, undo.at):
        return False
    saw = ledgers.saw.get(call.call)
    if saw is not None and saw.pending:
        # Accepted for later, beyond any deadline: only what came of it says whether the undo was too early.
        effect = ledgers.caused.get(call.call)
        return effect is not None and effect.at > undo.at
    cell = ledgers.cells[call.provider]
    if any(_has_taken_effect(ledgers, other, undo.at) for other in _same_request(originals, call, cell.key)):
        return False
    return cell.late is Late.YES or not call.not_after_ns or undo.time_ns <= call.not_after_ns


def _same_request(originals: list[CallRow], call: CallRow, key: Key) -> list[CallRow]:
    """The calls that are one request to the provider: where keys are honoured, all under one key, of which one at
    most commits.
    """
    if key is Key.IGNORED or not call.key:
        return [call]
    return [other for other in originals if other.key == call.key]


def _has_taken_effect(ledgers: Ledgers, call: CallRow, index: int) -> bool:
    effect = ledgers.caused.get(call.call)
    return effect is not None and effect.at < index


def _overtakes(ledgers: Ledgers, operation: Operation, call: CallRow, undo: CallRow) -> Verdict:
    late = ledgers.cells[call.provider].late is Late.YES or not call.not_after_ns
    until = "at any time" if late else f"until {call.not_after_ns} ns"
    return violated(
        AFTER_EFFECT,
        operation.undo_id,
        (call.at, undo.at),
        let=f"{operation.id} be sent (event {call.at}) and its outcome be open",
        then=f"it may still commit {until}, and no undo is sent before",
        but=f"one is sent at {undo.time_ns} ns (event {undo.at})",
    )


def _left_behind(ledgers: Ledgers, operation: Operation) -> Verdict | None:
    """Copies the network makes of an answered call are nobody's haste: known-state judges what they leave."""
    if ledgers.audit is None:
        return None
    for undo in ledgers.effects_of.get(operation.undo_id, ()):
        for effect in ledgers.standing(operation.id):
            if effect.at > undo.at and effect.delivery == 1 and ledgers.calls[effect.call].at < undo.at:
                return violated(
                    AFTER_EFFECT,
                    operation.id,
                    (undo.at, effect.at),
                    let=f"{operation.id} be undone (event {undo.at})",
                    then="nothing sent before the undo takes effect after it",
                    but=f"call {effect.call} does, and its effect stays (event {effect.at})",
                )
    return None


def compensation_once(ledgers: Ledgers) -> Verdict:
    """An effect is undone once, and an operation by one call. An outside actor's undo is not counted, nor a copy by
    the network.
    """
    for subject, effects in ledgers.effects_of.items():
        if subject != NOBODY and is_undo(subject):
            for second in effects[1:]:
                if second.call != effects[0].call:
                    return _undone_again(effects[0], second, subject)
    first_undo: dict[str, EffectRow] = {}
    for effect in ledgers.effects:
        if effect.undoes is not None and effect.call:
            first = first_undo.setdefault(effect.undoes, effect)
            if first.call != effect.call:
                return _undone_again(first, effect, effect.subject)
    return holds(ONCE)


def _undone_again(first: EffectRow, second: EffectRow, subject: str) -> Verdict:
    return violated(
        ONCE,
        subject,
        (first.at, second.at),
        let=f"effect {first.undoes or subject} be undone (event {first.at})",
        then="nothing is left of it to undo",
        but=f"call {second.call} undoes it once more (event {second.at})",
    )
