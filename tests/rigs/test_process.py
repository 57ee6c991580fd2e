"""The process rig: it means what the simulation means, its faults are real, and it leaves nothing behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.candidates.loading import load_candidate
from harness.inject.network import Network
from harness.judge.judge import judge
from harness.model.cell import Cell
from harness.model.errors import CandidateError, EnvironmentMissing, UsageError
from harness.model.event import Event, History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, overall
from harness.model.workflow import Scenario
from harness.rigs.process import SPEED, ProcessRig
from harness.rigs.simulation import SimulationRig
from harness.scenario_files import find, load

SOUND = "reference_ledger:factory"
BLIND = "reference_ledger.twins:blind_retry"
CANDIDATES = "tests.rigs.candidates"

CHARGE = "charge-mail/billing.charge/attempt-1"
CRASH_RUN_MAX_S = 20.0
"""A bound against hangs, not a measurement: a crash and its recovery take about 3 s on a quiet machine."""

UNKEYED = Cell.parse("ignored.authoritative.late")
"""The cell in which a provider hides no blind retry."""

needs_toxiproxy = pytest.mark.real("toxiproxy-server")
pytestmark = pytest.mark.slow


def line(*injections: str, cell: Cell | None = None) -> Schedule:
    in_cell = f"cell={cell}:" if cell else ""
    return Schedule.parse(f"charge-mail:seed=0:{in_cell}{','.join(injections)}")


def scenario() -> Scenario:
    return load(find("charge-mail"))


def open_rig(candidate: str, folder: Path, **options: Any) -> ProcessRig:
    return ProcessRig(candidate, scenario(), state_root=folder, **options)


def children_of_ours() -> dict[int, str]:
    """Pid -> command line of every child of this process, as the kernel tells it. Zombies have no command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(parent) == os.getpid():
            found[int(entry.name)] = command
    return found


def ours_now() -> list[str]:
    """What of the process rig is running now."""
    return [c for c in children_of_ours().values() if "worker_main" in c or "toxiproxy" in c]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessRig]:
    with open_rig(SOUND, tmp_path_factory.mktemp("sound")) as rig:
        yield rig


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessRig]:
    with open_rig(BLIND, tmp_path_factory.mktemp("blind"), cell=UNKEYED) as rig:
        yield rig


@pytest.fixture(autouse=True)
def no_worker_outlives_its_run() -> Iterator[None]:
    """A rig keeps one process that audits, and may have one ready for its next run; no other may be left."""
    before = children_of_ours()
    yield
    kept_max = 2
    new = [c for pid, c in children_of_ours().items() if pid not in before and "worker_main" in c]
    assert len(new) <= kept_max, new


def simulated(candidate: str, schedule: Schedule) -> History:
    rig = SimulationRig(load_candidate(candidate), scenario(), cell=schedule.cell)
    try:
        return rig.run(schedule).history
    finally:
        rig.close()


def told(history: History) -> list[tuple[str, str, str, dict[str, Any]]]:
    """A history without its times, and without when a fault was known to have fired, which a real wire tells later."""
    return [(e.actor, e.kind, e.where, _untimed(e)) for e in history.events if e.kind != "fault-fired"]


def _untimed(event: Event) -> dict[str, Any]:
    return {name: value for name, value in event.data.items() if name != "not_after"}


def outcomes(history: History) -> dict[str, Outcome]:
    return {verdict.guarantee: verdict.outcome for verdict in judge(history, scenario())}


SHARED_LINES = [
    line(),
    line(f"{CHARGE}/committed=lost-response"),
    line(f"{CHARGE}/sent=lost-request"),
    line(f"{CHARGE}/sent=connection-refused"),
    line("charge-mail/workflow/accept/in-commit=crash"),
    line(f"{CHARGE}/before-intent=crash"),
    line(f"{CHARGE}/intent-recorded=crash"),
    line(f"{CHARGE}/sent=crash"),
    line(f"{CHARGE}/delivered=crash"),
    line(f"{CHARGE}/committed=crash"),
    line(f"{CHARGE}/acknowledged=crash"),
    line(f"{CHARGE}/recorded=crash"),
    line("charge-mail/billing.charge/verify-1/sent=lost-request"),
    line(f"{CHARGE}/committed=crash", "charge-mail/billing.charge/reconcile/before-commit=crash"),
    line(f"{CHARGE}/intent-recorded=crash", "charge-mail/billing.charge/attempt-2/committed=lost-response"),
]


