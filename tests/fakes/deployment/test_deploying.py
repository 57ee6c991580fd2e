"""Deployments, statuses, workflows: rules of the book in the words of the forge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import httpx
import pytest

from fakes.deployment.face import DeploymentFake
from fakes.deployment.options import DeploymentOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.deployment.visitor import OPERATION, caller, deploy, effects, fresh, head, mark, put_file

SECOND_NS = 1_000_000_000
OPTIONS = DeploymentOptions(
    contexts={"ci/build": "success", "ci/lint": "failure"},
    conflicting=("stuck",),
    deployer="settles",
    settle_delay_ns=5 * SECOND_NS,
)


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


@pytest.fixture(scope="module")
def running_strict() -> Iterator[Hosted]:
    with Hosted(DeploymentFake, OPTIONS, clock=Clock(is_manual=True)) as hosted:
        yield hosted


@pytest.fixture
def strict(running_strict: Hosted) -> Iterator[httpx.Client]:
    with caller(fresh(running_strict)) as client:
        yield client


def states(forge: httpx.Client, id_: int) -> list[str]:
    return [each["state"] for each in forge.get(f"/deployments/{id_}/statuses").json()]


def test_every_post_is_a_deployment_that_says_whose_it_is(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    first, second = deploy(forge).json(), deploy(forge).json()
    assert first["id"] != second["id"]
    assert first["payload"] == {"operation": "op-1", "target": "shop"}
    assert effects(hosted, before) == [("deploy", "shop", "op-1")] * 2


def test_without_a_payload_an_effect_is_about_the_environment(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    assert forge.post("/deployments", json={"ref": "main", "environment": "staging"}).status_code == 201
    assert effects(hosted, before) == [("deploy", "staging", "")]


def test_a_rollback_is_the_deployment_of_an_earlier_commit(hosted: Hosted, forge: httpx.Client) -> None:
    root = head(forge)
    put_file(forge)
    made = deploy(forge).json()
    before = mark(hosted)
    payload = {"operation": "undo.op-1", "undoes": made["id"]}
    said = {"ref": root, "payload": payload}
    refused = forge.post("/deployments", json=said)
    assert (refused.status_code, refused.json()["message"]) == (409, f"Conflict merging main into {root}.")
    assert forge.post("/deployments", json={**said, "auto_merge": False}).status_code == 201
    assert forge.post("/deployments", json={**said, "auto_merge": False}).status_code == 201
    assert effects(hosted, before) == [
        ("deploy.rollback", "shop", "undo.op-1"),
        ("deploy", "production", "undo.op-1"),
    ]
    undone = [entry.data["undoes"] for entry in hosted.entries("effect") if entry.number > before]
    assert undone[0] is not None
    assert undone[1] is None


def test_a_branch_that_is_behind_is_merged_into_and_nothing_is_deployed(hosted: Hosted, forge: httpx.Client) -> None:
    forge.post("/git/refs", json={"ref": "refs/heads/topic", "sha": head(forge)})
    put_file(forge)
    before = mark(hosted)
    answer = deploy(forge, "topic")
    assert (answer.status_code, answer.json()["message"]) == (202, "Auto-merged main into topic on deployment.")
    assert effects(hosted, before) == [("ref.update", "heads/topic", "op-1")]
    assert forge.get("/deployments").json() == []
    assert deploy(forge, "topic").status_code == 201


def test_what_cannot_be_merged_or_was_not_checked_is_a_conflict(strict: httpx.Client) -> None:
    strict.post("/git/refs", json={"ref": "refs/heads/stuck", "sha": head(strict)})
    unchecked = deploy(strict)
    assert unchecked.status_code == 409
    assert unchecked.json()["message"] == "Conflict: Commit status checks failed for main."
    assert unchecked.json()["errors"][0]["contexts"][1] == {"context": "ci/lint", "state": "failure"}
    assert deploy(strict, required_contexts=["ci/build"]).status_code == 201
    assert deploy(strict, required_contexts=["ci/none"]).status_code == 409
    put_file(strict)
    conflict = deploy(strict, "stuck", required_contexts=[])
    assert (conflict.status_code, conflict.json()["message"]) == (409, "Conflict merging main into stuck.")


def test_an_unknown_ref_is_not_deployed(forge: httpx.Client) -> None:
    answer = deploy(forge, "none")
    assert (answer.status_code, answer.json()["message"]) == (422, "No ref found for: none")


def test_deployments_are_found_by_what_they_are(forge: httpx.Client) -> None:
    for environment, task in itertools.product(("staging", "production"), ("deploy", "migrate")):
        deploy(forge, environment=environment, task=task)
    asked = {"sha": head(forge), "ref": "main", "environment": "staging"}
    assert [each["task"] for each in forge.get("/deployments", params=asked).json()] == ["migrate", "deploy"]
    assert forge.get("/deployments", params={"task": "none"}).json() == []


def test_a_list_is_paged_by_links(hosted: Hosted, forge: httpx.Client) -> None:
    made = [deploy(forge).json()["id"] for _ in range(5)]
    page = forge.get("/deployments", params={"per_page": 2, "environment": "production"})
    seen = [each["id"] for each in page.json()]
    assert set(page.links) == {"next", "last"}
    while "next" in page.links:
        page = forge.get(page.links["next"]["url"])
        seen += [each["id"] for each in page.json()]
    assert set(page.links) == {"first", "prev"}
    assert seen == made[::-1]


def test_a_success_makes_earlier_successes_in_its_environment_inactive(forge: httpx.Client) -> None:
    ids = [deploy(forge, environment=name).json()["id"] for name in ("blue", "blue", "green", "blue", "blue")]
    for id_ in ids[:3]:
        forge.post(f"/deployments/{id_}/statuses", json={"state": "success"})
    assert [states(forge, id_)[0] for id_ in ids[:3]] == ["inactive", "success", "success"]
    forge.post(f"/deployments/{ids[3]}/statuses", json={"state": "failure"})
    forge.post(f"/deployments/{ids[4]}/statuses", json={"state": "success", "auto_inactive": False})
    assert [states(forge, id_)[0] for id_ in ids] == ["inactive", "success", "success", "failure", "success"]
    assert states(forge, ids[0]) == ["inactive", "success"]


def test_a_transient_environment_is_not_made_inactive(forge: httpx.Client) -> None:
    first = deploy(forge, environment="review", transient_environment=True).json()["id"]
    second = deploy(forge, environment="review", transient_environment=True).json()["id"]
    for id_ in (first, second):
        forge.post(f"/deployments/{id_}/statuses", json={"state": "success"})
    assert states(forge, first) == ["success"]


def test_only_an_inactive_deployment_can_be_deleted_unless_it_is_alone(hosted: Hosted, forge: httpx.Client) -> None:
    first = deploy(forge).json()["id"]
    second = deploy(forge).json()["id"]
    assert forge.delete(f"/deployments/{first}").status_code == 422
    forge.post(f"/deployments/{first}/statuses", json={"state": "inactive"})
    before = mark(hosted)
    assert forge.delete(f"/deployments/{first}", headers=OPERATION).status_code == 204
    assert forge.delete(f"/deployments/{first}").status_code == 404
    assert forge.delete(f"/deployments/{second}").status_code == 204
    assert effects(hosted, before)[0] == ("deployment.delete", str(first), "op-1")


def test_a_status_of_a_state_that_there_is_not_is_refused(forge: httpx.Client) -> None:
    id_ = deploy(forge).json()["id"]
    assert forge.post(f"/deployments/{id_}/statuses", json={"state": "done"}).status_code == 422
    assert forge.post("/deployments/99/statuses", json={"state": "success"}).status_code == 404
    made = forge.post(f"/deployments/{id_}/statuses", json={"state": "queued", "log_url": "http://log"}).json()
    assert forge.get(f"/deployments/{id_}/statuses/{made['id']}").json()["log_url"] == "http://log"
    assert forge.get(f"/deployments/{id_}/statuses/99").status_code == 404


def test_every_dispatch_is_a_run_and_the_answer_names_none(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    said = {"ref": "main", "inputs": {"operation": "op-1", "target": "shop"}}
    answers = [forge.post("/actions/workflows/deploy.yml/dispatches", json=said) for _ in range(2)]
    assert [(each.status_code, each.content) for each in answers] == [(204, b"")] * 2
    assert effects(hosted, before) == [("workflow.dispatch", "shop", "op-1")] * 2
    runs = forge.get("/actions/workflows/1/runs").json()
    assert [run["display_title"] for run in runs["workflow_runs"]] == ["op-1", "op-1"]
    assert forge.get(f"/actions/runs/{runs['workflow_runs'][0]['id']}").json()["status"] == "queued"
    assert forge.get("/actions/workflows").json()["total_count"] == 1
    assert forge.post("/actions/workflows/none.yml/dispatches", json=said).status_code == 404
    assert forge.post("/actions/workflows/1/dispatches", json={"ref": "none"}).status_code == 422


def test_the_deployer_finishes_later(running_strict: Hosted, strict: httpx.Client) -> None:
    id_ = deploy(strict, required_contexts=[]).json()["id"]
    strict.post("/actions/workflows/1/dispatches", json={"ref": "main"})
    assert states(strict, id_) == ["pending"]
    before = len(running_strict.entries("settled"))
    running_strict.advance(5 * SECOND_NS)
    running_strict.wait_for("settled", before + 2)
    assert states(strict, id_) == ["success", "pending"]
    assert strict.get("/actions/runs/1").json()["conclusion"] == "success"


def test_the_deployer_fails_where_it_is_told_to(running_strict: Hosted, strict: httpx.Client) -> None:
    running_strict.arm("settle what=deploy operation=op-1 target=shop = fail")
    id_ = deploy(strict, required_contexts=[]).json()["id"]
    fired, before = len(running_strict.entries("hook-fired")), len(running_strict.entries("settled"))
    running_strict.advance(5 * SECOND_NS)
    running_strict.wait_for("settled", before + 1)
    assert len(running_strict.entries("hook-fired")) == fired + 1
    assert states(strict, id_) == ["failure", "pending"]


def test_the_rollback_of_a_deployment_is_finished_by_the_deployer_too(
    running_strict: Hosted, strict: httpx.Client
) -> None:
    made = deploy(strict, required_contexts=[]).json()["id"]
    running_strict.arm("settle what=deploy operation=undo.op-1 target=shop = fail")
    payload = {"operation": "undo.op-1", "undoes": made}
    back = strict.post("/deployments", json={"ref": "main", "payload": payload, "required_contexts": []}).json()["id"]
    before = len(running_strict.entries("settled"))
    running_strict.advance(5 * SECOND_NS)
    running_strict.wait_for("settled", before + 2)
    assert (states(strict, made)[0], states(strict, back)[0]) == ("success", "failure")


def test_a_deployment_that_was_taken_back_is_not_finished(running_strict: Hosted, strict: httpx.Client) -> None:
    """The timer of a past that a restore took back must not finish what has its number now."""
    empty = running_strict.call(running_strict.desk.snapshot)
    deploy(strict, required_contexts=[])
    running_strict.advance(3 * SECOND_NS)
    running_strict.call(lambda: running_strict.desk.restore(empty))
    id_ = deploy(strict, required_contexts=[]).json()["id"]
    before = len(running_strict.entries("settled"))
    running_strict.advance(3 * SECOND_NS)
    assert states(strict, id_) == ["pending"]
    running_strict.advance(2 * SECOND_NS)
    running_strict.wait_for("settled", before + 1)
    assert states(strict, id_) == ["success", "pending"]


def test_links_are_written_for_any_path(forge: httpx.Client) -> None:
    for name in ("a", "b"):
        forge.post("/git/refs", json={"ref": f"refs/heads/{name}", "sha": head(forge)})
    answer = forge.get("/git/matching-refs/heads%2F", params={"per_page": 1, "x": "\r\né"})
    assert answer.status_code == 200
    assert forge.get(answer.links["next"]["url"]).json()[0]["ref"] == "refs/heads/b"
