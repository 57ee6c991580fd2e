"""The closed alphabet of faults, and the table of which fault fits which boundary.

A fault is named by what happened, not by the tool that does it. `certainty` says what the caller may conclude when it sees the
symptom: `definite` (its request had no effect), `indefinite` (it may have had one), or None where nobody is waiting for an answer.

The applicability table is literal: one row per fault, with the phases and purposes it fits, a named condition on provider cell and
circumstances, and *why a sound ledger can survive it there*. A fault that no ledger could survive is not a test; where the table
leaves one out, the reason stands in its row. The file has more than 500 lines because the table is one literal, to be read as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell, Key, Late, Lookup
from harness.model.errors import Certainty


class Family(StrEnum):
    CRASH = "crash"
    MESSAGE = "message"
    PROVIDER = "provider"
    LOOKUP = "lookup"
    CONTROL = "control"
    LEASE = "lease"
    STORE = "store"
    LOAD = "load"


class Fault(StrEnum):
    CRASH = "crash"
    LOST_REQUEST = "lost-request"
    LOST_RESPONSE = "lost-response"
    CONNECTION_REFUSED = "connection-refused"
    CONNECTION_RESET = "connection-reset"
    TRUNCATED_RESPONSE = "truncated-response"
    SLOW_RESPONSE = "slow-response"
    DUPLICATE_DELIVERY = "duplicate-delivery"
    LATE_DELIVERY = "late-delivery"
    UNAVAILABLE = "unavailable"
    ERROR_AFTER_COMMIT = "error-after-commit"
    RATE_LIMITED = "rate-limited"
    DECLINED = "declined"
    REJECTS_DUPLICATE_KEY = "rejects-duplicate-key"
    KEY_REUSED = "key-reused"
    KEY_IN_USE = "key-in-use"
    FALSE_SUCCESS = "false-success"
    PENDING_THEN_SUCCEEDED = "pending-then-succeeded"
    PENDING_THEN_FAILED = "pending-then-failed"
    WEBHOOK_LATE = "webhook-late"
    WEBHOOK_TWICE = "webhook-twice"
    WEBHOOK_OUT_OF_ORDER = "webhook-out-of-order"
    LOOKUP_UNAVAILABLE = "lookup-unavailable"
    STALE_LOOKUP = "stale-lookup"
    PARTIAL_LOOKUP = "partial-lookup"
    CANCEL = "cancel"
    SUPERSEDE = "supersede"
    DOUBLE_SUBMIT = "double-submit"
    APPROVAL_DENIED = "approval-denied"
    APPROVAL_EXPIRES = "approval-expires"
    APPROVAL_REVOKED = "approval-revoked"
    APPROVAL_FOR_CHANGED_PARAMETERS = "approval-for-changed-parameters"
    EXTERNAL_CHANGE = "external-change"
    OPERATOR_ANSWERS_TWICE = "operator-answers-twice"
    ZOMBIE_WORKER = "zombie-worker"
    LEASE_LOST_IN_RECONCILIATION = "lease-lost-in-reconciliation"
    RECOVERY_ADOPTS_LIVE_RUN = "recovery-adopts-live-run"
    RECOVERY_NEVER_COMES = "recovery-never-comes"
    CLOCK_JUMP = "clock-jump"
    COMMIT_UNACKNOWLEDGED = "commit-unacknowledged"
    COMMIT_LOST = "commit-lost"
    SERIALIZATION_FAILURE = "serialization-failure"
    STORE_LOCKED = "store-locked"
    STORE_FULL = "store-full"
    STORE_CONNECTION_LOST = "store-connection-lost"
    OVERLOAD = "overload"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a rig saw when it crossed a site, as far as applicability depends on it."""

    cell: Cell | None = None
    """The provider's cell; None for ledger transactions and providers without one (the approval queue)."""
    action: str = ""
    key_seen: bool = False
    """The provider has seen this idempotency key before."""
    stands: bool = False
    """Something stands at the request's target."""
    approval: bool = False
    """The operation needs a human approval."""


Condition = Callable[[Circumstances], bool]

