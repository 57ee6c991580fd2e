"""Steps are named by whose they are and how often they were done, never by what the candidate writes on its requests."""

from __future__ import annotations

import pytest

from harness.inject.names import STRAY_SUBJECT, StepNames, owners
from harness.model.boundary import Boundary, Phase, Purpose
from harness.model.wire import Request
from tests.rigs.simulated import scenario_of

PAIR = scenario_of("pair").workflow
FIRST = PAIR.operation("first")
CHARGE = Request("payment", "charge", Purpose.EFFECT, "first", FIRST.target)
REFUND = CHARGE._replace(action="refund", purpose=Purpose.UNDO, operation="undo.first")


@pytest.fixture
def names() -> StepNames:
    return StepNames(PAIR)


def test_every_operation_owns_its_effect_and_its_undo() -> None:
    assert owners(PAIR)["payment", "charge", FIRST.target] == "first"
    assert owners(PAIR)["payment", "refund", FIRST.target] == "undo.first"
    assert len(owners(PAIR)) == 4


def test_a_request_belongs_to_the_owner_of_its_target_whatever_its_marker_says(names: StepNames) -> None:
    assert names.subject(CHARGE._replace(operation="second")) == "first"
    assert names.subject(REFUND._replace(operation="")) == "undo.first"


def test_a_request_at_nobody_s_target_belongs_to_its_marker(names: StepNames) -> None:
    elsewhere = CHARGE._replace(target="elsewhere")
    assert names.subject(elsewhere) == "first"
    assert names.subject(elsewhere._replace(operation="made-up")) == STRAY_SUBJECT
    assert names.subject(elsewhere._replace(operation="")) == STRAY_SUBJECT


def test_attempts_of_one_subject_are_counted(names: StepNames) -> None:
    assert [names.call(CHARGE)[0] for _ in range(2)] == ["pair/first/attempt-1", "pair/first/attempt-2"]
    assert names.call(REFUND)[0] == "pair/undo.first/attempt-1"


def test_a_send_after_its_intention_is_the_same_attempt(names: StepNames) -> None:
    assert names.intent("first") == "pair/first/attempt-1"
    assert names.call(CHARGE) == ("pair/first/attempt-1", "first", True)
    assert names.call(CHARGE) == ("pair/first/attempt-2", "first", False)


def test_a_look_up_between_intention_and_send_does_not_take_the_attempt(names: StepNames) -> None:
    names.intent("first")
    assert names.call(CHARGE._replace(purpose=Purpose.LOOKUP)) == ("pair/first/lookup-1", "first", False)
    assert names.call(CHARGE)[2]


def test_an_intention_nobody_followed_up_keeps_its_number(names: StepNames) -> None:
    assert [names.intent("first") for _ in range(2)] == ["pair/first/attempt-1", "pair/first/attempt-2"]
    assert names.call(CHARGE)[0] == "pair/first/attempt-2"


def test_each_purpose_is_counted_apart(names: StepNames) -> None:
    steps = [names.call(CHARGE._replace(purpose=p))[0] for p in (Purpose.LOOKUP, Purpose.VERIFY, Purpose.LOOKUP)]
    assert steps == ["pair/first/lookup-1", "pair/first/verify-1", "pair/first/lookup-2"]


def test_only_the_first_write_with_a_label_has_no_number(names: StepNames) -> None:
    assert [names.write("first", "halt") for _ in range(2)] == ["pair/first/halt", "pair/first/halt-2"]
    assert names.write("second", "halt") == "pair/second/halt"


def test_a_write_for_an_unknown_subject_is_the_workflow_s(names: StepNames) -> None:
    assert names.write("nobody", "halt") == "pair/workflow/halt"


@pytest.mark.parametrize("label", ["Take Over!", "écrit", "a/b=c,d", "", "-", ".hidden", "_x"])
def test_whatever_a_label_says_its_boundary_can_be_written_in_a_schedule(names: StepNames, label: str) -> None:
    path = f"{names.write('first', label)}/{Phase.BEFORE_COMMIT.value}"
    assert str(Boundary.parse(path)) == path


def test_an_unnamed_write_is_numbered(names: StepNames) -> None:
    assert [names.unnamed_write() for _ in range(2)] == ["pair/workflow/write-1", "pair/workflow/write-2"]


def test_another_run_counts_anew() -> None:
    for _ in range(2):
        assert StepNames(PAIR, owners(PAIR)).call(CHARGE)[0] == "pair/first/attempt-1"
