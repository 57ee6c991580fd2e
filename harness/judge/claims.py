"""Guarantees about the candidate's word: true when it is said, and never unsaid.

Here: honest-claim, nothing-lost. Never here: what a claim obliges the candidate to do.
"""

from __future__ import annotations

from harness.judge.ledgers import AuditRow, ClaimRow, EffectRow, Ledgers, base, effects_promised, is_undo
from harness.judge.verdicts import holds, undecided, violated
from harness.model.boundary import WORKFLOW_SUBJECT
from harness.model.lifecycle import INITIAL, TERMINALS, TRANSITIONS, State, WorkflowState
from harness.model.verdict import Verdict

HONEST_CLAIM = "honest-claim"
NOTHING_LOST = "nothing-lost"

_FACTUAL = frozenset({State.VERIFIED, State.COMPENSATED, State.RECONCILED})
"""States whose claim is a statement about the world at that moment."""
_NEXT: dict[str, frozenset[State]] = {old.value: new for old, new in TRANSITIONS.items()}
"""The lifecycle table by word: what the candidate writes may be no state at all, from which nothing follows."""
_EFFECT_FREE = frozenset(
    {WorkflowState.FAILED_CLEAN, WorkflowState.FAILED_COMPENSATED, WorkflowState.FAILED_RECONCILED}
)


def honest_claim(ledgers: Ledgers) -> Verdict:
    """Each claim agrees with the world at its moment, and `not-committed` with all that earlier calls do later."""
    for claim in ledgers.claims:
        if claim.subject == WORKFLOW_SUBJECT:
            verdict = _label_against_world(ledgers, claim)
        elif claim.state in _FACTUAL:
            verdict = _claim_against_world(ledgers, claim)
        else:
            continue
        if verdict is not None:
            return verdict
    return holds(HONEST_CLAIM)


def _claim_against_world(ledgers: Ledgers, claim: ClaimRow) -> Verdict | None:
    promised = effects_promised(claim.state, claim.resolution)
    if promised is None:
        return None
    standing = ledgers.standing(claim.subject, claim.at)
    if len(standing) != promised and not (not standing and _nothing_left_to_undo(ledgers, claim)):
        return _untrue(claim, claim.subject, promised, standing)
    if claim.state == State.RECONCILED and not promised:
        late = _late_effect(ledgers, claim)
        return _overtaken(claim, late) if late is not None else None
    return None


def _nothing_left_to_undo(ledgers: Ledgers, claim: ClaimRow) -> bool:
    return is_undo(claim.subject) and ledgers.outside_undo(base(claim.subject), before=claim.at) is not None


def _late_effect(ledgers: Ledgers, claim: ClaimRow) -> EffectRow | None:
    for effect in ledgers.effects_of.get(claim.subject, ()):
        if effect.at > claim.at and ledgers.calls[effect.call].at < claim.at:
            return effect
    return None


def _label_against_world(ledgers: Ledgers, claim: ClaimRow) -> Verdict | None:
    if claim.state == WorkflowState.COMPLETED:
        for subject in ledgers.operations:
            standing = ledgers.standing(subject, claim.at)
            if len(standing) != 1 and not _was_verified_before_outsider(ledgers, subject, standing, claim):
                return _untrue(claim, subject, 1, standing)
    elif claim.state in _EFFECT_FREE:
        for subject in ledgers.operations:
            standing = ledgers.standing(subject, claim.at)
            if standing:
                return _untrue(claim, subject, 0, standing)
    return None


def _was_verified_before_outsider(ledgers: Ledgers, subject: str, standing: list[EffectRow], claim: ClaimRow) -> bool:
    said = ledgers.latest(subject, claim.at)
    if standing or said is None:
        return False
    return ledgers.outside_undo(subject, after=said.at, before=claim.at) is not None


def _untrue(claim: ClaimRow, subject: str, promised: int, standing: list[EffectRow]) -> Verdict:
    label = f"{claim.state} {claim.resolution}".strip()
    seen = [effect.at for effect in standing[: promised + 1]]
    return violated(
        HONEST_CLAIM,
        subject,
        (*seen, claim.at),
        let=f"{claim.subject} be claimed {label} (event {claim.at})",
        then=f"{'one effect' if promised else 'no effect'} of {subject} stands at that moment",
        but=f"{len(standing)} stand (events {', '.join(map(str, seen)) or 'none'})",
    )


