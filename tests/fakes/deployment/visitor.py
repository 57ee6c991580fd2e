"""A plain caller of the forge, and what tests ask about what it did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import httpx

from fakes.wire.hosting import Hosted
from tests.fakes.wire.garbage import ODD, Shot

REPO = "/repos/acme/shop"
TOKEN = "test-token-of-the-forge"
OPERATION = {"X-Operation": "op-1"}
SEEN_ODD = tuple(each for each in ODD if not isinstance(each, int) or abs(each) < 1 << 80)
"""Without the number that is too long to be written."""
Headers = list[tuple[bytes, bytes]]


def caller(hosted: Hosted, token: str = TOKEN) -> httpx.Client:
    """One that keeps its connection and never asks twice."""
    return httpx.Client(base_url=hosted.places["http"].url + REPO, headers={"authorization": f"Bearer {token}"})


def root(hosted: Hosted) -> str:
    """The address of the repository itself, which the client above would end with a slash."""
    return hosted.places["http"].url + REPO


def fresh(hosted: Hosted) -> Hosted:
    """The same fake, with the first commit only and without hooks."""
    hosted.call(hosted.desk.board.clear)
    hosted.call(lambda: hosted.desk.restore([]))
    return hosted


def head(forge: httpx.Client, branch: str = "main") -> str:
    """Where a branch points."""
    return str(forge.get(f"/git/ref/heads/{branch}").json()["object"]["sha"])


def deploy(forge: httpx.Client, ref: str = "main", **more: Any) -> httpx.Response:
    """Ask for a deployment that says whose it is."""
    return forge.post("/deployments", json={"ref": ref, "payload": {"operation": "op-1", "target": "shop"}, **more})


def put_file(forge: httpx.Client, path: str = "a.txt", content: str = "YQ==", **more: Any) -> httpx.Response:
    """Commit a file."""
    return forge.put(f"/contents/{path}", json={"message": "m", "content": content, **more}, headers=OPERATION)


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
