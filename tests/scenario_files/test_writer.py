"""A scenario written as a file reads back as the same scenario, and the file is one a person can keep."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.judge import GUARANTEES
from harness.model.cell import ALL_CELLS
from harness.model.errors import UsageError
from harness.model.fault import Fault
from harness.model.schedule import Injection, Schedule
from harness.model.workflow import (
    Approver,
    Expectation,
    Limits,
    Operation,
    RecoveryClass,
    RecoveryPolicy,
    Scenario,
    ScenarioKind,
    Workflow,
)
from harness.scenario_files import dump, find, load, load_text, shipped
from harness.scenario_files.known import KNOWN_ACTIONS
from harness.scenario_files.yaml_text import read_yaml
from tests.scenario_files.texts import GOOD, PATH

# --- scenarios of every shape --------------------------------------------------------------------------------------

NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True).filter(
    lambda name: name != "workflow" and not name.startswith("undo.")
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LINES = TEXTS.map(str.strip).filter(bool)
DURATIONS_NS = st.integers(min_value=1, max_value=3650 * 86_400 * 10**9)
ACTIONS = st.sampled_from([(p, a, u) for p, known in KNOWN_ACTIONS.items() for a, u in known.items()])
POLICIES = st.builds(
    RecoveryPolicy,
    attempts_max=st.integers(1, 100),
    automatic_compensation_allowed=st.booleans(),
    human_approval_required=st.booleans(),
    compensation_attempts_max=st.integers(1, 100),
    reconciliation_required_after_timeout=st.booleans(),
)


@st.composite
def operations(draw: st.DrawFn, ids: list[str], index: int) -> Operation:
    """The operation of this index; it depends only on earlier ones, so that there is no circle."""
    provider, action, undo = draw(ACTIONS)
    recovery = draw(st.sampled_from(RecoveryClass))
    has_undo = draw(st.booleans()) and recovery is not RecoveryClass.IRREVERSIBLE
    earlier = st.lists(st.sampled_from(ids[:index]), unique=True) if index else st.just([])
    return Operation(
        id=ids[index],
        provider=provider,
        action=action,
        target=f"{draw(TEXTS)}{index}",
        params=draw(st.dictionaries(TEXTS, TEXTS | st.integers(-(10**17), 10**17), max_size=3)),
        recovery_class=recovery,
        undo=undo if has_undo else None,
        depends_on=tuple(draw(earlier)),
        must_compensate_before=tuple(draw(earlier)),
        policy=draw(POLICIES),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any scenario the model can hold and a file can say."""
    name = draw(NAMES)
    ids = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    ops = tuple(draw(operations(ids, index)) for index in range(len(ids)))
    undos = [operation.undo_id for operation in ops if operation.undo]
    return Scenario(
        id=name,
        title=draw(LINES),
        why=draw(LINES),
        kind=draw(st.sampled_from(ScenarioKind)),
        workflow=Workflow(name, ops, draw(NAMES), draw(st.integers(1, 1_000_000))),
        cells={operation.provider: draw(st.sampled_from(ALL_CELLS)) for operation in ops},
        source=draw(TEXTS).strip(),
        faults=draw(st.frozensets(st.sampled_from([fault.value for fault in Fault]), max_size=4)),
        guarantees=tuple(draw(st.lists(st.sampled_from(list(GUARANTEES)), unique=True, max_size=4))),
        rigs=tuple(draw(st.permutations(["simulation", "fork", "process", "docker"])))[: draw(st.integers(1, 4))],
        always_declined=tuple(draw(st.lists(st.sampled_from([*ids, *undos]), unique=True))),
        approver=Approver(draw(st.sampled_from(["approves", "denies"])), draw(DURATIONS_NS) - 1, draw(DURATIONS_NS)),
        limits=Limits(draw(st.integers(1, 1_000_000)), draw(DURATIONS_NS), draw(st.integers(1, 100))),
        schedule=draw(st.just("") | schedules(name, ids)),
        expect=draw(st.sampled_from(Expectation)),
        seed=draw(st.integers(0, 1000)),
        path=str(PATH),
    )


