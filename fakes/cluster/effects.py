"""The domain as it is on the wire: whatever changes an object is an effect.

    object.apply      it was created, replaced or patched; what stood there before does not stand any more
    object.delete     its deletion was accepted, which nothing takes back; finalizers may keep it visible for long
    object.finalize   it was changed while it was being deleted
    object.status     somebody wrote its status

A request that changes nothing is no effect. What a controller does later is none either.
Never here: documents, and whether a change is possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.cluster.domain import Cluster
from fakes.core.endpoint import Arrival
from fakes.core.kernel import ActionSpec, Again, Change
from fakes.wire.desk import no_fault
from harness.model.boundary import Purpose
from harness.model.wire import Request

_ONCE_MORE = ActionSpec(undoes=None, again=Again.NEW)


class Effects(Cluster):
    """Effects on objects that were found to be possible."""

    __slots__ = ()

    actions: ClassVar[Mapping[str, ActionSpec]] = {
        **Cluster.actions,
        "object.apply": _ONCE_MORE,
        "object.finalize": _ONCE_MORE,
        "object.status": _ONCE_MORE,
    }

    def do(self, call: str, action: str, *, target: str, operation: str, version: str) -> str:
        """Make it an effect. Returns its reference."""
        purpose = Purpose.UNDO if action == "object.delete" else Purpose.EFFECT
        request = Request(self.name, action, purpose, operation, target, {"version": version})
        return self._change(Arrival(call, "", request, 1), no_fault).reference

    def vanish(self, target: str) -> None:
        """What stood there went with something else, without a request of its own."""
        if row := self._table.standing("object.apply", target):
            self._table.put(row._replace(undone_ns=self._now()))

    def _make(self, request: Request, again: Again) -> Change:
        if request.action == "object.apply" and (row := self._table.standing(request.action, request.target)):
            self._table.put(row._replace(undone_ns=self._now()))
        return super()._make(request, again)
