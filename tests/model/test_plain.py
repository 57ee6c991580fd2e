"""A scenario in a history's header is the scenario that was run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.cell import Cell
from harness.model.plain import scenario_from_plain, to_plain, workflow_from_plain
from harness.model.workflow import Approver, Expectation, Limits, Scenario
from harness.scenario_files import load, shipped

SHIPPED = shipped()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name.partition(".")[0])
def test_a_shipped_scenario_comes_back_from_plain_data(path: Path) -> None:
    scenario = load(path)
    assert scenario_from_plain(to_plain(scenario)) == scenario
    assert workflow_from_plain(to_plain(scenario.workflow)) == scenario.workflow


def test_plain_data_survives_json() -> None:
    scenario = load(SHIPPED[0])
    assert scenario_from_plain(json.loads(json.dumps(to_plain(scenario)))) == scenario


def every_field_changed(scenario: Scenario) -> Scenario:
    return replace(
        scenario,
        source="a paper",
        faults=frozenset({"crash", "cancel"}),
        guarantees=("settles", "known-state"),
        rigs=("process", "simulation"),
        always_declined=("undo.first", "second"),
        approver=Approver("denies", 5, 7),
        limits=Limits(1, 2, 3),
        schedule="pair:seed=1:",
        expect=Expectation.VIOLATION,
        seed=9,
        cells={"payment": Cell.parse("ignored.absent.late")},
        path="somewhere.yaml",
    )


def test_fields_that_no_shipped_scenario_sets_come_back_too() -> None:
    scenario = every_field_changed(load(SHIPPED[0]))
    assert scenario_from_plain(to_plain(scenario)) == scenario


def test_sets_are_plain_in_one_order() -> None:
    assert to_plain(frozenset({"b", "c", "a"})) == ["a", "b", "c"]


def test_data_without_a_field_is_refused() -> None:
    plain = to_plain(load(SHIPPED[0]))
    del plain["approver"]
    with pytest.raises(KeyError, match="approver"):
        scenario_from_plain(plain)
