"""Tables and prebuilt statements. Everything on the hot path is built once here and bound per call.

A transaction of the ledger is: the fence (one UPDATE of the workflow row that only matches while this worker's fencing token is the
current one), the changed operations, and their events. If the fence matches no row, nothing else is written.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text, bindparam, insert, select, update

metadata = MetaData()

workflows = Table(
    "workflows",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("spec", Text, nullable=False),
    Column("state", String(40), nullable=False),
    Column("intent_version", Integer, nullable=False),
    Column("cancelled", Integer, nullable=False, server_default="0"),
    Column("failed", Integer, nullable=False, server_default="0"),
    Column("lease_owner", String(100), nullable=False),
    Column("lease_token", Integer, nullable=False),
    Column("lease_until", BigInteger, nullable=False),
)

OPERATION_COLUMNS = (
    "state",
    "resolution",
    "attempts",
    "doubted",
    "not_after",
    "first_sent",
    "observations",
    "approval",
    "approval_expires",
    "approval_round",
    "reference",
    "not_before",
)
"""The columns that change in an operation's life, in one order for all statements."""

operations = Table(
    "operations",
    metadata,
    Column("workflow", String(200), primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("undoes", String(200), nullable=False, server_default=""),
    Column("key", String(300), nullable=False),
    Column("state", String(40), nullable=False),
    Column("resolution", String(20), nullable=False, server_default=""),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("doubted", Integer, nullable=False, server_default="0"),
    Column("not_after", BigInteger, nullable=False, server_default="0"),
    Column("first_sent", BigInteger, nullable=False, server_default="0"),
    Column("observations", Integer, nullable=False, server_default="0"),
    Column("approval", String(300), nullable=False, server_default=""),
    Column("approval_expires", BigInteger, nullable=False, server_default="0"),
    Column("approval_round", Integer, nullable=False, server_default="0"),
    Column("reference", String(300), nullable=False, server_default=""),
    Column("not_before", BigInteger, nullable=False, server_default="0"),
)

events = Table(
    "events",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("workflow", String(200), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("was", String(40), nullable=False),
    Column("now", String(40), nullable=False),
    Column("reason", String(300), nullable=False),
    Column("at_ns", BigInteger, nullable=False),
    Column("worker", String(100), nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("workflow", String(200), primary_key=True),
    Column("subject", String(200), primary_key=True),
    Column("reason", String(300), nullable=False),
    Column("sent", Integer, nullable=False, server_default="0"),
)

FENCE = (
    update(workflows)
    .where(workflows.c.id == bindparam("w"), workflows.c.lease_token == bindparam("token"))
    .values(lease_until=bindparam("until"), state=bindparam("new_state"), failed=bindparam("new_failed"))
)
"""Matches only while this worker's lease is the current one."""
FENCE_INTENT = FENCE.where(workflows.c.cancelled == bindparam("seen_cancelled"))
"""The same, and only if the intent is as this worker has read it: used before anything new is started."""
UPDATE_OPERATION = (
    update(operations)
    .where(operations.c.workflow == bindparam("w"), operations.c.id == bindparam("o"))
    .values({name: bindparam(f"n_{name}") for name in OPERATION_COLUMNS})
)
INSERT_OPERATION = insert(operations).values(
    workflow=bindparam("w"),
    id=bindparam("o"),
    position=bindparam("position"),
    undoes=bindparam("undoes"),
    key=bindparam("key"),
    state=bindparam("state"),
)
INSERT_EVENT = insert(events).values(
    workflow=bindparam("w"),
    subject=bindparam("subject"),
    was=bindparam("was"),
    now=bindparam("to"),
    reason=bindparam("reason"),
    at_ns=bindparam("at"),
    worker=bindparam("worker"),
)
INSERT_WORKFLOW = insert(workflows).values(
    id=bindparam("w"),
    spec=bindparam("spec"),
    state=bindparam("state"),
    intent_version=bindparam("version"),
    lease_owner=bindparam("owner"),
    lease_token=1,
    lease_until=bindparam("until"),
)
SELECT_WORKFLOW = select(workflows).where(workflows.c.id == bindparam("w"))
SELECT_OPERATIONS = select(operations).where(operations.c.workflow == bindparam("w")).order_by(operations.c.position)
SELECT_VIEW = (
    select(workflows.c.state, operations.c.id, operations.c.state, operations.c.resolution)
    .join_from(workflows, operations, workflows.c.id == operations.c.workflow)
    .where(workflows.c.id == bindparam("w"))
    .order_by(operations.c.position)
)
SELECT_OPEN = (
    select(workflows.c.id, workflows.c.lease_token)
    .where(workflows.c.state.in_(("RUNNING", "RECOVERING")), workflows.c.lease_until < bindparam("now"))
    .order_by(workflows.c.id)
)
TAKE_OVER = (
    update(workflows)
    .where(
        workflows.c.id == bindparam("w"),
        workflows.c.lease_token == bindparam("token"),
        workflows.c.lease_until < bindparam("now"),
    )
    .values(lease_token=workflows.c.lease_token + 1, lease_owner=bindparam("owner"), lease_until=bindparam("until"))
)
CANCEL = (
    update(workflows)
    .where(
        workflows.c.id == bindparam("w"), workflows.c.state.in_(("RUNNING", "RECOVERING")), workflows.c.cancelled == 0
    )
    .values(cancelled=1)
)
INSERT_ALERT = insert(outbox).values(workflow=bindparam("w"), subject=bindparam("subject"), reason=bindparam("reason"))
SELECT_ALERTS = select(outbox.c.subject, outbox.c.reason).where(outbox.c.workflow == bindparam("w"), outbox.c.sent == 0)
ALERTS_SENT = update(outbox).where(outbox.c.workflow == bindparam("w")).values(sent=1)
