"""Plain words."""

from __future__ import annotations

import pytest

from harness.model.fault import Fault
from harness.report import words


@pytest.mark.parametrize(
    ("action", "did"),
    [
        ("charge", "charged"),
        ("send", "sent"),
        ("apply", "applied"),
        ("tenant.create", "created tenant"),
        ("create-record", "created record"),
    ],
)
def test_what_a_provider_did_is_said_in_the_past(action: str, did: str) -> None:
    assert words.past(action) == did


def test_a_boundary_reads_as_a_place() -> None:
    assert words.place("onboarding/undo.billing.charge/lookup-2/sent") == "look-up 2 of the undo of billing.charge"


@pytest.mark.parametrize("separator", ["\n", " / ", "; ", ". "])
def test_an_explanation_is_taken_apart_at_let_then_but(separator: str) -> None:
    text = separator.join(["let it be then or now", "then it was", "but it was not: a contradiction"])
    assert words.reasoning(text) == (
        ("let", "it be then or now"),
        ("then", "it was"),
        ("but", "it was not: a contradiction"),
    )


def test_an_explanation_of_another_form_stays_whole() -> None:
    assert words.reasoning("the fault did not fire") == (("", "the fault did not fire"),)


def test_only_the_lines_of_an_explanation_divide_it_when_it_has_lines() -> None:
    text = "let a be sent, then lost\nthen b\nbut c: a contradiction"
    assert words.reasoning(text) == (("let", "a be sent, then lost"), ("then", "b"), ("but", "c: a contradiction"))


def test_an_argument_is_one_line_without_event_numbers() -> None:
    text = "let a be sent (event 3)\nthen one stands\nbut 2 stand (events 4, 17): a contradiction"
    assert words.argument(text) == "let a be sent, then one stands, but 2 stand"


def test_a_fault_that_refers_to_another_brings_that_ones_reason() -> None:
    assert "the ledger observes" in words.survival(Fault.ERROR_AFTER_COMMIT.value)


def test_a_stranger_among_the_faults_keeps_its_name() -> None:
    assert words.struck("solar-flare") == "solar-flare"
    assert words.survival("solar-flare") == ""


def test_times_are_seconds_with_milliseconds() -> None:
    assert words.seconds(12_000_000) == " 0.012s"
