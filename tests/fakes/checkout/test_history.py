"""The order history in all its variants, and the message about an order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakes.checkout.looking_back import CONFIRMED_NOTICE, LATE_NOTICE
from fakes.wire.hosting import Hosted
from tests.fakes.checkout.visitor import SECOND_NS, Visitor, fired, hidden, order_id, page_name

Visit = Callable[..., tuple[Hosted, Visitor]]


def test_the_history_is_at_once_by_default_newest_first(visit: Visit) -> None:
    _, visitor = visit()
    visitor.ready()
    for reference in ("a", "b"):
        visitor.order(reference)
    assert visitor.references() == ["b", "a"]
    page = visitor.http.get("/orders").text
    assert page.index('data-reference="b"') < page.index('data-reference="a"')
    assert LATE_NOTICE not in page


@pytest.mark.parametrize(
    ("options", "lag_s"),
    [({"history_lag": "5s"}, 5), ({"cell": "honoured.eventual.prompt"}, 2)],
)
def test_a_lagging_history_says_so_and_shows_an_order_later(visit: Visit, options: Any, lag_s: int) -> None:
    hosted, visitor = visit(**options)
    visitor.ready().order("lags")
    hosted.advance(lag_s * SECOND_NS - 1)
    assert visitor.orders() == {"orders": [], "next": None, "may_lag": True, "only_confirmed": False}
    assert LATE_NOTICE in visitor.http.get("/orders").text
    hosted.advance(1)
    assert visitor.references() == ["lags"]


def test_a_cancellation_lags_as_well(visit: Visit) -> None:
    hosted, visitor = visit(history_lag="5s")
    id_ = order_id(visitor.ready().order("lags"))
    hosted.advance(6 * SECOND_NS)
    visitor.http.post(f"/api/orders/{id_}/cancel")
    assert visitor.orders()["orders"][0]["status"] == "placed"
    hosted.advance(5 * SECOND_NS)
    assert visitor.orders()["orders"][0]["status"] == "cancelled"


def test_a_stale_read_shows_the_world_of_the_moment_the_hook_was_armed(visit: Visit) -> None:
    hosted, visitor = visit()
    visitor.ready()
    start = hosted.desk.journal.last_number
    hosted.arm("read what=history = stale")
    hosted.advance(SECOND_NS)
    visitor.order("unseen")
    assert visitor.references() == []
    assert len(fired(hosted, start)) == 1
    assert visitor.references() == ["unseen"]


def test_a_stale_confirmation_page_is_not_found(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hosted.arm("read what=confirmation-page = stale:5s")
    assert visitor.order("unseen", nonce=nonce).status_code == 404
    assert len(fired(hosted, start)) == 1


def test_a_history_may_leave_the_reference_out(visit: Visit) -> None:
    _, visitor = visit(history_shows_reference=False)
    confirmed = visitor.ready().order("HIDDEN-1")
    assert "HIDDEN-1" in confirmed.text
    assert [sorted(order) for order in visitor.orders()["orders"]] == [
        ["currency", "id", "lines", "placed", "status", "total"]
    ]
    for path in ("/orders", f"/orders/{order_id(confirmed)}"):
        assert "HIDDEN-1" not in visitor.http.get(path).text
    refused = visitor.http.get("/api/orders", params={"reference": "HIDDEN-1"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unsupported-filter")


def test_a_history_has_pages(visit: Visit) -> None:
    _, visitor = visit(history_page_size=2)
    visitor.ready()
    for number in range(5):
        visitor.order(f"p{number}")
    seen, path = [], "/api/orders"
    while path:
        data = visitor.http.get(path).json()
        seen.append([order["reference"] for order in data["orders"]])
        path = data["next"]
    assert seen == [["p4", "p3"], ["p2", "p1"], ["p0"]]
    assert 'href="/orders?page=2"' in visitor.http.get("/orders").text
    assert 'rel="next"' not in visitor.http.get("/orders", params={"page": "3"}).text
    assert "nothing to show" in visitor.http.get("/orders", params={"page": "4"}).text
    assert [order["reference"] for order in visitor.orders(reference="p0")["orders"]] == ["p0"]


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "9" * 400, "1.5"])
def test_a_page_that_is_no_number_is_refused(visit: Visit, page: str) -> None:
    _, visitor = visit()
    visitor.sign_in()
    assert visitor.http.get("/api/orders", params={"page": page}).json()["error"]["code"] == "invalid"
    assert visitor.http.get("/orders", params={"page": page}).status_code == 400


def test_a_history_may_show_confirmed_orders_only(visit: Visit) -> None:
    hosted, visitor = visit(history_needs_confirmation=True)
    visitor.ready().order("confirm-me")
    hosted.wait_for("mailed")
    assert visitor.orders() == {"orders": [], "next": None, "may_lag": False, "only_confirmed": True}
    assert CONFIRMED_NOTICE in visitor.http.get("/orders").text
    token = hidden(visitor.http.get("/mailbox").text, "token")
    assert page_name(visitor.http.post("/confirm", data={"token": token})) == "message"
    assert visitor.references() == ["confirm-me"]
    assert token not in str(hosted.entries())


@pytest.mark.parametrize("token", ["", "checkout-1", "checkout-1.0123456789abcdef01234567", "checkout-9.x"])
def test_a_link_nobody_was_sent_confirms_nothing(visit: Visit, token: str) -> None:
    _, visitor = visit(history_needs_confirmation=True)
    visitor.ready().order("confirm-me")
    assert visitor.http.post("/confirm", data={"token": token}).status_code == 404
    assert visitor.orders()["orders"] == []


def test_a_shop_without_history_says_so(visit: Visit) -> None:
    _, visitor = visit(cell="honoured.absent.prompt")
    visitor.ready().order("gone")
    assert visitor.http.get("/orders").status_code == 404
    answer = visitor.http.get("/api/orders")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no-history")


def test_the_history_as_data_needs_a_session(visit: Visit) -> None:
    _, visitor = visit()
    for answer in (visitor.http.get("/api/orders"), visitor.http.post("/api/orders/checkout-1/cancel")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "signed-out")


# The message about an order.


@pytest.mark.parametrize(("action", "mails"), [("pass", 1), ("drop", 0), ("twice", 2)])
def test_the_message_comes_as_the_hook_lets_it(visit: Visit, action: str, mails: int) -> None:
    hosted, visitor = visit()
    visitor.ready()
    start = hosted.desk.journal.last_number
    hosted.arm(f"event what=order.mail target=mail-* = {action}")
    visitor.order("mail-1")
    visitor.order("other")
    hosted.wait_for("mailed")
    assert visitor.http.get("/mailbox").text.count("<section") == 1 + (mails > 0)
    assert len([e for e in hosted.entries("mailed") if e.number > start]) == 1 + mails
    assert fired(hosted, start) == [f"event={action}"]


def test_a_late_message_comes_when_its_time_has_come(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    hosted.arm("event what=order.mail = late:1h")
    visitor.order("late-mail", nonce=nonce)
    assert "Nothing yet" in visitor.http.get("/mailbox").text
    hosted.advance(3600 * SECOND_NS)
    assert "Confirm the order" in visitor.http.get("/mailbox").text
