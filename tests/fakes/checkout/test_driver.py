"""The driver against the shop: what it says of each fault is true, whatever the browser did on the way.

Two rules hold in every test: `Confirmed` only with the order standing in the journal, `Refused` only if no form arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fakes.checkout.driver import (
    TEST_CARD,
    Cancelled,
    CannotTell,
    Confirmed,
    FoundOrder,
    Outcome,
    Refused,
    ShopDriver,
    Uncertain,
    launch,
)
from fakes.wire.hosting import Hosted
from tests.fakes.checkout.test_browser import pid_of
from tests.fakes.checkout.visitor import ADDRESS, SECOND_NS, Visitor, fired, placed, posts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]
TIMEOUT_MS = 8000
SHORT_MS = 1500
"""Where something hangs, or a page never finishes, and the driver has to give up."""
REFERENCE = "DRV-1"


class Customer:
    """A driver at a shop, and the check that it never says more than it can know."""

    def __init__(self, hosted: Hosted, browser: Browser, timeout_ms: int = TIMEOUT_MS) -> None:
        entry = hosted.call(hosted.host.entry)
        self.hosted = hosted
        self.driver = ShopDriver(entry["url"], user=entry["user"], browser=browser, timeout_ms=timeout_ms)
        self.start = hosted.desk.journal.last_number

    def buy(self, reference: str = REFERENCE, **items: int) -> Outcome:
        before = self.hosted.desk.journal.last_number
        outcome = self.driver.buy(items or {"mug": 1}, ADDRESS, reference, operation="op-1")
        if isinstance(outcome, Confirmed):
            standing = [e.data["effect"] for e in self.hosted.entries("effect") if e.data["target"] == reference]
            assert outcome.order_id in standing
        if isinstance(outcome, Refused):
            assert posts(self.hosted, before) == 0
        return outcome

    def order_without_browser(self) -> None:
        """An order of the same customer, which the driver has not seen."""
        with Visitor(self.hosted) as visitor:
            visitor.ready().order(REFERENCE)

    @property
    def counted(self) -> tuple[int, int]:
        return posts(self.hosted, self.start), placed(self.hosted, REFERENCE, self.start)

    @property
    def fired(self) -> list[str]:
        return fired(self.hosted, self.start)


Send = Callable[..., Customer]


@pytest.fixture
def send(open_shop: Callable[..., Hosted], browser: Browser) -> Iterator[Send]:
    with ExitStack() as stack:

        def sending(timeout_ms: int = TIMEOUT_MS, **options: Any) -> Customer:
            customer = Customer(open_shop(**options), browser, timeout_ms)
            stack.callback(customer.driver.close)
            return customer

        yield sending


def test_it_buys_what_it_was_told_under_the_reference(send: Send) -> None:
    customer = send()
    outcome = customer.buy(mug=2, pen=1)
    assert isinstance(outcome, Confirmed)
    assert outcome.reference == REFERENCE
    assert customer.counted == (1, 1)
    (order,) = customer.hosted.call(customer.hosted.fake.view)["orders"]
    assert (order["lines"], order["operation"]) == ("mug:2,pen:1", "op-1")
    assert customer.driver.orders_with(REFERENCE) == [FoundOrder(outcome.order_id, REFERENCE, is_standing=True)]
    assert customer.driver.orders_with("another") == []


def test_it_cancels_and_finds_the_order_cancelled(send: Send) -> None:
    customer = send()
    outcome = customer.buy()
    assert isinstance(outcome, Confirmed)
    customer.hosted.arm("after-commit what=order.cancel = reset")
    assert isinstance(customer.driver.cancel(outcome.order_id), Uncertain)
    assert customer.driver.cancel(outcome.order_id) == Cancelled(outcome.order_id, is_by_this_call=False)
    assert customer.driver.orders_with(REFERENCE) == [FoundOrder(outcome.order_id, REFERENCE, is_standing=False)]
    assert isinstance(customer.driver.cancel("checkout-99"), Refused)


def test_a_second_purchase_holds_only_its_own_items(send: Send) -> None:
    """The first order form never arrived, so its basket is still full."""
    customer = send()
    customer.hosted.arm('received x9 line="POST /orders" = fin')
    assert isinstance(customer.buy(lamp=1, tote=2), Uncertain)
    customer.hosted.call(customer.hosted.desk.board.clear)
    assert isinstance(customer.buy("DRV-2", pen=1), Confirmed)
    orders = customer.hosted.call(customer.hosted.fake.view)["orders"]
    assert [order["lines"] for order in orders] == ["pen:1"]


@pytest.mark.parametrize(
    ("hook", "options", "counted", "words"),
    [
        ("after-commit x9 what=order = reset", {"dedupe": "none"}, (2, 2), "own error page"),
        ("after-commit x9 what=order = fin", {"dedupe": "nonce"}, (2, 1), ""),
        ("before-commit x9 what=order = reset", {}, (2, 0), "own error page"),
        ("after-commit what=order = hang", {}, (1, 1), "TimeoutError"),
        ("before-commit what=order = hang", {}, (1, 0), "TimeoutError"),
        ("after-commit what=order = status:504", {}, (1, 1), "[504]"),
        ("parsed what=order = status:429:5", {}, (1, 0), "[429]"),
        ("responding what=order = truncate:100", {}, (1, 1), "There is nothing here"),
        ("responding what=order = truncate:9900", {"prg": False}, (1, 1), ""),
        ("responding what=confirmation-page x9 = truncate:300", {}, (1, 1), "broke off"),
        ("read what=confirmation-page = stale:5s", {}, (1, 1), "There is nothing here"),
        ('received line="POST /orders" = compete:logout', {}, (1, 0), "Sign in"),
        ("after-commit what=order = compete:logout", {}, (1, 1), "Sign in"),
    ],
)
def test_what_was_not_seen_is_uncertain(
    send: Send, hook: str, options: dict[str, str], counted: tuple[int, int], words: str
) -> None:
    gives_up = hook.endswith(("hang", "truncate:9900"))
    customer = send(SHORT_MS if gives_up else TIMEOUT_MS, **options)
    customer.hosted.arm(hook)
    outcome = customer.buy()
    if counted == (2, 1):
        # The second form is a replay, and no hook after the commit is crossed: the page comes after all.
        assert isinstance(outcome, Confirmed)
    else:
        assert isinstance(outcome, Uncertain)
        assert words in outcome.why
    assert customer.fired
    assert customer.counted == counted


def test_a_form_the_browser_sent_twice_is_confirmed_and_the_history_shows_both(send: Send) -> None:
    """The page is true and the driver honest: only a look-up tells that there are two orders."""
    customer = send(dedupe="none")
    customer.hosted.arm("after-commit what=order = reset")
    outcome = customer.buy()
    assert isinstance(outcome, Confirmed)
    assert customer.counted == (2, 2)
    found = customer.driver.orders_with(REFERENCE)
    assert isinstance(found, list)
    assert len(found) == 2


def test_a_card_that_is_refused_is_uncertain_since_the_form_left(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TEST_CARD, "card", "4000000000000002")
    customer = send()
    outcome = customer.buy()
    assert isinstance(outcome, Uncertain)
    assert "[402]" in outcome.why
    assert "refused this card" in outcome.why
    assert customer.driver.orders_with(REFERENCE) == []


@pytest.mark.parametrize(
    ("items", "reference", "words"),
    [
        ({"piano": 1}, REFERENCE, "does not sell 'piano'"),
        ({"mug": 100}, REFERENCE, "Instead of the page"),
        ({"mug": 1}, "", "without a reference"),
    ],
)
def test_what_cannot_be_ordered_is_refused_before_a_form_leaves(
    send: Send, items: dict[str, int], reference: str, words: str
) -> None:
    customer = send()
    outcome = customer.buy(reference, **items)
    assert isinstance(outcome, Refused)
    assert customer.counted == (0, 0)


@pytest.mark.parametrize(
    "hook",
    [
        "received line=GET*payment x9 = reset",
        "responding line=GET*payment = truncate:300",
        "before-commit what=address = hang",
        'parsed line="POST /login" = status:503',
    ],
)
def test_a_way_that_does_not_reach_the_order_form_is_refused(send: Send, hook: str) -> None:
    customer = send(SHORT_MS if hook.endswith("hang") else TIMEOUT_MS)
    customer.hosted.arm(hook)
    assert isinstance(customer.buy(), Refused)
    assert customer.fired
    assert customer.counted == (0, 0)


def test_a_wrong_password_is_refused(send: Send) -> None:
    customer = send()
    customer.driver = ShopDriver(
        customer.driver._base,
        user={"email": "ada@shop.example", "password": "no"},
        browser=customer.driver.context.browser,  # type: ignore[arg-type]
    )
    assert customer.buy() == Refused("The shop does not know this user.")
    assert customer.driver.orders_with(REFERENCE) == CannotTell("The shop does not know this user.")
    customer.driver.close()


def test_a_killed_browser_leaves_the_order_uncertain(open_shop: Callable[..., Hosted], browser: Browser) -> None:
    victim = launch(browser.browser_type)
    customer = Customer(open_shop(), victim)
    customer.hosted.arm(f"after-commit what=order = signal:KILL:{pid_of(victim)}")
    assert isinstance(customer.buy(), Uncertain)
    assert len(customer.fired) == 1
    assert customer.counted == (1, 1)
    assert isinstance(customer.driver.orders_with(REFERENCE), CannotTell)
    assert isinstance(customer.buy(), Refused)
    customer.driver.close()
    with_another = Customer(customer.hosted, browser)
    found = with_another.driver.orders_with(REFERENCE)
    with_another.driver.close()
    assert isinstance(found, list)
    assert len(found) == 1


class InterruptedPage:
    """A page whose first navigation meets another one to the browser's error page, as happens right after a reset."""

    def __init__(self, page: Page, words: str) -> None:
        self._page = page
        self._failures = [words]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._page, name)

    def goto(self, url: str) -> object:
        from playwright.sync_api import Error

        if self._failures:
            raise Error(self._failures.pop())
        return self._page.goto(url)


