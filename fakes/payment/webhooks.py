"""Sending events to webhook endpoints: one try after the other, until it is answered by 2xx or the tries are used up.

Every try crosses EVENT with `line` the event's type: `drop` loses it (it is tried again, as if nobody had answered),
`late` lets others overtake it, `twice` repeats it. To one endpoint one request is made at a time, in the order of the
events unless a hook or a retry disturbs it.
Never here: what is sent (`outbox.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

import httpx

from fakes.payment import outbox
from fakes.payment.account import Account
from fakes.payment.outbox import Delivery
from fakes.wire.desk import Desk
from fakes.wire.points import Facts

ANSWER_MAX_S = 10.0


class Postman:
    """Delivers what stands in the outbox."""

    def __init__(self, desk: Desk, account: Account, hosts: Collection[str]) -> None:
        self._desk = desk
        self._account = account
        self._hosts = frozenset(hosts)
        self._turns: dict[str, asyncio.Lock] = {}
        self._client: httpx.AsyncClient | None = None
        self._under_way: dict[str, asyncio.Task[Any] | None] = {}

    def send(self, name: str) -> None:
        """Begin to deliver this entry of the outbox."""
        if name not in self._under_way:
            self._under_way[name] = None
            self._desk.go(self._deliver(name))

    async def close(self) -> None:
        """Stop where it is; what was not answered stays in the outbox."""
        tasks = [task for task in self._under_way.values() if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _deliver(self, name: str) -> None:
        self._under_way[name] = asyncio.current_task()
        try:
            while (wait_ns := outbox.due_in_ns(self._account, name)) is not None:
                if wait_ns:
                    await self._desk.clock.sleep(wait_ns)
                await self._try(name)
        finally:
            self._under_way.pop(name, None)

    async def _try(self, name: str) -> None:
        delivery = outbox.delivery(self._account, name)
        if delivery is None:
            outbox.answered(self._account, name, 200)  # the endpoint is gone, so nothing is owed to it
            return
        statuses: list[int] = []

        async def send() -> None:
            turn = self._turns.setdefault(delivery.endpoint, asyncio.Lock())
            async with turn:
                statuses.append(await self._post(delivery))

        facts = Facts(line=delivery.type, what="event", target=delivery.endpoint, key=delivery.event)
        await self._desk.deliver(facts, send)
        status = max(statuses, default=0)
        self._note(delivery, statuses)
        outbox.answered(self._account, name, status)
        self._desk.commit()

    async def _post(self, delivery: Delivery) -> int:
        """The status it is answered by; 0 without an answer."""
        if urlsplit(delivery.url).hostname not in self._hosts:
            return 0
        self._client = self._client or httpx.AsyncClient(timeout=ANSWER_MAX_S, trust_env=False)
        headers = {"content-type": "application/json; charset=utf-8", "stripe-signature": delivery.signature}
        try:
            said = await self._client.post(delivery.url, content=delivery.body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
            return 0
        return said.status_code

    def _note(self, delivery: Delivery, statuses: list[int]) -> None:
        told = {"event": delivery.event, "type": delivery.type, "endpoint": delivery.endpoint}
        self._desk.note("webhook", "", {**told, "attempt": delivery.attempt + 1, "statuses": statuses})
