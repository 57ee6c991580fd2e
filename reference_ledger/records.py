"""What a driving worker holds in memory of one workflow: a copy of durable rows, thrown away whenever there is doubt about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.model.boundary import UNDO_PREFIX
from harness.model.lifecycle import SETTLED_WITH_EFFECT, UNRESOLVED, Resolution, State, WorkflowState
from harness.model.workflow import Operation, Workflow


@dataclass(slots=True)
class Record:
    """One operation as the ledger knows it. `op` is the operation it carries out (for an undo: the operation it undoes)."""

    id: str
    op: Operation
    key: str
    position: int
    state: State = State.PREPARED
    resolution: str = ""
    attempts: int = 0
    doubted: int = 0
    """1 while an earlier attempt of it may still have had, or have, an effect nobody has observed."""
    not_after: int = 0
    first_sent: int = 0
    observations: int = 0
    approval: str = ""
    approval_expires: int = 0
    approval_round: int = 0
    reference: str = ""
    not_before: int = 0

    @property
    def is_undo(self) -> bool:
        return self.id.startswith(UNDO_PREFIX)

    @property
    def action(self) -> str:
        action = self.op.undo if self.is_undo else self.op.action
        assert action is not None, f"{self.id} has no undo"
        return action

    @property
    def attempts_max(self) -> int:
        policy = self.op.policy
        return policy.compensation_attempts_max if self.is_undo else policy.attempts_max

    @property
    def stands(self) -> bool:
        """Does the ledger hold that the effect is there, verified or reconciled?"""
        return self.state in SETTLED_WITH_EFFECT or (
            self.state is State.RECONCILED and self.resolution == Resolution.COMMITTED.value
        )

    @property
    def is_absent(self) -> bool:
        return self.state is State.RECONCILED and self.resolution == Resolution.NOT_COMMITTED.value

    @property
    def is_unresolved(self) -> bool:
        return self.state in UNRESOLVED


@dataclass(slots=True)
class Flow:
    """One workflow under this worker's lease. `token` is the fencing token of that lease."""

    workflow: Workflow
    state: WorkflowState
    token: int
    lease_until: int
    cancelled: int = 0
    failed: int = 0
    records: dict[str, Record] = field(default_factory=dict)
    owner: str = ""
    """The worker that holds the lease, by name."""

    @property
    def id(self) -> str:
        return self.workflow.id

    @property
    def is_over(self) -> bool:
        """Cancelled or failed: nothing new is started; what stands is undone."""
        return bool(self.cancelled or self.failed)

    def originals(self) -> list[Record]:
        """The operations of the workflow, in the author's order; undos are not among them."""
        return [self.records[op.id] for op in self.workflow.operations]

    def undo_of(self, record: Record) -> Record | None:
        return self.records.get(record.op.undo_id)

    def original_of(self, undo: Record) -> Record:
        return self.records[undo.op.id]


@dataclass(frozen=True, slots=True)
class Move:
    """One transition of one record within a transaction."""

    record: Record
    to: State
    reason: str = ""
    resolution: str = ""
