"""The shipping service over its protocol, asked with httpx."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.shipment.face import ShipmentFake, ShipmentOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from tests.fakes.wire.garbage import fire, shots
from tests.fakes.wire.receiver import receiving
from tests.fakes.wire.way import CUTS, ORDER, Cut, check_cut, outcome_of, seen

S = 1_000_000_000
DAY = 24 * 3600 * S
SECRET = "shippo_test_secret_1"
ONE = {"service": "standard", "reference": "ord-1", "to": {"name": "Eve Secretperson", "zip": "1000"}}
OPTIONS = ShipmentOptions(api_key=SECRET)
ACCEPTED = OPTIONS.model_copy(update={"purchase": "accepted"})
KEYED = {"idempotency-key": "k-1", "x-operation": "order.ship"}


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted(ShipmentFake, OPTIONS, clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def accepting() -> Iterator[Hosted]:
    with Hosted(ShipmentFake, ACCEPTED, clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def client(hosted: Hosted) -> Iterator[httpx.Client]:
    with client_of(hosted) as it:
        yield it


def client_of(hosted: Hosted) -> httpx.Client:
    headers = {"authorization": f"Bearer {SECRET}"}
    return httpx.Client(base_url=hosted.places["http"].url, trust_env=False, headers=headers)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def buy(client: httpx.Client, key: str = "k-1", **more: Any) -> str:
    answer = client.post("/labels", json={**ONE, **more}, headers={"idempotency-key": key})
    assert answer.status_code in (201, 202), answer.text
    return str(answer.json()["id"])


def label(client: httpx.Client, id_: str = "shipment-1") -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/labels/{id_}").json()
    return found


def spent(client: httpx.Client) -> tuple[int, int]:
    balance = client.get("/balance").json()
    return balance["spent"], balance["refunded"]


def test_the_same_key_buys_one_label_and_says_that_it_replays(hosted: Hosted, client: httpx.Client) -> None:
    first, again = (client.post("/labels", json=ONE, headers=KEYED) for _ in range(2))
    assert first.json() == again.json()
    assert (first.headers.get("idempotent-replayed"), again.headers.get("idempotent-replayed")) == (None, "true")
    assert spent(client) == (750, 0)
    assert len(hosted.entries("effect")) == 1
    other = client.post("/labels", json={**ONE, "to": {}}, headers=KEYED)
    assert code(other) == (400, "key-reused")


def test_a_purchase_without_a_key_is_refused_where_keys_are_required(client: httpx.Client) -> None:
    assert code(client.post("/labels", json=ONE)) == (400, "key-required")
    assert spent(client) == (0, 0)


def test_without_keys_every_purchase_spends_money() -> None:
    options = OPTIONS.model_copy(update={"is_key_required": False})
    with Hosted(ShipmentFake, options) as hosted, client_of(hosted) as client:
        ids = {client.post("/labels", json=ONE).json()["id"] for _ in range(2)}
        assert len(ids) == 2
        assert spent(client) == (1500, 0)


def test_a_lost_purchase_is_found_by_its_reference(hosted: Hosted, client: httpx.Client) -> None:
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.ReadError):
        buy(client)
    found = client.get("/labels", params={"reference": "ord-1"}).json()["labels"]
    assert [each["status"] for each in found] == ["purchased"]
    assert not client.get("/labels", params={"reference": "ord-2"}).json()["labels"]
    assert buy(client) == found[0]["id"]
    assert len(hosted.entries("hook-fired")) == len(hosted.entries("effect")) == 1


def test_a_label_without_a_reference_is_found_under_its_id(hosted: Hosted, client: httpx.Client) -> None:
    id_ = buy(client, reference="")
    assert buy(client, reference="") == id_
    assert client.get("/labels", params={"reference": id_}).json()["labels"][0]["id"] == id_
    assert hosted.entries("effect")[0].data["target"] == id_


def test_an_accepted_purchase_spends_money_when_it_settles(accepting: Hosted) -> None:
    with client_of(accepting) as client:
        answer = client.post("/labels", json=ONE, headers=KEYED)
        assert (answer.status_code, answer.json()["status"]) == (202, "queued")
        poll = answer.json()["poll_url"]
        assert client.get(poll).json()["label"] is None
        assert spent(client) == (0, 0)
        accepting.advance(5 * S)
        (effect,) = accepting.wait_for("effect")
        assert effect.data["operation"] == "order.ship"
        assert effect.call == accepting.entries("arrived")[0].call
        assert client.get(poll).json()["label"]["tracking_code"]
        assert spent(client) == (750, 0)
        again = client.post("/labels", json=ONE, headers=KEYED)
        assert (again.status_code, again.json()["id"]) == (202, "shipment-1")


def test_an_accepted_purchase_may_fail(accepting: Hosted) -> None:
    with client_of(accepting) as client:
        accepting.arm("settle what=label.buy = fail")
        buy(client)
        accepting.advance(5 * S)
        accepting.wait_for("hook-fired")
        assert client.get("/purchases/shipment-1").json()["status"] == "failed"
        assert spent(client) == (0, 0)
        assert code(client.post("/labels/shipment-1/void")) == (409, "label-failed")
        assert not accepting.entries("effect")


def test_money_that_is_not_there_is_not_spent() -> None:
    options = OPTIONS.model_copy(update={"funds": 1000})
    with Hosted(ShipmentFake, options) as hosted, client_of(hosted) as client:
        buy(client)
        refused = client.post("/labels", json=ONE, headers={"idempotency-key": "k-2"})
        assert code(refused) == (402, "declined")
        assert len(hosted.entries("effect")) == 1


def test_a_void_is_submitted_and_later_refunded_for_ever(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    answer = client.post("/labels/shipment-1/void", headers={"x-operation": "undo.order.ship"})
    assert (answer.status_code, answer.json()["refund_status"]) == (202, "submitted")
    assert label(client)["status"] == "purchased"
    assert code(client.post("/labels/shipment-1/void")) == (409, "refund-submitted")
    hosted.advance(DAY)
    hosted.wait_for("refund-refunded")
    assert (label(client)["status"], label(client)["refund_status"]) == ("voided", "refunded")
    assert spent(client) == (750, 750)
    assert code(client.post("/labels/shipment-1/void")) == (409, "already-undone")
    effect = hosted.entries("effect")[-1].data
    assert (effect["action"], effect["undoes"], effect["operation"]) == ("label.void", "shipment-1", "undo.order.ship")


def test_a_rejected_refund_may_be_asked_for_again(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    hosted.arm("settle what=label.void = fail")
    client.post("/labels/shipment-1/void")
    hosted.advance(DAY)
    hosted.wait_for("refund-rejected")
    assert (label(client)["status"], label(client)["refund_status"]) == ("purchased", "rejected")
    assert client.post("/labels/shipment-1/void").status_code == 202
    hosted.advance(DAY)
    hosted.wait_for("refund-refunded")
    assert spent(client) == (750, 750)


def test_an_early_refund_is_wrongly_rejected_and_mends_itself() -> None:
    options = OPTIONS.model_copy(update={"early_void_ns": 3600 * S})
    with Hosted(ShipmentFake, options, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        buy(client)
        client.post("/labels/shipment-1/void")
        hosted.advance(DAY)
        hosted.wait_for("refund-rejected")
        client.post("/labels/shipment-1/void")
        hosted.advance(DAY)
        hosted.wait_for("refund-refunded")


def test_a_label_that_cost_nothing_has_no_refund(hosted: Hosted, client: httpx.Client) -> None:
    buy(client, service="carrier-paid")
    for _ in range(2):
        answer = client.post("/labels/shipment-1/void")
        assert (answer.status_code, answer.json()["refund_status"]) == (200, "not_applicable")
    assert label(client)["status"] == "purchased"
    assert len(hosted.entries("effect")) == 1


def test_after_a_scan_no_refund_is_possible(client: httpx.Client) -> None:
    buy(client)
    assert client.post("/test/scans", json={"label": "shipment-1"}).json()["tracking_status"] == "in_transit"
    refused = client.post("/labels/shipment-1/void")
    assert code(refused) == (409, "label-scanned")
    assert spent(client) == (750, 0)


def test_a_scan_comes_before_the_void(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    hosted.arm("before-commit what=label.void = compete:scan")
    assert code(client.post("/labels/shipment-1/void")) == (409, "label-scanned")
    assert len(hosted.entries("scanned")) == len(hosted.entries("hook-fired")) == 1


def test_a_scan_while_the_refund_is_on_its_way_rejects_it(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    buy(client, key="k-2")
    client.post("/labels/shipment-2/void")
    hosted.arm("settle = compete:scan")
    hosted.advance(DAY)
    hosted.wait_for("refund-rejected")
    assert label(client, "shipment-2")["refund_reason"] == "the carrier has scanned it"
    assert label(client, "shipment-1")["tracking_status"] == "pre_transit"
    assert code(client.post("/labels/shipment-2/void")) == (409, "label-scanned")


def test_somebody_else_voids_first(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    hosted.arm("before-commit what=label.void = compete:void")
    assert code(client.post("/labels/shipment-1/void")) == (409, "already-undone")
    assert hosted.entries("effect")[-1].data["operation"] == "outside"
    assert label(client)["refund_status"] == "refunded"


def test_somebody_else_voids_while_the_refund_is_on_its_way(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    client.post("/labels/shipment-1/void")
    hosted.arm("settle = compete:void")
    hosted.advance(DAY)
    hosted.wait_for("refund-refunded")
    assert spent(client) == (750, 750)
    assert (label(client)["status"], label(client)["refund_status"]) == ("voided", "refunded")


def test_a_competitor_who_can_do_nothing_is_noted(hosted: Hosted, client: httpx.Client) -> None:
    hosted.arm("before-commit = compete:scan")
    hosted.arm("before-commit#2 = compete:nobody")
    buy(client)
    buy(client, key="k-2")
    assert len(hosted.entries("hook-failed")) == 2


def test_no_parcel_travels_with_a_label_that_does_not_stand(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    client.post("/labels/shipment-1/void")
    hosted.advance(DAY)
    hosted.wait_for("refund-refunded")
    assert code(client.post("/test/scans", json={"label": "shipment-1"})) == (409, "not-purchased")
    assert code(client.post("/test/scans", json={"label": "shipment-7"})) == (404, "not-found")


def test_a_stale_read_shows_the_past(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    hosted.advance(10 * S)
    client.post("/test/scans", json={"label": "shipment-1"})
    hosted.arm("readx2 = stale:5s")
    assert label(client)["tracking_status"] == "pre_transit"
    assert client.get("/labels").json()["labels"][0]["tracking"] == []
    assert label(client)["tracking_status"] == "in_transit"


def test_an_eventual_look_up_lags_and_an_absent_one_is_no_method() -> None:
    eventual = OPTIONS.model_copy(update={"cell": "honoured.eventual.prompt"})
    with Hosted(ShipmentFake, eventual, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        hosted.advance(10 * S)
        buy(client)
        assert not client.get("/labels", params={"reference": "ord-1"}).json()["labels"]
        hosted.advance(2 * S)
        assert client.get("/labels", params={"reference": "ord-1"}).json()["labels"]
    absent = OPTIONS.model_copy(update={"cell": "honoured.absent.prompt"})
    with Hosted(ShipmentFake, absent) as hosted, client_of(hosted) as client:
        assert code(client.get("/labels")) == (405, "method-not-allowed")


def test_a_key_is_free_again_after_a_day_where_it_expires() -> None:
    options = OPTIONS.model_copy(update={"cell": "expires.authoritative.prompt"})
    with Hosted(ShipmentFake, options, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        assert buy(client) == buy(client) == "shipment-1"
        hosted.advance(DAY + 1)
        assert buy(client) == "shipment-2"


def test_a_key_in_flight_is_refused(hosted: Hosted, client: httpx.Client) -> None:
    hook = hosted.arm("before-commit = hang")
    first = threading.Thread(target=lambda: client_of(hosted).post("/labels", json=ONE, headers=KEYED))
    first.start()
    hosted.wait_until_hanging(hook)
    assert code(client.post("/labels", json=ONE, headers=KEYED)) == (409, "key-in-use")
    hosted.release(hook)
    first.join(10)
    assert spent(client) == (750, 0)


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_purchase_cut_on_its_way(hosted: Hosted, cut: Cut) -> None:
    before = seen(hosted)
    hosted.arm(cut.hook)
    sender = {**KEYED, "authorization": f"ShippoToken {SECRET}"}
    check_cut(hosted, cut, outcome_of(f"{hosted.places['http'].url}/labels", ONE, sender), before)


def test_the_points_are_crossed_in_their_order_and_a_replay_crosses_no_commit(
    hosted: Hosted, client: httpx.Client
) -> None:
    for point in ORDER:
        hosted.arm(f"{point}x2 = pass")
    buy(client)
    buy(client)
    crossed = [entry.data["point"] for entry in hosted.wait_for("hook-fired", 2 * len(ORDER) - 2)]
    assert crossed == [*ORDER, *(point for point in ORDER if "commit" not in point)]


def test_who_has_not_the_key_is_told_so_and_nothing_of_it_is_kept(hosted: Hosted) -> None:
    with httpx.Client(base_url=hosted.places["http"].url, trust_env=False) as stranger:
        for given in ("", "Bearer wrong_secret_value", f"Basic {SECRET}"):
            headers = {"authorization": given, "idempotency-key": "k"}
            assert code(stranger.post("/labels", json=ONE, headers=headers)) == (401, "unauthorized")
            assert stranger.get("/labels", headers=headers).status_code == 401
    assert not hosted.entries("effect")


def test_no_secret_and_no_address_gets_into_journal_or_view(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    client.get("/labels/shipment-1")
    client.post("/labels", content=json.dumps({**ONE, "service": [SECRET]}), headers=KEYED)
    said = json.dumps([entry._asdict() for entry in hosted.entries()]) + json.dumps(hosted.call(hosted.fake.view))
    assert SECRET not in said
    assert "Secretperson" not in said


def test_tracking_events_come_twice_and_late(client: httpx.Client) -> None:
    with receiving() as receiver:
        options = OPTIONS.model_copy(update={"subscribers": (receiver.url,)})
        with Hosted(ShipmentFake, options, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as caller:
            buy(caller)
            assert receiver.types(1) == ["label.purchased"]
            hosted.arm("event what=tracking.updated = late:60s")
            caller.post("/test/scans", json={"label": "shipment-1", "status": "in_transit"})
            hosted.wait_for("hook-fired")
            hosted.arm("event#1 what=tracking.updated = twice")
            caller.post("/test/scans", json={"label": "shipment-1", "status": "delivered"})
            receiver.wait_for(3)
            hosted.wait_for("event-delivered", 2)
            hosted.advance(60 * S)
            told = receiver.wait_for(4)[1:]
            assert [each["data"]["label"]["tracking_status"] for each in told] == [
                "delivered",
                "delivered",
                "in_transit",
            ]
            assert told[0]["id"] == told[1]["id"] != told[2]["id"]


@pytest.mark.slow
def test_a_restart_loses_nothing_and_what_is_open_settles(tmp_path: Path) -> None:
    with (
        Hosted(ShipmentFake, ACCEPTED, folder=tmp_path, clock=Clock(is_manual=True)) as hosted,
        client_of(hosted) as client,
    ):
        buy(client)
        hosted.advance(5 * S)
        hosted.wait_for("effect")
        client.post("/labels/shipment-1/void")
        buy(client, key="k-2", reference="ord-2")
        before = hosted.call(hosted.fake.view)
    clock = Clock(is_manual=True)
    clock.advance_ns(5 * S)
    with Hosted(ShipmentFake, ACCEPTED, folder=tmp_path, clock=clock) as hosted, client_of(hosted) as client:
        assert hosted.call(hosted.fake.view) == before
        assert buy(client) == "shipment-1"
        hosted.advance(DAY)
        hosted.wait_for("refund-refunded")
        hosted.wait_for("effect", 3)
        assert label(client, "shipment-3")["status"] == "purchased"
        assert spent(client) == (1500, 750)


def test_a_snapshot_brings_the_old_state_back_and_old_timers_do_nothing(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    kept, before = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    client.post("/labels/shipment-1/void")
    hosted.call(lambda: hosted.desk.restore(kept))
    assert hosted.call(hosted.fake.view) == before
    hosted.advance(DAY)
    assert client.post("/labels/shipment-1/void").status_code == 202
    hosted.advance(DAY)
    hosted.wait_for("refund-refunded")
    assert spent(client) == (750, 750)
    assert len(hosted.entries("refund-refunded")) == 1


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with Hosted(ShipmentFake, OPTIONS, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
            answers = [client.post("/labels", json=ONE, headers=KEYED), client.post("/labels/shipment-1/void")]
            return [answer.content for answer in [*answers, client.get("/labels"), client.get("/balance")]]

    assert story() == story()


def test_an_entry_names_what_a_client_needs(hosted: Hosted) -> None:
    env = hosted.call(hosted.host.entry)["env"]
    assert env == {"SHIPMENT_API_BASE": hosted.places["http"].url, "SHIPMENT_API_KEY": SECRET}


@pytest.mark.slow
def test_garbage_is_answered_and_breaks_nothing(hosted: Hosted, client: httpx.Client) -> None:
    buy(client)
    valid = [
        ("POST", "/labels", ONE),
        ("POST", "/labels/shipment-1/void", {"a": 1}),
        ("POST", "/test/scans", {"label": "shipment-1", "status": "delivered"}),
        ("GET", "/labels", {"a": 1}),
        ("GET", "/labels/shipment-1", {"a": 1}),
        ("GET", "/purchases/shipment-1", {"a": 1}),
    ]
    sender = [(b"authorization", b"Bearer " + SECRET.encode()), (b"idempotency-key", b"k-2")]
    front = Front(hosted.desk, hosted.fake.application(), hosted.fake)  # type: ignore[attr-defined, arg-type]
    statuses = fire(hosted, front, shots(11, 3000, valid, sender))
    assert not hosted.entries("bug")
    assert sum(statuses.values()) == 3000
    assert 500 not in statuses
    assert 0 not in statuses
    assert statuses[200] > 100
    assert statuses[400] > 200
    assert buy(client, key="after")
