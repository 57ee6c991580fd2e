"""The inventory over its protocol, asked with httpx."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.inventory.face import InventoryFake, InventoryOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from tests.fakes.wire.garbage import fire, shots
from tests.fakes.wire.way import CUTS, ORDER, Cut, check_cut, outcome_of, seen

S = 1_000_000_000
ONE = {"id": "r-1", "sku": "cup", "quantity": 3}
OPTIONS = InventoryOptions(stock={"cup": 10, "mug": 2})


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted(InventoryFake, OPTIONS, clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def client(hosted: Hosted) -> Iterator[httpx.Client]:
    with client_of(hosted) as it:
        yield it


def client_of(hosted: Hosted) -> httpx.Client:
    return httpx.Client(base_url=hosted.places["http"].url, trust_env=False)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def level(client: httpx.Client, sku: str = "cup") -> tuple[int, int, int]:
    found = client.get(f"/stock/{sku}").json()
    return found["on_hand"], found["held"], found["available"]


def state(client: httpx.Client, id_: str = "r-1") -> Any:
    return client.get(f"/reservations/{id_}").json()["state"]


def test_a_reservation_is_held_committed_restocked_and_released(client: httpx.Client) -> None:
    assert client.post("/reservations", json=ONE).status_code == 201
    assert level(client) == (10, 3, 7)
    assert client.post("/reservations/r-1/commit").json()["state"] == "committed"
    assert level(client) == (7, 0, 7)
    assert client.post("/reservations/r-1/restock").json()["state"] == "held"
    assert client.post("/reservations/r-1/release").json()["state"] == "released"
    assert level(client) == (10, 0, 10)


def test_the_same_reservation_and_the_same_commit_again_change_nothing(hosted: Hosted, client: httpx.Client) -> None:
    first, again = (client.post("/reservations", json=ONE) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    for _ in range(2):
        assert client.post("/reservations/r-1/commit").status_code == 200
    assert [entry.data["action"] for entry in hosted.entries("effect")] == ["reserve", "stock.commit"]


def test_an_id_names_one_reservation_for_ever(client: httpx.Client) -> None:
    client.post("/reservations", json=ONE)
    assert code(client.post("/reservations", json={**ONE, "quantity": 4})) == (409, "already-exists")
    client.post("/reservations/r-1/release")
    assert code(client.post("/reservations", json=ONE)) == (409, "reservation-closed")
    assert level(client) == (10, 0, 10)


def test_stock_never_falls_below_zero(client: httpx.Client) -> None:
    refused = client.post("/reservations", json={**ONE, "quantity": 11})
    assert code(refused) == (409, "insufficient-stock")
    assert refused.json()["error"]["available"] == 10
    client.post("/reservations", json={**ONE, "quantity": 10})
    assert code(client.post("/stock/cup/adjust", json={"delta": -1})) == (409, "insufficient-stock")
    lowered = {"quantity": 9, "compare_quantity": 10}
    assert code(client.put("/stock/cup", json=lowered)) == (409, "insufficient-stock")
    assert level(client) == (10, 10, 0)


def test_a_set_is_refused_with_the_quantity_there_is_when_it_is_not_the_expected_one(client: httpx.Client) -> None:
    refused = client.put("/stock/cup", json={"quantity": 20, "compare_quantity": 9})
    assert code(refused) == (409, "quantity-changed")
    assert refused.json()["error"]["quantity"] == 10
    assert client.put("/stock/cup", json={"quantity": 20, "compare_quantity": 10}).json()["on_hand"] == 20


def test_a_set_whose_answer_was_lost_conflicts_with_itself(hosted: Hosted, client: httpx.Client) -> None:
    hosted.arm("after-commit what=stock.set = reset")
    wanted = {"quantity": 20, "compare_quantity": 10}
    with pytest.raises(httpx.ReadError):
        client.put("/stock/cup", json=wanted)
    refused = client.put("/stock/cup", json=wanted)
    assert code(refused) == (409, "quantity-changed")
    assert refused.json()["error"]["quantity"] == 20
    assert len(hosted.entries("hook-fired")) == len(hosted.entries("effect")) == 1


def test_a_set_makes_an_article_that_was_not_there(client: httpx.Client) -> None:
    assert code(client.get("/stock/jar")) == (404, "not-found")
    assert code(client.post("/reservations", json={**ONE, "sku": "jar"})) == (404, "not-found")
    client.put("/stock/jar", json={"quantity": 4, "ignore_compare": True})
    assert level(client, "jar") == (4, 0, 4)


def test_an_adjustment_sent_twice_is_done_twice_unless_it_has_a_key(hosted: Hosted, client: httpx.Client) -> None:
    for _ in range(2):
        client.post("/stock/cup/adjust", json={"delta": -1})
    assert level(client)[0] == 8
    answers = [client.post("/stock/cup/adjust", json={"delta": -1}, headers={"idempotency-key": "k"}) for _ in "ab"]
    assert level(client)[0] == 7
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true"]
    other = client.post("/stock/cup/adjust", json={"delta": -2}, headers={"idempotency-key": "k"})
    assert code(other) == (400, "key-reused")


def test_a_batch_says_for_each_what_became_of_it(client: httpx.Client) -> None:
    wanted = [ONE, {**ONE, "id": "r-2", "sku": "mug"}, {**ONE, "id": "r-3", "sku": "no"}, {**ONE, "id": "r-4"}]
    answer = client.post("/reservations/batch", json={"reservations": wanted})
    assert answer.status_code == 207
    assert [(each["id"], each["status"]) for each in answer.json()["results"]] == [
        ("r-1", 201),
        ("r-2", 409),
        ("r-3", 404),
        ("r-4", 201),
    ]
    again = client.post("/reservations/batch", json={"reservations": wanted}).json()["results"]
    assert [each["status"] for each in again] == [200, 409, 404, 200]
    assert level(client) == (10, 6, 4)


def test_an_atomic_batch_reserves_all_or_nothing(client: httpx.Client) -> None:
    wanted = [{**ONE, "quantity": 6}, {**ONE, "id": "r-2", "quantity": 6}]
    refused = client.post("/reservations/batch", json={"reservations": wanted, "atomic": True})
    assert code(refused) == (409, "batch-refused")
    assert [each["id"] for each in refused.json()["error"]["results"]] == ["r-2"]
    assert level(client) == (10, 0, 10)
    wanted[1]["quantity"] = 4
    assert client.post("/reservations/batch", json={"reservations": wanted, "atomic": True}).status_code == 200
    assert level(client) == (10, 10, 0)


def test_a_batch_does_not_name_an_id_twice(client: httpx.Client) -> None:
    assert code(client.post("/reservations/batch", json={"reservations": [ONE, ONE]})) == (400, "invalid")


def test_a_reservation_expires_and_cannot_be_committed_any_more(hosted: Hosted, client: httpx.Client) -> None:
    client.post("/reservations", json={**ONE, "ttl_s": 60})
    hosted.advance(59 * S)
    assert state(client) == "held"
    hosted.advance(1 * S)
    assert code(client.post("/reservations/r-1/commit")) == (409, "reservation-expired")
    hosted.wait_for("reservation-expired")
    assert level(client) == (10, 0, 10)


def test_an_expiry_that_is_not_swept_keeps_the_stock_and_still_refuses_the_commit(
    hosted: Hosted, client: httpx.Client
) -> None:
    hosted.arm("settle what=expire = fail")
    client.post("/reservations", json={**ONE, "ttl_s": 60})
    hosted.advance(61 * S)
    hosted.wait_for("sweep-failed")
    assert code(client.post("/reservations/r-1/commit")) == (409, "reservation-expired")
    assert level(client) == (10, 3, 7)


def test_a_restock_after_the_time_is_over_is_swept(hosted: Hosted, client: httpx.Client) -> None:
    client.post("/reservations", json={**ONE, "ttl_s": 60})
    client.post("/reservations/r-1/commit")
    hosted.advance(61 * S)
    assert state(client) == "committed"
    assert client.post("/reservations/r-1/restock").json()["state"] == "expired"
    hosted.advance(0)
    hosted.wait_for("reservation-expired")
    assert level(client) == (10, 0, 10)


@pytest.mark.parametrize(
    ("rival", "path", "body", "expected"),
    [
        ("expire", "/reservations/r-1/commit", None, (409, "reservation-expired")),
        ("release", "/reservations/r-1/commit", None, (409, "reservation-released")),
        ("commit", "/reservations/r-1/release", None, (409, "reservation-committed")),
        ("take", "/reservations", {**ONE, "id": "r-2"}, (409, "insufficient-stock")),
    ],
)
def test_somebody_else_comes_first(
    hosted: Hosted, client: httpx.Client, rival: str, path: str, body: Any, expected: tuple[int, str]
) -> None:
    client.post("/reservations", json=ONE)
    hosted.arm(f"before-commit = compete:{rival}")
    assert code(client.post(path, json=body)) == expected
    assert len(hosted.entries("hook-fired")) == 1
    assert not hosted.entries("hook-failed")


def test_a_competitor_who_can_do_nothing_is_noted(hosted: Hosted, client: httpx.Client) -> None:
    for rival in ("expire", "commit", "nobody"):
        hosted.arm(f"before-commit = compete:{rival}")
    for number in range(3):
        client.post("/reservations", json={**ONE, "id": f"r-{number}"})
    assert len(hosted.entries("hook-failed")) == 3


def test_a_stale_read_shows_the_past(hosted: Hosted, client: httpx.Client) -> None:
    client.post("/reservations", json=ONE)
    hosted.advance(10 * S)
    client.post("/reservations/r-1/commit")
    hosted.arm("readx3 = stale:5s")
    assert level(client) == (10, 3, 7)
    assert state(client) == "held"
    assert [each["state"] for each in client.get("/reservations").json()["reservations"]] == ["held"]
    assert state(client) == "committed"


def test_an_eventual_look_up_lags_and_an_absent_one_is_no_method() -> None:
    eventual = OPTIONS.model_copy(update={"cell": "honoured.eventual.prompt"})
    with Hosted(InventoryFake, eventual, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        hosted.advance(10 * S)
        client.post("/reservations", json=ONE)
        assert client.get("/reservations/r-1").status_code == 404
        hosted.advance(2 * S)
        assert state(client) == "held"
    absent = OPTIONS.model_copy(update={"cell": "honoured.absent.prompt"})
    with Hosted(InventoryFake, absent) as hosted, client_of(hosted) as client:
        assert client.get("/stock").status_code == 405


def test_a_request_after_its_deadline_is_refused_in_a_prompt_cell(hosted: Hosted, client: httpx.Client) -> None:
    late = {"x-not-after-ns": str(hosted.call(hosted.desk.clock.now_ns) - 1)}
    assert code(client.post("/reservations", json=ONE, headers=late)) == (408, "expired")
    assert not hosted.entries("effect")


def test_an_effect_carries_operation_target_and_key(hosted: Hosted, client: httpx.Client) -> None:
    client.post("/reservations", json=ONE, headers={"x-operation": "order.hold", "idempotency-key": "k-1"})
    (effect,) = hosted.entries("effect")
    assert {name: effect.data[name] for name in ("action", "target", "operation", "key", "undoes")} == {
        "action": "reserve",
        "target": "r-1",
        "operation": "order.hold",
        "key": "k-1",
        "undoes": None,
    }
    assert effect.call == hosted.entries("arrived")[-1].call


def test_a_key_in_flight_is_refused(hosted: Hosted, client: httpx.Client) -> None:
    hook, keyed = hosted.arm("before-commit = hang"), {"idempotency-key": "k"}
    url = f"{hosted.places['http'].url}/stock/cup/adjust"
    first = threading.Thread(target=outcome_of, args=(url, {"delta": -1}, keyed))
    first.start()
    hosted.wait_until_hanging(hook)
    assert code(client.post("/stock/cup/adjust", json={"delta": -1}, headers=keyed)) == (409, "key-in-use")
    hosted.release(hook)
    first.join(10)
    assert level(client)[0] == 9


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_reservation_cut_on_its_way(hosted: Hosted, cut: Cut) -> None:
    before = seen(hosted)
    hosted.arm(cut.hook)
    outcome = outcome_of(f"{hosted.places['http'].url}/reservations", ONE)
    check_cut(hosted, cut, outcome, before)


def test_the_points_are_crossed_in_their_order(hosted: Hosted, client: httpx.Client) -> None:
    for point in ORDER:
        hosted.arm(f"{point} = pass")
    client.post("/reservations", json=ONE)
    assert [entry.data["point"] for entry in hosted.wait_for("hook-fired", len(ORDER))] == list(ORDER)


def test_a_replay_crosses_no_commit(hosted: Hosted, client: httpx.Client) -> None:
    keyed = {"idempotency-key": "k"}
    client.post("/stock/cup/adjust", json={"delta": 1}, headers=keyed)
    for point in ORDER:
        hosted.arm(f"{point} = pass")
    client.post("/stock/cup/adjust", json={"delta": 1}, headers=keyed)
    hosted.wait_for("responded", 2)
    crossed = [entry.data["point"] for entry in hosted.wait_for("hook-fired", 5)]
    assert crossed == [point for point in ORDER if "commit" not in point]


def test_a_lost_answer_is_found_by_looking(hosted: Hosted, client: httpx.Client) -> None:
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.ReadError):
        client.post("/reservations", json=ONE)
    assert state(client) == "held"
    assert client.post("/reservations", json=ONE).status_code == 200
    assert len(hosted.entries("effect")) == 1


@pytest.mark.slow
def test_a_restart_loses_nothing_and_expiries_go_on(tmp_path: Path) -> None:
    clock = Clock(is_manual=True)
    with Hosted(InventoryFake, OPTIONS, folder=tmp_path, clock=clock) as hosted, client_of(hosted) as client:
        client.post("/reservations", json={**ONE, "ttl_s": 60}, headers={"idempotency-key": "k"})
        client.post("/stock/cup/adjust", json={"delta": 5})
        client.put("/stock/jar", json={"quantity": 4, "ignore_compare": True})
        before = client.get("/stock").json(), client.get("/reservations").json()
    clock = Clock(is_manual=True)
    with Hosted(InventoryFake, OPTIONS, folder=tmp_path, clock=clock) as hosted, client_of(hosted) as client:
        assert (client.get("/stock").json(), client.get("/reservations").json()) == before
        again = client.post("/reservations", json={**ONE, "ttl_s": 60}, headers={"idempotency-key": "k"})
        assert again.headers["idempotent-replayed"] == "true"
        hosted.advance(60 * S)
        hosted.wait_for("reservation-expired")
        assert level(client) == (15, 0, 15)


def test_a_snapshot_brings_the_old_state_back(hosted: Hosted, client: httpx.Client) -> None:
    client.post("/reservations", json=ONE)
    kept, before = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    client.post("/reservations/r-1/commit")
    client.post("/reservations", json={**ONE, "id": "r-2"})
    hosted.call(lambda: hosted.desk.restore(kept))
    assert hosted.call(hosted.fake.view) == before
    hosted.advance(901 * S)
    hosted.wait_for("reservation-expired")
    assert level(client) == (10, 0, 10)


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with Hosted(InventoryFake, OPTIONS, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
            answers = [client.post("/reservations", json=ONE), client.post("/reservations/r-1/commit")]
            answers += [client.post("/stock/cup/adjust", json={"delta": 1}), client.get("/reservations")]
            return [answer.content for answer in answers]

    assert story() == story()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/reservations", b"{", 400),
        ("POST", "/reservations", b'{"id": "r", "sku": "cup", "quantity": true}', 400),
        ("POST", "/reservations", b'{"id": "r", "sku": "cup", "quantity": 1, "more": 1}', 400),
        ("POST", "/reservations", b'{"id": "a/b", "sku": "cup", "quantity": 1}', 400),
        ("PUT", "/stock/cup", b'{"quantity": 1}', 400),
        ("PUT", "/stock/cup", b'{"quantity": 1, "compare_quantity": 1, "ignore_compare": true}', 400),
        ("POST", "/reservations/r-9/commit", b"", 404),
        ("POST", "/reservations/r-9/burn", b"", 404),
        ("GET", "/reservations?state=odd", b"", 400),
        ("GET", "/nowhere", b"", 404),
        ("DELETE", "/stock", b"", 405),
    ],
)
def test_what_cannot_be_understood_is_refused_in_json(
    client: httpx.Client, method: str, path: str, body: bytes, status: int
) -> None:
    answer = client.request(method, path, content=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_an_entry_names_what_a_client_needs(hosted: Hosted) -> None:
    entry = hosted.call(hosted.host.entry)
    assert entry["env"] == {"INVENTORY_API_BASE": hosted.places["http"].url}
    json.dumps(entry)


@pytest.mark.slow
def test_garbage_is_answered_and_breaks_nothing(hosted: Hosted, client: httpx.Client) -> None:
    valid = [
        ("POST", "/reservations", ONE),
        ("POST", "/reservations/batch", {"reservations": [ONE], "atomic": True}),
        ("POST", "/reservations/r-1/commit", {"a": 1}),
        ("POST", "/reservations/r-1/restock", {"a": 1}),
        ("PUT", "/stock/cup", {"quantity": 9, "compare_quantity": 10, "ignore_compare": False}),
        ("POST", "/stock/cup/adjust", {"delta": 1}),
        ("GET", "/reservations", {"a": 1}),
        ("GET", "/stock/cup", {"a": 1}),
    ]
    front = Front(hosted.desk, hosted.fake.application(), hosted.fake)  # type: ignore[attr-defined, arg-type]
    statuses = fire(hosted, front, shots(7, 3000, valid))
    assert not hosted.entries("bug")
    assert sum(statuses.values()) == 3000
    assert 500 not in statuses
    assert 0 not in statuses
    assert statuses[200] > 100
    assert statuses[400] > 500
    assert client.post("/reservations", json={**ONE, "id": "after", "quantity": 1}).status_code == 201
