"""Refs and files: compare-and-set, in the words of the forge."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

import httpx
import pytest

from fakes.deployment.face import DeploymentFake
from fakes.wire.hosting import Hosted
from tests.fakes.deployment.visitor import OPERATION, caller, effects, fresh, head, mark, put_file


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with Hosted(DeploymentFake) as hosted:
        yield hosted


@pytest.fixture
def hosted(running: Hosted) -> Hosted:
    return fresh(running)


@pytest.fixture
def forge(hosted: Hosted) -> Iterator[httpx.Client]:
    with caller(hosted) as client:
        yield client


def test_a_ref_is_created_once(hosted: Hosted, forge: httpx.Client) -> None:
    before, said = mark(hosted), {"ref": "refs/heads/topic", "sha": head(forge)}
    assert forge.post("/git/refs", json=said, headers=OPERATION).status_code == 201
    again = forge.post("/git/refs", json=said)
    assert (again.status_code, again.json()["message"]) == (422, "Reference already exists")
    assert effects(hosted, before) == [("ref.create", "heads/topic", "op-1")]


def test_a_ref_moves_forward_only_unless_it_is_forced(hosted: Hosted, forge: httpx.Client) -> None:
    root = head(forge)
    put_file(forge)
    before = mark(hosted)
    backwards = forge.patch("/git/refs/heads/main", json={"sha": root})
    assert (backwards.status_code, backwards.json()["message"]) == (422, "Update is not a fast forward")
    assert effects(hosted, before) == []
    assert forge.patch("/git/refs/heads/main", json={"sha": root, "force": True}).status_code == 200
    assert head(forge) == root


def test_moving_a_ref_to_where_it_is_changes_nothing(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    assert forge.patch("/git/refs/heads/main", json={"sha": head(forge)}).status_code == 200
    assert effects(hosted, before) == []


def test_a_ref_cannot_point_at_nothing(forge: httpx.Client) -> None:
    answer = forge.patch("/git/refs/heads/main", json={"sha": "0" * 40})
    assert (answer.status_code, answer.json()["message"]) == (422, "Object does not exist")
    gone = forge.patch("/git/refs/heads/none", json={"sha": "0" * 40})
    assert (gone.status_code, gone.json()["message"]) == (422, "Reference does not exist")


def test_a_ref_is_deleted_once_and_the_default_branch_never(forge: httpx.Client) -> None:
    forge.post("/git/refs", json={"ref": "refs/tags/v1", "sha": head(forge)})
    assert forge.delete("/git/refs/tags/v1").status_code == 204
    assert forge.delete("/git/refs/tags/v1").status_code == 422
    assert forge.get("/git/ref/tags/v1").status_code == 404
    assert forge.delete("/git/refs/heads/main").status_code == 422


def test_a_file_is_changed_by_who_names_the_blob_that_stands(hosted: Hosted, forge: httpx.Client) -> None:
    made = put_file(forge)
    assert made.status_code == 201
    before = mark(hosted)
    assert put_file(forge).json()["message"].endswith('"sha" wasn\'t supplied.')
    stale = put_file(forge, sha="0" * 40)
    assert (stale.status_code, stale.json()["message"]) == (409, f"a.txt does not match {'0' * 40}")
    changed = put_file(forge, content="Yg==", sha=made.json()["content"]["sha"])
    assert changed.status_code == 200
    assert effects(hosted, before) == [("content.put", "main:a.txt", "op-1")]
    assert b64decode(forge.get("/contents/a.txt").json()["content"]) == b"b"


def test_the_second_copy_of_a_change_that_was_done_is_refused(hosted: Hosted, forge: httpx.Client) -> None:
    sha = put_file(forge).json()["content"]["sha"]
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.TransportError):
        put_file(forge, content="Yg==", sha=sha)
    assert len(hosted.entries("cut")) >= 1
    assert put_file(forge, content="Yg==", sha=sha).status_code == 409


def test_a_file_is_deleted_by_who_names_its_blob(forge: httpx.Client) -> None:
    sha = put_file(forge, "docs/a.txt").json()["content"]["sha"]
    listed = forge.get("/contents/docs").json()
    assert [(each["type"], each["path"]) for each in listed] == [("file", "docs/a.txt")]
    wrong = forge.request("DELETE", "/contents/docs/a.txt", json={"message": "m", "sha": "1" * 40})
    assert wrong.status_code == 409
    right = forge.request("DELETE", "/contents/docs/a.txt", json={"message": "m", "sha": sha})
    assert right.status_code == 200
    assert forge.get("/contents/docs").status_code == 404


def test_commits_are_made_of_trees_and_reached_by_a_ref(hosted: Hosted, forge: httpx.Client) -> None:
    before, root = mark(hosted), head(forge)
    base = forge.get(f"/git/commits/{root}").json()["tree"]["sha"]
    entry = {"path": "b.txt", "mode": "100644", "type": "blob", "content": "b"}
    tree = forge.post("/git/trees", json={"base_tree": base, "tree": [entry]}).json()
    assert [each["path"] for each in tree["tree"]] == ["README.md", "b.txt"]
    said = {"message": "by hand", "tree": tree["sha"], "parents": [root]}
    commit = forge.post("/git/commits", json=said).json()["sha"]
    assert effects(hosted, before) == []
    assert forge.patch("/git/refs/heads/main", json={"sha": commit}).status_code == 200
    assert [each["sha"] for each in forge.get("/commits").json()] == [commit, root]
    assert [each["name"] for each in forge.get("/branches").json()] == ["main"]
    assert forge.get("/branches/main").json()["commit"]["sha"] == commit


@pytest.mark.parametrize(
    ("method", "path", "said", "status"),
    [
        ("POST", "/git/refs", {"ref": "topic", "sha": "0" * 40}, 422),
        ("POST", "/git/refs", {"ref": "refs/heads/a..b", "sha": "0" * 40}, 422),
        ("POST", "/git/refs", {"ref": 5, "sha": "0" * 40}, 422),
        ("POST", "/git/commits", {"message": "m", "tree": "0" * 40}, 422),
        ("PUT", "/contents/a", {"message": "m", "content": "%%%"}, 422),
        ("PUT", "/contents/../a", {"message": "m", "content": ""}, 404),
        ("PUT", "/contents/a//b", {"message": "m", "content": ""}, 422),
        ("PUT", "/contents/a", {"message": "m", "content": "", "branch": "none"}, 404),
        ("PUT", "/contents/a", ["list"], 400),
        ("GET", "/contents/a?ref=none", None, 404),
        ("GET", "/git/trees/none", None, 404),
        ("BREW", "/contents", None, 405),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_forges_words(
    forge: httpx.Client, method: str, path: str, said: object, status: int
) -> None:
    answer = forge.request(method, path, json=said)
    assert answer.status_code == status
    assert answer.json()["message"]
    assert answer.headers["x-ratelimit-limit"] == "5000"
