"""Lists and watches: selectors, pages of one picture, and what happens when the past was forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from fakes.wire.hosting import Hosted
from tests.fakes.cluster.visitor import MAPS, MERGE, SECOND_NS, config_map, mark

Lines = Iterator[tuple[str, str]]


def names(answer: httpx.Response) -> list[str]:
    return [each["metadata"]["name"] for each in answer.json()["items"]]


def forget(hosted: Hosted, api: httpx.Client) -> None:
    """The server forgets the past while it answers something else."""
    hosted.arm("read target=Namespace/kube-system = compete:compact")
    assert api.get("/api/v1/namespaces/kube-system").status_code == 200


@contextmanager
def watching(api: httpx.Client, **query: Any) -> Iterator[Lines]:
    """A watch as (type, name or version of a bookmark, or code of an error)."""
    with api.stream("GET", MAPS, params={"watch": "true", **query}, timeout=10) as answer:
        assert answer.status_code == 200
        yield (_told(json.loads(line)) for line in answer.iter_lines())


def _told(event: dict[str, Any]) -> tuple[str, str]:
    value = event["object"]
    if event["type"] == "ERROR":
        return "ERROR", str(value["code"])
    metadata = value["metadata"]
    return event["type"], metadata.get("name") or metadata["resourceVersion"]


def test_a_list_is_narrowed_by_labels_and_name(api: httpx.Client) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        api.post(MAPS, json=config_map(name, labels={"l": label}))
    assert names(api.get(MAPS, params={"labelSelector": "l in (x)"})) == ["a", "c"]
    assert names(api.get("/api/v1/configmaps", params={"fieldSelector": "metadata.name=b"})) == ["b"]
    assert api.get(MAPS, params={"labelSelector": "("}).status_code == 400
    assert api.get(MAPS, params={"fieldSelector": "spec.x=1"}).status_code == 400


def test_the_pages_of_a_list_are_of_one_picture(api: httpx.Client) -> None:
    for name in "abcde":
        api.post(MAPS, json=config_map(name))
    first = api.get(MAPS, params={"limit": 2}).json()["metadata"]
    assert first["remainingItemCount"] == 3
    api.delete(f"{MAPS}/d")
    api.post(MAPS, json=config_map("cc"))
    second = api.get(MAPS, params={"limit": 2, "continue": first["continue"]})
    assert names(second) == ["c", "d"]
    assert second.json()["metadata"]["resourceVersion"] == first["resourceVersion"]
    last = api.get(MAPS, params={"limit": 2, "continue": second.json()["metadata"]["continue"]})
    assert names(last) == ["e"]
    assert "continue" not in last.json()["metadata"]
    assert names(api.get(MAPS)) == ["a", "b", "c", "cc", "e"]


def test_a_list_cannot_go_on_in_a_past_that_was_forgotten(hosted: Hosted, api: httpx.Client) -> None:
    for name in "abc":
        api.post(MAPS, json=config_map(name))
    token = api.get(MAPS, params={"limit": 1}).json()["metadata"]["continue"]
    api.post(MAPS, json=config_map("d"))
    forget(hosted, api)
    answer = api.get(MAPS, params={"limit": 1, "continue": token})
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")
    assert api.get(MAPS, params={"continue": "!"}).status_code == 400
    assert api.get(MAPS, params={"continue": "W10"}).status_code == 400


def test_a_version_that_has_not_come_is_too_large(api: httpx.Client) -> None:
    answer = api.get(MAPS, params={"resourceVersion": "99999"})
    assert (answer.status_code, answer.json()["reason"]) == (504, "Timeout")
    assert api.get(MAPS, params={"resourceVersion": "x"}).status_code == 400


def test_a_list_shows_an_exact_version(api: httpx.Client) -> None:
    version = api.post(MAPS, json=config_map("a")).json()["metadata"]["resourceVersion"]
    api.post(MAPS, json=config_map("b"))
    assert names(api.get(MAPS, params={"resourceVersion": version, "resourceVersionMatch": "Exact"})) == ["a"]


def test_a_watch_tells_the_state_and_then_every_change(api: httpx.Client) -> None:
    api.post(MAPS, json=config_map("a"))
    with watching(api) as lines:
        assert next(lines) == ("ADDED", "a")
        api.post(MAPS, json=config_map("b"))
        api.patch(f"{MAPS}/a", json={"data": {"k": "2"}}, headers=MERGE)
        api.delete(f"{MAPS}/a")
        assert [next(lines) for _ in range(3)] == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_a_watch_goes_on_from_a_version(api: httpx.Client) -> None:
    version = api.post(MAPS, json=config_map("a")).json()["metadata"]["resourceVersion"]
    api.post(MAPS, json=config_map("b"))
    with watching(api, resourceVersion=version) as lines:
        assert next(lines) == ("ADDED", "b")


def test_a_watch_from_a_forgotten_version_says_410_and_ends(hosted: Hosted, api: httpx.Client) -> None:
    version = api.post(MAPS, json=config_map("a")).json()["metadata"]["resourceVersion"]
    api.post(MAPS, json=config_map("b"))
    forget(hosted, api)
    with watching(api, resourceVersion=version) as lines:
        assert list(lines) == [("ERROR", "410")]
    newest = api.get(MAPS).json()["metadata"]["resourceVersion"]
    with watching(api, resourceVersion=newest) as lines:
        api.post(MAPS, json=config_map("c"))
        assert next(lines) == ("ADDED", "c")


def test_a_watch_by_labels_sees_things_come_and_go(api: httpx.Client) -> None:
    with watching(api, labelSelector="l=x") as lines:
        api.post(MAPS, json=config_map("a"))
        for label in ("x", "y"):
            api.patch(f"{MAPS}/a", json={"metadata": {"labels": {"l": label}}}, headers=MERGE)
        assert [next(lines), next(lines)] == [("ADDED", "a"), ("DELETED", "a")]


def test_a_watch_ends_when_its_time_is_over(hosted: Hosted, api: httpx.Client) -> None:
    version = api.post(MAPS, json=config_map("a")).json()["metadata"]["resourceVersion"]
    with watching(api, timeoutSeconds=30, allowWatchBookmarks="true") as lines:
        assert next(lines) == ("ADDED", "a")
        hosted.advance(30 * SECOND_NS)
        assert list(lines) == [("BOOKMARK", version)]


def test_a_restore_ends_watches(hosted: Hosted, api: httpx.Client) -> None:
    kept = hosted.call(hosted.desk.snapshot)
    api.post(MAPS, json=config_map("a"))
    with watching(api) as lines:
        assert next(lines) == ("ADDED", "a")
        hosted.call(lambda: hosted.desk.restore(kept))
        assert list(lines) == []


def test_events_are_lost_doubled_and_late_where_they_are_told_to_be(hosted: Hosted, api: httpx.Client) -> None:
    before = mark(hosted)
    hosted.arm("event target=*/a = drop")
    hosted.arm("event target=*/b = twice")
    hosted.arm("event target=*/c = late:5s")
    with watching(api) as lines:
        for name in "abcd":
            api.post(MAPS, json=config_map(name))
        assert [next(lines) for _ in range(3)] == [("ADDED", "b"), ("ADDED", "b"), ("ADDED", "d")]
        hosted.advance(5 * SECOND_NS)
        assert next(lines) == ("ADDED", "c")
    assert len([entry for entry in hosted.entries("hook-fired") if entry.number > before]) == 3


def test_a_stale_list_shows_the_world_of_earlier(hosted: Hosted, api: httpx.Client) -> None:
    api.post(MAPS, json=config_map("a"))
    hosted.advance(10 * SECOND_NS)
    api.post(MAPS, json=config_map("b"))
    api.patch(f"{MAPS}/a", json={"data": {"k": "2"}}, headers=MERGE)
    hosted.arm("read what=object.list = stale:5s")
    hosted.arm("read what=object.get target=*/a = stale:5s")
    stale = api.get(MAPS)
    assert [(each["metadata"]["name"], each["data"]["k"]) for each in stale.json()["items"]] == [("a", "1")]
    assert api.get(f"{MAPS}/a").json()["data"] == {"k": "1"}
    assert names(api.get(MAPS)) == ["a", "b"]
    assert api.get(f"{MAPS}/a").json()["data"] == {"k": "2"}


@pytest.mark.parametrize("query", [{"limit": "-1"}, {"limit": "x"}, {"watch": "1", "timeoutSeconds": "x"}])
def test_a_query_that_says_no_number_is_refused(api: httpx.Client, query: dict[str, str]) -> None:
    assert api.get(MAPS, params=query).status_code == 400