@needs_toxiproxy
@pytest.mark.parametrize("schedule", SHARED_LINES, ids=str)
def test_one_line_is_one_run_on_both_rigs_and_the_sound_ledger_holds(sound: ProcessRig, schedule: Schedule) -> None:
    wire, model = sound.run(schedule).history, simulated(SOUND, schedule)
    assert all(wire.has_fired(i.fault.value, i.boundary) for i in schedule.injections)
    assert told(wire) == told(model)
    assert outcomes(wire) == outcomes(model)
    assert overall(judge(wire, scenario())) is Outcome.HOLDS


@needs_toxiproxy
@pytest.mark.parametrize("injections", [(), (f"{CHARGE}/committed=lost-response",)], ids=["control", "lost-response"])
def test_a_broken_twin_gets_the_same_verdict_on_both_rigs(blind: ProcessRig, injections: tuple[str, ...]) -> None:
    schedule = line(*injections, cell=UNKEYED)
    wire = blind.run(schedule).history
    assert outcomes(wire) == outcomes(simulated(BLIND, schedule))


@needs_toxiproxy
def test_a_blind_retry_after_a_lost_response_is_a_violation_on_the_wire(blind: ProcessRig) -> None:
    history = blind.run(line(f"{CHARGE}/committed=lost-response", cell=UNKEYED)).history
    assert outcomes(history)["no-blind-retry"] is Outcome.VIOLATED
    assert [e.data["action"] for e in history.of_kind("effect")] == ["charge", "charge"]


@needs_toxiproxy
def test_both_rigs_discover_the_same_boundaries(sound: ProcessRig) -> None:
    simulation = SimulationRig(load_candidate(SOUND), scenario())
    assert sound.run(line()).sites == simulation.run(line()).sites


# -- when a fault has fired ----------------------------------------------------------------------------------------------


@needs_toxiproxy
def test_a_lost_response_has_fired_only_when_the_caller_has_seen_nothing(sound: ProcessRig) -> None:
    schedule = line(f"{CHARGE}/committed=lost-response")
    events = sound.run(schedule).history.events
    order = [e.kind for e in events if e.where.startswith(CHARGE) and e.kind not in ("crossed", "wrote")]
    assert order == ["call-sent", "arrived", "effect", "fault-armed", "responded", "caller-saw", "fault-fired"]


@needs_toxiproxy
def test_a_fault_at_a_boundary_nobody_reaches_leaves_the_run_unknown(sound: ProcessRig) -> None:
    history = sound.run(line("charge-mail/billing.charge/attempt-3/committed=lost-response")).history
    assert history.of_kind("fault-armed", "fault-fired") == []
    assert set(outcomes(history).values()) == {Outcome.UNKNOWN}


@needs_toxiproxy
def test_a_response_in_flight_when_its_caller_is_killed_is_not_lost_by_us(sound: ProcessRig) -> None:
    """The crash comes first, so there is nobody left for whom the response could be lost."""
    history = sound.run(line(f"{CHARGE}/sent=crash", f"{CHARGE}/committed=lost-response")).history
    assert [e.data["fault"] for e in history.of_kind("fault-fired")] == ["crash"]


@needs_toxiproxy
def test_no_toxic_is_left_after_a_run(sound: ProcessRig) -> None:
    sound.run(line(f"{CHARGE}/committed=lost-response"))
    assert [link.toxics() for link in sound.links.values()] == [{}] * len(sound.links)


# -- death and recovery --------------------------------------------------------------------------------------------------


@needs_toxiproxy
def test_what_was_on_the_wire_goes_on_without_its_caller(sound: ProcessRig) -> None:
    history = sound.run(line(f"{CHARGE}/sent=crash")).history
    kinds = [e.kind for e in history.events if e.where == CHARGE and e.kind != "wrote"]
    assert kinds == ["call-sent", "arrived", "effect", "responded"]


@needs_toxiproxy
def test_the_next_worker_starts_when_the_lease_has_run_out_in_scaled_time(sound: ProcessRig) -> None:
    began = time.monotonic()
    history = sound.run(line(f"{CHARGE}/recorded=crash")).history
    assert time.monotonic() - began < CRASH_RUN_MAX_S
    last_write = [e for e in history.events if e.kind == "wrote" and e.actor == "w1"][-1]
    second = next(e for e in history.of_kind("worker-started") if e.actor == "w2")
    assert second.time_ns - last_write.time_ns > sound.traits.lease_ns
    assert history.header.traits["speed"] == SPEED


