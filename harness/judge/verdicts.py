"""Verdicts in the judge's three forms: it holds, it is violated (with witness and contradiction), it cannot be decided.

Here: their construction, so that every explanation has the same shape. Never here: a rule.
"""

from __future__ import annotations

from functools import cache

from harness.model.verdict import Outcome, Verdict


@cache
def holds(guarantee: str) -> Verdict:
    """The verdict of the usual case; built once, for most runs hold most guarantees."""
    return Verdict(guarantee, Outcome.HOLDS)


def undecided(guarantee: str, why: str = "the run has no audit at its end") -> Verdict:
    """Nothing proved either way."""
    return Verdict(guarantee, Outcome.UNKNOWN, explanation=why)


def violated(guarantee: str, subject: str, witness: tuple[int, ...], *, let: str, then: str, but: str) -> Verdict:
    """A contradiction in three sentences over the fewest events that show it."""
    explanation = f"let {let}\nthen {then}\nbut {but}: a contradiction"
    return Verdict(guarantee, Outcome.VIOLATED, tuple(sorted(set(witness))), explanation, subject)
