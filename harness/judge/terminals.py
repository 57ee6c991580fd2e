"""Guarantees about how a workflow ends.

Here: right-terminal, settles. Never here: single operations against the world; known-state has them.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.judge.ledgers import AuditRow, EffectRow, Ledgers, base, is_committed, is_undo
from harness.judge.verdicts import holds, undecided, violated
from harness.model.lifecycle import TERMINALS, UNRESOLVED, State, WorkflowState
from harness.model.verdict import Verdict
from harness.model.workflow import RecoveryClass

RIGHT_TERMINAL = "right-terminal"
SETTLES = "settles"

_OPERATION_STATES_LEVEL = 3
_TO_RECONCILE = frozenset(
    {State.COMPENSATION_FAILED, State.RECONCILIATION_REQUIRED, State.COMPENSATION_REQUIRED, State.OUTCOME_UNKNOWN}
)
_AT_REST = frozenset({State.PREPARED, State.VERIFIED, State.RECONCILED, State.COMPENSATED, State.IRREVERSIBLE_EFFECT})
"""States in which an operation waits for nothing of its own; PREPARED waits for what blocks it."""
_LIMITS = frozenset({"crossings", "virtual-time", "busy-wait"})
"""Reasons for which a run is cut short that mean: it never came to rest."""

Finding = tuple[str, str, tuple[int, ...]]
"""What a label means, what is found instead, and the events that show it beside the audit."""


def right_terminal(ledgers: Ledgers) -> Verdict:
    """The final label means what it says, by the final ledger's own states and by the world."""
    audit = ledgers.audit
    if audit is None:
        return undecided(RIGHT_TERMINAL)
    if audit.workflow and audit.workflow not in frozenset(WorkflowState):
        return _wrong_label(audit, ("it is one of the workflow states", "it is not", ()))
    test = LABELS.get(audit.workflow)
    finding = test(ledgers, audit) if test is not None else None
    return _wrong_label(audit, finding) if finding is not None else holds(RIGHT_TERMINAL)


def _wrong_label(audit: AuditRow, finding: Finding) -> Verdict:
    meaning, found, events = finding
    return violated(
        RIGHT_TERMINAL,
        "workflow",
        (*events, audit.at),
        let=f"the workflow end {audit.workflow} (event {audit.at})",
        then=meaning,
        but=found,
    )


def _originals(ledgers: Ledgers, audit: AuditRow) -> dict[str, tuple[str, str]] | None:
    """Final states of the workflow's operations, or None at levels that do not show them."""
    if ledgers.level < _OPERATION_STATES_LEVEL:
        return None
    return {name: (row[0], row[1]) for name, row in audit.operations.items() if not is_undo(name)}


def _standing(ledgers: Ledgers) -> list[EffectRow]:
    return [effect for name in ledgers.operations for effect in ledgers.standing(name)]


def _nothing_stands(ledgers: Ledgers) -> Finding | None:
    for effect in _standing(ledgers):
        return ("no effect stands", f"an effect of {effect.subject} does (event {effect.at})", (effect.at,))
    return None


