"""durastep on the bench: what docs/engines/durastep.md says of it comes out again, and the adapter is honest."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from harness.candidates.contract import Handles
from harness.candidates.engines import durastep
from harness.judge.judge import judge
from harness.model.errors import CandidateError, EnvironmentMissing
from harness.model.event import Event, Header, History
from harness.model.lifecycle import WorkflowState
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome
from harness.model.workflow import Operation, RecoveryClass, Workflow
from harness.rigs.simulation import SimulationRig
from harness.scenario_files import find, load
from tests.candidates import engine_sweep

real = pytest.mark.real("durastep")
PAGE = Path(__file__).parents[2] / "docs" / "engines" / "durastep.md"
LOST_RESPONSE = "pair:seed=0:pair/first/attempt-1/committed=lost-response"
CRASH = "pair:seed=0:pair/first/attempt-1/acknowledged=crash"
LATE = "pair:seed=0:cell=ignored.absent.late:pair/first/attempt-1/sent=late-delivery"
FALSE_SUCCESS = "pair:seed=0:pair/first/attempt-1/delivered=false-success"
IN_COMMIT_CRASH = "pair:seed=0:pair/first/attempt-1.record/in-commit=crash"


def rig_for(candidate: durastep.Durastep, line: str) -> SimulationRig:
    return SimulationRig(candidate, load(find("pair")), cell=Schedule.parse(line).cell)


def run(candidate: durastep.Durastep, line: str) -> History:
    rig = rig_for(candidate, line)
    try:
        history = rig.run(Schedule.parse(line)).history
    finally:
        rig.close()
    assert all(history.has_fired(i.fault.value, i.boundary) for i in Schedule.parse(line).injections)
    return history


def charges(history: History) -> list[str]:
    """The effects on the customer's card, counted by hand."""
    return [e.data["effect"] for e in history.of_kind("effect") if e.data["action"] == "charge"]


def violated(history: History) -> set[str]:
    return {v.guarantee for v in judge(history, load(find("pair"))) if v.outcome is Outcome.VIOLATED}


def final_state(history: History) -> str:
    return str(history.of_kind("audited")[0].data["workflow"])


# --- what comes out ------------------------------------------------------------------------------------------------


@real
@pytest.mark.parametrize("form", [durastep.factory, durastep.keyed])
def test_without_a_fault_each_step_takes_effect_once_and_everything_holds(form: Any) -> None:
    history = run(form(), "pair:seed=0:")
    assert len(history.of_kind("effect")) == 2
    assert final_state(history) == WorkflowState.COMPLETED
    assert {v.outcome for v in judge(history, load(find("pair")))} == {Outcome.HOLDS}


@real
@pytest.mark.parametrize("line", [LOST_RESPONSE, CRASH])
def test_a_result_that_was_not_stored_charges_twice(line: str) -> None:
    history = run(durastep.factory(), line)
    assert charges(history) == ["payment-1", "payment-2"]
    assert "no-duplicate-effect" in violated(history)


@real
@pytest.mark.parametrize("line", [LOST_RESPONSE, CRASH])
def test_with_a_stable_key_and_a_provider_that_honours_it_the_same_run_charges_once(line: str) -> None:
    history = run(durastep.keyed(), line)
    assert charges(history) == ["payment-1"]
    assert violated(history) == set()


@real
@pytest.mark.parametrize("form", [durastep.factory, durastep.keyed])
def test_a_late_delivery_charges_a_second_time_after_completion_where_keys_are_ignored(form: Any) -> None:
    history = run(form(), LATE)
    assert charges(history) == ["payment-1", "payment-2"]
    assert "no-duplicate-effect" in violated(history)


@real
@pytest.mark.parametrize("form", [durastep.factory, durastep.keyed])
def test_a_false_success_is_stored_as_a_result(form: Any) -> None:
    history = run(form(), FALSE_SUCCESS)
    assert charges(history) == []
    assert final_state(history) == WorkflowState.COMPLETED
    assert "right-terminal" in violated(history)


