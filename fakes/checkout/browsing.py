"""Pages before the checkout: catalogue, basket, signing in and out.

Never here: an order.
"""

from __future__ import annotations

import hmac

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fakes.checkout.goods import PRODUCTS, QUANTITY_MAX, lines_of, quantity_in, total
from fakes.checkout.options import TEST_PASSWORD, TEST_USER
from fakes.checkout.pages import NOT_KEPT
from fakes.checkout.sessions import Session
from fakes.checkout.shop import COOKIE, Shop, not_found, own_path


class Browsing:
    """The handlers of these pages."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def routes(self) -> list[Route]:
        return [
            Route("/", self.catalogue, methods=["GET"]),
            Route("/basket", self.basket, methods=["GET"]),
            Route("/basket", self.put, methods=["POST"]),
            Route("/login", self.login, methods=["GET"]),
            Route("/login", self.sign_in, methods=["POST"]),
            Route("/logout", self.sign_out, methods=["POST"]),
        ]

    async def catalogue(self, request: Request) -> Response:
        await self._shop.read(request, "catalogue")
        return self._shop.show("catalogue", self._shop.session_of(request), products=PRODUCTS.values())

    async def basket(self, request: Request) -> Response:
        await self._shop.read(request, "basket-page")
        return self._basket(self._shop.session_of(request))

    def _basket(self, session: Session | None, problem: str = "", code: int = 200) -> Response:
        lines = lines_of(session.basket if session is not None else {})
        return self._shop.show("basket", session, code=code, lines=lines, total=total(lines), problem=problem)

    async def put(self, request: Request) -> Response:
        """Add to the basket, or set how many there are (`set`)."""
        fields = await self._shop.form(request)
        sku, quantity = fields.get("sku", ""), quantity_in(fields.get("quantity", "1"))
        if sku not in PRODUCTS:
            raise not_found()
        if quantity is None:
            words = f"Please give a quantity from 0 to {QUANTITY_MAX}."
            return self._basket(self._shop.session_of(request), words, code=422)
        wanted: int = quantity

        def execute() -> Session:
            session = self._shop.session_of(request) or self._shop.sessions.begin()
            before = 0 if "set" in fields else session.basket.get(sku, 0)
            return self._shop.sessions.put(session, sku, before + wanted)

        return self._shop.let_in("/basket", await self._shop.treat(request, "basket", execute, sku))

    async def login(self, request: Request) -> Response:
        await self._shop.read(request, "login-page")
        asked = request.query_params.get("next", "/")
        return self._login(self._shop.session_of(request), asked)

    def _login(self, session: Session | None, asked: str, email: str = "", problem: str = "") -> Response:
        shown = {"next": own_path(asked), "email": email, "problem": problem}
        return self._shop.show("login", session, code=403 if problem else 200, headers=NOT_KEPT, **shown)

    async def sign_in(self, request: Request) -> Response:
        fields = await self._shop.form(request)
        email, asked = fields.get("email", "").strip(), fields.get("next", "/")

        def execute() -> Session | None:
            session = self._shop.session_of(request)
            return self._shop.sessions.sign_in(session, TEST_USER) if _is_known(email, fields) else None

        session = await self._shop.treat(request, "login", execute)
        if session is None:
            words = "This e-mail and password do not belong together."
            return self._login(self._shop.session_of(request), asked, email[:100], words)
        return self._shop.let_in(own_path(asked), session)

    async def sign_out(self, request: Request) -> Response:
        def execute() -> None:
            session = self._shop.session_of(request)
            if session is not None:
                self._shop.sessions.end(session)

        await self._shop.treat(request, "logout", execute)
        answer = self._shop.go("/")
        answer.delete_cookie(COOKIE, path="/")
        return answer


def _is_known(email: str, fields: dict[str, str]) -> bool:
    said = fields.get("password", "").encode("utf-8", "replace")
    return email.lower() == TEST_USER and hmac.compare_digest(said, TEST_PASSWORD.encode())