CONDITIONS: dict[str, Condition] = {
    "always": lambda c: True,
    "late cell": lambda c: c.cell is not None and c.cell.late is Late.YES,
    "duplicate can be found out": lambda c: (
        c.cell is None or c.cell.key is not Key.IGNORED or c.cell.lookup is not Lookup.ABSENT
    ),
    "has look-up": lambda c: c.cell is None or c.cell.lookup is not Lookup.ABSENT,
    "has look-up, key is new": lambda c: (c.cell is None or c.cell.lookup is not Lookup.ABSENT) and not c.key_seen,
    "eventual cell, something stands": lambda c: c.cell is not None and c.cell.lookup is Lookup.EVENTUAL and c.stands,
    "honouring cell": lambda c: c.cell is not None and c.cell.key is not Key.IGNORED,
    "key seen before": lambda c: c.cell is not None and c.cell.key is not Key.IGNORED and c.key_seen,
    "approval asked": lambda c: c.action == "request" and c.stands,
    "approval read": lambda c: c.action == "read" and c.stands,
    "needs approval": lambda c: c.approval,
    "something stands": lambda c: c.stands,
}


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """One row: the fault, what it is, what its symptom allows to conclude, where it fits and why it must be survivable there."""

    fault: Fault
    family: Family
    certainty: Certainty | None
    statement: str
    phases: tuple[Phase, ...]
    purposes: tuple[Purpose, ...]
    condition: str
    survivable: str
    rigs: tuple[str, ...] = ("simulation",)
    """Rigs that can do it today. Empty: it has its word, no rig does it yet."""


_D, _I = Certainty.DEFINITE, Certainty.INDEFINITE
_P, _U = Phase, Purpose
_CHANGING = (_U.EFFECT, _U.UNDO)
_CALLS = (_U.EFFECT, _U.UNDO, _U.LOOKUP, _U.VERIFY, _U.APPROVE)
_LOOKING = (_U.LOOKUP, _U.VERIFY)
_EVERYWHERE = tuple(Purpose)
_ALL = tuple(Phase)
_UNLOCKED = (_P.INTENT_RECORDED, _P.SENT, _P.COMMITTED, _P.ACKNOWLEDGED, _P.RECORDED, _P.AFTER_COMMIT)
"""Where the worker holds no lock of its store. `delivered` is left out: for a caller that waits it is the same as `committed`."""
_IN_WRITE = (_P.IN_COMMIT,)
_BOTH = ("simulation", "process")

