"""Boundaries are named by a path, and nothing else than such a path names one."""

from __future__ import annotations

import pytest
from hypothesis import given

from harness.model.boundary import CALL_PHASES, LEDGER_PHASES, Boundary, Phase
from tests.model.values import boundaries


@given(boundaries)
def test_a_boundary_is_read_back_from_its_path(boundary: Boundary) -> None:
    assert Boundary.parse(str(boundary)) == boundary


def test_a_path_names_workflow_subject_step_and_phase() -> None:
    boundary = Boundary.parse("onboarding/undo.billing.charge/attempt-2/committed")
    assert boundary == Boundary("onboarding", "undo.billing.charge", "attempt-2", Phase.COMMITTED)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", "''"),
        ("onboarding/sent", "workflow/subject/step/phase"),
        ("a/b/c/sent/d", "workflow/subject/step/phase"),
        ("Onboarding/b/c/sent", "'Onboarding'"),
        ("a//c/sent", "''"),
        ("a/b/attempt 1/sent", "'attempt 1'"),
        ("a/b/-1/sent", "'-1'"),
        ("a/b/c\n/sent", r"'c\n'"),
        ("a/b/c/posted", "'posted'"),
        ("a/b/c/Sent", "'Sent'"),
        ("a/b/c/sent\n", r"'sent\n'"),
    ],
)
def test_a_path_that_is_none_is_refused_with_the_offending_part(path: str, part: str) -> None:
    with pytest.raises(ValueError) as refused:
        Boundary.parse(path)
    assert part in str(refused.value)


def test_an_unknown_phase_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError) as refused:
        Boundary.parse("a/b/c/posted")
    assert all(phase.value in str(refused.value) for phase in Phase)


def test_every_phase_belongs_to_a_call_or_to_a_ledger_transaction() -> None:
    assert set(CALL_PHASES) | set(LEDGER_PHASES) == set(Phase)
    assert not set(CALL_PHASES) & set(LEDGER_PHASES)
