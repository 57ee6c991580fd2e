"""The face as a whole: hook points in their order, state that outlives the process, equal bytes in equal runs, and garbage."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from fakes.checkout.face import ShopFake
from fakes.checkout.options import ShopOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.points import REQUEST_POINTS, Point
from harness.model.errors import UsageError
from tests.fakes.checkout.visitor import (
    ADDRESS,
    CARD,
    SECOND_NS,
    Visitor,
    bugs,
    fired,
    order_id,
    page_name,
    placed,
    posts,
)

Visit = Callable[..., tuple[Hosted, Visitor]]


# Hooks.


def test_an_order_crosses_every_point_in_order(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    for point in REQUEST_POINTS[1:]:
        about = 'line="POST /orders"' if point is Point.RECEIVED else "what=order key=form-*"
        hosted.arm(f"{point} {about} = pass")
    visitor.order("points", nonce=nonce)
    assert [each.partition("=")[0] for each in fired(hosted, start)] == list(REQUEST_POINTS[1:])


def test_a_replay_crosses_no_commit(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    visitor.order("replay", nonce=nonce)
    start = hosted.desk.journal.last_number
    for point in REQUEST_POINTS[2:]:
        hosted.arm(f"{point} what=order = pass")
    visitor.order("replay", nonce=nonce)
    crossed = [each.partition("=")[0] for each in fired(hosted, start)]
    assert crossed == ["parsed", "key-claimed", "responding", "responded"]


def test_a_page_crosses_read(visit: Visit) -> None:
    hosted, visitor = visit()
    visitor.sign_in()
    start = hosted.desk.journal.last_number
    for point in Point:
        hosted.arm(f"{point} what=history = pass")
    visitor.orders()
    assert [each.partition("=")[0] for each in fired(hosted, start)] == ["parsed", "read", "responding", "responded"]


@pytest.mark.parametrize(
    ("hook", "commits"),
    [
        ('received line="POST /orders" = reset', 0),
        ("parsed what=order = fin", 0),
        ("key-claimed what=order = reset", 0),
        ("before-commit what=order = fin", 0),
        ("after-commit what=order = reset", 1),
        ("responding what=order = truncate:0", 1),
        ("responding what=order = truncate:10:reset", 1),
    ],
)
def test_a_cut_is_a_cut_and_the_journal_knows_what_was_done(visit: Visit, hook: str, commits: int) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hosted.arm(hook)
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        visitor.order("cut", nonce=nonce)
    assert len(fired(hosted, start)) == 1
    assert (posts(hosted, start), placed(hosted, "cut", start)) == (1, commits)
    (call,) = [e.call for e in hosted.entries("arrived") if e.number > start and e.data["line"] == "POST /orders"]
    assert call not in [e.call for e in hosted.entries("responded")]
    assert len([e for e in hosted.entries("cut") if e.number > start]) == 1


def test_a_connection_may_end_before_anything_is_sent(visit: Visit) -> None:
    hosted, _ = visit()
    hosted.arm("connect = reset")
    with Visitor(hosted) as stranger, pytest.raises((httpx.ReadError, httpx.RemoteProtocolError, httpx.ConnectError)):
        stranger.http.get("/")


@pytest.mark.parametrize("code", [429, 500, 503, 504])
@pytest.mark.parametrize(("point", "commits"), [("before-commit", 0), ("after-commit", 1)])
def test_a_status_is_worded_as_a_page_and_promises_nothing(visit: Visit, code: int, point: str, commits: int) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    start = hosted.desk.journal.last_number
    hosted.arm(f"{point} what=order = status:{code}:7")
    answer = visitor.order("status", nonce=nonce)
    assert (answer.status_code, page_name(answer), answer.headers["retry-after"]) == (code, "message", "7")
    assert "Nothing was ordered" not in answer.text
    assert placed(hosted, "status", start) == commits
    hosted.arm(f"parsed what=history = status:{code}")
    assert visitor.http.get("/api/orders").json()["error"]["code"] == str(code)


def test_what_is_too_much_is_refused(visit: Visit) -> None:
    _, visitor = visit()
    assert visitor.http.post("/basket", content=b"a" * (1 << 21)).status_code == 413
    assert visitor.http.get("/", headers={f"x-{n}": "1" for n in range(120)}).status_code == 431


def test_an_unknown_competitor_is_noted_with_those_that_there_are(visit: Visit) -> None:
    hosted, visitor = visit()
    nonce = visitor.ready().form()
    hosted.arm("before-commit what=order = compete:nobody")
    assert page_name(visitor.order("order", nonce=nonce)) == "confirmation"
    assert "logout, cancel" in hosted.entries("hook-failed")[-1].data["error"]


# Options, entry and view.


@pytest.mark.parametrize(
    "wrong", [{"dedupe": "twice"}, {"history_lag": "soon"}, {"history_page_size": 0}, {"prg": "perhaps"}, {"more": 1}]
)
def test_an_option_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, UsageError)):
        ShopOptions(**wrong)


def test_the_entry_has_what_a_client_needs(visit: Visit) -> None:
    hosted, _ = visit()
    entry = hosted.call(hosted.host.entry)
    assert entry["env"]["SHOP_URL"] == entry["url"]
    assert entry["user"] == {"email": entry["env"]["SHOP_USER"], "password": entry["env"]["SHOP_PASSWORD"]}


def test_the_view_shows_every_order_hidden_from_the_history_or_not(visit: Visit) -> None:
    hosted, visitor = visit(history_needs_confirmation=True)
    id_ = order_id(visitor.ready().order("seen", operation="op"))
    hosted.wait_for("mailed")
    assert hosted.call(hosted.fake.view)["orders"] == [
        {
            "id": id_,
            "reference": "seen",
            "operation": "op",
            "status": "placed",
            "lines": "mug:1",
            "total": 1450,
            "user": "ada@shop.example",
            "is_confirmed": False,
        }
    ]


# Durability.


@contextlib.contextmanager
def hosted_in(folder: Path, clock: Clock | None = None) -> Iterator[tuple[Hosted, Visitor]]:
    with Hosted(ShopFake, folder=folder, clock=clock) as hosted, Visitor(hosted) as visitor:
        yield hosted, visitor
        assert not bugs(hosted)


def test_nothing_is_lost_by_a_restart(tmp_path: Path) -> None:
    with hosted_in(tmp_path) as (hosted, visitor):
        visitor.ready()
        visitor.http.post("/basket", data={"sku": "pen", "quantity": "3"})
        ordered, open_form = visitor.form(), visitor.form("lamp")
        visitor.order("before", nonce=ordered)
        cancelled = order_id(visitor.order("undone"))
        visitor.http.post(f"/api/orders/{cancelled}/cancel")
        hosted.wait_for("mailed", 2)
        seen, cookie, view = visitor.orders(), visitor.http.cookies["shop_session"], hosted.call(hosted.fake.view)
    with hosted_in(tmp_path) as (hosted, visitor):
        visitor.http.cookies.set("shop_session", cookie)
        assert hosted.call(hosted.fake.view) == view
        assert visitor.orders() == seen
        assert 'data-sku="pen" data-quantity="3"' in visitor.http.get("/basket").text
        assert "placed already" in visitor.order("before", nonce=ordered).text
        assert page_name(visitor.order("after", nonce=open_form)) == "confirmation"
        assert visitor.references() == ["after", "undone", "before"]


def test_a_message_that_was_on_its_way_is_sent_after_a_restart(tmp_path: Path) -> None:
    clock = Clock(is_manual=True)
    with hosted_in(tmp_path, clock) as (hosted, visitor):
        nonce = visitor.ready().form()
        hosted.arm("event what=order.mail = late:1h")
        visitor.order("late", nonce=nonce)
        assert hosted.call(hosted.fake.view)["mails"] == 0
    with hosted_in(tmp_path, Clock(is_manual=True)) as (hosted, _):
        hosted.advance(0)
        hosted.wait_for("mailed")
        assert hosted.call(hosted.fake.view)["mails"] == 1


def test_a_message_that_was_lost_is_not_sent_again_by_a_restart(tmp_path: Path) -> None:
    with hosted_in(tmp_path) as (hosted, visitor):
        nonce = visitor.ready().form()
        hosted.arm("event what=order.mail = drop")
        visitor.order("dropped", nonce=nonce)
        hosted.wait_for("hook-fired")
    with hosted_in(tmp_path) as (hosted, visitor):
        visitor.ready().order("next")
        hosted.wait_for("mailed")
        assert hosted.call(hosted.fake.view)["mails"] == 1


def test_a_snapshot_brings_the_old_state_back_and_stays_usable(visit: Visit) -> None:
    hosted, visitor = visit()
    visitor.ready().order("kept")
    hosted.wait_for("mailed")
    nonce = visitor.form()
    before, view = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    for _ in range(2):
        assert page_name(visitor.order("gone", nonce=nonce)) == "confirmation"
        assert visitor.references() == ["gone", "kept"]
        hosted.call(lambda: hosted.desk.restore(before))
        assert hosted.call(hosted.fake.view) == view
        assert visitor.references() == ["kept"]


# Determinism.


def told(hosted: Hosted) -> list[bytes]:
    """Every byte a visit was answered with, from the first page to the cancelled order."""
    answers: list[httpx.Response] = []
    with Visitor(hosted) as visitor:
        visitor.http.event_hooks["response"].append(lambda answer: answers.append(answer))
        visitor.http.get("/")
        visitor.ready().order("same", operation="op")
        hosted.wait_for("mailed")
        hosted.advance(SECOND_NS)
        visitor.order("same", card="4000000000000002")
        visitor.http.post("/orders/checkout-1/cancel")
        for path in ("/api/orders", "/mailbox", "/nothing", "/orders/checkout-1/thanks"):
            visitor.http.get(path)
    headers = [repr(sorted((k, v) for k, v in a.headers.items() if k != "date")).encode() for a in answers]
    return [part for answer, head in zip(answers, headers, strict=True) for part in (head, answer.content)]


@pytest.mark.slow
def test_equal_requests_at_equal_times_get_equal_bytes() -> None:
    runs = []
    for _ in range(2):
        with Hosted(ShopFake, clock=Clock(is_manual=True)) as hosted:
            runs.append((told(hosted), [entry[1:] for entry in hosted.entries()]))
    assert runs[0] == runs[1]
    assert len(runs[0][0]) > 20


# Garbage.

GARBAGE_COUNT = 2500
PATHS = ("/", "/basket", "/login", "/logout", "/checkout/address", "/checkout/payment", "/orders", "/mailbox")
PATHS += ("/confirm", "/api/orders", "/orders/checkout-1", "/orders/checkout-1/thanks", "/orders/checkout-2/cancel")
PATHS += ("/api/orders/checkout-1/cancel", "/api/orders/%ff%00/cancel", "/orders//cancel", "/\u00fc", "/%E2%80%A8")
VALUES = ("", "0", "-1", "9" * 400, "1e9", "\x00", "\u202e", "😀" * 30, "<b>", "%", "&=", "../..", "nan", "a" * 101)
VALUES += ("mug", "mug:2", "mug:²", "12/39", "4242424242424242", "GB", "checkout-1", "[[[[", '{"operation": {}}')


def garbage(dice: random.Random, nonce: str) -> tuple[str, str, dict[str, str], bytes]:
    """(method, path with query, headers, body) of one request, more or less like a real one."""
    names = [*ADDRESS, *CARD, "sku", "quantity", "set", "buy", "nonce", "reference", "operation", "token", "next"]
    fields = {name: dice.choice(VALUES) for name in dice.sample(names, dice.randrange(len(names)))}
    if dice.random() < 0.5:
        fields |= {**CARD, **ADDRESS, "nonce": nonce, dice.choice(names): dice.choice(VALUES)}
    query = httpx.QueryParams({dice.choice(("page", "reference", "buy", "next")): dice.choice(VALUES)})
    body = str(httpx.QueryParams(fields)).encode()
    if dice.random() < 0.3:
        spoilt = bytearray(body or b"x")
        for _ in range(dice.randrange(1, 6)):
            spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
        body = bytes(spoilt) if dice.random() < 0.7 else dice.randbytes(dice.randrange(200))
    kinds = ("application/x-www-form-urlencoded", "application/json", "multipart/form-data", "", "\x7f;;")
    headers = {"content-type": dice.choice(kinds) if dice.random() < 0.2 else kinds[0]}
    method = dice.choice(("GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"))
    return method, f"{dice.choice(PATHS)}?{query}", headers, body


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"dedupe": "order-ref", "prg": False, "history_shows_reference": False}])
def test_garbage_is_answered_as_such_and_the_shop_goes_on(visit: Visit, options: dict[str, Any]) -> None:
    hosted, visitor = visit(**options)
    dice = random.Random(20260101)
    nonce = visitor.ready().form()
    codes: set[int] = set()
    for number in range(GARBAGE_COUNT // 2):
        method, path, headers, body = garbage(dice, nonce)
        if path.startswith("/logout") and number % 10:
            continue
        answer = visitor.http.request(method, path, headers=headers, content=body, follow_redirects=False)
        codes.add(answer.status_code)
        if answer.status_code == 303 and "/login" in answer.headers["location"]:
            nonce = visitor.ready().form()
    assert not bugs(hosted)
    assert codes >= {200, 303, 400, 403, 404, 405, 415, 422}
    assert not [code for code in codes if code >= 500]
    assert page_name(visitor.ready().order("still-here")) == "confirmation"
