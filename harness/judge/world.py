"""Guarantees about the world when all is over, and about doing a thing once.

Here: known-state, no-duplicate-effect. Never here: how the candidate got there.
"""

from __future__ import annotations

from harness.judge.ledgers import (
    NOBODY,
    AuditRow,
    ClaimRow,
    EffectRow,
    Ledgers,
    base,
    effects_promised,
    is_undo,
)
from harness.judge.verdicts import holds, undecided, violated
from harness.model.lifecycle import IN_RECOVERY, TERMINALS, UNRESOLVED, UNRESOLVED_TERMINALS, State
from harness.model.verdict import Verdict

KNOWN_STATE = "known-state"
NO_DUPLICATE = "no-duplicate-effect"

RESOLVED_TERMINALS = TERMINALS - UNRESOLVED_TERMINALS
"""Labels that say: nothing is open any more."""
_BLOCKING = UNRESOLVED | IN_RECOVERY
_OWN_LEDGER_LEVEL = 3
_UNDO_LISTED_LEVEL = 4


def known_state(ledgers: Ledgers) -> Verdict:
    """Every standing effect is accounted for by one operation, and every operation's last state agrees with the world
    or blocks.
    """
    audit = ledgers.audit
    if audit is None:
        return undecided(KNOWN_STATE)
    for effect in ledgers.effects:
        if effect.call and not _is_accounted_for(ledgers, audit, effect):
            return _unaccounted(effect, audit)
    for subject, (state, resolution) in audit.operations.items():
        verdict = _state_against_world(ledgers, audit, subject, state, resolution)
        if verdict is not None:
            return verdict
    return holds(KNOWN_STATE)


def _is_accounted_for(ledgers: Ledgers, audit: AuditRow, effect: EffectRow) -> bool:
    if effect.effect in ledgers.undone:
        return True
    if effect.subject == NOBODY:
        return False
    if effect.subject in audit.operations:
        return True
    # Below level 4 an undo need not be an operation of its own: the original's record accounts for it.
    return is_undo(effect.subject) and ledgers.level < _UNDO_LISTED_LEVEL and base(effect.subject) in audit.operations


def _unaccounted(effect: EffectRow, audit: AuditRow) -> Verdict:
    owner = f"belongs to {effect.subject}" if effect.subject else "belongs to no operation of the workflow"
    return violated(
        KNOWN_STATE,
        effect.subject,
        (effect.at, audit.at),
        let=f"effect {effect.effect} happen (event {effect.at}) and never be undone",
        then=f"it {owner}",
        but=f"the final ledger (event {audit.at}) has no record that accounts for it",
    )


def _state_against_world(
    ledgers: Ledgers, audit: AuditRow, subject: str, state: str, resolution: str
) -> Verdict | None:
    promised = effects_promised(state, resolution)
    if promised is not None:
        standing = ledgers.standing(subject)
        if len(standing) == promised:
            return None
        claim = ledgers.latest(subject)
        if not standing and _outsider_explains_absence(ledgers, subject, claim):
            return None
        return _false_state(subject, state, resolution, promised, standing, claim, audit)
    if state in _BLOCKING:
        return _progressed(audit, subject, state) if audit.workflow in RESOLVED_TERMINALS else None
    return _abandoned(ledgers, audit, subject, state)


def _outsider_explains_absence(ledgers: Ledgers, subject: str, claim: ClaimRow | None) -> bool:
    """An outside undo excuses the original's claim if it came later; and whenever it came, it left the undo nothing
    to do.
    """
    if is_undo(subject):
        return ledgers.outside_undo(base(subject)) is not None
    return ledgers.outside_undo(subject, after=claim.at if claim else -1) is not None


def _false_state(
    subject: str,
    state: str,
    resolution: str,
    promised: int,
    standing: list[EffectRow],
    claim: ClaimRow | None,
    audit: AuditRow,
) -> Verdict:
    said = claim.at if claim else audit.at
    label = f"{state} {resolution}".strip()
    seen = [effect.at for effect in standing[: promised + 1]]
    return violated(
        KNOWN_STATE,
        subject,
        (said, *seen),
        let=f"{subject} be {label} (event {said})",
        then="one effect of it stands at the end" if promised else "no effect of it stands at the end",
        but=f"{len(standing) or 'none'} of its effects stand (events {', '.join(map(str, seen)) or 'none'})",
    )


def _progressed(audit: AuditRow, subject: str, state: str) -> Verdict:
    return violated(
        KNOWN_STATE,
        subject,
        (audit.at,),
        let=f"{subject} end {state} (event {audit.at})",
        then="it blocks the workflow from any label that says nothing is open",
        but=f"the workflow ends {audit.workflow} (event {audit.at})",
    )


def _abandoned(ledgers: Ledgers, audit: AuditRow, subject: str, state: str) -> Verdict:
    claim = ledgers.latest(subject)
    said = claim.at if claim else audit.at
    return violated(
        KNOWN_STATE,
        subject,
        (said,) if said == audit.at else (said, audit.at),
        let=f"{subject} be {state} (event {said})",
        then="somebody drives it on to a verified, recovering or unresolved state",
        but=f"it is still {state} when all is over (event {audit.at})",
    )


def no_duplicate_effect(ledgers: Ledgers) -> Verdict:
    """No two effects of an operation stand together, unless the network made the second and the ledger says it is
    unresolved.
    """
    for subject, effects in ledgers.effects_of.items():
        if subject == NOBODY or len(effects) < 2:
            continue
        for position, second in enumerate(effects):
            for first in effects[:position]:
                if ledgers.stands_at(first, second.at):
                    verdict = _pair(ledgers, subject, first, second)
                    if verdict is not None:
                        return verdict
    return holds(NO_DUPLICATE)


def _pair(ledgers: Ledgers, subject: str, first: EffectRow, second: EffectRow) -> Verdict | None:
    if first.call != second.call or first.delivery == second.delivery:
        return _duplicate(subject, first, second, "two calls of the candidate caused them")
    if first.effect in ledgers.undone or second.effect in ledgers.undone or ledgers.level < _OWN_LEDGER_LEVEL:
        return None
    if ledgers.audit is None:
        return undecided(NO_DUPLICATE)
    if _is_declared(ledgers.audit, subject):
        return None
    return _duplicate(subject, first, second, "the ledger does not declare the copy the network made")


def _is_declared(audit: AuditRow, subject: str) -> bool:
    """Is the operation, or the one it undoes, in an explicit unresolved state?"""
    nothing = (State.PREPARED.value, "")
    return any(audit.operations.get(name, nothing)[0] in UNRESOLVED for name in (subject, base(subject)))


def _duplicate(subject: str, first: EffectRow, second: EffectRow, why: str) -> Verdict:
    return violated(
        NO_DUPLICATE,
        subject,
        (first.at, second.at),
        let=f"effect {first.effect} of {subject} stand (event {first.at})",
        then="no other effect of it may stand beside it",
        but=f"effect {second.effect} does (event {second.at}), and {why}",
    )
