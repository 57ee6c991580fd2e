"""The unmodified client library with its own defaults: what it re-sends, and what it makes of a cut response.

Counted apart: requests that arrived, effects, responses written, and what the caller saw.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import stripe

from fakes.payment.face import PaymentFake
from fakes.payment.options import PaymentOptions
from fakes.wire.hosting import Hosted
from tests.fakes.payment.customer import PAY, SECRET, client
from tests.fakes.payment.test_face import Since

RETRIES = 2
"""The library's module-level default, `stripe.max_network_retries`."""


def keys(since: Since, hosted: Hosted) -> set[str]:
    return {entry.data["key"] for entry in since.entries("effect")}


def pay(shop: stripe.StripeClient, **more: Any) -> stripe.PaymentIntent:
    return shop.v1.payment_intents.create({**PAY, **more})  # type: ignore[typeddict-item]


def test_the_library_walks_through_a_whole_purchase(hosted: Hosted) -> None:
    shop = client(hosted)
    customer = shop.v1.customers.create({"email": "ann@shop.example"})
    shop.v1.payment_methods.attach("pm_card_visa", {"customer": customer.id})
    (method,) = shop.v1.customers.payment_methods.list(customer.id).data
    held = pay(shop, customer=customer.id, payment_method=method.id, capture_method="manual")
    captured = shop.v1.payment_intents.capture(held.id, {"amount_to_capture": 600})
    assert (held.status, captured.status, captured.amount_received) == ("requires_capture", "succeeded", 600)
    refund = shop.v1.refunds.create({"payment_intent": held.id, "amount": 100})
    assert refund.status == "succeeded"
    charge = shop.v1.charges.retrieve(str(captured.latest_charge))
    assert charge.amount_refunded == 500  # 400 were never taken
    assert [each.id for each in shop.v1.refunds.list({"payment_intent": held.id})] == [refund.id]
    assert shop.v1.customers.update(customer.id, {"name": "Ann"}).name == "Ann"
    assert shop.v1.customers.delete(customer.id).deleted


def test_the_library_pages_through_all_that_there_is(hosted: Hosted) -> None:
    shop = client(hosted)
    made = [shop.v1.customers.create({}).id for _ in range(5)]
    assert [each.id for each in shop.v1.customers.list({"limit": 2}).auto_paging_iter()][:5] == made[::-1]


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda shop: pay(shop, payment_method="pm_card_visa_chargeDeclined"), stripe.CardError),
        (lambda shop: pay(shop, amount=0), stripe.InvalidRequestError),
        (lambda shop: shop.v1.customers.retrieve("cus_9"), stripe.InvalidRequestError),
    ],
)
def test_refusals_are_the_exceptions_that_the_library_has_for_them(hosted: Hosted, act: Any, kind: Any) -> None:
    with pytest.raises(kind):
        act(client(hosted))


def test_another_request_under_a_used_key_is_an_idempotency_error(hosted: Hosted) -> None:
    shop = client(hosted)
    shop.v1.payment_intents.create(PAY, {"idempotency_key": "k-1"})  # type: ignore[arg-type]
    with pytest.raises(stripe.IdempotencyError):
        shop.v1.payment_intents.create({**PAY, "amount": 2}, {"idempotency_key": "k-1"})  # type: ignore[typeddict-item]


def test_a_wrong_secret_is_an_authentication_error(hosted: Hosted) -> None:
    shop = stripe.StripeClient("sk_test_other", base_addresses={"api": hosted.places["http"].url})
    with pytest.raises(stripe.AuthenticationError):
        pay(shop)


# Table 1: what is sent again without being asked.


def test_a_client_object_sends_once_unless_it_is_told_to_retry(hosted: Hosted) -> None:
    since = Since(hosted)
    hosted.arm("after-commit = reset")
    with pytest.raises(stripe.APIConnectionError):
        pay(client(hosted))
    assert (since.count("arrived"), since.count("effect"), since.count("responded")) == (1, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["module", "client"])
def test_with_the_module_default_three_requests_arrive(hosted: Hosted, how: str) -> None:
    since = Since(hosted)
    hosted.arm("before-commit x9 = reset")
    assert stripe.max_network_retries == RETRIES
    with pytest.raises(stripe.APIConnectionError):
        _pay_by_module(hosted) if how == "module" else pay(client(hosted, RETRIES))
    assert (since.count("arrived"), since.count("hook-fired"), since.count("effect")) == (3, 3, 0)


def _pay_by_module(hosted: Hosted) -> stripe.PaymentIntent:
    before = stripe.api_key, stripe.api_base
    stripe.api_key, stripe.api_base = SECRET, hosted.places["http"].url
    try:
        return stripe.PaymentIntent.create(**PAY)  # type: ignore[arg-type]
    finally:
        stripe.api_key, stripe.api_base = before


@pytest.mark.slow
def test_a_lost_response_is_sent_again_under_the_same_key_and_replayed(hosted: Hosted) -> None:
    since = Since(hosted)
    hosted.arm("after-commit x9 = reset")
    intent = pay(client(hosted, RETRIES))
    assert (since.count("arrived"), since.count("effect"), since.count("responded")) == (2, 1, 1)
    assert intent.last_response.headers["idempotent-replayed"] == "true"


