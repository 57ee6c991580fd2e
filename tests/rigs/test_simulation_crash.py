"""A crash in the simulation is a crash: nothing of the candidate runs after it, and only what was committed is left.

The candidate here writes down which of its clean-up ran. A crash that is an exception in disguise runs all of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from harness.candidates.contract import Handles
from harness.model.boundary import Purpose
from harness.model.claim import Claim
from harness.model.event import History
from harness.model.wire import Request
from harness.rigs.simulation import Run
from harness.store.history_file import encode
from tests.rigs.candidates import Candidate, Worker
from tests.rigs.simulated import begun, effects, end_of, play, scenario_of, violated

CALL_PHASES = ("intent-recorded", "sent", "delivered", "committed", "acknowledged")
BILLING = "charge-mail/billing.charge/attempt-1"
TARGET = scenario_of("charge-mail").workflow.operation("billing.charge").target
CHARGE = Request("payment", "charge", Purpose.EFFECT, "billing.charge", TARGET, {"amount": 4900}, key="k")


@contextmanager
def noting(ran: list[str]) -> Iterator[None]:
    try:
        yield
    finally:
        ran.append("exit")


def careful(ran: list[str], handles: Handles) -> None:
    """Call with an open transaction, and clean up in all the ways there are."""
    connection = handles.connect()
    connection.execute("INSERT INTO flows VALUES ('uncommitted')")
    try:
        with noting(ran):
            handles.call(CHARGE)
            ran.append("answered")
    except BaseException:
        ran.append("except")
        raise
    finally:
        ran.append("finally")


class Recovering(Worker):
    """Writes one row when it recovers, which needs the store's one write lock."""

    def recover(self) -> None:
        connection = self.handles.connect()
        connection.execute("INSERT OR IGNORE INTO flows VALUES ('recovered')")
        connection.commit()


def rows(run: Run) -> set[str]:
    """What is committed in the candidate's store."""
    connection = sqlite3.connect(run.rig._store, uri=True)
    try:
        return {row[0] for row in connection.execute("SELECT id FROM flows")}
    finally:
        connection.close()


def crashing_at(boundary: str) -> str:
    return f"charge-mail:seed=0:{boundary}=crash"


def finished(run: Run, where: str) -> History:
    """The run's history; its crash fired."""
    history = run.execute().history
    assert history.has_fired("crash", where)
    return history


@pytest.mark.parametrize("phase", CALL_PHASES)
def test_a_crash_runs_no_clean_up_before_the_run_is_judged(phase: str) -> None:
    ran: list[str] = []
    where = f"{BILLING}/{phase}"
    with begun(Candidate("careful", partial(careful, ran), Recovering), crashing_at(where)) as run:
        finished(run, where)
        assert ran == []
        run.reap()
        assert ran == ["exit", "except", "finally"], "clean-up was there to be run"


def test_without_a_crash_the_same_clean_up_runs() -> None:
    ran: list[str] = []
    with begun(Candidate("careful", partial(careful, ran), Recovering), "charge-mail:seed=0:") as run:
        run.execute()
        assert ran == ["answered", "exit", "finally"]


@pytest.mark.parametrize("phase", CALL_PHASES)
def test_the_transaction_of_a_dead_worker_is_gone_and_another_can_write(phase: str) -> None:
    where = f"{BILLING}/{phase}"
    with begun(Candidate("careful", partial(careful, []), Recovering), crashing_at(where)) as run:
        finished(run, where)
        assert rows(run) == {"charge-mail", "recovered"}


def one_write(handles: Handles) -> None:
    connection = handles.connect()
    connection.execute("INSERT INTO flows VALUES ('written')")
    handles.next_write("workflow", "note")
    connection.commit()


@pytest.mark.parametrize(
    ("phase", "is_there"), [("before-commit", False), ("in-commit", False), ("after-commit", True)]
)
def test_a_write_survives_a_crash_only_if_it_was_committed(phase: str, is_there: bool) -> None:
    where = f"charge-mail/workflow/note/{phase}"
    with begun(Candidate("writer", one_write), crashing_at(where)) as run:
        history = finished(run, where)
        assert ("written" in rows(run)) is is_there
        assert (where.rpartition("/")[0] in {e.where for e in history.of_kind("wrote")}) is is_there


@pytest.mark.parametrize("phase", ["sent", "delivered", "committed"])
def test_what_is_on_the_wire_goes_on_without_its_caller(phase: str) -> None:
    with begun(Candidate("careful", partial(careful, []), Recovering), crashing_at(f"{BILLING}/{phase}")) as run:
        history = finished(run, f"{BILLING}/{phase}")
    assert effects(history) == [("billing.charge", "charge", 1)]
    assert [e.data["code"] for e in history.of_kind("responded")] == ["ok"]
    assert not history.of_kind("caller-saw")


