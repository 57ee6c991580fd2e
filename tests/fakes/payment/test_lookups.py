"""Lists, searches, events and expansion: what can be found again, when, and by what."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.payment.lookups import query
from fakes.payment.refusals import StripeRefusal
from tests.fakes.payment.customer import Desk

INTENTS = "/v1/payment_intents"


def ids(said: Any) -> list[str]:
    return [each["id"] for each in said.data["data"]]


def test_a_list_shows_at_once_what_was_made_newest_first(desk: Desk) -> None:
    made = [desk.pay()["id"] for _ in range(3)]
    page = desk.get(INTENTS)
    assert ids(page) == made[::-1]
    assert (page.data["object"], page.data["url"], page.data["has_more"]) == ("list", INTENTS, False)


def test_pages_follow_one_another_in_both_directions(desk: Desk) -> None:
    made = [desk.pay()["id"] for _ in range(5)][::-1]
    first = desk.get(INTENTS, {"limit": 2})
    assert (ids(first), first.data["has_more"]) == (made[:2], True)
    second = desk.get(INTENTS, {"limit": 2, "starting_after": made[1]})
    assert (ids(second), second.data["has_more"]) == (made[2:4], True)
    last = desk.get(INTENTS, {"limit": 2, "starting_after": made[3]})
    assert (ids(last), last.data["has_more"]) == (made[4:], False)
    back = desk.get(INTENTS, {"limit": 2, "ending_before": made[4]})
    assert (ids(back), back.data["has_more"]) == (made[2:4], True)
    assert ids(desk.get(INTENTS, {"limit": 5, "ending_before": made[2]})) == made[:2]


def test_ten_are_shown_unless_asked_otherwise_and_a_hundred_at_most(desk: Desk) -> None:
    for _ in range(11):
        desk.post("/v1/customers")
    page = desk.get("/v1/customers")
    assert (len(ids(page)), page.data["has_more"]) == (10, True)
    for limit in (0, 101, "x"):
        assert desk.get("/v1/customers", {"limit": limit}).error["param"] == "limit"


@pytest.mark.parametrize("cursor", ["pi_00000099", "cus_00000001", "nonsense", "pi_x"])
def test_a_cursor_that_is_no_such_object_is_refused(desk: Desk, cursor: str) -> None:
    desk.pay()
    for name in ("starting_after", "ending_before"):
        said = desk.get(INTENTS, {name: cursor})
        assert (said.status, said.error["param"]) == (400, name)


def test_lists_are_narrowed_by_customer_intent_charge_and_time(desk: Desk) -> None:
    customer = desk.post("/v1/customers", {"email": "ann@shop.example"}).data["id"]
    first = desk.pay(customer=customer)
    desk.pass_s(100)
    second = desk.pay()
    assert ids(desk.get(INTENTS, {"customer": customer})) == [first["id"]]
    assert ids(desk.get(INTENTS, {"created": {"gt": first["created"]}})) == [second["id"]]
    assert ids(desk.get(INTENTS, {"created": {"gte": first["created"], "lt": second["created"]}})) == [first["id"]]
    assert ids(desk.get(INTENTS, {"created": second["created"]})) == [second["id"]]
    assert ids(desk.get("/v1/charges", {"payment_intent": second["id"]})) == [second["latest_charge"]]
    refund = desk.post("/v1/refunds", {"payment_intent": first["id"], "amount": 1}).data["id"]
    assert ids(desk.get("/v1/refunds", {"payment_intent": first["id"]})) == [refund]
    assert ids(desk.get("/v1/refunds", {"charge": second["latest_charge"]})) == []
    assert ids(desk.get("/v1/customers", {"email": "ann@shop.example"})) == [customer]
    assert desk.get(INTENTS, {"metadata": {"operation": "x"}}).error["code"] == "parameter_unknown"


def test_a_search_finds_by_metadata_what_a_list_cannot_but_later(desk: Desk) -> None:
    intent = desk.pay(metadata={"operation": "bill"})["id"]
    asked = {"query": "metadata['operation']:'bill' AND status:'succeeded'"}
    assert ids(desk.get(f"{INTENTS}/search", asked)) == []
    desk.pass_s(60)
    found = desk.get(f"{INTENTS}/search", asked)
    assert (ids(found), found.data["object"]) == ([intent], "search_result")


def test_a_search_shows_each_object_as_it_was(desk: Desk) -> None:
    held = desk.pay(capture_method="manual")["id"]
    desk.pass_s(60)
    desk.post(f"{INTENTS}/{held}/capture")
    (seen,) = desk.get(f"{INTENTS}/search", {"query": "amount>0"}).data["data"]
    assert seen["status"] == "requires_capture"
    desk.pass_s(60)
    (seen,) = desk.get(f"{INTENTS}/search", {"query": "amount>0"}).data["data"]
    assert seen["status"] == "succeeded"


def test_pages_of_a_search_are_named_by_the_one_before(desk: Desk) -> None:
    made = [desk.post("/v1/customers", {"name": "Ann"}).data["id"] for _ in range(3)][::-1]
    desk.pass_s(60)
    first = desk.get("/v1/customers/search", {"query": "name:'ann'", "limit": 2})
    assert (ids(first), first.data["has_more"]) == (made[:2], True)
    second = desk.get("/v1/customers/search", {"query": "name:'ann'", "limit": 2, "page": first.data["next_page"]})
    assert (ids(second), second.data["next_page"]) == (made[2:], None)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("amount:100", True),
        ("amount>100", False),
        ("amount>=100 AND amount<=100", True),
        ("amount<100 OR currency:'EUR'", True),
        ("-currency:'eur'", False),
        ('metadata["order"]:"A-1"', True),
        ("metadata['order']~'a-'", True),
        ("metadata['none']:null", True),
        ("-metadata['order']:null", True),
        ("status:'succeeded' and customer:null", True),
        ("status:'succeeded' status:'canceled'", False),
        ("metadata['quote']:'it\\'s'", True),
    ],
)
def test_a_query_is_a_test_of_objects(text: str, fits: bool) -> None:
    seen = {
        "amount": 100,
        "currency": "eur",
        "customer": None,
        "status": "succeeded",
        "created": 5,
        "metadata": {"order": "A-1", "quote": "it's"},
    }
    assert query("payment_intent", text)(seen) is fits


@pytest.mark.parametrize(
    "text",
    [
        *(" ", "amount", "amount:'x'", "amount:", "colour:'red'", "metadata:'x'", "status['a']:'x'", "status>'a'"),
        *(
            "amount:1 AND status:'a' OR amount:2",
            "amount:1 AND",
            "status:'open",
            "amount:null",
            "amount:1 " * 11,
            "x" * 1001,
        ),
        *("status~null", "(amount:1)", "\x00"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(StripeRefusal) as refused:
        query("payment_intent", text)
    assert (refused.value.status, refused.value.param) == (400, "query")


def test_events_tell_what_happened_and_are_listed_for_30_days(desk: Desk) -> None:
    intent = desk.pay()["id"]
    (event,) = desk.get("/v1/events", {"type": "payment_intent.succeeded"}).data["data"]
    assert (event["data"]["object"]["id"], event["request"]["id"]) == (intent, "req_1")
    assert desk.get(f"/v1/events/{event['id']}").data == event
    both = desk.get("/v1/events", {"types": ["charge.succeeded", "payment_intent.created"]})
    assert len(ids(both)) == 2
    desk.pass_s(30 * 24 * 3600 + 1)
    assert ids(desk.get("/v1/events")) == []


def test_an_events_object_is_as_it_was(desk: Desk) -> None:
    held = desk.pay(capture_method="manual")["id"]
    desk.post(f"{INTENTS}/{held}/capture")
    (event,) = desk.get("/v1/events", {"type": "payment_intent.amount_capturable_updated"}).data["data"]
    assert event["data"]["object"]["status"] == "requires_capture"


def test_ids_are_expanded_where_they_are_asked_for(desk: Desk) -> None:
    customer = desk.post("/v1/customers", {"email": "ann@shop.example"}).data["id"]
    intent = desk.pay(customer=customer, expand=["latest_charge.customer", "customer", "payment_method"])
    assert intent["latest_charge"]["customer"]["email"] == intent["customer"]["email"] == "ann@shop.example"
    assert intent["payment_method"]["card"]["last4"] == "4242"
    refund = desk.post("/v1/refunds", {"payment_intent": intent["id"], "amount": 5, "expand": ["charge.refunds"]}).data
    assert [each["id"] for each in refund["charge"]["refunds"]["data"]] == [refund["id"]]
    (listed,) = desk.get(INTENTS, {"expand": ["data.latest_charge"]}).data["data"]
    assert listed["latest_charge"]["amount_refunded"] == 5
    assert isinstance(desk.get(f"{INTENTS}/{intent['id']}").data["latest_charge"], str)


@pytest.mark.parametrize("expand", ["colour", "amount", "latest_charge.colour", "customer.customer", "data.customer"])
def test_what_cannot_be_expanded_is_refused_before_anything_is_done(desk: Desk, expand: str) -> None:
    said = desk.post(INTENTS, {"amount": 5, "currency": "eur", "expand": [expand]})
    assert (said.status, said.error["param"]) == (400, "expand")
    assert desk.get(INTENTS).data["data"] == []


def test_an_eventual_account_shows_nothing_of_the_last_seconds() -> None:
    desk = Desk("honoured.eventual.prompt")
    intent = desk.pay()["id"]
    assert ids(desk.get(INTENTS)) == []
    assert desk.get(f"{INTENTS}/{intent}").status == 404
    desk.pass_s(2)
    assert ids(desk.get(INTENTS)) == [intent]


def test_an_account_without_look_ups_says_that_the_key_may_not_read() -> None:
    desk = Desk("honoured.absent.prompt")
    intent = desk.pay()["id"]
    for path in (INTENTS, f"{INTENTS}/{intent}", f"{INTENTS}/search?query=amount>0", "/v1/events"):
        bare, _, asked = path.partition("?")
        assert desk.get(bare, dict([asked.split("=")]) if asked else {}).status == 403


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/payment_intents/pi_9", 404),
        ("GET", "/v1/colours", 404),
        ("GET", "/", 404),
        ("GET", "/v1/payment_intents/pi_9/x/y", 404),
        ("GET", "/v1/payment_intents//confirm", 404),
        ("PUT", "/v1/payment_intents", 404),
        ("DELETE", "/v1/payment_intents/pi_9", 404),
        ("POST", "/v1/payment_intents/pi_9/capture", 404),
        ("GET", "/v1/payment_intents/search", 400),
    ],
)
def test_what_is_not_there_is_said_in_the_apis_form(desk: Desk, method: str, path: str, status: int) -> None:
    said = desk.ask(method, path)
    assert (said.status, said.error["type"]) == (status, "invalid_request_error")
