"""`knownstate selftest`: proves that the alarm rings."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.selftest.hunt import Hunt
    from harness.selftest.run import SoundRow, TwinRow
    from reference_ledger.twins.registry import Twin

_NAME, _GUARANTEE, _MARK = 34, 28, 6
"""Widths: a row fits 80 columns."""


@click.command("selftest", short_help="Prove that the alarm rings.")
@click.option(
    "--full",
    is_flag=True,
    help="Hunt every twin in every provider cell, and sweep the sound ledger in all of them (minutes).",
)
@click.option("--only", multiple=True, metavar="TWIN", help="Only these twins, without the sound ledger (repeatable).")
@click.option("--update", is_flag=True, help="With --full: write what was found as the new pins.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes for --full.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON, with --full the hunts too.")
def command(full: bool, only: tuple[str, ...], update: bool, jobs: int, as_json: bool) -> int:
    """Run every broken twin on its pinned schedule and sweep the sound ledger. Fails (1) if a twin survives, if it is convicted for
    another reason than its planted bug, or if the sound ledger is accused.

    reached: the planted line ran. triggered: the bad state is in the world. detected: the judge said so.

    With --full --json, each hunt says what the first detection cost: schedules explored, and milliseconds.
    """
    from harness.model.errors import UsageError
    from harness.selftest.pins import pins, save
    from harness.selftest.run import check_sound, check_twin, pin_of, surprises, twins_named

    if update and not full:
        next_step = "Run `knownstate selftest --full --update`."
        raise UsageError("--update needs --full.", where="selftest", next_step=next_step)
    chosen = twins_named(only)
    found = _hunts(chosen, jobs) if full else {}
    if update:
        save(pin_of(hunts) for hunts in found.values())
    known = pins()
    wrong = surprises(found, known)
    if not as_json:
        _print_head()
    twins = []
    for twin in chosen:
        twins.append(check_twin(twin, known.get(twin.name)))
        if not as_json:
            _print_twin(twins[-1])
    sound = [] if only else list(check_sound(full))
    wrong += [f"{row.twin}: {row.surprise}" for row in twins if row.surprise]
    wrong += [f"the sound ledger is accused: {row.accused}" for row in sound if row.accused]
    if as_json:
        _print_json(twins, sound, [h for hunts in found.values() for h in hunts], wrong)
    else:
        _print_end(twins, sound, wrong)
    return 1 if wrong else 0


def _hunts(twins: Collection[Twin], jobs: int) -> dict[str, list[Hunt]]:
    from harness.selftest.run import hunt_everywhere

    found: dict[str, list[Hunt]] = {}
    for name, hunt in hunt_everywhere(twins, jobs):
        found.setdefault(name, []).append(hunt)
        what = hunt.violated[0] if hunt.violated else "masked"
        cost = f"{hunt.explored} schedules, {hunt.milliseconds:,.0f} ms"
        click.echo(f"{name} in {hunt.cell or 'its own cells'}: {what} ({cost})", err=True)
    return found


def _print_head() -> None:
    click.echo(f"{'twin':{_NAME}}{'guarantee':{_GUARANTEE}}  reached")
    click.echo(f"{'':{_NAME}}{'':{_GUARANTEE}}    triggered")
    click.echo(f"{'':{_NAME}}{'':{_GUARANTEE}}        detected")


def _print_twin(row: TwinRow) -> None:
    marks = "".join(f"{'yes' if value else 'NO':>{_MARK}}" for value in (row.reached, row.triggered, row.detected))
    click.echo(f"{row.twin:{_NAME}}{row.guarantee:{_GUARANTEE}}{marks}")


def _print_end(twins: list[TwinRow], sound: list[SoundRow], wrong: list[str]) -> None:
    if sound:
        runs, accused = sum(row.runs for row in sound), sum(bool(row.accused) for row in sound)
        scenarios = len({row.scenario for row in sound})
        click.echo(f"\nThe sound ledger: {runs:,} runs on {scenarios} scenarios, accused in {accused}.")
    caught = sum(row.detected and not row.surprise for row in twins)
    click.secho(f"{caught} of {len(twins)} twins are caught.", fg="red" if wrong else "green")
    for text in wrong:
        click.secho(f"surprise: {text}", fg="red")


def _print_json(twins: list[TwinRow], sound: list[SoundRow], hunts: list[Hunt], wrong: list[str]) -> None:
    import dataclasses
    import json

    tables = {
        "twins": [dataclasses.asdict(row) for row in twins],
        "sound": [dataclasses.asdict(row) for row in sound],
        "hunts": [dataclasses.asdict(row) for row in hunts],
        "surprises": wrong,
    }
    click.echo(json.dumps(tables, indent=1))
