"""The simulation rig: fresh worlds, virtual time, transactions as boundaries, and runs that reach their limits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from harness.candidates.contract import Handles
from harness.inject.names import STRAY_SUBJECT
from harness.inject.simulation import CALL_TIMEOUT_NS
from harness.judge.judge import judge
from harness.model.boundary import Purpose
from harness.model.cell import SECOND_NS
from harness.model.claim import Claim
from harness.model.errors import CandidateError
from harness.model.event import History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome
from harness.model.wire import Request
from harness.model.workflow import Limits, Scenario
from harness.rigs import simulation
from harness.rigs.simulation import SimulationRig
from tests.rigs import candidates
from tests.rigs.candidates import Candidate, Worker
from tests.rigs.simulated import begun, claims, play, scenario_of

PAIR = scenario_of("pair")
FIRST = PAIR.workflow.operation("first")
CHARGE = Request("payment", "charge", Purpose.EFFECT, "first", FIRST.target, FIRST.params, key="k")
CONTROL = Schedule("pair")


def history_of(act: Callable[[Handles], None], scenario: Scenario = PAIR) -> History:
    """A control run in which the worker does this."""
    rig = SimulationRig(Candidate("acting", act), scenario)
    try:
        return rig.run(CONTROL).history
    finally:
        rig.close()


# --- worlds --------------------------------------------------------------------------------------------------------


def test_a_fresh_world_is_seen_by_connections_that_were_there_before() -> None:
    rig = SimulationRig(Candidate("idle", lambda handles: None), PAIR)
    connection = sqlite3.connect(rig._store, uri=True)
    rig.fresh_world()
    connection.execute("INSERT INTO flows VALUES ('old')")
    connection.commit()
    rig.fresh_world()
    assert connection.execute("SELECT count(*) FROM flows").fetchone() == (0,)
    connection.close()
    rig.close()


def test_a_fresh_world_is_shared_by_all_connections_to_it() -> None:
    rig = SimulationRig(Candidate("idle", lambda handles: None), PAIR)
    early = sqlite3.connect(rig._store, uri=True)
    rig.fresh_world()
    late = sqlite3.connect(rig._store, uri=True)
    for writer, reader in ((early, late), (late, early)):
        writer.execute("INSERT INTO flows VALUES (?)", (str(id(writer)),))
        writer.commit()
        assert reader.execute("SELECT count(*) FROM flows WHERE id = ?", (str(id(writer)),)).fetchone() == (1,)
    early.close()
    late.close()
    rig.close()


def test_two_rigs_have_worlds_of_their_own() -> None:
    with (
        begun(Candidate("one", lambda h: None), "pair:seed=0:") as one,
        begun(Candidate("two", lambda h: None), "pair:seed=0:") as two,
    ):
        one.execute()
        connection = sqlite3.connect(two.rig._store, uri=True)
        assert connection.execute("SELECT count(*) FROM flows").fetchone() == (0,)
        connection.close()


def test_a_run_starts_from_what_prepare_left_and_not_from_the_run_before() -> None:
    rig = SimulationRig(Candidate("idle", lambda handles: None), PAIR)
    first, second = rig.run(CONTROL), rig.run(CONTROL)
    rig.close()
    assert first.history == second.history, "the second submission finds no row of the first"


def test_a_candidate_that_cannot_prepare_is_told_what_prepare_is_for() -> None:
    with pytest.raises(CandidateError, match="could not prepare") as refused:
        SimulationRig(candidates.unprepared(), PAIR)
    assert "prepare(connection)" in refused.value.next_step


def test_a_candidate_without_a_ledger_is_told_what_ledger_answers() -> None:
    rig = SimulationRig(candidates.ledgerless(), PAIR)
    with pytest.raises(CandidateError, match="NoneType instead of a LedgerView") as refused:
        rig.run(CONTROL)
    rig.close()
    assert "pair:seed=0:" in refused.value.where


# --- time ----------------------------------------------------------------------------------------------------------


def test_sleeping_moves_virtual_time_and_nothing_else() -> None:
    moments: list[int] = []

    def act(handles: Handles) -> None:
        moments.append(handles.now_ns())
        handles.sleep_ns(90 * SECOND_NS)
        moments.append(handles.now_ns())
        handles.sleep_ns(0)
        handles.sleep_ns(-SECOND_NS)
        moments.append(handles.now_ns())

    history_of(act)
    start, woken, still = moments
    assert woken - start == 90 * SECOND_NS
    assert still == woken, "time does not run backwards"


def test_timers_fire_in_the_order_of_their_moments_while_a_worker_sleeps() -> None:
    order: list[tuple[str, int]] = []
    with begun(Candidate("sleeper", lambda handles: handles.sleep_ns(10 * SECOND_NS)), "pair:seed=0:") as run:
        world = run.world
        for name, delay_s in (("third", 9), ("first", 2), ("second", 2), ("never", 11)):
            world.later(delay_s * SECOND_NS, lambda name=name: order.append((name, world.now)))  # type: ignore[misc]  # a lambda's default has no type
        run.begin_work()
        assert order == [("first", 2 * SECOND_NS), ("second", 2 * SECOND_NS), ("third", 9 * SECOND_NS)]


def test_a_caller_that_gets_no_answer_waits_for_its_timeout_and_no_longer() -> None:
    history = play("pair:seed=0:pair/first/attempt-1/sent=lost-request")
    (sent,) = [e for e in history.of_kind("call-sent") if e.where == "pair/first/attempt-1"]
    (saw,) = [e for e in history.of_kind("caller-saw") if e.where == "pair/first/attempt-1"]
    assert CALL_TIMEOUT_NS <= saw.time_ns - sent.time_ns < CALL_TIMEOUT_NS + SECOND_NS


# --- limits --------------------------------------------------------------------------------------------------------


def calling(handles: Handles) -> None:
    while True:
        handles.call(CHARGE)


def sleeping(handles: Handles) -> None:
    while True:
        handles.sleep_ns(SECOND_NS)


def waiting(handles: Handles) -> None:
    """Asks the clock again and again, without letting time pass."""
    until = handles.now_ns() + 1
    while handles.now_ns() < until:
        pass


def stubborn(act: Callable[[Handles], None], handles: Handles) -> None:
    """Does it again and again, whatever happens."""
    caught: list[BaseException] = []
    while True:
        try:
            act(handles)
        except BaseException as error:
            caught.append(error)


LIMITED = replace(PAIR, limits=Limits(crossings_max=50, virtual_time_max_ns=100 * SECOND_NS))


@pytest.mark.parametrize(
    ("act", "limit"),
    [
        (calling, "crossings"),
        (sleeping, "virtual-time"),
        (waiting, "busy-wait"),
        (partial(stubborn, calling), "crossings"),
        (partial(stubborn, sleeping), "virtual-time"),
    ],
    ids=["calls", "sleeps", "waits for the clock", "calls whatever happens", "sleeps whatever happens"],
)
def test_a_run_without_an_end_is_cut_short_and_says_why(act: Callable[[Handles], None], limit: str) -> None:
    history = history_of(act, LIMITED)
    assert history.cut_short == limit
    assert history.events[-1].kind == "run-ended"


def test_a_run_within_its_limits_is_not_cut_short() -> None:
    assert history_of(lambda handles: handles.sleep_ns(60 * SECOND_NS), LIMITED).cut_short == ""


def test_a_run_that_was_cut_short_never_passes() -> None:
    history = history_of(sleeping, LIMITED)
    outcomes = {verdict.outcome for verdict in judge(history, LIMITED)}
    assert Outcome.HOLDS not in outcomes


# --- transactions --------------------------------------------------------------------------------------------------


def insert(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("INSERT INTO flows VALUES (?)", (name,))


def writes(history: History) -> list[str]:
    """The transactions that were committed, but for the submission's own."""
    return [e.where for e in history.of_kind("wrote")][1:]


