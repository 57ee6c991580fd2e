"""What a candidate answers is checked before anybody relies on it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.candidates.answers import ledger_view
from harness.model.claim import LedgerView
from harness.model.errors import CandidateError

GOOD = LedgerView("COMPLETED", {"charge": ("VERIFIED", ""), "mail": ("RECONCILED", "not-committed")})


def test_a_view_in_the_words_of_the_lifecycle_is_taken_as_it_is() -> None:
    assert ledger_view(GOOD, "here") is GOOD


def test_an_empty_view_says_that_nothing_was_accepted() -> None:
    assert ledger_view(LedgerView("", {}), "here").workflow == ""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "NoneType instead of a LedgerView"),
        ({"workflow": "COMPLETED"}, "dict instead of a LedgerView"),
        (LedgerView("DONE", {}), "'DONE' is no state of a workflow"),
        (LedgerView("COMPLETED", [1, 2]), "its operations are a list"),  # type: ignore[arg-type]
        (LedgerView("COMPLETED", {"a": ("VERIFIED",)}), "the entry 'a'"),  # type: ignore[dict-item]
        (LedgerView("COMPLETED", {"a": ("OK", "")}), "'OK' of a is no state of an operation"),
        (LedgerView("COMPLETED", {"a": ("RECONCILED", "maybe")}), "'maybe' of a is no resolution"),
    ],
)
def test_anything_else_breaks_the_contract_and_is_named(answer: Any, said: str) -> None:
    with pytest.raises(CandidateError, match="broke the contract") as caught:
        ledger_view(answer, "here", "after an error")
    assert said in caught.value.what
    assert "after an error" in caught.value.what
    assert caught.value.where == "here"
