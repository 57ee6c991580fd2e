"""What the plain JSON providers are asked alike: hosting, cuts, order of points, restarts, garbage.

Never here: what one of them should answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from fakes.wire.clock import Clock
from fakes.wire.fake import Fake, Options
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from tests.fakes.wire.garbage import fire, shots
from tests.fakes.wire.way import ORDER, Cut, check_cut, seen

S = 1_000_000_000
LONG = {"x-operation": "o" * 150}
"""Makes an answer long enough to be cut everywhere."""


@contextmanager
def serving(
    kind: type[Fake], options: Options | None = None, folder: Path | None = None
) -> Iterator[tuple[Hosted, httpx.Client]]:
    """A fake whose clock only moves when told, and a client of it."""
    with Hosted(kind, options, folder=folder, clock=Clock(is_manual=True)) as hosted:
        with httpx.Client(base_url=hosted.places["http"].url, trust_env=False) as client:
            yield hosted, client
        assert not hosted.entries("bug"), hosted.entries("bug")[0].data["error"]


def code(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]


def effects(hosted: Hosted) -> list[tuple[str, str, str]]:
    """(action, target, operation) of all effects so far."""
    return [(e.data["action"], e.data["target"], e.data["operation"]) for e in hosted.entries("effect")]


def check_cut_of(hosted: Hosted, cut: Cut, method: str, path: str, body: Any = None) -> None:
    """A change that answers 201, cut as the row says."""
    before = seen(hosted)
    hosted.arm(cut.hook)
    try:
        with httpx.Client(base_url=hosted.places["http"].url, trust_env=False) as client:
            outcome = str(client.request(method, path, json=body, headers=LONG).status_code)
    except httpx.HTTPError as error:
        outcome = type(error).__name__
    check_cut(hosted, cut, outcome, before)


def crossed_by(hosted: Hosted, ask: Any) -> list[str]:
    """The points that a request crosses, in order."""
    hosted.call(hosted.desk.board.clear)
    before, answered = len(hosted.entries("hook-fired")), len(hosted.entries("responded"))
    for point in (*ORDER, "read"):
        hosted.arm(f"{point} = pass")
    ask()
    hosted.wait_for("responded", answered + 1)
    hosted.run(_turn())
    crossed = [entry.data["point"] for entry in hosted.entries("hook-fired")[before:]]
    hosted.call(hosted.desk.board.clear)
    return crossed


async def _turn() -> None:
    """RESPONDED is crossed in the step that notes the response: after this call it has been."""


def check_garbage(
    hosted: Hosted, valid: list[tuple[str, str, Mapping[str, Any]]], seed: int, count: int = 4000
) -> dict[int, int]:
    """Fire garbage at the face; how often each status was answered."""
    front = Front(hosted.desk, hosted.fake.application(), hosted.fake)  # type: ignore[attr-defined, arg-type]
    statuses = fire(hosted, front, shots(seed, count, valid))
    assert not hosted.entries("bug"), hosted.entries("bug")[0].data["error"]
    assert sum(statuses.values()) == count
    assert {0, 500} & statuses.keys() == set()
    assert statuses[400] > count // 10
    return statuses
