"""A payment provider: customers, charges, and refunds bounded by the charge.

Amounts are whole minor units in `params["amount"]`. A refund without one gives back what is left. Refunds add up: the
charge stands until their sum is its amount, and a refund beyond it is refused as `invalid` and changes nothing. A
refund cannot be undone. Every refund's effect names the charge in `undoes`, partial ones too, so only the provider's
own view tells whether a charge still stands.

`Payment` is what a simulation's workflow asks. `CardPayment` is what stands behind the API: it also holds money before
it takes it. An `authorize` is undone by `authorization.cancel`, or used up by a `capture`, which is refunded like a
charge; what is accepted now may be settled later; and a refund that was made may turn out to have failed.
Never here: HTTP, currencies, cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import ClassVar

from fakes.core.endpoint import Arrival
from fakes.core.kernel import ActionSpec, Again, Change, Provider
from fakes.core.rows import NEVER, Row
from harness.model.boundary import Purpose
from harness.model.errors import ProviderFailure
from harness.model.wire import Request


class Payment(Provider):
    """Customers and charges by business target."""

    __slots__ = ()

    name: ClassVar[str] = "payment"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "customer.create": ActionSpec(undoes=None, again=Again.NEW),
        "customer.delete": ActionSpec(undoes="customer.create", again=Again.REFUSED),
        "charge": ActionSpec(undoes=None, again=Again.NEW),
        "refund": ActionSpec(undoes="charge", again=Again.NEW),
    }

    def refunded(self, charge: str) -> int:
        """How much of this charge has been given back."""
        return sum(row.amount for row in self._table if row.undoes == charge)

    def _make(self, request: Request, again: Again) -> Change:
        if request.action != "charge":
            return super()._make(request, again)
        return Change(amount=_amount(request.params.get("amount")))

    def _undo(self, request: Request, row: Row, now_ns: int) -> Change:
        if request.action != "refund":
            return super()._undo(request, row, now_ns)
        left = row.amount - self.refunded(row.reference)
        assert left > 0, f"{row.reference} stands although nothing of it is left"
        amount = _amount(request.params.get("amount", left))
        if amount > left:
            raise ProviderFailure("invalid", f"a refund of {amount} exceeds the {left} left of {row.reference}")
        if amount == left:
            super()._undo(request, row, now_ns)
        return Change(undoes=row.reference, amount=amount)


class CardPayment(Payment):
    """The same with money that is held first. Its keys, limits and deadlines are the API's before it."""

    __slots__ = ()

    actions: ClassVar[Mapping[str, ActionSpec]] = {
        **Payment.actions,
        "authorize": ActionSpec(undoes=None, again=Again.NEW),
        "authorization.cancel": ActionSpec(undoes="authorize", again=Again.REFUSED),
        "capture": ActionSpec(undoes=None, again=Again.NEW),
    }

    def declines(self, operation: str) -> bool:
        """Is this operation always refused for a business reason?"""
        return operation in self._declined

    def row(self, reference: str) -> Row:
        """The row of an effect, or of what was accepted. Its target is where its undo has to look."""
        row = self._table.get(reference)
        assert row is not None, f"{reference} is not known"
        return row

    def do(self, arrival: Arrival) -> str:
        """Do it now; the effect's reference. Raises ProviderFailure, and then nothing was changed."""
        return self._perform(arrival, self._now()).reference

    def accept(self, arrival: Arrival) -> str:
        """Accept it; what comes of it is said by `settle`. Returns the reference it will have as an effect."""
        return self._accept(arrival, True, self._now())

    def settle(self, call: str, where: str, reference: str, key: str, *, succeeds: bool) -> bool:
        """What was accepted under this reference becomes an effect, or vanishes. Did it become one?"""
        row = self.row(reference)
        request = Request(
            self.name, row.action, self._purpose(row.action), row.operation, row.target, dict(row.params), key
        )
        self._settle(Arrival(call, where, request, 1), reference, succeeds)
        return self.row(reference).settled_ns != NEVER

    def take_back(self, refund: str) -> bool:
        """A refund has failed after it was made: its money is the account's again. Was it one that stood?"""
        row = self._table.get(refund)
        if row is None or row.action != "refund" or not row.is_standing or row.undoes is None:
            return False
        self._table.put(row._replace(undone_ns=self._now()))
        self._table.put(self.row(row.undoes)._replace(undone_ns=NEVER))
        told = {"effect": refund, "provider": self.name, "target": row.target, "undoes": row.undoes}
        self._record("refund-failed", "", told)
        return True

    def refunded(self, charge: str) -> int:
        return sum(row.amount for row in self._refunds_of(charge) if row.undone_ns == NEVER)

    def _refunds_of(self, charge: str) -> Iterator[Row]:
        return (row for row in self._table.at("refund", self.row(charge).target) if row.undoes == charge)

    def _make(self, request: Request, again: Again) -> Change:
        match request.action:
            case "authorize":
                return Change(amount=_amount(request.params.get("amount")))
            case "capture":
                return self._capture(request)
            case _:
                return super()._make(request, again)

    def _capture(self, request: Request) -> Change:
        held = next((row for row in self._undo_choices(request, "authorize") if row.is_standing), None)
        if held is None:
            raise self._nothing_to_undo(request, "authorize")
        amount = _amount(request.params.get("amount", held.amount))
        if amount > held.amount:
            raise ProviderFailure("invalid", f"a capture of {amount} exceeds the {held.amount} held")
        self._table.put(held._replace(undone_ns=self._now()))
        return Change(amount=amount)

    def _undo_choices(self, request: Request, action: str) -> Iterator[Row]:
        choices = super()._undo_choices(request, action)
        return choices if action != "charge" else chain(choices, super()._undo_choices(request, "capture"))

    def _purpose(self, action: str) -> Purpose:
        return Purpose.EFFECT if self.actions[action].undoes is None else Purpose.UNDO


def _amount(value: str | int | None) -> int:
    """A positive whole number of minor units. Raises ProviderFailure `invalid`."""
    if not isinstance(value, int) or value <= 0:
        raise ProviderFailure("invalid", f"amount {value!r} is not a positive whole number of minor units")
    return value
