"""The decisions of the ledger, each a small pure function of what is known: this is where a ledger is sound or not.

`Rules` is one object so that a broken twin is a subclass with one method replaced. Nothing here does IO or reads a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from harness.model.cell import SECOND_NS
from harness.model.errors import ProviderFailure
from harness.model.lifecycle import State, WorkflowState
from harness.model.wire import ProviderTraits, Reply
from harness.model.workflow import RecoveryClass
from reference_ledger.records import Flow, Record

OBSERVATIONS_MAX = 4
"""How often an operation in doubt is looked at before a person is asked."""
VERIFICATIONS_MAX = 6
PENDING_WAITS_MAX = 10
LOOK_EVERY_NS = 3 * SECOND_NS
PENDING_EVERY_NS = 30 * SECOND_NS
REFUSED_FOR_GOOD = frozenset({"declined", "invalid", "key-reused", "not-found", "approval-invalid", "stale-fence"})
"""Definite refusals that will not change by asking again."""


class Seen(Enum):
    """What an observation of the world showed."""

    ONE = auto()
    MANY = auto()
    PENDING = auto()
    NOTHING = auto()
    """Nothing found, and that proves nothing."""
    PROVED_ABSENT = auto()
    FAILED = auto()
    """The look-up itself failed, or was incomplete."""


class Next(Enum):
    """What to do with an operation in doubt, after an observation."""

    IS_COMMITTED = auto()
    IS_NOT_COMMITTED = auto()
    SEND_AGAIN = auto()
    LOOK_AGAIN = auto()
    ASK_A_PERSON = auto()


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a failed call means for the operation. Exactly one of the three is true."""

    in_doubt: bool = False
    try_again: bool = False
    for_good: bool = False


