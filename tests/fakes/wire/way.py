"""What the three JSON fakes are asked alike: a change, cut everywhere on its way. Never here: what a fake should answer.

Measured with httpx, which sends a POST once, whatever happens to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from fakes.wire.hosting import Hosted

COMMIT_KINDS = ("effect", "approval-requested", "approval-granted", "approval-denied", "approval-revoked")


class Cut(NamedTuple):
    """A hook, what the caller of a change sees (a status, or an exception), and what happened at the fake.

    Where a connection ends as soon as it stands, it depends on the moment which exception it is: `A|B`.
    """

    hook: str
    outcome: str
    arrivals: int
    commits: int
    responses: int


CUTS = (
    Cut("connect = reset", "ReadError|ConnectError|WriteError|RemoteProtocolError", 0, 0, 0),
    Cut("connect = fin", "RemoteProtocolError|ReadError|ConnectError|WriteError", 0, 0, 0),
    Cut("received = reset", "ReadError", 1, 0, 0),
    Cut("received = status:503", "503", 1, 0, 1),
    Cut("parsed = fin", "RemoteProtocolError", 1, 0, 0),
    Cut("parsed = status:429:7", "429", 1, 0, 1),
    Cut("key-claimed = reset", "ReadError", 1, 0, 0),
    Cut("key-claimed = status:503", "503", 1, 0, 1),
    Cut("before-commit = reset", "ReadError", 1, 0, 0),
    Cut("before-commit = status:500", "500", 1, 0, 1),
    Cut("after-commit = reset", "ReadError", 1, 1, 0),
    Cut("after-commit = fin", "RemoteProtocolError", 1, 1, 0),
    Cut("after-commit = status:500", "500", 1, 1, 1),
    Cut("responding = truncate:0", "RemoteProtocolError", 1, 1, 0),
    Cut("responding = truncate:5", "RemoteProtocolError", 1, 1, 0),
    Cut("responding = truncate:60", "RemoteProtocolError", 1, 1, 0),
    Cut("responding = truncate:200", "RemoteProtocolError", 1, 1, 0),
    Cut("responding = truncate:200:reset", "ReadError", 1, 1, 0),
    Cut("responded = reset", "201", 1, 1, 1),
)
ORDER = ("received", "parsed", "key-claimed", "before-commit", "after-commit", "responding", "responded")
"""The points a change crosses once its connection stands."""


def outcome_of(url: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> str:
    """What a caller with a new connection sees of a POST: the status, or the exception's name."""
    try:
        with httpx.Client(trust_env=False) as client:
            return str(client.post(url, json=body, headers=headers).status_code)
    except httpx.HTTPError as error:
        return type(error).__name__


def commits(hosted: Hosted) -> int:
    """How many changes were made."""
    return sum(1 for entry in hosted.entries() if entry.kind in COMMIT_KINDS)


def seen(hosted: Hosted) -> tuple[int, int, int]:
    """Arrivals, commits, responses so far."""
    counts = hosted.counts()
    return counts["arrivals"], commits(hosted), counts["responses"]


def check_cut(hosted: Hosted, cut: Cut, outcome: str, before: tuple[int, int, int]) -> None:
    """The hook fired, the caller saw what the row says, and so did the journal."""
    (fired,) = hosted.wait_for("hook-fired")[-1:]
    assert cut.hook.startswith(fired.data["point"])
    assert outcome in cut.outcome.split("|")
    after = seen(hosted)
    assert tuple(b - a for a, b in zip(before, after, strict=True)) == (cut.arrivals, cut.commits, cut.responses)
    assert not hosted.entries("bug")
