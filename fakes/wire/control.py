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
    desk = fake.desk

    async def about(request: Request) -> JSONResponse:
        opened = {name: list(place) for name, place in places.items()}
        time = {"now_ns": desk.clock.now_ns(), "is_manual": desk.clock.is_manual}
        said = {"name": fake.name, "title": fake.title, "ports": opened, "clock": time}
        return JSONResponse({**said, "counts": counts(desk.journal.counts(), fake.commit_kinds)})

    async def state(request: Request) -> JSONResponse:
        return JSONResponse(fake.view())

    async def journal(request: Request) -> JSONResponse:
        asked = request.query_params
        after, wait_s = int(asked.get("after", 0)), min(float(asked.get("wait", 0)), WAIT_MAX_S)
        waited_s = 0.0
        while desk.journal.last_number <= after and waited_s < wait_s:
            await asyncio.sleep(POLL_S)
            waited_s += POLL_S
        found = desk.journal.entries(after, ENTRIES_MAX)
        kind = asked.get("kind")
        return JSONResponse([entry_data(entry) for entry in found if kind in (None, entry.kind)])

    async def four_counts(request: Request) -> JSONResponse:
        return JSONResponse(counts(desk.journal.counts(), fake.commit_kinds))

    async def hooks(request: Request) -> JSONResponse:
        return JSONResponse(desk.board.listing())

    async def arm(request: Request) -> JSONResponse:
        body = HookBody.model_validate_json(await request.body())
        return JSONResponse({"id": desk.board.arm(parse_hook(body.hook))}, status_code=201)

    async def disarm_all(request: Request) -> JSONResponse:
        desk.board.clear()
        return JSONResponse({})

    async def disarm(request: Request) -> JSONResponse:
        desk.board.disarm(request.path_params["name"])
        return JSONResponse({})

    async def release(request: Request) -> JSONResponse:
        return JSONResponse({"released": desk.board.release(request.path_params["name"])})

    async def views(request: Request) -> JSONResponse:
        body = ViewBody.model_validate_json(await request.body())
        desk.note("caller-saw", body.call, {"outcome": body.outcome})
        desk.commit()
        return JSONResponse({}, status_code=201)

    async def advance(request: Request) -> JSONResponse:
        body = AdvanceBody.model_validate_json(await request.body())
        desk.advance_ns(duration_ns(body.duration))
        return JSONResponse({"now_ns": desk.clock.now_ns()})

    async def snapshot(request: Request) -> JSONResponse:
        return JSONResponse({"documents": [list(document) for document in desk.snapshot()]})

    async def restore(request: Request) -> JSONResponse:
        body = SnapshotBody.model_validate_json(await request.body())
        desk.restore([Document(*row) for row in body.documents])
        return JSONResponse({})

    async def refuse(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": _in_words(error)}, status_code=400)

    return Starlette(
        routes=[
            Route("/", about),
            Route("/state", state),
            Route("/journal", journal),
            Route("/counts", four_counts),
            Route("/hooks", hooks, methods=["GET"]),
            Route("/hooks", arm, methods=["POST"]),
            Route("/hooks", disarm_all, methods=["DELETE"]),
            Route("/hooks/{name}", disarm, methods=["DELETE"]),
            Route("/hooks/{name}/release", release, methods=["POST"]),
            Route("/views", views, methods=["POST"]),
            Route("/clock/advance", advance, methods=["POST"]),
            Route("/snapshot", snapshot, methods=["GET"]),
            Route("/snapshot", restore, methods=["PUT"]),
        ],
        exception_handlers={ValidationError: refuse, ValueError: refuse, KnownstateError: refuse},
    )


def _in_words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors())
    return str(error)
