"""The domain as the wire needs it: messages for later, refusals by recipient, and how long a key is kept.

Theory. A message that is to be sent now is an effect at once. A scheduled one is a pending row until it is due: then it
becomes an effect, or it vanishes because somebody cancelled it, which is no effect, since nothing had been sent.
Never here: what a message says, and time passing.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

from fakes.core.endpoint import Arrival, Record
from fakes.core.kernel import OUTSIDE, Again, Change
from fakes.core.keys import Fingerprint
from fakes.core.rows import NEVER
from fakes.email.domain import Email
from fakes.wire.desk import no_fault
from fakes.wire.json_api import OnWire, Refused
from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell, Key
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import Reply, Request

SEND = "send"


class Rules(NamedTuple):
    """What a provider has decided about its keys and its recipients."""

    keeps_keys: bool = True
    key_ttl_ns: int = NEVER
    compares_body: bool = True
    releases_on_error: bool = False
    refused: tuple[str, ...] = ()
    """Globs of recipients."""

    def refuses(self, address: str) -> bool:
        return any(fnmatchcase(address.lower(), glob.lower()) for glob in self.refused)


class Mailing(OnWire, Email):
    """What was sent, and what is to be."""

    def __init__(self, cell: Cell, rules: Rules, *, now: Callable[[], int], record: Record) -> None:
        super().__init__(cell, now=now, record=record, later=lambda delay_ns, action: None)
        self.rules = rules
        self.honours_keys = rules.keeps_keys and cell.key is not Key.IGNORED
        if not self.honours_keys:
            self._keys._life_ns = -1
        elif cell.key is Key.EXPIRES:
            self._keys._life_ns = rules.key_ttl_ns

    def as_kept(self, request: Request) -> Request:
        """The request as its key knows it: where bodies are not compared, the first one under the key stands for all."""
        use = self._keys.use_of(request.key, self._now())
        if use is None or self.rules.compares_body:
            return request
        _, target, params = use.fingerprint
        return request._replace(target=target, params=dict(params))

    def send(self, call: str, request: Request, *, is_later: bool) -> Reply:
        """Send it, or keep it until it is due. Raises ProviderFailure."""

        def at(phase: Phase) -> Fault | None:
            return Fault.PENDING_THEN_SUCCEEDED if is_later and phase is Phase.DELIVERED else no_fault(phase)

        return self._change(Arrival(call, "", request, 1), at)

    def send_outside(self, target: str, to: str) -> str:
        """Somebody else sends something there. Returns its reference."""
        return self.do("", Request(self.name, SEND, Purpose.EFFECT, OUTSIDE, target, {"to": to})).reference

    def fall_due(self, call: str, reference: str, key: str, *, will_be_sent: bool) -> bool:
        """A scheduled message is due: it is sent, or fails. Was it sent?"""
        row = self._table.get(reference)
        assert row is not None, f"{reference} was never accepted"
        request = Request(self.name, SEND, Purpose.EFFECT, row.operation, row.target, dict(row.params), key)
        self._settle(Arrival(call, "", request, 1), reference, will_be_sent)
        settled = self._table.get(reference)
        assert settled is not None
        return settled.is_standing

    def cancel(self, reference: str) -> None:
        """A scheduled message will not be sent. Raises Refused if it was, or was cancelled before."""
        row = self._table.get(reference)
        assert row is not None, f"{reference} was never accepted"
        if row.is_pending:
            self._table.put(row._replace(gone_ns=self._now()))
            return
        if row.is_standing:
            raise Refused(409, "already-sent", "it was sent and cannot be called back")
        raise ProviderFailure("already-undone")

    def pending_at(self, target: str) -> str | None:
        """The oldest scheduled message at this target."""
        return next((row.reference for row in self._table.at(SEND, target) if row.is_pending), None)

    def release(self, key: str) -> None:
        """Forget what was done under this key, by making its use older than any key is kept."""
        use = self._keys._uses.pop(key, None)
        if use is not None:
            self._keys._bind(key, use._replace(first_ns=-NEVER))

    def _make(self, request: Request, again: Again) -> Change:
        refused = [address for address in str(request.params.get("to", "")).split(",") if self.rules.refuses(address)]
        if refused:
            raise ProviderFailure("declined", f"mail to {', '.join(refused)} is not taken")
        return super()._make(request, again)

    def _accept(self, arrival: Arrival, will_succeed: bool, now_ns: int) -> str:
        if failed := self.would_refuse(arrival.request):
            raise failed
        return super()._accept(arrival, will_succeed, now_ns)

    def _execute(self, arrival: Arrival, fingerprint: Fingerprint, fault: Fault | None, now_ns: int) -> Reply:
        try:
            return super()._execute(arrival, fingerprint, fault, now_ns)
        except ProviderFailure:
            if self.rules.releases_on_error:
                self.release(arrival.request.key)
            raise
