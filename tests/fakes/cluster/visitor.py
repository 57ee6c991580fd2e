"""A plain caller of the cluster, objects to send it, and what tests ask about what it did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import httpx

from fakes.wire.hosting import Hosted
from tests.fakes.wire.garbage import ODD, Shot

TOKEN = "test-token-of-the-cluster"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
NAMESPACES = "/api/v1/namespaces"
SECOND_NS = 1_000_000_000
MERGE = {"content-type": "application/merge-patch+json"}
STEPS = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
SEEN_ODD = tuple(each for each in ODD if not isinstance(each, int) or abs(each) < 1 << 80)
"""Without the number that is too long to be written."""
Headers = list[tuple[bytes, bytes]]


def caller(hosted: Hosted, token: str = TOKEN) -> httpx.Client:
    """One that keeps its connection and never asks twice."""
    headers = {"authorization": f"Bearer {token}", "user-agent": "visitor/1"}
    return httpx.Client(base_url=hosted.places["http"].url, headers=headers)


def fresh(hosted: Hosted) -> Hosted:
    """The same fake, with nothing in it and without hooks."""
    hosted.call(hosted.desk.board.clear)
    hosted.call(lambda: hosted.desk.restore([]))
    return hosted


def config_map(name: str = "a", value: str = "1", operation: str = "op-1", **metadata: Any) -> dict[str, Any]:
    """A config map that says whose it is."""
    marked = {"name": name, "annotations": {"knownstate/operation": operation}, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": marked, "data": {"k": value}}


def pods() -> dict[str, Any]:
    """A template of pods."""
    spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    return {"metadata": {"labels": {"app": "web"}}, "spec": spec}


def deployment(name: str = "web", replicas: int = 2, **metadata: Any) -> dict[str, Any]:
    """A deployment."""
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": pods()}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def job(name: str = "once") -> dict[str, Any]:
    """A job."""
    return {"metadata": {"name": name}, "spec": {"template": pods()}}


def bent(random: Random, value: Any) -> Any:
    """The same value with something odd somewhere inside."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        name = random.choice(list(value))
        return {**value, name: bent(random, value[name])}
    if isinstance(value, list) and value and random.random() < 0.8:
        return [bent(random, value[0]), *value[1:]]
    return random.choice(SEEN_ODD)


def bent_shots(seed: int, count: int, valid: list[tuple[str, str, Any]], headers: Headers) -> Iterator[Shot]:
    """Requests whose bodies are valid but for one value, at any depth."""
    random = Random(seed)
    for _ in range(count):
        method, path, body = random.choice(valid)
        text = json.dumps(bent(random, body))
        yield Shot(method, path, b"", headers, text.encode())


def effects(hosted: Hosted, after: int = 0) -> list[tuple[str, str, str]]:
    """(action, target, operation) of every effect after an entry."""
    found = [entry.data for entry in hosted.entries("effect") if entry.number > after]
    return [(data["action"], data["target"], data["operation"]) for data in found]


def mark(hosted: Hosted) -> int:
    """The number of the newest entry."""
    return hosted.call(lambda: hosted.desk.journal.last_number)


def counted(hosted: Hosted, before: Mapping[str, int]) -> tuple[int, int, int]:
    """(arrivals, commits, responses) since then."""
    now = hosted.counts()
    return tuple(now[name] - before[name] for name in ("arrivals", "commits", "responses"))  # type: ignore[return-value]
