"""The matrix boundary x fault as a value: rows grouped by operation, a column per fault, the worst outcome in each
cell.

Here: folding run rows into cells and keeping their number bounded. Never here: markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.fault import Fault
from harness.model.result import CampaignResult, Failure, RunRow
from harness.model.verdict import Outcome
from harness.report import words
from harness.report.summary import worst

CELLS_MAX = 12_000
"""Beyond this many cells attempts are folded together, so that a page stays small."""


@dataclass(frozen=True, slots=True)
class Cell:
    """`outcome` is None where the fault does not fit the boundary.

    `failure` is the id of the failure to look at, or "".
    """

    outcome: Outcome | None
    runs: int = 0
    bad: int = 0
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One boundary: its words and one cell per column."""

    name: str
    path: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The boundaries of one operation, in the order in which they were explored."""

    operation: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """`folded` says that attempts were folded together."""

    faults: tuple[str, ...]
    groups: tuple[Group, ...]
    folded: bool


def fold(result: CampaignResult, shown: Iterable[Failure], cells_max: int = CELLS_MAX) -> Matrix:
    """The matrix of a result; cells link to the failures shown."""
    rows = [row for row in result.rows if row.fault]
    faults = _columns(rows)
    whole = len({row.boundary for row in rows}) * len(faults) <= cells_max
    name = str if whole else _coarse
    lines: dict[str, dict[str, list[RunRow]]] = {}
    for row in rows:
        lines.setdefault(name(row.boundary), {}).setdefault(row.fault, []).append(row)
    links = _Links.of(shown)
    return Matrix(faults, _groups(lines, faults, links), not whole)


@dataclass(frozen=True, slots=True)
class _Links:
    """Which failure a cell leads to.

    Its own, else one that breaks the same guarantee by the same fault in the same phase.
    """

    exact: dict[tuple[str, str], str]
    alike: dict[tuple[str, str, str], str]

    @classmethod
    def of(cls, failures: Iterable[Failure]) -> _Links:
        exact: dict[tuple[str, str], str] = {}
        alike: dict[tuple[str, str, str], str] = {}
        for failure in failures:
            exact.setdefault((failure.boundary, failure.fault), failure.id)
            for verdict in failure.verdicts:
                alike.setdefault((_phase(failure.boundary), failure.fault, verdict.guarantee), failure.id)
        return cls(exact, alike)

    def to(self, row: RunRow) -> str:
        own = self.exact.get((row.boundary, row.fault), "")
        kin = (self.alike.get((_phase(row.boundary), row.fault, verdict.guarantee), "") for verdict in row.verdicts)
        return own or next(filter(None, kin), "")


def _columns(rows: Iterable[RunRow]) -> tuple[str, ...]:
    """The faults that occur, in the order of the alphabet of faults; strangers last."""
    order = {fault.value: index for index, fault in enumerate(Fault)}
    return tuple(sorted({row.fault for row in rows}, key=lambda fault: (order.get(fault, len(order)), fault)))


def _groups(lines: dict[str, dict[str, list[RunRow]]], faults: tuple[str, ...], links: _Links) -> tuple[Group, ...]:
    groups: dict[str, list[Line]] = {}
    for path, found in lines.items():
        cells = tuple(_cell(found.get(fault, []), links) for fault in faults)
        groups.setdefault(words.operation(_part(path, 1)), []).append(Line(_line_name(path), path, cells))
    return tuple(Group(operation, tuple(members)) for operation, members in groups.items())


def _cell(rows: list[RunRow], links: _Links) -> Cell:
    if not rows:
        return Cell(None)
    outcome = worst([row.outcome for row in rows])
    bad = [row for row in rows if row.outcome is outcome] if outcome is not Outcome.HOLDS else []
    return Cell(outcome, len(rows), len(bad), next(filter(None, map(links.to, bad)), ""))


def _coarse(path: str) -> str:
    """The path with all attempts of a kind folded together: `w/op/attempt/sent`."""
    parts = path.split("/")
    if len(parts) == 4:
        kind, _, number = parts[2].partition(".")[0].rpartition("-")
        parts[2] = kind if kind and number.isdigit() else parts[2]
    return "/".join(parts)


def _line_name(path: str) -> str:
    return f"{words.step(_part(path, 2))}, {_phase(path)}" if path.count("/") == 3 else path


def _phase(path: str) -> str:
    return path.rpartition("/")[2]


def _part(path: str, index: int) -> str:
    parts = path.split("/")
    return parts[index] if index < len(parts) else path
