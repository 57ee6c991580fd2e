"""What a real Chromium makes of each fault on an order form: how many forms arrive, how many orders there are, what is seen.

One test for each row of what is known about browsers and lost answers. The shop does not dedupe unless a row says so,
and each test counts in the journal: what the page shows is the browser's side only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fakes.checkout.driver import launch
from fakes.wire.hosting import Hosted
from tests.fakes.checkout.visitor import CARD, Visitor, fired, placed, posts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]
TIMEOUT_MS = 8000
SHORT_MS = 800
BUTTON = "#place-order"
REFERENCE = "ROW-1"


class Till:
    """A window that shows a filled order form, and the shop's count of what came of it."""

    def __init__(self, hosted: Hosted, context: BrowserContext) -> None:
        self.hosted = hosted
        self.context = context
        self.base = hosted.places["http"].url
        with Visitor(hosted) as visitor:
            visitor.ready()
            cookie = {"name": "shop_session", "value": visitor.http.cookies["shop_session"], "url": self.base}
        context.add_cookies([cookie])  # type: ignore[list-item]
        context.set_default_timeout(TIMEOUT_MS)
        self.page = context.new_page()
        self.open_form()
        self.start = hosted.desk.journal.last_number

    def open_form(self) -> None:
        self.page.goto(f"{self.base}/checkout/payment?buy=mug&reference={REFERENCE}")
        self.fill()

    def fill(self) -> None:
        for name, value in CARD.items():
            self.page.fill(f"#{name}", value)

    def arm(self, hook: str) -> str:
        return self.hosted.arm(hook)

    @property
    def counted(self) -> tuple[int, int]:
        """(order forms that arrived, orders)."""
        return posts(self.hosted, self.start), placed(self.hosted, REFERENCE, self.start)

    @property
    def fired(self) -> list[str]:
        return fired(self.hosted, self.start)

    @property
    def shown(self) -> str:
        """The page's name, or its address if it is not the shop's."""
        self.page.wait_for_load_state("load")
        return str(self.page.locator("body").evaluate("body => body.dataset.page || location.href"))


Open = Callable[..., Till]


@pytest.fixture
def open_till(open_shop: Callable[..., Hosted], browser: Browser) -> Iterator[Open]:
    with ExitStack() as stack:

        def opening(*, bypass_csp: bool = False, **options: Any) -> Till:
            hosted = open_shop(**{"dedupe": "none", **options})
            context = browser.new_context(bypass_csp=bypass_csp)
            stack.callback(context.close)
            return Till(hosted, context)

        yield opening


def test_nothing_lost_is_one_form_and_one_order(open_till: Open) -> None:
    till = open_till()
    till.page.click(BUTTON)
    assert till.shown == "confirmation"
    assert till.counted == (1, 1)


def test_an_answer_that_never_comes_makes_the_click_itself_time_out(open_till: Open) -> None:
    from playwright.sync_api import TimeoutError

    till = open_till()
    till.arm("after-commit what=order = hang")
    with pytest.raises(TimeoutError, match=r"Page\.click"):
        till.page.click(BUTTON, timeout=SHORT_MS)
    assert till.fired == ["after-commit=hang"]
    assert "/checkout/payment" in till.page.url
    assert till.counted == (1, 1)


@pytest.mark.parametrize(("cut", "error"), [("reset", "ERR_CONNECTION_RESET"), ("fin", "ERR_EMPTY_RESPONSE")])
@pytest.mark.parametrize(("point", "orders"), [("after-commit", 2), ("before-commit", 0)])
def test_a_connection_that_dies_without_an_answer_brings_the_form_a_second_time(
    open_till: Open, cut: str, error: str, point: str, orders: int
) -> None:
    from playwright.sync_api import Error

    till = open_till()
    till.arm(f"{point} x9 what=order = {cut}")
    with pytest.raises(Error, match=error), till.page.expect_navigation():
        till.page.click(BUTTON)
    assert till.shown.startswith("chrome-error://")
    assert till.fired == [f"{point}={cut}"] * 2
    assert till.counted == (2, orders)


def test_a_plain_click_returns_as_if_nothing_had_happened(open_till: Open) -> None:
    till = open_till()
    till.arm("after-commit x9 what=order = reset")
    till.page.click(BUTTON)
    assert till.shown.startswith("chrome-error://")
    assert till.counted == (2, 2)


@pytest.mark.parametrize(("dedupe", "orders"), [("none", 2), ("nonce", 1), ("order-ref", 1)])
@pytest.mark.parametrize("cut", ["reset", "fin"])
def test_a_connection_that_dies_once_shows_success_and_the_driver_notices_nothing(
    open_till: Open, cut: str, dedupe: str, orders: int
) -> None:
    till = open_till(dedupe=dedupe)
    till.arm(f"after-commit what=order = {cut}")
    till.page.click(BUTTON)
    assert till.shown == "confirmation"
    assert till.fired == [f"after-commit={cut}"]
    assert till.counted == (2, orders)


