"""Crossings of real workers: what a worker process reports, and what its requests meet at the providers, as boundaries.

Here: the controller's half of a worker's handles. A worker says in small steps what it is about to do and waits; a
provider's hook holds each request when it has arrived and when it is committed. Both become the same boundaries, in the
same order and under the same names as in the simulation, so that a schedule line means the same run.

    worker says   recorded and crossed                                   worker then
    write         before-commit (or before-intent), in-commit            commits
    wrote         wrote, claimed..., after-commit (or intent-recorded    goes on
                  or recorded)
    call          intent-recorded, if no intention was written           looks at the deadline
    sending       call-sent                                              sends, and waits for the provider
      (hook)      sent; arrived; delivered; effect; committed; responded
    saw           caller-saw, acknowledged                               goes on

Never here: processes and sockets. Killing is done by the run, through `strikes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fakes.approval.domain import ApprovalQueue
from fakes.core.endpoint import Endpoint
from fakes.core.face import Passage
from harness.inject.live import LiveWorld
from harness.inject.messages import BEFORE_SENDING, Messages
from harness.inject.names import LOOKED_INTO_WHEN_SENT, Write
from harness.inject.world import RunCut
from harness.model.boundary import OBSERVING, Phase, Purpose
from harness.model.errors import KnownstateError, ProviderFailure, certainty_of
from harness.model.wire import FoundRecord, Request

Answer = dict[str, Any]
GO: Answer = {"go": True}


class Call:
    """One call of a provider, from the moment its caller named it."""

    __slots__ = ("base", "caller", "has_crossed_sent", "is_awaited", "request", "subject")

    def __init__(self, base: str, subject: str, request: Request, caller: Crossings) -> None:
        self.base = base
        self.subject = subject
        self.request = request
        self.caller = caller
        self.is_awaited = True
        """Is there still somebody who waits for the outcome?"""
        self.has_crossed_sent = False


class Gate:
    """The providers' hooks of one run: knows every call by its number, and holds requests at their boundaries."""

    def __init__(self, world: LiveWorld, desks: Mapping[str, Endpoint], messages: Messages, run_id: str) -> None:
        self.world = world
        self.desks = desks
        self.messages = messages
        self._run_id = run_id
        self._calls: dict[str, Call] = {}

    def number(self, call: Call) -> str:
        """The number a client carries, so that a straggler of an earlier run is not taken for one of this."""
        number = f"{self._run_id}-{len(self._calls) + 1}"
        self._calls[number] = call
        return number

    def call(self, number: str) -> Call:
        return self._calls[number]

    @contextmanager
    def passing(self, request: Request, number: str) -> Iterator[Passage]:
        """A request is at its provider. See `fakes.core.face.Hooks`."""
        if number and number not in self._calls:
            raise ProviderFailure("invalid", f"call {number} is none of this run")
        with self.world.turn():
            call = self._calls.get(number)
            if call is None:
                base = self.world.names.call(request)[0]
                yield Passage(base, base, lambda phase: None)
                return
            self._holding(call, lambda: self._cross_sent(call))
            yield Passage(call.base, call.base, lambda phase: self._holding(call, lambda: self._at(call, phase)))

    def _holding(self, call: Call, cross: Callable[[], None]) -> None:
        """Cross a boundary in the caller's name, if it still waits. Trouble is left to the controller."""
        if not call.is_awaited or self.world.trouble is not None:
            return
        try:
            cross()
        except (KnownstateError, RunCut, AssertionError) as trouble:
            self.world.trouble = trouble

    def _cross_sent(self, call: Call) -> None:
        if not call.has_crossed_sent:
            call.has_crossed_sent = True
            self.cross(call, Phase.SENT, *self.when_sent(call.request))

    def when_sent(self, request: Request) -> tuple[bool, bool]:
        """(key seen before, something stands) as far as they decide a fault at `sent`."""
        if request.purpose is not LOOKED_INTO_WHEN_SENT:
            return False, False
        return self.desks[request.provider].circumstances(request)

    def _at(self, call: Call, phase: Phase) -> None:
        """The provider's boundary. The provider is told of no fault: they happen to the wire or to the caller."""
        if phase is Phase.DELIVERED:
            self.cross(call, phase, *self.desks[call.request.provider].circumstances(call.request))
        else:
            self.cross(call, phase, False, self._is_undecided(call.request))

    def cross(self, call: Call, phase: Phase, key_seen: bool = False, stands: bool = False) -> None:
        request = call.request
        self.world.tick()
        where = f"{call.base}/{phase.value}"
        fault = self.world.cross(
            call.caller, where, phase, request.purpose, request.provider, call.subject, request, key_seen, stands
        )
        if fault is not None:
            self.messages.arm(fault, call.base, phase, request.provider)
        self.world.tick()

    def _is_undecided(self, request: Request) -> bool:
        """Is this the question to a person who has not answered yet?"""
        if request.purpose is not Purpose.APPROVE or request.action != "request":
            return False
        queue = self.desks[request.provider]
        return isinstance(queue, ApprovalQueue) and f"approval-{request.target}" in queue.pending()


