from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.wire.echo import Echo


@pytest.fixture(scope="module")
def hosted() -> Iterator[Hosted]:
    with Hosted(Echo, clock=Clock(is_manual=True)) as host:
        yield host


@pytest.fixture
def control(hosted: Hosted) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=hosted.places["control"].url) as client:
        client.delete("/hooks")
        client.put("/snapshot", json={"documents": []})
        yield client


def post(hosted: Hosted, text: str) -> int:
    return httpx.post(hosted.places["http"].url + "/notes", content=text).status_code


def test_it_says_what_it_is_and_what_it_counted(hosted: Hosted, control: httpx.Client) -> None:
    before = control.get("/").json()["counts"]["arrivals"]
    post(hosted, "a")
    about = control.get("/").json()
    assert (about["name"], about["counts"]["arrivals"]) == ("echo", before + 1)
    assert about["ports"]["http"] == list(hosted.places["http"])


def test_a_hook_is_armed_fires_and_is_listed(hosted: Hosted, control: httpx.Client) -> None:
    name = control.post("/hooks", json={"hook": "after-commit = status:500"}).json()["id"]
    assert post(hosted, "a") == 500
    (row,) = control.get("/hooks").json()
    assert (row["id"], row["fired"], row["hanging"]) == (name, 1, [])
    control.delete(f"/hooks/{name}")
    assert control.get("/hooks").json() == []


def test_the_journal_is_read_from_a_number_on(hosted: Hosted, control: httpx.Client) -> None:
    last = control.get("/journal").json()[-1]["number"]
    post(hosted, "a")
    kinds = [entry["kind"] for entry in control.get("/journal", params={"after": last}).json()]
    assert kinds[:2] == ["arrived", "effect"]
    assert {e["kind"] for e in control.get("/journal", params={"kind": "effect"}).json()} == {"effect"}


def test_a_caller_tells_what_it_saw(control: httpx.Client) -> None:
    before = control.get("/counts").json()["caller_views"]
    control.post("/views", json={"call": "echo-1", "outcome": "timeout"})
    assert control.get("/counts").json()["caller_views"] == before + 1


def test_time_is_advanced_from_outside(control: httpx.Client) -> None:
    before = control.get("/").json()["clock"]["now_ns"]
    assert control.post("/clock/advance", json={"duration": "24h"}).json()["now_ns"] == before + 86_400 * 10**9


def test_a_snapshot_brings_the_old_state_back(hosted: Hosted, control: httpx.Client) -> None:
    post(hosted, "a")
    snapshot = control.get("/snapshot").json()
    post(hosted, "b")
    assert control.get("/state").json() == {"notes": ["a", "b"]}
    control.put("/snapshot", json=snapshot)
    assert control.get("/state").json() == {"notes": ["a"]}
    post(hosted, "c")
    control.put("/snapshot", json=snapshot)
    assert control.get("/state").json() == {"notes": ["a"]}


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "/hooks", {"hook": "nowhere = reset"}, "is no point"),
        ("POST", "/hooks", {"hok": "x"}, "Field required"),
        ("POST", "/hooks", None, "JSON"),
        ("DELETE", "/hooks/hook-999", None, "There is no hook"),
        ("POST", "/clock/advance", {"duration": "soon"}, "no duration"),
        ("PUT", "/snapshot", {"documents": [[1]]}, "documents"),
        ("GET", "/journal?after=x", None, "invalid literal"),
    ],
)
def test_what_cannot_be_done_is_said(control: httpx.Client, method: str, path: str, body: object, said: str) -> None:
    response = control.request(method, path, json=body) if body is not None else control.request(method, path)
    assert response.status_code == 400
    assert said in response.json()["error"]


def test_a_fake_goes_on_from_its_journal_and_its_clock(tmp_path: Path) -> None:
    with Hosted(Echo, folder=tmp_path, clock=Clock(is_manual=True)) as first:
        post(first, "a")
        first.advance(7)
        now_ns = first.desk.clock.now_ns()
    with Hosted(Echo, folder=tmp_path, clock=Clock(is_manual=True)) as again:
        assert again.call(again.fake.view) == {"notes": ["a"]}
        assert again.desk.clock.now_ns() == now_ns
        assert [e.data["is_new"] for e in again.entries("started")] == [True, False]
