"""Orders: placing them, the same form again, cards, what people type, and cancelling."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fakes.wire.hosting import Hosted
from tests.fakes.checkout.visitor import (
    CARD,
    SECOND_NS,
    Visitor,
    fired,
    hidden,
    order_id,
    page_name,
    placed,
    posts,
)

Visit = Callable[..., tuple[Hosted, Visitor]]


def effects(hosted: Hosted, since: int) -> list[dict[str, Any]]:
    return [dict(e.data) for e in hosted.entries("effect") if e.number > since]


# Placing.


def test_an_order_is_an_effect_with_the_clients_reference_and_operation(visit: Visit) -> None:
    hosted, visitor = visit()
    start = hosted.desk.journal.last_number
    answer = visitor.ready().order("ORD-1", operation="op-1")
    assert answer.url.path == f"/orders/{order_id(answer)}/thanks"
    assert 'data-reference="ORD-1"' in answer.text
    (effect,) = effects(hosted, start)
    assert effect == {
        "effect": order_id(answer),
        "provider": "checkout",
        "action": "order",
        "target": "ORD-1",
        "operation": "op-1",
        "key": effect["key"],
        "delivery": 1,
        "undoes": None,
    }


@pytest.mark.parametrize(("reference", "operation"), [("ORD-2", "ORD-2"), ("", "")])
def test_the_operation_is_the_reference_unless_one_is_named(visit: Visit, reference: str, operation: str) -> None:
    hosted, visitor = visit()
    start = hosted.desk.journal.last_number
    visitor.ready().order(reference)
    (effect,) = effects(hosted, start)
    assert effect["operation"] == operation
    assert effect["target"] == (reference or effect["key"])


def test_an_order_carries_what_the_basket_held_and_empties_it(visit: Visit) -> None:
    _, visitor = visit()
    visitor.ready()
    visitor.http.post("/basket", data={"sku": "lamp", "quantity": "2"})
    nonce = hidden(visitor.http.get("/checkout/payment").text, "nonce")
    visitor.http.post("/basket", data={"sku": "pen"})
    answer = visitor.order("ORD-3", nonce=nonce)
    assert "€138.00" in answer.text
    assert "nothing in it" in visitor.http.get("/basket").text


def test_buying_at_once_leaves_the_basket_alone(visit: Visit) -> None:
    _, visitor = visit()
    visitor.ready()
    visitor.http.post("/basket", data={"sku": "lamp"})
    visitor.order("ORD-4")
    assert 'data-sku="lamp"' in visitor.http.get("/basket").text


def test_without_redirect_the_answer_to_the_post_is_the_confirmation(visit: Visit) -> None:
    _, visitor = visit(prg=False)
    answer = visitor.ready().order("ORD-5")
    assert (page_name(answer), answer.url.path, answer.history) == ("confirmation", "/orders", [])


@pytest.mark.parametrize("nonce", ["", "1", "1.0123456789abcdef01234567", "ü", "x" * 5000])
def test_a_form_nobody_was_given_orders_nothing(visit: Visit, nonce: str) -> None:
    hosted, visitor = visit()
    start = hosted.desk.journal.last_number
    answer = visitor.ready().http.post("/orders", data={**CARD, "nonce": nonce})
    assert (answer.status_code, page_name(answer)) == (403, "message")
    assert placed(hosted, since=start) == 0


def test_a_form_given_to_one_session_orders_nothing_in_another(visit: Visit) -> None:
    hosted, visitor = visit()
    start = hosted.desk.journal.last_number
    nonce = visitor.ready().form()
    with Visitor(hosted) as other:
        assert other.ready().order("stolen", nonce=nonce).status_code == 403
    assert placed(hosted, since=start) == 0


def test_without_a_session_the_order_form_leads_to_signing_in(visit: Visit) -> None:
    hosted, visitor = visit()
    start = hosted.desk.journal.last_number
    nonce = visitor.ready().form()
    visitor.http.cookies.clear()
    assert page_name(visitor.order("lost", nonce=nonce)) == "login"
    assert (posts(hosted, start), placed(hosted, since=start)) == (1, 0)


@pytest.mark.parametrize("point", ["received", "parsed", "before-commit"])
def test_a_session_lost_on_the_way_orders_nothing(visit: Visit, point: str) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hosted.arm(f'{point} line="POST /orders" = compete:logout')
    assert page_name(visitor.order("lost-2", nonce=nonce)) == "login"
    assert fired(hosted, start) == [f"{point}=compete:logout"]
    assert (posts(hosted, start), placed(hosted, since=start)) == (1, 0)


def test_a_session_lost_after_commit_shows_the_sign_in_although_the_order_stands(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hosted.arm("after-commit what=order = compete:logout")
    assert page_name(visitor.order("lost-3", nonce=nonce)) == "login"
    assert placed(hosted, "lost-3", start) == 1
    assert visitor.sign_in().references() == ["lost-3"]


# The same form again.


@pytest.mark.parametrize(("dedupe", "orders"), [("nonce", 1), ("order-ref", 1), ("none", 2)])
def test_the_same_form_again(visit: Visit, dedupe: str, orders: int) -> None:
    hosted, visitor = visit(dedupe=dedupe)
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    first, second = (visitor.order("again", nonce=nonce) for _ in range(2))
    assert (posts(hosted, start), placed(hosted, "again", start)) == (2, orders)
    assert len({order_id(first), order_id(second)}) == orders
    assert ("placed already" in second.text) == (orders == 1)


@pytest.mark.parametrize(("dedupe", "orders"), [("nonce", 2), ("order-ref", 1), ("none", 2)])
def test_a_new_form_with_the_same_reference(visit: Visit, dedupe: str, orders: int) -> None:
    hosted, visitor = visit(dedupe=dedupe)
    start = hosted.desk.journal.last_number
    visitor.ready()
    for _ in range(2):
        assert page_name(visitor.order("twice")) == "confirmation"
    assert placed(hosted, "twice", start) == orders


def test_a_reference_used_for_other_goods_is_refused(visit: Visit) -> None:
    _, visitor = visit(dedupe="order-ref")
    visitor.ready().order("mine")
    answer = visitor.order("mine", nonce=visitor.form("lamp"))
    assert (answer.status_code, page_name(answer)) == (409, "message")


def test_a_shop_that_ignores_keys_dedupes_nothing(visit: Visit) -> None:
    hosted, visitor = visit(cell="ignored.authoritative.prompt")
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    for _ in range(2):
        visitor.order("ignored", nonce=nonce)
    assert placed(hosted, "ignored", start) == 2


def test_the_same_form_while_the_first_is_on_its_way_is_asked_to_wait(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hook = hosted.arm("before-commit what=order = hang")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(visitor.order, "twins", nonce=nonce)
        hosted.wait_until_hanging(hook)
        second = visitor.order("twins", nonce=nonce)
        hosted.release(hook)
        assert page_name(first.result()) == "confirmation"
    assert second.status_code == 409
    assert "being worked on" in second.text
    assert placed(hosted, "twins", start) == 1


def test_without_dedupe_two_forms_meet_and_both_order(visit: Visit) -> None:
    hosted, visitor = visit(dedupe="none")
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hook = hosted.arm("before-commit x2 what=order = hang")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = [pool.submit(visitor.order, "twins", nonce=nonce) for _ in range(2)]
        hosted.wait_until_hanging(hook, 2)
        hosted.release(hook)
        assert [page_name(each.result()) for each in both] == ["confirmation", "confirmation"]
    assert placed(hosted, "twins", start) == 2


def test_a_form_can_be_sent_for_half_an_hour_and_not_a_moment_longer(visit: Visit) -> None:
    hosted, visitor = visit()
    visitor.ready()
    good, bad = visitor.form(), visitor.form()
    hosted.advance(30 * 60 * SECOND_NS)
    assert page_name(visitor.order("in-time", nonce=good)) == "confirmation"
    hosted.advance(1)
    answer = visitor.order("too-late", nonce=bad)
    assert (answer.status_code, page_name(answer)) == (410, "message")
    assert visitor.references() == ["in-time"]


def test_where_requests_may_be_late_a_form_never_expires(visit: Visit) -> None:
    hosted, visitor = visit(cell="honoured.authoritative.late", session_life="1000h")
    nonce = visitor.ready().form()
    hosted.advance(100 * 3600 * SECOND_NS)
    assert page_name(visitor.order("late", nonce=nonce)) == "confirmation"


# Cards.


@pytest.mark.parametrize("dedupe", ["nonce", "order-ref", "none"])
@pytest.mark.parametrize("card", ["4000000000000002", "4000000000009995"])
def test_a_refused_card_orders_nothing_and_another_may_follow(visit: Visit, dedupe: str, card: str) -> None:
    hosted, visitor = visit(dedupe=dedupe)
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    refused = visitor.order("card", nonce=nonce, card=card)
    assert (refused.status_code, page_name(refused)) == (402, "payment")
    assert placed(hosted, since=start) == 0
    assert page_name(visitor.order("card", nonce=hidden(refused.text, "nonce"))) == "confirmation"
    assert placed(hosted, "card", start) == 1


def test_card_data_is_kept_nowhere_and_shown_nowhere(visit: Visit) -> None:
    hosted, visitor = visit()
    visitor.ready()
    answers = [visitor.order("s", card=card, cvc="987") for card in ("4242424242424242", "4000000000000002", "4111")]
    answers.append(visitor.order("r" * 200, card="4242 4242 4242 4242", cvc="987"))
    kept = [str(hosted.entries()), str(hosted.call(hosted.desk.snapshot)), str(hosted.call(hosted.fake.view))]
    for text in [*kept, *(answer.text for answer in answers)]:
        assert '"987"' not in text
        assert 'value="42' not in text
    for text in kept:
        assert "4242" not in text
        assert "4111" not in text


def test_password_and_cookie_are_kept_nowhere(visit: Visit) -> None:
    hosted, visitor = visit()
    visitor.ready().order("secret")
    kept = str([hosted.entries(), hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)])
    for secret in ("test-password-ada", visitor.http.cookies["shop_session"], visitor.form()):
        assert secret not in kept


# What people send is shown as they sent it, and does nothing.


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "' or 1=1"]
)
def test_text_is_escaped_wherever_it_is_shown(visit: Visit, text: str) -> None:
    _, visitor = visit()
    visitor.sign_in()
    visitor.give_address(name=text, city=text)
    confirmed = visitor.order(text, operation=text)
    id_ = order_id(confirmed)
    shown = [confirmed, *(visitor.http.get(path) for path in ("/orders", f"/orders/{id_}", "/mailbox"))]
    shown.append(visitor.http.get("/checkout/payment", params={"buy": "mug", "reference": text, "operation": text}))
    shown.append(visitor.order(text, cvc=""))
    for answer in shown:
        assert "<script" not in answer.text
        assert "<img" not in answer.text
        assert "49" not in answer.text.partition("Your reference")[2][:40]
    assert visitor.references() == [text]


# Cancelling.


@pytest.mark.parametrize("path", ["/orders/{}/cancel", "/api/orders/{}/cancel"])
def test_a_cancelled_order_is_undone_once(visit: Visit, path: str) -> None:
    hosted, visitor = visit()
    id_ = order_id(visitor.ready().order("undo-me", operation="buy"))
    start = hosted.desk.journal.last_number
    assert visitor.http.post(path.format(id_)).status_code == 200
    assert visitor.http.post(path.format(id_)).status_code == 409
    (effect,) = effects(hosted, start)
    assert (effect["action"], effect["undoes"], effect["operation"]) == ("order.cancel", id_, "undo.buy")
    assert effect["target"] == "undo-me"
    assert [order["status"] for order in visitor.orders()["orders"]] == ["cancelled"]


def test_a_cancel_may_name_its_own_operation(visit: Visit) -> None:
    hosted, visitor = visit()
    id_ = order_id(visitor.ready().order("undo-me"))
    start = hosted.desk.journal.last_number
    visitor.http.post(f"/api/orders/{id_}/cancel", json={"operation": "undo.other"})
    assert effects(hosted, start)[0]["operation"] == "undo.other"


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"operation": 1}', b'{"more": ""}', b'"\\ud800"', b"\xff"])
def test_a_malformed_cancel_changes_nothing(visit: Visit, body: bytes) -> None:
    _, visitor = visit()
    id_ = order_id(visitor.ready().order("stays"))
    answer = visitor.http.post(f"/api/orders/{id_}/cancel", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    assert visitor.orders()["orders"][0]["status"] == "placed"


@pytest.mark.parametrize("id_", ["checkout-99", "nothing", "checkout-2", "%00", "a%2fb"])
def test_an_order_that_is_none_cannot_be_cancelled_or_seen(visit: Visit, id_: str) -> None:
    """`checkout-2` is there, but is the cancellation of `checkout-1` and no order."""
    _, visitor = visit()
    first = order_id(visitor.ready().order("one"))
    visitor.http.post(f"/api/orders/{first}/cancel")
    assert visitor.http.post(f"/api/orders/{id_}/cancel").status_code == 404
    assert visitor.http.get(f"/orders/{id_}").status_code == 404


def test_a_cancel_whose_answer_is_lost_is_done_and_says_so_the_second_time(visit: Visit) -> None:
    hosted, visitor = visit()
    id_ = order_id(visitor.ready().order("lost-cancel"))
    start = hosted.desk.journal.last_number
    hosted.arm("after-commit what=order.cancel = fin")
    with pytest.raises(httpx.RemoteProtocolError):
        visitor.http.post(f"/api/orders/{id_}/cancel")
    assert fired(hosted, start) == ["after-commit=fin"]
    assert len(effects(hosted, start)) == 1
    assert visitor.http.post(f"/api/orders/{id_}/cancel").json()["error"]["code"] == "already-undone"


def test_the_shop_itself_may_cancel_first(visit: Visit) -> None:
    hosted, visitor = visit()
    id_ = order_id(visitor.ready().order("race"))
    start = hosted.desk.journal.last_number
    hosted.arm("before-commit what=order.cancel = compete:cancel")
    assert visitor.http.post(f"/api/orders/{id_}/cancel").status_code == 409
    (effect,) = effects(hosted, start)
    assert (effect["operation"], effect["undoes"]) == ("outside", id_)


def test_a_competitor_with_nothing_to_cancel_is_noted(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hosted.arm("before-commit what=order = compete:cancel")
    assert page_name(visitor.order("none-yet", nonce=nonce)) == "confirmation"
    (failed,) = [e for e in hosted.entries("hook-failed") if e.number > start]
    assert "none-yet" in failed.data["error"]
