"""Which broken guarantee says most about a failing run: the cause before the consequence."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.verdict import Outcome, Verdict

TELLING = (
    "no-duplicate-effect",
    "compensation-once",
    "approval-valid-at-commit",
    "fenced-worker",
    "cancel-fences",
    "failed-compensation-halts",
    "rollback-resumes",
    "compensation-order",
    "compensation-after-effect",
    "downstream-waits",
    "stable-identity",
    "no-blind-retry",
    "policy-obeyed",
    "nothing-lost",
    "right-terminal",
    "honest-claim",
    "settles",
    "compensation-is-an-operation",
    "known-state",
)
"""From the most to the least specific."""
_RANK = {name: rank for rank, name in enumerate(TELLING)}


def rank_of(guarantee: str) -> int:
    """0 for the most telling."""
    return _RANK.get(guarantee, len(_RANK))


def most_telling_first(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Violated ones first, in the order above, then the rest."""
    return tuple(sorted(verdicts, key=lambda v: (v.outcome is not Outcome.VIOLATED, rank_of(v.guarantee), v.guarantee)))