def test_a_second_call_of_the_caller_has_a_new_key_and_is_a_second_charge(hosted: Hosted) -> None:
    since = Since(hosted)
    shop = client(hosted)
    hosted.arm("after-commit = reset")
    with pytest.raises(stripe.APIConnectionError):
        pay(shop)
    pay(shop)
    assert since.count("effect") == len(keys(since, hosted)) == 2


# Table 2: where the response is cut. The provider has committed each time.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cut", "arrivals", "kind"),
    [
        ("truncate:0", 3, stripe.APIConnectionError),
        ("truncate:0:reset", 3, stripe.APIConnectionError),
        ("truncate:5", 3, stripe.APIConnectionError),
        ("truncate:40", 1, stripe.APIError),
        ("truncate:400", 1, stripe.APIConnectionError),
    ],
    ids=["no byte", "no byte, reset", "inside the status line", "inside the headers", "inside the body"],
)
def test_the_place_of_the_cut_decides_whether_the_library_sends_again(
    hosted: Hosted, cut: str, arrivals: int, kind: type[Exception]
) -> None:
    since = Since(hosted)
    hosted.arm(f"responding x9 = {cut}")
    with pytest.raises(kind) as seen:
        pay(client(hosted, RETRIES))
    assert type(seen.value) is kind
    assert (since.count("arrived"), since.count("effect"), since.count("responded")) == (arrivals, 1, 0)
    assert since.count("cut") == since.count("hook-fired") == arrivals
    if kind is stripe.APIError:
        assert "200" in str(seen.value), "a head without an end is an empty 200 to the library beneath"


@pytest.mark.slow
def test_a_response_that_never_comes_is_sent_again_and_meets_its_own_first_try(hosted: Hosted) -> None:
    since = Since(hosted)
    hook = hosted.arm("before-commit = hang")
    shop = stripe.StripeClient(
        SECRET,
        base_addresses={"api": hosted.places["http"].url},
        http_client=stripe.RequestsClient(timeout=0.2),
        max_network_retries=RETRIES,
    )
    with pytest.raises(stripe.APIError) as seen:
        pay(shop)
    assert (seen.value.http_status, seen.value.code) == (409, None)
    assert (since.count("arrived"), since.count("effect")) == (3, 0)
    effects = len(hosted.entries("effect"))
    hosted.release(hook)
    hosted.wait_for("effect", effects + 1)
    assert since.count("effect") == 1, "its first try was done after the caller had given up"


# Statuses.


@pytest.mark.slow
def test_a_503_is_sent_again_and_a_kept_one_replays(hosted: Hosted) -> None:
    since = Since(hosted)
    hosted.arm("after-commit = status:503")
    with pytest.raises(stripe.APIError) as seen:
        pay(client(hosted, RETRIES))
    assert seen.value.http_status == 503
    assert (since.count("arrived"), since.count("effect"), since.count("responded")) == (3, 1, 3)


def test_a_429_is_not_sent_again(hosted: Hosted) -> None:
    since = Since(hosted)
    hosted.arm("parsed x9 = status:429")
    with pytest.raises(stripe.RateLimitError):
        pay(client(hosted, RETRIES))
    assert (since.count("arrived"), since.count("effect")) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "status", "arrivals"), [("true", 429, 3), ("false", 429, 1), ("false", 500, 1), ("true", 500, 3)]
)
def test_the_provider_may_say_whether_to_send_again(said: Any, status: int, arrivals: int) -> None:
    with Hosted(PaymentFake, PaymentOptions(should_retry=said)) as hosted:
        hosted.arm(f"parsed x9 = status:{status}")
        with pytest.raises(stripe.StripeError):
            pay(client(hosted, RETRIES))
        assert hosted.counts()["arrivals"] == arrivals


# Asynchronous.


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # the library's own use of httpx
def test_the_asynchronous_client_sends_again_under_the_same_key_too(hosted: Hosted) -> None:
    since = Since(hosted)
    hosted.arm("after-commit x9 = reset")
    shop = stripe.StripeClient(
        SECRET,
        base_addresses={"api": hosted.places["http"].url},
        http_client=stripe.HTTPXClient(),
        max_network_retries=RETRIES,
    )

    async def buy() -> tuple[stripe.PaymentIntent, list[str]]:
        intent = await shop.v1.payment_intents.create_async(PAY)  # type: ignore[arg-type]
        listed = await shop.v1.payment_intents.list_async({"limit": 1})
        return intent, [each.id async for each in listed.auto_paging_iter()]

    intent, listed = asyncio.run(buy())
    assert (intent.status, intent.id in listed) == ("succeeded", True)
    assert (since.count("arrived"), since.count("effect")) == (2 + len(listed), 1)


@pytest.mark.slow
def test_two_workers_with_one_key_make_one_charge(hosted: Hosted) -> None:
    since = Since(hosted)
    hook = hosted.arm("after-commit = hang")
    seen: list[str] = []

    def work() -> None:
        seen.append(client(hosted, RETRIES).v1.payment_intents.create(PAY, {"idempotency_key": "k-1"}).id)  # type: ignore[arg-type]

    first, second = (threading.Thread(target=work) for _ in range(2))
    first.start()
    hosted.wait_until_hanging(hook)
    second.start()
    hosted.wait_for("arrived", len(hosted.entries("arrived")) - since.count("arrived") + 2)
    hosted.release(hook)
    first.join(20)
    second.join(20)
    assert len(seen) == 2
    assert len(set(seen)) == 1
    assert since.count("effect") == 1
