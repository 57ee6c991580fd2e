"""Guarantees about who a request is: one identity for all attempts, and no attempt while an earlier one is open.

Here: no-blind-retry, stable-identity. Never here: what the candidate claims.
"""

from __future__ import annotations

from harness.judge.ledgers import NOBODY, CallRow, EffectRow, Ledgers, SawRow, base, is_undo
from harness.judge.verdicts import holds, violated
from harness.model.cell import KEY_TTL_NS, Cell, Key
from harness.model.verdict import Verdict
from harness.model.workflow import Operation

NO_BLIND_RETRY = "no-blind-retry"
STABLE_IDENTITY = "stable-identity"


def no_blind_retry(ledgers: Ledgers) -> Verdict:
    """Every earlier open send is covered, by a key the cell honours or by a proof of absence, before the next one
    leaves.
    """
    for subject, sends in ledgers.sends.items():
        if subject == NOBODY or len(sends) < 2:
            continue
        for position, retry in enumerate(sends):
            for earlier in sends[:position]:
                if ledgers.is_open(earlier, retry.at) and not _is_covered(ledgers, sends, earlier, retry):
                    return _blind(ledgers, subject, earlier, retry)
    return holds(NO_BLIND_RETRY)


def _is_covered(ledgers: Ledgers, sends: list[CallRow], earlier: CallRow, retry: CallRow) -> bool:
    cell = ledgers.cells[retry.provider]
    return _key_protects(cell, sends, earlier, retry) or _is_proved_absent(ledgers, cell, earlier, retry.at)


def _key_protects(cell: Cell, sends: list[CallRow], earlier: CallRow, retry: CallRow) -> bool:
    if not retry.key or retry.key != earlier.key or cell.key is Key.IGNORED:
        return False
    if cell.key is Key.HONOURED:
        return True
    first = next(send for send in sends if send.key == retry.key)
    return retry.time_ns - first.time_ns <= KEY_TTL_NS


def _is_proved_absent(ledgers: Ledgers, cell: Cell, earlier: CallRow, before: int) -> bool:
    """Did the caller see, between the two sends, an observation that proves the earlier one never committed and never
    will?
    """
    if not cell.absence_can_be_proved or not earlier.not_after_ns:
        return False
    operation = ledgers.operations[base(earlier.subject)]
    for look in ledgers.observations.get(operation.id, ()):
        saw = ledgers.saw.get(look.call)
        if (
            saw is not None
            and saw.outcome == "ok"
            and earlier.at < look.at
            and saw.at < before
            and look.time_ns > earlier.not_after_ns
            and base(look.operation) == operation.id
            and _shows_absence(operation, earlier.subject, look, saw)
        ):
            return True
    return False


def _shows_absence(operation: Operation, subject: str, look: CallRow, saw: SawRow) -> bool:
    """Rows of `found` are [reference, operation, action, standing, pending]."""
    if not saw.complete:
        return False
    action = operation.undo if is_undo(subject) else operation.action
    if any(row[1] == subject or row[2] == action for row in saw.found if row[3] or row[4]):
        return False
    if not is_undo(subject):
        return look.action == action
    # An undo also shows in the original's own record. Reading only the original proves something if it is seen
    # standing.
    originals = [row for row in saw.found if row[2] == operation.action]
    return any(row[3] for row in originals) or (look.action == action and not originals)


def _blind(ledgers: Ledgers, subject: str, earlier: CallRow, retry: CallRow) -> Verdict:
    saw = ledgers.saw.get(earlier.call)
    seen = saw is not None and saw.at < retry.at
    outcome = f"it saw {saw.code or saw.outcome} (event {saw.at})" if saw is not None and seen else "it saw no outcome"
    return violated(
        NO_BLIND_RETRY,
        subject,
        (earlier.at, saw.at, retry.at) if saw is not None and seen else (earlier.at, retry.at),
        let=f"{subject} be sent (event {earlier.at})",
        then=f"{outcome}, so it may have happened until an honoured key or a proof of absence says otherwise",
        but=f"it is sent again with neither (event {retry.at})",
    )


def stable_identity(ledgers: Ledgers) -> Verdict:
    """All sends of an operation carry one id and one key, no key serves two operations, and no effect bears another's
    name.
    """
    owner_of_key: dict[str, CallRow] = {}
    for subject, sends in ledgers.sends.items():
        if subject == NOBODY:
            continue
        first = sends[0]
        for send in sends:
            if send.operation != first.operation or send.key != first.key:
                return _changed(subject, first, send)
            if send.key and owner_of_key.setdefault(send.key, send).subject != subject:
                return _shared(owner_of_key[send.key], send)
    for effect in ledgers.effects:
        if effect.subject != NOBODY and effect.operation != effect.subject and not _names_original(ledgers, effect):
            return _misnamed(effect)
    return holds(STABLE_IDENTITY)


def _names_original(ledgers: Ledgers, effect: EffectRow) -> bool:
    """Below level 4 an undo may go under the name of what it undoes; from there on compensation is an operation."""
    return ledgers.level < 4 and effect.operation == base(effect.subject)


def _changed(subject: str, first: CallRow, send: CallRow) -> Verdict:
    what = "operation id" if send.operation != first.operation else "key"
    old, new = (first.operation, send.operation) if send.operation != first.operation else (first.key, send.key)
    return violated(
        STABLE_IDENTITY,
        subject,
        (first.at, send.at),
        let=f"{subject} be sent with {what} {old!r} (event {first.at})",
        then="every other attempt carries the same",
        but=f"one carries {new!r} (event {send.at})",
    )


def _shared(one: CallRow, other: CallRow) -> Verdict:
    first, second = sorted((one, other), key=lambda call: call.at)
    return violated(
        STABLE_IDENTITY,
        second.subject,
        (first.at, second.at),
        let=f"key {first.key!r} name {first.subject} (event {first.at})",
        then="it names nothing else",
        but=f"{second.subject} is sent with it too (event {second.at})",
    )


def _misnamed(effect: EffectRow) -> Verdict:
    return violated(
        STABLE_IDENTITY,
        effect.subject,
        (effect.at,),
        let=f"an effect happen at the target of {effect.subject} (event {effect.at})",
        then=f"its request names {effect.subject}",
        but=f"it names {effect.operation!r}",
    )
