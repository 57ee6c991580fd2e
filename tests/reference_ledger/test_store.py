"""The ledger's store: one transaction for a move, its claim and its event; nothing at all without the fence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from harness.candidates.contract import Handles
from harness.model.event import History
from harness.model.lifecycle import IllegalTransition, State, WorkflowState
from harness.model.workflow import Workflow
from harness.rigs.simulation import Run
from reference_ledger.ledger import LedgerWorker, ReferenceLedger
from reference_ledger.records import Flow, Move
from reference_ledger.store import Fenced, IntentChanged
from tests.rigs.simulated import begun, scenario_of

PAIR = scenario_of("pair").workflow


def dump(run: Run) -> list[tuple[object, ...]]:
    """Every row of the store."""
    connection = sqlite3.connect(run.rig._store, uri=True)
    try:
        tables = ("workflows", "operations", "events", "outbox")
        return [(table, *row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")]
    finally:
        connection.close()


def durable_events(run: Run) -> list[tuple[str, str, str]]:
    """(subject, state before, state after) of every row of the event table, in order."""
    connection = sqlite3.connect(run.rig._store, uri=True)
    try:
        return list(connection.execute("SELECT subject, was, now FROM events ORDER BY seq"))
    finally:
        connection.close()


def claimed(history: History, subject_filter: str = "") -> list[tuple[str, str, str]]:
    rows = [(e.where, str(e.data["was"]), str(e.data["to"])) for e in history.of_kind("claimed")]
    return [row for row in rows if not subject_filter or row[0] == subject_filter]


@pytest.fixture
def run() -> Iterator[Run]:
    with begun(ReferenceLedger(), "pair:seed=0:") as made:
        yield made


def worker(run: Run, verb: str = "submit") -> LedgerWorker:
    """Another incarnation, that has done nothing yet."""
    handles: Handles = run.spawn(verb).handles
    return ReferenceLedger().start(handles)


def accepted(run: Run) -> tuple[LedgerWorker, Flow]:
    """A worker that has submitted, and the workflow as it reads it."""
    there = worker(run)
    there.submit(PAIR)
    flow = there.store.load("pair")
    assert flow is not None
    return there, flow


# --- submission ----------------------------------------------------------------------------------------------------


def test_submitting_again_changes_nothing_whoever_does_it(run: Run) -> None:
    first, _ = accepted(run)
    before = dump(run)
    first.submit(PAIR)
    worker(run).submit(PAIR)
    worker(run).submit(Workflow("pair", PAIR.operations[:1]))
    assert dump(run) == before


def test_submitting_another_workflow_is_another_one(run: Run) -> None:
    first, _ = accepted(run)
    first.submit(Workflow("other", PAIR.operations))
    assert first.status("other") == first.status("pair") == "RUNNING"


def test_a_workflow_nobody_submitted_has_no_state(run: Run) -> None:
    assert worker(run).status("pair") == ""
    assert worker(run).ledger("pair").operations == {}


# --- transactions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "pair:seed=0:",
        "pair:seed=0:pair/first/attempt-1/committed=crash",
        "pair:seed=0:pair/first/attempt-1/intent-recorded=zombie-worker",
        "pair:seed=0:pair/first/attempt-1.record/in-commit=commit-lost",
        "pair:seed=0:pair/first/attempt-1.record/in-commit=commit-unacknowledged",
        "rollback:seed=0:rollback/undo.billing.charge/attempt-1/delivered=declined",
    ],
)
def test_every_durable_event_was_claimed_and_every_claim_is_durable(line: str) -> None:
    with begun(ReferenceLedger(), line) as run:
        history = run.execute().history
        moves = [row for row in claimed(history) if row != ("workflow", "", "RUNNING")]
        assert sorted(durable_events(run)) == sorted(moves)
        subjects = {subject for subject, _, _ in moves}
        for subject in subjects:
            assert [row for row in durable_events(run) if row[0] == subject] == [r for r in moves if r[0] == subject]


def test_a_move_starts_where_the_one_before_it_ended() -> None:
    with begun(ReferenceLedger(), "rollback:seed=0:rollback/undo.billing.charge/attempt-1/committed=crash") as run:
        history = run.execute().history
    for subject in {e.where for e in history.of_kind("claimed")}:
        moves = claimed(history, subject)
        assert [was for _, was, _ in moves] == ["", *(to for _, _, to in moves[:-1])]


def test_a_move_that_is_not_in_the_table_writes_nothing(run: Run) -> None:
    there, flow = accepted(run)
    before = dump(run)
    with pytest.raises(IllegalTransition):
        there.store.write(flow, "first", "skip", [Move(flow.records["first"], State.VERIFIED)])
    assert dump(run) == before


def test_one_write_is_one_transaction_with_all_its_moves(run: Run) -> None:
    there, flow = accepted(run)
    wrote_before = len([e for e in run.recorder.events if e.kind == "wrote"])
    moves = [Move(flow.records[name], State.COMMITTING) for name in ("first", "second")]
    there.store.write(flow, "workflow", "both", moves, state=WorkflowState.RECOVERING, alert="look here")
    assert len([e for e in run.recorder.events if e.kind == "wrote"]) == wrote_before + 1
    view = worker(run).ledger("pair")
    assert (view.workflow, view.operations) == (
        "RECOVERING",
        {"first": ("COMMITTING", ""), "second": ("COMMITTING", "")},
    )
    assert there.store.unsent_alerts("pair") == [("workflow", "look here")]


# --- the fence -----------------------------------------------------------------------------------------------------


def test_a_write_under_an_old_token_is_fenced_and_changes_nothing(run: Run) -> None:
    there, flow = accepted(run)
    run.world.advance(31_000_000_000)
    taker = worker(run, "recover")
    assert taker._take_over("pair", flow.token)
    before = dump(run)
    with pytest.raises(Fenced):
        there.store.write(flow, "first", "intent", [Move(flow.records["first"], State.COMMITTING)])
    assert dump(run) == before


def test_a_lease_that_has_not_run_out_is_taken_by_nobody(run: Run) -> None:
    _, flow = accepted(run)
    run.world.advance(flow.lease_until - run.world.now)
    assert not worker(run, "recover")._take_over("pair", flow.token), "it is valid to its last moment"
    run.world.advance(1)
    assert worker(run, "recover")._take_over("pair", flow.token)


def test_of_two_that_would_take_over_one_does(run: Run) -> None:
    _, flow = accepted(run)
    run.world.advance(31_000_000_000)
    one, other = worker(run, "recover"), worker(run, "recover")
    assert one._take_over("pair", flow.token)
    assert not other._take_over("pair", flow.token)


def test_a_write_renews_the_lease(run: Run) -> None:
    there, flow = accepted(run)
    run.world.advance(29_000_000_000)
    there.store.write(flow, "first", "intent", [Move(flow.records["first"], State.COMMITTING)])
    run.world.advance(29_000_000_000)
    assert not worker(run, "recover")._take_over("pair", flow.token)


def test_a_new_effect_is_not_begun_under_an_intent_that_was_cancelled_meanwhile(run: Run) -> None:
    there, flow = accepted(run)
    worker(run, "cancel").cancel("pair")
    before = dump(run)
    move = [Move(flow.records["first"], State.COMMITTING)]
    with pytest.raises(IntentChanged):
        there.store.write(flow, "first", "intent", move, check_intent=True)
    assert dump(run) == before


def test_what_is_under_way_is_recorded_under_a_cancelled_intent_too(run: Run) -> None:
    there, flow = accepted(run)
    there.store.write(flow, "first", "intent", [Move(flow.records["first"], State.COMMITTING)])
    worker(run, "cancel").cancel("pair")
    there.store.write(flow, "first", "record", [Move(flow.records["first"], State.COMMITTED)])
    assert worker(run).ledger("pair").operations["first"] == ("COMMITTED", "")


def test_what_is_loaded_is_what_was_written(run: Run) -> None:
    there, flow = accepted(run)
    record = flow.records["first"]
    record.attempts, record.doubted, record.not_after, record.first_sent = 2, 1, 30, 40
    record.observations, record.approval, record.approval_expires, record.approval_round = 5, "a", 60, 2
    record.reference, record.not_before = "payment-1", 70
    there.store.write(flow, "first", "intent", [Move(record, State.COMMITTING)])
    again = worker(run).store.load("pair")
    assert again is not None
    assert again.records["first"] == record
    assert again.workflow == PAIR
