"""Boundaries: named crossings at which control or certainty can be lost.

A boundary's id is its path, `workflow/subject/step/phase`, for instance `onboarding/billing.charge/attempt-1/committed`.
`subject` is an operation id (`undo.` + id for its compensation) or `workflow`; `step` names what is being done and how often it has
been done for this subject in this run (`attempt-2`, `lookup-1`, `prepare`). It is never an ordinal of the run: the same step keeps
its name when something before it changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """The seven phases of an external call, and the three of a ledger transaction."""

    BEFORE_INTENT = "before-intent"
    INTENT_RECORDED = "intent-recorded"
    SENT = "sent"
    DELIVERED = "delivered"
    COMMITTED = "committed"
    ACKNOWLEDGED = "acknowledged"
    RECORDED = "recorded"
    BEFORE_COMMIT = "before-commit"
    IN_COMMIT = "in-commit"
    AFTER_COMMIT = "after-commit"


CALL_PHASES = (
    Phase.BEFORE_INTENT,
    Phase.INTENT_RECORDED,
    Phase.SENT,
    Phase.DELIVERED,
    Phase.COMMITTED,
    Phase.ACKNOWLEDGED,
    Phase.RECORDED,
)
LEDGER_PHASES = (Phase.BEFORE_COMMIT, Phase.IN_COMMIT, Phase.AFTER_COMMIT)


class Purpose(StrEnum):
    """Why a call is made. Only EFFECT and UNDO change the world; APPROVE changes the approval queue; the others observe."""

    EFFECT = "effect"
    UNDO = "undo"
    LOOKUP = "lookup"
    VERIFY = "verify"
    APPROVE = "approve"
    WRITE = "write"
    """Not a call: a transaction of the candidate's own ledger."""


OBSERVING = (Purpose.LOOKUP, Purpose.VERIFY)

STEP_NAMES: dict[Purpose, str] = {
    Purpose.EFFECT: "attempt",
    Purpose.UNDO: "attempt",
    Purpose.LOOKUP: "lookup",
    Purpose.VERIFY: "verify",
    Purpose.APPROVE: "approval",
}
"""The step's name by purpose; the rig appends the occurrence: `lookup-2`."""

UNDO_PREFIX = "undo."
WORKFLOW_SUBJECT = "workflow"
_SEGMENT = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")


@dataclass(frozen=True, slots=True, order=True)
class Boundary:
    """One boundary. `str(boundary)` is its path and `Boundary.parse` its inverse."""

    workflow: str
    subject: str
    step: str
    phase: Phase

    def __str__(self) -> str:
        return f"{self.workflow}/{self.subject}/{self.step}/{self.phase.value}"

    @classmethod
    def parse(cls, text: str) -> Boundary:
        """Read a path. Raises ValueError with the offending part when it is not one."""
        parts = text.split("/")
        if len(parts) != 4:
            raise ValueError(f"{text!r} is not workflow/subject/step/phase")
        for part in parts[:3]:
            if not _SEGMENT.match(part):
                raise ValueError(f"{part!r} in {text!r} is not a lower-case name")
        try:
            phase = Phase(parts[3])
        except ValueError:
            known = ", ".join(p.value for p in Phase)
            raise ValueError(f"{parts[3]!r} is no phase; the phases are {known}") from None
        return cls(parts[0], parts[1], parts[2], phase)


@dataclass(frozen=True, slots=True)
class Site:
    """A boundary with what must be known of it to decide which faults fit: discovered by running, never written by hand."""

    path: str
    phase: Phase
    purpose: Purpose
    provider: str
    """Provider name, or "" for a ledger transaction."""
    subject: str
    """Operation id, `undo.` + operation id, or `workflow`."""
