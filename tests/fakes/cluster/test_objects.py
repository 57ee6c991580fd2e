"""Objects: names, versions, the two conflicts, finalizers, namespaces, apply."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from fakes.wire.hosting import Hosted
from tests.fakes.cluster.visitor import (
    APPLY,
    DEPLOYMENTS,
    JOBS,
    MAPS,
    MERGE,
    NAMESPACES,
    SECOND_NS,
    SECRETS,
    STEPS,
    config_map,
    deployment,
    effects,
    job,
    mark,
)


def reason(answer: httpx.Response) -> tuple[int, str]:
    said = answer.json()
    assert said["kind"] == "Status"
    assert said["code"] == answer.status_code
    return answer.status_code, said["reason"]


def test_an_object_is_created_once_under_its_name(hosted: Hosted, api: httpx.Client) -> None:
    before = mark(hosted)
    made = api.post(MAPS, json=config_map())
    assert made.status_code == 201
    again = api.post(MAPS, json=config_map())
    assert reason(again) == (409, "AlreadyExists")
    assert again.json()["message"] == 'configmaps "a" already exists'
    assert effects(hosted, before) == [("object.apply", "ConfigMap/default/a", "op-1")]


def test_a_generated_name_makes_one_more_each_time(hosted: Hosted, api: httpx.Client) -> None:
    names = [api.post(MAPS, json={"metadata": {"generateName": "x-"}}).json()["metadata"]["name"] for _ in range(2)]
    assert len(set(names)) == 2
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def test_a_replacement_needs_the_present_version_if_it_names_one(hosted: Hosted, api: httpx.Client) -> None:
    old = api.post(MAPS, json=config_map()).json()
    new = api.put(f"{MAPS}/a", json={**old, "data": {"k": "2"}})
    assert new.status_code == 200
    assert int(new.json()["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])
    stale = api.put(f"{MAPS}/a", json={**old, "data": {"k": "3"}})
    assert reason(stale) == (409, "Conflict")
    assert "the object has been modified" in stale.json()["message"]
    assert api.put(f"{MAPS}/a", json=config_map(value="4")).status_code == 200


def test_a_write_that_changes_nothing_keeps_the_version_and_is_no_effect(hosted: Hosted, api: httpx.Client) -> None:
    old = api.post(MAPS, json=config_map()).json()
    before = mark(hosted)
    for answer in (api.put(f"{MAPS}/a", json=old), api.patch(f"{MAPS}/a", json={"data": {"k": "1"}}, headers=MERGE)):
        assert answer.json()["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
    assert effects(hosted, before) == []


def test_a_name_that_is_used_again_has_another_uid(hosted: Hosted, api: httpx.Client) -> None:
    first = api.post(MAPS, json=config_map()).json()["metadata"]
    before = mark(hosted)
    gone = api.delete(f"{MAPS}/a", headers={"X-Operation": "undo.op-1"})
    assert (gone.json()["status"], gone.json()["details"]["uid"]) == ("Success", first["uid"])
    assert reason(api.delete(f"{MAPS}/a")) == (404, "NotFound")
    second = api.post(MAPS, json=config_map(operation="other")).json()["metadata"]
    assert second["uid"] != first["uid"]
    meant = {"preconditions": {"uid": first["uid"]}}
    refused = api.request("DELETE", f"{MAPS}/a", json=meant)
    assert reason(refused) == (409, "Conflict")
    assert "UID in precondition" in refused.json()["message"]
    stale = {"preconditions": {"resourceVersion": first["resourceVersion"]}}
    assert reason(api.request("DELETE", f"{MAPS}/a", json=stale)) == (409, "Conflict")
    assert effects(hosted, before) == [
        ("object.delete", "ConfigMap/default/a", "undo.op-1"),
        ("object.apply", "ConfigMap/default/a", "other"),
    ]


def test_a_finalizer_keeps_what_was_deleted(hosted: Hosted, api: httpx.Client) -> None:
    api.post(MAPS, json=config_map(finalizers=["example.com/hold"]))
    before = mark(hosted)
    held = api.delete(f"{MAPS}/a").json()
    assert held["kind"] == "ConfigMap"
    assert held["metadata"]["deletionTimestamp"]
    assert api.get(f"{MAPS}/a").status_code == 200
    assert reason(api.post(MAPS, json=config_map())) == (409, "AlreadyExists")
    assert api.delete(f"{MAPS}/a").json()["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]
    more = api.patch(f"{MAPS}/a", json={"metadata": {"finalizers": ["example.com/other"]}}, headers=MERGE)
    assert reason(more) == (422, "Invalid")
    assert api.patch(f"{MAPS}/a", json={"metadata": {"finalizers": None}}, headers=MERGE).status_code == 200
    assert api.get(f"{MAPS}/a").status_code == 404
    assert [action for action, _, _ in effects(hosted, before)] == ["object.delete", "object.finalize"]
    assert len([entry for entry in hosted.entries("object-gone") if entry.number > before]) == 1


def test_success_is_what_the_status_says_later(hosted: Hosted, api: httpx.Client) -> None:
    made = api.post(DEPLOYMENTS, json=deployment()).json()
    assert (made["metadata"]["generation"], made["status"]) == (1, {})
    settled = len(hosted.entries("settled"))
    hosted.advance(SECOND_NS)
    hosted.wait_for("settled", settled + 1)
    status = api.get(f"{DEPLOYMENTS}/web").json()["status"]
    assert (status["observedGeneration"], status["readyReplicas"]) == (1, 2)
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Available": "True",
        "Progressing": "True",
    }
    changed = api.patch(f"{DEPLOYMENTS}/web", json={"spec": {"replicas": 3}}, headers=MERGE).json()
    assert (changed["metadata"]["generation"], changed["status"]["observedGeneration"]) == (2, 1)


@pytest.mark.parametrize(("path", "value"), [(DEPLOYMENTS, deployment()), (JOBS, job())])
def test_what_was_accepted_can_fail_later(hosted: Hosted, api: httpx.Client, path: str, value: dict[str, Any]) -> None:
    name = value["metadata"]["name"]
    before, settled = mark(hosted), len(hosted.entries("settled"))
    hosted.arm(f"settle target=*/default/{name} = fail")
    assert api.post(path, json=value).status_code == 201
    hosted.advance(SECOND_NS)
    hosted.wait_for("settled", settled + 1)
    assert [entry.data["point"] for entry in hosted.entries("hook-fired") if entry.number > before] == ["settle"]
    conditions = api.get(f"{path}/{name}").json()["status"]["conditions"]
    wanted = {"web": ("Available", "False"), "once": ("Failed", "True")}[name]
    assert wanted in [(each["type"], each["status"]) for each in conditions]


def test_a_job_completes(hosted: Hosted, api: httpx.Client) -> None:
    api.post(JOBS, json=job())
    settled = len(hosted.entries("settled"))
    hosted.advance(SECOND_NS)
    hosted.wait_for("settled", settled + 1)
    assert api.get(f"{JOBS}/once").json()["status"]["succeeded"] == 1


def test_a_status_is_written_apart(hosted: Hosted, api: httpx.Client) -> None:
    made = api.post(DEPLOYMENTS, json=deployment()).json()
    before = mark(hosted)
    other = {**made, "status": {"replicas": 9}, "spec": {**made["spec"], "replicas": 7}}
    written = api.put(f"{DEPLOYMENTS}/web/status", json=other).json()
    assert (written["status"], written["spec"]["replicas"]) == ({"replicas": 9}, 2)
    plain = api.patch(f"{DEPLOYMENTS}/web", json={"status": {"replicas": 1}}, headers=MERGE).json()
    assert plain["status"] == {"replicas": 9}
    assert [action for action, _, _ in effects(hosted, before)] == ["object.status"]


def test_a_namespace_goes_with_all_that_is_in_it(hosted: Hosted, api: httpx.Client) -> None:
    inside = f"{NAMESPACES}/tmp/configmaps"
    assert reason(api.post(inside, json=config_map())) == (404, "NotFound")
    api.post(NAMESPACES, json={"metadata": {"name": "tmp"}})
    api.post(inside, json=config_map())
    api.post(inside, json=config_map("held", finalizers=["example.com/hold"]))
    assert api.delete(f"{NAMESPACES}/tmp").json()["status"]["phase"] == "Terminating"
    assert reason(api.post(inside, json=config_map("new"))) == (403, "Forbidden")
    settled = len(hosted.entries("settled"))
    hosted.advance(SECOND_NS)
    hosted.wait_for("settled", settled + 1)
    assert [each["metadata"]["name"] for each in api.get(inside).json()["items"]] == ["held"]
    api.patch(f"{inside}/held", json={"metadata": {"finalizers": None}}, headers=MERGE)
    assert api.get(f"{NAMESPACES}/tmp").status_code == 404
    assert reason(api.delete(f"{NAMESPACES}/default")) == (403, "Forbidden")


def test_an_apply_is_repeatable_and_conflicts_over_fields_of_others(hosted: Hosted, api: httpx.Client) -> None:
    def apply(value: str, manager: str, **query: str) -> httpx.Response:
        said = config_map(value=value)
        return api.patch(f"{MAPS}/a", json=said, headers=APPLY, params={"fieldManager": manager, **query})

    before = mark(hosted)
    first = apply("1", "me")
    assert first.status_code == 201
    again = apply("1", "me")
    assert again.json()["metadata"]["resourceVersion"] == first.json()["metadata"]["resourceVersion"]
    assert len(effects(hosted, before)) == 1
    conflict = apply("2", "other")
    assert reason(conflict) == (409, "Conflict")
    assert conflict.json()["details"]["causes"][0]["field"] == ".data.k"
    assert apply("2", "other", force="true").json()["data"] == {"k": "2"}
    assert reason(api.patch(f"{MAPS}/a", json=config_map(), headers=APPLY)) == (422, "Invalid")


def test_a_json_patch_says_its_operation_by_what_it_adds(hosted: Hosted, api: httpx.Client) -> None:
    api.post(MAPS, json=config_map())
    before = mark(hosted)
    steps = [
        {"op": "test", "path": "/data/k", "value": "1"},
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "add", "path": "/metadata/annotations/knownstate~1operation", "value": "op-2"},
    ]
    assert api.patch(f"{MAPS}/a", json=steps, headers=STEPS).json()["data"] == {"k": "2"}
    assert effects(hosted, before) == [("object.apply", "ConfigMap/default/a", "op-2")]
    assert reason(api.patch(f"{MAPS}/a", json=steps, headers=STEPS)) == (422, "Invalid")


def test_a_secret_is_written_plain_and_kept_encoded(hosted: Hosted, api: httpx.Client) -> None:
    made = api.post(SECRETS, json={"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}).json()
    assert made["data"] == {"password": "aHVudGVyMg=="}
    assert "stringData" not in made
    assert hosted.call(hosted.fake.view)["objects"]["Secret/default/s"]["data"] == ["password"]


def test_an_immutable_map_stays_as_it_is(api: httpx.Client) -> None:
    api.post(MAPS, json={**config_map(), "immutable": True})
    assert reason(api.patch(f"{MAPS}/a", json={"data": {"k": "2"}}, headers=MERGE)) == (422, "Invalid")


def test_a_dry_run_changes_nothing(hosted: Hosted, api: httpx.Client) -> None:
    before, dry = mark(hosted), {"dryRun": "All"}
    assert api.post(MAPS, json=config_map(), params=dry).status_code == 201
    assert api.get(f"{MAPS}/a").status_code == 404
    api.post(MAPS, json=config_map())
    assert api.put(f"{MAPS}/a", json=config_map(value="2"), params=dry).json()["data"] == {"k": "2"}
    assert api.delete(f"{MAPS}/a", params=dry).status_code == 200
    assert api.get(f"{MAPS}/a").json()["data"] == {"k": "1"}
    assert len(effects(hosted, before)) == 1


def test_a_collection_is_deleted_by_its_labels(hosted: Hosted, api: httpx.Client) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        api.post(MAPS, json=config_map(name, labels={"l": label}))
    before = mark(hosted)
    gone = api.delete(MAPS, params={"labelSelector": "l=x"}).json()
    assert [each["metadata"]["name"] for each in gone["items"]] == ["a", "b"]
    assert [target for _, target, _ in effects(hosted, before)] == ["ConfigMap/default/a", "ConfigMap/default/b"]
    assert [each["metadata"]["name"] for each in api.get(MAPS).json()["items"]] == ["c"]


@pytest.mark.parametrize(
    ("method", "path", "said", "expected"),
    [
        ("POST", MAPS, {"metadata": {"name": "Upper"}}, (422, "Invalid")),
        ("POST", MAPS, {"metadata": {}}, (422, "Invalid")),
        ("POST", MAPS, {"metadata": {"name": "a", "labels": {"x": 1}}}, (422, "Invalid")),
        ("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": 1}}, (422, "Invalid")),
        ("POST", MAPS, {"kind": "Secret", "metadata": {"name": "a"}}, (400, "BadRequest")),
        ("POST", MAPS, {"metadata": {"name": "a", "namespace": "other"}}, (400, "BadRequest")),
        ("POST", MAPS, {"metadata": {"name": "a", "resourceVersion": "1"}}, (400, "BadRequest")),
        ("POST", MAPS, [], (400, "BadRequest")),
        ("POST", "/api/v1/configmaps", config_map(), (400, "BadRequest")),
        ("POST", SECRETS, {"metadata": {"name": "a"}, "data": {"k": "%"}}, (422, "Invalid")),
        ("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": {}}, (422, "Invalid")),
        ("POST", DEPLOYMENTS, deployment(replicas=-1), (422, "Invalid")),
        ("POST", JOBS, {"metadata": {"name": "a"}}, (422, "Invalid")),
        ("PUT", f"{MAPS}/a", config_map("b"), (400, "BadRequest")),
        ("PUT", f"{MAPS}/none", config_map("none"), (404, "NotFound")),
        ("PATCH", f"{MAPS}/none", {}, (415, "UnsupportedMediaType")),
        ("GET", f"{MAPS}/none", None, (404, "NotFound")),
        ("GET", "/api/v1/pods", None, (404, "NotFound")),
        ("PUT", MAPS, config_map(), (405, "MethodNotAllowed")),
        ("BREW", MAPS, None, (405, "MethodNotAllowed")),
    ],
)
def test_what_cannot_be_done_is_refused_as_a_status(
    api: httpx.Client, method: str, path: str, said: Any, expected: tuple[int, str]
) -> None:
    assert reason(api.request(method, path, json=said)) == expected


def test_the_server_says_what_it_has(api: httpx.Client) -> None:
    assert api.get("/version").json()["major"] == "1"
    assert api.get("/readyz").text == "ok"
    assert api.get("/apis").json()["kind"] == "APIGroupList"
    names = [each["name"] for each in api.get("/api/v1").json()["resources"]]
    assert names == ["namespaces", "configmaps", "secrets"]
