"""Findings: what was measured, against which goal; as a table for people and as JSON for machines.

Never here: measuring.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

NAME_WIDTH = 42
NUMBER_WIDTH = 9


class Standing(StrEnum):
    """Of one finding: against its goal, or without one."""

    OK = "OK"
    MISSED = "MISSED"
    SHOWN = ""
    """A part or a circumstance of another finding: it has no goal of its own."""
    ABSENT = "absent"
    """Could not be measured here; the notes say why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table. `goal` is an upper limit, None where there is none; `unit` is x, us, ms or a word.

    `best` and `median` are over interleaved rounds; both None when it could not be measured.
    """

    name: str
    unit: str
    best: float | None
    median: float | None
    goal: float | None = None

    @property
    def standing(self) -> Standing:
        """Judged by the best: the median is what the machine was doing meanwhile."""
        if self.best is None:
            return Standing.ABSENT
        if self.goal is None:
            return Standing.SHOWN
        return Standing.OK if self.best <= self.goal else Standing.MISSED


@dataclass(frozen=True, slots=True)
class Section:
    """The findings of one question, with notes in sentences under them."""

    title: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def table(sections: Iterable[Section]) -> Iterable[str]:
    """Lines of at most 80 columns."""
    yield _line("", "goal", "best", "median", "")
    for section in sections:
        yield ""
        yield section.title
        for f in section.findings:
            yield _line(f"  {f.name}", _goal(f), _number(f.best, f.unit), _number(f.median, f.unit), f.standing.value)
        for note in section.notes:
            yield from _wrapped(note)


def _line(name: str, goal: str, best: str, middle: str, standing: str) -> str:
    cells = "".join(cell.rjust(NUMBER_WIDTH) for cell in (goal, best, middle))
    return f"{name.ljust(NAME_WIDTH)}{cells}  {standing}".rstrip()


def _goal(finding: Finding) -> str:
    return "" if finding.goal is None else f"<={_number(finding.goal, finding.unit)}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return f"{text}{unit}" if unit == "x" else f"{text} {unit}".rstrip()


def _wrapped(note: str, width: int = 74) -> Iterable[str]:
    line = ""
    for word in note.split():
        if line and len(line) + 1 + len(word) > width:
            yield f"    {line}"
            line = word
        else:
            line = f"{line} {word}".lstrip()
    yield f"    {line}"


def as_json(sections: Sequence[Section]) -> str:
    """The same, with the kind of machine; numbers unrounded."""
    kind = {"python": platform.python_version(), "implementation": platform.python_implementation()}
    body = [
        {
            "title": section.title,
            "findings": [{**asdict(f), "standing": f.standing.name.lower()} for f in section.findings],
            "notes": list(section.notes),
        }
        for section in sections
    ]
    return json.dumps({"machine": kind, "sections": body}, indent=1) + "\n"
