"""What a forge keeps over restarts and restores, what it tells nobody, and what it survives."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from fakes.deployment.face import DeploymentFake
from fakes.deployment.options import DeploymentOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from fakes.wire.points import parse_hook
from fakes.wire.street import Plot, Street
from tests.fakes.deployment.visitor import REPO, TOKEN, bent_shots, caller, deploy, effects, head, mark, put_file, root
from tests.fakes.wire.garbage import fire, shots

SECOND_NS = 1_000_000_000
SETTLING = DeploymentOptions(deployer="settles", settle_delay_ns=5 * SECOND_NS)


def walk(forge: httpx.Client) -> list[httpx.Response]:
    """A little of everything."""
    made = put_file(forge)
    return [
        made,
        deploy(forge),
        forge.post("/git/refs", json={"ref": "refs/heads/topic", "sha": head(forge)}),
        forge.post("/deployments/1/statuses", json={"state": "success"}),
        forge.post("/actions/workflows/1/dispatches", json={"ref": "main"}),
        forge.get("/deployments"),
        forge.get("/commits"),
        forge.get("/actions/runs"),
        forge.patch("/git/refs/heads/topic", json={"sha": "0" * 40}),
    ]


def test_a_restarted_forge_has_lost_nothing_and_finishes_what_it_began(tmp_path: Path) -> None:
    with Hosted(DeploymentFake, SETTLING, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        with caller(hosted) as forge:
            deploy(forge)
            put_file(forge)
            forge.post("/actions/workflows/1/dispatches", json={"ref": "main"})
        before = hosted.call(hosted.fake.view)
    with Hosted(DeploymentFake, SETTLING, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        assert hosted.call(hosted.fake.view) == before
        assert effects(hosted)[0] == ("deploy", "shop", "op-1")
        hosted.advance(5 * SECOND_NS)
        hosted.wait_for("settled", 2)
        with caller(hosted) as forge:
            assert forge.get("/deployments/1/statuses").json()[0]["state"] == "success"
            assert forge.get("/actions/runs/1").json()["conclusion"] == "success"
            assert deploy(forge, auto_merge=False).json()["id"] == 2
            used = int(forge.get(root(hosted)).headers["x-ratelimit-used"])
        assert used == 7


def test_a_restore_brings_the_old_state_back() -> None:
    with Hosted(DeploymentFake) as hosted, caller(hosted) as forge:
        deploy(forge)
        kept, view = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
        walk(forge)
        assert hosted.call(hosted.fake.view) != view
        hosted.call(lambda: hosted.desk.restore(kept))
        assert hosted.call(hosted.fake.view) == view
        assert deploy(forge).json()["id"] == 2


def test_a_forge_that_was_restored_to_nothing_and_restarted_has_its_first_commit(tmp_path: Path) -> None:
    with Hosted(DeploymentFake, folder=tmp_path) as hosted, caller(hosted) as forge:
        hosted.call(lambda: hosted.desk.restore([]))
        put_file(forge)
        before = hosted.call(hosted.fake.view)
    with Hosted(DeploymentFake, folder=tmp_path) as hosted, caller(hosted) as forge:
        assert hosted.call(hosted.fake.view) == before
        assert len(forge.get("/commits").json()) == 2


def test_equal_requests_get_equal_answers() -> None:
    runs = []
    for _ in range(2):
        with Hosted(DeploymentFake, clock=Clock(is_manual=True), numbers={}) as hosted, caller(hosted) as forge:
            own = str(hosted.places["http"].port)
            answers = [(a.status_code, a.text.replace(own, "PORT"), a.headers["x-ratelimit-used"]) for a in walk(forge)]
            runs.append((answers, effects(hosted)))
    assert runs[0] == runs[1]


def test_the_token_is_told_to_nobody() -> None:
    with Hosted(DeploymentFake) as hosted:
        with caller(hosted) as forge:
            walk(forge)
        with caller(hosted, "another-secret-token") as stranger:
            refused = stranger.get(root(hosted))
        assert (refused.status_code, refused.json()["message"]) == (401, "Bad credentials")
        assert httpx.get(root(hosted)).json()["message"] == "Requires authentication"
        kept = hosted.call(hosted.desk.snapshot)
        told = json.dumps([hosted.call(hosted.fake.view), [e.data for e in hosted.entries()], kept, refused.text])
    assert TOKEN not in told
    assert "another-secret-token" not in told


def test_payloads_are_answered_and_not_shown() -> None:
    with Hosted(DeploymentFake) as hosted, caller(hosted) as forge:
        payload = {"operation": "op-1", "password": "hunter2"}
        assert forge.post("/deployments", json={"ref": "main", "payload": payload}).json()["payload"] == payload
        shown = json.dumps([hosted.call(hosted.fake.view), [e.data for e in hosted.entries()]])
    assert "hunter2" not in shown


def test_the_rate_is_limited_and_comes_back_after_an_hour() -> None:
    options, clock = DeploymentOptions(rate_limit=2), Clock(is_manual=True)
    with Hosted(DeploymentFake, options, clock=clock) as hosted, caller(hosted) as forge:
        before = mark(hosted)
        answers = [forge.get(root(hosted)), deploy(forge), deploy(forge)]
        assert [each.status_code for each in answers] == [200, 201, 403]
        assert [each.headers["x-ratelimit-remaining"] for each in answers] == ["1", "0", "0"]
        assert answers[2].json()["message"].startswith("API rate limit exceeded")
        assert len(effects(hosted, before)) == 1
        limit = forge.get(f"{hosted.places['http'].url}/rate_limit").json()["rate"]
        assert limit["remaining"] == 0
        hosted.advance(3600 * SECOND_NS)
        assert deploy(forge).status_code == 201


@pytest.mark.slow
def test_a_forge_that_was_killed_after_its_commit_still_knows_of_it(tmp_path: Path) -> None:
    plot = Plot(DeploymentFake, DeploymentOptions(), (parse_hook("after-commit what=deploy = crash"),))
    with Street([plot], tmp_path) as street:
        entry = street.entries()["deployment"]
        with httpx.Client(base_url=entry["url"] + REPO, headers={"authorization": f"token {TOKEN}"}) as forge:
            with pytest.raises(httpx.TransportError):
                deploy(forge)
            while not street.restarts()["deployment"]:
                street.mend()
            found = forge.get("/deployments").json()
        assert [each["payload"]["operation"] for each in found] == ["op-1"]
        kinds = [each["kind"] for each in httpx.get(entry["control"] + "/journal").json()]
    assert kinds.count("effect") == 1
    assert kinds.count("hook-fired") == 1


@pytest.mark.slow
def test_garbage_is_answered_in_the_forges_words_and_breaks_nothing() -> None:
    deployment = {"ref": "main", "payload": {"operation": "o", "undoes": 1}, "environment": "e", "auto_merge": False}
    valid = [
        ("POST", f"{REPO}/deployments", deployment),
        ("POST", f"{REPO}/deployments/1/statuses", {"state": "success", "auto_inactive": True, "environment": "e"}),
        ("POST", f"{REPO}/git/refs", {"ref": "refs/heads/x", "sha": "0" * 40}),
        ("PATCH", f"{REPO}/git/refs/heads/x", {"sha": "0" * 40, "force": True}),
        ("PUT", f"{REPO}/contents/a/b", {"message": "m", "content": "YQ==", "sha": "", "branch": "main"}),
        ("POST", f"{REPO}/git/trees", {"base_tree": "x", "tree": [{"path": "a", "content": "b"}]}),
        ("POST", f"{REPO}/git/commits", {"message": "m", "tree": "0" * 40, "parents": []}),
        ("POST", f"{REPO}/actions/workflows/1/dispatches", {"ref": "main", "inputs": {"operation": "o"}}),
        ("GET", f"{REPO}/deployments", {}),
        ("GET", f"{REPO}/contents/a", {}),
        ("DELETE", f"{REPO}/deployments/1", {}),
    ]
    options = DeploymentOptions(rate_limit=1_000_000)
    with Hosted(DeploymentFake, options) as hosted:
        fake = hosted.fake
        assert isinstance(fake, DeploymentFake)
        front = Front(hosted.desk, fake.application(), fake)
        token = [(b"authorization", f"token {TOKEN}".encode())]
        statuses = fire(hosted, front, shots(7, 3000, valid, token))
        assert hosted.entries("bug") == []
        assert set(statuses) <= {200, 201, 202, 204, 400, 401, 404, 405, 409, 422}
        assert statuses[201] > 50
        inside = fire(hosted, front, bent_shots(8, 2000, valid, token))
        assert hosted.entries("bug") == []
        assert set(inside) <= {200, 201, 202, 204, 400, 404, 409, 422}
        assert statuses[422] > 100
        with caller(hosted) as forge:
            assert deploy(forge, auto_merge=False).status_code == 201
