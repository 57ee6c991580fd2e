"""The terminal."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from harness.model.result import CampaignResult
from harness.report.console import FAILURES_SHOWN_MAX, Progress, print_result
from tests.report import examples

WIDTH = 80


def _printed(result: CampaignResult, *, terminal: bool = False) -> str:
    out = StringIO()
    colours = {"force_terminal": True, "color_system": "truecolor"} if terminal else {}
    print_result(result, console=Console(file=out, width=WIDTH, **colours))
    return out.getvalue()


def _plain(result: CampaignResult) -> list[str]:
    return _printed(result).splitlines()


@pytest.mark.parametrize(
    ("result", "word"),
    [(examples.campaign(), "VIOLATED"), (examples.holding(), "HOLDS"), (examples.inconclusive(), "UNKNOWN")],
)
def test_the_first_line_is_the_verdict(result: CampaignResult, word: str) -> None:
    assert _plain(result)[0].startswith(f"{word}: ")


def test_every_line_fits_but_those_to_be_copied() -> None:
    lines = [line for line in _plain(examples.campaign()) if "replay:" not in line]
    assert max(map(len, lines)) <= WIDTH


def test_a_replay_command_is_on_one_line_and_the_last_of_its_failure() -> None:
    lines = _plain(examples.campaign())
    (index,) = [i for i, line in enumerate(lines) if "replay:" in line]
    assert examples.failure().replay in lines[index]
    assert lines[index + 1] == ""


def test_without_a_terminal_there_is_no_escape() -> None:
    assert "\x1b" not in _printed(examples.campaign())


def test_on_a_terminal_there_is_colour() -> None:
    assert "\x1b[" in _printed(examples.campaign(), terminal=True)


def test_coverage_counts_what_fired() -> None:
    assert "Explored 11 of 14 schedules; faults fired in 10 of 11." in _plain(examples.campaign())
    assert "Explored 11 of 11 schedules; every fault fired." in _plain(examples.holding())


def test_guarantees_are_counted_and_a_run_whose_fault_did_not_fire_passes_none() -> None:
    rows = {line.split()[0]: line.split()[1:] for line in _plain(examples.campaign()) if line.strip()}
    assert rows["known-state"] == ["10", "-", "1"]
    assert rows["no-duplicate-effect"] == ["8", "2", "1"]
    assert rows["no-blind-retry"] == ["9", "1", "1"]


def test_what_was_left_out_and_what_cannot_be_observed_is_said() -> None:
    text = _printed(examples.campaign())
    assert "  - 3 schedules of 14 not run." in text
    assert "  - compensation-once: needs level L4" in text


def test_words_in_brackets_are_text_and_not_markup() -> None:
    assert "[bold]x[/bold]" in _printed(replace(examples.holding(), candidate="[bold]x[/bold]"))


def test_failures_beyond_the_limit_are_counted() -> None:
    many = tuple(examples.failure(n) for n in range(FAILURES_SHOWN_MAX + 3))
    text = _printed(replace(examples.campaign(), failures=many))
    assert "3 more failures are in reports/example." in text


def test_progress_without_a_terminal_speaks_at_most_once_in_ten_per_cent() -> None:
    out = StringIO()
    with Progress(Console(file=out, width=WIDTH)) as progress:
        for done in range(1, 1001):
            progress.update(done, 1000, violated=done // 500)
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1] == "100 %: 1,000 of 1,000 runs, 2 violations"


def test_progress_on_a_terminal_draws_and_takes_itself_away() -> None:
    out = StringIO()
    with Progress(Console(file=out, width=WIDTH, force_terminal=True)) as progress:
        progress.update(5, 10, violated=1)
    assert "5/10" in out.getvalue()
    assert "1 violation" in out.getvalue()


def test_progress_with_nothing_to_do_is_silent() -> None:
    out = StringIO()
    with Progress(Console(file=out)) as progress:
        progress.update(0, 0)
    assert out.getvalue() == ""
