"""Twins that handle doubt wrongly: what a timeout, a conflict or a `not found` allows to conclude."""

from __future__ import annotations

from harness.model.errors import ProviderFailure
from harness.model.wire import ProviderTraits, Reply
from reference_ledger.records import Flow, Record
from reference_ledger.rules import Next, Refusal, Seen
from reference_ledger.twins.base import TwinRules


class BlindRetry(TwinRules):
    """After a timeout it sends again at once, without looking."""

    def refusal(self, record: Record, failure: ProviderFailure) -> Refusal:
        if failure.is_definite or record.attempts >= record.attempts_max:
            return super().refusal(record, failure)
        self.reached()
        return Refusal(try_again=True)


class TimeoutIsFailure(TwinRules):
    """No answer in time counts as a no: the operation is closed as not committed."""

    def refusal(self, record: Record, failure: ProviderFailure) -> Refusal:
        if failure.code != "timeout":
            return super().refusal(record, failure)
        self.reached()
        return Refusal(for_good=True)


class ConflictIsFailure(TwinRules):
    """A 409 about its own earlier attempt counts as a no."""

    def refusal(self, record: Record, failure: ProviderFailure) -> Refusal:
        if failure.code not in ("already-exists", "duplicate-key", "key-in-use"):
            return super().refusal(record, failure)
        self.reached()
        return Refusal(for_good=True)


class NotFoundIsProof(TwinRules):
    """`Not found` closes the question, however stale the read is and whatever may still be under way."""

    def absence_is_proved(self, record: Record, traits: ProviderTraits, now: int) -> bool:
        proved = super().absence_is_proved(record, traits, now)
        if not proved and record.doubted:
            self.reached()
            return True
        return proved

    def waits_for_deadline(self, traits: ProviderTraits) -> bool:
        return False


class AssumesCommitted(TwinRules):
    """What cannot be established is taken to have happened, so that the workflow can go on."""

    def resolve(self, flow: Flow, record: Record, seen: Seen, traits: ProviderTraits, now: int) -> Next:
        following = super().resolve(flow, record, seen, traits, now)
        if following is Next.ASK_A_PERSON:
            self.reached()
            return Next.IS_COMMITTED
        return following


class TwoIsFine(TwinRules):
    """Verification asks whether something is there, not how often."""

    def seen(self, record: Record, reply: Reply, traits: ProviderTraits, now: int) -> Seen:
        seen = super().seen(record, reply, traits, now)
        if seen is Seen.MANY:
            self.reached()
            return Seen.ONE
        return seen


class IncompleteIsAbsent(TwinRules):
    """An empty first page counts as the whole answer, and as proof."""

    def seen(self, record: Record, reply: Reply, traits: ProviderTraits, now: int) -> Seen:
        if not reply.complete and record.doubted:
            self.reached()
            return Seen.PROVED_ABSENT
        return super().seen(record, reply, traits, now)
