"""`knownstate judge`: old histories, judged again. Needs no server, no rig and no candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.model.errors import UsageError
    from harness.model.event import History
    from harness.model.verdict import Verdict
    from harness.model.workflow import Scenario

Judged = tuple["History", "Scenario", "tuple[Verdict, ...]"]


@click.command("judge", short_help="Judge recorded histories again.")
@click.argument("history", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="GUARANTEE", help="Only these guarantees (repeatable).")
@click.option("--events", is_flag=True, help="Print every event first (of a single run).")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the verdicts as JSON: an object, or a list for several runs."
)
def command(history: Path, only: tuple[str, ...], events: bool, as_json: bool) -> int:
    """Judge HISTORY by the guarantees of this version: a history.jsonl (plain or gzip), a histories/part-N.jsonl.gz, or the folder of a
    campaign with all its runs.
    """
    from harness.commands.verdicts import as_plain, exit_code, print_json, print_verdicts
    from harness.model.verdict import overall

    judged, damage = _judged(history, only)
    if len(judged) > 1 and as_json:
        import json

        click.echo(json.dumps([as_plain(recorded, verdicts) for recorded, _, verdicts in judged], indent=1))
    elif len(judged) > 1:
        _print_many(judged)
    else:
        recorded, scenario, verdicts = judged[0]
        if as_json:
            print_json(recorded, verdicts)
        else:
            print_verdicts(recorded, scenario, verdicts, events=events)
    if damage is not None:
        raise damage
    return exit_code(overall(tuple(v for _, _, verdicts in judged for v in verdicts)))


def _judged(path: Path, only: tuple[str, ...]) -> tuple[list[Judged], UsageError | None]:
    """What can be judged, and what is wrong with the rest: a campaign that was killed may have left half a history."""
    from harness.model.errors import UsageError

    judged: list[Judged] = []
    try:
        judged += (run for file in _files(path) for run in _judged_in(file, only))
    except UsageError as error:
        if not judged:
            raise
        return judged, error
    return judged, None


def _judged_in(file: Path, only: tuple[str, ...]) -> Iterator[Judged]:
    from harness.judge.judge import judge
    from harness.store.history_file import read_all, scenario_of

    for recorded in read_all(file):
        scenario = scenario_of(recorded, str(file))
        yield recorded, scenario, judge(recorded, scenario, only=only)


def _files(path: Path) -> list[Path]:
    from harness.model.errors import UsageError

    if not path.is_dir():
        return [path]
    found = sorted(path.glob("histories/part-*.jsonl.gz")) or sorted(path.glob("history.jsonl"))
    if not found:
        raise UsageError(
            f"There are no histories in {path}.",
            where=str(path),
            next_step="Give the folder of a campaign, one under failures/, or a file.",
        )
    return found


def _print_many(judged: list[Judged]) -> None:
    from harness.commands.verdicts import COLOURS
    from harness.model.verdict import Outcome, overall

    counts: Counter[Outcome] = Counter()
    for recorded, _, verdicts in judged:
        outcome = overall(verdicts)
        counts[outcome] += 1
        if outcome is not Outcome.HOLDS:
            broken = ", ".join(v.guarantee for v in verdicts if v.outcome is outcome)
            click.secho(f"{outcome.value.upper()}: {broken}", fg=COLOURS[outcome])
            click.echo(f"  {recorded.header.schedule}")
    said = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome])
    click.echo(f"{len(judged)} runs: {said}")
