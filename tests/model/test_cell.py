"""Provider cells: eighteen of them, each with a text, two thirds of which never prove an absence."""

from __future__ import annotations

import pytest

from harness.model.cell import ALL_CELLS, Cell, Late, Lookup


def test_there_are_eighteen_different_cells() -> None:
    assert len(set(ALL_CELLS)) == 3 * 3 * 2


@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_a_cell_is_read_back_from_its_text(cell: Cell) -> None:
    assert Cell.parse(str(cell)) == cell


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "key.lookup.late"),
        ("honoured.authoritative", "key.lookup.late"),
        ("honoured.authoritative.prompt.", "key.lookup.late"),
        ("kept.authoritative.prompt", "'kept' is not one of honoured, expires, ignored"),
        ("honoured.sometimes.prompt", "'sometimes' is not one of authoritative, eventual, absent"),
        ("honoured.authoritative.soon", "'soon' is not one of prompt, late"),
    ],
)
def test_a_text_that_is_no_cell_is_refused_with_the_words_allowed(text: str, part: str) -> None:
    with pytest.raises(ValueError) as refused:
        Cell.parse(text)
    assert part in str(refused.value)


def test_absence_can_be_proved_only_where_reads_are_authoritative_and_nothing_is_late() -> None:
    proving = {cell for cell in ALL_CELLS if cell.absence_can_be_proved}
    assert proving == {c for c in ALL_CELLS if (c.lookup, c.late) == (Lookup.AUTHORITATIVE, Late.NO)}
    assert len(proving) == 3
