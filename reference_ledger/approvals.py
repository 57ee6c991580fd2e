"""Human approval: asked for under a client id, read until decided, consumed once by compare-and-set, bound to the exact action."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from harness.model.boundary import Purpose
from harness.model.cell import SECOND_NS
from harness.model.errors import ProviderFailure
from harness.model.wire import Reply, Request
from reference_ledger.records import Flow, Record

if TYPE_CHECKING:
    from reference_ledger.ledger import LedgerWorker

APPROVAL = "approval"
ASK_EVERY_NS = 2 * SECOND_NS
READS_MAX = 120
ROUNDS_MAX = 3
CALLS_MAX = 4


def digest_of(record: Record) -> str:
    """What a person approves: the exact action, target and parameters."""
    op = record.op
    text = json.dumps([record.id, op.provider, op.action, op.target, sorted(op.params.items())])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def obtain(worker: LedgerWorker, flow: Flow, record: Record) -> bool:
    """Have an approval that is consumed for this action and still valid; ask for one if needed. False: the operation will not happen."""
    if worker.rules.approval_usable(record, worker.handles.now_ns()):
        return True
    digest = digest_of(record)
    while record.approval_round < ROUNDS_MAX:
        record.approval_round += 1
        outcome = _one_round(worker, record, digest)
        if outcome == "consumed":
            return True
        if outcome != "expired":
            break
    worker.not_committed(flow, record, "no valid approval")
    return False


def _one_round(worker: LedgerWorker, record: Record, digest: str) -> str:
    client_id = f"{record.id}-{digest}-{record.approval_round}"
    asked = _call(worker, record, "request", client_id, "", digest)
    if asked is None:
        return "unavailable"
    state, values = _decision(worker, record, client_id, asked.reference, digest)
    if state == "consumed" and values.values.get("consumer") not in ("", record.id):
        return "spent"
    if state not in ("granted", "consumed"):
        return state
    expires = int(values.values["expires_ns"])
    if worker.rules.approval_expired(expires, worker.handles.now_ns()):
        return "expired"
    consumed = _call(worker, record, "consume", client_id, asked.reference, digest)
    if consumed is None:
        return "refused"
    record.approval = asked.reference
    record.approval_expires = int(consumed.values["expires_ns"])
    return "consumed"


def _decision(worker: LedgerWorker, record: Record, client_id: str, approval: str, digest: str) -> tuple[str, Reply]:
    for _ in range(READS_MAX):
        read = _call(worker, record, "read", client_id, approval, digest)
        if read is None:
            return "unavailable", Reply()
        state = str(read.values["state"])
        if state != "pending":
            return state, read
        worker.handles.sleep_ns(ASK_EVERY_NS)
    return "undecided", Reply()


def _call(
    worker: LedgerWorker, record: Record, action: str, client_id: str, approval: str, digest: str
) -> Reply | None:
    """One call of the approval queue, repeated when its outcome is open: all three are idempotent by client id and digest."""
    for _ in range(CALLS_MAX):
        try:
            return worker.handles.call(
                Request(APPROVAL, action, Purpose.APPROVE, record.id, client_id, {"digest": digest}, approval=approval)
            )
        except ProviderFailure as failure:
            if failure.code in ("approval-invalid", "already-exists", "not-found", "invalid"):
                return None
            worker.handles.sleep_ns(ASK_EVERY_NS)
    return None
