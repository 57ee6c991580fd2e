"""The domain as it is on the wire: the same deployments, and what else a forge is asked to change.

A deployment that says in its payload which one it rolls back is a `deploy.rollback` of it, as long as that one
stands. A second rollback of the same is not refused, since no forge refuses a deployment for its payload: it is one
more `deploy`, which is what it does to the world.
Never here: what a request must fulfil before it is done (`git.py`, `book.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.endpoint import Arrival
from fakes.core.kernel import ActionSpec, Again
from fakes.core.rows import Row
from fakes.deployment.domain import Deployments
from fakes.wire.desk import no_fault
from harness.model.boundary import Purpose
from harness.model.wire import Request

_ONCE_MORE = ActionSpec(undoes=None, again=Again.NEW)
OTHERS = (
    "ref.create",
    "ref.update",
    "ref.delete",
    "content.put",
    "content.delete",
    "deployment.delete",
    "status.create",
    "workflow.dispatch",
)
"""Changes besides deployments. Whether they are possible, git and the book decide; here they become effects."""

Params = Mapping[str, str | int]


class Forge(Deployments):
    """Everything that is changed in a forge, as effects."""

    __slots__ = ()

    actions: ClassVar[Mapping[str, ActionSpec]] = {**Deployments.actions, **dict.fromkeys(OTHERS, _ONCE_MORE)}

    def do(self, call: str, action: str, *, target: str, operation: str, params: Params) -> str:
        """Make it an effect. Returns its reference."""
        return self._do(call, Request(self.name, action, Purpose.EFFECT, operation, target, params))

    def deploy(self, call: str, *, target: str, operation: str, params: Params, undoes: str = "") -> tuple[str, str]:
        """Deploy, or roll back the effect `undoes` if it stands. Returns the action it was, and the effect's reference."""
        row = self.standing(undoes)
        if row is None:
            return "deploy", self.do(call, "deploy", target=target, operation=operation, params=params)
        named = {**params, "reference": undoes}
        undo = Request(self.name, "deploy.rollback", Purpose.UNDO, operation, row.target, named)
        return "deploy.rollback", self._do(call, undo)

    def row(self, reference: str) -> Row | None:
        """The effect of this reference."""
        return self._table.get(reference)

    def standing(self, reference: str) -> Row | None:
        """The deployment of this reference, if it stands."""
        row = self._table.get(reference)
        return row if row is not None and row.action == "deploy" and row.is_standing else None

    def _do(self, call: str, request: Request) -> str:
        return self._change(Arrival(call, "", request, 1), no_fault).reference
