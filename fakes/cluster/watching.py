"""Watches: every change of a collection as a line of JSON, from a version on, until the time is over.

    {"type": "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR", "object": ...}

A change that brings an object into a selector's sight is an ADDED, one that takes it out a DELETED. A watch from a
version that is compacted says so with an ERROR of code 410 and ends: its reader lists again. Each line crosses EVENT
(`what=object.watch`, the object's target), where it can be lost, doubled or late.
Never here: lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse

from fakes.cluster.asking import Resource, is_yes, whole
from fakes.cluster.kinds import Object
from fakes.cluster.statuses import status_data
from fakes.cluster.store import Event, Place, shown, target_of
from fakes.wire.http import call_of
from fakes.wire.points import Facts
from harness.model.cell import SECOND_NS

if TYPE_CHECKING:
    from fakes.cluster.face import ClusterFake

TIMEOUT_S, TIMEOUT_MAX_S = 1800, 86_400
WAITING_MAX = 10_000
"""A reader that is so far behind is cut off."""


class _Watch:
    """One watch: what it is about, and what waits to be written to it. None in the queue ends it."""

    def __init__(self, asked: Resource, is_meant: Callable[[Object], bool], call: str) -> None:
        self.asked = asked
        self.call = call
        self._is_meant = is_meant
        self.queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def seen(self, event: Event) -> dict[str, Any] | None:
        """The line this watch has of an event, or None."""
        place, kind = Place.parse(event.place), self.asked.kind
        if place.plural != kind.plural or self.asked.namespace not in ("", place.namespace):
            return None
        was = event.before is not None and self._is_meant(event.before)
        is_now = event.type != "DELETED" and self._is_meant(event.after)
        if not was and not is_now:
            return None
        type_ = "DELETED" if not is_now else "MODIFIED" if was else "ADDED"
        return {"type": type_, "object": shown(kind, event.after)}

    def take(self, line: dict[str, Any]) -> None:
        """Let it be written."""
        self.queue.put_nowait(line if self.queue.qsize() < WAITING_MAX else None)


class Watching:
    """All watches of a cluster."""

    def __init__(self, fake: ClusterFake) -> None:
        self._fake = fake
        self._open: dict[_Watch, None] = {}
        fake.store.listeners.append(self._heard)

    def end_all(self) -> None:
        """The state was replaced: whoever watched must look again."""
        for watch in self._open:
            watch.queue.put_nowait(None)

    def stream(
        self, http: HttpRequest, asked: Resource, is_meant: Callable[[Object], bool], wanted: int, version: int
    ) -> Response:
        """The response of a watch: from version `wanted` on (0: from the state at `version`, told as additions)."""
        timeout_s = min(whole(http.query_params, "timeoutSeconds") or TIMEOUT_S, TIMEOUT_MAX_S)
        has_bookmarks = is_yes(http.query_params, "allowWatchBookmarks")
        watch = _Watch(asked, is_meant, call_of(http).number)

        async def lines() -> AsyncIterator[bytes]:
            self._fake.desk.clock.later(timeout_s * SECOND_NS, lambda: watch.queue.put_nowait(None))
            try:
                yield b""  # the head leaves at once, before there is anything to tell
                self._begin(watch, is_meant, wanted, version)
                while (line := await watch.queue.get()) is not None:
                    yield orjson.dumps(line) + b"\n"
                if has_bookmarks:
                    yield orjson.dumps(self._bookmark(asked)) + b"\n"
            finally:
                self._open.pop(watch, None)

        return StreamingResponse(lines(), 200, media_type="application/json")

    def _begin(self, watch: _Watch, is_meant: Callable[[Object], bool], wanted: int, version: int) -> None:
        """Open it, and tell what comes first: the state, or what happened since the wanted version, or that it is too old.

        In one step: what is written after this is heard, and what was written before is in the events.
        """
        self._open[watch] = None
        store, kind = self._fake.store, watch.asked.kind
        if not wanted:
            for value in store.all_at(version, kind, watch.asked.namespace).values():
                if is_meant(value):
                    self._tell(watch, {"type": "ADDED", "object": shown(kind, value)})
            wanted = version
        if wanted < store.compacted:
            message = f"too old resource version: {wanted} ({store.compacted})"
            watch.queue.put_nowait({"type": "ERROR", "object": status_data(410, message, "Expired")})
            watch.queue.put_nowait(None)
            return
        for event in store.events_after(wanted):
            if line := watch.seen(event):
                self._tell(watch, line)

    def _heard(self, event: Event) -> None:
        for watch in list(self._open):
            if line := watch.seen(event):
                self._tell(watch, line)

    def _tell(self, watch: _Watch, line: dict[str, Any]) -> None:
        desk = self._fake.desk
        if desk.board.is_empty:
            watch.take(line)
            return
        metadata = line["object"]["metadata"]
        target = target_of(watch.asked.kind, metadata.get("namespace", ""), metadata["name"])
        facts = Facts(call=watch.call, line=line["type"], what="object.watch", target=target)
        desk.go(desk.deliver(facts, _taker(watch, line)))

    def _bookmark(self, asked: Resource) -> dict[str, Any]:
        told = {"metadata": {"resourceVersion": str(self._fake.store.version)}}
        return {"type": "BOOKMARK", "object": shown(asked.kind, told)}


def _taker(watch: _Watch, line: dict[str, Any]) -> Callable[[], Awaitable[None]]:
    async def take() -> None:
        watch.take(line)

    return take
