"""The handles of a worker that is a real process: a file for a store, sockets for providers, scaled real time.

Here: the worker's half of every boundary. Before and after each thing that matters it tells the controller and waits
for `go`; a worker that is to die at a boundary dies while it waits. See `harness/inject/crossings.py` for the
controller's half.
Never here: names of boundaries, faults, anything the candidate could see of either.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.inject.connection import BoundaryConnection, commit_plainly
from harness.model.cell import SECOND_NS
from harness.model.claim import Claim
from harness.model.errors import ProviderFailure
from harness.model.wire import ProviderTraits, Reply, Request
from harness.rigs.channel import Channel
from harness.rigs.provider_client import Address, ProviderClient

STORE_WAIT_S = 1.0
"""How long a worker waits for another one's lock on the store."""
ORPHANED = 3
"""Exit code of a worker whose controller is gone."""


@dataclass(frozen=True, slots=True)
class Enlistment:
    """All that a process must know to be one incarnation of a worker in one run."""

    worker: str
    incarnation: int
    store: str
    """Path of the SQLite file."""
    addresses: Mapping[str, Address]
    providers: Mapping[str, ProviderTraits]
    epoch_ns: int
    """The machine's monotonic time at which the run's clock showed 0."""
    speed: int


def enlistment_from_plain(data: Mapping[str, Any]) -> Enlistment:
    """Read what `dataclasses.asdict` and JSON made of an enlistment."""
    addresses = {name: (address[0], address[1]) for name, address in data["addresses"].items()}
    providers = {name: ProviderTraits(**traits) for name, traits in data["providers"].items()}
    return Enlistment(**{**data, "addresses": addresses, "providers": providers})


class WorkerHandles:
    """What one incarnation is given. See `harness.candidates.contract.Handles`."""

    def __init__(self, enlistment: Enlistment, channel: Channel) -> None:
        self.worker = enlistment.worker
        self.incarnation = enlistment.incarnation
        self.providers = enlistment.providers
        self.silent = False
        """An auditor reads without crossing boundaries."""
        self._enlistment = enlistment
        self._channel = channel
        self._client = ProviderClient(enlistment.addresses)
        self._claims: list[Claim] = []
        self._next_write = ("", "")

    # -- time and people -----------------------------------------------------------------------------------------------

    def now_ns(self) -> int:
        return (time.monotonic_ns() - self._enlistment.epoch_ns) * self._enlistment.speed

    def sleep_ns(self, duration_ns: int) -> None:
        time.sleep(self._real_s(max(0, duration_ns)))

    def alert(self, subject: str, reason: str) -> None:
        self._report(say="alert", subject=subject, reason=reason)

    def mark(self, twin: str) -> None:
        """A broken twin says that its planted line ran."""
        self._report(say="mark", twin=twin)

    # -- the store -----------------------------------------------------------------------------------------------------

    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._enlistment.store, timeout=STORE_WAIT_S, factory=BoundaryConnection)
        connection.handles = self
        return connection

    def next_write(self, subject: str, label: str) -> None:
        self._next_write = (subject, label)

    def claim(self, claim: Claim) -> None:
        self._claims.append(claim)

    def drop_claims(self) -> None:
        """The open transaction was rolled back, and what it would have made true with it."""
        self._claims.clear()

    def commit(self, connection: BoundaryConnection) -> None:
        """One ledger transaction. Claims count only when it has committed."""
        subject, label = self._next_write
        self._next_write = ("", "")
        claims, self._claims = self._claims, []
        self._report(say="write", subject=subject, label=label)
        commit_plainly(connection)
        self._report(say="wrote", claims=[asdict(claim) for claim in claims])

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, request: Request) -> Reply:
        number = self._report(say="call", request=request._replace(params=dict(request.params))._asdict()).get(
            "call", ""
        )
        try:
            reply = self._send(request, number)
        except ProviderFailure as failure:
            self._report(say="saw", call=number, code=failure.code)
            raise
        found = [record._asdict() for record in reply.found]
        self._report(say="saw", call=number, code="ok", found=found, complete=reply.complete, pending=reply.pending)
        return reply

    def _send(self, request: Request, number: str) -> Reply:
        """Send, unless the deadline has passed while the intention was being recorded."""
        if 0 < request.not_after_ns < self.now_ns():
            raise ProviderFailure("deadline-passed")
        self._report(say="sending", call=number)
        timeout_ns = self.providers[request.provider].call_timeout_ns
        return self._client.call(request, number, self._real_s(timeout_ns))

    def _real_s(self, duration_ns: int) -> float:
        return duration_ns / self._enlistment.speed / SECOND_NS

    def _report(self, **message: Any) -> dict[str, Any]:
        """Tell the controller, and stand still until it says go."""
        if self.silent:
            return {}
        answer = self._channel.hear() if self._channel.say(message) else None
        if answer is None:
            # Nobody is left to order what happens. Ending like a crash keeps the candidate's clean-up from acting on
            # the world.
            os._exit(ORPHANED)
        return answer
