"""Orders: placing, cancelling, confirming them, and the history that shows them.

The truth of an order is a row of the domain (reference, operation, what undid it); what only a shop knows of it (goods,
address, owner) is a document beside that row, under the same id. The form's number or the merchant's reference is the
domain's idempotency key, so a form that comes again gets the kept answer by the kernel's own rule.

What an effect carries: `target` is the merchant's reference, or `form-N` when none was given; `operation` is the hidden
field of that name, or the reference, or "". A cancel's operation is the one it names, or `undo.` before
the order's.
Never here: sessions' life, pages, HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fakes.checkout.domain import Checkout
from fakes.checkout.forms import ACCEPTED, Payment
from fakes.checkout.goods import Line, as_text, read_lines, total
from fakes.checkout.options import Dedupe, ShopOptions
from fakes.checkout.sessions import OrderForm, Session, number_in, signed
from fakes.core.kernel import Again, Change
from fakes.core.rows import Row
from fakes.wire.desk import Desk, no_fault
from fakes.wire.points import duration_ns
from fakes.wire.shelf import Shelf
from harness.model.boundary import UNDO_PREFIX, Purpose
from harness.model.errors import ProviderFailure
from harness.model.wire import FoundRecord, Request

ORDER, MAIL = "order", "mail"


class ShopCheckout(Checkout):
    """The domain, with a bank before it. A refused card leaves nothing behind, so the form may be sent again."""

    __slots__ = ()

    def _make(self, request: Request, again: Again) -> Change:
        card = str(request.params.get("card", ACCEPTED))
        if card != ACCEPTED:
            raise CardRefused(card)
        return super()._make(request, again)

    def row(self, id_: str) -> Row:
        """The order of this id, which must be one."""
        row = self._table.get(id_)
        assert row is not None, f"{id_} is kept as an order and was never placed"
        return row

    def seen(self, behind_ns: int) -> tuple[FoundRecord, ...]:
        """`history` as it was so long ago: that much comes on top of the lag this cell has."""
        horizon_ns = self._now() - self._lag_ns - behind_ns
        views = [row.seen_at(horizon_ns) for row in self._table if row.action == "order"]
        return tuple([view for view in views if view is not None])


class CardRefused(ProviderFailure):
    """The bank said no. Its code is none that the idempotency layer keeps: another card may follow under the same key."""

    def __init__(self, outcome: str) -> None:
        super().__init__("card-refused")
        self.outcome = outcome


class Placed(NamedTuple):
    """An order stands; `is_replayed` says that it did before."""

    id: str
    is_replayed: bool


class Order(NamedTuple):
    """One order as people see it. `placed_ns` is when it became one."""

    id: str
    reference: str
    operation: str
    is_standing: bool
    lines: tuple[Line, ...]
    address: Mapping[str, str]
    placed_ns: int

    @property
    def status(self) -> str:
        return "placed" if self.is_standing else "cancelled"

    @property
    def total(self) -> int:
        return total(self.lines)


class HistoryPage(NamedTuple):
    """One page of the history, newest first. `number` counts from 1; `of` is how many pages there are, at least one."""

    orders: tuple[Order, ...]
    number: int
    of: int


class Orders:
    """All orders, and the one way to change them."""

    def __init__(self, desk: Desk, shelf: Shelf, options: ShopOptions) -> None:
        self._desk = desk
        self._shelf = shelf
        self._options = options
        self._form_life_ns = duration_ns(options.form_life)
        self._lag_ns = duration_ns(options.history_lag)
        self.domain = ShopCheckout(
            options.provider_cell, now=desk.clock.now_ns, record=self._record, later=self._desk.later
        )

    def _record(self, kind: str, where: str, data: Mapping[str, Any]) -> None:
        """The desk counts arrivals and responses itself, where they really happen."""
        if kind not in ("arrived", "responded"):
            self._desk.record(kind, where, data)

    # Placing.

    def request_of(self, form: OrderForm, payment: Payment) -> Request:
        """What an order form asks for, as the domain understands it."""
        number = f"form-{form.number}"
        key = {Dedupe.NONE: "", Dedupe.NONCE: number, Dedupe.ORDER_REF: payment.reference}[self._options.dedupe]
        params = {"lines": as_text(form.lines), "card": payment.card}
        not_after_ns = form.since_ns + self._form_life_ns
        operation = payment.operation or payment.reference
        target = payment.reference or number
        return Request("checkout", "order", Purpose.EFFECT, operation, target, params, key, not_after_ns)

    def is_kept(self, request: Request) -> bool:
        """Will this be answered with what was kept under its key?"""
        return self.domain.circumstances(request)[0]

    def place(self, request: Request, form: OrderForm, payment: Payment, user: str) -> Placed:
        """Order. Raises CardRefused, and ProviderFailure `expired` or `key-reused`."""
        reply = self.domain.handle(self._desk.current, "", request, no_fault)
        if reply.replayed:
            self._shelf.put(
                ORDER, reply.reference, {**self._shelf.get(ORDER, reply.reference), "session": form.session}
            )
        else:
            kept = {
                "user": user,
                "session": form.session,
                "lines": as_text(form.lines),
                "address": dict(form.address),
                "reference": payment.reference,
                "is_confirmed": False,
            }
            self._shelf.put(ORDER, reply.reference, kept)
        return Placed(reply.reference, reply.replayed)

    def cancel(self, order: Order, operation: str) -> None:
        """Cancel. Raises ProviderFailure `already-undone`."""
        self.domain.handle(self._desk.current, "", self.cancel_request_of(order, operation), no_fault)

    def cancel_request_of(self, order: Order, operation: str) -> Request:
        """What a cancellation asks for, as the domain understands it."""
        own = f"{UNDO_PREFIX}{order.operation}" if order.operation else ""
        named = {"reference": order.id}
        target = self.domain.row(order.id).target
        return Request("checkout", "order.cancel", Purpose.UNDO, operation or own, target, named)

    def cancel_by_shop(self, target: str) -> bool:
        """The shop itself cancels the oldest standing order of this reference. Was there one?"""
        return self.domain.external_undo(Request("checkout", "order.cancel", Purpose.UNDO, "", target))

    # Confirming by mail.

    def mails(self, user: str) -> list[tuple[str, str]]:
        """(order id, confirmation token) of every mail this user was sent, oldest first."""
        return [
            (id_, signed(id_, MAIL)) for id_ in self._shelf.all(MAIL) if self._shelf.get(ORDER, id_)["user"] == user
        ]

    def unsent(self) -> list[str]:
        """Orders whose mail is still on its way."""
        return [id_ for id_, kept in self._shelf.all(ORDER).items() if "is_mailed" not in kept]

    def mail_handed_over(self, id_: str) -> None:
        """The mail has left the shop's hands, wherever it went."""
        if kept := self._shelf.get(ORDER, id_):
            self._shelf.put(ORDER, id_, {**kept, "is_mailed": True})

    def mail_came(self, id_: str) -> None:
        """The mail is in its receiver's mailbox; twice is the same."""
        if self._shelf.get(ORDER, id_):
            self._shelf.put(MAIL, id_, {"came_ns": self._desk.clock.now_ns()})

    def confirm(self, token: str) -> str:
        """Follow a mail's link; the order's id. Raises ProviderFailure `not-found`."""
        id_ = number_in(token, MAIL)
        kept = self._shelf.get(ORDER, id_) if id_ is not None else None
        if id_ is None or kept is None:
            raise ProviderFailure("not-found")
        self._shelf.put(ORDER, id_, {**kept, "is_confirmed": True})
        return id_

    # Looking.

    def of_user(self, user: str, id_: str, behind_ns: int = 0) -> Order:
        """One order of this user, as it was so long ago. Raises ProviderFailure `not-found`."""
        kept = self._shelf.get(ORDER, id_)
        seen = None
        if kept is not None and kept["user"] == user:
            seen = self.domain.row(id_).seen_at(self._desk.clock.now_ns() - behind_ns)
        if seen is None:
            raise ProviderFailure("not-found")
        return self._order(seen)

    def is_of_session(self, id_: str, session: Session) -> bool:
        """Was it placed in this very session?"""
        return bool(self._shelf.get(ORDER, id_)["session"] == session.number)

    def history(self, user: str, page: int, behind_ns: int, reference: str = "") -> HistoryPage:
        """A page of what the history shows, as of so long ago; of one reference, if one is given."""
        found = [self._order(each) for each in self.domain.seen(self._lag_ns + behind_ns) if self._shows(user, each)]
        wanted = [order for order in reversed(found) if reference in ("", order.reference)]
        size = self._options.history_page_size
        first = (page - 1) * size
        return HistoryPage(tuple(wanted[first : first + size]), page, max(-(-len(wanted) // size), 1))

    def _shows(self, user: str, each: FoundRecord) -> bool:
        kept = self._shelf.get(ORDER, each.reference)
        return kept["user"] == user and (kept["is_confirmed"] or not self._options.history_needs_confirmation)

    def _order(self, seen: FoundRecord) -> Order:
        kept, row = self._shelf.get(ORDER, seen.reference), self.domain.row(seen.reference)
        lines = read_lines(kept["lines"])
        return Order(
            row.reference, kept["reference"], row.operation, seen.standing, lines, kept["address"], row.settled_ns
        )

    def all(self) -> list[dict[str, Any]]:
        """Every order as it is now, oldest first, as data for people."""
        return [self._as_data(id_, kept) for id_, kept in self._shelf.all(ORDER).items()]

    def _as_data(self, id_: str, kept: Mapping[str, Any]) -> dict[str, Any]:
        row, lines = self.domain.row(id_), read_lines(kept["lines"])
        return {
            "id": id_,
            "reference": kept["reference"],
            "operation": row.operation,
            "status": "placed" if row.is_standing else "cancelled",
            "lines": kept["lines"],
            "total": total(lines),
            "user": kept["user"],
            "is_confirmed": kept["is_confirmed"],
        }
