"""A visitor of the shop without a browser: it keeps cookies, reads forms out of pages, and sends them.

Never here: what the shop should answer.
"""

from __future__ import annotations

import re
from html import unescape
from types import TracebackType
from typing import Any

import httpx

from fakes.checkout.options import TEST_PASSWORD, TEST_USER, ShopOptions
from fakes.wire.hosting import Hosted

ADDRESS = {
    "name": "Ada Lovelace",
    "street": "12 St James's Square",
    "postcode": "SW1Y 4JH",
    "city": "London",
    "country": "GB",
}
CARD = {"card": "4242 4242 4242 4242", "expiry": "12/39", "cvc": "123"}
SECOND_NS = 1_000_000_000


class Visitor:
    """One browser-like client. Redirects are followed, as browsers do."""

    def __init__(self, hosted: Hosted) -> None:
        self.http = httpx.Client(base_url=hosted.places["http"].url, follow_redirects=True, timeout=20)

    def __enter__(self) -> Visitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    def sign_in(self) -> Visitor:
        answer = self.http.post("/login", data={"email": TEST_USER, "password": TEST_PASSWORD})
        assert answer.status_code == 200, answer.text
        return self

    def give_address(self, buy: str = "mug", **changed: str) -> httpx.Response:
        return self.http.post("/checkout/address", data={**ADDRESS, "buy": buy, **changed})

    def ready(self) -> Visitor:
        """Signed in, and the address is known."""
        self.sign_in().give_address()
        return self

    def form(self, buy: str = "mug") -> str:
        """The nonce of a new order form."""
        return hidden(self.http.get("/checkout/payment", params={"buy": buy}).text, "nonce")

    def order(self, reference: str = "", *, nonce: str = "", **fields: Any) -> httpx.Response:
        """Send an order form, a new one unless its nonce is given."""
        nonce = nonce or self.form()
        return self.http.post("/orders", data={**CARD, "nonce": nonce, "reference": reference, **fields})

    def orders(self, **asked: str) -> dict[str, Any]:
        answer = self.http.get("/api/orders", params=asked)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()
        return data

    def references(self) -> list[str]:
        """The references of all orders the first page of the history shows."""
        return [order["reference"] for order in self.orders()["orders"]]


def hidden(html: str, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert found, f"no field {name} in {html}"
    return unescape(found[1])


def page_name(answer: httpx.Response) -> str:
    """Which page it is."""
    found = re.search(r'data-page="([a-z-]+)"', answer.text)
    assert found, f"no page of the shop: {answer.text[:300]}"
    return found[1]


def order_id(answer: httpx.Response) -> str:
    """The id of the order a confirmation page is about."""
    assert page_name(answer) == "confirmation", answer.text
    found = re.search(r'data-order-id="([^"]*)"', answer.text)
    assert found
    return found[1]


def shop(**options: Any) -> ShopOptions:
    return ShopOptions(**options)


def posts(hosted: Hosted, since: int = 0) -> int:
    """How many order forms have arrived."""
    return sum(e.data["line"] == "POST /orders" for e in hosted.entries("arrived") if e.number > since)


def placed(hosted: Hosted, target: str | None = None, since: int = 0) -> int:
    """How many orders were committed, by the journal."""
    return sum(
        e.data["action"] == "order" and target in (None, e.data["target"])
        for e in hosted.entries("effect")
        if e.number > since
    )


def fired(hosted: Hosted, since: int = 0) -> list[str]:
    """What hooks did, in order."""
    return [f"{e.data['point']}={e.data['action']}" for e in hosted.entries("hook-fired") if e.number > since]


def bugs(hosted: Hosted) -> list[str]:
    return [e.data["error"] for e in hosted.entries("bug")]
