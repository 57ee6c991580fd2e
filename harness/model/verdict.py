"""Verdicts: what the judge says of one guarantee in one run. Three values, never a boolean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One guarantee's verdict.

    `witness` are the fewest event indices that show it, ascending, empty unless violated; `explanation` is of the form
    "let ... / then ... / but ...: a contradiction" when violated, and says why when unknown. `subject` is the operation it is about.
    """

    guarantee: str
    outcome: Outcome
    witness: tuple[int, ...] = ()
    explanation: str = ""
    subject: str = ""

    def __post_init__(self) -> None:
        assert self.outcome is not Outcome.VIOLATED or self.witness, f"{self.guarantee}: a violation has a witness"
        assert self.outcome is Outcome.HOLDS or self.explanation, f"{self.guarantee}: say why"
        assert list(self.witness) == sorted(set(self.witness)), "a witness is ascending and names each event once"


def overall(verdicts: tuple[Verdict, ...]) -> Outcome:
    """One outcome for a run: a violation outranks unknown, and unknown never passes."""
    outcomes = {v.outcome for v in verdicts}
    if Outcome.VIOLATED in outcomes:
        return Outcome.VIOLATED
    if Outcome.UNKNOWN in outcomes or not outcomes:
        return Outcome.UNKNOWN
    return Outcome.HOLDS
