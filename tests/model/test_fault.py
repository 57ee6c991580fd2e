"""The alphabet of faults and the table of where each fits: complete, possible, and argued."""

from __future__ import annotations

import pytest

from harness.model.boundary import LEDGER_PHASES, Phase, Purpose
from harness.model.cell import ALL_CELLS, Cell
from harness.model.fault import CONDITIONS, FAULTS, Circumstances, Family, Fault, FaultSpec, applicable

DONE = [row for row in FAULTS.values() if row.rigs]
RIGS = {"simulation", "fork", "process", "docker"}
AROUND = [
    Circumstances(cell, action, seen, stands, approval)
    for cell in (None, *ALL_CELLS)
    for action in ("", "request", "read")
    for seen in (False, True)
    for stands in (False, True)
    for approval in (False, True)
]
"""All circumstances there can be."""


def of(cell: str) -> Circumstances:
    return Circumstances(Cell.parse(cell))


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_a_row_of_its_own(fault: Fault) -> None:
    assert FAULTS[fault].fault is fault
    assert FAULTS[fault].statement.endswith(".")
    assert FAULTS[fault].survivable.endswith(".")


@pytest.mark.parametrize("row", FAULTS.values(), ids=lambda row: row.fault)
def test_a_row_names_only_rigs_that_exist(row: FaultSpec) -> None:
    assert set(row.rigs) <= RIGS


@pytest.mark.parametrize("row", DONE, ids=lambda row: row.fault)
def test_a_fault_that_some_rig_can_do_fits_somewhere(row: FaultSpec) -> None:
    assert any(
        row.fault in applicable(phase, purpose, around, row.rigs[0])
        for phase in row.phases
        for purpose in row.purposes
        for around in AROUND
    )


@pytest.mark.parametrize("row", [r for r in FAULTS.values() if not r.rigs], ids=lambda row: row.fault)
def test_a_fault_no_rig_can_do_is_planned_nowhere(row: FaultSpec) -> None:
    assert (row.phases, row.purposes) == ((), ())


@pytest.mark.parametrize("rig", sorted(RIGS))
def test_a_rig_is_given_only_faults_it_can_do(rig: str) -> None:
    for phase in Phase:
        for purpose in Purpose:
            given = applicable(phase, purpose, Circumstances(), rig)
            assert all(rig in FAULTS[fault].rigs for fault in given)


@pytest.mark.parametrize("condition", sorted(CONDITIONS))
def test_a_condition_is_used_and_can_be_met(condition: str) -> None:
    assert condition in {row.condition for row in FAULTS.values()}
    assert any(CONDITIONS[condition](around) for around in AROUND)


def test_a_crash_fits_every_phase_of_every_purpose() -> None:
    assert all(Fault.CRASH in applicable(phase, purpose, Circumstances()) for phase in Phase for purpose in Purpose)


@pytest.mark.parametrize("row", [r for r in DONE if r.family is Family.STORE], ids=lambda row: row.fault)
def test_a_store_fault_strikes_ledger_transactions_only(row: FaultSpec) -> None:
    assert set(row.phases) <= {*LEDGER_PHASES, Phase.BEFORE_INTENT}


@pytest.mark.parametrize(
    ("fault", "phase", "purpose", "fits", "neighbour"),
    [
        (Fault.LATE_DELIVERY, Phase.SENT, Purpose.EFFECT, "honoured.authoritative.late", "honoured.authoritative.prompt"),
        (Fault.DUPLICATE_DELIVERY, Phase.SENT, Purpose.EFFECT, "ignored.eventual.late", "ignored.absent.late"),
        (Fault.KEY_REUSED, Phase.DELIVERED, Purpose.UNDO, "expires.absent.late", "ignored.absent.late"),
        (Fault.FALSE_SUCCESS, Phase.DELIVERED, Purpose.EFFECT, "ignored.eventual.late", "ignored.absent.late"),
        (Fault.PARTIAL_LOOKUP, Phase.DELIVERED, Purpose.LOOKUP, "ignored.eventual.late", "ignored.absent.late"),
    ],
)  # fmt: skip
def test_a_cell_in_which_no_ledger_could_survive_a_fault_is_left_out(
    fault: Fault, phase: Phase, purpose: Purpose, fits: str, neighbour: str
) -> None:
    assert fault in applicable(phase, purpose, of(fits))
    assert fault not in applicable(phase, purpose, of(neighbour))


def test_a_stale_lookup_needs_something_that_stands() -> None:
    eventual = Cell.parse("honoured.eventual.prompt")
    assert Fault.STALE_LOOKUP in applicable(Phase.DELIVERED, Purpose.LOOKUP, Circumstances(eventual, stands=True))
    assert Fault.STALE_LOOKUP not in applicable(Phase.DELIVERED, Purpose.LOOKUP, Circumstances(eventual))


@pytest.mark.parametrize("fault", [Fault.REJECTS_DUPLICATE_KEY, Fault.KEY_IN_USE])
def test_a_key_conflict_needs_a_key_that_was_seen(fault: Fault) -> None:
    cell = Cell.parse("honoured.absent.prompt")
    assert fault in applicable(Phase.DELIVERED, Purpose.EFFECT, Circumstances(cell, key_seen=True))
    assert fault not in applicable(Phase.DELIVERED, Purpose.EFFECT, Circumstances(cell))