class Crossings:
    """The crossings of one incarnation. A method is one report; its value is the answer that lets the worker go on."""

    def __init__(self, world: LiveWorld, gate: Gate, worker: str) -> None:
        self.world = world
        self.worker = worker
        self.dead = False
        self.dying = False
        """Never true here: a real process is either there or gone. (`World` asks its crossers for both.)"""
        self._gate = gate
        self._open: list[Call] = []
        self._last_call = ""
        self._write = Write("", "", Phase.BEFORE_COMMIT, Phase.AFTER_COMMIT)

    def report(self, message: dict[str, Any]) -> Answer:
        """Record and cross what the worker reports. The worker may be dead when this returns."""
        self.world.tick()
        answer = _REPORTS[message["say"]](self, message)
        return GO if answer is None else answer

    def bury(self) -> None:
        """The worker is dead: nobody waits for its calls any more."""
        self.dead = True
        for call in self._open:
            call.is_awaited = False
        self._open.clear()

    # -- the ledger's transactions -------------------------------------------------------------------------------------

    def write(self, message: dict[str, Any]) -> None:
        """A transaction is about to be committed."""
        self._write = write = self.world.names.named_write(message["subject"], message["label"], self._last_call)
        if write.before is Phase.ACKNOWLEDGED:
            self._last_call = ""
        else:
            self._cross_write(f"{write.base}/{write.before.value}", write.before, Purpose.WRITE, write.subject)
        if self.dead:
            return
        self._cross_write(write.inside, Phase.IN_COMMIT, Purpose.WRITE, write.subject)

    def wrote(self, message: dict[str, Any]) -> None:
        """It has been committed, and with it what the candidate claimed."""
        write = self._write
        self.world.record(self.worker, "wrote", write.base)
        for claim in message["claims"]:
            data = {"subject": claim["subject"], "to": claim["state"], "was": claim["was"]}
            data.update({name: claim[name] for name in ("resolution", "reason") if claim[name]})
            self.world.record(self.worker, "claimed", claim["subject"], data)
        self._cross_write(f"{write.base}/{write.after.value}", write.after, write.purpose_after, write.subject)

    def _cross_write(self, where: str, phase: Phase, purpose: Purpose, subject: str) -> None:
        self.world.cross(self, where, phase, purpose, "", subject)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, message: dict[str, Any]) -> Answer:
        """A call is about to be made: it gets its name and number."""
        data = message["request"]
        request = Request(**{**data, "purpose": Purpose(data["purpose"])})
        base, subject, crossed = self.world.names.call(request)
        call = Call(base, subject, request, self)
        self._open.append(call)
        if not crossed and request.purpose not in OBSERVING:
            self._gate.cross(call, Phase.INTENT_RECORDED)
        return {"go": True, "call": self._gate.number(call)}

    def sending(self, message: dict[str, Any]) -> None:
        """It is sent as soon as this returns. A fault that needs the wire to be ready before is armed here."""
        call = self._gate.call(message["call"])
        request = call.request
        sent = {
            "call": call.base,
            "operation": request.operation,
            "provider": request.provider,
            "action": request.action,
            "purpose": request.purpose.value,
            "target": request.target,
            "key": request.key,
            "params": request.params,
            "not_after": request.not_after_ns,
            "fence": request.fence,
            "approval": request.approval,
        }
        self.world.record(self.worker, "call-sent", call.base, sent)
        planned = self.world.plan.get(f"{call.base}/{Phase.SENT.value}")
        if planned and planned[0] in BEFORE_SENDING:
            call.has_crossed_sent = True
            self._gate.cross(call, Phase.SENT, *self._gate.when_sent(request))

    def saw(self, message: dict[str, Any]) -> None:
        """Its outcome has come to the caller, or its time-out."""
        call = self._gate.call(message["call"])
        request, code = call.request, message["code"]
        outcome = "ok" if code == "ok" else certainty_of(code).value
        seen: dict[str, Any] = {"call": call.base, "outcome": outcome, "code": code}
        if code == "ok" and request.purpose in OBSERVING:
            seen["found"] = tuple(FoundRecord(**record) for record in message["found"])
            seen["complete"] = message["complete"]
        elif code == "ok" and message["pending"]:
            seen["pending"] = True
        call.is_awaited = False
        self._open.remove(call)
        self.world.record(self.worker, "caller-saw", call.base, seen)
        self._gate.messages.seen(call.base, outcome, code)
        self._last_call = call.base
        circumstances = (False, False)
        if request.purpose is Purpose.APPROVE:
            circumstances = self._gate.desks[request.provider].circumstances(request)
        self._gate.cross(call, Phase.ACKNOWLEDGED, *circumstances)

    # -- people --------------------------------------------------------------------------------------------------------

    def alert(self, message: dict[str, Any]) -> None:
        """The pager rings once for each subject."""
        subject, reason = message["subject"], message["reason"]
        if subject not in self.world.alerted:
            self.world.alerted.add(subject)
            self.world.record(self.worker, "alerted", subject, {"subject": subject, "reason": reason})

    def mark(self, message: dict[str, Any]) -> None:
        """A broken twin says that its planted line ran."""
        self.world.record(self.worker, "bug-reached", "", {"twin": message["twin"]})


_REPORTS: dict[str, Callable[[Crossings, dict[str, Any]], Answer | None]] = {
    "write": Crossings.write,
    "wrote": Crossings.wrote,
    "call": Crossings.call,
    "sending": Crossings.sending,
    "saw": Crossings.saw,
    "alert": Crossings.alert,
    "mark": Crossings.mark,
}
