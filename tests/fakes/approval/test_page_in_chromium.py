"""The page in a real browser, which sends what nobody asked it to send."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakes.approval.face import ApprovalFake
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.approval.test_face import DENY, ID, S, ask, client_of, do

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.real("chromium"), pytest.mark.slow]

QUIET = (
    *("--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-dev-shm-usage", "--disable-gpu"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
WORDS = {
    "description": "Refund order 7 to the customer, because the parcel was lost.\nThe money leaves at once.",
    "parameters": {
        "amount": "42.00 EUR",
        "order": "ORD-7",
        "reason": "lost in transit",
        "lines": [{"sku": "cup", "n": 2}],
    },
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield launched
        launched.close()


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted(ApprovalFake, clock=Clock(is_manual=True)) as host:
        with client_of(host) as client:
            ask(client, **WORDS)
        yield host
        assert not host.entries("bug")


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def opened(browser: Browser, hosted: Hosted, scheme: str = "light") -> Page:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 900, "height": 900})  # type: ignore[arg-type]
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.goto(f"{hosted.places['http'].url}/review")
    page.click("text=c-1")
    page.wait_for_selector("#action")
    return page


def decisions(hosted: Hosted) -> int:
    """How many decisions arrived, whatever became of them."""
    return sum(1 for entry in hosted.entries("arrived") if entry.data["line"] == f"POST /review/{ID}")


def keep(page: Page, name: str) -> None:
    """Keep a picture for people, where KNOWNSTATE_PICTURES says so."""
    if folder := os.environ.get("KNOWNSTATE_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"approval-{name}.png"), full_page=True)


def test_a_person_looks_decides_and_sees_the_result(browser: Browser, hosted: Hosted, scheme: str) -> None:
    page = opened(browser, hosted, scheme)
    assert "because the parcel was lost" in page.inner_text("#description")
    assert "42.00 EUR" in page.inner_text("#parameters")
    assert page.inner_text("#digest") == "sha256:11"
    keep(page, f"pending-{scheme}")
    page.fill("#by", "Ana")
    page.click("button.yes")
    page.wait_for_selector("#result")
    assert "granted by Ana" in page.inner_text("#result")
    keep(page, f"granted-{scheme}")
    page.reload()
    page.wait_for_selector("#result")
    assert decisions(hosted) == len(hosted.entries("approval-granted")) == 1
    page.context.close()


def test_a_person_who_comes_too_late_sees_what_stands(browser: Browser, hosted: Hosted, scheme: str) -> None:
    page = opened(browser, hosted, scheme)
    with client_of(hosted) as client:
        do(client, "decide", DENY)
    hosted.advance(60 * S)
    page.fill("#by", "Ana")
    page.click("button.yes")
    page.wait_for_selector("#late")
    assert "Too late" in page.inner_text("#late")
    assert "denied by Ben" in page.inner_text("#result")
    keep(page, f"late-{scheme}")
    page.context.close()


def test_the_page_is_dark_where_a_person_wants_it_so(browser: Browser, hosted: Hosted) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        page = opened(browser, hosted, scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.context.close()
    assert grounds == ["rgb(246, 247, 249)", "rgb(18, 22, 29)"]


def test_no_decision_is_sent_without_a_name(browser: Browser, hosted: Hosted) -> None:
    page = opened(browser, hosted)
    page.click("button.no")
    assert page.evaluate("document.activeElement.id") == "by"
    assert decisions(hosted) == 0
    page.context.close()


def test_the_enter_key_decides_nothing(browser: Browser, hosted: Hosted) -> None:
    page = opened(browser, hosted)
    page.fill("#by", "Ana")
    page.press("#by", "Enter")
    assert page.inner_text("#state") == "pending"
    page.reload()
    assert decisions(hosted) == 0
    page.context.close()


def test_a_browser_sends_a_decision_twice_when_its_answer_is_lost_and_the_person_learns_that_it_stands(
    browser: Browser, hosted: Hosted
) -> None:
    page = opened(browser, hosted)
    hosted.arm("after-commit what=decide = reset")
    page.fill("#by", "Ana")
    page.click("button.yes")
    page.wait_for_selector("#late")
    assert "You have decided this already" in page.inner_text("#late")
    assert len(hosted.entries("hook-fired")) == 1
    assert (decisions(hosted), len(hosted.entries("approval-granted"))) == (2, 1)
    page.context.close()
