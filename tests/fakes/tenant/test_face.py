"""The tenant directory over its protocol, asked with httpx, and its table, read with SQLAlchemy."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from fakes.tenant.face import FILE_NAME, TenantFake
from fakes.wire.fake import Options
from fakes.wire.hosting import Hosted
from fakes.wire.journal_file import read_entries
from tests.fakes.wire.plain import S, check_cut_of, check_garbage, code, crossed_by, effects, serving
from tests.fakes.wire.way import CUTS, ORDER, Cut

Served = tuple[Hosted, httpx.Client]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(TenantFake, folder=tmp_path) as both:
        yield both


def create(client: httpx.Client, name: str = "acme", **headers: str) -> httpx.Response:
    return client.post("/tenants", json={"name": name}, headers={k.replace("_", "-"): v for k, v in headers.items()})


def rows(url: str) -> list[tuple[Any, ...]]:
    """The table as a stranger reads it."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(text("select id, name, operation from tenants order by id"))]
    engine.dispose()
    return found


def write(folder: Path, *statements: str) -> None:
    """Somebody writes into the file by other ways."""
    with sqlite3.connect(folder / FILE_NAME, timeout=5) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def database_url(hosted: Hosted) -> str:
    return str(hosted.call(hosted.host.entry)["database_url"])


def test_a_tenant_is_created_found_and_deleted(served: Served) -> None:
    hosted, client = served
    made = create(client, x_operation="sign-up")
    assert (made.status_code, made.json()["plan"]) == (201, "standard")
    assert client.get("/tenants/acme").json() == made.json()
    assert client.delete("/tenants/acme", headers={"x-operation": "undo.sign-up"}).json() == made.json()
    assert code(client.get("/tenants/acme")) == (404, "not-found")
    assert code(client.delete("/tenants/acme")) == (409, "already-undone")
    assert code(client.delete("/tenants/other")) == (404, "not-found")
    assert effects(hosted) == [("tenant.create", "acme", "sign-up"), ("tenant.delete", "acme", "undo.sign-up")]
    assert hosted.entries("effect")[1].data["undoes"] == made.json()["id"]


def test_a_name_is_taken_until_its_tenant_is_deleted_and_then_another_ones(served: Served) -> None:
    _, client = served
    first = create(client).json()["id"]
    assert code(create(client)) == (409, "already-exists")
    client.delete("/tenants/acme")
    second = create(client)
    assert second.status_code == 201
    assert second.json()["id"] != first


def test_tenants_are_listed_by_what_they_are(served: Served) -> None:
    _, client = served
    for name in ("acme", "Bräu & Söhne, Inc.", "a/b"):
        create(client, name, x_operation=f"up-{len(name)}")
    client.post("/tenants", json={"name": "big", "plan": "gold"})

    def names(query: str) -> list[str]:
        return [each["name"] for each in client.get(f"/tenants?{query}").json()["tenants"]]

    assert names("") == ["acme", "Bräu & Söhne, Inc.", "a/b", "big"]
    assert names("operation=up-4") == ["acme"]
    assert names("plan=gold") == ["big"]
    assert names("after=tenant-2&limit=1") == ["a/b"]
    assert client.get("/tenants/a%2Fb").json()["name"] == "a/b"
    assert client.get("/tenants/Br%C3%A4u & S%C3%B6hne, Inc.").status_code == 200


def test_the_table_is_what_the_interface_says_and_cannot_be_written_through_the_entry(served: Served) -> None:
    hosted, client = served
    id_ = create(client, x_operation="sign-up").json()["id"]
    url = database_url(hosted)
    assert rows(url) == [(id_, "acme", "sign-up")]
    engine = create_engine(url)
    with engine.begin() as connection, pytest.raises(OperationalError, match="readonly"):
        connection.execute(text("delete from tenants"))
    engine.dispose()
    client.delete("/tenants/acme")
    assert rows(url) == []


def test_a_reader_in_the_middle_of_reading_does_not_hold_a_commit_up(served: Served) -> None:
    hosted, client = served
    create(client)
    engine = create_engine(database_url(hosted))
    with engine.connect() as connection:
        connection.exec_driver_sql("begin")
        assert connection.execute(text("select count(*) from tenants")).scalar() == 1
        assert create(client, "other").status_code == 201
        assert connection.execute(text("select count(*) from tenants")).scalar() == 1
    engine.dispose()


@pytest.mark.slow
def test_a_database_that_somebody_holds_for_writing_is_unavailable_and_nothing_is_done(
    served: Served, tmp_path: Path
) -> None:
    hosted, client = served
    create(client)
    held = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    held.execute("begin immediate")
    assert code(create(client, "other", idempotency_key="k")) == (503, "unavailable")
    assert code(client.delete("/tenants/acme")) == (503, "unavailable")
    held.execute("rollback")
    held.close()
    assert len(effects(hosted)) == 1
    assert create(client, "other", idempotency_key="k").status_code == 201
    assert client.delete("/tenants/acme").status_code == 200


