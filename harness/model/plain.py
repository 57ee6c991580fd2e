"""Scenarios as plain data and back: the form in which they stand in a history's header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from harness.model.cell import Cell
from harness.model.workflow import (
    Approver,
    Expectation,
    Limits,
    Operation,
    RecoveryClass,
    RecoveryPolicy,
    Scenario,
    ScenarioKind,
    Workflow,
)


def to_plain(value: Any) -> Any:
    """A value of the model as dicts, lists, strings and numbers; cells as their text, sets sorted."""
    if isinstance(value, Cell):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(to_plain(v) for v in value)
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    return value


def scenario_from_plain(data: Mapping[str, Any]) -> Scenario:
    """The inverse of `to_plain` for a scenario. Raises KeyError, TypeError or ValueError on data of another shape."""
    return Scenario(
        id=data["id"],
        title=data["title"],
        why=data["why"],
        kind=ScenarioKind(data["kind"]),
        workflow=workflow_from_plain(data["workflow"]),
        cells={name: Cell.parse(text) for name, text in data["cells"].items()},
        source=data["source"],
        faults=frozenset(data["faults"]),
        guarantees=tuple(data["guarantees"]),
        rigs=tuple(data["rigs"]),
        always_declined=tuple(data["always_declined"]),
        approver=Approver(**data["approver"]),
        limits=Limits(**data["limits"]),
        schedule=data["schedule"],
        expect=Expectation(data["expect"]),
        seed=data["seed"],
        path=data["path"],
    )


def workflow_from_plain(data: Mapping[str, Any]) -> Workflow:
    """The inverse of `to_plain` for a workflow. Raises KeyError, TypeError or ValueError on data of another shape."""
    operations = tuple(_operation(op) for op in data["operations"])
    return Workflow(data["id"], operations, data["intent_id"], data["intent_version"])


def _operation(data: Mapping[str, Any]) -> Operation:
    plain = dict(data)
    plain["recovery_class"] = RecoveryClass(plain["recovery_class"])
    plain["depends_on"] = tuple(plain["depends_on"])
    plain["must_compensate_before"] = tuple(plain["must_compensate_before"])
    plain["policy"] = RecoveryPolicy(**plain["policy"])
    return Operation(**plain)
