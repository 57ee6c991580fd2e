"""The face: every hook point, in order, and what is answered at each. Over raw connections, so nothing retries."""

from __future__ import annotations

import http.client
import threading
from typing import Any

import pytest

from fakes.payment.face import PaymentFake
from fakes.payment.options import PaymentOptions
from fakes.wire.hosting import Hosted
from fakes.wire.points import Point
from tests.fakes.payment.customer import PAY, SECOND_NS, Shop

INTENTS = "/v1/payment_intents"


def charges(hosted: Hosted) -> int:
    return sum(entry.data["action"] == "charge" for entry in hosted.entries("effect"))


def points(hosted: Hosted) -> list[str]:
    return [entry.data["point"] for entry in hosted.entries("hook-fired")]


class Since:
    """What happened since: the fake's journal goes on from test to test."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted = hosted
        self._before = {
            kind: len(hosted.entries(kind)) for kind in ("arrived", "effect", "responded", "cut", "hook-fired")
        }

    def count(self, kind: str) -> int:
        return len(self._hosted.entries(kind)) - self._before[kind]

    def entries(self, kind: str) -> list[Any]:
        return self._hosted.entries(kind)[self._before[kind] :]


def in_background(action: Any) -> tuple[threading.Thread, list[Any]]:
    said: list[Any] = []
    thread = threading.Thread(target=lambda: said.append(action()))
    thread.start()
    return thread, said


def test_a_change_crosses_all_points_of_its_way_in_order(hosted: Hosted, shop: Shop) -> None:
    since = Since(hosted)
    for point in list(Point)[1:8]:
        hosted.arm(f"{point} what=charge = pass" if point is not Point.RECEIVED else "received = pass")
    assert shop.pay(key="k-1")["status"] == "succeeded"
    hosted.wait_for("hook-fired", len(hosted.entries("hook-fired")))
    crossed = [entry.data["point"] for entry in since.entries("hook-fired")]
    assert crossed == [str(point) for point in list(Point)[1:8]]


def test_a_kept_answer_crosses_neither_before_nor_after_the_commit(hosted: Hosted, shop: Shop) -> None:
    shop.pay(key="k-1")
    since = Since(hosted)
    for point in ("key-claimed", "before-commit", "after-commit", "responding"):
        hosted.arm(f"{point} = pass")
    shop.pay(key="k-1")
    assert [entry.data["point"] for entry in since.entries("hook-fired")] == ["key-claimed", "responding"]
    assert (since.count("arrived"), since.count("effect")) == (1, 0)


def test_a_question_crosses_read_and_can_be_shown_an_older_view(hosted: Hosted, shop: Shop) -> None:
    shop.pay()
    hosted.advance(10 * SECOND_NS)
    hook = hosted.arm("read#2 what=payment_intent.list = stale")
    made = shop.pay()["id"]
    assert next(each["id"] for each in shop.get(INTENTS).data["data"]) == made
    assert made not in [each["id"] for each in shop.get(INTENTS).data["data"]]
    assert made in [each["id"] for each in shop.get(INTENTS).data["data"]]
    assert [each["fired"] for each in hosted.call(hosted.desk.board.listing) if each["id"] == hook] == [1]


@pytest.mark.parametrize(
    ("point", "effects"),
    [("received", 0), ("parsed", 0), ("key-claimed", 0), ("before-commit", 0), ("after-commit", 1)],
)
@pytest.mark.parametrize("act", ["reset", "fin"])
def test_a_cut_answers_nothing_and_the_next_try_tells_what_was_done(
    hosted: Hosted, point: str, effects: int, act: str
) -> None:
    since = Since(hosted)
    hosted.arm(f"{point} = {act}")
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        Shop(hosted).pay(key=f"k-{point}-{act}")
    assert (since.count("hook-fired"), since.count("cut"), since.count("responded")) == (1, 1, 0)
    assert since.count("effect") == effects
    said = Shop(hosted).post(INTENTS, PAY, idempotency_key=f"k-{point}-{act}")
    assert ("idempotent-replayed" in said.headers) == bool(effects)
    assert since.count("effect") == 1


@pytest.mark.parametrize(
    ("point", "kept", "effects"),
    [
        ("received", False, 0),
        ("parsed", False, 0),
        ("key-claimed", False, 0),
        ("before-commit", True, 0),
        ("after-commit", True, 1),
    ],
)
def test_a_500_is_kept_once_execution_has_begun(
    hosted: Hosted, shop: Shop, point: str, kept: bool, effects: int
) -> None:
    since = Since(hosted)
    hosted.arm(f"{point} = status:500")
    assert shop.post(INTENTS, PAY, idempotency_key="k-1").status == 500
    assert (since.count("hook-fired"), since.count("effect")) == (1, effects)
    again = shop.post(INTENTS, PAY, idempotency_key="k-1")
    assert (again.status, again.headers.get("idempotent-replayed")) == ((500, "true") if kept else (200, None))


@pytest.mark.parametrize("point", ["received", "parsed", "before-commit", "after-commit"])
def test_a_429_is_never_kept_and_says_when_to_come_back(hosted: Hosted, shop: Shop, point: str) -> None:
    hosted.arm(f"{point} = status:429:7")
    said = shop.post(INTENTS, PAY, idempotency_key=f"k-{point}")
    assert (said.status, said.headers["retry-after"], said.error["code"]) == (429, "7", "rate_limit")
    again = shop.post(INTENTS, PAY, idempotency_key=f"k-{point}")
    assert again.status == 200


@pytest.mark.parametrize("said", ["unsaid", "true", "false"])
def test_a_status_of_a_hook_says_whether_to_retry_as_the_option_has_it(said: Any) -> None:
    with Hosted(PaymentFake, PaymentOptions(should_retry=said)) as hosted:
        shop = Shop(hosted)
        for point in ("received", "before-commit"):
            hosted.arm(f"{point} = status:429")
            assert shop.post(INTENTS, PAY).headers.get("stripe-should-retry", "unsaid") == said


def test_a_key_that_is_in_use_is_a_conflict_until_its_request_is_answered(hosted: Hosted, shop: Shop) -> None:
    since = Since(hosted)
    hook = hosted.arm("before-commit = hang")
    thread, first = in_background(lambda: Shop(hosted).post(INTENTS, PAY, idempotency_key="k-1"))
    hosted.wait_until_hanging(hook)
    conflict = shop.post(INTENTS, PAY, idempotency_key="k-1")
    assert (conflict.status, conflict.error["code"], conflict.error["type"]) == (
        409,
        "idempotency_key_in_use",
        "invalid_request_error",
    )
    hosted.release(hook)
    thread.join(10)
    again = shop.post(INTENTS, PAY, idempotency_key="k-1")
    assert (again.data["id"], again.headers["idempotent-replayed"]) == (first[0].data["id"], "true")
    assert since.count("effect") == 1


def test_who_waits_behind_a_request_with_its_key_gets_the_kept_answer(hosted: Hosted, shop: Shop) -> None:
    hook = hosted.arm("parsed = hang")
    thread, second = in_background(lambda: Shop(hosted).post(INTENTS, PAY, idempotency_key="k-1"))
    hosted.wait_until_hanging(hook)
    first = shop.post(INTENTS, PAY, idempotency_key="k-1")
    hosted.release(hook)
    thread.join(10)
    assert second[0].data == first.data
    assert second[0].headers["idempotent-replayed"] == "true"


def test_hooks_are_aimed_by_action_target_operation_and_key(hosted: Hosted, shop: Shop) -> None:
    about = {"metadata": {"operation": "bill", "target": "acme"}}
    for field in (
        "what=charge",
        "target=acme",
        "operation=bill",
        "key=k-7",
        '"line=POST /v1/payment_intents"'.replace('"', ""),
    ):
        name, _, glob = field.partition("=")
        hosted.arm(f'parsed {name}="{glob}" = status:503')
        assert shop.post("/v1/customers").status == 200
        said = shop.post(INTENTS, {**PAY, **about}, idempotency_key="k-7")
        assert said.status == 503, field
        hosted.call(hosted.desk.board.clear)


@pytest.mark.parametrize(
    ("hook", "path", "what"),
    [
        ("capture", "capture", "capture"),
        ("authorization.cancel", "cancel", "authorization.cancel"),
    ],
)
def test_steps_of_an_intent_are_about_its_own_operation(
    hosted: Hosted, shop: Shop, hook: str, path: str, what: str
) -> None:
    intent = shop.pay(capture_method="manual", metadata={"operation": "bill", "target": "acme"})["id"]
    since = Since(hosted)
    hosted.arm(f"before-commit what={hook} target=acme = status:503")
    assert shop.post(f"{INTENTS}/{intent}/{path}").status == 503
    assert since.count("hook-fired") == 1
    assert shop.post(f"{INTENTS}/{intent}/{path}").status == 200
    assert since.entries("effect")[0].data["action"] == what


@pytest.mark.parametrize(
    ("what", "params", "then"),
    [
        ("refund", {"capture_method": "automatic"}, ("refund", {}, 400)),
        ("cancel", {"capture_method": "manual"}, ("capture", {}, 400)),
    ],
)
def test_somebody_else_comes_first(hosted: Hosted, shop: Shop, what: str, params: Any, then: Any) -> None:
    intent = shop.pay(**params)["id"]
    verb, more, status = then
    hosted.arm(f"before-commit = compete:{what}")
    if verb == "refund":
        said = shop.post("/v1/refunds", {"payment_intent": intent, **more})
        assert said.error["code"] == "charge_already_refunded"
    else:
        said = shop.post(f"{INTENTS}/{intent}/{verb}", more)
        assert said.error["code"] == "payment_intent_unexpected_state"
    assert said.status == status
    assert hosted.entries("hook-failed") == []


def test_a_customer_is_deleted_before_the_charge_and_before_the_update(hosted: Hosted, shop: Shop) -> None:
    customer = shop.post("/v1/customers").data["id"]
    hosted.arm("before-commit what=charge = compete:delete-customer")
    said = shop.post(INTENTS, {**PAY, "customer": customer})
    assert (said.status, said.error["param"]) == (400, "customer")
    other = shop.post("/v1/customers").data["id"]
    hosted.arm("before-commit = compete:delete-customer")
    assert shop.post(f"/v1/customers/{other}", {"name": "Ann"}).status == 404


def test_the_customer_authenticates_on_a_page_of_the_provider(hosted: Hosted, shop: Shop) -> None:
    card = {"payment_method": "pm_card_authenticationRequired", "return_url": "http://127.0.0.1/back"}
    intent = shop.pay(**card)
    page = intent["next_action"]["redirect_to_url"]["url"]
    said = shop.get(page)
    assert (said.status, said.headers["location"]) == (303, "http://127.0.0.1/back")
    assert shop.get(f"{INTENTS}/{intent['id']}").data["status"] == "succeeded"
    assert shop.get(page).status == 400
    other = shop.pay(**{**card, "return_url": "http://127.0.0.1/x"})
    assert shop.get(f"/authenticate/{other['id']}?outcome=fail").status == 303
    assert shop.get(f"{INTENTS}/{other['id']}").data["status"] == "requires_payment_method"
    assert shop.get("/authenticate/pi_9").status == 404


def test_a_competitor_may_authenticate(hosted: Hosted, shop: Shop) -> None:
    intent = shop.pay(payment_method="pm_card_authenticationRequired")["id"]
    hosted.arm("before-commit = compete:authenticate")
    said = shop.post(f"{INTENTS}/{intent}/cancel")
    assert said.error["code"] == "payment_intent_unexpected_state"


def test_what_is_settled_later_crosses_settle_and_may_fail_there(hosted: Hosted, shop: Shop) -> None:
    good, bad = (
        shop.pay(payment_method="pm_card_pendingRefund", metadata={"target": name}) for name in ("good", "bad")
    )
    hosted.arm("settle what=refund = fail")
    refund = shop.post("/v1/refunds", {"payment_intent": bad["id"]}).data["id"]
    hosted.advance(60 * SECOND_NS)
    hosted.wait_for("hook-fired", len(hosted.entries("hook-fired")))
    assert shop.get(f"/v1/refunds/{refund}").data["status"] == "failed"
    other = shop.post("/v1/refunds", {"payment_intent": good["id"]}).data["id"]
    hosted.advance(60 * SECOND_NS)
    assert shop.get(f"/v1/refunds/{other}").data["status"] == "succeeded"


def test_without_the_right_secret_nothing_is_told(hosted: Hosted, shop: Shop) -> None:
    for authorization in ("", "Bearer", "Bearer sk_live_real", "Basic !!!", "Basic c2tfbGl2ZTo=", "Digest x"):
        said = shop.get(INTENTS, authorization=authorization)
        assert (said.status, said.error["type"]) == (401, "invalid_request_error")
        assert "sk_live" not in said.error["message"]
    assert shop.get(INTENTS, authorization="Basic c2tfdGVzdF9rbm93bnN0YXRlOg==").status == 200


def test_every_answer_has_a_request_id_and_repeats_key_and_version(hosted: Hosted, shop: Shop) -> None:
    said = shop.post(INTENTS, PAY, idempotency_key="k-1", stripe_version="2026-10-28.endive")
    assert said.headers["request-id"].startswith("req_")
    assert (said.headers["idempotency-key"], said.headers["stripe-version"]) == ("k-1", "2026-10-28.endive")
    assert said.headers["content-type"] == "application/json"
    assert shop.get("/v1/colours").headers["request-id"].startswith("req_")


def test_a_body_that_is_no_form_is_refused(hosted: Hosted, shop: Shop) -> None:
    for body, kind in ((b"{}", "application/json"), (b"a=%ff", "application/x-www-form-urlencoded")):
        connection = http.client.HTTPConnection(*hosted.places["http"])
        headers = {"authorization": "Bearer sk_test_knownstate", "content-type": kind}
        connection.request("POST", INTENTS, body, headers)
        assert connection.getresponse().status == 400
        connection.close()


def test_too_large_a_body_is_refused_in_the_apis_form(hosted: Hosted) -> None:
    said = Shop(hosted).post(INTENTS, {**PAY, "description": "x" * (1 << 20)})
    assert (said.status, said.error["type"]) == (413, "invalid_request_error")


def test_an_entry_has_what_a_client_needs(hosted: Hosted) -> None:
    entry = hosted.host.entry()
    assert entry["env"] == {"STRIPE_API_BASE": entry["url"], "STRIPE_API_KEY": "sk_test_knownstate"}


def test_the_view_shows_everything_but_secrets(hosted: Hosted, shop: Shop) -> None:
    shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:1/", "enabled_events": ["charge.failed"]})
    intent = shop.pay(metadata={"operation": "bill"})
    view = hosted.call(hosted.fake.view)
    assert view["payment_intents"][-1]["id"] == intent["id"]
    assert {"customers", "charges", "refunds", "payment_methods", "webhook_endpoints"} < set(view)
    assert "secret" not in repr(view)