def test_what_somebody_writes_into_the_table_is_a_change_from_outside(served: Served, tmp_path: Path) -> None:
    hosted, client = served
    first, second = create(client), create(client, "zeta", x_operation="sign-up")
    write(
        tmp_path,
        "insert into tenants values ('by-hand', 'hand', 'gold', 'unknown', 5)",
        "delete from tenants where name = 'acme'",
        "update tenants set name = 'omega' where name = 'zeta'",
    )
    assert code(create(client, "hand")) == (409, "already-exists")
    assert effects(hosted)[2:] == [
        ("tenant.delete", "acme", "outside"),
        ("tenant.delete", "zeta", "outside"),
        ("tenant.create", "hand", "outside"),
        ("tenant.create", "omega", "outside"),
    ]
    assert {entry.call for entry in hosted.entries("effect")[2:]} == {""}
    assert [e.data["undoes"] for e in hosted.entries("effect")[2:4]] == [first.json()["id"], second.json()["id"]]
    assert client.delete("/tenants/hand").json()["id"] == "by-hand"
    assert client.delete("/tenants/omega").status_code == 200
    assert create(client, "acme").status_code == 201
    before = len(hosted.entries("effect"))
    assert [each["name"] for each in client.get("/tenants").json()["tenants"]] == ["acme"]
    assert len(hosted.entries("effect")) == before


@pytest.mark.slow
@pytest.mark.parametrize("action", ["POST", "DELETE"])
def test_a_change_whose_fake_was_killed_before_the_journal_knew_is_taken_up(tmp_path: Path, action: str) -> None:
    if action == "DELETE":
        with serving(TenantFake, folder=tmp_path) as (_, client):
            create(client, "acme")
    kill_between(tmp_path, "acme", action)
    known = [entry.data["action"] for entry in read_entries(tmp_path / "tenant.sqlite") if entry.kind == "effect"]
    assert known == ([] if action == "POST" else ["tenant.create"])
    names = [name for _, name, _ in rows(f"sqlite:///file:{tmp_path / FILE_NAME}?mode=ro&uri=true")]
    assert names == (["acme"] if action == "POST" else [])
    with serving(TenantFake, folder=tmp_path) as (hosted, client):
        mended = hosted.entries("effect")[-1]
        assert (mended.data["operation"], mended.data["key"]) == (f"op-{action}", "k")
        assert mended.call
        assert len(hosted.entries("mended")) == 1
        path, body = ("/tenants", {"name": "acme"}) if action == "POST" else ("/tenants/acme", None)
        again = client.request(action, path, json=body, headers={"idempotency-key": "k"})
        assert again.headers["idempotent-replayed"] == "true"
        new = create(client, "other").json()["id"]
        assert new == f"tenant-{2 if action == 'POST' else 3}"
        assert hosted.counts()["commits"] == (2 if action == "POST" else 3)
    with serving(TenantFake, folder=tmp_path) as (hosted, _):
        assert len(hosted.entries("mended")) == 1


