"""The store connection of a worker, the same on every rig: a commit that changes something is a boundary, whoever asks for it.

Here: what counts as a commit, a rollback or an end. Never here: what happens at the boundary; that is the handles' part.
Not seen: SQL that says COMMIT itself, and `executescript`, which commits underneath. A candidate commits by its connection.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from types import TracebackType
from typing import Literal, Protocol

commit_plainly = sqlite3.Connection.commit
rollback_plainly = sqlite3.Connection.rollback


class Committer(Protocol):
    """The handles a connection belongs to."""

    def commit(self, connection: BoundaryConnection) -> None:
        """Cross the boundaries of this commit, and do it by `commit_plainly`."""

    def drop_claims(self) -> None:
        """The open transaction will not be: what it would have made true is not claimed."""


class BoundaryConnection(sqlite3.Connection):
    """A connection whose commits are boundaries while it has handles."""

    handles: Committer | None = None
    _changes_seen = 0

    def commit(self) -> None:
        handles = self.handles
        changes = self.total_changes
        if handles is None or changes == self._changes_seen:
            commit_plainly(self)
            return
        self._changes_seen = changes
        handles.commit(self)

    def rollback(self) -> None:
        self._drop_claims()
        super().rollback()
        self._changes_seen = self.total_changes

    def close(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it may be closed already
            self._drop_claims()
        super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        """End the transaction as a `with` block does. The base class's own goes past `commit` and `rollback` above."""
        if kind is not None:
            self.rollback()
            return False
        try:
            self.commit()
        except sqlite3.Error:
            with suppress(sqlite3.ProgrammingError):  # the connection may have ended with the commit
                self.rollback()
            raise
        return False

    def close_underneath(self) -> None:
        """Close as a dying process does: the open transaction is rolled back by the database, by nobody else."""
        super().close()

    def _drop_claims(self) -> None:
        if self.handles is not None and self.in_transaction:
            self.handles.drop_claims()
