"""Rules between the keys of a scenario file: names that exist, orders without cycles, effects that are distinct.

Here: what pydantic cannot say about one key alone. Each check raises UsageError at the first breach, with the line.
Never here: types and bounds of single keys (models).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.model.boundary import UNDO_PREFIX, WORKFLOW_SUBJECT, Boundary
from harness.model.errors import UsageError
from harness.model.schedule import Schedule
from harness.model.workflow import RecoveryClass
from harness.scenario_files.known import KNOWN_ACTIONS, advice, guarantee_ids
from harness.scenario_files.models import OperationForm, ScenarioForm
from harness.scenario_files.yaml_text import Document, KeyPath

_OPERATIONS: KeyPath = ("workflow", "operations")


def check_form(form: ScenarioForm, document: Document) -> None:
    """Every rule but the ones that need the resolved targets."""
    operations = form.workflow.operations
    for operation_id in operations:
        _check_id(operation_id, document)
    for operation_id, operation in operations.items():
        _check_action(operation_id, operation, document)
        _check_neighbours(operation_id, operation, operations, document)
    _refuse_cycle("after", {name: op.after for name, op in operations.items()}, document)
    _refuse_cycle("undo-before", {name: op.undo_before for name, op in operations.items()}, document)
    _check_cells(form, document)
    _check_declined(form, document)
    _check_lists(form, document)
    _check_schedule(form, document)


def check_effects_differ(targets: Mapping[str, str], form: ScenarioForm, document: Document) -> None:
    """No two operations do the same to the same target: an effect then could not be told to one of them."""
    seen: dict[tuple[str, str, str], str] = {}
    for operation_id, operation in form.workflow.operations.items():
        effect = (operation.provider, operation.action, targets[operation_id])
        if effect in seen:
            raise UsageError(
                f"`{seen[effect]}` and `{operation_id}` both do {operation.provider} {operation.action} "
                f"to {targets[operation_id]!r}; their effects could not be told apart.",
                where=document.where(*_OPERATIONS, operation_id, "target"),
                next_step="Give each operation a target of its own.",
            )
        seen[effect] = operation_id


def _check_id(operation_id: str, document: Document) -> None:
    if operation_id == WORKFLOW_SUBJECT or operation_id.startswith(UNDO_PREFIX):
        raise UsageError(
            f"The operation id {operation_id!r} is taken: boundary paths use `{WORKFLOW_SUBJECT}` for the workflow "
            f"and `{UNDO_PREFIX}ID` for the undo of ID.",
            where=document.where(*_OPERATIONS, operation_id),
            next_step="Choose another id.",
        )


def _check_action(operation_id: str, operation: OperationForm, document: Document) -> None:
    at = (*_OPERATIONS, operation_id)
    provider, action, undo = operation.provider, operation.action, operation.undo
    if provider not in KNOWN_ACTIONS:
        raise _unknown("provider", provider, KNOWN_ACTIONS, document.where(*at, "provider"), "Providers")
    actions = KNOWN_ACTIONS[provider]
    if action not in actions:
        raise _unknown(f"action of {provider}", action, actions, document.where(*at, "action"), "Its actions")
    known_undo = [name for name in (actions[action],) if name]
    if undo is not None and undo not in known_undo:
        where = document.where(*at, "undo")
        raise _unknown(f"undo of {provider} {action}", undo, known_undo, where, "Its undo")
    if undo is not None and operation.recovery is RecoveryClass.IRREVERSIBLE:
        raise UsageError(
            f"`{operation_id}` is irreversible and has the undo {undo!r}; it cannot be both.",
            where=document.where(*at, "undo"),
            next_step="Remove the undo, or call the operation compensatable.",
        )


def _check_neighbours(
    operation_id: str, operation: OperationForm, operations: Mapping[str, OperationForm], document: Document
) -> None:
    for key, names in (("after", operation.after), ("undo-before", operation.undo_before)):
        path = (*_OPERATIONS, operation_id, key)
        _refuse_repeats(names, path, document)
        for index, name in enumerate(names):
            if name not in operations:
                where = document.where(*path, index)
                raise _unknown(f"operation (in `{key}` of `{operation_id}`)", name, operations, where, "Operations")


def _refuse_cycle(key: str, edges: Mapping[str, Sequence[str]], document: Document) -> None:
    cycle = find_cycle(edges)
    if cycle:
        raise UsageError(
            f"`{key}` goes in a circle: {' -> '.join(cycle)}.",
            where=document.where(*_OPERATIONS, cycle[0], key),
            next_step=f"Remove one of these from `{key}`: none of them could ever be first.",
        )


def find_cycle(edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """One cycle, its first name repeated at its end, or () without one. No recursion: it may be one long chain."""
    done: set[str] = set()
    for start in edges:
        trail = {} if start in done else {start: iter(edges[start])}
        while trail:
            name = next(reversed(trail))
            step = next((following for following in trail[name] if following not in done), None)
            if step is None:
                done.add(name)
                del trail[name]
            elif step in trail:
                names = list(trail)
                return (*names[names.index(step) :], step)
            else:
                trail[step] = iter(edges[step])
    return ()


def _check_cells(form: ScenarioForm, document: Document) -> None:
    used = dict.fromkeys(operation.provider for operation in form.workflow.operations.values())
    for provider in form.cells:
        if provider not in used:
            where = document.where("cells", provider)
            raise _unknown("provider of this workflow (in `cells`)", provider, used, where, "Providers it uses")
    for provider in used:
        if provider not in form.cells:
            raise UsageError(
                f"`cells` says nothing of the provider {provider!r}, which the workflow uses.",
                where=document.where("cells"),
                next_step=f"Add `{provider}: honoured.authoritative.prompt`, or the cell you mean.",
            )


def _check_declined(form: ScenarioForm, document: Document) -> None:
    operations = form.workflow.operations
    _refuse_repeats(form.always_declined, ("always-declined",), document)
    for index, name in enumerate(form.always_declined):
        where = document.where("always-declined", index)
        operation_id = name.removeprefix(UNDO_PREFIX)
        if operation_id not in operations:
            raise _unknown("operation (in `always-declined`)", name, operations, where, "Operations")
        if name.startswith(UNDO_PREFIX) and operations[operation_id].undo is None:
            raise UsageError(
                f"`always-declined` names {name!r}, and `{operation_id}` has no undo.",
                where=where,
                next_step=f"Give `{operation_id}` an undo, or remove the line.",
            )


def _check_lists(form: ScenarioForm, document: Document) -> None:
    _refuse_repeats(form.rigs, ("rigs",), document)
    if form.faults != "all":
        _refuse_repeats([fault.value for fault in form.faults], ("faults",), document)
    if form.guarantees != "all":
        _refuse_repeats(form.guarantees, ("guarantees",), document)
        known = guarantee_ids()
        for index, name in enumerate(form.guarantees):
            if name not in known:
                raise _unknown("guarantee", name, known, document.where("guarantees", index), "Guarantees")


def _check_schedule(form: ScenarioForm, document: Document) -> None:
    if not form.schedule:
        return
    where = document.where("schedule")
    try:
        schedule = Schedule.parse(form.schedule)
    except UsageError as error:
        raise UsageError(error.what, where=where, next_step=error.next_step) from None
    if schedule.scenario != form.id:
        raise _foreign(f"the scenario {schedule.scenario!r}", f"this one is {form.id!r}", where)
    subjects = {WORKFLOW_SUBJECT, *form.workflow.operations, *(UNDO_PREFIX + name for name in form.workflow.operations)}
    for injection in schedule.injections:
        boundary = Boundary.parse(injection.boundary)
        if boundary.workflow != form.id:
            raise _foreign(f"the workflow {boundary.workflow!r}", f"this one is {form.id!r}", where)
        if boundary.subject not in subjects:
            raise _unknown("operation (in `schedule`)", boundary.subject, form.workflow.operations, where, "Operations")


def _foreign(named: str, ours: str, where: str) -> UsageError:
    return UsageError(
        f"The pinned schedule names {named}, and {ours}.",
        where=where,
        next_step="Pin a schedule that a report of this scenario shows.",
    )


def _refuse_repeats(names: Sequence[str], path: KeyPath, document: Document) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise UsageError(
                f"{name!r} stands twice in `{path[-1]}`.",
                where=document.where(*path, index),
                next_step="Remove one of the two.",
            )


def _unknown(noun: str, name: str, known: Iterable[str], where: str, list_noun: str) -> UsageError:
    return UsageError(f"There is no {noun} {name!r}.", where=where, next_step=advice(name, known, noun=list_noun))
