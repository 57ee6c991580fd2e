"""The error table says what a caller may conclude; where it says nothing, the caller concludes nothing."""

from __future__ import annotations

import pytest

from harness.model.errors import (
    ERRORS,
    CandidateError,
    Certainty,
    EnvironmentMissing,
    ErrorSpec,
    HarnessBug,
    KnownstateError,
    ProviderFailure,
    UsageError,
    certainty_of,
)


@pytest.mark.parametrize("row", ERRORS.values(), ids=lambda row: row.code)
def test_a_code_means_what_its_row_says(row: ErrorSpec) -> None:
    failure = ProviderFailure(row.code)
    assert failure.certainty is row.certainty is certainty_of(row.code)
    assert failure.is_definite is (row.certainty is Certainty.DEFINITE)


@pytest.mark.parametrize("code", ["", "teapot", "Timeout", "timeout ", "declined\n"])
def test_an_unknown_code_is_indefinite(code: str) -> None:
    assert certainty_of(code) is Certainty.INDEFINITE
    assert not ProviderFailure(code).is_definite


@pytest.mark.parametrize("row", [r for r in ERRORS.values() if r.status >= 500], ids=lambda row: row.code)
def test_a_5xx_leaves_doubt(row: ErrorSpec) -> None:
    assert row.certainty is Certainty.INDEFINITE


def test_without_an_answer_only_what_was_never_sent_is_definite() -> None:
    unanswered = {row.code for row in ERRORS.values() if row.status == 0 and row.certainty is Certainty.DEFINITE}
    assert unanswered == {"connection-refused", "deadline-passed"}


@pytest.mark.parametrize("code", ["already-exists", "already-undone", "duplicate-key", "key-in-use"])
def test_a_conflict_that_may_be_our_own_earlier_attempt_leaves_doubt(code: str) -> None:
    assert certainty_of(code) is Certainty.INDEFINITE


def test_a_message_says_what_where_and_what_to_do_next() -> None:
    error = UsageError("The line cannot be read.", where="line 3", next_step="Copy it again.")
    assert str(error) == "The line cannot be read. Where: line 3. Next: Copy it again."


@pytest.mark.parametrize(
    ("kind", "exit_code"), [(UsageError, 2), (CandidateError, 2), (HarnessBug, 3), (EnvironmentMissing, 4)]
)
def test_who_must_act_decides_the_exit_code(kind: type[KnownstateError], exit_code: int) -> None:
    assert kind("It does not work.").exit_code == exit_code
