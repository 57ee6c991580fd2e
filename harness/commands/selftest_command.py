"""`knownstate selftest`: proves that the alarm rings."""

from __future__ import annotations

import click


@click.command("selftest", short_help="Prove that the alarm rings.")
@click.option(
    "--full",
    is_flag=True,
    help="Hunt every twin in every provider cell, and sweep the sound ledger in all of them (minutes).",
)
@click.option("--update", is_flag=True, help="With --full: write what was found as the new pins.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes for --full.")
@click.option("--json", "as_json", is_flag=True, help="Print the tables as JSON.")
def command(full: bool, update: bool, jobs: int, as_json: bool) -> int:
    """Run every broken twin on its pinned schedule and sweep the sound ledger. Fails (1) if a twin survives, if it is convicted for
    another reason than its planted bug, or if the sound ledger is accused.

    reached: the planted line ran. triggered: the bad state is in the world. detected: the judge said so.
    """
    from harness.model.errors import UsageError
    from harness.selftest.run import check_sound, check_twins, hunt_everywhere, pin_of, surprises

    if update and not full:
        raise UsageError(
            "--update needs --full.", where="selftest", next_step="Run `knownstate selftest --full --update`."
        )
    wrong: list[str] = []
    if full:
        found = hunt_everywhere(jobs, lambda text: click.echo(text, err=True))
        if update:
            from harness.selftest.pins import save

            save([pin_of(hunts) for hunts in found.values()])
        wrong += surprises(found)
    twins = list(check_twins())
    sound = list(check_sound(full))
    wrong += [f"{row.twin}: {row.surprise}" for row in twins if row.surprise]
    wrong += [f"the sound ledger is accused: {row.accused}" for row in sound if row.accused]
    if as_json:
        import dataclasses
        import json

        tables = {
            "twins": [dataclasses.asdict(r) for r in twins],
            "sound": [dataclasses.asdict(r) for r in sound],
            "surprises": wrong,
        }
        click.echo(json.dumps(tables, indent=1))
    else:
        _print(twins, sound, wrong)
    return 1 if wrong else 0


def _print(twins: list, sound: list, wrong: list[str]) -> None:  # type: ignore[type-arg]  # rows of harness.selftest.run, imported late
    click.echo(f"{'twin':35}{'guarantee':27}reached triggered detected")
    for row in twins:
        marks = "  ".join(f"{'yes' if value else 'NO':>7}" for value in (row.reached, row.triggered, row.detected))
        click.echo(f"{row.twin:35}{row.guarantee:27}{marks}")
    runs = sum(row.runs for row in sound)
    accused = sum(bool(row.accused) for row in sound)
    click.echo(
        f"\nThe sound ledger: {runs:,} runs on {len({r.scenario for r in sound})} scenarios, accused in {accused}."
    )
    caught = sum(row.detected and not row.surprise for row in twins)
    click.secho(f"{caught} of {len(twins)} twins are caught.", fg="red" if wrong else "green")
    for text in wrong:
        click.secho(f"surprise: {text}", fg="red")