def schedules(name: str, ids: list[str]) -> st.SearchStrategy[str]:
    injections = st.builds(
        lambda subject, fault: Injection(f"{name}/{subject}/attempt-1/committed", fault),
        st.sampled_from([*ids, *(f"undo.{operation_id}" for operation_id in ids)]),
        st.sampled_from(Fault),
    )
    cells = st.none() | st.sampled_from(ALL_CELLS)
    made = st.builds(Schedule, st.just(name), st.integers(0, 99), st.lists(injections, max_size=3).map(tuple), cells)
    return made.map(str)


@pytest.mark.slow
@given(scenarios())
def test_what_is_written_reads_back_as_the_same_scenario(scenario: Scenario) -> None:
    assert load_text(dump(scenario), PATH, scenario.seed) == scenario


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"])).map(str.strip).filter(bool), st.booleans())
def test_no_text_is_changed_by_writing_and_reading_it(text: str, is_paragraph: bool) -> None:
    base = load_text(GOOD, PATH)
    scenario = replace(base, why=text[:4000].strip()) if is_paragraph else replace(base, title=text[:200].strip())
    assert load_text(dump(scenario), PATH) == scenario


@pytest.mark.parametrize(
    "word", ["true", "no", "null", "~", "12", "1.5", "1e3", "a: b", "# x", "- x", "[", "'", '"', "é\t☃"]
)
def test_a_target_that_looks_like_something_else_stays_text(word: str) -> None:
    base = load_text(GOOD, PATH)
    first, second = base.workflow.operations
    flow = replace(base.workflow, operations=(replace(first, target=word, params={word: word}), second))
    scenario = replace(base, workflow=flow)
    assert load_text(dump(scenario), PATH) == scenario


# --- the look of the file ------------------------------------------------------------------------------------------


def test_every_shipped_scenario_survives_being_written() -> None:
    for path in shipped():
        scenario = load(path)
        assert load_text(dump(scenario), path) == scenario, path.name


def test_the_modeline_comes_first_and_names_the_schema() -> None:
    scenario = load_text(GOOD, PATH)
    assert dump(scenario).startswith("# yaml-language-server: $schema=scenario.schema.json\nversion: 1\n")
    assert dump(scenario, schema="../x.json").startswith("# yaml-language-server: $schema=../x.json\n")


def test_made_up_targets_are_written_as_the_text_they_became() -> None:
    scenario = load(find("pair"), seed=3)
    assert load_text(dump(scenario), Path(scenario.path)).workflow == scenario.workflow


def test_a_pinned_failure_keeps_its_schedule_and_what_it_shows() -> None:
    line = "pair:seed=3:cell=ignored.absent.late:pair/first/attempt-1/committed=crash"
    scenario = replace(load(find("pair"), seed=3), schedule=line, expect=Expectation.VIOLATION)
    assert load_text(dump(scenario), Path(scenario.path)) == scenario


def test_defaults_are_not_written() -> None:
    plain = read_yaml(dump(load(find("pair"))), "pair.yaml").data
    assert isinstance(plain, dict)
    assert not {"limits", "approver", "schedule", "always-declined"} & set(plain)


def test_lines_stay_short_enough_to_be_read() -> None:
    for path in shipped():
        lines = [line for line in dump(load(path)).splitlines() if not line.startswith("schedule:")]
        assert max(map(len, lines)) <= 120, path.name


def test_a_workflow_with_an_id_of_its_own_cannot_be_written() -> None:
    scenario = load_text(GOOD, PATH)
    with pytest.raises(UsageError, match="has an id of its own") as caught:
        dump(replace(scenario, workflow=replace(scenario.workflow, id="other")))
    assert caught.value.where == "scenario 'small'"
    assert caught.value.next_step
