"""Guarantees about permission: what must be known, granted or still held before something may be done.

Here: downstream-waits, cancel-fences, approval-valid-at-commit, fenced-worker.
Never here: limits on how often; `policy.py` has them.
"""

from __future__ import annotations

from harness.judge.ledgers import CallRow, ClaimRow, EffectRow, Ledgers, is_committed
from harness.judge.verdicts import holds, violated
from harness.model.boundary import Phase
from harness.model.cell import Key
from harness.model.event import Event
from harness.model.fault import Fault
from harness.model.lifecycle import State
from harness.model.verdict import Verdict

DOWNSTREAM = "downstream-waits"
CANCEL = "cancel-fences"
APPROVAL = "approval-valid-at-commit"
FENCED = "fenced-worker"

_CLAIMS_LEVEL = 3
_STARTED = frozenset({State.COMMITTING, State.COMMITTED, State.VERIFYING, State.OUTCOME_UNKNOWN})
_HOLDS_UP = frozenset(
    {
        Fault.LATE_DELIVERY,
        Fault.DUPLICATE_DELIVERY,
        Fault.PENDING_THEN_SUCCEEDED,
        Fault.PENDING_THEN_FAILED,
        Fault.ZOMBIE_WORKER,
    }
)
"""Faults that, at `sent` or `delivered`, put time between a send and its effect.
Then the send's moment is the candidate's, the effect's is not.
"""


def downstream_waits(ledgers: Ledgers) -> Verdict:
    """No operation is started while one it depends on is not known to be done."""
    for operation in ledgers.operations.values():
        for send in ledgers.sends.get(operation.id, ()):
            for parent in operation.depends_on:
                if not _is_known_done(ledgers, parent, send.at) and not _asks_again(ledgers, send):
                    return _too_early(ledgers, operation.id, parent, send)
    return holds(DOWNSTREAM)


def _is_known_done(ledgers: Ledgers, parent: str, index: int) -> bool:
    if ledgers.level < _CLAIMS_LEVEL:
        return bool(ledgers.standing(parent, index))
    claim = ledgers.latest(parent, index)
    return claim is not None and is_committed(claim.state, claim.resolution)


def _asks_again(ledgers: Ledgers, send: CallRow) -> bool:
    """Is this a repetition, under a key the cell honours, of an earlier send that is open? That finds out; it starts
    nothing.
    """
    if not send.key or ledgers.cells[send.provider].key is Key.IGNORED:
        return False
    earlier = (other for other in ledgers.sends[send.subject] if other.at < send.at)
    return any(other.key == send.key and ledgers.is_open(other, send.at) for other in earlier)


def _too_early(ledgers: Ledgers, operation: str, parent: str, send: CallRow) -> Verdict:
    claim = ledgers.latest(parent, send.at) if ledgers.level >= _CLAIMS_LEVEL else None
    if claim is not None:
        state = f"{parent} is {claim.state} {claim.resolution}".rstrip() + f" (event {claim.at})"
    else:
        state = f"nothing says that {parent} is done"
    return violated(
        DOWNSTREAM,
        operation,
        (claim.at, send.at) if claim else (send.at,),
        let=f"{operation} depend on {parent}",
        then=f"it is started only when {parent} is known to be done",
        but=f"it is sent (event {send.at}) when {state}",
    )


def cancel_fences(ledgers: Ledgers) -> Verdict:
    """After cancellation nothing new is sent: only what was begun before may go out, and what is in doubt may be
    asked again.
    """
    cancelled = ledgers.cancelled
    if cancelled is None:
        return holds(CANCEL)
    begun = _intents_recorded(ledgers, cancelled)
    for operation in ledgers.operations:
        for send in ledgers.sends.get(operation, ()):
            if send.at > cancelled and not _was_begun(ledgers, send, cancelled, begun):
                return violated(
                    CANCEL,
                    operation,
                    (cancelled, send.at),
                    let=f"the intent be cancelled (event {cancelled})",
                    then="no new business effect is started",
                    but=f"{operation} is sent (event {send.at})",
                )
    return holds(CANCEL)


def _intents_recorded(ledgers: Ledgers, cancelled: int) -> frozenset[str]:
    """Boundaries at which an intention had become durable before the cancellation; one may be where the cancellation
    was injected.
    """
    return frozenset(
        event.where
        for event in ledgers.events[:cancelled]
        if event.kind in ("crossed", "fault-armed") and event.where.endswith(Phase.INTENT_RECORDED)
    )


