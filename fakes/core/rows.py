"""Rows: a provider's truth, as immutable values that are replaced and never changed, and the table that holds them.

A row carries four moments, each NEVER until it comes: made, settled (it became an effect), undone, and gone (it was
accepted, and vanished without becoming one). What an observer sees is a function of the row and of a horizon: the
present for an authoritative look-up, a little earlier for an eventual one. Since rows are immutable and hashable, a
copy of the table is a snapshot.

Never here: what a request means, or when anything happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from harness.model.wire import FoundRecord, Request

NEVER = 1 << 62
"""A moment that has not come."""

Params: TypeAlias = tuple[tuple[str, str | int], ...]


class Row(NamedTuple):
    """One record. `reference` is the provider's id of it and of the effect it is; `amount` is 0 where none applies."""

    reference: str
    action: str
    target: str
    operation: str
    params: Params
    undoes: str | None
    amount: int
    made_ns: int
    settled_ns: int = NEVER
    undone_ns: int = NEVER
    gone_ns: int = NEVER

    @property
    def is_standing(self) -> bool:
        """Is it an effect that nobody has undone?"""
        return self.settled_ns != NEVER and self.undone_ns == NEVER

    @property
    def is_pending(self) -> bool:
        """Was it accepted, and is what becomes of it still open?"""
        return self.settled_ns == NEVER and self.gone_ns == NEVER

    def seen_at(self, horizon_ns: int) -> FoundRecord | None:
        """This row as it was at the horizon, or None if it was not there."""
        if self.made_ns > horizon_ns or self.gone_ns <= horizon_ns:
            return None
        pending = self.settled_ns > horizon_ns
        standing = not pending and self.undone_ns > horizon_ns
        return FoundRecord(self.reference, self.operation, self.action, standing, pending)


TableState: TypeAlias = tuple[int, tuple[tuple[str, Row], ...], tuple[tuple[tuple[str, str], tuple[str, ...]], ...]]


class Table:
    """All rows of a provider, in the order of acceptance, found by reference or by what they are and where."""

    __slots__ = ("_numbers", "_places", "_rows")

    def __init__(self) -> None:
        self._numbers = 0
        self._rows: dict[str, Row] = {}
        self._places: dict[tuple[str, str], tuple[str, ...]] = {}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def number(self) -> int:
        """The next number, from 1: it makes references that are equal in equal runs."""
        self._numbers += 1
        return self._numbers

    def get(self, reference: str) -> Row | None:
        """The row of this reference, if there is one."""
        return self._rows.get(reference)

    def at(self, action: str, target: str) -> list[Row]:
        """Rows of this action at this target, oldest first."""
        rows = self._rows
        return [rows[reference] for reference in self._places.get((action, target), ())]

    def standing(self, action: str, target: str) -> Row | None:
        """The oldest standing row of this action at this target."""
        return next((row for row in self.at(action, target) if row.is_standing), None)

    def put(self, row: Row) -> None:
        """Add a row, or replace the one of the same reference. What a row is and where never changes."""
        old = self._rows.get(row.reference)
        self._rows[row.reference] = row
        if old is None:
            place = (row.action, row.target)
            self._places[place] = (*self._places.get(place, ()), row.reference)
        else:
            assert old[:3] == row[:3], f"{row.reference} became another record"

    def snapshot(self) -> TableState:
        """All of it as one hashable value."""
        return self._numbers, tuple(self._rows.items()), tuple(self._places.items())

    def restore(self, state: TableState) -> None:
        """Go back to a snapshot."""
        self._numbers, rows, places = state
        self._rows = dict(rows)
        self._places = dict(places)


def frozen(request: Request) -> Params:
    """The request's parameters as a value that its caller cannot change any more."""
    return tuple(sorted(request.params.items()))