def test_a_crash_before_the_send_sends_nothing() -> None:
    where = f"{BILLING}/intent-recorded"
    with begun(Candidate("careful", partial(careful, []), Recovering), crashing_at(where)) as run:
        history = finished(run, where)
    assert not history.of_kind("call-sent", "arrived", "effect")


def test_whoever_gets_no_answer_to_a_submission_submits_again() -> None:
    history = play("pair:seed=0:pair/workflow/accept/before-commit=crash")
    assert len(history.of_kind("submitted")) == 2
    assert [e.actor for e in history.of_kind("worker-died")] == ["w1"]
    assert end_of(history) == ("COMPLETED", {"first": "VERIFIED", "second": "VERIFIED"})


def test_a_crash_can_strike_the_recovery_from_a_crash() -> None:
    history = play(
        "pair:seed=0:pair/first/attempt-1/committed=crash,pair/workflow/take-over/after-commit=crash,"
        "pair/first/lookup-1/sent=crash"
    )
    assert [e.actor for e in history.of_kind("worker-died")] == ["w1", "w2", "w3"]
    assert effects(history) == [("first", "charge", 1), ("second", "resource.create", 1)]
    assert end_of(history)[0] == "COMPLETED"


# --- the dead that act ---------------------------------------------------------------------------------------------


ACTIONS: dict[str, Callable[[Handles], object]] = {
    "call": lambda handles: handles.call(CHARGE),
    "connect": lambda handles: handles.connect(),
    "sleep": lambda handles: handles.sleep_ns(1),
    "claim": lambda handles: handles.claim(Claim("workflow", "COMPLETED")),
    "alert": lambda handles: handles.alert("billing.charge", "from beyond"),
}


def leaking(act_later: Callable[[Handles], object]) -> Candidate:
    """Keeps the first worker's handles outside of it; a later worker acts through them."""
    leaked: list[Handles] = []

    def act(handles: Handles) -> None:
        leaked.append(handles)
        handles.call(CHARGE)

    class Later(Worker):
        def recover(self) -> None:
            act_later(leaked[0])

    return Candidate("leaking", act, Later)


@pytest.mark.parametrize("what", ACTIONS)
def test_a_dead_incarnation_that_acts_is_recorded_and_convicted(what: str) -> None:
    where = f"{BILLING}/intent-recorded"
    with begun(leaking(ACTIONS[what]), crashing_at(where)) as run:
        history = finished(run, where)
    dead_calls = history.of_kind("dead-call")
    assert {(e.actor, e.data["what"]) for e in dead_calls} == {("w1", what)}
    assert "fenced-worker" in violated(history)
    assert not history.of_kind("effect", "alerted"), "what the dead ask for is not done"


def test_a_dead_incarnation_that_does_not_act_is_no_violation() -> None:
    where = f"{BILLING}/intent-recorded"
    with begun(leaking(lambda handles: handles.now_ns()), crashing_at(where)) as run:
        history = finished(run, where)
    assert not history.of_kind("dead-call")
    assert "fenced-worker" not in violated(history)


# --- reaping -------------------------------------------------------------------------------------------------------


def acting_at_the_end(last_act: Callable[[Handles, sqlite3.Connection], object], handles: Handles) -> None:
    connection = handles.connect()
    try:
        handles.call(CHARGE)
    finally:
        last_act(handles, connection)


def write_late(handles: Handles, connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO flows VALUES ('late')")
    connection.commit()


def reconnect(handles: Handles, connection: sqlite3.Connection) -> None:
    write_late(handles, handles.connect())


def call_late(handles: Handles, connection: sqlite3.Connection) -> None:
    handles.call(CHARGE)


@pytest.mark.parametrize("last_act", [write_late, reconnect, call_late])
def test_reaping_counts_the_errors_of_the_dead_and_changes_nothing(
    last_act: Callable[[Handles, sqlite3.Connection], object],
) -> None:
    where = f"{BILLING}/intent-recorded"
    with begun(Candidate("late", partial(acting_at_the_end, last_act)), crashing_at(where)) as run:
        history = finished(run, where)
        before = encode(history), rows(run)
        run.reap()
        assert (encode(history), rows(run)) == before
        assert run.reap_errors == 1


def test_reaping_a_run_without_clean_up_counts_no_error() -> None:
    where = f"{BILLING}/intent-recorded"
    with begun(leaking(lambda handles: None), crashing_at(where)) as run:
        finished(run, where)
        run.reap()
        assert run.reap_errors == 0


def stubborn(handles: Handles) -> None:
    """Tries again whatever happens to it, without an end."""
    errors: list[BaseException] = []
    while True:
        try:
            handles.call(CHARGE)
        except BaseException as error:
            errors.append(error)


def test_a_candidate_that_catches_everything_cannot_keep_the_reaper() -> None:
    where = f"{BILLING}/acknowledged"
    with begun(Candidate("stubborn", stubborn), crashing_at(where)) as run:
        finished(run, where)
        run.reap()
        assert run.reap_errors == 1
