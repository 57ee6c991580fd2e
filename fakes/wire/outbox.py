"""An outbox: events that are delivered to subscribers at least once, in no promised order.

Theory. An event is written down in the same commit as what it tells of, and leaves afterwards; it is written off only
when its subscriber answered 2xx, or after ATTEMPTS_MAX attempts. So a fake that dies in between delivers it after its
restart, perhaps for the second time: receivers must know an event by its id. Each event goes its own way, so that a
late one is overtaken.

    queued --2xx--> delivered        queued --no 2xx--> queued, after a pause that doubles; at last: abandoned
    queued --hook at EVENT: drop--> dropped

Receivers are on this machine: other addresses are refused.
Never here: what an event says, and when there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx
from pydantic import AfterValidator

from fakes.wire.desk import Desk
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf
from harness.model.cell import SECOND_NS

EVENT = "event"
QUEUED, DELIVERED, ABANDONED, DROPPED = "queued", "delivered", "abandoned", "dropped"
ATTEMPTS_MAX = 6
FIRST_PAUSE_NS = 1 * SECOND_NS
ANSWER_MAX_S = 5.0
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def _local(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname not in LOCAL_HOSTS or not parts.port:  # its own ValueError: no number
        raise ValueError(f"{url!r} is no receiver; one has the form http://127.0.0.1:PORT/PATH")
    return url


Receiver = Annotated[str, AfterValidator(_local)]
"""The address of a subscriber, for options."""


class Outbox:
    """The events of one fake, on its shelf, and their delivery."""

    def __init__(self, desk: Desk, shelf: Shelf, receivers: tuple[str, ...]) -> None:
        self._desk = desk
        self._shelf = shelf
        self._receivers = receivers
        self._client: httpx.AsyncClient | None = None
        self._age = 0

    def open(self) -> None:
        """Begin to deliver; what was queued before goes first."""
        self._client = httpx.AsyncClient(timeout=ANSWER_MAX_S, trust_env=False)
        self.resume()

    async def close(self) -> None:
        """End."""
        self._age += 1
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def resume(self) -> None:
        """Deliver all that is queued: after a start, and after a restore. Deliveries of before end unseen."""
        self._age += 1
        if self._client is None:
            return
        for id_, event in self._shelf.all(EVENT).items():
            if event["state"] == QUEUED:
                self._desk.go(self._deliver(id_, self._age))

    def put(self, kind: str, facts: Facts, data: Mapping[str, Any]) -> None:
        """Queue an event for every subscriber; it leaves as soon as the present step is durable."""
        for receiver in self._receivers:
            id_ = f"{self._desk.name}-event-{self._shelf.number(EVENT)}"
            event = {"type": kind, "made_ns": self._desk.clock.now_ns(), "data": dict(data), "to": receiver}
            about = {"target": facts.target, "operation": facts.operation, "call": facts.call}
            self._shelf.put(EVENT, id_, {**event, "about": about, "state": QUEUED, "attempts": 0})
            self._desk.note("event-queued", facts.call, {"event": id_, "type": kind, "target": facts.target})
            self._desk.go(self._deliver(id_, self._age))

    def events(self) -> list[dict[str, Any]]:
        """All events and what became of them, for people."""
        return [{"id": id_, **event} for id_, event in self._shelf.all(EVENT).items()]

    async def _deliver(self, id_: str, age: int) -> None:
        if age != self._age:
            return  # Of a past that a restore took back, or of a fake that is closing.
        event = self._shelf.get(EVENT, id_)
        facts = Facts(line="event", what=event["type"], **event["about"])
        pause_ns = FIRST_PAUSE_NS << event["attempts"]
        sent: list[bool] = []

        async def send() -> None:
            sent.append(age == self._age and await self._send(id_))

        await self._desk.deliver(facts, send)
        if age != self._age:
            return
        event = self._shelf.get(EVENT, id_)
        state = DROPPED if not sent else DELIVERED if any(sent) else QUEUED
        if state == QUEUED and event["attempts"] >= ATTEMPTS_MAX:
            state = ABANDONED
        self._shelf.put(EVENT, id_, {**event, "state": state})
        self._desk.note(f"event-{state}" if state != QUEUED else "event-refused", facts.call, {"event": id_})
        self._desk.commit()
        if state == QUEUED:
            self._desk.clock.later(pause_ns, lambda: self._again(id_, age))

    def _again(self, id_: str, age: int) -> None:
        if age == self._age:
            self._desk.go(self._deliver(id_, age))

    async def _send(self, id_: str) -> bool:
        """One attempt. Was it taken?"""
        event = self._shelf.get(EVENT, id_)
        attempt = event["attempts"] + 1
        self._shelf.put(EVENT, id_, {**event, "attempts": attempt})
        body = {"id": id_, "type": event["type"], "made_ns": event["made_ns"], "data": event["data"]}
        assert self._client is not None, "events are delivered while the fake is open"
        self._desk.commit()
        try:
            answer = await self._client.post(event["to"], json=body, headers={"event-attempt": str(attempt)})
        except (httpx.HTTPError, RuntimeError) as error:  # the latter from a client that was closed meanwhile
            self._desk.note("event-sent", "", {"event": id_, "attempt": attempt, "error": type(error).__name__})
            return False
        self._desk.note("event-sent", "", {"event": id_, "attempt": attempt, "code": answer.status_code})
        return answer.is_success