def test_a_commit_is_three_boundaries() -> None:
    def act(handles: Handles) -> None:
        connection = handles.connect()
        insert(connection, "row")
        handles.next_write("workflow", "note")
        connection.commit()

    crossed = [e.where for e in history_of(act).of_kind("crossed")]
    phases = [where.rpartition("/")[2] for where in crossed if where.startswith("pair/workflow/note/")]
    assert phases == ["before-commit", "in-commit", "after-commit"]


def test_a_with_block_commits_through_the_same_boundaries() -> None:
    def act(handles: Handles) -> None:
        handles.next_write("workflow", "note")
        with handles.connect() as connection:
            insert(connection, "row")

    history = history_of(act)
    assert writes(history) == ["pair/workflow/note"]


def test_a_commit_that_changes_nothing_is_no_boundary() -> None:
    def act(handles: Handles) -> None:
        connection = handles.connect()
        connection.execute("SELECT * FROM flows").fetchall()
        connection.commit()

    assert writes(history_of(act)) == []


def test_a_write_without_a_name_is_numbered() -> None:
    def act(handles: Handles) -> None:
        connection = handles.connect()
        for name in ("one", "two"):
            insert(connection, name)
            connection.commit()

    assert writes(history_of(act)) == ["pair/workflow/write-2", "pair/workflow/write-3"], "the first is the submission"


def test_a_claim_counts_once_its_transaction_is_committed() -> None:
    def act(handles: Handles) -> None:
        connection = handles.connect()
        insert(connection, "row")
        handles.claim(Claim("first", "COMMITTING", "PREPARED"))
        connection.commit()

    assert claims(history_of(act), "first") == ["COMMITTING"]


