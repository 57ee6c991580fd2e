"""An inventory: stock per article (SKU), held by reservations and taken by commits, and never below zero.

Theory. Everything is a sum over rows, so a past moment can be summed like the present one:

    on hand   = opening stock + shifts - standing commits
    held      = standing reservations - what of them was committed
    available = on hand - held                                       never negative

`params["quantity"]` is a positive whole number; the article is `params["sku"]`, or the target itself. A reservation's
identity is its target: asking again for the same changes nothing. `stock.commit` takes what `params["reservation"]`
(the target of a reservation) holds, or available stock if it names none; `restock` gives it back to where it came
from. A reservation that was committed cannot be released before it is restocked.
Never here: HTTP, and reservations that expire.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import ClassVar, NamedTuple

from fakes.core.kernel import ActionSpec, Again, Change, Provider
from fakes.core.rows import Row
from harness.model.errors import ProviderFailure
from harness.model.wire import Request

OPENING_QUANTITY = 1000
"""What is on hand of every article at first."""
QUANTITY_MAX = 1_000_000_000


class Levels(NamedTuple):
    """The stock of one article at one moment."""

    on_hand: int
    held: int

    @property
    def available(self) -> int:
        return self.on_hand - self.held


class Inventory(Provider):
    """Reservations and commits by business target."""

    __slots__ = ()

    name: ClassVar[str] = "inventory"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "reserve": ActionSpec(undoes=None, again=Again.SAME),
        "release": ActionSpec(undoes="reserve", again=Again.REFUSED),
        "stock.commit": ActionSpec(undoes=None, again=Again.SAME),
        "restock": ActionSpec(undoes="stock.commit", again=Again.REFUSED),
    }
    shifts: ClassVar[tuple[str, ...]] = ()
    """Actions whose amount, positive or negative, is added to what is on hand."""

    def levels(self, sku: str, at_ns: int | None = None) -> Levels:
        """The stock of an article now, or as it was at an earlier moment."""
        moment_ns = self._now() if at_ns is None else at_ns
        on_hand, held = self._opening(sku), 0
        for row in self._table:
            if row.settled_ns <= moment_ns < row.undone_ns and sku_of(row) == sku:
                change = contribution(row, self.shifts)
                on_hand, held = on_hand + change.on_hand, held + change.held
        return Levels(on_hand, held)

    def _opening(self, sku: str) -> int:
        return OPENING_QUANTITY

    def _make(self, request: Request, again: Again) -> Change:
        change = super()._make(request, again)
        if change.existing:
            return change
        quantity = quantity_of(request.params.get("quantity"))
        if request.action == "stock.commit" and request.params.get("reservation"):
            self._check_hold(request, quantity)
        else:
            self._check_available(str(request.params.get("sku", request.target)), quantity)
        return Change(amount=quantity)

    def _check_available(self, sku: str, quantity: int) -> None:
        """Raise ProviderFailure if there is less than that."""
        levels = self.levels(sku)
        assert levels.available >= 0, f"{sku} is below zero: {levels}"
        if quantity > levels.available:
            raise self._short(sku, levels)

    def _check_hold(self, request: Request, quantity: int) -> None:
        """Raise ProviderFailure if the reservation does not hold that for this commit."""
        reservation = str(request.params["reservation"])
        row = self._table.standing("reserve", reservation)
        if row is None or self.commit_of(reservation) is not None:
            raise self._not_held(reservation)
        if quantity > row.amount or request.params.get("sku", sku_of(row)) != sku_of(row):
            raise ProviderFailure("invalid", f"reservation {reservation!r} holds {row.amount} of {sku_of(row)!r}")

    def commit_of(self, reservation: str, at_ns: int | None = None) -> Row | None:
        """The commit that has taken what this reservation held, if it stands."""
        moment_ns = self._now() if at_ns is None else at_ns
        standing = (row for row in self._commits(reservation) if row.settled_ns <= moment_ns < row.undone_ns)
        return next(standing, None)

    def _commits(self, reservation: str) -> Iterator[Row]:
        named = ("reservation", reservation)
        return (row for row in self._table if row.action == "stock.commit" and named in row.params)

    def _short(self, sku: str, levels: Levels) -> ProviderFailure:
        return ProviderFailure("declined", f"only {levels.available} of {sku!r} are available")

    def _not_held(self, reservation: str) -> ProviderFailure:
        return ProviderFailure("declined", f"reservation {reservation!r} holds nothing")

    # What was committed is not released. It is no choice for an undo, so that no outside actor does it either.

    def _undo_choices(self, request: Request, action: str) -> Iterator[Row]:
        rows = super()._undo_choices(request, action)
        if action != "reserve":
            return rows
        return (row for row in rows if not row.is_standing or self.commit_of(row.target) is None)

    def _nothing_to_undo(self, request: Request, action: str) -> ProviderFailure:
        if action == "reserve" and self.commit_of(request.target) is not None:
            return ProviderFailure("invalid", f"reservation {request.target!r} was committed: restock it first")
        return super()._nothing_to_undo(request, action)


def quantity_of(value: str | int | None) -> int:
    """A positive whole number. Raises ProviderFailure `invalid`."""
    if not isinstance(value, int) or not 0 < value <= QUANTITY_MAX:
        raise ProviderFailure("invalid", f"quantity {value!r} is not a whole number from 1 to {QUANTITY_MAX}")
    return value


def contribution(row: Row, shifts: Container[str]) -> Levels:
    """What a standing row adds to the stock of its article."""
    if row.action in shifts:
        return Levels(row.amount, 0)
    if row.action == "reserve":
        return Levels(0, row.amount)
    if row.action == "stock.commit":
        return Levels(-row.amount, -row.amount if reservation_of(row) else 0)
    return Levels(0, 0)


def sku_of(row: Row) -> str:
    """Which article a row is about."""
    return next((str(value) for name, value in row.params if name == "sku"), row.target)


def reservation_of(row: Row) -> str:
    """The reservation a commit took from, or ""."""
    return next((str(value) for name, value in row.params if name == "reservation"), "")
