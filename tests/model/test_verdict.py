"""Verdicts have three values; a violation outranks the unknown, and the unknown never passes."""

from __future__ import annotations

import pytest

from harness.model.verdict import Outcome, Verdict, overall

HOLDS = Verdict("settles", Outcome.HOLDS)
UNKNOWN = Verdict("settles", Outcome.UNKNOWN, explanation="cut short")
VIOLATED = Verdict("settles", Outcome.VIOLATED, (3,), "let ... but ...")


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ((HOLDS, HOLDS), Outcome.HOLDS),
        ((HOLDS, UNKNOWN), Outcome.UNKNOWN),
        ((UNKNOWN, VIOLATED, HOLDS), Outcome.VIOLATED),
        ((), Outcome.UNKNOWN),
    ],
)
def test_the_worst_verdict_is_the_run_s(verdicts: tuple[Verdict, ...], outcome: Outcome) -> None:
    assert overall(verdicts) is outcome


def test_a_violation_without_a_witness_is_no_verdict() -> None:
    with pytest.raises(AssertionError, match="has a witness"):
        Verdict("settles", Outcome.VIOLATED, (), "because")


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.VIOLATED])
def test_what_does_not_hold_says_why(outcome: Outcome) -> None:
    with pytest.raises(AssertionError, match="say why"):
        Verdict("settles", outcome, (1,))


@pytest.mark.parametrize("witness", [(2, 1), (1, 1)])
def test_a_witness_is_ascending_and_names_each_event_once(witness: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError, match="ascending"):
        Verdict("settles", Outcome.VIOLATED, witness, "because")