def _completed(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    states = _originals(ledgers, audit)
    for name in ledgers.operations:
        if states is not None:
            state, resolution = states.get(name, ("not in the ledger", ""))
            if not is_committed(state, resolution):
                return (
                    "every operation is VERIFIED or RECONCILED committed",
                    f"{name} is {state} {resolution}".rstrip(),
                    (),
                )
        elif not ledgers.standing(name) and ledgers.outside_undo(name) is None:
            return ("every operation has its effect", f"{name} has none that stands", ())
    return None


def _clean(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    undone = [name for name, (state, _) in (_originals(ledgers, audit) or {}).items() if state == State.COMPENSATED]
    if undone:
        return ("nothing was ever done", f"{undone[0]} was done and compensated", ())
    if ledgers.level < _OPERATION_STATES_LEVEL and (undo := _own_undo(ledgers)) is not None:
        return (
            "nothing was ever done",
            f"{base(undo.subject)} was done and undone (event {undo.at})",
            (undo.at,),
        )
    return _nothing_stands(ledgers)


def _own_undo(ledgers: Ledgers) -> EffectRow | None:
    return next((effect for effect in ledgers.effects if is_undo(effect.subject)), None)


def _compensated(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    states = _originals(ledgers, audit)
    if states is not None and all(state != State.COMPENSATED for state, _ in states.values()):
        return ("at least one operation was compensated", "none is COMPENSATED", ())
    if states is None and not ledgers.undone:
        return ("at least one effect was undone", "none was", ())
    return _nothing_stands(ledgers)


def _reconciled(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    states = _originals(ledgers, audit)
    if states is not None and all(state != State.RECONCILED for state, _ in states.values()):
        return ("at least one operation was reconciled", "none is RECONCILED", ())
    return _nothing_stands(ledgers)


def _irreversible(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    states = _originals(ledgers, audit)
    for effect in _standing(ledgers):
        if not _is_irreversible(ledgers, states, effect.subject):
            return (
                "only irreversible effects stand",
                f"{effect.subject} does too (event {effect.at})",
                (effect.at,),
            )
    if states is not None:
        found = any(state == State.IRREVERSIBLE_EFFECT for state, _ in states.values())
    else:
        found = bool(_standing(ledgers))
    return None if found else ("an irreversible effect stands", "there is none", ())


def _is_irreversible(ledgers: Ledgers, states: dict[str, tuple[str, str]] | None, name: str) -> bool:
    if states is not None:
        return states.get(name, ("", ""))[0] == State.IRREVERSIBLE_EFFECT
    operation = ledgers.operations[name]
    return operation.undo is None or operation.recovery_class is RecoveryClass.IRREVERSIBLE


def _to_reconcile(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    return _some_operation_in(_TO_RECONCILE, ledgers, audit)


def _unknown(ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    return _some_operation_in(UNRESOLVED, ledgers, audit)


def _some_operation_in(states: frozenset[State], ledgers: Ledgers, audit: AuditRow) -> Finding | None:
    if ledgers.level < _OPERATION_STATES_LEVEL or any(row[0] in states for row in audit.operations.values()):
        return None
    return (f"some operation is {', '.join(sorted(states))}", "none is", ())


LABELS: dict[str, Callable[[Ledgers, AuditRow], Finding | None]] = {
    WorkflowState.COMPLETED: _completed,
    WorkflowState.FAILED_CLEAN: _clean,
    WorkflowState.FAILED_COMPENSATED: _compensated,
    WorkflowState.FAILED_RECONCILED: _reconciled,
    WorkflowState.FAILED_WITH_IRREVERSIBLE_EFFECT: _irreversible,
    WorkflowState.FAILED_RECONCILIATION_REQUIRED: _to_reconcile,
    WorkflowState.UNKNOWN: _unknown,
}
assert set(LABELS) == TERMINALS, "every terminal label has a meaning"


def settles(ledgers: Ledgers) -> Verdict:
    """After faults stop the workflow is at an end, or at rest with everything open declared and a person called."""
    audit = ledgers.audit
    if audit is None:
        return _never_rested(ledgers) if ledgers.cut_short in _LIMITS else undecided(SETTLES)
    if audit.workflow in TERMINALS or _was_never_accepted(ledgers, audit):
        return holds(SETTLES)
    why = _restless(ledgers, audit)
    if why is None:
        return holds(SETTLES)
    return violated(
        SETTLES,
        "workflow",
        (audit.at,),
        let="faults stop and recovery have its rounds",
        then="the workflow ends, or rests with everything open declared and a person called",
        but=f"it is {audit.workflow or 'nowhere'} (event {audit.at}) and {why}",
    )


def _was_never_accepted(ledgers: Ledgers, audit: AuditRow) -> bool:
    """A submission that never became durable leaves nothing to settle; one that was claimed and is gone is lost, not
    settled.
    """
    return not audit.workflow and not audit.operations and not ledgers.claims and not ledgers.sends


def _restless(ledgers: Ledgers, audit: AuditRow) -> str | None:
    if not ledgers.is_quiet:
        return "recovery still had something to do"
    if not ledgers.alerts:
        return "nobody was called"
    if ledgers.level < _OPERATION_STATES_LEVEL:
        return None
    states = {name: row[0] for name, row in audit.operations.items()}
    for name, state in states.items():
        if state not in _AT_REST and state not in UNRESOLVED:
            return f"{name} is {state}, which is not declared unresolved"
    return None if any(state in UNRESOLVED for state in states.values()) else "no operation is declared unresolved"


def _never_rested(ledgers: Ledgers) -> Verdict:
    last = ledgers.events[-1].index
    return violated(
        SETTLES,
        "workflow",
        (last,),
        let="faults stop and recovery have its rounds",
        then="the workflow comes to rest within the limits of the run",
        but=f"the run reached its limit of {ledgers.cut_short} (event {last})",
    )
