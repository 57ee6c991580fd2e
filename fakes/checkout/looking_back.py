"""Pages after the checkout: order history, single orders, cancelling, the mailbox, and the same history as JSON.

Never here: how far behind the history is (`orders.py`).
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fakes.checkout.forms import TEXT_LENGTH_MAX, is_plain, problem_of_text
from fakes.checkout.goods import CURRENCY
from fakes.checkout.orders import HistoryPage, Order
from fakes.checkout.pages import NOT_KEPT
from fakes.checkout.shop import Shop
from fakes.wire.http import call_of
from fakes.wire.points import duration_ns
from harness.model.cell import Lookup
from harness.model.errors import ProviderFailure

LATE_NOTICE = "New orders can take a while to appear here."
CONFIRMED_NOTICE = "An order appears here once you have confirmed it from our message about it."


class CancelBody(BaseModel):
    """What a cancellation as JSON may say."""

    model_config = ConfigDict(extra="forbid")

    operation: str = Field("", max_length=TEXT_LENGTH_MAX)


class LookingBack:
    """The handlers of these pages."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        options = shop.options
        lookup = options.provider_cell.lookup
        self._is_absent = lookup is Lookup.ABSENT
        self._may_lag = lookup is Lookup.EVENTUAL or duration_ns(options.history_lag) > 0

    def routes(self) -> list[Route]:
        return [
            Route("/orders", self.history, methods=["GET"]),
            Route("/orders/{id}", self.order, methods=["GET"]),
            Route("/orders/{id}/cancel", self.cancel, methods=["POST"]),
            Route("/mailbox", self.mailbox, methods=["GET"]),
            Route("/confirm", self.confirm, methods=["POST"]),
            Route("/api/orders", self.history_data, methods=["GET"]),
            Route("/api/orders/{id}/cancel", self.cancel_data, methods=["POST"]),
        ]

    async def history(self, request: Request) -> Response:
        shown = await self._history(request, "")
        options = self._shop.options
        notices = [LATE_NOTICE] * self._may_lag + [CONFIRMED_NOTICE] * options.history_needs_confirmation
        session = self._shop.signed_in(request)
        references = options.history_shows_reference
        return self._shop.show("history", session, shown=shown, notices=notices, shows_reference=references)

    async def _history(self, request: Request, reference: str) -> HistoryPage:
        """The wanted page. Raises SignedOut, and ProviderFailure `invalid`, `no-history`."""
        user = self._shop.signed_in(request).user
        behind_ns = await self._shop.read(request, "history", reference)
        if self._is_absent:
            raise ProviderFailure("no-history", "This shop has no order history.")
        number = re.fullmatch(r"0*([1-9][0-9]{0,5})", request.query_params.get("page", "1"))
        if number is None:
            raise ProviderFailure("invalid", "A page is a number from 1.")
        return self._shop.orders.history(user, int(number[1]), behind_ns, reference)

    async def history_data(self, request: Request) -> JSONResponse:
        reference = request.query_params.get("reference", "")
        if reference and not self._shop.options.history_shows_reference:
            self._shop.signed_in(request)
            raise ProviderFailure("unsupported-filter", "This history knows no references.")
        if problem_of_text(reference, is_required=False):
            raise ProviderFailure("invalid", "No order has such a reference.")
        shown = await self._history(request, reference)
        return JSONResponse(self._page_data(shown, reference), headers=dict(NOT_KEPT))

    def _page_data(self, shown: HistoryPage, reference: str) -> dict[str, Any]:
        asked = {"page": str(shown.number + 1), **({"reference": reference} if reference else {})}
        return {
            "orders": [self._order_data(order) for order in shown.orders],
            "next": f"/api/orders?{urlencode(asked)}" if shown.number < shown.of else None,
            "may_lag": self._may_lag,
            "only_confirmed": self._shop.options.history_needs_confirmation,
        }

    def _order_data(self, order: Order) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": order.id,
            "status": order.status,
            "total": order.total,
            "currency": CURRENCY,
            "placed": order.placed_ns // 1_000_000_000,
            "lines": [{"sku": line.product.sku, "quantity": line.quantity} for line in order.lines],
        }
        if self._shop.options.history_shows_reference:
            data["reference"] = order.reference
        return data

    async def order(self, request: Request) -> Response:
        id_ = request.path_params["id"]
        session = self._shop.signed_in(request)
        behind_ns = await self._shop.read(request, "order-page")
        order = self._shop.orders.of_user(session.user, id_, behind_ns)
        references = self._shop.options.history_shows_reference
        return self._shop.show("order", session, order=order, shows_reference=references)

    async def cancel(self, request: Request) -> Response:
        fields = await self._shop.form(request)
        operation = fields.get("operation", "")
        if problem_of_text(operation, is_required=False):
            raise ProviderFailure("invalid", "The operation cannot be used.")
        await self._cancel(request, operation)
        return self._shop.go("/orders")

    async def cancel_data(self, request: Request) -> JSONResponse:
        said = _cancel_body(await request.body())
        order = await self._cancel(request, said.operation)
        return JSONResponse({"id": order.id, "status": "cancelled"}, headers=dict(NOT_KEPT))

    async def _cancel(self, request: Request, operation: str) -> Order:
        """Cancel the order of the path. Raises SignedOut, ProviderFailure `not-found`, `already-undone`."""
        id_ = request.path_params["id"]
        order = self._shop.orders.of_user(self._shop.signed_in(request).user, id_)
        asked = self._shop.orders.cancel_request_of(order, operation)
        call = call_of(request).about(what="order.cancel", target=asked.target, operation=asked.operation)

        def execute() -> None:
            self._shop.signed_in(request)
            self._shop.orders.cancel(order, operation)

        await self._shop.desk.treat(call, execute)
        return order

    async def mailbox(self, request: Request) -> Response:
        session = self._shop.signed_in(request)
        await self._shop.read(request, "mailbox")
        mails = self._shop.orders.mails(session.user)
        return self._shop.show("mailbox", session, headers=NOT_KEPT, mails=mails)

    async def confirm(self, request: Request) -> Response:
        """The link of a mail. Whoever has the mail may follow it, signed in or not."""
        token = (await self._shop.form(request)).get("token", "")
        await self._shop.treat(request, "confirm", lambda: self._shop.orders.confirm(token))
        session = self._shop.session_of(request)
        words = "Thank you. The order now appears among your orders."
        return self._shop.show("message", session, heading="The order is confirmed", words=words)


def _cancel_body(body: bytes) -> CancelBody:
    """What was said, which may be nothing. Raises ProviderFailure `invalid`."""
    try:
        said = CancelBody.model_validate_json(body or b"{}")
    except ValidationError:
        raise ProviderFailure("invalid", "The body is nothing, or an object with an `operation`.") from None
    if not is_plain(said.operation):
        raise ProviderFailure("invalid", "The operation contains characters that cannot be used.")
    return said
