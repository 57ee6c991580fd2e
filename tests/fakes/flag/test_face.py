"""Feature flags over their protocol, asked with httpx."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.flag.face import FlagFake, FlagOptions
from fakes.wire.fake import Options
from fakes.wire.hosting import Hosted
from harness.model.errors import UsageError
from tests.fakes.wire.plain import S, check_cut_of, check_garbage, code, crossed_by, effects, serving
from tests.fakes.wire.way import CUTS, ORDER, Cut

Served = tuple[Hosted, httpx.Client]
BETA = "/flags/beta"


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(FlagFake) as both:
        yield both


def put(client: httpx.Client, value: Any, path: str = BETA, **headers: str) -> httpx.Response:
    return client.put(path, json={"value": value}, headers={name.replace("_", "-"): h for name, h in headers.items()})


def test_a_flag_is_set_and_read_with_its_version(served: Served) -> None:
    hosted, client = served
    assert put(client, True).status_code == 201
    second = put(client, False, x_operation="switch")
    assert (second.status_code, second.headers["etag"]) == (200, '"2"')
    found = client.get(BETA)
    assert (found.json()["value"], found.json()["version"], found.json()["set_by"]) == (False, 2, "switch")
    assert found.headers["etag"] == '"2"'
    assert effects(hosted) == [("flag.set", "beta", ""), ("flag.set", "beta", "switch")]


@pytest.mark.parametrize("value", [True, 0, 1, -(2**53) + 1, "", "on", "\U0001f600"])
def test_a_value_comes_back_as_what_it_was(served: Served, value: Any) -> None:
    _, client = served
    put(client, value)
    found = client.get(BETA).json()["value"]
    assert (found, type(found)) == (value, type(value))


def test_a_number_is_not_the_boolean_it_looks_like(served: Served) -> None:
    _, client = served
    assert put(client, True).json()["version"] == 1
    assert put(client, 1).json()["version"] == 2


def test_a_set_is_refused_when_the_version_is_another(served: Served) -> None:
    hosted, client = served
    assert code(put(client, True, if_match='"1"')) == (412, "version-changed")
    assert code(put(client, True, if_match="*")) == (412, "version-changed")
    assert put(client, True, if_none_match="*").status_code == 201
    refused = put(client, False, if_none_match="*")
    assert code(refused) == (412, "version-changed")
    assert refused.json()["error"]["version"] == 1
    assert put(client, False, if_match='"1"').json()["version"] == 2
    assert put(client, True, if_match="*").json()["version"] == 3
    assert len(effects(hosted)) == 3


def test_a_set_whose_answer_was_lost_conflicts_with_itself(served: Served) -> None:
    hosted, client = served
    put(client, True)
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.ReadError):
        put(client, False, if_match='"1"', x_operation="switch")
    assert code(put(client, False, if_match='"1"')) == (412, "version-changed")
    found = client.get(BETA).json()
    assert (found["value"], found["set_by"]) == (False, "switch")
    assert len(hosted.entries("hook-fired")) == 1


def test_of_two_who_believe_in_one_version_one_is_refused(served: Served) -> None:
    hosted, client = served
    put(client, True)
    hosted.arm("before-commit = compete:set")
    assert code(put(client, "mine", if_match='"1"')) == (412, "version-changed")
    assert client.get(BETA).json()["value"] is False
    hosted.arm("before-commit = compete:restore")
    assert code(client.post(f"{BETA}/restore", headers={"if-match": '"2"'})) == (412, "version-changed")
    assert client.get(BETA).json()["value"] is True
    assert [operation for _, _, operation in effects(hosted)] == ["", "outside", "outside"]


def test_a_restore_brings_the_value_before_back(served: Served) -> None:
    hosted, client = served
    put(client, True)
    reference = put(client, False).json()["reference"]
    restored = client.post(f"{BETA}/restore", json={"reference": reference}, headers={"x-operation": "undo.switch"})
    assert (restored.json()["value"], restored.json()["version"]) == (True, 3)
    assert hosted.entries("effect")[-1].data["undoes"] == reference
    assert code(client.post(f"{BETA}/restore", json={"reference": reference})) == (409, "already-undone")
    gone = client.post(f"{BETA}/restore").json()
    assert (gone["value"], gone["version"]) == (None, 4)
    assert code(client.get(BETA)) == (404, "not-found")
    assert code(client.post("/flags/other/restore")) == (404, "not-found")


def test_an_evaluation_sees_a_change_later() -> None:
    with serving(FlagFake, FlagOptions(propagation_ms=3000)) as (hosted, client):
        put(client, True)
        assert client.get("/evaluate/beta").json() == {"name": "beta", "value": None, "version": 0}
        hosted.advance(3 * S)
        assert client.get("/evaluate/beta").json() == {"name": "beta", "value": True, "version": 1}
        put(client, False)
        assert client.get(BETA).json()["value"] is False
        assert client.get("/evaluate/beta").json()["value"] is True


def test_an_evaluation_can_be_held_back_by_a_hook(served: Served) -> None:
    hosted, client = served
    put(client, True)
    hosted.advance(10 * S)
    put(client, False)
    hosted.arm("read what=evaluate = stale:1s")
    assert [client.get("/evaluate/beta").json()["value"] for _ in range(2)] == [True, False]


def test_look_ups_are_late_or_absent_as_the_cell_says() -> None:
    with serving(FlagFake, FlagOptions(cell="honoured.eventual.prompt")) as (hosted, client):
        put(client, True)
        assert client.get(BETA).status_code == 404
        assert client.get("/evaluate/beta").json()["value"] is None
        assert client.get("/audit").json()["entries"] == []
        hosted.advance(2 * S)
        assert client.get(BETA).status_code == 200
        assert client.get("/evaluate/beta").json()["value"] is True
    with serving(FlagFake, FlagOptions(cell="honoured.absent.prompt")) as (_, client):
        put(client, True)
        for path in (BETA, "/flags", "/audit"):
            assert code(client.get(path)) == (405, "method-not-allowed")
        assert client.get("/evaluate/beta").json()["value"] is True


def test_the_audit_says_who_did_what(served: Served) -> None:
    _, client = served
    put(client, True, x_operation="a")
    put(client, 5, "/flags/limit", x_operation="b")
    put(client, False, x_operation="c")
    client.post(f"{BETA}/restore", headers={"x-operation": "undo.c"})
    entries = client.get("/audit?flag=beta").json()["entries"]
    told = [(each["action"], each["value"], each["version"], each["operation"], each["is_undone"]) for each in entries]
    assert told == [
        ("flag.set", True, 1, "a", False),
        ("flag.set", False, 2, "c", True),
        ("flag.restore", None, 3, "undo.c", False),
    ]
    assert [each["flag"] for each in client.get("/audit?operation=b").json()["entries"]] == ["limit"]


def test_flags_that_are_there_from_the_beginning_have_version_one() -> None:
    with serving(FlagFake, FlagOptions(flags={"beta": True, "limit": 5})) as (_, client):
        assert [flag["version"] for flag in client.get("/flags").json()["flags"]] == [1, 1]
        assert put(client, False, if_match='"1"').json()["version"] == 2
        assert client.post(f"{BETA}/restore").json()["value"] is True
        assert code(put(client, True, if_none_match="*")) == (412, "version-changed")


def test_a_change_without_a_condition_is_refused_where_one_is_wanted() -> None:
    with serving(FlagFake, FlagOptions(must_match=True)) as (_, client):
        assert code(put(client, True)) == (428, "precondition-required")
        assert put(client, True, if_none_match="*").status_code == 201


def test_the_name_of_a_flag_from_the_beginning_is_checked() -> None:
    with pytest.raises(UsageError, match="cannot be the name of a flag"), serving(FlagFake, FlagOptions(flags={"": 1})):
        pass


def test_a_key_gives_the_first_answer_again(served: Served) -> None:
    hosted, client = served
    first = put(client, True, idempotency_key="k")
    put(client, False)
    again = put(client, True, idempotency_key="k")
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["reference"] == first.json()["reference"]
    assert client.get(BETA).json()["value"] is False
    assert len(effects(hosted)) == 2


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_set_cut_on_its_way(served: Served, cut: Cut) -> None:
    check_cut_of(served[0], cut, "PUT", BETA, {"value": True})


def test_the_points_are_crossed_in_their_order(served: Served) -> None:
    hosted, client = served
    without_commit = [point for point in ORDER if "commit" not in point]
    assert crossed_by(hosted, lambda: put(client, True, idempotency_key="k")) == list(ORDER)
    assert crossed_by(hosted, lambda: put(client, True, idempotency_key="k")) == without_commit
    looked = ["received", "parsed", "read", "responding", "responded"]
    assert crossed_by(hosted, lambda: client.get("/evaluate/beta")) == looked


@pytest.mark.slow
def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    options: Options = FlagOptions(flags={"limit": 5})
    with serving(FlagFake, options, tmp_path) as (hosted, client):
        put(client, True, idempotency_key="k")
        put(client, False)
        client.post(f"{BETA}/restore")
        before = hosted.call(hosted.fake.view)
    with serving(FlagFake, options, tmp_path) as (hosted, client):
        assert hosted.call(hosted.fake.view) == before
        assert put(client, True, idempotency_key="k").headers["idempotent-replayed"] == "true"
        assert put(client, "x", if_match='"3"').json()["version"] == 4


def test_a_snapshot_brings_the_old_state_back(served: Served) -> None:
    hosted, client = served
    put(client, True)
    kept, before = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    put(client, False)
    hosted.call(lambda: hosted.desk.restore(kept))
    assert hosted.call(hosted.fake.view) == before
    assert put(client, "x", if_match='"1"').status_code == 200


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with serving(FlagFake) as (_, client):
            answers = [put(client, True), put(client, False), client.post(f"{BETA}/restore"), client.get("/audit")]
            return [answer.content for answer in answers]

    assert story() == story()


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("PUT", BETA, b"{", {}, 400),
        ("PUT", BETA, b'{"value": null}', {}, 400),
        ("PUT", BETA, b'{"value": 1.5}', {}, 400),
        ("PUT", BETA, b'{"value": [1]}', {}, 400),
        ("PUT", BETA, b'{"value": 9007199254740992}', {}, 400),
        ("PUT", BETA, b'{"value": 1, "more": 1}', {}, 400),
        ("PUT", BETA, b'{"value": 1}', {"if-match": "1"}, 400),
        ("PUT", BETA, b'{"value": 1}', {"if-match": 'W/"1"'}, 400),
        ("PUT", BETA, b'{"value": 1}', {"if-match": '"1"', "if-none-match": "*"}, 400),
        ("PUT", BETA, b'{"value": 1}', {"if-none-match": '"1"'}, 400),
        ("PUT", "/flags/a%0ab", b'{"value": 1}', {}, 400),
        ("POST", f"{BETA}/restore", b'{"reference": 1}', {}, 400),
        ("GET", "/nowhere", b"", {}, 404),
        ("DELETE", BETA, b"", {}, 405),
    ],
)
def test_what_cannot_be_understood_is_refused_in_json(
    served: Served, method: str, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = served[1].request(method, path, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


@pytest.mark.slow
def test_garbage_is_answered_and_breaks_nothing(served: Served) -> None:
    hosted, client = served
    valid = [
        ("PUT", BETA, {"value": True}),
        ("PUT", "/flags/limit", {"value": 5}),
        ("POST", f"{BETA}/restore", {"reference": "flag-1"}),
        ("GET", BETA, {"a": 1}),
        ("GET", "/evaluate/beta", {"a": 1}),
        ("GET", "/audit", {"a": 1}),
    ]
    statuses = check_garbage(hosted, valid, seed=5)
    assert statuses[200] > 100
    assert put(client, "after", "/flags/after").status_code == 201
