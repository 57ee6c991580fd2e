"""The guarantee that the recovery policy is obeyed. Each of its fields is one small check.

Here: policy-obeyed. Never here: a rule the policy cannot change.
"""

from __future__ import annotations

from harness.judge.ledgers import CallRow, ClaimRow, Ledgers, SawRow, base
from harness.judge.verdicts import holds, violated
from harness.model.lifecycle import State
from harness.model.verdict import Verdict
from harness.model.workflow import Operation

POLICY = "policy-obeyed"

_SURE = frozenset({State.COMMITTED, State.VERIFIED, State.RECONCILED})
"""States that may follow a timeout only on evidence."""


def policy_obeyed(ledgers: Ledgers) -> Verdict:
    """Attempts, automatic compensation, human approval and reconciliation after a timeout are as the policy says."""
    for operation in ledgers.operations.values():
        sends = ledgers.sends.get(operation.id, [])
        undos = ledgers.sends.get(operation.undo_id, [])
        verdict = (
            _too_many(operation.id, sends, operation.policy.attempts_max)
            or _too_many(operation.undo_id, undos, operation.policy.compensation_attempts_max)
            or _unasked_undo(ledgers, operation, undos)
            or _unapproved(operation, sends)
        )
        if verdict is not None:
            return verdict
    for saw, call in ledgers.timeouts:
        verdict = _unreconciled(ledgers, saw, call)
        if verdict is not None:
            return verdict
    return holds(POLICY)


def _too_many(subject: str, sends: list[CallRow], attempts_max: int) -> Verdict | None:
    if len(sends) <= attempts_max:
        return None
    shown = sends[: attempts_max + 1]
    return violated(
        POLICY,
        subject,
        tuple(send.at for send in shown),
        let=f"the policy allow {attempts_max} sends of {subject}",
        then=f"there is none after event {shown[-2].at}" if attempts_max else "there is none",
        but=f"it is sent once more (event {shown[-1].at})",
    )


def _unasked_undo(ledgers: Ledgers, operation: Operation, undos: list[CallRow]) -> Verdict | None:
    if operation.policy.automatic_compensation_allowed:
        return None
    for undo in undos:
        if not any(
            event.kind == "approval-granted" and event.data["operation"] == operation.undo_id and event.index < undo.at
            for event in ledgers.approvals
        ):
            return violated(
                POLICY,
                operation.undo_id,
                (undo.at,),
                let=f"the policy leave the compensation of {operation.id} to a person",
                then="no undo is sent before a person approves it",
                but=f"one is sent (event {undo.at})",
            )
    return None


def _unapproved(operation: Operation, sends: list[CallRow]) -> Verdict | None:
    if not operation.policy.human_approval_required:
        return None
    for send in sends:
        if not send.approval:
            return violated(
                POLICY,
                operation.id,
                (send.at,),
                let=f"the policy require a person's approval for {operation.id}",
                then="each send says which approval it spends",
                but=f"one names none (event {send.at})",
            )
    return None


def _unreconciled(ledgers: Ledgers, saw: SawRow, call: CallRow) -> Verdict | None:
    operation = ledgers.operations.get(base(call.subject))
    if operation is None or not operation.policy.reconciliation_required_after_timeout:
        return None
    claim = next((c for c in ledgers.claims_of.get(call.subject, ()) if c.at > saw.at and c.state in _SURE), None)
    if claim is None or any(saw.at < answer < claim.at for answer in ledgers.answers.get(operation.id, ())):
        return None
    return _fabricated(saw, call, claim)


def _fabricated(saw: SawRow, call: CallRow, claim: ClaimRow) -> Verdict:
    return violated(
        POLICY,
        call.subject,
        (saw.at, claim.at),
        let=f"{call.subject} time out (event {saw.at})",
        then="its state is open until the world has been observed",
        but=f"it is claimed {claim.state} (event {claim.at}) with no observation or answer between",
    )