def _was_begun(ledgers: Ledgers, send: CallRow, cancelled: int, begun: frozenset[str]) -> bool:
    """A durable intention made before the cancellation is on its way: no check can come between it and its send."""
    if f"{send.where}/{Phase.INTENT_RECORDED}" in begun or _asks_again(ledgers, send):
        return True
    claim = ledgers.latest(send.subject, cancelled)
    if claim is None or claim.state not in _STARTED:
        return False
    if claim.state == State.COMMITTING and ledgers.latest(send.subject, send.at) is claim:
        return True
    honoured = bool(send.key) and ledgers.cells[send.provider].key is not Key.IGNORED
    return honoured and not _was_given_back(ledgers, send, claim)


def _was_given_back(ledgers: Ledgers, send: CallRow, since: ClaimRow) -> bool:
    claims = ledgers.claims_of[send.subject]
    return any(c.state in (State.PREPARED, State.RECONCILED) for c in claims if since.at < c.at < send.at)


def approval_valid_at_commit(ledgers: Ledgers) -> Verdict:
    """An effect that needs approval happens under one granted for its operation, not taken back, and not expired."""
    for operation in ledgers.operations.values():
        if operation.policy.human_approval_required:
            for effect in ledgers.effects_of.get(operation.id, ()):
                verdict = _without_approval(ledgers, operation.id, effect)
                if verdict is not None:
                    return verdict
    return holds(APPROVAL)


def _without_approval(ledgers: Ledgers, operation: str, effect: EffectRow) -> Verdict | None:
    moment_ns = _moment_ns(ledgers, effect)
    granted: dict[str, Event] = {}
    spent: set[str] = set()
    reason, shown = f"no approval was granted for {operation}", None
    for event in ledgers.approvals:
        approval = str(event.data["approval"])
        if event.index > effect.at:
            break
        if event.kind in ("approval-denied", "approval-revoked"):
            # Spending is a compare-and-set at the approval queue: what is taken back afterwards comes too late.
            taken = granted.pop(approval, None) if approval not in spent else None
            if taken is not None:
                reason, shown = f"it was taken back (event {event.index})", event
        elif event.data["operation"] == operation:
            granted[approval] = event
            if event.kind == "approval-consumed":
                spent.add(approval)
    for event in granted.values():
        if moment_ns <= event.data["expires_ns"]:
            return None
        reason, shown = f"it had expired at {event.data['expires_ns']} ns (event {event.index})", event
    return violated(
        APPROVAL,
        operation,
        (effect.at,) if shown is None else (shown.index, effect.at),
        let=f"{operation} take effect (event {effect.at}, at {effect.time_ns} ns)",
        then="a person's approval for it is granted and valid at that moment",
        but=reason,
    )


def _moment_ns(ledgers: Ledgers, effect: EffectRow) -> int:
    call = ledgers.calls[effect.call]
    for phase in (Phase.SENT, Phase.DELIVERED):
        if any(fault in _HOLDS_UP for fault in ledgers.fired.get(f"{call.where}/{phase}", ())):
            return call.time_ns
    return effect.time_ns


def fenced_worker(ledgers: Ledgers) -> Verdict:
    """A worker whose lease is lost causes no effect and writes nothing; a dead one does nothing at all."""
    if ledgers.dead_calls:
        return _acts_dead(*ledgers.dead_calls[0])
    if ledgers.fenced_writes:
        at, worker = ledgers.fenced_writes[0]
        return _acts_unfenced(worker, (ledgers.lost[worker], at), f"it writes to the ledger (event {at})")
    if ledgers.lost:
        return _fenced_effect(ledgers) or holds(FENCED)
    return holds(FENCED)


def _fenced_effect(ledgers: Ledgers) -> Verdict | None:
    for sends in ledgers.sends.values():
        for send in sends:
            effect, lost = ledgers.caused.get(send.call), ledgers.lost.get(send.worker)
            if effect is not None and lost is not None and send.at > lost:
                done = f"it sends {send.subject or send.operation} (event {send.at}), which takes effect ({effect.at})"
                return _acts_unfenced(send.worker, (lost, send.at, effect.at), done)
    return None


def _acts_dead(at: int, worker: str) -> Verdict:
    return violated(
        FENCED,
        "",
        (at,),
        let=f"an incarnation of {worker} be dead",
        then="it does nothing more",
        but=f"it tries to act (event {at})",
    )


def _acts_unfenced(worker: str, witness: tuple[int, ...], done: str) -> Verdict:
    return violated(
        FENCED,
        "",
        witness,
        let=f"{worker} lose its lease (event {witness[0]})",
        then="it changes neither the world nor the ledger any more",
        but=done,
    )
