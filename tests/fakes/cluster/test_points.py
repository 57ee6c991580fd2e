"""Every point of the cluster is crossed, in order; what is done there shows to the caller and in the counts."""

from __future__ import annotations

import threading

import httpx
import pytest

from fakes.cluster.face import ClusterFake, ClusterOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.points import REQUEST_POINTS
from tests.fakes.cluster.visitor import MAPS, MERGE, SECOND_NS, caller, config_map, counted, effects, mark


def fired(hosted: Hosted, after: int) -> list[str]:
    return [entry.data["point"] for entry in hosted.entries("hook-fired") if entry.number > after]


def test_a_change_crosses_every_point_of_a_request_in_order(hosted: Hosted) -> None:
    before = mark(hosted)
    for point in REQUEST_POINTS:
        hosted.arm(f"{point} = pass")
    with caller(hosted) as new:
        assert new.post(MAPS, json=config_map()).status_code == 201
    assert fired(hosted, before) == list(REQUEST_POINTS)


@pytest.mark.parametrize("path", [MAPS, f"{MAPS}/a"])
def test_a_read_crosses_parsed_and_read_and_nothing_of_a_change(hosted: Hosted, api: httpx.Client, path: str) -> None:
    api.post(MAPS, json=config_map())
    before = mark(hosted)
    for point in ("parsed", "before-commit", "after-commit", "read"):
        hosted.arm(f"{point} = pass")
    assert api.get(path).status_code == 200
    assert fired(hosted, before) == ["parsed", "read"]


@pytest.mark.parametrize(
    ("hook", "seen", "counts"),
    [
        ("received = reset", "ReadError", (1, 0, 0)),
        ("parsed what=object.apply = fin", "RemoteProtocolError", (1, 0, 0)),
        ("before-commit operation=op-1 = status:503", "503", (1, 0, 1)),
        ("parsed target=ConfigMap/default/a = status:429:1", "429", (1, 0, 1)),
        ("after-commit line=POST* = reset", "ReadError", (1, 1, 0)),
        ("after-commit = status:504", "504", (1, 1, 1)),
        ("responding = truncate:0", "RemoteProtocolError", (1, 1, 0)),
        ("responding = truncate:200", "RemoteProtocolError", (1, 1, 0)),
    ],
)
def test_a_creation_is_counted_where_it_was_cut(
    hosted: Hosted, api: httpx.Client, hook: str, seen: str, counts: tuple[int, int, int]
) -> None:
    before, place = hosted.counts(), mark(hosted)
    hosted.arm(hook)
    try:
        answer = api.post(MAPS, json=config_map())
        outcome = str(answer.status_code)
        assert answer.json()["kind"] == "Status"
    except httpx.TransportError as error:
        outcome = type(error).__name__
    assert outcome == seen
    assert fired(hosted, place) == [hook.split()[0]]
    assert counted(hosted, before) == counts


def test_somebody_edits_between_look_and_change(hosted: Hosted, api: httpx.Client) -> None:
    old = api.post(MAPS, json=config_map()).json()
    before = mark(hosted)
    hosted.arm("before-commit = compete:edit")
    refused = api.put(f"{MAPS}/a", json={**old, "data": {"k": "2"}})
    assert (refused.status_code, refused.json()["reason"]) == (409, "Conflict")
    assert effects(hosted, before) == [("object.apply", "ConfigMap/default/a", "outside")]


def test_somebody_deletes_what_is_about_to_be_changed(hosted: Hosted, api: httpx.Client) -> None:
    api.post(MAPS, json=config_map())
    before = mark(hosted)
    hosted.arm("before-commit = compete:delete")
    assert api.patch(f"{MAPS}/a", json={"data": {"k": "2"}}, headers=MERGE).status_code == 404
    assert effects(hosted, before) == [("object.delete", "ConfigMap/default/a", "outside")]


def test_somebody_takes_the_name_first(hosted: Hosted, api: httpx.Client) -> None:
    before = mark(hosted)
    hosted.arm("before-commit = compete:create")
    refused = api.post(MAPS, json=config_map())
    assert (refused.status_code, refused.json()["reason"]) == (409, "AlreadyExists")
    assert effects(hosted, before) == [("object.apply", "ConfigMap/default/a", "outside")]


@pytest.mark.parametrize("what", ["edit", "delete", "tea"])
def test_a_competitor_with_nothing_to_act_on_is_noted(hosted: Hosted, api: httpx.Client, what: str) -> None:
    before = mark(hosted)
    hosted.arm(f"before-commit = compete:{what}")
    assert api.post(MAPS, json=config_map()).status_code == 201
    assert len([entry for entry in hosted.entries("hook-failed") if entry.number > before]) == 1


def test_a_lost_success_of_a_replacement_is_a_conflict_for_its_own_copy(hosted: Hosted, api: httpx.Client) -> None:
    old = api.post(MAPS, json=config_map()).json()
    hosted.arm("after-commit = reset")
    with pytest.raises(httpx.TransportError):
        api.put(f"{MAPS}/a", json={**old, "data": {"k": "2"}})
    assert api.put(f"{MAPS}/a", json={**old, "data": {"k": "2"}}).status_code == 409
    assert api.get(f"{MAPS}/a").json()["data"] == {"k": "2"}


def test_two_replacements_of_one_version_meet_and_one_is_refused(hosted: Hosted, api: httpx.Client) -> None:
    old = api.post(MAPS, json=config_map()).json()
    answers: list[int] = []
    held = hosted.arm("before-commit = hang")

    def replace(value: str) -> None:
        with caller(hosted) as client:
            answers.append(client.put(f"{MAPS}/a", json={**old, "data": {"k": value}}).status_code)

    first = threading.Thread(target=replace, args=("2",))
    first.start()
    hosted.wait_until_hanging(held)
    replace("3")
    hosted.release(held)
    first.join(10)
    assert answers == [200, 409]


def test_an_eventual_cell_lags_and_an_absent_one_forbids() -> None:
    eventual = ClusterOptions(cell="honoured.eventual.prompt")
    with Hosted(ClusterFake, eventual, clock=Clock(is_manual=True)) as hosted, caller(hosted) as api:
        api.post(MAPS, json=config_map())
        assert api.get(f"{MAPS}/a").status_code == 404
        hosted.advance(2 * SECOND_NS)
        assert api.get(f"{MAPS}/a").status_code == 200
    absent = ClusterOptions(cell="honoured.absent.prompt")
    with Hosted(ClusterFake, absent) as hosted, caller(hosted) as api:
        assert api.post(MAPS, json=config_map()).status_code == 201
        assert (api.get(MAPS).status_code, api.get(f"{MAPS}/a").json()["reason"]) == (403, "Forbidden")