def test_a_navigation_interrupted_by_an_error_page_is_tried_once_more(send: Send) -> None:
    driver = send().driver
    words = 'Navigation to "/" is interrupted by another navigation to "chrome-error://chromewebdata/"'
    page: Any = InterruptedPage(driver.context.new_page(), words)
    driver._open(page, "/", "catalogue")
    assert page.locator("body").get_attribute("data-page") == "catalogue"


def test_any_other_failed_navigation_is_not_tried_again(send: Send) -> None:
    from playwright.sync_api import Error

    driver = send().driver
    page: Any = InterruptedPage(driver.context.new_page(), "net::ERR_CONNECTION_RESET")
    with pytest.raises(Error, match="ERR_CONNECTION_RESET"):
        driver._open(page, "/", "catalogue")


# Looking up.


def test_after_a_lost_answer_the_look_up_finds_the_order_even_when_signed_out(send: Send) -> None:
    customer = send()
    customer.hosted.arm("after-commit what=order = compete:logout")
    assert isinstance(customer.buy(), Uncertain)
    found = customer.driver.orders_with(REFERENCE)
    assert isinstance(found, list)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"history_lag": "5s"}, "appear in it later"),
        ({"history_needs_confirmation": True}, "confirmed by mail"),
        ({"history_shows_reference": False}, "knows no references"),
        ({"cell": "honoured.absent.prompt"}, "does not show past orders"),
    ],
)
def test_a_history_that_cannot_answer_is_no_proof_of_absence(send: Send, options: dict[str, Any], words: str) -> None:
    customer = send(**options)
    customer.order_without_browser()
    told = customer.driver.orders_with(REFERENCE)
    assert isinstance(told, CannotTell)
    assert words in told.why


def test_a_lagging_history_that_shows_the_order_has_answered(send: Send) -> None:
    customer = send(history_lag="5s")
    customer.order_without_browser()
    customer.hosted.advance(6 * SECOND_NS)
    found = customer.driver.orders_with(REFERENCE)
    assert isinstance(found, list)
    assert len(found) == 1


def test_a_history_of_several_pages_is_read_to_its_end(send: Send) -> None:
    customer = send(dedupe="none", history_page_size=1)
    for _ in range(2):
        customer.order_without_browser()
    found = customer.driver.orders_with(REFERENCE)
    assert isinstance(found, list)
    assert len(found) == 2


@pytest.mark.parametrize(
    "hook",
    [
        "received line=GET*api* = reset",
        "responding what=history = truncate:200",
        "parsed what=history = hang",
    ],
)
def test_a_look_up_without_a_whole_answer_cannot_tell(send: Send, hook: str) -> None:
    customer = send(SHORT_MS if hook.endswith("hang") else TIMEOUT_MS)
    customer.order_without_browser()
    customer.hosted.arm(hook)
    assert isinstance(customer.driver.orders_with(REFERENCE), CannotTell)
    assert len(customer.fired) == 1
