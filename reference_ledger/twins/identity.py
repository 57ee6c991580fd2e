"""Twins that send wrongly: keys, attempts, the order of recording and sending, what an answer proves."""

from __future__ import annotations

from harness.model.errors import ProviderFailure
from harness.model.lifecycle import State
from harness.model.wire import ProviderTraits, Reply
from reference_ledger.records import Flow, Move, Record
from reference_ledger.rules import Refusal, Seen
from reference_ledger.twins.base import TwinRules, TwinWorker


class NewKeyPerAttempt(TwinRules):
    """Each attempt gets an idempotency key of its own."""

    def key_to_send(self, record: Record) -> str:
        if record.attempts > 1:
            self.reached()
        return f"{record.key}:{record.attempts}"


class KeyOfWorker(TwinWorker):
    """The key contains the worker's name: after a takeover the same operation has another one."""

    def send(self, flow: Flow, record: Record) -> Reply | ProviderFailure:
        if self.handles.incarnation > 1:
            self.rules.reached()
        own, record.key = record.key, f"{record.key}:{self.handles.worker}"
        try:
            return super().send(flow, record)
        finally:
            record.key = own


class RecordsBeforeSending(TwinWorker):
    """The outcome is in the ledger before the request has left, and recovery believes it."""

    def attempt(self, flow: Flow, record: Record, opening: list[Move] | None = None) -> None:
        if record.is_undo or record.op.policy.human_approval_required:
            super().attempt(flow, record, opening)
            return
        self.intend(flow, record, self.handles.providers[record.op.provider], opening)
        self.rules.reached()
        self.store.write(flow, record.id, "record", [Move(record, State.COMMITTED)])
        answer = self.send(flow, record)
        if isinstance(answer, ProviderFailure):
            super().verify(flow, record)

    def verify(self, flow: Flow, record: Record) -> None:
        if record.is_undo or record.op.policy.human_approval_required:
            super().verify(flow, record)
            return
        opening = [Move(record, State.VERIFYING)] if record.state is State.COMMITTED else []
        self.settle_verified(flow, record, "verify", "on record", opening, verified_opening=bool(opening))


class SendsBeforeRecording(TwinRules):
    """The request leaves before its intention is durable."""

    def intent_first(self) -> bool:
        self.reached()
        return False


class Trusts200(TwinRules):
    """A success answer is proof enough."""

    def is_done(self, record: Record, reply: Reply, traits: ProviderTraits) -> bool:
        if traits.lookup != "absent":
            self.reached()
        return True


class PendingIsDone(TwinWorker):
    """`Accepted` counts as done."""

    def acknowledged(self, flow: Flow, record: Record, reply: Reply) -> None:
        if not reply.pending:
            super().acknowledged(flow, record, reply)
            return
        self.rules.reached()
        self.settle_verified(flow, record, "record", "accepted", [Move(record, State.COMMITTED)])


class RetriesTooOften(TwinRules):
    """The policy's number of attempts is not looked at."""

    def refusal(self, record: Record, failure: ProviderFailure) -> Refusal:
        refusal = super().refusal(record, failure)
        if (
            refusal.for_good
            and record.attempts >= record.attempts_max
            and failure.code in ("rate-limited", "connection-refused")
        ):
            self.reached()
            return Refusal(try_again=True)
        return refusal


class VerifiesNothing(TwinWorker):
    """The verification call is made, and its answer ignored."""

    def look(self, record: Record, purpose: object) -> Seen:
        seen = super().look(record, purpose)  # type: ignore[arg-type]  # the twin's laxness, not the contract's
        if seen in (Seen.NOTHING, Seen.FAILED, Seen.PENDING) and record.state in (State.COMMITTED, State.VERIFYING):
            self.rules.reached()
            return Seen.ONE
        return seen
