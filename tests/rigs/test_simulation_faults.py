"""Every fault the simulation can do, done once: it fires, and what its row in the table says is what happens.

Three tables: what a call meets (the four counts and what the caller sees), what a ledger transaction meets, and what
the whole run meets. Together they name every fault of the rig.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import pytest

from fakes.core.journal import Counts
from harness.candidates.contract import Handles
from harness.inject.simulation import CALL_TIMEOUT_NS
from harness.model.cell import LATE_NS, SECOND_NS
from harness.model.errors import certainty_of
from harness.model.event import Event, History
from harness.model.fault import FAULTS, Fault
from harness.rigs.simulation import JUMP_NS, RESTART_NS
from tests.rigs.candidates import Candidate
from tests.rigs.simulated import (
    after,
    audit,
    bad_verdicts,
    begun,
    claims,
    counts_of,
    effects,
    end_of,
    fired,
    play,
    saw,
    scenario_of,
)

ASKED = "pair/first/attempt-1"
LOOKED = "pair/first/verify-1"


@dataclass(frozen=True, slots=True)
class OnACall:
    """A fault of one call, and what its four counts are then: arrivals, commits, responses, outcomes seen by the caller."""

    fault: Fault
    line: str
    call: str
    counts: tuple[int, int, int, int]
    code: str


def on_first(fault: Fault, phase: str, counts: tuple[int, int, int, int], code: str, cell: str = "") -> OnACall:
    """At the first attempt of the first operation."""
    cell_part = f"cell={cell}:" if cell else ""
    return OnACall(fault, f"pair:seed=0:{cell_part}{ASKED}/{phase}={fault.value}", ASKED, counts, code)


def on_second_try(fault: Fault, code: str) -> OnACall:
    """At the second attempt, under a key that the first one has used."""
    line = f"pair:seed=0:cell=honoured.absent.prompt:{ASKED}/committed=lost-response,pair/first/attempt-2/delivered={fault.value}"
    return OnACall(fault, line, "pair/first/attempt-2", (1, 0, 1, 1), code)


def on_verification(fault: Fault, code: str, cell: str) -> OnACall:
    return OnACall(fault, f"pair:seed=0:cell={cell}:{LOOKED}/delivered={fault.value}", LOOKED, (1, 0, 1, 1), code)


PROMPT = "honoured.authoritative.prompt"
ON_A_CALL = (
    on_first(Fault.LOST_REQUEST, "sent", (0, 0, 0, 1), "timeout"),
    on_first(Fault.CONNECTION_REFUSED, "sent", (0, 0, 0, 1), "connection-refused"),
    on_first(Fault.LATE_DELIVERY, "sent", (1, 1, 1, 1), "timeout", "ignored.authoritative.late"),
    on_first(Fault.DUPLICATE_DELIVERY, "sent", (2, 1, 2, 1), "ok"),
    on_first(Fault.LOST_RESPONSE, "committed", (1, 1, 1, 1), "timeout"),
    on_first(Fault.SLOW_RESPONSE, "committed", (1, 1, 1, 1), "timeout"),
    on_first(Fault.CONNECTION_RESET, "committed", (1, 1, 1, 1), "connection-reset"),
    on_first(Fault.TRUNCATED_RESPONSE, "committed", (1, 1, 1, 1), "truncated-response"),
    on_first(Fault.ERROR_AFTER_COMMIT, "committed", (1, 1, 1, 1), "internal-error"),
    on_first(Fault.UNAVAILABLE, "delivered", (1, 0, 1, 1), "unavailable"),
    on_first(Fault.RATE_LIMITED, "delivered", (1, 0, 1, 1), "rate-limited"),
    on_first(Fault.DECLINED, "delivered", (1, 0, 1, 1), "declined"),
    on_first(Fault.KEY_REUSED, "delivered", (1, 0, 1, 1), "key-reused"),
    on_first(Fault.FALSE_SUCCESS, "delivered", (1, 0, 1, 1), "ok"),
    on_first(Fault.PENDING_THEN_SUCCEEDED, "delivered", (1, 1, 1, 1), "ok"),
    on_first(Fault.PENDING_THEN_FAILED, "delivered", (1, 0, 1, 1), "ok"),
    on_second_try(Fault.REJECTS_DUPLICATE_KEY, "duplicate-key"),
    on_second_try(Fault.KEY_IN_USE, "key-in-use"),
    on_verification(Fault.LOOKUP_UNAVAILABLE, "unavailable", PROMPT),
    on_verification(Fault.PARTIAL_LOOKUP, "ok", PROMPT),
    on_verification(Fault.STALE_LOOKUP, "ok", "honoured.eventual.prompt"),
)
ON_A_WRITE = {
    Fault.COMMIT_UNACKNOWLEDGED: ("in-commit", True),
    Fault.COMMIT_LOST: ("in-commit", False),
    Fault.SERIALIZATION_FAILURE: ("in-commit", False),
    Fault.STORE_LOCKED: ("in-commit", False),
    Fault.STORE_FULL: ("in-commit", False),
    Fault.STORE_CONNECTION_LOST: ("before-commit", False),
}
"""Fault -> where it strikes, and whether what was to be written is there afterwards."""
ON_THE_RUN = {
    Fault.CRASH: f"pair:seed=0:{ASKED}/committed=crash",
    Fault.CANCEL: f"pair:seed=0:{ASKED}/recorded=cancel",
    Fault.DOUBLE_SUBMIT: f"pair:seed=0:{ASKED}/recorded=double-submit",
    Fault.APPROVAL_DENIED: "drill:seed=0:drill/second/approval-1/committed=approval-denied",
    Fault.APPROVAL_EXPIRES: "drill:seed=0:drill/second/attempt-1/intent-recorded=approval-expires",
    Fault.APPROVAL_REVOKED: "drill:seed=0:drill/second/approval-3/acknowledged=approval-revoked",
    Fault.EXTERNAL_CHANGE: "rollback:seed=0:rollback/undo.dns.record/attempt-1/sent=external-change",
    Fault.ZOMBIE_WORKER: f"pair:seed=0:{ASKED}/intent-recorded=zombie-worker",
    Fault.LEASE_LOST_IN_RECONCILIATION: (
        f"pair:seed=0:{ASKED}/sent=lost-request,pair/first/lookup-1/acknowledged=lease-lost-in-reconciliation"
    ),
    Fault.RECOVERY_ADOPTS_LIVE_RUN: f"pair:seed=0:{ASKED}/recorded=recovery-adopts-live-run",
    Fault.CLOCK_JUMP: f"pair:seed=0:{ASKED}/intent-recorded=clock-jump",
}


def test_every_fault_of_the_simulation_is_in_one_of_the_tables() -> None:
    tabled = [row.fault for row in ON_A_CALL] + [*ON_A_WRITE, *ON_THE_RUN]
    assert len(tabled) == len(set(tabled))
    assert set(tabled) == {row.fault for row in FAULTS.values() if "simulation" in row.rigs}


# --- what a call meets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ON_A_CALL, ids=lambda row: row.fault)
def test_a_fault_of_a_call_leaves_its_four_counts_and_its_code(row: OnACall) -> None:
    history = play(row.line)
    assert counts_of(history, row.call) == Counts(*row.counts)
    seen = saw(history, row.call)
    assert seen.data["code"] == row.code
    assert seen.data["outcome"] == ("ok" if row.code == "ok" else certainty_of(row.code).value)


@pytest.mark.parametrize("row", ON_A_CALL, ids=lambda row: row.fault)
def test_a_fault_of_a_call_leaves_its_caller_as_certain_as_the_table_says(row: OnACall) -> None:
    certainty = FAULTS[row.fault].certainty
    outcome = saw(play(row.line), row.call).data["outcome"]
    assert outcome == (certainty.value if certainty is not None else "ok")


@pytest.mark.parametrize("row", ON_A_CALL, ids=lambda row: row.fault)
def test_the_sound_ledger_survives_a_fault_of_a_call(row: OnACall) -> None:
    assert bad_verdicts(play(row.line)) == []


def of_fault(fault: Fault) -> History:
    (row,) = [row for row in ON_A_CALL if row.fault is fault]
    return play(row.line)


def first_effect(history: History) -> Event:
    return next(e for e in history.of_kind("effect") if e.data["call"] == ASKED)


def waited_ns(history: History) -> int:
    """From the send of the first attempt to its outcome."""
    (sent,) = [e for e in history.of_kind("call-sent") if e.data["call"] == ASKED]
    return saw(history, ASKED).time_ns - sent.time_ns


@pytest.mark.parametrize("fault", [Fault.LOST_REQUEST, Fault.LOST_RESPONSE, Fault.SLOW_RESPONSE, Fault.LATE_DELIVERY])
def test_a_caller_that_hears_nothing_waits_for_its_timeout(fault: Fault) -> None:
    assert CALL_TIMEOUT_NS <= waited_ns(of_fault(fault)) < CALL_TIMEOUT_NS + SECOND_NS


@pytest.mark.parametrize("fault", [Fault.CONNECTION_REFUSED, Fault.CONNECTION_RESET, Fault.TRUNCATED_RESPONSE])
def test_a_caller_whose_connection_breaks_knows_it_at_once(fault: Fault) -> None:
    assert waited_ns(of_fault(fault)) < SECOND_NS


def test_a_late_delivery_is_committed_after_recovery_has_looked_and_given_up() -> None:
    history = of_fault(Fault.LATE_DELIVERY)
    effect = first_effect(history)
    looked = [e for e in history.of_kind("caller-saw") if "lookup" in e.where]
    assert looked
    assert all(e.index < effect.index and e.data["found"] == () for e in looked)
    assert LATE_NS <= effect.time_ns - fired(history).time_ns < LATE_NS + SECOND_NS
    assert effect.index > history.of_kind("healed")[0].index
    assert audit(history)["timers_left"] == 0


def test_a_duplicate_comes_right_behind_the_original_and_is_harmless_under_an_honoured_key() -> None:
    history = of_fault(Fault.DUPLICATE_DELIVERY)
    arrived = [(e.data["delivery"], e.time_ns) for e in history.of_kind("arrived") if e.data["call"] == ASKED]
    assert [delivery for delivery, _ in arrived] == [1, 2]
    assert arrived[1][1] - arrived[0][1] < SECOND_NS
    assert effects(history)[:2] == [("first", "charge", 1), ("second", "resource.create", 1)]


def test_a_duplicate_makes_a_second_effect_where_keys_are_ignored() -> None:
    history = play(f"pair:seed=0:cell=ignored.authoritative.prompt:{ASKED}/sent=duplicate-delivery")
    assert effects(history) == [("first", "charge", 1), ("first", "charge", 2)]
    assert counts_of(history, ASKED) == Counts(2, 2, 2, 1)
    assert bad_verdicts(history) == [], "found out by verification, and declared"


def test_a_false_success_names_something_that_does_not_stand() -> None:
    history = of_fault(Fault.FALSE_SUCCESS)
    (verified, *_) = [e for e in history.of_kind("caller-saw") if "verify" in e.where]
    assert (verified.data["code"], verified.data["found"]) == ("ok", ())


@pytest.mark.parametrize(
    ("fault", "effects_count"), [(Fault.PENDING_THEN_SUCCEEDED, 1), (Fault.PENDING_THEN_FAILED, 0)]
)
def test_a_pending_result_is_settled_long_after_the_answer(fault: Fault, effects_count: int) -> None:
    history = of_fault(fault)
    answered = saw(history, ASKED)
    assert answered.data["pending"] is True
    made = [e for e in history.of_kind("effect") if e.data["call"] == ASKED]
    assert len(made) == effects_count
    assert all(e.time_ns - answered.time_ns > 30 * SECOND_NS for e in made)


def test_a_stale_lookup_finds_nothing_although_the_effect_stands() -> None:
    history = of_fault(Fault.STALE_LOOKUP)
    seen = saw(history, LOOKED)
    assert (seen.data["found"], seen.data["complete"]) == ((), True)
    assert first_effect(history).index < seen.index


def test_a_partial_lookup_says_that_there_is_more() -> None:
    seen = saw(of_fault(Fault.PARTIAL_LOOKUP), LOOKED)
    assert (seen.data["found"], seen.data["complete"]) == ((), False)


# --- what a write meets --------------------------------------------------------------------------------------------


def writing_once(errors: list[sqlite3.Error], found: list[set[str]]) -> Candidate:
    """Writes one row, and reads what is there afterwards over another connection."""

    def act(handles: Handles) -> None:
        connection = handles.connect()
        connection.execute("INSERT INTO flows VALUES ('row')")
        handles.next_write("workflow", "note")
        try:
            connection.commit()
        except sqlite3.Error as error:
            errors.append(error)
        found.append({row[0] for row in handles.connect().execute("SELECT id FROM flows")})

    return Candidate("writer", act)


def met(fault: Fault) -> tuple[sqlite3.Error, bool, History]:
    """What the writer was told, whether its row is there, and the history."""
    errors: list[sqlite3.Error] = []
    found: list[set[str]] = []
    where = f"pair/workflow/note/{ON_A_WRITE[fault][0]}"
    with begun(writing_once(errors, found), f"pair:seed=0:{where}={fault.value}") as run:
        history = run.execute().history
    assert history.has_fired(fault.value, where)
    return errors[0], "row" in found[0], history


@pytest.mark.parametrize("fault", ON_A_WRITE)
def test_a_store_fault_leaves_the_row_only_where_the_store_committed(fault: Fault) -> None:
    error, is_there, history = met(fault)
    assert isinstance(error, sqlite3.OperationalError)
    assert is_there is ON_A_WRITE[fault][1]
    assert ("pair/workflow/note" in {e.where for e in history.of_kind("wrote")}) is is_there


def test_a_lost_commit_and_an_unacknowledged_one_look_the_same() -> None:
    lost, unacknowledged = met(Fault.COMMIT_LOST)[0], met(Fault.COMMIT_UNACKNOWLEDGED)[0]
    assert (type(lost), str(lost)) == (type(unacknowledged), str(unacknowledged))


@pytest.mark.parametrize(
    ("fault", "is_usable"),
    [
        (Fault.COMMIT_UNACKNOWLEDGED, False),
        (Fault.COMMIT_LOST, False),
        (Fault.STORE_CONNECTION_LOST, False),
        (Fault.SERIALIZATION_FAILURE, True),
        (Fault.STORE_LOCKED, True),
        (Fault.STORE_FULL, True),
    ],
)
def test_a_connection_that_broke_is_of_no_more_use(fault: Fault, is_usable: bool) -> None:
    usable: list[bool] = []

    def act(handles: Handles) -> None:
        connection = handles.connect()
        connection.execute("INSERT INTO flows VALUES ('row')")
        handles.next_write("workflow", "note")
        with pytest.raises(sqlite3.OperationalError):
            connection.commit()
        try:
            usable.append(connection.execute("SELECT 1").fetchone() == (1,))
        except sqlite3.ProgrammingError:
            usable.append(False)

    line = f"pair:seed=0:pair/workflow/note/{ON_A_WRITE[fault][0]}={fault.value}"
    with begun(Candidate("writer", act), line) as run:
        run.execute()
    assert usable == [is_usable]


@pytest.mark.parametrize("fault", ON_A_WRITE)
@pytest.mark.parametrize("write", ["workflow/accept", "first/verify-2", "workflow/finish"])
def test_the_sound_ledger_survives_a_store_fault(fault: Fault, write: str) -> None:
    history = play(f"pair:seed=0:pair/{write}/{ON_A_WRITE[fault][0]}={fault.value}")
    assert bad_verdicts(history) == []
    assert end_of(history) == ("COMPLETED", {"first": "VERIFIED", "second": "VERIFIED"})


# --- what the run meets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ON_THE_RUN)
def test_the_sound_ledger_survives_a_fault_of_the_run(fault: Fault) -> None:
    assert bad_verdicts(play(ON_THE_RUN[fault])) == []


def kinds_between(history: History, first: str, last: str) -> list[tuple[str, str]]:
    """(kind, actor) from the first event of one kind to the first of another, boundaries left out."""
    start, end = history.of_kind(first)[0].index, history.of_kind(last)[0].index
    return [(e.kind, e.actor) for e in history.events[start : end + 1] if e.kind != "crossed"]


def test_a_crash_leaves_the_effect_and_a_successor_that_finds_it() -> None:
    history = play(ON_THE_RUN[Fault.CRASH])
    assert counts_of(history, ASKED) == Counts(1, 1, 1, 0)
    (died,) = history.of_kind("worker-died")
    assert [e for e in history.events[died.index :] if e.actor == died.actor] == [died], "the dead do nothing"
    restarted = after(history, died, "worker-started")[0]
    lease_ns = history.header.traits["lease_ns"]
    assert restarted.time_ns - died.time_ns >= lease_ns + RESTART_NS
    assert effects(history) == [("first", "charge", 1), ("second", "resource.create", 1)]


def test_a_cancellation_is_durable_before_it_is_answered_and_undoes_what_stands() -> None:
    history = play(ON_THE_RUN[Fault.CANCEL])
    (cancelled,) = history.of_kind("cancelled")
    assert kinds_between(history, "fault-fired", "cancelled") == [
        ("fault-fired", "rig"),
        ("worker-started", "w2"),
        ("wrote", "w2"),
        ("cancelled", "person"),
    ]
    assert [e.data["action"] for e in after(history, cancelled, "effect")] == ["refund"]
    assert end_of(history)[0] == "FAILED_COMPENSATED"


def test_a_second_submission_changes_nothing() -> None:
    history = play(ON_THE_RUN[Fault.DOUBLE_SUBMIT])
    (second,) = after(history, fired(history), "worker-started")
    assert second.data["verb"] == "submit"
    assert not [e for e in history.events if e.actor == second.actor and e.kind in ("wrote", "call-sent")]


def test_a_denial_comes_while_the_person_is_asked() -> None:
    history = play(ON_THE_RUN[Fault.APPROVAL_DENIED])
    assert kinds_between(history, "approval-requested", "fault-fired") == [
        ("approval-requested", "approval"),
        ("fault-armed", "rig"),
        ("approval-denied", "approval"),
        ("fault-fired", "rig"),
    ]
    assert not [e for e in history.of_kind("call-sent") if e.data["operation"] == "second" and e.data["key"]]


def test_an_approval_expires_between_its_check_and_its_use() -> None:
    history = play(ON_THE_RUN[Fault.APPROVAL_EXPIRES])
    consumed = history.of_kind("approval-consumed")[0]
    (jumped,) = history.of_kind("clock-jumped")
    assert consumed.index < jumped.index
    assert jumped.time_ns + jumped.data["by_ns"] > consumed.data["expires_ns"]
    (made,) = [e for e in history.of_kind("effect") if e.data["operation"] == "second"]
    again = history.of_kind("approval-consumed")[-1]
    assert jumped.index < again.index < made.index, "asked for again before anything is sent"
    assert made.time_ns <= again.data["expires_ns"]


def test_a_revocation_comes_between_reading_and_consuming() -> None:
    history = play(ON_THE_RUN[Fault.APPROVAL_REVOKED])
    (revoked,) = history.of_kind("approval-revoked")
    assert revoked.index < fired(history).index
    consume = after(history, revoked, "call-sent")[0]
    assert (consume.data["action"], saw(history, consume.where).data["code"]) == ("consume", "approval-invalid")
    assert not history.of_kind("approval-consumed")


def test_an_outside_hand_takes_the_effect_away_before_the_undo_arrives() -> None:
    history = play(ON_THE_RUN[Fault.EXTERNAL_CHANGE])
    (drifted,) = history.of_kind("drifted")
    undo = "rollback/undo.dns.record/attempt-1"
    (arrived,) = [e for e in history.of_kind("arrived") if e.data["call"] == undo]
    assert drifted.index < arrived.index
    assert counts_of(history, undo) == Counts(1, 0, 1, 1)
    assert saw(history, undo).data["code"] == "already-undone"


@pytest.mark.parametrize("fault", [Fault.ZOMBIE_WORKER, Fault.LEASE_LOST_IN_RECONCILIATION])
def test_a_zombie_is_paused_while_another_takes_over_and_goes_on_afterwards(fault: Fault) -> None:
    history = play(ON_THE_RUN[fault])
    paused, lost, resumed = history.of_kind("worker-paused", "lease-lost", "worker-resumed")
    assert [paused.kind, lost.kind, resumed.kind] == ["worker-paused", "lease-lost", "worker-resumed"]
    between = [e for e in history.events[paused.index + 1 : lost.index] if e.kind != "worker-started"]
    assert {e.actor for e in between if e.actor.startswith("w")} == {lost.data["taken_by"]} == {"w2"}
    assert between[0].time_ns - paused.time_ns >= history.header.traits["lease_ns"]
    assert {e.actor for e in (paused, lost, resumed)} == {"w1"}
    assert not after(history, resumed, "wrote") + after(history, resumed, "effect")


def test_a_zombie_that_waits_for_an_answer_gets_it_when_it_goes_on() -> None:
    history = play(f"pair:seed=0:{ASKED}/committed=zombie-worker")
    (resumed,) = history.of_kind("worker-resumed")
    assert first_effect(history).index < history.of_kind("worker-paused")[0].index
    assert saw(history, ASKED).index > resumed.index
    assert claims(history, "first")[-1] == "RECONCILED", "the successor found out by itself"


def test_a_zombie_s_stale_request_is_refused_by_its_deadline() -> None:
    history = play(f"pair:seed=0:{ASKED}/sent=zombie-worker")
    (resumed,) = history.of_kind("worker-resumed")
    seen = saw(history, ASKED)
    assert seen.index > resumed.index
    assert seen.data["code"] == "expired"
    assert effects(history) == [("first", "charge", 1), ("second", "resource.create", 1)]


def test_a_recovery_beside_a_live_worker_leaves_its_work_alone() -> None:
    history = play(ON_THE_RUN[Fault.RECOVERY_ADOPTS_LIVE_RUN])
    (beside,) = after(history, fired(history), "worker-started")
    assert beside.data["verb"] == "recover"
    assert not [e for e in history.events if e.actor == beside.actor and e.kind in ("wrote", "call-sent")]


def test_a_clock_jump_lets_leases_approvals_and_keys_run_out() -> None:
    history = play(ON_THE_RUN[Fault.CLOCK_JUMP])
    (jumped,) = history.of_kind("clock-jumped")
    assert jumped.data["by_ns"] == JUMP_NS
    traits = history.header.traits
    approver = scenario_of("pair").approver
    assert max(traits["lease_ns"], approver.valid_ns, 24 * 3600 * SECOND_NS) < JUMP_NS
    following = history.events[jumped.index + 1]
    assert following.time_ns - jumped.time_ns >= JUMP_NS
    assert saw(history, ASKED).data["code"] == "deadline-passed"
