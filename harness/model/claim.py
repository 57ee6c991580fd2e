"""Claims: what the candidate says happened; and effects: what the provider saw happen, the ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

OperationId = NewType("OperationId", str)
EffectId = NewType("EffectId", str)
RunId = NewType("RunId", str)
WorkerId = NewType("WorkerId", str)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of the candidate's durable ledger.

    `subject` is an operation id, `undo.` + id, or `workflow`; `state` an operation State, or a WorkflowState when the subject is
    `workflow`; `was` the state before ("" when new); `resolution` only with RECONCILED; `reason` free text for people.
    """

    subject: str
    state: str
    was: str = ""
    resolution: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LedgerView:
    """What the candidate's ledger says at the end: state and resolution of every operation (undos included), and of the workflow."""

    workflow: str
    operations: dict[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Effect:
    """One change of the world. `undoes` is the effect it neutralises, or None; `operation` the marker the request carried.

    `call` is the call that caused it ("" for an outside actor), `delivery` which copy of that call (1 unless duplicated).
    """

    effect: EffectId
    provider: str
    action: str
    target: str
    operation: str
    key: str
    call: str
    delivery: int = 1
    undoes: EffectId | None = None
