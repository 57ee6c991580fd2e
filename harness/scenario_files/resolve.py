"""From a checked form to the model's values.

Here: the correspondence of the file's keys to the fields of `Scenario`, and the business targets. Never here:
refusals (checks).
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cell import Cell
from harness.model.workflow import Approver, Limits, Operation, RecoveryPolicy, Scenario, Workflow
from harness.scenario_files.durations import duration_ns
from harness.scenario_files.models import CellForm, OperationForm, PolicyForm, ScenarioForm


def targets_of(form: ScenarioForm, seed: int) -> dict[str, str]:
    """Operation id -> business target: as written, or made up from `seed` and the operation's id."""
    return {name: _target(name, operation, seed) for name, operation in form.workflow.operations.items()}


def scenario_of(form: ScenarioForm, *, targets: Mapping[str, str], seed: int, path: str) -> Scenario:
    """The scenario a checked form describes. `all` becomes empty, which is the model's word for it."""
    return Scenario(
        id=form.id,
        title=form.title,
        why=form.why,
        kind=form.kind,
        workflow=_workflow(form, targets),
        cells={provider: _cell(cell) for provider, cell in form.cells.items()},
        source=form.source,
        faults=frozenset() if form.faults == "all" else frozenset(fault.value for fault in form.faults),
        guarantees=() if form.guarantees == "all" else tuple(form.guarantees),
        rigs=tuple(form.rigs),
        always_declined=tuple(form.always_declined),
        approver=Approver(form.approver.decision, duration_ns(form.approver.thinks), duration_ns(form.approver.valid)),
        limits=Limits(form.limits.crossings, duration_ns(form.limits.virtual_time), form.limits.settle_rounds),
        schedule=form.schedule,
        expect=form.expect,
        seed=seed,
        path=path,
    )


def _target(operation_id: str, operation: OperationForm, seed: int) -> str:
    if isinstance(operation.target, str):
        return operation.target
    from fakes.core.targets import business_target

    return business_target(operation.target.faker, seed, operation_id)


def _workflow(form: ScenarioForm, targets: Mapping[str, str]) -> Workflow:
    operations = tuple(_operation(name, op, targets[name]) for name, op in form.workflow.operations.items())
    return Workflow(form.id, operations, form.workflow.intent.id, form.workflow.intent.version)


def _operation(operation_id: str, form: OperationForm, target: str) -> Operation:
    return Operation(
        id=operation_id,
        provider=form.provider,
        action=form.action,
        target=target,
        params=dict(form.params),
        recovery_class=form.recovery,
        undo=form.undo,
        depends_on=tuple(form.after),
        must_compensate_before=tuple(form.undo_before),
        policy=_policy(form.policy),
    )


def _policy(form: PolicyForm) -> RecoveryPolicy:
    return RecoveryPolicy(
        attempts_max=form.attempts,
        automatic_compensation_allowed=form.automatic_compensation,
        human_approval_required=form.approval,
        compensation_attempts_max=form.compensation_attempts,
        reconciliation_required_after_timeout=form.reconcile_after_timeout,
    )


def _cell(form: str | CellForm) -> Cell:
    return Cell.parse(form) if isinstance(form, str) else Cell(form.key, form.lookup, form.delivery)
