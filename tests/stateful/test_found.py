"""What becomes of a finding: its file, its message, its class, and the trace that is written ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.errors import EnvironmentMissing
from harness.model.schedule import Schedule
from harness.model.workflow import Expectation
from harness.scenario_files import load
from harness.stateful.found import EXPORT_VARIABLE, Found, TraceAhead, export, export_folder, tell, violation_of
from harness.stateful.stage import Stage, made, spec_of
from reference_ledger import factory
from reference_ledger.ledger import ReferenceLedger
from tests.stateful import ledgers

LINE = "pair:seed=0:pair/second/attempt-1/delivered=declined"
IDLE = "pair/first/attempt-1/acknowledged=clock-jump"
GUARANTEE = "right-terminal"


@pytest.fixture
def stage() -> Stage:
    return Stage(ledgers.clean, "pair")


@pytest.fixture
def found(stage: Stage) -> Found:
    history = stage.replay(Schedule.parse(LINE)).history
    return Found.of(stage.scenario, stage.spec, history, GUARANTEE)


def test_a_finding_is_named_after_the_guarantee_it_was_found_by(found: Found) -> None:
    assert found.first.guarantee == GUARANTEE
    assert len(found.verdicts) > 1


def test_the_exported_file_pins_the_schedule_and_expects_the_violation(found: Found, tmp_path: Path) -> None:
    scenario = load(export(found, tmp_path))
    assert scenario.schedule == LINE
    assert scenario.expect is Expectation.VIOLATION
    assert scenario.workflow == found.scenario.workflow


def test_the_file_is_named_after_scenario_and_guarantee(found: Found, tmp_path: Path) -> None:
    assert export(found, tmp_path).name == "pair-right-terminal.scenario.yaml"


def test_a_later_finding_replaces_the_earlier_file(found: Found, tmp_path: Path) -> None:
    assert export(found, tmp_path) == export(found, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_message_has_story_contradiction_place_and_replay_command(found: Found) -> None:
    message = tell(found, Path("kept/it.yaml"))
    assert "FAULT: the provider declined" in message
    assert found.first.explanation in message
    assert "kept in:  kept/it.yaml" in message
    assert f"replay:   knownstate replay {LINE} --candidate tests.stateful.ledgers:clean" in message


def test_a_fault_the_violation_does_not_need_is_left_out(stage: Stage) -> None:
    longer = Schedule.parse(LINE.replace("seed=0:", f"seed=0:{IDLE},"))
    assert str(stage.without_idle_faults(longer, GUARANTEE)) == LINE


def test_a_fault_the_violation_needs_stays(stage: Stage) -> None:
    assert str(stage.without_idle_faults(Schedule.parse(LINE), GUARANTEE)) == LINE


def test_each_guarantee_has_one_class_of_violation() -> None:
    assert violation_of("known-state") is violation_of("known-state")
    assert violation_of("known-state") is not violation_of("settles")
    assert issubclass(violation_of("settles"), AssertionError)


def test_the_test_chooses_the_folder_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPORT_VARIABLE, "from-environment")
    assert export_folder("chosen") == Path("chosen")
    assert export_folder() == Path("from-environment")
    monkeypatch.delenv(EXPORT_VARIABLE)
    assert export_folder() == Path(".knownstate/found")


def test_a_trace_written_ahead_remains_until_it_is_forgotten(tmp_path: Path) -> None:
    ahead = TraceAhead(tmp_path / "new", "pair")
    ahead.write(LINE)
    assert Schedule.parse(ahead.path.read_text()) == Schedule.parse(LINE)
    ahead.forget()
    assert not ahead.path.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(EnvironmentMissing, match="taken"):
        TraceAhead(tmp_path / "taken", "pair").write(LINE)


def test_a_factory_is_named_so_that_another_process_can_load_it() -> None:
    assert spec_of(factory) == "reference_ledger:factory"
    assert spec_of(lambda: ReferenceLedger()).startswith("tests.stateful.test_found.test_a_factory")


def test_what_is_no_candidate_is_refused() -> None:
    with pytest.raises(Exception, match="declares no traits"):
        made(lambda: "a ledger")  # type: ignore[arg-type, return-value]  # what a stranger's factory may return
