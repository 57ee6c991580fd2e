"""A payment provider: customers, charges, and refunds bounded by the charge.

Amounts are whole minor units in `params["amount"]`. A refund without one gives back what is left. Refunds add up: the
charge stands until their sum is its amount, and a refund beyond it is refused as `invalid` and changes nothing. A
refund cannot be undone. Every refund's effect names the charge in `undoes`, partial ones too, so only the provider's
own view tells whether a charge still stands.
Never here: HTTP, currencies, cards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Change, Provider
from fakes.core.rows import Row
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
        if row.action != "charge":
            return super()._undo(request, row, now_ns)
        left = row.amount - self.refunded(row.reference)
        assert left > 0, f"{row.reference} stands although nothing of it is left"
        amount = _amount(request.params.get("amount", left))
        if amount > left:
            raise ProviderFailure("invalid", f"a refund of {amount} exceeds the {left} left of {row.reference}")
        if amount == left:
            super()._undo(request, row, now_ns)
        return Change(undoes=row.reference, amount=amount)


def _amount(value: str | int | None) -> int:
    """A positive whole number of minor units. Raises ProviderFailure `invalid`."""
    if not isinstance(value, int) or value <= 0:
        raise ProviderFailure("invalid", f"amount {value!r} is not a positive whole number of minor units")
    return value
