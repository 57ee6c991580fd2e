"""From text to a scenario: what each key becomes, where the targets come from, and how a name finds its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.workflow import Approver, Expectation, Limits, RecoveryClass, RecoveryPolicy, Scenario, ScenarioKind
from harness.scenario_files import find, load, load_text, shipped
from tests.scenario_files.texts import GOOD, PATH, spoilt

SECOND_NS = 1_000_000_000


def read(text: str = GOOD, seed: int | None = None) -> Scenario:
    return load_text(text, PATH, seed)


def targets(scenario: Scenario) -> list[str]:
    return [operation.target for operation in scenario.workflow.operations]


# --- what the keys become ------------------------------------------------------------------------------------------


def test_the_head_of_the_file_becomes_the_head_of_the_scenario() -> None:
    scenario = read()
    assert (scenario.id, scenario.title, scenario.kind) == ("small", "Two steps", ScenarioKind.WORKFLOW)
    assert scenario.why == "Two steps, so that something can lie between them."
    assert (scenario.rigs, scenario.expect, scenario.path) == (("simulation",), Expectation.VIOLATION, str(PATH))


def test_cells_have_a_short_and_a_long_form() -> None:
    assert {name: str(cell) for name, cell in read().cells.items()} == {
        "payment": "honoured.authoritative.late",
        "cloud": "expires.eventual.prompt",
    }
    assert read(spoilt("{key: expires, lookup: eventual}", "{delivery: late}")).cells["cloud"] == Cell.parse(
        "honoured.authoritative.late"
    )


def test_the_workflow_has_the_scenarios_id_and_the_files_order() -> None:
    workflow = read().workflow
    assert workflow.id == "small"
    assert [operation.id for operation in workflow.operations] == ["first", "second"]
    assert (workflow.intent_id, workflow.intent_version) == ("intent", 1)


def test_an_operation_becomes_an_operation() -> None:
    first, second = read().workflow.operations
    assert (first.provider, first.action, first.target) == ("payment", "charge", "ORD-1")
    assert first.params == {"amount": 4900, "currency": "eur"}
    assert (first.recovery_class, first.undo) == (RecoveryClass.COMPENSATABLE, "refund")
    assert (first.must_compensate_before, second.depends_on) == (("second",), ("first",))
    assert second.policy == RecoveryPolicy(attempts_max=2, human_approval_required=True)


def test_circumstances_are_read_with_their_units() -> None:
    scenario = read()
    assert scenario.approver == Approver("denies", SECOND_NS // 4, 7200 * SECOND_NS)
    assert scenario.limits == Limits(100, 3 * 86400 * SECOND_NS, 2)
    assert scenario.always_declined == ("undo.first",)


def test_what_is_left_out_has_the_models_default() -> None:
    names = ("always-declined", "approver", "faults", "guarantees", "limits", "schedule", "expect", "rigs")
    text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith(names))
    scenario = read(text)
    assert (scenario.approver, scenario.limits, scenario.expect) == (Approver(), Limits(), Expectation.HOLDS)
    assert (scenario.faults, scenario.guarantees, scenario.rigs) == (frozenset(), (), ("simulation",))


def test_all_faults_are_the_models_empty_set_and_named_ones_are_names() -> None:
    assert read().faults == {"crash", "lost-response"}
    assert read(spoilt("faults: [crash, lost-response]", "faults: all")).faults == frozenset()


def test_named_guarantees_keep_their_order() -> None:
    text = spoilt("guarantees: all", "guarantees: [settles, known-state]")
    assert read(text).guarantees == ("settles", "known-state")


def test_a_value_in_quotes_stays_text() -> None:
    text = spoilt("target: ORD-1", 'target: "4900"')
    assert targets(read(text))[0] == "4900"


# --- targets and seeds ---------------------------------------------------------------------------------------------

FAKED = spoilt("target: ORD-1", "target: {faker: order}")
UNPINNED = "".join(line for line in FAKED.splitlines(keepends=True) if not line.startswith("schedule"))


def test_a_made_up_target_is_equal_under_an_equal_seed_and_differs_under_another() -> None:
    assert targets(read(UNPINNED, 7)) == targets(read(UNPINNED, 7))
    assert targets(read(UNPINNED, 7))[0] != targets(read(UNPINNED, 8))[0]
    assert targets(read(UNPINNED, 7))[1] == "host-1"


def test_without_a_seed_it_is_that_of_the_pinned_schedule_or_zero() -> None:
    pinned = FAKED.replace("seed=0", "seed=7")
    assert (read(pinned).seed, read(UNPINNED).seed) == (7, 0)
    assert targets(read(pinned)) == targets(read(UNPINNED, 7))
    assert read(pinned, 8).seed == 8


# --- finding -------------------------------------------------------------------------------------------------------


def test_a_shipped_scenario_is_found_by_its_id() -> None:
    assert load(find("onboarding")).id == "onboarding"


def test_a_folder_of_ones_own_comes_before_the_shipped_ones(tmp_path: Path) -> None:
    mine = tmp_path / "onboarding.scenario.yaml"
    mine.write_text(GOOD)
    assert find("onboarding", [tmp_path]) == mine
    assert find("pair", [tmp_path]) != mine


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(GOOD)
    assert find(str(mine)) == mine


def test_an_unknown_id_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UsageError) as caught:
        find("onbording")
    assert "There is no scenario 'onbording'" in caught.value.what
    assert "onbording" in caught.value.where
    assert caught.value.next_step.startswith("Did you mean `onboarding`? Scenarios: ")


def test_an_unknown_path_is_refused_with_the_nearest_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "small.scenario.yaml").write_text(GOOD)
    with pytest.raises(UsageError) as caught:
        find(str(tmp_path / "smal.scenario.yaml"))
    assert "There is no file" in caught.value.what
    assert caught.value.where == str(tmp_path / "smal.scenario.yaml")
    assert "Did you mean `small.scenario.yaml`?" in caught.value.next_step


@pytest.mark.parametrize("name", ["", ".", "x" * 5000, "a\0b"])
def test_a_name_no_file_can_have_is_refused_like_any_other(name: str) -> None:
    with pytest.raises(UsageError):
        find(name)


def test_a_folder_is_refused_where_a_file_is_meant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        find(str(tmp_path))


def test_shipped_files_come_in_the_order_of_their_names() -> None:
    assert shipped() == sorted(shipped())
    assert len(shipped()) >= 21


def test_importing_the_package_imports_neither_pydantic_nor_yaml_nor_faker() -> None:
    heavy = "('pydantic', 'ruamel.yaml', 'faker')"
    check = f"import sys, harness.scenario_files; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