def test_an_answer_cut_in_its_body_leaves_a_page_that_broke_off(open_till: Open) -> None:
    till = open_till(prg=False)
    till.arm("responding what=order = truncate:9500")
    with till.page.expect_response("**/orders") as answer:
        till.page.click(BUTTON)
    assert answer.value.status == 200
    assert till.page.url.endswith("/orders")
    assert till.page.locator("html").evaluate("root => root.querySelectorAll('#page-end').length") == 0
    assert till.fired == ["responding=truncate:9500"]
    assert till.counted == (1, 1)


@pytest.mark.parametrize("bytes_count", [5, 20, 60])
def test_an_answer_cut_in_its_status_or_headers_counts_as_an_answer(open_till: Open, bytes_count: int) -> None:
    """Chromium takes what came before the connection ended for all there is, and sends nothing again."""
    till = open_till()
    till.arm(f"responding what=order = truncate:{bytes_count}")
    till.page.click(BUTTON)
    assert till.shown == f"{till.base}/orders"
    assert till.fired == [f"responding=truncate:{bytes_count}"]
    assert till.counted == (1, 1)


def test_a_redirect_cut_in_its_address_leads_to_another_place(open_till: Open) -> None:
    till = open_till()
    till.arm("responding what=order = truncate:100")
    till.page.click(BUTTON)
    assert till.shown == "message"
    assert till.page.url.startswith(f"{till.base}/orders/checkout-")
    assert not till.page.url.endswith("/thanks")
    assert till.counted == (1, 1)


def test_an_answer_cut_before_its_first_byte_is_none_and_the_form_comes_again(open_till: Open) -> None:
    till = open_till()
    till.arm("responding x9 what=order = truncate:0")
    till.page.click(BUTTON)
    assert till.shown.startswith("chrome-error://")
    assert till.fired == ["responding=truncate:0"] * 2
    assert till.counted == (2, 2)


def test_a_gateway_timeout_after_commit_shows_an_error_page(open_till: Open) -> None:
    till = open_till()
    till.arm("after-commit what=order = status:504")
    till.page.click(BUTTON)
    assert till.shown == "message"
    assert till.fired == ["after-commit=status:504"]
    assert till.counted == (1, 1)


def test_reloading_the_browsers_error_page_sends_the_form_twice_more(open_till: Open) -> None:
    from playwright.sync_api import Error

    till = open_till()
    till.arm("after-commit x9 what=order = reset")
    till.page.click(BUTTON)
    assert till.shown.startswith("chrome-error://")
    with pytest.raises(Error, match="ERR_CONNECTION_RESET"):
        till.page.reload()
    assert till.counted == (4, 4)


@pytest.mark.parametrize(("dedupe", "orders"), [("none", 2), ("nonce", 1)])
def test_reloading_the_answer_to_a_form_sends_it_again_without_asking(
    open_till: Open, dedupe: str, orders: int
) -> None:
    till = open_till(prg=False, dedupe=dedupe)
    till.page.click(BUTTON)
    till.page.reload()
    assert till.shown == "confirmation"
    assert till.counted == (2, orders)


def test_reloading_after_a_redirect_sends_nothing_again(open_till: Open) -> None:
    till = open_till()
    till.page.click(BUTTON)
    assert till.shown == "confirmation"
    till.page.reload()
    assert till.shown == "confirmation"
    assert till.counted == (1, 1)


def test_reloading_while_the_form_is_on_its_way_sends_nothing_again(open_till: Open) -> None:
    from playwright.sync_api import Error

    till = open_till()
    hook = till.arm("after-commit what=order = hang")
    till.page.click(BUTTON, no_wait_after=True)
    till.hosted.wait_until_hanging(hook)
    with pytest.raises(Error, match="ERR_ABORTED"):
        till.page.reload()
    assert till.counted == (1, 1)


def test_going_back_to_the_answer_to_a_form_sends_nothing_again(open_till: Open) -> None:
    till = open_till(prg=False)
    till.page.click(BUTTON)
    assert till.shown == "confirmation"
    till.page.goto(f"{till.base}/")
    till.page.go_back()
    assert till.shown == "confirmation"
    assert till.counted == (1, 1)


def test_going_back_to_the_form_gives_a_new_one_that_orders_again_in_spite_of_its_nonce(open_till: Open) -> None:
    till = open_till(dedupe="nonce")
    first = till.page.locator("[name=nonce]").input_value()
    till.page.click(BUTTON)
    assert till.shown == "confirmation"
    till.page.go_back()
    assert till.shown == "payment"
    assert till.page.locator("[name=nonce]").input_value() != first
    till.fill()
    till.page.click(BUTTON)
    assert till.shown == "confirmation"
    assert till.counted == (2, 2)