@real
@pytest.mark.parametrize("line", [LOST_RESPONSE, CRASH, LATE, FALSE_SUCCESS])
def test_every_documented_counterexample_keeps_the_engines_own_promise(line: str) -> None:
    assert durastep.broken_promises(run(durastep.factory(), line)) == []


@pytest.mark.parametrize("line", [LOST_RESPONSE, CRASH, LATE, FALSE_SUCCESS])
def test_every_counterexample_stands_on_the_page_with_its_replay_command(line: str) -> None:
    assert f"knownstate replay '{line}' --candidate harness.candidates.engines.durastep:" in PAGE.read_text("utf-8")


@real
@pytest.mark.slow
@pytest.mark.parametrize("form", engine_sweep.FORMS)
@pytest.mark.parametrize("cell", engine_sweep.CELLS)
def test_the_tables_on_the_page_are_what_the_sweep_counts(form: str, cell: str) -> None:
    advice = "put what `python -m tests.candidates.engine_sweep` prints on the page, and read its prose again"
    assert engine_sweep.section(form, cell) in PAGE.read_text("utf-8"), advice


@real
def test_the_page_is_about_the_version_that_is_installed() -> None:
    assert version("durastep") == durastep.VERSION
    assert f"durastep {durastep.VERSION}" in PAGE.read_text("utf-8")


@real
def test_equal_schedules_give_equal_histories() -> None:
    first, second = (run(durastep.factory(), CRASH).events for _ in range(2))
    assert first == second


@real
def test_an_engine_that_forgot_its_results_would_break_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("durastep.store.SQLiteStore.get", lambda store, run_id, step_key: None)
    history = run(durastep.factory(), "pair:seed=0:pair/second/attempt-1/committed=lost-response")
    assert {broken.operation for broken in durastep.broken_promises(history)} == {"first"}
    assert len(charges(history)) == 2


@real
def test_the_same_run_with_the_engine_as_it_is_charges_once() -> None:
    history = run(durastep.factory(), "pair:seed=0:pair/second/attempt-1/committed=lost-response")
    assert durastep.broken_promises(history) == []
    assert len(charges(history)) == 1


# --- the crash -----------------------------------------------------------------------------------------------------


class Witness(durastep.Durastep):
    """Tries, each time a worker starts, to write through the connection of the first one, which is dead by then."""

    def __init__(self) -> None:
        super().__init__("witness", durastep.load_engine(), is_keyed=False)
        self.workers: list[durastep.DurastepWorker] = []
        self.refusals: list[str] = []

    def start(self, handles: Handles) -> durastep.DurastepWorker:
        self.refusals += [refusal(worker) for worker in self.workers[:1]]
        self.workers.append(super().start(handles))
        return self.workers[-1]


def refusal(worker: durastep.DurastepWorker) -> str:
    try:
        worker.store.clear_run("pair")
    except sqlite3.ProgrammingError as error:
        return str(error)
    return "it wrote"


@real
def test_a_crash_closes_the_engines_connection() -> None:
    witness = Witness()
    run(witness, CRASH)
    assert witness.refusals, "somebody started after the dead worker"
    assert set(witness.refusals) == {"Cannot operate on a closed database."}


@real
def test_a_result_in_the_midst_of_its_commit_is_lost_with_the_worker() -> None:
    rig = rig_for(durastep.factory(), IN_COMMIT_CRASH)
    history = rig.run(Schedule.parse(IN_COMMIT_CRASH)).history
    with sqlite3.connect(rig._store, uri=True) as reader:
        rows = reader.execute("SELECT step_name, value FROM durastep_steps ORDER BY step_name").fetchall()
    reader.close()
    rig.close()
    assert rows == [("first", '"payment-2"'), ("second", '"cloud-1"')], "the first of two charges left no row"
    died = history.of_kind("worker-died")[0]
    assert not [e for e in history.events if e.actor == died.actor and e.index > died.index]


