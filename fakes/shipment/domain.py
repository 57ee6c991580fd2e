"""A shipping service: labels that are bought, and voided as long as no carrier has scanned them.

Buying spends `params["amount"]` (minor units, 0 if it says none) each time it is asked for. Voiding gives it back, once
and for ever. What was scanned stays bought: a void is `declined` from then on. A scan is the carrier's doing and no
effect of ours; it is a row of its own, so that snapshots have it.
Never here: HTTP, refunds that take time, tracking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from fakes.core.kernel import OUTSIDE, ActionSpec, Again, Change, Provider
from fakes.core.rows import Row
from harness.model.errors import ProviderFailure
from harness.model.wire import Request

SCAN = "scan"
AMOUNT_MAX = 1_000_000_000


class Shipments(Provider):
    """Labels by business target, which is the shipper's own reference."""

    __slots__ = ()

    name: ClassVar[str] = "shipment"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "label.buy": ActionSpec(undoes=None, again=Again.NEW),
        "label.void": ActionSpec(undoes="label.buy", again=Again.REFUSED),
    }

    def scan(self, label: str) -> bool:
        """The carrier has the parcel. Is that news about a label that stands?"""
        row = self._table.get(label)
        if row is None or row.action != "label.buy" or not row.is_standing or self.scanned_ns(label) is not None:
            return False
        now_ns = self._now()
        self._table.put(Row(f"{SCAN}-{label}", SCAN, label, OUTSIDE, (), None, 0, now_ns, now_ns))
        self._record("scanned", "", {"provider": self.name, "target": row.target, "effect": label})
        return True

    def scanned_ns(self, label: str) -> int | None:
        """When the carrier scanned this label, or None."""
        row = self._table.get(f"{SCAN}-{label}")
        return None if row is None else row.made_ns

    def _make(self, request: Request, again: Again) -> Change:
        return super()._make(request, again)._replace(amount=_amount(request.params.get("amount", 0)))

    # What was scanned is no choice for an undo, so that no outside actor does it either.

    def _undo_choices(self, request: Request, action: str) -> Iterator[Row]:
        rows = super()._undo_choices(request, action)
        return (row for row in rows if self.scanned_ns(row.reference) is None)

    def _nothing_to_undo(self, request: Request, action: str) -> ProviderFailure:
        if any(self.scanned_ns(row.reference) is not None for row in super()._undo_choices(request, action)):
            return ProviderFailure("declined", "the carrier has scanned this label: it cannot be voided any more")
        return super()._nothing_to_undo(request, action)


def _amount(value: str | int) -> int:
    """A whole number of minor units. Raises ProviderFailure `invalid`."""
    if not isinstance(value, int) or not 0 <= value <= AMOUNT_MAX:
        raise ProviderFailure("invalid", f"amount {value!r} is not a whole number of minor units up to {AMOUNT_MAX}")
    return value
