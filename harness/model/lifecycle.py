"""The lifecycle of an operation and of a workflow, as tables.

Theory. An operation is a promise about one side effect. Before anything leaves the process its recovery semantics are durable
(PREPARED), then its intention (COMMITTING). What comes back is evidence about the request, not about the world: an acknowledgement
makes it COMMITTED, anything that leaves doubt makes it OUTCOME_UNKNOWN, a definite refusal puts it back to PREPARED (to be tried
again) or, when it shall not be tried again, to RECONCILED with the resolution `not-committed`. Only an observation of the world makes
it VERIFIED or RECONCILED. Undoing it is another operation with a lifecycle of its own; the original walks COMPENSATION_REQUIRED,
COMPENSATING, COMPENSATED beside it. Whatever cannot be established ends in RECONCILIATION_REQUIRED, COMPENSATION_FAILED or
IRREVERSIBLE_EFFECT, in which it stays until a person acts. The judge and the reference ledger read this one table; the diagrams in
the docs are drawn from it. Source: first seed, "A Production Transaction Lifecycle" and "Use a Transaction Ledger".
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    PREPARED = "PREPARED"
    COMMITTING = "COMMITTING"
    COMMITTED = "COMMITTED"
    VERIFYING = "VERIFYING"
    VERIFIED = "VERIFIED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    COMPENSATION_REQUIRED = "COMPENSATION_REQUIRED"
    COMPENSATING = "COMPENSATING"
    COMPENSATED = "COMPENSATED"
    COMPENSATION_FAILED = "COMPENSATION_FAILED"
    RECONCILIATION_REQUIRED = "RECONCILIATION_REQUIRED"
    RECONCILED = "RECONCILED"
    IRREVERSIBLE_EFFECT = "IRREVERSIBLE_EFFECT"


class Resolution(StrEnum):
    """What a RECONCILED operation was found to be."""

    NONE = ""
    COMMITTED = "committed"
    NOT_COMMITTED = "not-committed"


class WorkflowState(StrEnum):
    """RUNNING and RECOVERING are driven by somebody; the others are terminal labels (first seed, "Recovery Quality")."""

    RUNNING = "RUNNING"
    RECOVERING = "RECOVERING"
    COMPLETED = "COMPLETED"
    FAILED_CLEAN = "FAILED_CLEAN"
    FAILED_COMPENSATED = "FAILED_COMPENSATED"
    FAILED_RECONCILED = "FAILED_RECONCILED"
    FAILED_WITH_IRREVERSIBLE_EFFECT = "FAILED_WITH_IRREVERSIBLE_EFFECT"
    FAILED_RECONCILIATION_REQUIRED = "FAILED_RECONCILIATION_REQUIRED"
    UNKNOWN = "UNKNOWN"


_S = State

TRANSITIONS: dict[State, frozenset[State]] = {
    _S.PREPARED: frozenset({_S.COMMITTING, _S.RECONCILED}),
    _S.COMMITTING: frozenset({_S.COMMITTED, _S.OUTCOME_UNKNOWN, _S.PREPARED, _S.RECONCILED}),
    _S.COMMITTED: frozenset({_S.VERIFYING}),
    _S.VERIFYING: frozenset({_S.VERIFIED, _S.OUTCOME_UNKNOWN, _S.RECONCILIATION_REQUIRED}),
    _S.OUTCOME_UNKNOWN: frozenset({_S.COMMITTING, _S.RECONCILED, _S.RECONCILIATION_REQUIRED}),
    _S.RECONCILED: frozenset({_S.PREPARED, _S.COMPENSATION_REQUIRED, _S.IRREVERSIBLE_EFFECT}),
    _S.VERIFIED: frozenset({_S.COMPENSATION_REQUIRED, _S.IRREVERSIBLE_EFFECT}),
    _S.COMPENSATION_REQUIRED: frozenset({_S.COMPENSATING, _S.RECONCILIATION_REQUIRED}),
    _S.COMPENSATING: frozenset({_S.COMPENSATED, _S.COMPENSATION_FAILED}),
    _S.COMPENSATION_FAILED: frozenset({_S.COMPENSATION_REQUIRED, _S.RECONCILED}),
    _S.RECONCILIATION_REQUIRED: frozenset({_S.RECONCILED, _S.COMPENSATION_REQUIRED}),
    _S.COMPENSATED: frozenset(),
    _S.IRREVERSIBLE_EFFECT: frozenset(),
}

INITIAL = State.PREPARED

SETTLED_WITH_EFFECT = frozenset({_S.VERIFIED, _S.IRREVERSIBLE_EFFECT})
"""States that claim the effect stands, verified. RECONCILED does so when its resolution is `committed`."""
UNRESOLVED = frozenset({_S.OUTCOME_UNKNOWN, _S.RECONCILIATION_REQUIRED, _S.COMPENSATION_FAILED})
"""Explicit unresolved states: they block progress and wait for an observation or a person."""
IN_RECOVERY = frozenset({_S.COMPENSATION_REQUIRED, _S.COMPENSATING})
"""On a durable recovery path that will be driven."""

TERMINALS = frozenset(WorkflowState) - {WorkflowState.RUNNING, WorkflowState.RECOVERING}
UNRESOLVED_TERMINALS = frozenset({WorkflowState.FAILED_RECONCILIATION_REQUIRED, WorkflowState.UNKNOWN})


class IllegalTransition(Exception):
    """A pair that is not in the table. Nothing was changed."""

    def __init__(self, old: State, new: State) -> None:
        allowed = ", ".join(sorted(TRANSITIONS[old])) or "none: it is final"
        super().__init__(f"{old} -> {new} is not in the lifecycle table (allowed from {old}: {allowed})")
        self.old = old
        self.new = new


def advance(old: State, new: State) -> State:
    """The one function that applies the table. Raises IllegalTransition for an unlisted pair."""
    if new not in TRANSITIONS[old]:
        raise IllegalTransition(old, new)
    return new


assert set(TRANSITIONS) == set(State), "every state has a row"
