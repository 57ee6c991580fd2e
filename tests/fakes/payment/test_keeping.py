"""Idempotency keys: what is kept, what is not, for how long, and what a second use gets, under both policies."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.payment.api import Http
from tests.fakes.payment.customer import PAY, SECRET, Desk, form

DAY_S = 24 * 3600
DECLINED = {**PAY, "payment_method": "pm_card_visa_chargeDeclined"}


def keyed(desk: Desk, params: dict[str, Any] = PAY, key: str = "k-1", path: str = "/v1/payment_intents") -> Any:
    return desk.post(path, params, idempotency_key=key)


def charges(desk: Desk) -> int:
    return [action for action, _, _ in desk.effects()].count("charge")


def is_replay(said: Any) -> bool:
    return "idempotent-replayed" in said.headers


def break_down(desk: Desk, status: int, params: dict[str, Any] = PAY, key: str = "k-1", *, after: bool) -> None:
    """A status instead of the answer, before or after the work was done."""
    body = form(params).encode()
    headers = {"authorization": f"Bearer {SECRET}", "idempotency-key": key}
    order = desk.api.prepare(Http("POST", "/v1/payment_intents", b"", headers, body))
    if after:
        desk.api.execute(order)
    desk.api.stand_in(order, status)


def test_the_same_request_under_the_same_key_gets_the_same_bytes_and_nothing_is_done(desk: Desk) -> None:
    first, second = keyed(desk), keyed(desk)
    assert (second.status, second.data) == (first.status, first.data)
    assert (is_replay(first), is_replay(second)) == (False, True)
    assert second.headers["original-request"] == "req_1"
    assert charges(desk) == 1


def test_a_kept_answer_is_of_the_past(desk: Desk) -> None:
    first = keyed(desk)
    desk.post("/v1/payment_intents/" + first.data["id"], {"description": "changed"})
    assert keyed(desk).data["description"] is None


def test_the_order_of_parameters_does_not_make_another_request(desk: Desk) -> None:
    keyed(desk)
    assert is_replay(keyed(desk, dict(reversed(list(PAY.items())))))


@pytest.mark.parametrize("other", ["parameters", "endpoint"])
def test_a_key_belongs_to_one_request(desk: Desk, other: str) -> None:
    intent = keyed(desk).data["id"]
    said = (
        keyed(desk, {**PAY, "amount": 1001})
        if other == "parameters"
        else keyed(desk, {"payment_intent": intent}, path="/v1/refunds")
    )
    assert (said.status, said.error["type"], said.error.get("code")) == (400, "idempotency_error", None)
    assert "Try using a key other than 'k-1'" in said.error["message"]
    assert desk.effects() == [("charge", intent, "")]


def test_a_decline_is_kept_since_execution_had_begun(desk: Desk) -> None:
    first, second = keyed(desk, DECLINED), keyed(desk, DECLINED)
    assert (first.status, second.status, second.data) == (402, 402, first.data)
    assert is_replay(second)
    assert desk.kinds().count("charge.failed") == 1


def test_an_error_of_execution_is_kept_and_one_of_validation_is_not(desk: Desk) -> None:
    charge = desk.pay()["latest_charge"]
    over = {"charge": charge, "amount": 2000}
    assert not is_replay(keyed(desk, over, path="/v1/refunds"))
    assert is_replay(keyed(desk, over, path="/v1/refunds"))
    unreadable = keyed(desk, {**PAY, "amount": "x"}, "k-2")
    assert unreadable.status == 400
    assert keyed(desk, PAY, "k-2").status == 200, "the key is still free"


def test_a_request_without_the_right_secret_leaves_the_key_free(desk: Desk) -> None:
    said = desk.post("/v1/payment_intents", PAY, idempotency_key="k-1", authorization="Bearer sk_test_other")
    assert said.status == 401
    assert not is_replay(keyed(desk))


@pytest.mark.parametrize("after", [False, True])
def test_a_500_is_kept_whatever_was_done(desk: Desk, after: bool) -> None:
    break_down(desk, 500, after=after)
    said = keyed(desk)
    assert (said.status, said.error["type"], is_replay(said)) == (500, "api_error", True)
    assert charges(desk) == after


@pytest.mark.parametrize("status", [401, 409, 429])
def test_limits_and_conflicts_are_never_kept(desk: Desk, status: int) -> None:
    break_down(desk, status, after=False)
    assert keyed(desk).status == 200


@pytest.mark.parametrize("lives", ["honoured", "expires"])
def test_a_key_is_forgotten_after_24_hours_where_the_cell_says_so(lives: str) -> None:
    desk = Desk(f"{lives}.authoritative.prompt")
    keyed(desk)
    desk.pass_s(DAY_S)
    assert is_replay(keyed(desk))
    desk.pass_s(1)
    assert is_replay(keyed(desk)) == (lives == "honoured")
    assert charges(desk) == (1 if lives == "honoured" else 2)


def test_a_provider_that_ignores_keys_does_everything_again_and_still_says_the_key() -> None:
    desk = Desk("ignored.authoritative.prompt")
    keyed(desk)
    keyed(desk)
    assert charges(desk) == 2
    assert {event.data["key"] for event in desk.journal.events if event.kind == "effect"} == {"k-1"}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_key_means_nothing_on_questions_and_deletions(desk: Desk, method: str) -> None:
    path = "/v1/customers/" + desk.post("/v1/customers").data["id"]
    assert desk.ask(method, path, idempotency_key="k-1").status == 200
    assert keyed(desk).status == 200
    assert not is_replay(desk.ask(method, path, idempotency_key="k-1"))


def test_a_key_has_at_most_255_characters(desk: Desk) -> None:
    assert keyed(desk, key="k" * 255).status == 200
    assert keyed(desk, key="k" * 256).status == 400


def test_events_say_the_key_so_that_they_can_be_looked_up_by_it(desk: Desk) -> None:
    keyed(desk, key="k-7")
    events = desk.get("/v1/events", {"type": "payment_intent.succeeded"}).data["data"]
    assert [event["request"]["idempotency_key"] for event in events] == ["k-7"]


# The second generation.


@pytest.fixture
def resuming() -> Desk:
    return Desk("expires.authoritative.prompt", "v2")


def test_resumed_success_is_answered_as_it_is_by_now(resuming: Desk) -> None:
    intent = keyed(resuming).data["id"]
    resuming.post(f"/v1/payment_intents/{intent}", {"description": "changed"})
    again = keyed(resuming)
    assert (again.data["id"], again.data["description"]) == (intent, "changed")
    assert charges(resuming) == 1


def test_failed_work_is_done_again_on_what_was_made(resuming: Desk) -> None:
    declined = keyed(resuming, DECLINED).error["payment_intent"]["id"]
    assert keyed(resuming, DECLINED).error["payment_intent"]["id"] == declined
    assert resuming.kinds().count("payment_intent.created") == 1
    assert resuming.kinds().count("charge.failed") == 2


@pytest.mark.parametrize("after", [False, True])
def test_after_a_500_the_work_goes_on_and_is_done_once(resuming: Desk, after: bool) -> None:
    break_down(resuming, 500, after=after)
    again = keyed(resuming)
    assert (again.status, again.data["status"]) == (200, "succeeded")
    assert charges(resuming) == 1
    assert len(list(resuming.account.records.newest_first("payment_intent"))) == 1


def test_each_kind_of_change_can_be_resumed_without_being_done_twice(resuming: Desk) -> None:
    held = keyed(resuming, {**PAY, "capture_method": "manual"}, "k-a").data["id"]
    for _ in range(2):
        assert keyed(resuming, {}, "k-b", f"/v1/payment_intents/{held}/capture").data["status"] == "succeeded"
    for _ in range(2):
        assert keyed(resuming, {"payment_intent": held}, "k-c", "/v1/refunds").data["amount"] == 1000
    other = keyed(resuming, {**PAY, "capture_method": "manual"}, "k-d").data["id"]
    for _ in range(2):
        assert keyed(resuming, {}, "k-e", f"/v1/payment_intents/{other}/cancel").data["status"] == "canceled"
    made = {keyed(resuming, {}, "k-f", "/v1/customers").data["id"] for _ in range(2)}
    method = {
        keyed(resuming, {"type": "card", "card": {"token": "tok_visa"}}, "k-g", "/v1/payment_methods").data["id"]
        for _ in "ab"
    }
    assert len(made) == len(method) == 1
    for _ in range(2):
        gone = resuming.ask("DELETE", f"/v1/customers/{made.pop() if made else 'cus_00000001'}", idempotency_key="k-h")
        assert gone.data["deleted"] is True
    assert [action for action, _, _ in resuming.effects()] == [
        *("authorize", "capture", "refund", "authorize", "authorization.cancel"),
        *("customer.create", "customer.delete"),
    ]


def test_a_resumed_confirmation_is_not_made_twice(resuming: Desk) -> None:
    intent = resuming.post(
        "/v1/payment_intents", {"amount": 5, "currency": "eur", "payment_method": "pm_card_visa"}
    ).data["id"]
    for _ in range(2):
        assert keyed(resuming, {}, "k-a", f"/v1/payment_intents/{intent}/confirm").data["status"] == "succeeded"
    assert charges(resuming) == 1


def test_a_key_of_the_second_generation_lives_30_days_and_belongs_to_one_request(resuming: Desk) -> None:
    keyed(resuming)
    resuming.pass_s(30 * DAY_S)
    assert keyed(resuming, {**PAY, "amount": 1}).error["type"] == "idempotency_error"
    keyed(resuming)
    assert charges(resuming) == 1
    resuming.pass_s(1)
    keyed(resuming)
    assert charges(resuming) == 2