FAULTS: dict[Fault, FaultSpec] = {
    row.fault: row
    for row in (
        FaultSpec(
            Fault.CRASH,
            Family.CRASH,
            None,
            "The worker dies: no cleanup runs, its database connection is closed underneath. What was on the wire goes on.",
            _ALL,
            _EVERYWHERE,
            "always",
            "Everything needed to go on is durable before anything leaves the process.",
            _BOTH,
        ),
        FaultSpec(
            Fault.LOST_REQUEST,
            Family.MESSAGE,
            _I,
            "The request vanishes on its way; the caller waits until its timeout.",
            (_P.SENT,),
            _CALLS,
            "always",
            "Looks like a lost response; the ledger observes, or repeats under an honoured key, or hands over to a person.",
            _BOTH,
        ),
        FaultSpec(
            Fault.LOST_RESPONSE,
            Family.MESSAGE,
            _I,
            "The provider commits; its response vanishes; the caller waits until its timeout.",
            (_P.COMMITTED,),
            (*_CHANGING, _U.APPROVE),
            "always",
            "As for a lost request: the same symptom.",
            _BOTH,
        ),
        FaultSpec(
            Fault.CONNECTION_REFUSED,
            Family.MESSAGE,
            _D,
            "No connection is made.",
            (_P.SENT,),
            _CALLS,
            "always",
            "Nothing was sent: a bounded retry is safe.",
            _BOTH,
        ),
        FaultSpec(
            Fault.CONNECTION_RESET,
            Family.MESSAGE,
            _I,
            "The provider commits; the connection is reset before a byte of the response.",
            (_P.COMMITTED,),
            (*_CHANGING, _U.APPROVE),
            "always",
            "A reset proves nothing: as for a lost response.",
        ),
        FaultSpec(
            Fault.TRUNCATED_RESPONSE,
            Family.MESSAGE,
            _I,
            "The provider commits; the response breaks off half-way.",
            (_P.COMMITTED,),
            (*_CHANGING, _U.APPROVE),
            "always",
            "Half an answer is no answer: as for a lost response.",
        ),
        FaultSpec(
            Fault.SLOW_RESPONSE,
            Family.MESSAGE,
            _I,
            "The provider commits; its response comes after the caller has given up.",
            (_P.COMMITTED,),
            (*_CHANGING, _U.APPROVE),
            "always",
            "A slow step is not a dead one: its status is asked before anything is repeated or undone.",
        ),
        FaultSpec(
            Fault.DUPLICATE_DELIVERY,
            Family.MESSAGE,
            None,
            "The network delivers the request twice, the copy right behind the original.",
            (_P.SENT,),
            (*_CHANGING, _U.APPROVE),
            "duplicate can be found out",
            "An honoured key makes the copy harmless; without one the second effect is found by verification and declared. "
            "Left out where keys are ignored and nothing can be looked up: no ledger could know.",
        ),
        FaultSpec(
            Fault.LATE_DELIVERY,
            Family.MESSAGE,
            _I,
            "The request is held up: the caller times out, recovery looks and finds nothing, then the provider commits.",
            (_P.SENT,),
            _CHANGING,
            "late cell",
            "In a late cell `not found` is never proof: repeat under an honoured key or hand over to a person. "
            "Left out in prompt cells: there the provider refuses requests past their deadline.",
        ),
        FaultSpec(
            Fault.UNAVAILABLE,
            Family.PROVIDER,
            _I,
            "The provider answers 503 and has done nothing.",
            (_P.DELIVERED,),
            (*_CHANGING, _U.APPROVE),
            "always",
            "5xx leaves doubt; as for a lost response.",
        ),
        FaultSpec(
            Fault.ERROR_AFTER_COMMIT,
            Family.PROVIDER,
            _I,
            "The provider commits, then answers 500.",
            (_P.COMMITTED,),
            (*_CHANGING, _U.APPROVE),
            "always",
            "5xx leaves doubt; as for a lost response.",
        ),
        FaultSpec(
            Fault.RATE_LIMITED,
            Family.PROVIDER,
            _D,
            "The limiter answers 429 before execution.",
            (_P.DELIVERED,),
            _CALLS,
            "always",
            "Nothing was executed: wait, then a bounded retry.",
        ),
        FaultSpec(
            Fault.DECLINED,
            Family.PROVIDER,
            _D,
            "The provider refuses for a business reason.",
            (_P.DELIVERED,),
            _CHANGING,
            "always",
            "A definite no: the workflow fails and undoes what stands; a declined undo halts for a person.",
        ),
        FaultSpec(
            Fault.REJECTS_DUPLICATE_KEY,
            Family.PROVIDER,
            _I,
            "The provider rejects a key it has seen (409) instead of repeating its answer.",
            (_P.DELIVERED,),
            _CHANGING,
            "key seen before",
            "The rejection says an earlier attempt arrived: observe, do not treat it as failure.",
        ),
        FaultSpec(
            Fault.KEY_REUSED,
            Family.PROVIDER,
            _D,
            "The key was burnt by somebody else with other parameters (400): this request is not applied.",
            (_P.DELIVERED,),
            _CHANGING,
            "honouring cell",
            "Definite for this request. Without an earlier attempt the operation was not committed.",
        ),
        FaultSpec(
            Fault.KEY_IN_USE,
            Family.PROVIDER,
            _I,
            "A request with this key is still running (409).",
            (_P.DELIVERED,),
            _CHANGING,
            "key seen before",
            "The earlier attempt's outcome is open: observe or repeat under the same key.",
        ),
        FaultSpec(
            Fault.FALSE_SUCCESS,
            Family.PROVIDER,
            None,
            "The provider says success though the postcondition is false.",
            (_P.DELIVERED,),
            _CHANGING,
            "has look-up, key is new",
            "Verification reads the world. Left out where nothing can be looked up: no ledger could know.",
        ),
        FaultSpec(
            Fault.PENDING_THEN_SUCCEEDED,
            Family.PROVIDER,
            None,
            "The provider accepts (202), and commits a minute later.",
            (_P.DELIVERED,),
            _CHANGING,
            "has look-up, key is new",
            "Pending is not done: the record is watched until it settles.",
        ),
        FaultSpec(
            Fault.PENDING_THEN_FAILED,
            Family.PROVIDER,
            None,
            "The provider accepts (202), and gives up a minute later without an effect.",
            (_P.DELIVERED,),
            _CHANGING,
            "has look-up, key is new",
            "Pending is not done: the record is watched until it settles.",
        ),
        FaultSpec(
            Fault.WEBHOOK_LATE,
            Family.PROVIDER,
            None,
            "A webhook comes late.",
            (),
            (),
            "always",
            "No webhooks yet.",
            (),
        ),
        FaultSpec(
            Fault.WEBHOOK_TWICE,
            Family.PROVIDER,
            None,
            "A webhook comes twice.",
            (),
            (),
            "always",
            "No webhooks yet.",
            (),
        ),
        FaultSpec(
            Fault.WEBHOOK_OUT_OF_ORDER,
            Family.PROVIDER,
            None,
            "Webhooks overtake each other.",
            (),
            (),
            "always",
            "No webhooks yet.",
            (),
        ),
        FaultSpec(
            Fault.LOOKUP_UNAVAILABLE,
            Family.LOOKUP,
            _I,
            "The look-up or verification is answered 503.",
            (_P.DELIVERED,),
            _LOOKING,
            "always",
            "Not knowing is a state: look again, then declare it.",
        ),
        FaultSpec(
            Fault.STALE_LOOKUP,
            Family.LOOKUP,
            None,
            "The look-up says `not found` although the effect stands.",
            (_P.DELIVERED,),
            _LOOKING,
            "eventual cell, something stands",
            "In an eventual cell `not found` is never proof. Left out in authoritative cells: it would break what the cell says.",
        ),
        FaultSpec(
            Fault.PARTIAL_LOOKUP,
            Family.LOOKUP,
            None,
            "The look-up answers an empty first page and says there is more.",
            (_P.DELIVERED,),
            _LOOKING,
            "has look-up",
            "An incomplete answer proves no absence.",
        ),
        FaultSpec(
            Fault.CANCEL,
            Family.CONTROL,
            None,
            "A person cancels the intent at this moment.",
            _UNLOCKED,
            _EVERYWHERE,
            "always",
            "New effects are fenced by the intent check in the ledger's own transactions; standing ones are undone. "
            "Left out inside a ledger transaction: the embedded store has one writer, a second one would wait.",
        ),
        FaultSpec(
            Fault.SUPERSEDE,
            Family.CONTROL,
            None,
            "An intent that keeps an effect supersedes this one.",
            (),
            (),
            "always",
            "Needs intent versions in the candidate.",
            (),
        ),
        FaultSpec(
            Fault.DOUBLE_SUBMIT,
            Family.CONTROL,
            None,
            "The same intent is submitted a second time, by another worker, at this moment.",
            (_P.RECORDED, _P.COMMITTED, _P.AFTER_COMMIT),
            _EVERYWHERE,
            "always",
            "A workflow's id is its identity: the second submission changes nothing.",
        ),
        FaultSpec(
            Fault.APPROVAL_DENIED,
            Family.CONTROL,
            None,
            "The person denies the approval.",
            (_P.COMMITTED,),
            (_U.APPROVE,),
            "approval asked",
            "A definite no: the operation is not started and the workflow fails.",
        ),
        FaultSpec(
            Fault.APPROVAL_EXPIRES,
            Family.CONTROL,
            None,
            "Time passes the approval's expiry between its check and its use.",
            (_P.BEFORE_INTENT, _P.INTENT_RECORDED),
            (_U.EFFECT,),
            "needs approval",
            "The deadline of the send is bounded by the approval's expiry. Left out on the wire: the send was within it.",
        ),
        FaultSpec(
            Fault.APPROVAL_REVOKED,
            Family.CONTROL,
            None,
            "The person takes a granted approval back after the candidate read it.",
            (_P.ACKNOWLEDGED,),
            (_U.APPROVE,),
            "approval read",
            "Consuming it is a compare-and-set at the approval queue, which then refuses.",
        ),
        FaultSpec(
            Fault.APPROVAL_FOR_CHANGED_PARAMETERS,
            Family.CONTROL,
            None,
            "An approval is spent on changed parameters.",
            (),
            (),
            "always",
            "Needs parameters that change under way.",
            (),
        ),
        FaultSpec(
            Fault.EXTERNAL_CHANGE,
            Family.CONTROL,
            None,
            "An outside actor undoes the effect just before the candidate compensates it.",
            (_P.SENT,),
            (_U.UNDO,),
            "something stands",
            "The provider then refuses the undo; the world is read before anything is concluded.",
        ),
        FaultSpec(
            Fault.OPERATOR_ANSWERS_TWICE,
            Family.CONTROL,
            None,
            "A person resolves the same question twice.",
            (),
            (),
            "always",
            "Needs the resolve verb.",
            (),
        ),
        FaultSpec(
            Fault.ZOMBIE_WORKER,
            Family.LEASE,
            None,
            "The worker stands still until its lease has run out and another one has recovered its work; then it goes on.",
            _UNLOCKED,
            (_U.EFFECT, _U.UNDO, _U.VERIFY, _U.APPROVE, _U.WRITE),
            "always",
            "Each ledger write checks the fencing token, each send its deadline, which the lease bounds.",
        ),
        FaultSpec(
            Fault.LEASE_LOST_IN_RECONCILIATION,
            Family.LEASE,
            None,
            "The same, while the worker reconciles.",
            _UNLOCKED,
            (_U.LOOKUP,),
            "always",
            "As for a zombie worker.",
        ),
        FaultSpec(
            Fault.RECOVERY_ADOPTS_LIVE_RUN,
            Family.LEASE,
            None,
            "A recovery starts while the worker is alive and its lease valid.",
            (_P.INTENT_RECORDED, _P.COMMITTED, _P.RECORDED, _P.AFTER_COMMIT),
            _EVERYWHERE,
            "always",
            "A valid lease is respected: recovery leaves the run alone.",
        ),
        FaultSpec(
            Fault.RECOVERY_NEVER_COMES,
            Family.LEASE,
            None,
            "The worker's name or version changed and nobody claims its work.",
            (),
            (),
            "always",
            "Recovery here always comes under a new worker name; a fault of its own needs versions.",
            (),
        ),
        FaultSpec(
            Fault.CLOCK_JUMP,
            Family.LEASE,
            None,
            "25 hours pass at once: leases, approvals and idempotency keys run out.",
            (_P.INTENT_RECORDED, _P.ACKNOWLEDGED, _P.AFTER_COMMIT),
            _EVERYWHERE,
            "always",
            "Every age is checked against the clock before use; a key past its life is not relied on.",
        ),
        FaultSpec(
            Fault.COMMIT_UNACKNOWLEDGED,
            Family.STORE,
            _I,
            "The store commits; the connection breaks before it says so.",
            _IN_WRITE,
            _EVERYWHERE,
            "always",
            "The ledger reads its own state again before it goes on.",
        ),
        FaultSpec(
            Fault.COMMIT_LOST,
            Family.STORE,
            _I,
            "The connection breaks and the store has not committed.",
            _IN_WRITE,
            _EVERYWHERE,
            "always",
            "The same symptom, the same answer.",
        ),
        FaultSpec(
            Fault.SERIALIZATION_FAILURE,
            Family.STORE,
            _D,
            "The store rolls the transaction back and says so.",
            _IN_WRITE,
            _EVERYWHERE,
            "always",
            "The transaction is done again.",
        ),
        FaultSpec(
            Fault.STORE_LOCKED,
            Family.STORE,
            _D,
            "The store is locked by somebody else.",
            _IN_WRITE,
            _EVERYWHERE,
            "always",
            "The transaction is done again.",
        ),
        FaultSpec(
            Fault.STORE_FULL,
            Family.STORE,
            _D,
            "The store has no room for this commit.",
            _IN_WRITE,
            _EVERYWHERE,
            "always",
            "Nothing is sent whose intention is not durable.",
        ),
        FaultSpec(
            Fault.STORE_CONNECTION_LOST,
            Family.STORE,
            _D,
            "The connection breaks before the commit was asked for.",
            (_P.BEFORE_COMMIT, _P.BEFORE_INTENT),
            _EVERYWHERE,
            "always",
            "An open transaction without its connection is rolled back.",
        ),
        FaultSpec(
            Fault.OVERLOAD, Family.LOAD, None, "More work than capacity.", (), (), "always", "Needs work classes.", ()
        ),
    )
}

assert set(FAULTS) == set(Fault), "every fault has one row"
assert all(row.condition in CONDITIONS for row in FAULTS.values()), "every condition has a name"


def applicable(
    phase: Phase, purpose: Purpose, circumstances: Circumstances, rig: str = "simulation"
) -> tuple[Fault, ...]:
    """The faults that fit a site, in the table's order."""
    return tuple(
        row.fault
        for row in FAULTS.values()
        if phase in row.phases
        and purpose in row.purposes
        and rig in row.rigs
        and CONDITIONS[row.condition](circumstances)
    )
