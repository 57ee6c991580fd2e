"""Grants as their protocol knows them: who has which role, now or at an earlier moment. Never here: HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fakes.access.domain import Access
from fakes.core.rows import NEVER, Row
from fakes.wire.json_api import OnWire
from harness.model.wire import Request


class Grant(NamedTuple):
    """One grant, standing or revoked."""

    id: str
    subject: str
    role: str
    operation: str
    granted_ns: int
    revoked_ns: int | None

    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        return self._asdict()


class Grants(OnWire, Access):
    """The list. A subject has one role: another one is a conflict until the first is revoked."""

    __slots__ = ()

    def grant(self, reference: str) -> Grant:
        """The grant of this reference, as it is now."""
        row = self._table.get(reference)
        assert row is not None, f"grant {reference} is gone"
        return _grant(row, self._now())

    def grants(self, at_ns: int) -> Iterator[Grant]:
        """All that had been made by that moment, oldest first, as they were then."""
        rows = (row for row in self._table if row.action == "grant" and row.settled_ns <= at_ns)
        return (_grant(row, at_ns) for row in rows)

    def standing(self, subject: str, at_ns: int) -> Grant | None:
        """What this subject had at that moment."""
        rows = (row for row in self._table.at("grant", subject) if row.settled_ns <= at_ns < row.undone_ns)
        return next((_grant(row, at_ns) for row in rows), None)

    def revoked_by(self, reference: str) -> Grant:
        """The grant that this revocation ended."""
        row = self._table.get(reference)
        assert row is not None, f"revocation {reference} is gone"
        assert row.undoes is not None, f"{reference} is no revocation"
        return self.grant(row.undoes)

    def _undo_choices(self, request: Request, action: str) -> Iterator[Row]:
        """A revocation that names a role ends no grant of another."""
        rows, role = super()._undo_choices(request, action), request.params.get("role")
        return (row for row in rows if role is None or role_of(row) == role)


def role_of(row: Row) -> str:
    """The role that was granted."""
    return next((str(value) for name, value in row.params if name == "role"), "")


def _grant(row: Row, at_ns: int) -> Grant:
    revoked_ns = row.undone_ns if row.undone_ns <= at_ns and row.undone_ns != NEVER else None
    return Grant(row.reference, row.target, role_of(row), row.operation, row.settled_ns, revoked_ns)