class Rules:
    """The sound ledger's decisions."""

    # -- identity and sending -----------------------------------------------------------------------------------------------

    def key(self, workflow_id: str, operation_id: str, intent_version: int) -> str:
        """The idempotency key: from what the action is, never from an attempt or a position."""
        return f"{workflow_id}:{operation_id}:v{intent_version}"

    def key_to_send(self, record: Record) -> str:
        return record.key

    def intent_first(self) -> bool:
        """Is the intention durable before anything leaves the process?"""
        return True

    def deadline(self, now: int, timeout: int, lease: int, record: Record) -> int:
        """The moment after which a request must not be applied: its time-out, the lease's end, the approval's expiry."""
        limits = [now + timeout, now + lease]
        if record.approval_expires:
            limits.append(record.approval_expires)
        return min(limits)

    def may_start(self, flow: Flow, record: Record) -> bool:
        """All parents are verified or reconciled as committed."""
        return all(flow.records[parent].stands for parent in record.op.depends_on)

    def approval_usable(self, record: Record, now: int) -> bool:
        """Is the approval it has consumed still good for a send?"""
        return bool(record.approval) and not self.approval_expired(record.approval_expires, now)

    def approval_expired(self, expires: int, now: int) -> bool:
        return now >= expires

    def waits_for_deadline(self, traits: ProviderTraits) -> bool:
        """Where absence can be proved, the look is worth more once no request can be under way."""
        return traits.lookup == "authoritative" and traits.late == "prompt"

    # -- what an answer means -----------------------------------------------------------------------------------------------

    def refusal(self, record: Record, failure: ProviderFailure) -> Refusal:
        """An indefinite outcome, or any refusal while an earlier attempt is in doubt, leaves doubt."""
        if not failure.is_definite or record.doubted:
            return Refusal(in_doubt=True)
        if failure.code in REFUSED_FOR_GOOD or record.attempts >= record.attempts_max:
            return Refusal(for_good=True)
        return Refusal(try_again=True)

    def is_done(self, record: Record, reply: Reply, traits: ProviderTraits) -> bool:
        """Is the answer itself the best evidence there is? Only where nothing can be looked up; 200 OK is not proof elsewhere."""
        return traits.lookup == "absent"

    def seen(self, record: Record, reply: Reply, traits: ProviderTraits, now: int) -> Seen:
        """Read an observation. `Not found` proves absence only where reads are authoritative and no request can still be under way."""
        if not reply.complete:
            return Seen.FAILED
        standing = sum(1 for r in reply.found if r.standing)
        if standing:
            return Seen.ONE if standing == 1 else Seen.MANY
        if any(r.pending for r in reply.found):
            return Seen.PENDING
        return Seen.PROVED_ABSENT if self.absence_is_proved(record, traits, now) else Seen.NOTHING

    def absence_is_proved(self, record: Record, traits: ProviderTraits, now: int) -> bool:
        return traits.lookup == "authoritative" and traits.late == "prompt" and now > record.not_after

    # -- doubt --------------------------------------------------------------------------------------------------------------

    def resolve(self, flow: Flow, record: Record, seen: Seen, traits: ProviderTraits, now: int) -> Next:
        """Observe first, act second: what follows from what was seen of an operation in doubt."""
        if seen is Seen.ONE:
            return Next.IS_COMMITTED
        if seen is Seen.MANY:
            return Next.ASK_A_PERSON
        if seen is Seen.PROVED_ABSENT:
            return Next.IS_NOT_COMMITTED
        if seen is Seen.PENDING:
            return Next.LOOK_AGAIN if record.observations < PENDING_WAITS_MAX else Next.ASK_A_PERSON
        if seen is Seen.NOTHING and self.may_send_again(flow, record, traits, now):
            return Next.SEND_AGAIN
        if traits.lookup != "absent" and record.observations < OBSERVATIONS_MAX:
            return Next.LOOK_AGAIN
        if self.may_send_again(flow, record, traits, now):
            return Next.SEND_AGAIN
        return Next.ASK_A_PERSON

    def may_send_again(self, flow: Flow, record: Record, traits: ProviderTraits, now: int) -> bool:
        """Only under the same key, while the provider honours it, within the policy, and only what is still wanted and approved."""
        if record.attempts >= record.attempts_max or not self.key_is_honoured(record, traits, now):
            return False
        if not record.is_undo and flow.is_over:
            return False
        return not record.approval_expires or now < record.approval_expires

    def key_is_honoured(self, record: Record, traits: ProviderTraits, now: int) -> bool:
        """Will the provider take a repetition for the same request, whatever is still under way? Where a request may be late without
        bound, a key that lapses does not promise it: the first request could arrive after the key has been forgotten."""
        if traits.key == "expires":
            in_time = now + traits.call_timeout_ns < record.first_sent + traits.key_ttl_ns
            return traits.late == "prompt" and in_time
        return traits.key == "honoured"

    def after_absence(self, flow: Flow, record: Record) -> State:
        """An operation proved not committed: try it again (PREPARED) or leave it (RECONCILED)."""
        if record.attempts >= record.attempts_max or (flow.is_over and not record.is_undo):
            return State.RECONCILED
        return State.PREPARED

    # -- undoing ------------------------------------------------------------------------------------------------------------

    def must_undo(self, record: Record) -> bool:
        """Does this operation's effect have to be undone now that the workflow is over?"""
        return record.stands

    def undo_next(self, flow: Flow, waiting: Sequence[Record]) -> Record | None:
        """The next effect to undo: none that must wait for another; among the free ones the last made first."""
        blocked = {other for r in flow.originals() if self._still_there(r) for other in r.op.must_compensate_before}
        free = [r for r in waiting if r.id not in blocked]
        return free[-1] if free else None

    def _still_there(self, record: Record) -> bool:
        return record.stands or record.state in (State.COMPENSATION_REQUIRED, State.COMPENSATING)

    def can_undo(self, record: Record) -> bool:
        return (
            record.op.undo is not None
            and record.op.policy.automatic_compensation_allowed
            and record.op.recovery_class is not RecoveryClass.IRREVERSIBLE
        )

    def undo_failed(self) -> State:
        """What becomes of the original when its undo cannot be brought to an end."""
        return State.COMPENSATION_FAILED

    # -- the end ------------------------------------------------------------------------------------------------------------

    def must_halt(self, flow: Flow) -> Record | None:
        """An operation for which nothing more can be done without a person."""
        for record in flow.records.values():
            if record.state in (State.RECONCILIATION_REQUIRED, State.COMPENSATION_FAILED):
                return record
        return None

    def halted_label(self, flow: Flow) -> WorkflowState:
        return WorkflowState.FAILED_RECONCILIATION_REQUIRED if flow.is_over else WorkflowState.UNKNOWN

    def failed_label(self, flow: Flow) -> WorkflowState:
        """What a failed workflow may call itself, from the strongest remainder down."""
        originals = flow.originals()
        if any(r.state is State.IRREVERSIBLE_EFFECT for r in originals):
            return WorkflowState.FAILED_WITH_IRREVERSIBLE_EFFECT
        if any(r.state is State.COMPENSATED for r in originals):
            return WorkflowState.FAILED_COMPENSATED
        if any(r.is_absent and r.observations for r in originals):
            return WorkflowState.FAILED_RECONCILED
        return WorkflowState.FAILED_CLEAN
