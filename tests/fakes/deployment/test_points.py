"""Every point of the forge is crossed, in order; what is done there shows to the caller and in the counts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from fakes.deployment.face import DeploymentFake
from fakes.deployment.options import DeploymentOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.points import REQUEST_POINTS, Point
from tests.fakes.deployment.visitor import caller, counted, deploy, effects, fresh, head, mark, put_file

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with Hosted(DeploymentFake, clock=Clock(is_manual=True)) as hosted:
        yield hosted


@pytest.fixture
def hosted(running: Hosted) -> Hosted:
    return fresh(running)


@pytest.fixture
def forge(hosted: Hosted) -> Iterator[httpx.Client]:
    with caller(hosted) as client:
        yield client


def test_a_deployment_crosses_every_point_of_a_request_in_order(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    for point in REQUEST_POINTS:
        hosted.arm(f"{point} = pass")
    with caller(hosted) as new:
        assert deploy(new).status_code == 201
    hosted.wait_for("hook-fired")
    fired = [e.data["point"] for e in hosted.entries("hook-fired") if e.number > before]
    assert fired == list(REQUEST_POINTS)


def test_a_look_crosses_parsed_and_read_and_nothing_of_a_change(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    for point in (Point.PARSED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.READ):
        hosted.arm(f"{point} = pass")
    assert forge.get("/deployments").status_code == 200
    assert [e.data["point"] for e in hosted.entries("hook-fired") if e.number > before] == ["parsed", "read"]


@pytest.mark.parametrize(
    ("hook", "seen", "counts"),
    [
        ("received = reset", "ReadError", (1, 0, 0)),
        ("parsed what=deploy = fin", "RemoteProtocolError", (1, 0, 0)),
        ("before-commit operation=op-1 = status:502", "502", (1, 0, 1)),
        ("before-commit target=shop = status:403:60", "403", (1, 0, 1)),
        ("after-commit line=POST* = reset", "ReadError", (1, 1, 0)),
        ("after-commit = status:502", "502", (1, 1, 1)),
        ("responding = truncate:0", "RemoteProtocolError", (1, 1, 0)),
        ("responding = truncate:300", "RemoteProtocolError", (1, 1, 0)),
    ],
)
def test_a_deployment_is_counted_where_it_was_cut(
    hosted: Hosted, forge: httpx.Client, hook: str, seen: str, counts: tuple[int, int, int]
) -> None:
    before, place = hosted.counts(), mark(hosted)
    hosted.arm(hook)
    try:
        outcome = str(deploy(forge).status_code)
    except httpx.TransportError as error:
        outcome = type(error).__name__
    assert outcome == seen
    assert [e.data["point"] for e in hosted.entries("hook-fired") if e.number > place] == [hook.split()[0]]
    assert counted(hosted, before) == counts


def test_a_secondary_rate_limit_is_worded_as_one(hosted: Hosted, forge: httpx.Client) -> None:
    hosted.arm("parsed = status:403:60")
    answer = deploy(forge)
    assert (answer.status_code, answer.headers["retry-after"]) == (403, "60")
    assert "secondary rate limit" in answer.json()["message"]


def test_a_stale_list_does_not_show_what_was_just_deployed(hosted: Hosted, forge: httpx.Client) -> None:
    deploy(forge)
    hosted.advance(10 * SECOND_NS)
    deploy(forge)
    hosted.arm("read what=deploy = stale:5s")
    assert [each["id"] for each in forge.get("/deployments").json()] == [1]
    assert [each["id"] for each in forge.get("/deployments").json()] == [2, 1]


def test_somebody_pushes_between_look_and_change(hosted: Hosted, forge: httpx.Client) -> None:
    before, root = mark(hosted), head(forge)
    hosted.arm("before-commit = compete:push")
    said = {"message": "m", "tree": forge.get(f"/git/commits/{root}").json()["tree"]["sha"], "parents": [root]}
    commit = forge.post("/git/commits", json=said).json()["sha"]
    refused = forge.patch("/git/refs/heads/main", json={"sha": commit})
    assert (refused.status_code, refused.json()["message"]) == (422, "Update is not a fast forward")
    assert effects(hosted, before) == [("ref.update", "heads/main", "outside")]


def test_somebody_else_deploys_first(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    hosted.arm("before-commit what=deploy = compete:deploy")
    assert deploy(forge, environment="staging").json()["id"] == 2
    assert effects(hosted, before) == [("deploy", "staging", "outside"), ("deploy", "shop", "op-1")]


def test_somebody_else_ends_a_deployment_while_its_status_is_written(hosted: Hosted, forge: httpx.Client) -> None:
    id_ = deploy(forge).json()["id"]
    hosted.arm("before-commit what=status.create = compete:inactivate")
    assert forge.post(f"/deployments/{id_}/statuses", json={"state": "success"}).status_code == 201
    assert [each["state"] for each in forge.get(f"/deployments/{id_}/statuses").json()] == ["success", "inactive"]
    hosted.arm("before-commit what=status.create = compete:delete")
    assert forge.post(f"/deployments/{id_}/statuses", json={"state": "success"}).status_code == 404


def test_somebody_else_deletes_a_ref(hosted: Hosted, forge: httpx.Client) -> None:
    forge.post("/git/refs", json={"ref": "refs/heads/topic", "sha": head(forge)})
    hosted.arm("before-commit what=ref.update = compete:delete")
    assert forge.patch("/git/refs/heads/topic", json={"sha": head(forge)}).status_code == 422


def test_a_competitor_with_nothing_to_act_on_is_noted(hosted: Hosted, forge: httpx.Client) -> None:
    before = mark(hosted)
    hosted.arm("before-commit = compete:inactivate")
    hosted.arm("before-commit = compete:tea")
    assert put_file(forge).status_code == 201
    assert put_file(forge, "b.txt").status_code == 201
    failed = [e.data["error"] for e in hosted.entries("hook-failed") if e.number > before]
    assert len(failed) == 2


def test_two_requests_that_hold_one_commit_meet(hosted: Hosted, forge: httpx.Client) -> None:
    """The second is done while the first is held before its commit, so the first is refused."""
    import threading

    answers: list[int] = []
    held = hosted.arm("before-commit = hang")
    first = threading.Thread(target=lambda: answers.append(put_file(forge).status_code))
    first.start()
    hosted.wait_until_hanging(held)
    with caller(hosted) as other:
        assert put_file(other).status_code == 201
    hosted.release(held)
    first.join(10)
    assert answers == [422]


def test_an_eventual_cell_lags_and_an_absent_one_forbids() -> None:
    eventual = DeploymentOptions(cell="honoured.eventual.prompt")
    with Hosted(DeploymentFake, eventual, clock=Clock(is_manual=True)) as hosted, caller(hosted) as forge:
        deploy(forge)
        assert forge.get("/deployments").json() == []
        hosted.advance(2 * SECOND_NS)
        assert len(forge.get("/deployments").json()) == 1
    absent = DeploymentOptions(cell="honoured.absent.prompt")
    with Hosted(DeploymentFake, absent) as hosted, caller(hosted) as forge:
        assert deploy(forge).status_code == 201
        refused = forge.get("/deployments")
        assert refused.status_code == 403
        assert refused.json()["message"].startswith("Resource not accessible")
        assert forge.get("/git/ref/heads/main").status_code == 200
