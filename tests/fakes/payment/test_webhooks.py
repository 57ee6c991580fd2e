"""Webhooks: signed, at least once, in no promised order."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stripe

from fakes.payment.face import PaymentFake
from fakes.payment.options import PaymentOptions
from fakes.payment.outbox import RETRY_AFTER_S, signature
from fakes.wire.hosting import Hosted
from tests.fakes.payment.customer import SECOND_NS, Shop
from tests.fakes.payment.receiver import Receiver

ENDPOINTS = "/v1/webhook_endpoints"
PAID = ["payment_intent.created", "charge.succeeded", "payment_intent.succeeded"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def listen(shop: Shop, receiver: Receiver, *types: str) -> Any:
    return shop.post(ENDPOINTS, {"url": receiver.url, "enabled_events": list(types or PAID)}).data


def tries(hosted: Hosted, count: int) -> list[Any]:
    """The journal's entries of so many tries, the newest ones."""
    return [entry.data for entry in hosted.wait_for("webhook", count)]


def test_events_come_signed_so_that_the_library_accepts_them(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    secret = listen(shop, receiver)["secret"]
    intent = shop.pay(key="k-1")["id"]
    for type_ in PAID:
        _, body, signed = receiver.next()
        event = stripe.Webhook.construct_event(body, signed, secret)
        assert (event.type, event.request.idempotency_key) == (type_, "k-1")
    assert event.data.object["id"] == intent
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(body + b" ", signed, secret)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(body, signed, "whsec_other")


def test_the_signature_is_the_librarys_own() -> None:
    made = stripe.WebhookSignature.generate_signature_header('{"a": 1}', "whsec_x", timestamp=5)
    assert signature("whsec_x", 5, b'{"a": 1}') == made


def test_the_secret_is_told_once(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    made = listen(shop, receiver)
    assert made["secret"].startswith("whsec_")
    path = f"{ENDPOINTS}/{made['id']}"
    assert "secret" not in shop.get(path).data
    assert made["secret"] not in repr(hosted.entries())
    assert shop.ask("DELETE", path).data["deleted"] is True
    assert shop.get(path).status == 404
    assert made["id"] not in [each["id"] for each in shop.get(ENDPOINTS).data["data"]]


def test_an_endpoint_gets_what_it_enabled(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver, "refund.created")
    charge = shop.pay()["latest_charge"]
    shop.post("/v1/refunds", {"charge": charge, "amount": 1})
    assert receiver.types(1) == ["refund.created"]
    shop.post(ENDPOINTS, {"url": receiver.url, "enabled_events": ["*"]})
    shop.post("/v1/customers")
    assert receiver.types(1) == ["customer.created"]


def test_what_is_not_answered_by_2xx_comes_again_and_again_later(
    hosted: Hosted, shop: Shop, receiver: Receiver
) -> None:
    receiver.statuses = [500, 302]
    listen(shop, receiver, "payment_intent.succeeded")
    before = len(hosted.entries("webhook"))
    shop.pay()
    first = receiver.next()[0]
    for attempt, wait_s in enumerate(RETRY_AFTER_S[:2], 1):
        tries(hosted, before + attempt)
        assert first["pending_webhooks"] == 1
        hosted.advance(wait_s * SECOND_NS)
        assert receiver.next()[0]["id"] == first["id"]
    assert [each["statuses"] for each in tries(hosted, before + 3)[-3:]] == [[500], [302], [200]]
    assert shop.get(f"/v1/events/{first['id']}").data["pending_webhooks"] == 0


def test_the_tries_end_after_three_days(hosted: Hosted, shop: Shop) -> None:
    shop.post(ENDPOINTS, {"url": "http://127.0.0.1:9/", "enabled_events": ["charge.succeeded"]})
    before = len(hosted.entries("webhook"))
    shop.pay()
    for attempt, wait_s in enumerate(RETRY_AFTER_S, 1):
        tries(hosted, before + attempt)
        hosted.advance(wait_s * SECOND_NS)
    ended = tries(hosted, before + len(RETRY_AFTER_S) + 1)[-1]
    assert (ended["attempt"], ended["statuses"]) == (len(RETRY_AFTER_S) + 1, [0])
    assert 3 * 24 * 3600 <= sum(RETRY_AFTER_S) <= 3.2 * 24 * 3600
    event = shop.get("/v1/events", {"type": "charge.succeeded", "limit": 1}).data["data"][0]
    assert event["pending_webhooks"] == 0


def test_a_hook_lets_an_event_come_twice(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver)
    hosted.arm("event line=charge.succeeded = twice")
    shop.pay()
    assert sorted(receiver.types(4)) == sorted([*PAID, "charge.succeeded"])


def test_a_hook_lets_an_event_be_overtaken(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver)
    hosted.arm("event line=payment_intent.created = late:60s")
    shop.pay()
    assert receiver.types(2) == PAID[1:]
    hosted.advance(60 * SECOND_NS)
    assert receiver.types(1) == PAID[:1]


def test_an_event_that_a_hook_drops_is_tried_again(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver, "charge.succeeded")
    before = len(hosted.entries("webhook"))
    hosted.arm("event = drop")
    shop.pay()
    assert tries(hosted, before + 1)[-1]["statuses"] == []
    hosted.advance(RETRY_AFTER_S[0] * SECOND_NS)
    assert receiver.types(1) == ["charge.succeeded"]


def test_a_late_event_is_older_than_the_object(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver, "payment_intent.amount_capturable_updated")
    hosted.arm("event = late:60s")
    held = shop.pay(capture_method="manual")["id"]
    shop.post(f"/v1/payment_intents/{held}/capture")
    hosted.advance(60 * SECOND_NS)
    assert receiver.next()[0]["data"]["object"]["status"] == "requires_capture"
    assert shop.get(f"/v1/payment_intents/{held}").data["status"] == "succeeded"


def test_an_event_of_a_refused_request_is_sent_too(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver, "payment_intent.payment_failed")
    shop.pay(payment_method="pm_card_visa_chargeDeclined")
    assert receiver.next()[0]["data"]["object"]["status"] == "requires_payment_method"


def test_no_event_tells_of_what_was_not_committed(hosted: Hosted, shop: Shop, receiver: Receiver) -> None:
    listen(shop, receiver, "charge.succeeded")
    hosted.arm("before-commit = status:500")
    shop.pay()
    shop.pay()
    assert receiver.types(1) == ["charge.succeeded"]
    assert receiver.came.empty()


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1/", "nonsense", "http://", "http://[::1", "http://x:99999999/"])
def test_an_endpoint_needs_a_url_that_can_be_called(hosted: Hosted, shop: Shop, url: str) -> None:
    said = shop.post(ENDPOINTS, {"url": url, "enabled_events": ["*"]})
    assert (said.status, said.error["param"]) == (400, "url")


def test_nothing_is_sent_to_a_host_that_was_not_allowed(receiver: Receiver) -> None:
    with Hosted(PaymentFake, PaymentOptions(webhook_hosts=("hooks.example",))) as hosted:
        shop = Shop(hosted)
        listen(shop, receiver, "charge.succeeded")
        shop.pay()
        assert [each["statuses"] for each in tries(hosted, 1)] == [[0]]
        assert receiver.came.empty()


def test_a_fake_that_ends_while_nobody_answers_sends_again_when_it_is_back(tmp_path: Path) -> None:
    deaf = socket.create_server(("127.0.0.1", 0))
    deaf.settimeout(20)
    url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        shop = Shop(hosted)
        shop.post(ENDPOINTS, {"url": url, "enabled_events": ["charge.succeeded"]})
        shop.pay()
        first, _ = deaf.accept()
        assert first.recv(65536).startswith(b"POST / ")
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        again, _ = deaf.accept()
        assert again.recv(65536).startswith(b"POST / ")
        assert hosted.entries("bug") == []
    for each in (first, again, deaf):
        each.close()


@pytest.mark.slow
def test_what_was_not_delivered_is_delivered_by_the_fake_that_comes_back(tmp_path: Path, receiver: Receiver) -> None:
    receiver.statuses = [503]
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        shop = Shop(hosted)
        secret = listen(shop, receiver, "charge.succeeded")["secret"]
        shop.pay()
        first = receiver.next()[0]["id"]
        hosted.wait_for("webhook")
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        hosted.advance(RETRY_AFTER_S[0] * SECOND_NS)
        again, body, signed = receiver.next()
        assert again["id"] == first
        stripe.Webhook.construct_event(body, signed, secret)
        hosted.wait_for("webhook", 2)
        assert hosted.entries("bug") == []
