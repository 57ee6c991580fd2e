"""The papers' drawn parts are fresh, complete, and refuse what nobody draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import catalogue
from harness.judge.judge import GUARANTEES
from harness.model.cell import ALL_CELLS, Cell
from harness.model.errors import ERRORS, UsageError
from harness.model.fault import FAULTS
from harness.model.lifecycle import TRANSITIONS, State
from harness.scenario_files.loader import shipped
from harness.selftest import pins
from harness.selftest.pins import Pin
from reference_ledger.twins.registry import TWINS

PAGE = "# A page\n\n<!-- catalogue:guarantees -->\nold\n<!-- /catalogue -->\nThe end.\n"


def first_cells(drawn: str) -> list[str]:
    """The first cell of each row of a drawn table, without heads."""
    return [line.split("|")[1].strip().strip("`") for line in drawn.splitlines()[2:]]


# --- fresh -----------------------------------------------------------------------------------------------------------


def test_every_drawn_part_of_every_page_is_fresh() -> None:
    names = [str(path.relative_to(catalogue.ROOT)) for path, _ in catalogue.stale()]
    assert names == [], "run python -m harness.catalogue --write"


def test_every_part_stands_in_some_page() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in catalogue.pages())
    assert [name for name in catalogue.BLOCKS if f"<!-- catalogue:{name} -->\n" not in texts] == []


def test_a_stale_page_is_found_and_is_fresh_once_redrawn(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(PAGE)
    [(path, fresh)] = catalogue.stale(tmp_path)
    path.write_text(fresh)
    assert path == page
    assert catalogue.stale(tmp_path) == []


def test_redrawing_leaves_the_rest_of_the_page_alone() -> None:
    fresh = catalogue.redrawn(PAGE, "page")
    assert fresh.startswith("# A page\n\n<!-- catalogue:guarantees -->\n| ")
    assert fresh.endswith("|\n<!-- /catalogue -->\nThe end.\n")
    assert "old" not in fresh


def test_the_check_answers_1_for_a_stale_page_and_0_for_a_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    monkeypatch.setattr(catalogue.stale, "__defaults__", (tmp_path,))
    (tmp_path / "README.md").write_text(PAGE)
    assert catalogue.main(["--check"]) == 1
    assert "README.md: stale" in capsys.readouterr().out
    assert catalogue.main(["--write"]) == 0
    assert catalogue.main(["--check"]) == 0


# --- refused ---------------------------------------------------------------------------------------------------------


def test_a_part_that_nobody_draws_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"Nobody draws 'fault'; the parts are .*faults"):
        catalogue.redrawn("<!-- catalogue:fault -->\n<!-- /catalogue -->\n", "page")


@pytest.mark.parametrize("text", ["<!-- catalogue:faults -->\n", "<!-- /catalogue -->\n"])
def test_a_marker_without_its_partner_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no partner"):
        catalogue.redrawn(text, "page")


def test_a_marker_within_a_sentence_is_only_text() -> None:
    sentence = "Parts stand between `<!-- catalogue:NAME -->` and the end.\n"
    assert catalogue.redrawn(sentence, "page") == sentence


# --- complete --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("faults", list(FAULTS)),
        ("faults-why", list(FAULTS)),
        ("guarantees", list(GUARANTEES)),
        ("errors", list(ERRORS)),
        ("twins", list(TWINS)),
        ("cells", [str(cell) for cell in ALL_CELLS]),
        ("lifecycle-states", list(State)),
        ("scenarios", [path.name.removesuffix(".scenario.yaml") for path in shipped()]),
    ],
)
def test_a_table_has_one_row_for_each_entry_of_its_registry(part: str, names: list[str]) -> None:
    assert first_cells(catalogue.BLOCKS[part]()) == names


def test_each_move_of_the_lifecycle_is_in_exactly_one_of_the_two_diagrams() -> None:
    drawn = catalogue.lifecycle_doing() + catalogue.lifecycle_undoing()
    moves = sorted(re.findall(r"^    ([A-Z_]+) --> ([A-Z_]+)$", drawn, re.MULTILINE))
    assert moves == sorted((str(old), str(new)) for old, news in TRANSITIONS.items() for new in news)


def test_a_bar_in_a_cell_does_not_split_it() -> None:
    assert catalogue.table(["a"], [["x|y\nz"]]) == "| a |\n| --- |\n| x\\|y z |\n"


# --- twins -----------------------------------------------------------------------------------------------------------


def row_of(twin: str) -> str:
    return next(line for line in catalogue.twins().splitlines() if f"`{twin}`" in line)


def test_a_twin_without_a_pin_is_shown_as_not_hunted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "pins", dict)
    assert row_of("blind_retry").endswith("| not hunted yet | - | not hunted yet |")


def test_a_pinned_twin_is_shown_with_its_run_and_the_cells_that_hide_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = ("honoured.absent.prompt", "honoured.absent.late")
    pin = Pin("blind_retry", "no-duplicate-effect", ("no-duplicate-effect",), "drill:seed=0:", 7, hidden)
    monkeypatch.setattr(pins, "pins", lambda: {"blind_retry": pin})
    end = "| `no-duplicate-effect` | `drill:seed=0:` | `honoured.absent.prompt`, `honoured.absent.late` |"
    assert row_of("blind_retry").endswith(end)


def test_cells_that_are_almost_all_are_told_by_the_others() -> None:
    all_but_one = [str(cell) for cell in ALL_CELLS[1:]]
    assert catalogue.masked(all_but_one) == f"all but `{ALL_CELLS[0]}`"
    assert catalogue.masked([]) == "-"


# --- the ledger in doubt ---------------------------------------------------------------------------------------------


def test_absence_is_known_in_exactly_the_cells_that_can_prove_it() -> None:
    proving = [cell for cell in ALL_CELLS if "absent, tries again" in catalogue.in_doubt(cell, attempts=1)]
    assert proving == [cell for cell in ALL_CELLS if cell.absence_can_be_proved]


def test_where_nothing_can_be_known_or_repeated_a_person_is_asked() -> None:
    assert catalogue.in_doubt(Cell.parse("ignored.absent.late"), attempts=1) == "asks a person"