def _overtaken(claim: ClaimRow, late: EffectRow) -> Verdict:
    return violated(
        HONEST_CLAIM,
        claim.subject,
        (claim.at, late.at),
        let=f"{claim.subject} be claimed {claim.state} {claim.resolution} (event {claim.at})",
        then="no call sent before may have an effect afterwards",
        but=f"call {late.call} has one (event {late.at})",
    )


def nothing_lost(ledgers: Ledgers) -> Verdict:
    """Claims follow the lifecycle table without gaps, and the final ledger ends where the claims end."""
    for subject, claims in ledgers.claims_of.items():
        check = _workflow_step if subject == WORKFLOW_SUBJECT else _operation_step
        before: ClaimRow | None = None
        for claim in claims:
            verdict = check(before, claim)
            if verdict is not None:
                return verdict
            before = claim
    if ledgers.audit is None:
        return undecided(NOTHING_LOST)
    return _audit_against_claims(ledgers, ledgers.audit) or holds(NOTHING_LOST)


def _operation_step(before: ClaimRow | None, claim: ClaimRow) -> Verdict | None:
    if before is None:
        legal = claim.state == INITIAL and not claim.was
        return None if legal else _broken_step(None, claim, f"the first claim of an operation is {INITIAL}")
    if claim.was != before.state:
        return _broken_step(before, claim, f"the next claim starts from {before.state}")
    allowed = _NEXT.get(before.state, frozenset())
    if claim.state not in allowed:
        return _broken_step(before, claim, f"it may go on to {', '.join(sorted(allowed)) or 'nothing'}")
    return None


def _workflow_step(before: ClaimRow | None, claim: ClaimRow) -> Verdict | None:
    if before is None:
        return (
            None if not claim.was else _broken_step(None, claim, "the first claim of a workflow has nothing before it")
        )
    if claim.was != before.state:
        return _broken_step(before, claim, f"the next claim starts from {before.state}")
    if before.state in TERMINALS and claim.state != before.state:
        return _broken_step(before, claim, "that label is final")
    return None


def _broken_step(before: ClaimRow | None, claim: ClaimRow, rule: str) -> Verdict:
    start = f"be {before.state} (event {before.at})" if before else "be new"
    return violated(
        NOTHING_LOST,
        claim.subject,
        (before.at, claim.at) if before else (claim.at,),
        let=f"{claim.subject} {start}",
        then=rule,
        but=f"the ledger says {claim.was or 'new'} -> {claim.state} (event {claim.at})",
    )


def _audit_against_claims(ledgers: Ledgers, audit: AuditRow) -> Verdict | None:
    for subject, claims in ledgers.claims_of.items():
        last = claims[-1]
        if subject == WORKFLOW_SUBJECT:
            if audit.workflow != last.state:
                return _lost(audit, last, audit.workflow or "nothing")
        elif subject not in audit.operations:
            return _lost(audit, last, "nothing")
        else:
            state, resolution = audit.operations[subject]
            if state != last.state or (state == State.RECONCILED and resolution != last.resolution):
                return _lost(audit, last, f"{state} {resolution}".strip())
    for subject, (state, _) in audit.operations.items():
        if state != INITIAL and subject not in ledgers.claims_of:
            return _unclaimed(audit, subject, state)
    return None


def _lost(audit: AuditRow, last: ClaimRow, found: str) -> Verdict:
    return violated(
        NOTHING_LOST,
        last.subject,
        (last.at, audit.at),
        let=f"the ledger durably say that {last.subject} is {last.state} {last.resolution}".rstrip()
        + f" (event {last.at})",
        then="nothing later says otherwise",
        but=f"the final ledger says {found} (event {audit.at})",
    )


def _unclaimed(audit: AuditRow, subject: str, state: str) -> Verdict:
    return violated(
        NOTHING_LOST,
        subject,
        (audit.at,),
        let=f"no claim ever be made about {subject}",
        then=f"it is {INITIAL}",
        but=f"the final ledger says {state} (event {audit.at})",
    )
