"""A driver that buys in the shop with a real browser, and says no more than it saw.

It is a client, not a part of the provider: it ships with the shop because it knows the shop's pages, and it relies on
nothing but what those promise in public (`body[data-page]`, `#page-end`, `data-order-id`, `data-reference`, the form
fields, `/api/orders`). A candidate may use it, or write its own.

Theory. Pressing the order button sends a POST, and from then on nothing a browser shows proves that nothing was ordered:
the answer may be lost, and Chromium sends a form again by itself when a connection it has used before dies, so that even
a page which refuses may be the answer to the second of two forms. Hence:

    saw a whole confirmation page with the reference on it      Confirmed
    the button was never pressed, or the form did not leave      Refused
    anything else                                                Uncertain: look the order up, then decide

The driver never sends an order form twice: it neither reloads nor goes back after the button was pressed.
Never here: a decision to order again, and anything of the shop's inside.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote, urlsplit

from harness.model.errors import EnvironmentMissing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType, Page, Response

PROGRAMS = ("chromium", "chromium-browser")
ARGUMENTS = (
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
TIMEOUT_MS = 10_000
PAGES_MAX = 50
"""How many pages of the history are read before it counts as too long to answer."""
CHROME_ERROR = "chrome-error://"
TEST_CARD = {"card": "4242 4242 4242 4242", "expiry": "12/39", "cvc": "123"}
ADDRESS_NAMES = ("name", "street", "postcode", "city")


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The confirmation page was seen, whole, with this order and this reference on it."""

    order_id: str
    reference: str


@dataclass(frozen=True, slots=True)
class Refused:
    """No order form has left the browser, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An order form has left, or may have, and what was seen after it does not say what came of it."""

    why: str
    url: str


Outcome: TypeAlias = Confirmed | Refused | Uncertain


@dataclass(frozen=True, slots=True)
class FoundOrder:
    """One order the history shows."""

    order_id: str
    reference: str
    is_standing: bool


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The history does not answer the question, and why. It is not "there is none"."""

    why: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The order is cancelled; `is_by_this_call` is False if it had been before."""

    order_id: str
    is_by_this_call: bool


class _Stuck(Exception):
    """A step before the order button did not lead where it should."""