def test_a_double_click_sends_one_form(open_till: Open) -> None:
    till = open_till()
    till.page.dblclick(BUTTON)
    assert till.shown == "confirmation"
    assert till.counted == (1, 1)


def test_a_second_click_while_the_form_is_on_its_way_times_out(open_till: Open) -> None:
    from playwright.sync_api import TimeoutError

    till = open_till()
    hook = till.arm("after-commit x2 what=order = hang")
    till.page.click(BUTTON, no_wait_after=True)
    till.hosted.wait_until_hanging(hook)
    with pytest.raises(TimeoutError):
        till.page.click(BUTTON, timeout=SHORT_MS)
    assert till.counted == (1, 1)


@pytest.mark.parametrize(("dedupe", "orders"), [("none", 2), ("nonce", 1)])
def test_a_second_click_from_within_the_page_sends_a_second_form(open_till: Open, dedupe: str, orders: int) -> None:
    till = open_till(dedupe=dedupe)
    hook = till.arm("after-commit what=order = hang")
    till.page.locator(BUTTON).evaluate("button => { for (const ms of [0, 120]) setTimeout(() => button.click(), ms) }")
    till.hosted.run(_until_posts(till, 2))
    till.hosted.release(hook)
    assert till.counted == (2, orders)


async def _until_posts(till: Till, count: int) -> None:
    import asyncio

    async with asyncio.timeout(10):
        while sum(e.data.get("line") == "POST /orders" for e in till.hosted.desk.journal.entries(till.start)) < count:
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(("dedupe", "orders"), [("none", 2), ("nonce", 1)])
def test_two_requests_of_a_script_with_one_nonce(open_till: Open, dedupe: str, orders: int) -> None:
    till = open_till(dedupe=dedupe, bypass_csp=True)
    statuses = till.page.locator("#order-form").evaluate(
        """form => Promise.all([1, 2].map(() => fetch(form.action, {
          method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "follow",
        }).then(answer => answer.status)))"""
    )
    assert statuses == [200, 200]
    assert till.counted == (2, orders)


def test_cookies_lost_before_the_form_is_sent_lead_to_signing_in(open_till: Open) -> None:
    from playwright.sync_api import TimeoutError

    till = open_till()
    till.context.clear_cookies()
    till.page.click(BUTTON)
    with pytest.raises(TimeoutError):
        till.page.wait_for_selector("#confirmed-order", timeout=300)
    assert till.shown == "login"
    assert till.counted == (1, 0)


def test_cookies_lost_before_the_form_is_opened_never_let_it_be_sent(open_till: Open) -> None:
    till = open_till()
    till.context.clear_cookies()
    till.page.goto(f"{till.base}/checkout/payment?buy=mug")
    assert till.shown == "login"
    assert till.counted == (0, 0)


def test_sessions_lost_at_the_shop_lead_to_signing_in(open_till: Open) -> None:
    till = open_till()
    till.arm('received line="POST /orders" = compete:logout')
    till.page.click(BUTTON)
    assert till.shown == "login"
    assert till.fired == ["received=compete:logout"]
    assert till.counted == (1, 0)


def test_a_killed_browser_says_nothing_any_more_and_the_order_stands(
    open_shop: Callable[..., Hosted], browser: Browser
) -> None:
    from playwright.sync_api import Error

    victim = launch(browser.browser_type)
    till = Till(open_shop(dedupe="none"), victim.new_context())
    till.arm(f"after-commit what=order = signal:KILL:{pid_of(victim)}")
    # The click itself fails, or returns as if nothing had happened, as the race between process and protocol goes.
    with contextlib.suppress(Error):
        till.page.click(BUTTON)
    for _ in range(2):
        with pytest.raises(Error, match="closed"):
            till.page.title()
    assert not victim.is_connected()
    assert len(till.fired) == 1
    assert till.counted == (1, 1)


def pid_of(browser: Browser) -> int:
    """The id of the browser's main process, which this test started."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    (main,) = [each["id"] for each in processes if each["type"] == "browser"]
    session.detach()
    return int(main)


def test_a_lost_order_is_found_by_its_reference_with_a_fresh_tab_and_without_a_page(open_till: Open) -> None:
    till = open_till()
    till.arm("after-commit what=order = status:504")
    till.page.click(BUTTON)
    tab: Page = till.context.new_page()
    tab.goto(f"{till.base}/orders")
    assert tab.locator(f'tr[data-reference="{REFERENCE}"]').count() == 1
    answer = till.context.request.get(f"{till.base}/api/orders?reference={REFERENCE}")
    assert [order["reference"] for order in answer.json()["orders"]] == [REFERENCE]
