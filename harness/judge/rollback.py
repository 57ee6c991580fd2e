"""Guarantees about a rollback as a whole: it halts when an undo fails, and goes on after a crash.

Here: failed-compensation-halts, rollback-resumes. Never here: single undos; `compensation.py` has them.
"""

from __future__ import annotations

from bisect import bisect_right

from harness.judge.ledgers import (
    END,
    NOBODY,
    AuditRow,
    CallRow,
    ClaimRow,
    Ledgers,
    base,
    is_committed,
    is_undo,
)
from harness.judge.verdicts import holds, undecided, violated
from harness.model.lifecycle import UNRESOLVED, UNRESOLVED_TERMINALS, State
from harness.model.verdict import Verdict

HALTS = "failed-compensation-halts"
RESUMES = "rollback-resumes"


def failed_compensation_halts(ledgers: Ledgers) -> Verdict:
    """After COMPENSATION_FAILED: one call for a person, no further effect or undo, and the claim stays until a person
    acts.
    """
    failures = [claim for claim in ledgers.claims if claim.state == State.COMPENSATION_FAILED]
    for failure in failures:
        until = _person_acts(ledgers, failure)
        verdict = _goes_on(ledgers, failure, until) or _is_unsaid(ledgers, failure, until) or _alarm(ledgers, failure)
        if verdict is not None:
            return verdict
    return undecided(HALTS) if failures and ledgers.audit is None else holds(HALTS)


def _person_acts(ledgers: Ledgers, failure: ClaimRow) -> int:
    """The event at which a person approves something about this operation after the failure, or the end."""
    for event in ledgers.approvals:
        if (
            event.kind == "approval-granted"
            and event.index > failure.at
            and base(event.data["operation"]) == base(failure.subject)
        ):
            return event.index
    return END


def _goes_on(ledgers: Ledgers, failure: ClaimRow, until: int) -> Verdict | None:
    later = [call for sends in ledgers.sends.values() for call in sends if failure.at < call.at < until]
    if not later:
        return None
    call = min(later, key=lambda row: row.at)
    return violated(
        HALTS,
        failure.subject,
        (failure.at, call.at),
        let=f"the compensation of {failure.subject} have failed (event {failure.at})",
        then="nothing further of the workflow is done without a person",
        but=f"{call.subject or call.operation} is sent (event {call.at})",
    )


def _is_unsaid(ledgers: Ledgers, failure: ClaimRow, until: int) -> Verdict | None:
    for claim in ledgers.claims_of[failure.subject]:
        if failure.at < claim.at < until:
            return violated(
                HALTS,
                failure.subject,
                (failure.at, claim.at),
                let=f"{failure.subject} be COMPENSATION_FAILED (event {failure.at})",
                then="it stays so until a person acts",
                but=f"it becomes {claim.state} without one (event {claim.at})",
            )
    return None


def _alarm(ledgers: Ledgers, failure: ClaimRow) -> Verdict | None:
    if ledgers.audit is None:
        return None
    alarms = [alert for alert in ledgers.alerts if base(alert[1]) == base(failure.subject)]
    if not alarms:
        return _silence(failure)
    for position, (second, subject) in enumerate(alarms):
        for first, _ in (alert for alert in alarms[:position] if alert[1] == subject):
            # A crash may fall between the call and its record. Calling again is then right: better twice than never.
            if not any(first < death < second for death in ledgers.deaths):
                return _called_again(failure, first, second)
    return None


def _silence(failure: ClaimRow) -> Verdict:
    return violated(
        HALTS,
        failure.subject,
        (failure.at,),
        let=f"the compensation of {failure.subject} have failed (event {failure.at})",
        then="a person is called",
        but="nobody is to the end",
    )


def _called_again(failure: ClaimRow, first: int, second: int) -> Verdict:
    return violated(
        HALTS,
        failure.subject,
        (failure.at, first, second),
        let=f"the compensation of {failure.subject} have failed (event {failure.at})",
        then=f"a person is called once (event {first})",
        but=f"one is called again with no crash between (event {second})",
    )


def rollback_resumes(ledgers: Ledgers) -> Verdict:
    """After a crash in mid-rollback no verified undo is sent again, and nothing that was to be undone is dropped."""
    required: dict[str, ClaimRow] = {}
    for claim in ledgers.claims:
        if claim.state == State.COMPENSATION_REQUIRED:
            required.setdefault(claim.subject, claim)
    if not required or not ledgers.deaths or ledgers.deaths[-1] < next(iter(required.values())).at:
        return holds(RESUMES)
    repeated = _repeated(ledgers)
    if repeated is not None:
        return repeated
    if ledgers.audit is None:
        return undecided(RESUMES)
    return _dropped(ledgers, ledgers.audit, required) or holds(RESUMES)


def _repeated(ledgers: Ledgers) -> Verdict | None:
    for subject, sends in ledgers.sends.items():
        if subject == NOBODY or not is_undo(subject):
            continue
        done = next((c for c in ledgers.claims_of.get(subject, ()) if is_committed(c.state, c.resolution)), None)
        if done is None:
            continue
        for send in sends:
            death = _first_after(ledgers.deaths, done.at)
            if death is not None and death < send.at:
                return _done_twice(done, death, send)
    return None


def _first_after(indices: list[int], index: int) -> int | None:
    position = bisect_right(indices, index)
    return indices[position] if position < len(indices) else None


def _done_twice(done: ClaimRow, death: int, send: CallRow) -> Verdict:
    return violated(
        RESUMES,
        done.subject,
        (done.at, death, send.at),
        let=f"{done.subject} be {done.state} (event {done.at}) and the worker die afterwards (event {death})",
        then="the rollback resumes behind it",
        but=f"it is sent again (event {send.at})",
    )


def _dropped(ledgers: Ledgers, audit: AuditRow, required: dict[str, ClaimRow]) -> Verdict | None:
    if audit.workflow in UNRESOLVED_TERMINALS or any(
        row[0] == State.COMPENSATION_FAILED for row in audit.operations.values()
    ):
        return None
    for subject, claim in required.items():
        standing = ledgers.standing(subject)
        state = audit.operations.get(subject, ("not in the ledger", ""))[0]
        if standing and state not in UNRESOLVED and state != State.IRREVERSIBLE_EFFECT:
            return violated(
                RESUMES,
                subject,
                (standing[0].at, claim.at, audit.at),
                let=f"{subject} be COMPENSATION_REQUIRED (event {claim.at})",
                then="after a crash the rollback goes on until it is undone or declared unresolved",
                but=f"its effect stands (event {standing[0].at}) and it ends {state} (event {audit.at})",
            )
    return None