@contextmanager
def chromium(*, headless: bool = True) -> Iterator[Browser]:
    """This machine's Chromium. Raises EnvironmentMissing if it, or the package that drives it, is not there."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise EnvironmentMissing(
            "The package playwright is missing.", next_step="Install knownstate with its extra `browser`."
        ) from None
    with sync_playwright() as playwright:
        browser = launch(playwright.chromium, headless=headless)
        try:
            yield browser
        finally:
            browser.close()


def launch(kind: BrowserType, *, headless: bool = True) -> Browser:
    """Start the Chromium of this machine, which is not one that Playwright brings. Raises EnvironmentMissing."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        names = " or ".join(PROGRAMS)
        raise EnvironmentMissing(f"There is no {names}.", where="PATH", next_step="Install your system's Chromium.")
    # As root Chromium has no sandbox to offer, and refuses to start unless it is told.
    arguments = [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    return kind.launch(executable_path=program, args=arguments, headless=headless)


class ShopDriver:
    """One customer with one browser window of their own. Use it as a context manager."""

    def __init__(
        self, base_url: str, *, user: Mapping[str, str], browser: Browser, timeout_ms: float = TIMEOUT_MS
    ) -> None:
        """`user` has `email` and `password`, as the shop's entry gives them."""
        self._base = base_url.rstrip("/")
        self._user = user
        self.context = browser.new_context()
        self.context.set_default_timeout(timeout_ms)
        self._timeout_ms = timeout_ms

    def __enter__(self) -> ShopDriver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the window. What it was waiting for is not waited for any more."""
        self.context.close()

    # Buying.

    def buy(
        self, items: Mapping[str, int], address: Mapping[str, str], reference: str, *, operation: str = ""
    ) -> Outcome:
        """Order these items (SKU -> quantity) under this reference, once."""
        if not reference:
            return Refused("An order without a reference could not be looked up.")
        with _browser_failures() as failed:
            page = self.context.new_page()
            try:
                self._fill_forms(page, items, address, reference, operation)
            except _Stuck as stuck:
                page.close()
                return Refused(str(stuck))
        if failed:
            return Refused(f"The order form could not be reached: {failed[0]}")
        outcome = self._press(page, reference)
        with _browser_failures():
            page.close()
        return outcome

    def _fill_forms(
        self, page: Page, items: Mapping[str, int], address: Mapping[str, str], reference: str, operation: str
    ) -> None:
        self._sign_in(page)
        self._fill_basket(page, items)
        self._open(page, "/checkout/address", "address")
        for name in ADDRESS_NAMES:
            page.fill(f"#{name}", address[name])
        page.select_option("#country", address["country"])
        page.click("#to-payment")
        _expect(page, "payment")
        for name, value in {**TEST_CARD, "reference": reference}.items():
            page.fill(f"#{name}", value)
        if operation:
            page.locator("[name=operation]").evaluate("(field, value) => { field.value = value }", operation)

    def _sign_in(self, page: Page) -> None:
        self._open(page, "/login?next=/basket", "login")
        page.fill("#email", self._user["email"])
        page.fill("#password", self._user["password"])
        page.click("#sign-in")
        if _page_name(page) == "login":
            raise _Stuck("The shop does not know this user.")

    def _fill_basket(self, page: Page, items: Mapping[str, int]) -> None:
        """On the basket's page: let it hold exactly these, whatever an earlier visit left in it."""
        _expect(page, "basket")
        others = "form:has([type=hidden][value='0']) button"
        for _ in range(_how_many(page, others)):
            page.locator(others).first.click()
            _expect(page, "basket")
        if _how_many(page, others):
            raise _Stuck("The basket cannot be emptied.")
        for sku, quantity in items.items():
            line = f'li[data-sku="{sku}"]'
            self._open(page, "/", "catalogue")
            if not _SKU.fullmatch(sku) or not _how_many(page, line):
                raise _Stuck(f"The shop does not sell {sku!r}.")
            page.click(f"{line} button")
            _expect(page, "basket")
            if quantity != 1:
                page.fill(f"{line} [name=quantity][type=number]", str(quantity))
                page.click(f"{line} .quantity button")
                _expect(page, "basket")
            if not _how_many(page, f'{line}[data-quantity="{quantity}"]'):
                raise _Stuck(f"The basket does not take {quantity} of {sku!r}.")

    def _open(self, page: Page, path: str, name: str) -> None:
        """Go to a page of the shop. Once more when the page before it was still on its way to an error page."""
        from playwright.sync_api import Error

        try:
            page.goto(self._base + path)
        except Error as error:
            if "interrupted by another navigation" not in str(error) or CHROME_ERROR not in str(error):
                raise
            page.goto(self._base + path)
        _expect(page, name)

    def _press(self, page: Page, reference: str) -> Outcome:
        """Press the order button, and say what was seen."""
        statuses: list[int] = []
        page.on("response", lambda response: _note_status(response, f"{self._base}/orders", statuses))
        is_valid = False
        with _browser_failures() as failed:
            is_valid = page.locator("#order-form").evaluate("form => form.checkValidity()")
        if not is_valid:
            return Refused(failed[0] if failed else "The order form does not accept what is in it.")
        seen: Mapping[str, str] = {}
        with _browser_failures() as failed:
            page.click("#place-order")
            page.wait_for_load_state("load")
            seen = _read(page, _SEEN)
        if failed:
            return Uncertain(failed[0], _url_of(page))
        return _judged(seen, statuses, reference)

    # Looking up.

    def orders_with(self, reference: str) -> list[FoundOrder] | CannotTell:
        """All orders with this reference, cancelled ones too, read with this window's cookies and no page.

        An empty list is the history's own answer, given by a history that does not say of itself that it lags.
        """
        found: list[FoundOrder] = []
        path: str | None = f"/api/orders?reference={quote(reference, safe='')}"
        notices: list[str] = []
        for _ in range(PAGES_MAX):
            if path is None:
                break
            answer = self._history_page(path)
            if isinstance(answer, CannotTell):
                return answer
            found += [order for each in answer["orders"] if (order := _found(each)).reference == reference]
            notices = [words for name, words in _NOTICES.items() if answer.get(name)]
            path = answer["next"]
        if path is not None:
            return CannotTell(f"The history has more than {PAGES_MAX} pages.")
        return CannotTell(" ".join(notices)) if notices and not found else found

    def _history_page(self, path: str) -> dict[str, Any] | CannotTell:
        """One page of the history, signing in again where the session was lost."""
        for _ in range(2):
            status, data = self._ask("get", path)
            if status == 401:
                if problem := self._sign_in_again():
                    return CannotTell(problem)
                continue
            if status == 200 and _is_history(data):
                return dict(data)
            return CannotTell(f"The history answered {status or 'nothing'}: {_words_of(data)}")
        return CannotTell("The shop signs this user out again at once.")

    def _ask(self, method: Literal["get", "post"], path: str) -> tuple[int, Any]:
        """(status, JSON data) of one request; status 0 and the words of the failure if there was no whole answer."""
        status, data = 0, None
        with _browser_failures() as failed:
            ask = self.context.request.get if method == "get" else self.context.request.post
            answer = ask(self._base + path, timeout=self._timeout_ms, max_redirects=0)
            status = answer.status
            try:
                data = answer.json()
            except ValueError:
                data = f"not JSON, but {answer.headers.get('content-type', 'something without a type')}"
        return (0, failed[0]) if failed else (status, data)

    def _sign_in_again(self) -> str:
        """Sign in with a fresh tab; what went wrong, or ""."""
        problem = ""
        with _browser_failures() as failed:
            page = self.context.new_page()
            try:
                self._sign_in(page)
            except _Stuck as stuck:
                problem = str(stuck)
            page.close()
        return failed[0] if failed else problem

    # Undoing.

    def cancel(self, order_id: str) -> Cancelled | Refused | Uncertain:
        """Cancel an order. Asked once more it is cancelled already, so an uncertain cancel may be repeated."""
        path = f"/api/orders/{quote(order_id, safe='')}/cancel"
        status, data = self._ask("post", path)
        if status == 401 and not self._sign_in_again():
            status, data = self._ask("post", path)
        code = data.get("error", {}).get("code") if isinstance(data, dict) else None
        match status, code:
            case 200, None if isinstance(data, dict) and data.get("status") == "cancelled":
                return Cancelled(order_id, is_by_this_call=True)
            case 409, "already-undone":
                return Cancelled(order_id, is_by_this_call=False)
            case 401 | 404, _:
                return Refused(_words_of(data))
            case _:
                return Uncertain(f"The shop answered {status or 'nothing'}: {_words_of(data)}", self._base + path)


_NOTICES = {
    "may_lag": "The history shows none, and says that new orders appear in it later.",
    "only_confirmed": "The history shows none, and says that it has only orders confirmed by mail.",
}


_SKU = re.compile(r"[a-z0-9-]+")
_SEEN = """root => {
  const order = root.querySelector("#confirmed-order"), words = root.querySelector("[role=alert]") || root.querySelector("h1");
  return {
    url: location.href,
    page: document.body ? document.body.dataset.page || "" : "",
    end: root.querySelector("#page-end") ? "whole" : "",
    order: order ? order.dataset.orderId : "",
    reference: order ? order.dataset.reference : "",
    words: words ? words.innerText : "",
  };
}"""
"""Everything the driver wants to know of a page, at one moment."""


@contextmanager
def _browser_failures() -> Iterator[list[str]]:
    """Collect what the browser's side of a step fails with, in one line."""
    from playwright.sync_api import Error

    failed: list[str] = []
    try:
        yield failed
    except Error as error:
        failed.append(f"{type(error).__name__}: {error.message.splitlines()[0] if error.message else ''}")


def _read(page: Page, script: str, given: str = "") -> Any:
    """Ask the page, within its time limit: while a page is being replaced, other ways of asking wait for ever."""
    return page.locator("html").evaluate(script, given)


def _how_many(page: Page, selector: str) -> int:
    return int(_read(page, "(root, selector) => root.querySelectorAll(selector).length", selector))


def _page_name(page: Page) -> str:
    """Which of the shop's pages this is; "" if it is none, for instance the browser's own error page."""
    page.wait_for_load_state("load")
    return str(_read(page, _SEEN)["page"])


def _expect(page: Page, name: str) -> None:
    """The page must be this one, and whole. Raises _Stuck."""
    page.wait_for_load_state("load")
    seen = _read(page, _SEEN)
    if seen["page"] != name or not seen["end"]:
        raise _Stuck(f"Instead of the page {name!r} there was {seen['page'] or seen['url']!r}.")


def _note_status(response: Response, url: str, statuses: list[int]) -> None:
    if response.request.method == "POST" and response.url == url:
        statuses.append(response.status)


def _judged(seen: Mapping[str, str], statuses: list[int], reference: str) -> Confirmed | Uncertain:
    """What the page after the order button allows to say."""
    url, answered = seen["url"], f"The order form was answered {statuses}" if statuses else "No answer to the form came"
    if url.startswith(CHROME_ERROR):
        return Uncertain(f"{answered}; the browser shows its own error page.", url)
    if not seen["end"]:
        return Uncertain(f"{answered}; the page {seen['page']!r} broke off.", url)
    if seen["page"] != "confirmation":
        return Uncertain(f"{answered}; the page {seen['page']!r} says: {seen['words']}", url)
    if seen["reference"] != reference or not seen["order"]:
        return Uncertain(f"{answered}; the confirmation is for the reference {seen['reference']!r}.", url)
    return Confirmed(seen["order"], reference)


def _url_of(page: Page) -> str:
    """Where the page is, as far as the driver knows, without asking the browser."""
    return urlsplit(page.url)._replace(query="", fragment="").geturl()


def _is_history(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("orders"), list) and "next" in data


def _found(data: Mapping[str, Any]) -> FoundOrder:
    return FoundOrder(str(data["id"]), str(data.get("reference", "")), data["status"] == "placed")


def _words_of(data: Any) -> str:
    """What an answer says in words."""
    error = data.get("error") if isinstance(data, dict) else None
    return str(error.get("message", error)) if isinstance(error, dict) else str(data)


__all__: Sequence[str] = [
    "Cancelled",
    "CannotTell",
    "Confirmed",
    "FoundOrder",
    "Outcome",
    "Refused",
    "ShopDriver",
    "Uncertain",
    "chromium",
    "launch",
]
