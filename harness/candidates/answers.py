"""What a candidate answers, checked against the contract before anybody relies on it."""

from __future__ import annotations

from typing import Any

from harness.model.claim import LedgerView
from harness.model.errors import CandidateError
from harness.model.lifecycle import Resolution, State, WorkflowState

_WORKFLOW_WORDS = frozenset(("", *(state.value for state in WorkflowState)))
_STATE_WORDS = frozenset(state.value for state in State)
_RESOLUTION_WORDS = frozenset(resolution.value for resolution in Resolution)


def ledger_view(value: Any, where: str, after: str = "") -> LedgerView:
    """`value`, if it is a LedgerView whose words are those of the lifecycle. Raises CandidateError naming what is not."""
    wrong = _wrong(value)
    if not wrong:
        assert isinstance(value, LedgerView), "nothing is wrong with it"
        return value
    raise CandidateError(
        f"The candidate's ledger() broke the contract: {wrong}{f' ({after})' if after else ''}.",
        where=where,
        next_step="ledger(workflow_id) must return harness.model.claim.LedgerView: the workflow's state, and for each operation "
        "(state, resolution), in the words of harness.model.lifecycle.",
    )


def _wrong(value: Any) -> str:
    if not isinstance(value, LedgerView):
        return f"it answered {type(value).__name__} instead of a LedgerView"
    if not isinstance(value.workflow, str) or value.workflow not in _WORKFLOW_WORDS:
        return f"{value.workflow!r} is no state of a workflow"
    if not isinstance(value.operations, dict):
        return f"its operations are a {type(value.operations).__name__}, not a dict"
    for name, entry in value.operations.items():
        if not isinstance(name, str) or not isinstance(entry, tuple) or len(entry) != 2:
            return f"the entry {name!r}: {entry!r} is not operation id: (state, resolution)"
        state, resolution = entry
        if state not in _STATE_WORDS:
            return f"{state!r} of {name} is no state of an operation"
        if resolution not in _RESOLUTION_WORDS:
            return f"{resolution!r} of {name} is no resolution"
    return ""