def roll_back(connection: sqlite3.Connection) -> None:
    connection.rollback()


def close(connection: sqlite3.Connection) -> None:
    connection.close()


def fail_in_a_with_block(connection: sqlite3.Connection) -> None:
    with pytest.raises(KeyError), connection:
        raise KeyError


@pytest.mark.parametrize("give_up", [roll_back, close, fail_in_a_with_block])
def test_a_claim_is_dropped_with_its_transaction(give_up: Callable[[sqlite3.Connection], None]) -> None:
    def act(handles: Handles) -> None:
        connection = handles.connect()
        insert(connection, "row")
        handles.claim(Claim("first", "COMMITTING", "PREPARED"))
        give_up(connection)
        insert(other := handles.connect(), "another row")
        other.commit()

    history = history_of(act)
    assert len(writes(history)) == 1, "only the second transaction is committed"
    assert claims(history, "first") == []


# --- evidence ------------------------------------------------------------------------------------------------------


def test_what_a_candidate_does_to_its_parameters_later_changes_no_evidence() -> None:
    def act(handles: Handles) -> None:
        params = dict(FIRST.params)
        handles.call(CHARGE._replace(params=params))
        params["amount"] = 1

    (sent,) = history_of(act).of_kind("call-sent")
    assert sent.data["params"] == FIRST.params


def test_a_call_at_no_operation_s_target_is_a_stray() -> None:
    def act(handles: Handles) -> None:
        handles.call(CHARGE._replace(operation="", target="elsewhere"))

    assert [e.where for e in history_of(act).of_kind("call-sent")] == [f"pair/{STRAY_SUBJECT}/attempt-1"]


def test_the_pager_rings_once_for_a_subject() -> None:
    def act(handles: Handles) -> None:
        for subject, reason in (("first", "stuck"), ("first", "still stuck"), ("second", "stuck")):
            handles.alert(subject, reason)

    alerts = [(e.where, e.data["reason"]) for e in history_of(act).of_kind("alerted")]
    assert alerts == [("first", "stuck"), ("second", "stuck")]


def test_a_candidate_s_own_error_ends_the_worker_and_stands_in_the_history() -> None:
    def act(handles: Handles) -> None:
        raise ZeroDivisionError("by zero")

    (died,) = history_of(act).of_kind("worker-died")
    assert died.data["cause"] == "error in work: ZeroDivisionError: by zero"


class _NoCancel(Worker):
    """Has no cancel at all."""


def test_a_missing_verb_is_the_candidate_s_error_and_not_a_cancellation() -> None:
    line = "pair:seed=0:pair/first/attempt-1/sent=cancel"
    with begun(Candidate("no-cancel", lambda handles: _ignore(handles.call(CHARGE)), _NoCancel), line) as run:
        history = run.execute().history
    assert history.has_fired("cancel", "pair/first/attempt-1/sent")
    assert not history.of_kind("cancelled")


def _ignore(value: object) -> None:
    """An action has no value."""


# --- whose error it is ---------------------------------------------------------------------------------------------


def breaking(file_name: str) -> Callable[[Handles], None]:
    """An assertion that fails in a file of this name."""

    def act(handles: Handles) -> None:
        exec(compile("assert 1 == 2, 'one is not two'", file_name, "exec"))

    return act


def test_a_failed_assertion_of_the_candidate_s_is_its_own_error_wherever_it_lives() -> None:
    (died,) = history_of(breaking("/home/somebody/my-harness/ledger.py")).of_kind("worker-died")
    assert died.data["cause"] == "error in work: AssertionError: one is not two"


def test_a_failed_assertion_of_ours_voids_the_run() -> None:
    with pytest.raises(AssertionError, match="one is not two"):
        history_of(breaking(simulation.__file__))


def test_a_candidate_that_exits_ends_its_worker_and_not_the_campaign() -> None:
    def act(handles: Handles) -> None:
        raise SystemExit(3)

    (died,) = history_of(act).of_kind("worker-died")
    assert died.data["cause"] == "error in work: SystemExit: 3"


def spinning(handles: Handles) -> None:
    """Never crosses a boundary, never asks the clock, and lets nobody end it."""
    caught: list[BaseException] = []
    while True:
        try:
            while True:
                pass
        except BaseException as error:
            caught.append(error)


@pytest.mark.slow
def test_a_candidate_that_loops_without_a_boundary_is_cut_by_the_alarm() -> None:
    rig = SimulationRig(Candidate("spinning", spinning), PAIR)
    rig.real_time_max_s = 0.2
    try:
        history = rig.run(Schedule("pair")).history
    finally:
        rig.close()
    assert history.cut_short == "real-time"
    assert {verdict.outcome for verdict in judge(history, PAIR)} == {Outcome.UNKNOWN}
