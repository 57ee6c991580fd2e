"""The inventory as its protocol knows it: articles that exist or not, reservations that expire, stock that is set.

Theory. All of it is in rows still. A reservation's time is a parameter of its row, so its expiry is a function of the
row; the sweeper only gives the stock back. A reservation reads, at a given moment, as

    held       until it is committed, released, or its time is over
    committed  while a commit of it stands; a restock makes it held again, or expired if its time is over
    released   by a release
    expired    when its time is over, swept or not: a commit is refused from that moment

An id names one reservation for ever: one that was released or expired is not brought back by a late copy of its
request. `stock.set` is a shift by the difference, refused unless the stock is what its caller believes it to be.
Never here: HTTP, timers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from fakes.core.kernel import ActionSpec, Again, Change
from fakes.core.rows import NEVER, Row
from fakes.inventory.domain import Inventory, Levels, contribution, sku_of
from fakes.wire.json_api import OnWire, Refused
from harness.model.cell import SECOND_NS, Cell
from harness.model.errors import ProviderFailure
from harness.model.wire import Request

HELD, COMMITTED, RELEASED, EXPIRED = "held", "committed", "released", "expired"
STATES = (HELD, COMMITTED, RELEASED, EXPIRED)


class Reservation(NamedTuple):
    """A reservation as it reads at one moment."""

    id: str
    sku: str
    quantity: int
    state: str
    operation: str
    made_ns: int
    expires_ns: int

    def as_data(self) -> dict[str, Any]:
        """As JSON data; `expires_ns` is None for one that lasts for ever."""
        return {**self._asdict(), "expires_ns": None if self.expires_ns == NEVER else self.expires_ns}


class Stock(Inventory, OnWire):
    """Articles and reservations. `opening` says which articles there are from the beginning, and how many of each."""

    __slots__ = ("_sums", "opening")

    actions: ClassVar[Mapping[str, ActionSpec]] = {
        **Inventory.actions,
        "stock.set": ActionSpec(undoes=None, again=Again.NEW),
        "stock.adjust": ActionSpec(undoes=None, again=Again.NEW),
    }
    shifts: ClassVar[tuple[str, ...]] = ("stock.set", "stock.adjust")

    opening: Mapping[str, int]

    def __init__(self, cell: Cell, **lent: Any) -> None:
        super().__init__(cell, **lent)
        self._sums: dict[str, tuple[int, int]] = {}

    def levels(self, sku: str, at_ns: int | None = None) -> Levels:
        """The stock now, or as it was. Now is what is asked all the time, so its sums are kept."""
        if at_ns is not None:
            return super().levels(sku, at_ns)
        shifted, held = self._sums.get(sku, (0, 0))
        return Levels(self._opening(sku) + shifted, held)

    def count(self, row: Row, sign: int) -> None:
        """A row came (+1) or was replaced (-1)."""
        if row.is_standing:
            change = contribution(row, self.shifts)
            on_hand, held = self._sums.get(sku_of(row), (0, 0))
            self._sums[sku_of(row)] = on_hand + sign * change.on_hand, held + sign * change.held

    def knows(self, sku: str) -> bool:
        """Is there such an article?"""
        return sku in self.opening or bool(self._table.at("stock.set", sku))

    def skus(self) -> list[str]:
        """All articles: those of the beginning, then those set later, oldest first."""
        added = (row.target for row in self._table if row.action == "stock.set" and row.target not in self.opening)
        return [*self.opening, *dict.fromkeys(added)]

    # Reservations.

    def reservation(self, id_: str, at_ns: int | None = None) -> Reservation | None:
        """The reservation as it read at that moment (None: now), or None if there was none."""
        moment_ns = self._now() if at_ns is None else at_ns
        row = self._reserved(id_)
        if row is None or row.made_ns > moment_ns:
            return None
        state = self._state_at(row, moment_ns)
        return Reservation(id_, sku_of(row), row.amount, state, row.operation, row.made_ns, expires_ns(row))

    def reservations(self, at_ns: int | None = None) -> Iterator[Reservation]:
        """All of them, oldest first."""
        ids = [row.target for row in self._table if row.action == "reserve"]
        return (found for id_ in ids if (found := self.reservation(id_, at_ns)) is not None)

    def expire(self, id_: str) -> bool:
        """Its time is over, whatever was said: give the stock back. Was it held or merely not swept?"""
        row = self._reserved(id_)
        if row is None or not row.is_standing or self.commit_of(id_) is not None:
            return False
        self._table.put(row._replace(undone_ns=self._now()))
        self._record("reservation-expired", "", {"target": id_, "effect": row.reference})
        return True

    def sweep(self, id_: str) -> bool:
        """Give its stock back if its time is over."""
        row = self._reserved(id_)
        return row is not None and expires_ns(row) <= self._now() and self.expire(id_)

    def _reserved(self, id_: str) -> Row | None:
        return next(iter(self._table.at("reserve", id_)), None)

    def _state_at(self, row: Row, moment_ns: int) -> str:
        if self.commit_of(row.target, moment_ns) is not None:
            return COMMITTED
        if row.undone_ns <= moment_ns:
            is_released = any(undo.undoes == row.reference for undo in self._table.at("release", row.target))
            return RELEASED if is_released else EXPIRED
        return EXPIRED if expires_ns(row) <= moment_ns else HELD

    def refusals(self, wanted: Sequence[Request]) -> list[ProviderFailure | None]:
        """For each of these reservations of different ids, why it could not be had if all were asked for in this order."""
        demanded: Counter[str] = Counter()
        return [self._refusal(request, demanded) for request in wanted]

    def _refusal(self, request: Request, demanded: Counter[str]) -> ProviderFailure | None:
        if failed := self.would_refuse(request):
            return failed
        if self._reserved(request.target) is not None:
            return None
        sku = str(request.params["sku"])
        demanded[sku] += int(request.params["quantity"])
        levels = self.levels(sku)
        return self._short(sku, levels) if demanded[sku] > levels.available else None

    # Rules.

    def _opening(self, sku: str) -> int:
        return self.opening.get(sku, 0)

    def _make(self, request: Request, again: Again) -> Change:
        match request.action:
            case "stock.set":
                return self._set(request)
            case "stock.adjust":
                return self._shift(request.target, int(request.params["delta"]))
            case "reserve":
                self._check_id(request)
        return super()._make(request, again)

    def _set(self, request: Request) -> Change:
        levels = self.levels(request.target)
        expected = request.params.get("compare_quantity")
        if expected is not None and expected != levels.on_hand:
            message = f"there are {levels.on_hand} on hand, not {expected}"
            raise Refused(409, "quantity-changed", message, quantity=levels.on_hand, compare_quantity=expected)
        return self._shift(request.target, int(request.params["quantity"]) - levels.on_hand)

    def _shift(self, sku: str, delta: int) -> Change:
        levels = self.levels(sku)
        if levels.available + delta < 0:
            raise self._short(sku, levels)
        return Change(amount=delta)

    def _check_id(self, request: Request) -> None:
        row = self._reserved(request.target)
        if row is None:
            return
        found = self.reservation(request.target)
        if not self._is_same(row, request):
            raise Refused(409, "already-exists", "this id names another reservation", reservation=_data(found))
        if not row.is_standing:
            message = "this id names a reservation that is over; reserve again under another id"
            raise Refused(409, "reservation-closed", message, reservation=_data(found))

    def _check_hold(self, request: Request, quantity: int) -> None:
        row = self._reserved(request.target)
        if row is not None and self._state_at(row, self._now()) == EXPIRED:
            raise self._not_held(request.target)
        super()._check_hold(request, quantity)

    def _commits(self, reservation: str) -> Iterator[Row]:
        return iter(self._table.at("stock.commit", reservation))

    def _short(self, sku: str, levels: Levels) -> ProviderFailure:
        message = f"only {levels.available} of {sku!r} are available"
        return Refused(409, "insufficient-stock", message, sku=sku, available=levels.available, on_hand=levels.on_hand)

    def _not_held(self, reservation: str) -> ProviderFailure:
        found = self.reservation(reservation)
        if found is None:
            return Refused(404, "not-found", f"there is no reservation {reservation!r}")
        return Refused(409, f"reservation-{found.state}", "it holds nothing any more", reservation=_data(found))

    def _nothing_to_undo(self, request: Request, action: str) -> ProviderFailure:
        failed = super()._nothing_to_undo(request, action)
        found = self.reservation(request.target)
        if found is None:
            return failed
        is_undone = failed.code == "already-undone" and not (action == "reserve" and found.state == EXPIRED)
        code = "already-undone" if is_undone else f"reservation-{found.state}"
        return Refused(409, code, "there is nothing to take back", reservation=found.as_data())


def expires_ns(row: Row) -> int:
    """When a reservation's time is over; NEVER for one without."""
    ttl_s = next((value for name, value in row.params if name == "ttl_s"), 0)
    return row.made_ns + int(ttl_s) * SECOND_NS if ttl_s else NEVER


def _data(found: Reservation | None) -> dict[str, Any] | None:
    return None if found is None else found.as_data()
