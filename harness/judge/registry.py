"""The registry of guarantees: one literal row each, in the order in which they are reported.

Here: id, statement, level from which it can be observed, the seed section it comes from, and its function.
Never here: how a rule is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.judge import claims, compensation, control, identity, policy, rollback, terminals, world
from harness.judge.ledgers import Ledgers
from harness.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A rule. `level` is the lowest conformance level (0..5) at which it can be observed; `source` names a section of
    a seed.
    """

    id: str
    statement: str
    level: int
    source: str
    check: Callable[[Ledgers], Verdict]


_ROWS = (
    Guarantee(
        world.KNOWN_STATE,
        "When the run has settled, every effect in the world belongs to exactly one operation, and that "
        "operation is in a verified "
        "state that matches the world, on a durable recovery path, or in an explicit unresolved state that "
        "blocks progress.",
        3,
        "First seed, Failure Injection Is Mandatory",
        world.known_state,
    ),
    Guarantee(
        world.NO_DUPLICATE,
        "One logical operation has at most one standing effect.",
        0,
        "First seed, Exactly Once Is Usually the Wrong Promise",
        world.no_duplicate_effect,
    ),
    Guarantee(
        identity.NO_BLIND_RETRY,
        "After an indefinite outcome nothing is sent again before an authoritative observation, unless the "
        "same key goes to a "
        "provider whose cell honours it.",
        0,
        "First seed, First Principle: Classify Side Effects Before You Execute Them (Unknown)",
        identity.no_blind_retry,
    ),
    Guarantee(
        identity.STABLE_IDENTITY,
        "All attempts of an operation carry its operation id and key; two operations never share one.",
        0,
        "First seed, Commit With Stable Operation Identity",
        identity.stable_identity,
    ),
    Guarantee(
        claims.HONEST_CLAIM,
        "VERIFIED, COMPENSATED, RECONCILED and each terminal label agree with the world at the moment of the "
        "claim; 200 OK is not "
        "proof.",
        3,
        "First seed, Postcondition Verification Is Part of the Transaction",
        claims.honest_claim,
    ),
    Guarantee(
        control.DOWNSTREAM,
        "No effect is started while a parent it depends on is not known to be done.",
        0,
        "First seed, Ambiguous Effects Should Block Unsafe Follow-Up",
        control.downstream_waits,
    ),
    Guarantee(
        compensation.IS_AN_OPERATION,
        "A compensation has its own id, key, record and verification.",
        4,
        "First seed, Compensation Is a New Transaction",
        compensation.compensation_is_an_operation,
    ),
    Guarantee(
        compensation.ORDER,
        "MUST_COMPENSATE_BEFORE is respected; reverse time order is not assumed.",
        0,
        "First seed, Side-Effect Graphs Are Better Than Flat Lists",
        compensation.compensation_order,
    ),
    Guarantee(
        compensation.AFTER_EFFECT,
        "An undo never overtakes the effect it undoes: none is sent while the original may still commit, and "
        "none is left behind by "
        "one that did.",
        0,
        "Second seed, How to handle timeouts and stale snapshots",
        compensation.compensation_after_effect,
    ),
    Guarantee(
        compensation.ONCE,
        "One undo per effect, whatever the reruns.",
        0,
        "Second seed, How to handle timeouts and stale snapshots",
        compensation.compensation_once,
    ),
    Guarantee(
        rollback.HALTS,
        "COMPENSATION_FAILED is durable, alerted once, and nothing further of that workflow is done without a person.",
        4,
        "Second seed, What happens when the undo action fails",
        rollback.failed_compensation_halts,
    ),
    Guarantee(
        rollback.RESUMES,
        "A crash in mid-rollback resumes from the last verified undo: none skipped, none done twice.",
        4,
        "Second seed, Why the orchestrator crash is a build blocker",
        rollback.rollback_resumes,
    ),
    Guarantee(
        control.CANCEL,
        "After cancellation no new business effect starts; what was begun before is finished or found out.",
        0,
        "First seed, Cancellation Does Not Erase Transactions",
        control.cancel_fences,
    ),
    Guarantee(
        control.APPROVAL,
        "An effect that needs approval is committed only under one that is granted, for this operation, "
        "unexpired at that moment.",
        0,
        "First seed, Human Approval Can Be Part of Recovery",
        control.approval_valid_at_commit,
    ),
    Guarantee(
        control.FENCED,
        "After its lease is lost a worker causes no effect and no ledger write.",
        0,
        "First seed, Failure Injection Is Mandatory (worker loses lease during reconciliation)",
        control.fenced_worker,
    ),
    Guarantee(
        policy.POLICY,
        "Attempts, automatic compensation, human approval and reconciliation after a timeout are as the "
        "recovery policy says.",
        0,
        "First seed, Make Recovery Policy Explicit",
        policy.policy_obeyed,
    ),
    Guarantee(
        claims.NOTHING_LOST,
        "Acknowledged records never disappear; states move only along the lifecycle table.",
        3,
        "First seed, Use a Transaction Ledger",
        claims.nothing_lost,
    ),
    Guarantee(
        terminals.RIGHT_TERMINAL,
        "Each terminal label means what it says.",
        1,
        "First seed, Recovery Quality Matters More Than Workflow Completion",
        terminals.right_terminal,
    ),
    Guarantee(
        terminals.SETTLES,
        "After faults stop, every workflow reaches a terminal or explicit unresolved state within the limit.",
        0,
        "First seed, UNKNOWN Is Not a Temporary Embarrassment",
        terminals.settles,
    ),
)

GUARANTEES: dict[str, Guarantee] = {row.id: row for row in _ROWS}

assert len(GUARANTEES) == len(_ROWS), "two guarantees share an id"