@real
def test_a_submission_that_never_became_durable_is_made_again_and_runs_once() -> None:
    history = run(durastep.factory(), "pair:seed=0:pair/workflow/accept/in-commit=crash")
    assert len(history.of_kind("submitted")) == 2
    assert charges(history) == ["payment-1"]


# --- the adapter ---------------------------------------------------------------------------------------------------


def test_a_missing_engine_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "durastep", None)
    with pytest.raises(EnvironmentMissing, match=f"uv pip install durastep=={durastep.VERSION}"):
        durastep.factory()


@real
def test_a_store_that_opens_its_file_unseen_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unseen:
        def __init__(self, path: str) -> None: ...
        def list_run(self, run_id: str) -> list[str]:
            return []

    monkeypatch.setattr("durastep.store.SQLiteStore", Unseen)
    with pytest.raises(CandidateError, match="no boundaries"):
        durastep.open_store(durastep.Autocommit(sqlite3.connect(":memory:"), lambda: None))


@real
def test_the_engine_keeps_its_own_sqlite_once_its_store_is_open() -> None:
    run(durastep.factory(), "pair:seed=0:")
    assert vars(import_module("durastep.store"))["sqlite3"] is sqlite3


def counting() -> tuple[durastep.Autocommit, list[str]]:
    said: list[str] = []
    connection = durastep.Autocommit(sqlite3.connect(":memory:"), lambda: said.append("commit"))
    connection.execute("CREATE TABLE t (k PRIMARY KEY)")
    return connection, said


def test_a_statement_that_changes_a_row_is_one_commit() -> None:
    connection, said = counting()
    connection.execute("INSERT OR IGNORE INTO t VALUES (1)")
    assert said == ["commit"]


def test_a_statement_that_finds_its_row_there_is_no_commit() -> None:
    connection, said = counting()
    for _ in range(2):
        connection.execute("INSERT OR IGNORE INTO t VALUES (1)")
    assert said == ["commit"]


def test_operations_run_after_those_they_depend_on_and_otherwise_as_written() -> None:
    def operation(name: str, *depends_on: str) -> Operation:
        return Operation(name, "cloud", "resource.create", name, {}, RecoveryClass.REVERSIBLE, None, depends_on)

    workflow = Workflow("w", (operation("c", "a"), operation("b"), operation("a")))
    assert [op.id for op in durastep.in_order(workflow)].index("a") < 2
    assert [op.id for op in durastep.in_order(workflow)][-1] == "c"


# --- the promise ---------------------------------------------------------------------------------------------------


Told = tuple[str, str, Mapping[str, Any]]
"""Kind, where and data of an event."""


def history_of(*events: Told) -> History:
    rows = [Event(i, i, "w1", kind, where, data) for i, (kind, where, data) in enumerate(events)]
    return History(Header(1, {}, "", 0, "", "", {}), rows)


BEGUN: Told = ("crossed", "pair/first/attempt-1/intent-recorded", {})
BEGUN_AGAIN: Told = ("crossed", "pair/first/attempt-2/intent-recorded", {})
STORED: Told = ("claimed", "first", {"subject": "first", "to": "COMMITTED"})


def test_a_step_begun_again_before_any_result_is_stored_keeps_the_promise() -> None:
    assert durastep.broken_promises(history_of(BEGUN, BEGUN_AGAIN, STORED)) == []


def test_a_step_begun_again_after_its_result_is_stored_breaks_the_promise() -> None:
    broken = durastep.broken_promises(history_of(BEGUN, STORED, BEGUN_AGAIN))
    assert broken == [durastep.BrokenPromise("first", stored=1, again=2)]


def test_a_second_stored_result_of_a_step_breaks_the_promise() -> None:
    broken = durastep.broken_promises(history_of(BEGUN, BEGUN_AGAIN, STORED, STORED))
    assert broken == [durastep.BrokenPromise("first", stored=2, again=3)]
