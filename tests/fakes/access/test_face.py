"""Access grants over their protocol, asked with httpx."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.access.face import AccessFake
from fakes.wire.fake import Options
from fakes.wire.hosting import Hosted
from tests.fakes.wire.plain import S, check_cut_of, check_garbage, code, crossed_by, effects, serving
from tests.fakes.wire.way import CUTS, ORDER, Cut

GRANT = "/grants/ann@board/reader"
OTHER = "/grants/ann@board/owner"
Served = tuple[Hosted, httpx.Client]


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(AccessFake) as both:
        yield both


def test_a_grant_is_made_once_and_made_again_changes_nothing(served: Served) -> None:
    hosted, client = served
    first, again = client.put(GRANT), client.put(GRANT)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == client.get(GRANT).json()
    assert effects(hosted) == [("grant", "ann@board", "")]


def test_another_role_is_a_conflict_until_the_first_is_revoked(served: Served) -> None:
    _, client = served
    client.put(GRANT)
    assert code(client.put(OTHER)) == (409, "already-exists")
    assert code(client.delete(OTHER)) == (404, "not-found")
    client.delete(GRANT)
    assert client.put(OTHER).status_code == 201
    assert code(client.get(GRANT)) == (404, "not-found")


def test_a_revocation_ends_a_grant_and_is_refused_when_it_comes_again(served: Served) -> None:
    hosted, client = served
    assert code(client.delete(GRANT)) == (404, "not-found")
    id_ = client.put(GRANT, headers={"x-operation": "let-in"}).json()["id"]
    ended = client.delete(GRANT, headers={"x-operation": "undo.let-in"}).json()
    assert ended["id"] == id_
    assert ended["revoked_ns"] is not None
    assert code(client.delete(GRANT)) == (409, "already-undone")
    assert effects(hosted) == [("grant", "ann@board", "let-in"), ("revoke", "ann@board", "undo.let-in")]
    assert hosted.entries("effect")[1].data["undoes"] == id_


def test_grants_are_listed_by_what_they_are(served: Served) -> None:
    _, client = served
    for name in ("ann", "bob", "cid"):
        client.put(f"/grants/{name}/reader", headers={"x-operation": f"let-in.{name}"})
    client.delete("/grants/bob/reader")

    def subjects(query: str) -> list[str]:
        return [grant["subject"] for grant in client.get(f"/grants?{query}").json()["grants"]]

    assert subjects("") == ["ann", "cid"]
    assert subjects("revoked=true") == ["ann", "bob", "cid"]
    assert subjects("operation=let-in.cid") == ["cid"]
    assert subjects("role=owner") == []
    assert client.get("/grants/bob").json() == {"grants": []}
    page = client.get("/grants?limit=1").json()
    assert page["has_more"]
    assert subjects(f"after={page['grants'][0]['id']}") == ["cid"]
    assert code(client.get("/grants?after=nobody")) == (400, "invalid")


def test_a_key_gives_the_first_answer_again(served: Served) -> None:
    hosted, client = served
    keyed = {"idempotency-key": "k"}
    client.put(GRANT, headers=keyed)
    client.delete(GRANT)
    again = client.put(GRANT, headers=keyed)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["revoked_ns"] is not None
    assert code(client.put(OTHER, headers=keyed)) == (400, "key-reused")
    assert len(effects(hosted)) == 2


def test_a_key_in_flight_is_refused(served: Served) -> None:
    hosted, client = served
    hook, keyed = hosted.arm("before-commit = hang"), {"idempotency-key": "k"}
    first = threading.Thread(target=client.put, args=(GRANT,), kwargs={"headers": keyed})
    first.start()
    hosted.wait_until_hanging(hook)
    assert code(client.put(GRANT, headers=keyed)) == (409, "key-in-use")
    hosted.release(hook)
    first.join(10)
    assert len(effects(hosted)) == 1


def test_a_key_means_nothing_where_it_is_ignored() -> None:
    with serving(AccessFake, Options(cell="ignored.authoritative.prompt")) as (_, client):
        keyed = {"idempotency-key": "k"}
        client.put(GRANT, headers=keyed)
        client.delete(GRANT)
        assert client.put(GRANT, headers=keyed).status_code == 201


def test_look_ups_are_late_or_absent_as_the_cell_says() -> None:
    with serving(AccessFake, Options(cell="honoured.eventual.prompt")) as (hosted, client):
        client.put(GRANT)
        assert client.get(GRANT).status_code == 404
        hosted.advance(2 * S)
        assert client.get(GRANT).status_code == 200
    with serving(AccessFake, Options(cell="honoured.absent.prompt")) as (_, client):
        assert code(client.get("/grants")) == (405, "method-not-allowed")


def test_a_request_after_its_deadline_is_refused_or_applied_as_the_cell_says() -> None:
    late = {"x-not-after-ns": "1"}
    with serving(AccessFake) as (hosted, client):
        assert code(client.put(GRANT, headers=late)) == (408, "expired")
        assert effects(hosted) == []
    with serving(AccessFake, Options(cell="honoured.authoritative.late")) as (_, client):
        assert client.put(GRANT, headers=late).status_code == 201


def test_a_stale_look_shows_the_world_before(served: Served) -> None:
    hosted, client = served
    client.put(GRANT)
    hosted.advance(5 * S)
    client.delete(GRANT)
    hosted.arm("read target=ann@board = stale:1s")
    assert client.get(GRANT).json()["revoked_ns"] is None
    assert client.get(GRANT).status_code == 404


def test_somebody_else_grants_and_revokes_first(served: Served) -> None:
    hosted, client = served
    hosted.arm("before-commit what=grant = compete:grant")
    assert code(client.put(GRANT)) == (409, "already-exists")
    hosted.arm("before-commit what=revoke = compete:revoke")
    assert code(client.delete("/grants/ann@board/outside")) == (409, "already-undone")
    assert effects(hosted) == [("grant", "ann@board", "outside"), ("revoke", "ann@board", "outside")]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_grant_cut_on_its_way(served: Served, cut: Cut) -> None:
    check_cut_of(served[0], cut, "PUT", GRANT)


def test_a_lost_answer_is_found_by_asking_again(served: Served) -> None:
    hosted, client = served
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.ReadError):
        client.put(GRANT)
    assert client.put(GRANT).status_code == 200
    assert len(hosted.entries("hook-fired")) == len(effects(hosted)) == 1


def test_the_points_are_crossed_in_their_order(served: Served) -> None:
    hosted, client = served
    keyed = {"idempotency-key": "k"}
    without_commit = [point for point in ORDER if "commit" not in point]
    assert crossed_by(hosted, lambda: client.put(GRANT, headers=keyed)) == list(ORDER)
    assert crossed_by(hosted, lambda: client.put(GRANT, headers=keyed)) == without_commit
    looked = ["received", "parsed", "read", "responding", "responded"]
    assert crossed_by(hosted, lambda: client.get(GRANT)) == looked


@pytest.mark.slow
def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    with serving(AccessFake, folder=tmp_path) as (hosted, client):
        client.put(GRANT, headers={"idempotency-key": "k"})
        client.put("/grants/bob/reader")
        client.delete("/grants/bob/reader")
        before = hosted.call(hosted.fake.view)
    with serving(AccessFake, folder=tmp_path) as (hosted, client):
        assert hosted.call(hosted.fake.view) == before
        assert client.put(GRANT, headers={"idempotency-key": "k"}).headers["idempotent-replayed"] == "true"
        assert client.put("/grants/cid/reader").json()["id"] == "access-4"


def test_a_snapshot_brings_the_old_state_back(served: Served) -> None:
    hosted, client = served
    client.put(GRANT)
    kept, before = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    client.delete(GRANT)
    client.put(OTHER)
    hosted.call(lambda: hosted.desk.restore(kept))
    assert hosted.call(hosted.fake.view) == before
    assert client.put(GRANT).status_code == 200


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with serving(AccessFake) as (_, client):
            answers = [client.put(GRANT), client.put(OTHER), client.delete(GRANT), client.get("/grants?revoked=true")]
            return [answer.content for answer in answers]

    assert story() == story()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", GRANT, b"{", 400),
        ("PUT", GRANT, b'{"role": "x"}', 400),
        ("PUT", "/grants/a%00b/reader", b"", 400),
        ("PUT", f"/grants/{'x' * 201}/reader", b"", 400),
        ("GET", "/grants?limit=0", b"", 400),
        ("GET", "/grants?revoked=maybe", b"", 400),
        ("GET", "/nowhere", b"", 404),
        ("POST", GRANT, b"", 405),
    ],
)
def test_what_cannot_be_understood_is_refused_in_json(
    served: Served, method: str, path: str, body: bytes, status: int
) -> None:
    answer = served[1].request(method, path, content=body)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


@pytest.mark.slow
def test_garbage_is_answered_and_breaks_nothing(served: Served) -> None:
    hosted, client = served
    valid = [
        ("PUT", GRANT, {"a": 1}),
        ("DELETE", GRANT, {"a": 1}),
        ("GET", GRANT, {"a": 1}),
        ("GET", "/grants", {"a": 1}),
    ]
    check_garbage(hosted, valid, seed=3)
    assert client.put("/grants/after/reader").status_code == 201
