"""Catalogue, basket, signing in, address and payment: what people meet before an order."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files

import httpx
import pytest

from fakes.checkout.goods import PRODUCTS, money
from fakes.checkout.options import TEST_PASSWORD, TEST_USER
from fakes.wire.hosting import Hosted
from tests.fakes.checkout.visitor import ADDRESS, Visitor, hidden, page_name, placed

Visit = Callable[..., tuple[Hosted, Visitor]]


def test_the_catalogue_shows_every_product_with_its_price(visit: Visit) -> None:
    _, visitor = visit()
    page = visitor.http.get("/").text
    for product in PRODUCTS.values():
        assert product.name in page
        assert money(product.price) in page


def test_the_basket_keeps_what_was_put_into_it_before_and_after_signing_in(visit: Visit) -> None:
    _, visitor = visit()
    visitor.http.post("/basket", data={"sku": "mug"})
    visitor.http.post("/basket", data={"sku": "mug", "quantity": "2"})
    assert 'data-sku="mug" data-quantity="3"' in visitor.http.get("/basket").text
    visitor.sign_in()
    assert 'data-sku="mug" data-quantity="3"' in visitor.http.get("/basket").text


def test_a_quantity_can_be_set_and_taken_out(visit: Visit) -> None:
    _, visitor = visit()
    visitor.http.post("/basket", data={"sku": "pen", "quantity": "7", "set": "1"})
    assert 'data-sku="pen" data-quantity="7"' in visitor.http.get("/basket").text
    gone = visitor.http.post("/basket", data={"sku": "pen", "quantity": "0", "set": "1"})
    assert "nothing in it" in gone.text


@pytest.mark.parametrize("quantity", ["-1", "100", "1.5", "x", "", "9" * 5000, "²"])
def test_a_quantity_that_is_none_is_refused_in_words(visit: Visit, quantity: str) -> None:
    _, visitor = visit()
    answer = visitor.http.post("/basket", data={"sku": "pen", "quantity": quantity})
    assert (answer.status_code, page_name(answer)) == (422, "basket")
    assert "from 0 to 99" in answer.text


def test_checkout_asks_to_sign_in_and_then_goes_on_where_it_was(visit: Visit) -> None:
    _, visitor = visit()
    login = visitor.http.get("/checkout/payment", params={"buy": "mug"})
    assert page_name(login) == "login"
    said = {"email": TEST_USER, "password": TEST_PASSWORD, "next": hidden(login.text, "next")}
    assert page_name(visitor.http.post("/login", data=said)) == "address"


@pytest.mark.parametrize("elsewhere", ["https://evil.test/", "//evil.test/", "/\\evil.test", "javascript:alert(1)"])
def test_signing_in_leads_to_nobody_elses_page(visit: Visit, elsewhere: str) -> None:
    _, visitor = visit()
    visitor.http.follow_redirects = False
    said = {"email": TEST_USER, "password": TEST_PASSWORD, "next": elsewhere}
    assert visitor.http.post("/login", data=said).headers["location"] == "/"


def test_a_wrong_password_is_refused_and_shown_to_nobody(visit: Visit) -> None:
    hosted, visitor = visit()
    answer = visitor.http.post("/login", data={"email": TEST_USER, "password": "wrong-secret-word"})
    assert (answer.status_code, page_name(answer)) == (403, "login")
    assert "wrong-secret-word" not in answer.text
    assert "wrong-secret-word" not in str(hosted.entries())
    assert page_name(visitor.http.get("/orders")) == "login"


def test_signing_out_ends_the_session_for_an_old_cookie_too(visit: Visit) -> None:
    _, visitor = visit()
    visitor.sign_in()
    cookie = visitor.http.cookies["shop_session"]
    visitor.http.post("/logout")
    visitor.http.cookies.set("shop_session", cookie)
    assert page_name(visitor.http.get("/orders")) == "login"


def test_the_cookie_is_kept_from_scripts_and_from_other_sites(visit: Visit) -> None:
    _, visitor = visit()
    visitor.http.follow_redirects = False
    set_cookie = visitor.http.post("/basket", data={"sku": "mug"}).headers["set-cookie"]
    assert "HttpOnly" in set_cookie
    assert "SameSite=lax" in set_cookie


@pytest.mark.parametrize("cookie", ["", "1", "1.", "2.0123456789abcdef01234567", "x" * 3000, "é"])
def test_a_cookie_nobody_was_given_opens_nothing(visit: Visit, cookie: str) -> None:
    hosted, visitor = visit()
    visitor.sign_in()
    with httpx.Client(base_url=hosted.places["http"].url) as stranger:
        answer = stranger.get("/orders", headers={"cookie": f"shop_session={cookie}".encode()})
        assert answer.status_code == 303


def test_a_session_ends_after_its_life(visit: Visit) -> None:
    hosted, visitor = visit(session_life="1h")
    visitor.sign_in()
    hosted.advance(3600 * 10**9)
    assert page_name(visitor.http.get("/orders")) == "history"
    hosted.advance(1)
    assert page_name(visitor.http.get("/orders")) == "login"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", " ", "fill this in"),
        ("street", "x" * 101, "at most 100"),
        ("city", "Bad\x00town", "cannot be used"),
        ("country", "XX", "choose a country"),
    ],
)
def test_an_address_is_checked_and_typed_text_stays(visit: Visit, field: str, value: str, words: str) -> None:
    _, visitor = visit()
    visitor.sign_in()
    answer = visitor.give_address(**{field: value})
    assert (answer.status_code, page_name(answer)) == (422, "address")
    assert words in answer.text
    assert ADDRESS["postcode"] in answer.text


def test_payment_without_goods_or_address_goes_back_to_what_is_missing(visit: Visit) -> None:
    _, visitor = visit()
    visitor.sign_in()
    assert page_name(visitor.http.get("/checkout/payment")) == "basket"
    assert page_name(visitor.http.get("/checkout/payment", params={"buy": "mug:2"})) == "address"
    visitor.give_address()
    assert page_name(visitor.http.get("/checkout/payment", params={"buy": "mug:2"})) == "payment"


@pytest.mark.parametrize("buy", ["nothing", "mug:0", "mug:100", "mug:x", "mug,,", ":", "mug:1:2"])
def test_goods_that_do_not_exist_cannot_be_bought(visit: Visit, buy: str) -> None:
    _, visitor = visit()
    visitor.ready()
    assert page_name(visitor.http.get("/checkout/payment", params={"buy": buy})) == "basket"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"card": "4111 1111 1111 1111"}, "not one of the test card numbers"),
        ({"expiry": "12/25"}, "not over yet"),
        ({"expiry": "13/39"}, "not over yet"),
        ({"cvc": "12"}, "three digits"),
        ({"reference": "r" * 101}, "at most 100"),
        ({"reference": "a\u2028b"}, "cannot be used"),
        ({"operation": "a\nb"}, "marked fields"),
    ],
)
def test_a_payment_form_is_checked_and_orders_nothing(visit: Visit, changed: dict[str, str], words: str) -> None:
    hosted, visitor = visit()
    start = hosted.desk.journal.last_number
    answer = visitor.ready().order(**changed)
    assert (answer.status_code, page_name(answer)) == (422, "payment")
    assert words in answer.text
    assert placed(hosted, since=start) == 0


@pytest.mark.parametrize(("method", "path"), [("PUT", "/"), ("GET", "/confirm"), ("DELETE", "/orders")])
def test_another_method_is_refused_with_the_allowed_ones(visit: Visit, method: str, path: str) -> None:
    _, visitor = visit()
    answer = visitor.http.request(method, path)
    assert (answer.status_code, page_name(answer)) == (405, "message")
    assert answer.headers["allow"]


def test_what_is_no_form_is_refused_in_words(visit: Visit) -> None:
    _, visitor = visit()
    parts = visitor.http.post("/basket", files={"sku": b"mug"})
    assert (parts.status_code, page_name(parts)) == (415, "message")
    for body in (b"\xff\xfe", b"&".join([b"a=1"] * 100)):
        answer = visitor.http.post(
            "/basket", content=body, headers={"content-type": "application/x-www-form-urlencoded"}
        )
        assert (answer.status_code, page_name(answer)) == (400, "message")


def test_every_page_is_whole_by_itself_and_runs_no_script(visit: Visit) -> None:
    _, visitor = visit()
    visitor.ready().order("whole")
    for path in ("/", "/basket", "/login", "/orders", "/mailbox", "/checkout/payment?buy=mug", "/nothing"):
        answer = visitor.http.get(path)
        assert answer.text.rstrip().endswith('<span id="page-end" hidden></span>\n</body>\n</html>'), path
        assert "<script" not in answer.text
        assert not re.search(r"(?:src|href)=\"https?:", answer.text)


def test_every_field_has_a_label_and_every_page_one_heading(visit: Visit) -> None:
    _, visitor = visit()
    visitor.ready().order("labels")
    visitor.http.post("/basket", data={"sku": "mug"})
    for path in ("/", "/basket", "/login", "/orders", "/checkout/address", "/checkout/payment", "/mailbox"):
        page = visitor.http.get(path).text
        assert page.count("<h1") == 1, path
        fields = re.findall(r"<(?:input|select)\b[^>]*>", page)
        for field in [each for each in fields if 'type="hidden"' not in each]:
            found = re.search(r'\bid="([^"]+)"', field)
            assert "aria-label=" in field or (found and f'<label for="{found[1]}"' in page), field


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(scheme: str) -> None:
    """By the ratios of WCAG 2.2: 4.5 for text, 3 for the mark of focus."""
    css = (files("fakes.checkout") / "templates" / "shop.css").read_text()
    schemes = {"light": css.split("@media")[0], "dark": css.split("@media")[1]}
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", schemes[scheme]))
    pairs = ["ink ground", "ink sheet", "soft ground", "soft sheet", "deep sheet", "deep ground", "deep-ink deep"]
    pairs += ["wrong sheet", "wrong wrong-tint", "note note-tint", "deep tint", "ink tint"]
    for text, behind in (pair.split() for pair in pairs):
        assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert contrast(colours["focus"], colours["ground"]) >= 3
    assert contrast(colours["focus"], colours["sheet"]) >= 3