@needs_toxiproxy
def test_a_worker_that_ends_by_itself_is_an_event_with_its_last_words(tmp_path: Path) -> None:
    with open_rig(f"{CANDIDATES}:dying", tmp_path) as rig:
        history = rig.run(line()).history
    assert history.of_kind("worker-died")[0].data == {"cause": "exit 7: out of cheese"}


@needs_toxiproxy
def test_a_worker_that_raises_is_the_same_event_as_in_the_simulation(tmp_path: Path) -> None:
    with open_rig(f"{CANDIDATES}:raising", tmp_path) as rig:
        wire = rig.run(line()).history
    assert told(wire) == told(simulated(f"{CANDIDATES}:raising", line()))


@needs_toxiproxy
def test_a_call_that_belongs_to_no_operation_is_named_as_in_the_simulation(tmp_path: Path) -> None:
    with open_rig(f"{CANDIDATES}:unkeyed", tmp_path) as rig:
        wire = rig.run(line()).history
    assert told(wire) == told(simulated(f"{CANDIDATES}:unkeyed", line()))


# -- nothing is left ------------------------------------------------------------------------------------------------------


@needs_toxiproxy
def test_a_closed_rig_leaves_no_process_no_thread_and_no_folder(tmp_path: Path) -> None:
    before, threads = ours_now(), threading.active_count()
    with open_rig(SOUND, tmp_path) as rig:
        rig.run(line(f"{CHARGE}/committed=crash"))
        assert len(ours_now()) > len(before)
    assert sorted(ours_now()) == sorted(before)
    assert threading.active_count() == threads
    assert list(tmp_path.iterdir()) == []


@needs_toxiproxy
def test_an_interrupt_in_the_middle_of_a_run_leaves_nothing_either(tmp_path: Path) -> None:
    before = ours_now()
    with pytest.raises(KeyboardInterrupt), open_rig(f"{CANDIDATES}:interrupting", tmp_path) as rig:
        rig.run(line())
    assert sorted(ours_now()) == sorted(before)
    assert list(tmp_path.iterdir()) == []


@needs_toxiproxy
def test_a_breach_of_contract_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    before = ours_now()
    with (
        pytest.raises(CandidateError, match="answered NoneType instead of a LedgerView"),
        open_rig(f"{CANDIDATES}:ledgerless", tmp_path) as rig,
    ):
        rig.run(line())
    assert sorted(ours_now()) == sorted(before)


@needs_toxiproxy
@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (f"{CANDIDATES}:unprepared", "could not prepare an empty store: OperationalError"),
        (f"{CANDIDATES}:nobody", "has no callable 'nobody'"),
        ("no_such_module:factory", "there is no module 'no_such_module'"),
    ],
)
def test_a_candidate_that_cannot_be_used_is_told_and_leaves_nothing(
    tmp_path: Path, candidate: str, message: str
) -> None:
    before = ours_now()
    with pytest.raises(CandidateError, match=message):
        open_rig(candidate, tmp_path)
    assert sorted(ours_now()) == sorted(before)
    assert list(tmp_path.iterdir()) == []


@needs_toxiproxy
def test_on_somebody_elses_toxiproxy_no_proxy_is_left(tmp_path: Path) -> None:
    network = Network()
    try:
        with open_rig(SOUND, tmp_path, toxiproxy=f"{network.host}:{network.port}") as rig:
            rig.run(line())
        with network.addressed() as api:
            assert api.proxies() == {}
    finally:
        network.close()


# -- what it refuses ------------------------------------------------------------------------------------------------------


@needs_toxiproxy
def test_a_fault_it_cannot_do_is_refused_with_those_it_can(sound: ProcessRig) -> None:
    with pytest.raises(UsageError, match="it can do crash, lost-request, lost-response, connection-refused"):
        sound.run(line(f"{CHARGE}/delivered=declined"))


@needs_toxiproxy
def test_a_fault_at_a_phase_it_does_not_fit_is_refused(sound: ProcessRig) -> None:
    with pytest.raises(UsageError, match="does not fit the phase sent; it fits committed"):
        sound.run(line(f"{CHARGE}/sent=lost-response"))


def test_without_toxiproxy_the_install_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KNOWNSTATE_TOXIPROXY", raising=False)
    with pytest.raises(EnvironmentMissing) as missing:
        open_rig(SOUND, tmp_path)
    assert "scripts/install-real-components" in missing.value.next_step
    assert list(tmp_path.iterdir()) == []
