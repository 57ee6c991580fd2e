"""`knownstate run`: a campaign on one scenario."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from harness.candidates.loading import REFERENCE


@click.command("run", short_help="Explore a scenario.")
@click.argument("scenario")
@click.option(
    "--candidate", "-c", default=REFERENCE, show_default=True, metavar="MODULE:FACTORY", help="The ledger under test."
)
@click.option(
    "--rig",
    type=click.Choice(["simulation", "process"]),
    default="simulation",
    show_default=True,
    help="Where runs happen.",
)
@click.option(
    "--seed", type=click.IntRange(0, 10**18 - 1), default=0, show_default=True, help="Seed of the business targets."
)
@click.option(
    "--cell", default="", metavar="KEY.LOOKUP.LATE", help="Give every provider this cell, e.g. ignored.eventual.late."
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only schedules in which BOUNDARY=FAULT matches (shell pattern; repeatable).",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out schedules that match (repeatable).")
@click.option("--max-schedules", type=click.IntRange(1), help="Stop after so many schedules.")
@click.option(
    "--max-time", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Begin no schedule after so long."
)
@click.option("--max-failures", type=click.IntRange(1), help="Stop after so many violating runs.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first violating run.")
@click.option("--shard", default="1/1", metavar="I/N", help="Run the I-th of N shares.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the results  [default: reports/SCENARIO-CANDIDATE]",
)
@click.option("--resume", is_flag=True, help="Go on with the campaign in --out: what is done is not done again.")
@click.option(
    "--report", "reports", multiple=True, metavar="FMT[=PATH]", help="Also write html, junit, md or json (repeatable)."
)
@click.option(
    "--expect", type=click.Choice(["holds", "violation"]), help="What success means, instead of what the scenario says."
)
@click.option("--tell", type=click.IntRange(0, 25), default=5, show_default=True, help="How many failures to tell in full here.")
@click.option("--dry-run", is_flag=True, help="Only say which schedules of the first round would run.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of text.")
def command(
    scenario: str,
    candidate: str,
    rig: str,
    seed: int,
    cell: str,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    max_schedules: int | None,
    max_time: float | None,
    max_failures: int | None,
    fail_fast: bool,
    shard: str,
    jobs: int,
    out: Path | None,
    resume: bool,
    reports: tuple[str, ...],
    expect: str | None,
    tell: int,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Explore SCENARIO (an id of `knownstate list scenarios`, or a file): every applicable fault at every boundary, those on recovery
    paths included, each run judged. A scenario with a pinned schedule makes that run only.

    The folder --out holds the result (result.json, report.html, junit.xml), all histories, and a bundle for each kind of failure.
    """
    from harness.bootstrap import cell_named, scenario_named
    from harness.campaign.options import Options

    named = scenario_named(scenario, seed, rig, expect or "")
    options = Options(
        out=out or default_folder(named.id, candidate, rig),
        seed=seed,
        only=only,
        exclude=exclude,
        max_schedules=max_schedules or 0,
        max_time_s=max_time or 0.0,
        max_failures=1 if fail_fast else max_failures or 0,
        shard=parse_shard(shard),
        jobs=jobs,
        cell=cell_named(cell),
        rig=rig,
        resume=resume,
    )
    formats = parse_reports(reports)
    if dry_run:
        return _dry_run(named, candidate, options, as_json)
    return _campaign(named, candidate, options, formats, tell, as_json)


def default_folder(scenario: str, candidate: str, rig: str) -> Path:
    """reports/SCENARIO-CANDIDATE, with the rig when it is not the simulation."""
    name = (
        candidate.replace("reference_ledger:factory", "reference")
        .replace("reference_ledger.twins:", "twin-")
        .replace(":", ".")
    )
    return Path("reports") / "-".join([scenario, name, *([rig] if rig != "simulation" else [])])


def parse_shard(text: str) -> tuple[int, int]:
    from harness.model.errors import UsageError

    index, separator, count = text.partition("/")
    if not separator or not index.isdigit() or not count.isdigit():
        raise UsageError(f"{text!r} is not a shard.", where="--shard", next_step="Give i/n, for instance --shard 2/4.")
    return int(index), int(count)


def parse_reports(reports: tuple[str, ...]) -> list[tuple[str, Path | None]]:
    from harness.model.errors import UsageError
    from harness.report import RENDERERS

    parsed: list[tuple[str, Path | None]] = []
    for text in reports:
        name, separator, path = text.partition("=")
        if name not in RENDERERS:
            raise UsageError(
                f"There is no report format {name!r}; the formats are {', '.join(RENDERERS)}.",
                where="--report",
                next_step="For instance --report junit=out/junit.xml.",
            )
        parsed.append((name, Path(path) if separator and path else None))
    return parsed


def _dry_run(scenario: object, candidate: str, options: object, as_json: bool) -> int:
    from harness.campaign.options import Options
    from harness.campaign.runner import plan_only
    from harness.model.workflow import Scenario

    assert isinstance(scenario, Scenario), "made by the caller"
    assert isinstance(options, Options), "the same"
    planned, boundaries = plan_only(scenario, candidate, options)
    if as_json:
        import json

        click.echo(json.dumps({"boundaries": boundaries, "schedules": [str(p.schedule) for p in planned]}, indent=1))
    else:
        click.echo(
            f"{scenario.id}: {boundaries} boundaries without a fault, {len(planned)} schedules in the first round."
        )
        click.echo("The second round, boundaries on recovery paths, is known only when the first has run.")
        for p in planned:
            click.echo(f"  {p.schedule}")
    return 0 if planned else 5


def _campaign(
    scenario: object, candidate: str, options: object, formats: list[tuple[str, Path | None]], tell: int, as_json: bool
) -> int:
    from rich.console import Console

    from harness.campaign.options import Options
    from harness.campaign.outputs import write_outputs
    from harness.campaign.runner import Campaign
    from harness.model.workflow import Scenario
    from harness.report.console import Progress, print_result

    assert isinstance(scenario, Scenario), "made by the caller"
    assert isinstance(options, Options), "the same"
    console = Console(stderr=as_json, soft_wrap=False)
    command_line = shlex.join(["knownstate", *sys.argv[1:]])
    campaign = Campaign(
        scenario, candidate, options, command_line, say=lambda text: console.print(text, markup=False, highlight=False)
    )
    with Progress(console) as progress:
        result = campaign.run(progress.update)
    written = write_outputs(result, options.out, formats)
    if as_json:
        from harness.report.json import to_json

        click.echo(to_json(result).decode())
        return result.exit_code
    print_result(result, console=console, tell=tell)
    for name, path in written:
        console.print(f"{name:>8}: {path}", markup=False, highlight=False, soft_wrap=True)
    return result.exit_code
