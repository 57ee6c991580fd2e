"""What is to be done: a workflow of operations with their recovery semantics, and the scenario around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from harness.model.boundary import UNDO_PREFIX
from harness.model.cell import SECOND_NS, Cell


class RecoveryClass(StrEnum):
    REVERSIBLE = "reversible"
    COMPENSATABLE = "compensatable"
    IRREVERSIBLE = "irreversible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """Recovery policy as data, outside the candidate's reach (first seed, "Make Recovery Policy Explicit")."""

    attempts_max: int = 3
    """Most sends of one operation, first included."""
    automatic_compensation_allowed: bool = True
    human_approval_required: bool = False
    compensation_attempts_max: int = 3
    reconciliation_required_after_timeout: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """One logical side effect. `target` is its own business target: no two operations of a workflow share one."""

    id: str
    provider: str
    action: str
    target: str
    params: Mapping[str, str | int]
    recovery_class: RecoveryClass
    undo: str | None = None
    """The provider's action that compensates this one, or None when there is none."""
    depends_on: tuple[str, ...] = ()
    must_compensate_before: tuple[str, ...] = ()
    """Operations that may be undone only after this one has been."""
    policy: RecoveryPolicy = field(default_factory=RecoveryPolicy)

    @property
    def undo_id(self) -> str:
        """The id of the operation that compensates this one."""
        return UNDO_PREFIX + self.id


@dataclass(frozen=True, slots=True)
class Workflow:
    """Operations in the order the author wrote them; dependencies, not the order, decide what may start."""

    id: str
    operations: tuple[Operation, ...]
    intent_id: str = "intent"
    intent_version: int = 1

    def operation(self, operation_id: str) -> Operation:
        """The operation of this id. Raises KeyError."""
        for op in self.operations:
            if op.id == operation_id:
                return op
        raise KeyError(operation_id)


class ScenarioKind(StrEnum):
    WORKFLOW = "workflow"
    BOUNDARY = "boundary"
    STORY = "story"


class Expectation(StrEnum):
    HOLDS = "holds"
    VIOLATION = "violation"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; reaching one is an outcome, not a hang."""

    crossings_max: int = 4000
    virtual_time_max_ns: int = 7 * 24 * 3600 * SECOND_NS
    settle_rounds_max: int = 6


@dataclass(frozen=True, slots=True)
class Approver:
    """What the people do who decide approvals: `approves` or `denies`, after `think_ns`; an approval lasts `valid_ns`."""

    decision: str = "approves"
    think_ns: int = 2 * SECOND_NS
    valid_ns: int = 600 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story: workflow, provider cells, what may go wrong, what must hold. Values only; scenario files are read elsewhere."""

    id: str
    title: str
    why: str
    kind: ScenarioKind
    workflow: Workflow
    cells: Mapping[str, Cell]
    """Provider name -> cell, one for each provider the workflow uses."""
    source: str = ""
    faults: frozenset[str] = frozenset()
    """Names of the faults allowed; empty: all that apply."""
    guarantees: tuple[str, ...] = ()
    """Ids to judge; empty: all."""
    rigs: tuple[str, ...] = ("simulation",)
    always_declined: tuple[str, ...] = ()
    """Operations (or `undo.` ids) the provider always refuses for a business reason: the way to a rollback without a fault."""
    approver: Approver = field(default_factory=Approver)
    limits: Limits = field(default_factory=Limits)
    schedule: str = ""
    """A pinned schedule line, or "" to explore."""
    expect: Expectation = Expectation.HOLDS
    seed: int = 0
    path: str = ""
    """The file it was read from, for messages."""
