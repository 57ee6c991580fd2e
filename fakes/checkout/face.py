"""The shop on the wire: a small web shop for browsers, behind HTTP, with every hook point on its way.

Points: each request crosses RECEIVED, PARSED, RESPONDING and RESPONDED; pages cross READ; changes cross KEY_CLAIMED,
BEFORE_COMMIT and AFTER_COMMIT; the message about an order crosses EVENT. A form that is answered from what was kept
under its key crosses neither BEFORE_COMMIT nor AFTER_COMMIT. A request that cannot be read, or whose sender is not
signed in, is answered before PARSED. Nothing settles later here: SETTLE is never crossed.

`what` of the changes: `order`, `order.cancel`, `basket`, `address`, `login`, `logout`, `confirm`; of the message
`order.mail`; of pages `history`, `catalogue`, and the others by their name with `-page`.
Never here: rules of orders, words of pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from fakes.checkout import pages
from fakes.checkout.browsing import Browsing
from fakes.checkout.forms import FormUnreadable
from fakes.checkout.looking_back import LookingBack
from fakes.checkout.options import TEST_PASSWORD, TEST_USER, ShopOptions
from fakes.checkout.ordering import Ordering
from fakes.checkout.shop import NOBODY, Shop, SignedOut
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Options, Place
from fakes.wire.http import Application, HttpFake, Refusal, call_of, json_refusal
from fakes.wire.journal_file import Document
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState
from harness.model.errors import ERRORS, ProviderFailure

STATUSES: Mapping[str, int] = {"expired": 410, "key-reused": 409, "no-history": 404, "unsupported-filter": 400}
"""Where the shop's status is not that of the table. `expired` is not 408 here: a browser takes that for a request to
send the form again, on a connection it has used before."""
WORDS: Mapping[str, tuple[str, str]] = {
    "expired": ("The form is too old", "Nothing was ordered with it. Begin the payment again."),
    "key-reused": ("Another order has this mark", "Nothing was ordered now. Your orders show the one that stands."),
    "key-in-use": ("Your order is being worked on", "Look at your orders in a moment, and do not send it again."),
    "already-undone": ("The order is cancelled", "It had been cancelled before."),
    "not-found": ("There is nothing here", "It does not exist, or it is not yours."),
    "no-history": ("No order history", "This shop does not show past orders."),
}
STATUS_WORDS: Mapping[int, tuple[str, str]] = {
    400: ("That was not understood", "Go back and try again."),
    403: ("This is closed to you", "Sign in and try again."),
    404: ("There is nothing here", "It does not exist, or it is not yours."),
    405: ("That cannot be done here", "Go back and use the page's own buttons."),
    413: ("That was too much", "Send less."),
    415: ("That was not understood", "This shop reads plain web forms only."),
    429: ("Too many requests", "Wait a little and look at your orders before you try again."),
    431: ("That was too much", "Send less."),
}


class ShopState(ProviderState):
    """The orders and all that stands beside them; what was on its way when it ended sets out again."""

    def __init__(self, shop: Shop) -> None:
        super().__init__(shop.orders.domain, shop.shelf)
        self._shop = shop

    def load(self, documents: Iterable[Document]) -> None:
        super().load(documents)
        self._shop.mail_again()


class ShopFake(HttpFake):
    """The shop."""

    name: ClassVar[str] = "checkout"
    title: ClassVar[str] = "a web shop for browsers: catalogue, basket, checkout, order history (HTML over HTTP)"
    options_class: ClassVar[type[Options]] = ShopOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "logout": "every session is lost, and with it the baskets",
        "cancel": "the shop cancels the oldest standing order with the request's reference",
    }

    def __init__(self, desk: Desk, options: Options) -> None:
        assert isinstance(options, ShopOptions), f"the shop cannot use {options!r}"
        super().__init__(desk, options)
        self.shop = Shop(desk, options)
        self.state = ShopState(self.shop)

    def application(self) -> Application:
        routes = [*Browsing(self.shop).routes(), *Ordering(self.shop).routes(), *LookingBack(self.shop).routes()]
        handlers = {SignedOut: self._signed_out, FormUnreadable: self._unreadable, HTTPException: self._no_page}
        return Starlette(routes=routes, exception_handlers=handlers)

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url = places[self.port].url
        env = {"SHOP_URL": url, "SHOP_USER": TEST_USER, "SHOP_PASSWORD": TEST_PASSWORD}
        return {"url": url, "env": env, "user": {"email": TEST_USER, "password": TEST_PASSWORD}}

    def view(self) -> Any:
        orders = self.shop.orders
        return {"orders": orders.all(), "mails": len(orders.mails(TEST_USER)), "sessions": self.shop.sessions.count()}

    def compete(self, what: str, facts: Facts) -> None:
        match what:
            case "logout":
                lost = self.shop.sessions.end_all()
                self.desk.note("sessions-lost", facts.call, {"sessions": lost})
            case "cancel":
                if not self.shop.orders.cancel_by_shop(facts.target):
                    raise LookupError(f"no order with the reference {facts.target!r} stands")
            case _:
                super().compete(what, facts)

    # Words.

    def refusal(self, code: int, call: Call) -> Refusal:
        heading, words = STATUS_WORDS.get(code, ("Something went wrong", "Look at your orders before you try again."))
        return _refusal(call, heading, words, code=str(code))

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        spec = ERRORS.get(failed.code)
        status = STATUSES.get(failed.code) or (spec.status if spec is not None and spec.status else 500)
        heading, words = WORDS.get(failed.code, ("That was not understood", str(failed)))
        return status, _refusal(call, heading, words, code=failed.code)

    async def _signed_out(self, request: Request, error: Exception) -> Response:
        if _is_data(call_of(request)):
            return _as_response(401, json_refusal({"error": {"code": "signed-out", "message": "Sign in first."}}))
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        told = {"next": asked if request.method == "GET" else "/basket"}
        return RedirectResponse(f"/login?{urlencode(told)}", 303, {"cache-control": "no-store"})

    async def _unreadable(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, FormUnreadable)
        refusal = _refusal(call_of(request), "That was not understood", str(error), code=str(error.code))
        return _as_response(error.code, refusal)

    async def _no_page(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refusal = self.refusal(error.status_code, call_of(request))
        return _as_response(error.status_code, refusal, error.headers)


def _is_data(call: Call) -> bool:
    return " /api/" in call.facts.line


def _refusal(call: Call, heading: str, words: str, *, code: str) -> Refusal:
    """A page, or JSON where that is spoken."""
    if _is_data(call):
        return json_refusal({"error": {"code": code, "message": f"{heading}. {words}"}})
    body = pages.html("message", who=NOBODY, heading=heading, words=words)
    return Refusal({"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}, body.encode())


def _as_response(code: int, refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    return Response(refusal.body, code, {**refusal.headers, **(headers or {})})
