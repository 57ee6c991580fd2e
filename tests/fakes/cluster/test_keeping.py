"""What a cluster keeps over restarts and restores, what it tells nobody, and what it survives."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from fakes.cluster.face import ClusterFake, ClusterOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from fakes.wire.points import parse_hook
from fakes.wire.street import Plot, Street
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
    TOKEN,
    bent_shots,
    caller,
    config_map,
    deployment,
    effects,
    job,
)
from tests.fakes.wire.garbage import Shot, fire, shots


def walk(api: httpx.Client) -> list[httpx.Response]:
    """A little of everything."""
    return [
        api.post(MAPS, json=config_map()),
        api.post(MAPS, json={"metadata": {"generateName": "x-"}}),
        api.patch(f"{MAPS}/a", json={"data": {"k": "2"}}, headers=MERGE),
        api.post(DEPLOYMENTS, json=deployment()),
        api.post(NAMESPACES, json={"metadata": {"name": "tmp"}}),
        api.delete(f"{NAMESPACES}/tmp"),
        api.get(MAPS, params={"limit": 1}),
        api.delete(f"{MAPS}/none"),
        api.put(f"{MAPS}/a", json=config_map(value="3", resourceVersion="1")),
    ]


def test_a_restarted_cluster_has_lost_nothing_and_finishes_what_it_began(tmp_path: Path) -> None:
    with Hosted(ClusterFake, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        with caller(hosted) as api:
            version = walk(api)[0].json()["metadata"]["resourceVersion"]
        before = hosted.call(hosted.fake.view)
    with Hosted(ClusterFake, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        assert hosted.call(hosted.fake.view) == before
        assert effects(hosted)[0] == ("object.apply", "ConfigMap/default/a", "op-1")
        hosted.advance(SECOND_NS)
        hosted.wait_for("settled", 2)
        with caller(hosted) as api:
            assert api.get(f"{DEPLOYMENTS}/web").json()["status"]["readyReplicas"] == 2
            assert api.get(f"{NAMESPACES}/tmp").status_code == 404
            exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
            assert api.get(MAPS, params=exact).json()["items"][0]["data"] == {"k": "1"}


def test_a_restore_brings_the_old_state_back_and_its_timers() -> None:
    with Hosted(ClusterFake, clock=Clock(is_manual=True)) as hosted, caller(hosted) as api:
        api.post(DEPLOYMENTS, json=deployment())
        kept, view = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
        walk(api)
        hosted.advance(SECOND_NS)
        hosted.wait_for("settled", 2)
        assert hosted.call(hosted.fake.view) != view
        hosted.call(lambda: hosted.desk.restore(kept))
        assert hosted.call(hosted.fake.view) == view
        hosted.advance(SECOND_NS)
        hosted.wait_for("settled", 3)
        assert api.get(f"{DEPLOYMENTS}/web").json()["status"]["readyReplicas"] == 2


def test_the_past_that_is_kept_has_a_bound() -> None:
    with Hosted(ClusterFake, ClusterOptions(events_max=3)) as hosted, caller(hosted) as api:
        for number in range(6):
            api.post(MAPS, json=config_map(f"a{number}"))
        view = hosted.call(hosted.fake.view)
        assert view["version"] - view["compacted"] == 3
        assert len(api.get(MAPS).json()["items"]) == 6


def test_equal_requests_get_equal_answers() -> None:
    runs = []
    for _ in range(2):
        with Hosted(ClusterFake, clock=Clock(is_manual=True)) as hosted, caller(hosted) as api:
            answers = [(answer.status_code, answer.content) for answer in walk(api)]
            runs.append((answers, effects(hosted)))
    assert runs[0] == runs[1]


def test_secrets_are_answered_and_told_to_nobody_else() -> None:
    with Hosted(ClusterFake) as hosted:
        with caller(hosted) as api:
            said = {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
            api.post(SECRETS, json=said)
            wrong = api.post(SECRETS, json={"metadata": {"name": "t"}, "data": {"password": "hunter2!"}})
            assert wrong.status_code == 422
            steps = [{"op": "test", "path": "/data/password", "value": "hunter2"}]
            unfulfilled = api.patch(f"{SECRETS}/s", json=steps, headers=STEPS)
            assert unfulfilled.status_code == 422
            api.delete(f"{SECRETS}/s")
        with caller(hosted, "another-secret-token") as stranger:
            assert stranger.get(MAPS).json()["reason"] == "Unauthorized"
        view, entries = hosted.call(hosted.fake.view), [entry.data for entry in hosted.entries()]
        told = json.dumps([view, entries]) + wrong.text + unfulfilled.text
    for secret in ("hunter2", "aHVudGVyMg", TOKEN, "another-secret-token"):
        assert secret not in told


@pytest.mark.slow
def test_a_cluster_that_was_killed_after_its_commit_still_knows_of_it(tmp_path: Path) -> None:
    plot = Plot(ClusterFake, ClusterOptions(), (parse_hook("after-commit = crash"),))
    with Street([plot], tmp_path) as street:
        entry = street.entries()["cluster"]
        with httpx.Client(base_url=entry["url"], headers={"authorization": f"Bearer {TOKEN}"}) as api:
            with pytest.raises(httpx.TransportError):
                api.post(MAPS, json=config_map())
            while not street.restarts()["cluster"]:
                street.mend()
            assert api.get(f"{MAPS}/a").json()["data"] == {"k": "1"}
        kinds = [each["kind"] for each in httpx.get(entry["control"] + "/journal").json()]
    assert kinds.count("effect") == 1
    assert kinds.count("hook-fired") == 1


@pytest.mark.slow
def test_garbage_is_answered_as_a_status_and_breaks_nothing() -> None:
    valid = [
        ("POST", MAPS, config_map()),
        ("POST", SECRETS, {"metadata": {"generateName": "s-"}, "stringData": {"a": "b"}, "type": "x"}),
        ("POST", DEPLOYMENTS, deployment()),
        ("POST", JOBS, job()),
        ("POST", NAMESPACES, {"metadata": {"name": "n"}}),
        ("PUT", f"{MAPS}/a", config_map(value="2")),
        ("PATCH", f"{MAPS}/a", {"data": {"k": "3"}, "metadata": {"finalizers": ["x/y"], "labels": {"a": "b"}}}),
        ("PATCH", f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 1}}),
        ("DELETE", f"{MAPS}/a", {"preconditions": {"uid": "x"}, "dryRun": ["All"]}),
        ("DELETE", MAPS, {"kind": "DeleteOptions"}),
        ("GET", MAPS, {}),
    ]
    with Hosted(ClusterFake) as hosted:
        fake = hosted.fake
        assert isinstance(fake, ClusterFake)
        front = Front(hosted.desk, fake.application(), fake)
        token = [(b"authorization", f"Bearer {TOKEN}".encode())]
        media = [b"application/json", *(each["content-type"].encode() for each in (MERGE, STEPS, APPLY))]

        def typed(number: int, shot: Shot) -> Shot:
            kind = media[1 + number % 3] if shot.method == "PATCH" else media[0]
            query = shot.query or (b"fieldManager=m&force=1", b"limit=1&continue=x", b"labelSelector=a=b")[number % 3]
            return shot._replace(headers=[*shot.headers, (b"content-type", kind)], query=query)

        aimed = (typed(number, shot) for number, shot in enumerate(shots(11, 3000, valid, token)))
        statuses = fire(hosted, front, aimed)
        assert hosted.entries("bug") == []
        assert set(statuses) <= {200, 201, 400, 401, 403, 404, 405, 409, 415, 422}
        assert statuses[201] > 50
        assert statuses[422] > 50
        bodies = (typed(number, shot) for number, shot in enumerate(bent_shots(12, 3000, valid, token)))
        inside = fire(hosted, front, bodies)
        assert hosted.entries("bug") == []
        assert set(inside) <= {200, 201, 400, 403, 404, 409, 415, 422}
        with caller(hosted) as api:
            assert api.post(MAPS, json=config_map("after")).status_code == 201
