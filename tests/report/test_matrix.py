"""The matrix boundary x fault."""

from __future__ import annotations

from dataclasses import replace

from harness.model.verdict import Outcome
from harness.report import matrix
from tests.report import examples


def test_boundaries_are_grouped_by_operation_in_the_order_explored() -> None:
    folded = matrix.fold(examples.campaign(), ())
    assert [group.operation for group in folded.groups] == ["billing.charge", "dns.record", "the workflow"]
    assert [line.name for line in folded.groups[0].lines] == [
        "attempt 1, sent",
        "attempt 1, delivered",
        "attempt 1, committed",
    ]


def test_a_cell_that_was_not_run_has_no_outcome() -> None:
    folded = matrix.fold(examples.campaign(), ())
    line = folded.groups[0].lines[0]
    by_fault = dict(zip(folded.faults, line.cells, strict=True))
    assert by_fault["crash"].outcome is Outcome.HOLDS
    assert by_fault["commit-lost"].outcome is None


def test_a_cell_takes_the_worst_outcome_of_its_runs_and_counts_them() -> None:
    base = examples.campaign()
    rows = (base.rows[4], replace(base.rows[4], outcome=Outcome.HOLDS, verdicts=()))
    (cell,) = matrix.fold(replace(base, rows=rows), base.failures).groups[0].lines[0].cells
    assert (cell.outcome, cell.runs, cell.bad, cell.failure) == (
        Outcome.VIOLATED,
        2,
        1,
        "001-no-duplicate-effect",
    )


def test_a_cell_leads_to_a_failure_of_the_same_kind_elsewhere_but_to_none_of_another_kind() -> None:
    base = examples.campaign()
    elsewhere = examples.CALL + "2/committed"
    alike = replace(base.rows[4], boundary=elsewhere)
    other = replace(alike, fault="slow-response")
    folded = matrix.fold(replace(base, rows=(alike, other)), base.failures)
    assert [cell.failure for cell in folded.groups[0].lines[0].cells] == ["001-no-duplicate-effect", ""]


def test_too_many_cells_are_folded_by_attempt() -> None:
    rows = tuple(examples.row(f"w/a/attempt-{nth}/sent", "crash") for nth in range(1, 9))
    folded = matrix.fold(replace(examples.campaign(), rows=rows), (), cells_max=7)
    assert folded.folded
    assert [(line.path, line.cells[0].runs) for line in folded.groups[0].lines] == [("w/a/attempt/sent", 8)]
