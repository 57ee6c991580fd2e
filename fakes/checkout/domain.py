"""A web shop's checkout: every submitted form is an order, and the order history is where one looks for it.

A reload, a second click or a resent form orders again. What tells two orders apart from one is the history by the
merchant's reference (the target), never the number of requests.
Never here: pages, forms, a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider
from harness.model.wire import FoundRecord


class Checkout(Provider):
    """Orders by order reference."""

    __slots__ = ()

    name: ClassVar[str] = "checkout"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "order": ActionSpec(undoes=None, again=Again.NEW),
        "order.cancel": ActionSpec(undoes="order", again=Again.REFUSED),
    }

    def history(self) -> tuple[FoundRecord, ...]:
        """Every order of the shop, oldest first, cancelled ones too, as its history page (which may lag) shows them."""
        return self._visible([row for row in self._table if row.action == "order"])
