"""How steps get their names: the same on every rig, so that a schedule line means the same run everywhere.

A step's name says what is done and how often it was done for this subject in this run: `attempt-2`, `lookup-1`, `prepare`. Whose
step it is is decided by the workflow (provider, action, target), not by what the candidate writes on its request.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from harness.model.boundary import STEP_NAMES, UNDO_PREFIX, WORKFLOW_SUBJECT, Phase, Purpose
from harness.model.wire import Request
from harness.model.workflow import Workflow

STRAY_SUBJECT = "stray"
INSIDE = {
    Phase.BEFORE_COMMIT: "/in-commit",
    Phase.BEFORE_INTENT: ".intent/in-commit",
    Phase.ACKNOWLEDGED: ".record/in-commit",
}
"""Phase before a write -> the end of the path inside its commit."""
LOOKED_INTO_WHEN_SENT = Purpose.UNDO
"""At `sent`, circumstances decide a fault of an undo only (an outside actor may undo first); for others they are not looked into."""
_UNSAFE = re.compile(r"[^a-z0-9._-]+")


def owners(workflow: Workflow) -> dict[tuple[str, str, str], str]:
    """(provider, action, target) -> operation id, or `undo.` + id for the action that undoes it."""
    table: dict[tuple[str, str, str], str] = {}
    for op in workflow.operations:
        table[op.provider, op.action, op.target] = op.id
        if op.undo is not None:
            table[op.provider, op.undo, op.target] = op.undo_id
    return table


class Write(NamedTuple):
    """The names of one ledger transaction: its base path, whose it is, and the phases before and after it."""

    base: str
    subject: str
    before: Phase
    after: Phase

    @property
    def inside(self) -> str:
        """The path of the boundary in the commit itself."""
        return self.base + INSIDE[self.before]

    @property
    def purpose_after(self) -> Purpose:
        """After an intention or a record the worker stands in its operation's call; after any other, in its own ledger."""
        if self.after is Phase.AFTER_COMMIT:
            return Purpose.WRITE
        return Purpose.UNDO if self.subject.startswith(UNDO_PREFIX) else Purpose.EFFECT


class StepNames:
    """Counts the occurrences of each step of one run and names it."""

    __slots__ = ("_intended", "_known", "_owners", "_seen", "workflow")

    def __init__(self, workflow: Workflow, owner_table: dict[tuple[str, str, str], str] | None = None) -> None:
        self.workflow = workflow.id
        self._owners = owner_table if owner_table is not None else owners(workflow)
        self._known = set(self._owners.values())
        self._seen: dict[str, int] = {}
        self._intended: dict[str, str] = {}

    def subject(self, request: Request) -> str:
        """Whose step this request is: by its business target, else by its marker, else `stray`."""
        owner = self._owners.get((request.provider, request.action, request.target))
        if owner is not None:
            return owner
        return request.operation if request.operation in self._known else STRAY_SUBJECT

    def intent(self, subject: str) -> str:
        """The base path of the attempt whose intention is about to be written."""
        base = self._next(subject if subject in self._known else STRAY_SUBJECT, "attempt", always=True)
        self._intended[subject] = base
        return base

    def call(self, request: Request) -> tuple[str, str, bool]:
        """(base path, subject, intention already crossed) of a call that is about to be made."""
        subject = self.subject(request)
        if request.purpose in (Purpose.EFFECT, Purpose.UNDO):
            intended = self._intended.pop(subject, None)
            if intended is not None:
                return intended, subject, True
        return self._next(subject, STEP_NAMES[request.purpose], always=True), subject, False

    def write(self, subject: str, label: str) -> str:
        """The base path of a ledger transaction. The first one with a label carries no number."""
        subject = subject if subject in self._known else WORKFLOW_SUBJECT
        return self._next(subject, _UNSAFE.sub("-", label.lower()).strip("._-") or "write", always=False)

    def named_write(self, subject: str, label: str, last_call: str) -> Write:
        """A ledger transaction as the candidate named it: the intention before a send, the record of `last_call`, or any other."""
        if not label:
            return Write(self.unnamed_write(), WORKFLOW_SUBJECT, Phase.BEFORE_COMMIT, Phase.AFTER_COMMIT)
        if label == "intent":
            return Write(self.intent(subject), subject, Phase.BEFORE_INTENT, Phase.INTENT_RECORDED)
        if label == "record" and last_call:
            return Write(last_call, subject, Phase.ACKNOWLEDGED, Phase.RECORDED)
        return Write(self.write(subject, label), subject, Phase.BEFORE_COMMIT, Phase.AFTER_COMMIT)

    def unnamed_write(self) -> str:
        """The base path of a transaction the candidate did not name."""
        return self._next(WORKFLOW_SUBJECT, "write", always=True)

    def _next(self, subject: str, step: str, *, always: bool) -> str:
        base = f"{self.workflow}/{subject}/{step}"
        count = self._seen.get(base, 0) + 1
        self._seen[base] = count
        return f"{base}-{count}" if always or count > 1 else base
