"""The terminal: a campaign's result for a person who has just run it, and the progress of one that runs.

Here: layout with rich. Never here: deciding anything. Rich is imported when something is printed, so that importing
this module is cheap. Works at 80 columns; without a terminal there is no colour and progress speaks at most once every
ten per cent.
"""

from __future__ import annotations

from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING

from harness.model.result import CampaignResult, Failure
from harness.model.verdict import Outcome
from harness.report import summary, words
from harness.report.redact import redacted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from rich.table import Table

FAILURES_SHOWN_MAX = 10
QUIET_STEP_PERCENT = 10
_HANGING = " " * 11
_STYLES = {Outcome.HOLDS: "bold green", Outcome.VIOLATED: "bold red", Outcome.UNKNOWN: "bold yellow"}
_WORDS = {Outcome.HOLDS: "HOLDS", Outcome.VIOLATED: "VIOLATED", Outcome.UNKNOWN: "UNKNOWN"}


def print_result(result: CampaignResult, *, console: Console, tell: int = FAILURES_SHOWN_MAX) -> None:
    """Verdict first, then coverage, guarantees, failures (replay command last), what was left out and what cannot be
    observed.
    """
    result = redacted(result)
    _verdict(result, console)
    console.print(_guarantees(result))
    for failure in result.failures[:tell]:
        _failure(failure, console)
    if len(result.failures) > tell:
        _say(console, f"{words.plural(len(result.failures) - tell, 'more failure')} are in {result.out}.")
    if summary.untold_sentence(result):
        console.print()
        _say(console, summary.untold_sentence(result))
    _list(console, "Left out", summary.left_out(result))
    _list(console, "Not observable", [f"{name}: {why}" for name, why in result.not_observable.items()])
    if result.out:
        _say(console, f"Everything is in {result.out}.")


def _say(console: Console, text: str, style: str = "") -> None:
    """Text of strangers is never markup, and numbers in it are not coloured."""
    console.print(text, style=style or None, markup=False, highlight=False)


def _say_whole(console: Console, text: str, style: str = "") -> None:
    """A line that must be copied whole: it is not wrapped."""
    console.print(text, style=style or None, markup=False, highlight=False, soft_wrap=True)


def _verdict(result: CampaignResult, console: Console) -> None:
    _say(console, f"{_WORDS[result.outcome]}: {summary.verdict_sentence(result)}", _STYLES[result.outcome])
    _say(console, f"{summary.exit_sentence(result)} {summary.ending_sentence(result)}")
    _say(console, f"{summary.scenario_id(result)} on {result.candidate}, rig {result.rig}, in {result.seconds:.1f} s")
    _say(console, summary.coverage_sentence(result))
    _say(console, summary.boundaries_sentence(result))
    _say(console, summary.control_sentence(result), "" if result.control is Outcome.HOLDS else _STYLES[result.control])


def _guarantees(result: CampaignResult) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", title_justify="left")
    table.add_column("guarantee", overflow="fold")
    for name in ("holds", "violated", "unknown"):
        table.add_column(name, justify="right")
    for count in summary.count_guarantees(result):
        style = "" if count.outcome is Outcome.HOLDS else _STYLES[count.outcome]
        numbers = [f"{number:,}" if number else "-" for number in (count.holds, count.violated, count.unknown)]
        table.add_row(Text(count.id, style=style), *(Text(number, style=style) for number in numbers))
    return table


def _failure(failure: Failure, console: Console) -> None:
    console.print()
    _say(console, f"{failure.id}: {summary.failure_sentence(failure)}", "bold")
    for line in failure.story:
        for part in wrap(line, console.width, initial_indent="  ", subsequent_indent=_HANGING, drop_whitespace=True):
            _say_whole(console, part)
    _say_whole(console, f"  replay: {failure.replay}", "cyan")


def _list(console: Console, heading: str, lines: tuple[str, ...] | list[str]) -> None:
    if not lines:
        return
    console.print()
    _say(console, heading, "bold")
    for line in lines:
        _say(console, f"  - {line}")


class Progress:
    """Progress of a running campaign: a bar on a terminal, a line now and then elsewhere.

    A context manager; `update` may be called as often as there are runs. `total` may grow: boundaries are discovered by
    running.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._said_percent = 0
        self._total = 0

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._bar = _new_bar(self._console)
            self._task = self._bar.add_task("exploring", total=None, violated="")
            self._bar.start()
        return self

    def update(self, done: int, total: int, violated: int = 0) -> None:
        """So many of so many runs are done, and so many violate a guarantee."""
        if self._bar is None or self._task is None:
            self._say(done, total, violated)
            return
        found = words.plural(violated, "violation") if violated else ""
        self._bar.update(self._task, completed=done, total=total, violated=found)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _say(self, done: int, total: int, violated: int) -> None:
        percent = 100 * done // total if total else 0
        if total != self._total:  # another round was planned: what was said of the smaller total no longer counts
            self._total, self._said_percent = total, percent // QUIET_STEP_PERCENT * QUIET_STEP_PERCENT
        if percent < self._said_percent + QUIET_STEP_PERCENT:
            return
        self._said_percent = percent
        _say(
            self._console,
            f"{percent} %: {done:,} of {words.plural(total, 'run')}, {words.plural(violated, 'violation')}",
        )


def _new_bar(console: Console) -> Bar:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[violated]}", style="bold red"),
        TimeElapsedColumn(),
    )
    return Bar(*columns, console=console, transient=True, refresh_per_second=5)
