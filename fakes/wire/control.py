"""The control of one fake over HTTP, on a port of its own: journal, hooks, clock, snapshots, and what callers saw.

    GET    /                     name, ports, time, counts
    GET    /state                the present state, for people
    GET    /journal?after=N      entries above N (`kind=` narrows; `wait=SECONDS` waits for the first new one)
    GET    /counts               arrivals, commits, responses, caller views
    GET    /hooks                armed hooks, and who hangs at them
    POST   /hooks                {"hook": "after-commit = reset"} -> {"id": ...}
    DELETE /hooks, /hooks/ID     disarm all, or one; who hangs goes on
    POST   /hooks/ID/release     let those hanging go on
    POST   /views                {"call": ..., "outcome": ...}: what a caller saw (`call` may be left out)
    POST   /clock/advance        {"duration": "24h"}
    GET    /snapshot             the whole state as documents
    PUT    /snapshot             go back to such a state

Never here: a provider. Requests to this port are not arrivals.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.wire.fake import Fake, Place
from fakes.wire.journal_file import Document, Entry
from fakes.wire.points import duration_ns, parse_hook
from harness.model.errors import KnownstateError

WAIT_MAX_S = 30.0
POLL_S = 0.02
ENTRIES_MAX = 10_000


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class HookBody(_Body):
    """One hook in its text form."""

    hook: str = Field(max_length=1000)


class ViewBody(_Body):
    """What a caller saw."""

    outcome: str = Field(max_length=500)
    call: str = Field("", max_length=200)


class AdvanceBody(_Body):
    """How far the clock is to jump."""

    duration: str = Field(max_length=40)


class SnapshotBody(_Body):
    """A whole state."""

    documents: list[tuple[str, str, Any]]


def counts(entries: Counter[str], commit_kinds: Iterable[str]) -> dict[str, int]:
    """The four counts, none of which implies another."""
    return {
        "arrivals": entries["arrived"],
        "commits": sum(entries[kind] for kind in commit_kinds),
        "responses": entries["responded"],
        "caller_views": entries["caller-saw"],
    }


def entry_data(entry: Entry) -> dict[str, Any]:
    """One entry as JSON data."""
    return {**entry._asdict(), "data": dict(entry.data)}


def control_application(fake: Fake, places: Mapping[str, Place]) -> Starlette:
    """The application of one hosted fake."""
    control = Control(fake, places)
    return Starlette(
        routes=[
            Route("/", control.about),
            Route("/state", control.state),
            Route("/journal", control.journal),
            Route("/counts", control.counts),
            Route("/hooks", control.hooks, methods=["GET"]),
            Route("/hooks", control.arm, methods=["POST"]),
            Route("/hooks", control.disarm_all, methods=["DELETE"]),
            Route("/hooks/{name}", control.disarm, methods=["DELETE"]),
            Route("/hooks/{name}/release", control.release, methods=["POST"]),
            Route("/views", control.views, methods=["POST"]),
            Route("/clock/advance", control.advance, methods=["POST"]),
            Route("/snapshot", control.snapshot, methods=["GET"]),
            Route("/snapshot", control.restore, methods=["PUT"]),
        ],
        exception_handlers={ValidationError: _refuse, ValueError: _refuse, KnownstateError: _refuse},
    )


class Control:
    """What each route does. Runs in the fake's own loop."""

    def __init__(self, fake: Fake, places: Mapping[str, Place]) -> None:
        self._fake = fake
        self._desk = fake.desk
        self._places = places

    async def about(self, request: Request) -> JSONResponse:
        opened = {name: list(place) for name, place in self._places.items()}
        time = {"now_ns": self._desk.clock.now_ns(), "is_manual": self._desk.clock.is_manual}
        said = {"name": self._fake.name, "title": self._fake.title, "ports": opened, "clock": time}
        return JSONResponse({**said, "counts": self._counts()})

    async def state(self, request: Request) -> JSONResponse:
        return JSONResponse(self._fake.view())

    async def journal(self, request: Request) -> JSONResponse:
        asked, journal = request.query_params, self._desk.journal
        after, wait_s = int(asked.get("after", 0)), min(float(asked.get("wait", 0)), WAIT_MAX_S)
        waited_s = 0.0
        while journal.last_number <= after and waited_s < wait_s:
            await asyncio.sleep(POLL_S)
            waited_s += POLL_S
        found = journal.entries(after, ENTRIES_MAX)
        kind = asked.get("kind")
        return JSONResponse([entry_data(entry) for entry in found if kind in (None, entry.kind)])

    async def counts(self, request: Request) -> JSONResponse:
        return JSONResponse(self._counts())

    async def hooks(self, request: Request) -> JSONResponse:
        return JSONResponse(self._desk.board.listing())

    async def arm(self, request: Request) -> JSONResponse:
        body = HookBody.model_validate_json(await request.body())
        return JSONResponse({"id": self._desk.board.arm(parse_hook(body.hook))}, status_code=201)

    async def disarm_all(self, request: Request) -> JSONResponse:
        self._desk.board.clear()
        return JSONResponse({})

    async def disarm(self, request: Request) -> JSONResponse:
        self._desk.board.disarm(request.path_params["name"])
        return JSONResponse({})

    async def release(self, request: Request) -> JSONResponse:
        return JSONResponse({"released": self._desk.board.release(request.path_params["name"])})

    async def views(self, request: Request) -> JSONResponse:
        body = ViewBody.model_validate_json(await request.body())
        self._desk.note("caller-saw", body.call, {"outcome": body.outcome})
        self._desk.commit()
        return JSONResponse({}, status_code=201)

    async def advance(self, request: Request) -> JSONResponse:
        body = AdvanceBody.model_validate_json(await request.body())
        self._desk.advance_ns(duration_ns(body.duration))
        return JSONResponse({"now_ns": self._desk.clock.now_ns()})

    async def snapshot(self, request: Request) -> JSONResponse:
        return JSONResponse({"documents": [list(document) for document in self._desk.snapshot()]})

    async def restore(self, request: Request) -> JSONResponse:
        body = SnapshotBody.model_validate_json(await request.body())
        self._desk.restore([Document(*row) for row in body.documents])
        return JSONResponse({})

    def _counts(self) -> dict[str, int]:
        return counts(self._desk.journal.counts(), self._fake.commit_kinds)


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": _in_words(error)}, status_code=400)


def _in_words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors())
    return str(error)