def kill_between(folder: Path, name: str, action: str) -> None:
    """Run the program that is killed between the two commits."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.fakes.tenant.killed", str(folder), name, action],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr.decode()


@pytest.mark.slow
def test_a_lost_table_is_a_world_without_tenants_and_a_lost_journal_one_of_strangers(tmp_path: Path) -> None:
    with serving(TenantFake, folder=tmp_path) as (_, client):
        create(client)
    (tmp_path / FILE_NAME).rename(tmp_path / "kept")
    with serving(TenantFake, folder=tmp_path) as (hosted, client):
        assert effects(hosted)[1:] == [("tenant.delete", "acme", "outside")]
        assert create(client).status_code == 201
    (tmp_path / "kept").rename(tmp_path / FILE_NAME)
    (tmp_path / "tenant.sqlite").unlink()
    with serving(TenantFake, folder=tmp_path) as (hosted, client):
        assert effects(hosted) == [("tenant.create", "acme", "")]
        assert code(create(client)) == (409, "already-exists")


def test_a_key_gives_the_first_answer_again(served: Served) -> None:
    hosted, client = served
    first = create(client, idempotency_key="k")
    again = create(client, idempotency_key="k")
    assert (again.headers["idempotent-replayed"], again.content) == ("true", first.content)
    assert code(create(client, "other", idempotency_key="k")) == (400, "key-reused")
    assert len(effects(hosted)) == 1


def test_a_lost_answer_reads_as_a_taken_name(served: Served) -> None:
    hosted, client = served
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.ReadError):
        create(client, x_operation="sign-up")
    assert code(create(client, x_operation="sign-up")) == (409, "already-exists")
    assert client.get("/tenants/acme").json()["operation"] == "sign-up"
    assert len(hosted.entries("hook-fired")) == len(effects(hosted)) == 1


def test_look_ups_are_late_or_absent_as_the_cell_says() -> None:
    with serving(TenantFake, Options(cell="honoured.eventual.prompt")) as (hosted, client):
        create(client)
        assert client.get("/tenants/acme").status_code == 404
        assert "database_url" not in hosted.call(hosted.host.entry)
        hosted.advance(2 * S)
        assert client.get("/tenants/acme").status_code == 200
    with serving(TenantFake, Options(cell="honoured.absent.prompt")) as (_, client):
        assert code(client.get("/tenants")) == (405, "method-not-allowed")


def test_a_stale_look_shows_the_world_before(served: Served) -> None:
    hosted, client = served
    create(client)
    hosted.advance(5 * S)
    client.delete("/tenants/acme")
    hosted.arm("read x2 = stale:1s")
    assert client.get("/tenants/acme").status_code == 200
    assert len(client.get("/tenants").json()["tenants"]) == 1
    assert client.get("/tenants/acme").status_code == 404


def test_somebody_else_creates_and_deletes_first(served: Served) -> None:
    hosted, client = served
    hosted.arm("before-commit what=tenant.create = compete:create")
    assert code(create(client)) == (409, "already-exists")
    hosted.arm("before-commit what=tenant.delete = compete:delete")
    assert code(client.delete("/tenants/acme")) == (409, "already-undone")
    assert effects(hosted) == [("tenant.create", "acme", "outside"), ("tenant.delete", "acme", "outside")]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_creation_cut_on_its_way(served: Served, cut: Cut) -> None:
    check_cut_of(served[0], cut, "POST", "/tenants", {"name": "acme"})


def test_the_points_are_crossed_in_their_order(served: Served) -> None:
    hosted, client = served
    without_commit = [point for point in ORDER if "commit" not in point]
    assert crossed_by(hosted, lambda: create(client, idempotency_key="k")) == list(ORDER)
    assert crossed_by(hosted, lambda: create(client, idempotency_key="k")) == without_commit
    looked = ["received", "parsed", "read", "responding", "responded"]
    assert crossed_by(hosted, lambda: client.get("/tenants/acme")) == looked


@pytest.mark.slow
def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    with serving(TenantFake, folder=tmp_path) as (hosted, client):
        create(client, idempotency_key="k")
        create(client, "other")
        client.delete("/tenants/other")
        before = hosted.call(hosted.fake.view)
    assert rows(f"sqlite:///file:{tmp_path / FILE_NAME}?mode=ro&uri=true") == [("tenant-1", "acme", "")]
    with serving(TenantFake, folder=tmp_path) as (hosted, client):
        assert hosted.call(hosted.fake.view) == before
        assert not hosted.entries("mended")
        assert create(client, idempotency_key="k").headers["idempotent-replayed"] == "true"
        assert create(client, "third").json()["id"] == "tenant-4"


def test_a_snapshot_brings_the_old_state_and_the_old_table_back(served: Served) -> None:
    hosted, client = served
    create(client, x_operation="sign-up", idempotency_key="k")
    kept, before = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    client.delete("/tenants/acme")
    create(client, "other")
    hosted.call(lambda: hosted.desk.restore(kept))
    assert hosted.call(hosted.fake.view) == before
    assert rows(database_url(hosted)) == [("tenant-1", "acme", "sign-up")]
    assert create(client, idempotency_key="k").headers["idempotent-replayed"] == "true"
    assert create(client, "other").json()["id"] == "tenant-2"
    assert not hosted.entries("mended")


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with serving(TenantFake) as (_, client):
            answers = [create(client), create(client), client.delete("/tenants/acme"), client.get("/tenants")]
            return [answer.content for answer in answers]

    assert story() == story()


def test_a_fake_that_keeps_nothing_leaves_nothing_behind() -> None:
    with serving(TenantFake) as (hosted, client):
        create(client)
        url = database_url(hosted)
        folder = Path(url.removeprefix("sqlite:///file:").partition("?")[0]).parent
        assert len(rows(url)) == 1
    assert not folder.exists()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/tenants", b"{", 400),
        ("POST", "/tenants", b'{"name": ""}', 400),
        ("POST", "/tenants", b'{"name": 1}', 400),
        ("POST", "/tenants", b'{"name": "a\\u0000b"}', 400),
        ("POST", "/tenants", b'{"name": "a", "plan": "x y"}', 400),
        ("POST", "/tenants", b'{"name": "a", "more": 1}', 400),
        ("DELETE", "/tenants/acme", b"[]", 400),
        ("GET", "/tenants?limit=x", b"", 400),
        ("GET", "/tenants/", b"", 400),
        ("GET", "/nowhere", b"", 404),
        ("PUT", "/tenants/acme", b"", 405),
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
        ("POST", "/tenants", {"name": "acme", "plan": "gold"}),
        ("POST", "/tenants", {"name": "other"}),
        ("DELETE", "/tenants/acme", {"a": 1}),
        ("GET", "/tenants/acme", {"a": 1}),
        ("GET", "/tenants", {"a": 1}),
    ]
    check_garbage(hosted, valid, seed=9)
    assert create(client, "after").status_code == 201
    names = [name for _, name, _ in rows(database_url(hosted))]
    assert sorted(names) == sorted(each["name"] for each in client.get("/tenants").json()["tenants"])
