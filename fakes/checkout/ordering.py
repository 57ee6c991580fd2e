"""The checkout: address, payment, the order itself, and its confirmation.

Never here: what an order is (`orders.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fakes.checkout.forms import CARD_WORDS, Payment, Problems, is_plain, read_address, read_payment
from fakes.checkout.goods import Line, lines_of, read_lines, total
from fakes.checkout.orders import CardRefused, Order, Placed
from fakes.checkout.pages import NOT_KEPT
from fakes.checkout.sessions import OrderForm, Session
from fakes.checkout.shop import Shop, SignedOut
from fakes.wire.http import call_of

NOT_YOURS = "This form is not valid any more. Nothing was ordered. Begin the payment again."


class Ordering:
    """The handlers of these pages."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def routes(self) -> list[Route]:
        return [
            Route("/checkout/address", self.address, methods=["GET"]),
            Route("/checkout/address", self.send_to, methods=["POST"]),
            Route("/checkout/payment", self.payment, methods=["GET"]),
            Route("/orders", self.order, methods=["POST"]),
            Route("/orders/{id}/thanks", self.confirmation, methods=["GET"]),
        ]

    async def address(self, request: Request) -> Response:
        await self._shop.read(request, "address-page")
        session = self._shop.signed_in(request)
        return self._address(session, request.query_params.get("buy", ""), session.address, {})

    def _address(self, session: Session, buy: str, address: Mapping[str, str], problems: Problems) -> Response:
        lines = _goods(session, buy)
        if not lines:
            return self._shop.go("/basket")
        code = 422 if problems else 200
        return self._shop.show(
            "address", session, code=code, lines=lines, total=total(lines), address=address, problems=problems, buy=buy
        )

    async def send_to(self, request: Request) -> Response:
        fields = await self._shop.form(request)
        session = self._shop.signed_in(request)
        address, problems = read_address(fields)
        buy = fields.get("buy", "")
        if problems:
            return self._address(session, buy, address, problems)

        def execute() -> None:
            self._shop.sessions.send_to(self._shop.signed_in(request), address)

        await self._shop.treat(request, "address", execute)
        return self._shop.go("/checkout/payment", buy=buy)

    async def payment(self, request: Request) -> Response:
        await self._shop.read(request, "payment-page")
        session, asked = self._shop.signed_in(request), request.query_params
        buy = asked.get("buy", "")
        lines = _goods(session, buy)
        if not lines:
            return self._shop.go("/basket")
        if not session.address:
            return self._shop.go("/checkout/address", buy=buy)
        form = self._shop.sessions.give_form(session, lines, is_of_basket=not buy)
        marks = {name: _mark(asked.get(name, "")) for name in ("reference", "operation")}
        return self._payment(session, form, marks, buy=buy)

    def _payment(
        self,
        session: Session,
        form: OrderForm,
        marks: Mapping[str, str],
        *,
        buy: str = "",
        code: int = 200,
        problem: str = "",
        problems: Problems | None = None,
    ) -> Response:
        # The form must outlive this process before anybody can hold it.
        self._shop.desk.commit()
        shown = {**marks, "form": form, "total": total(form.lines), "buy": buy, "problem": problem}
        return self._shop.show("payment", session, code=code, headers=NOT_KEPT, problems=problems or {}, **shown)

    async def order(self, request: Request) -> Response:
        """The order form. Whatever is answered without `treat` has ordered nothing."""
        call = call_of(request).about(what="order")
        fields = await self._shop.form(request)
        session = self._shop.signed_in(request)
        form = self._shop.sessions.form_of(fields.get("nonce", ""), session)
        if form is None:
            return self._shop.show("message", session, code=403, heading="Nothing was ordered", words=NOT_YOURS)
        payment = read_payment(fields, self._shop.month())
        if payment.problems:
            return self._once_more(session, form, payment, 422)
        asked = self._shop.orders.request_of(form, payment)
        call.about(what="order", target=asked.target, operation=asked.operation, key=asked.key)

        def execute() -> Placed:
            present = self._shop.signed_in(request)
            placed = self._shop.orders.place(asked, form, payment, present.user)
            if not placed.is_replayed:
                if form.is_of_basket:
                    self._shop.sessions.empty(present)
                self._shop.mail(placed.id)
            return placed

        try:
            placed = await self._shop.desk.treat(call, execute, is_replay=self._shop.orders.is_kept(asked))
        except CardRefused as refused:
            return self._once_more(session, form, payment, 402, CARD_WORDS[refused.outcome])
        return self._ordered(request, placed)

    def _once_more(self, session: Session, form: OrderForm, payment: Payment, code: int, problem: str = "") -> Response:
        """The payment page again, with a new form for the same goods."""
        fresh = self._shop.sessions.give_form(session, form.lines, is_of_basket=form.is_of_basket)
        marks = {"reference": payment.reference[:100], "operation": payment.operation[:100]}
        return self._payment(session, fresh, marks, code=code, problem=problem, problems=payment.problems)

    def _ordered(self, request: Request, placed: Placed) -> Response:
        if self._shop.options.prg:
            return self._shop.go(f"/orders/{placed.id}/thanks", again="1" if placed.is_replayed else "")
        session = self._shop.session_of(request)
        if session is None:
            raise SignedOut
        order = self._shop.orders.of_user(session.user, placed.id)
        return self._confirmation(session, order, is_replayed=placed.is_replayed)

    async def confirmation(self, request: Request) -> Response:
        id_ = request.path_params["id"]
        behind_ns = await self._shop.read(request, "confirmation-page")
        session = self._shop.signed_in(request)
        order = self._shop.orders.of_user(session.user, id_, behind_ns)
        if not self._shop.orders.is_of_session(id_, session):
            return self._shop.go(f"/orders/{id_}")
        return self._confirmation(session, order, is_replayed="again" in request.query_params)

    def _confirmation(self, session: Session, order: Order, *, is_replayed: bool) -> Response:
        return self._shop.show("confirmation", session, order=order, is_replayed=is_replayed)


def _goods(session: Session, buy: str) -> tuple[Line, ...]:
    """What is about to be ordered: what `buy` names, or else the basket."""
    return read_lines(buy) if buy else lines_of(session.basket)


def _mark(text: str) -> str:
    """A mark a link brings along, if it can be used."""
    return text if len(text) <= 100 and is_plain(text) else ""
