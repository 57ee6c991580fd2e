"""The page: one self-contained HTML file that needs no script, no network and no server.

Here: gathering what the template shows. Never here: words about runs (`summary`, `story`), pixels (`svg`). The page's
policy forbids everything but its own style block, named by its hash. Sizes are bounded: FAILURES_MAX sections, a folded
matrix, capped pictures.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from harness.model.fault import FAULTS
from harness.model.result import CampaignResult, Failure
from harness.model.verdict import Outcome
from harness.report import books, matrix, picture, summary, svg, words
from harness.report.facts import subjects_of
from harness.report.redact import redacted

if TYPE_CHECKING:
    from jinja2 import Template

FAILURES_MAX = 25
BADGES = {Outcome.HOLDS: "holds", Outcome.VIOLATED: "violated", Outcome.UNKNOWN: "unknown"}
SYMBOLS = {Outcome.HOLDS: "✓", Outcome.VIOLATED: "✕", Outcome.UNKNOWN: "?"}


@dataclass(frozen=True, slots=True)
class Witness:
    """One verdict of a failure: its explanation taken apart, and the places of its witness events."""

    guarantee: str
    outcome: Outcome
    statement: str
    reasoning: tuple[tuple[str, str], ...]
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One failure as the page shows it."""

    failure: Failure
    sentence: str
    witnesses: tuple[Witness, ...]
    picture: str
    drawn: int
    elided: int
    books: tuple[books.Books, ...]
    survivable: str


def to_html(result: CampaignResult) -> str:
    """The page."""
    result = redacted(result)
    shown = result.failures[:FAILURES_MAX]
    style = _asset("report.css")
    return _template().render(
        result=result,
        style=style,
        style_hash=b64encode(sha256(style.encode()).digest()).decode(),
        summary=summary,
        words=words,
        badge=BADGES,
        symbol=SYMBOLS,
        guarantees=summary.count_guarantees(result),
        matrix=matrix.fold(result, shown),
        sections=[_section(result, failure) for failure in shown],
        failures_more=len(result.failures) - len(shown),
        faults=_statements(result),
    )


def _section(result: CampaignResult, failure: Failure) -> Section:
    image = picture.draw(failure.events, failure.verdicts)
    title = f"Time-space picture of {failure.id}: the story above, drawn."
    subjects = subjects_of(failure.verdicts)
    return Section(
        failure,
        summary.failure_sentence(failure),
        tuple(
            Witness(
                v.guarantee,
                v.outcome,
                result.guarantees.get(v.guarantee, ""),
                words.reasoning(v.explanation),
                v.witness,
            )
            for v in failure.verdicts
            if v.outcome is not Outcome.HOLDS
        ),
        svg.to_svg(image, f"t-{failure.id}", title) if image.marks else "",
        len(image.marks),
        image.elided,
        books.open_books(failure.events, subjects),
        words.survival(failure.fault),
    )


def _statements(result: CampaignResult) -> dict[str, str]:
    """Fault -> what it does, for the matrix's column heads."""
    return {fault.value: row.statement for fault, row in FAULTS.items()}


def _asset(name: str) -> str:
    return (files("harness.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_asset("report.html.j2"))
