"""`knownstate run`: a campaign on one scenario."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.candidates.loading import REFERENCE

if TYPE_CHECKING:
    from rich.console import Console

    from harness.campaign.options import Options
    from harness.model.result import CampaignResult
    from harness.model.workflow import Scenario

DEPTHS = {"singles": 1, "pairs": 2, "triples": 3}
"""Strategy -> how many faults a run may have."""


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
    "--seed",
    type=click.IntRange(0, 10**18 - 1),
    help="Seed of the business targets  [default: that of a pinned schedule, or 0]",
)
@click.option(
    "--cell", default="", metavar="KEY.LOOKUP.LATE", help="Give every provider this cell, e.g. ignored.eventual.late."
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Report only schedules in which BOUNDARY=FAULT matches (shell pattern or part of it; repeatable).",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Never run schedules that match (repeatable).")
@click.option(
    "--skip-recovery-paths",
    is_flag=True,
    help="Only boundaries of the sound path. With --only or --shard, nothing else is run then.",
)
@click.option(
    "--explore",
    type=click.Choice(list(DEPTHS)),
    default="singles",
    show_default=True,
    help="How far: every fault, every ordered pair of faults, every triple.",
)
@click.option("--faults", type=click.IntRange(1), metavar="M", help="So many faults in a run, instead of --explore.")
@click.option(
    "--reduce",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Pairs and deeper: only faults within one operation, and 2 % of the others as an audit (auto: when there are many).",
)
@click.option("--max-schedules", type=click.IntRange(1), help="Stop after so many schedules.")
@click.option(
    "--max-time", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Begin no schedule after so long."
)
@click.option(
    "--run-limit",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Cut a simulated run that takes longer (it is then unknown); 0: never.",
)
@click.option("--max-failures", type=click.IntRange(1), help="Stop after so many violating runs.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first violating run.")
@click.option(
    "--shard",
    default="1/1",
    metavar="I/N",
    help="Report the I-th of N shares. Together they are the whole; each runs the first round, which finds recovery paths.",
)
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
@click.option(
    "--tell", type=click.IntRange(0, 25), default=5, show_default=True, help="How many failures to tell in full here."
)
@click.option("--dry-run", is_flag=True, help="Only say which schedules of the first round would run.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of text.")
@click.pass_obj
def command(
    arguments: list[str],
    scenario: str,
    candidate: str,
    rig: str,
    seed: int | None,
    cell: str,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    skip_recovery_paths: bool,
    explore: str,
    faults: int | None,
    reduce: str,
    max_schedules: int | None,
    max_time: float | None,
    run_limit: float,
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
    A campaign that is cut short without a violation is inconclusive (3), never a pass.
    """
    from harness.bootstrap import base_of, scenario_named
    from harness.campaign.options import Options

    named = scenario_named(scenario, seed, rig, expect or "")
    base = base_of(named, seed, cell)
    options = Options(
        out=out or default_folder(named.id, candidate, rig),
        seed=base.seed,
        only=only,
        exclude=exclude,
        max_schedules=max_schedules or 0,
        max_time_s=max_time or 0.0,
        run_max_s=run_limit,
        max_failures=1 if fail_fast else max_failures or 0,
        shard=parse_shard(shard),
        jobs=jobs,
        cell=base.cell,
        rig=rig,
        resume=resume,
        skip_recovery_paths=skip_recovery_paths,
        faults=faults or DEPTHS[explore],
        reduce=reduce,
    )
    if dry_run:
        return _dry_run(named, candidate, options, as_json)
    return _campaign(named, candidate, options, shlex.join(["knownstate", *arguments]), reports, tell, as_json)


def default_folder(scenario: str, candidate: str, rig: str) -> Path:
    """reports/SCENARIO-CANDIDATE, with the rig when it is not the simulation."""
    name = (
        candidate.replace("reference_ledger:factory", "reference")
        .replace("reference_ledger.twins:", "twin-")
        .replace(":", ".")
        .replace("/", ".")
    )
    return Path("reports") / "-".join([scenario, name, *([rig] if rig != "simulation" else [])])


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4` as (2, 4). Raises UsageError."""
    from harness.model.errors import UsageError

    found = re.fullmatch(r"([0-9]{1,5})/([0-9]{1,5})", text)
    if found is None:
        raise UsageError(f"{text!r} is not a shard.", where="--shard", next_step="Give i/n, for instance --shard 2/4.")
    return int(found[1]), int(found[2])


def _dry_run(scenario: Scenario, candidate: str, options: Options, as_json: bool) -> int:
    from tempfile import TemporaryDirectory

    from harness.campaign.runner import plan_only

    with TemporaryDirectory() as state:
        planned, boundaries = plan_only(scenario, candidate, options, Path(state))
    if as_json:
        import json

        click.echo(json.dumps({"boundaries": boundaries, "schedules": [str(p.schedule) for p in planned]}, indent=1))
        return 0 if planned else 5
    if scenario.schedule:
        click.echo(f"{scenario.id}: the pinned schedule.")
    else:
        click.echo(
            f"{scenario.id}: {boundaries} boundaries without a fault, {len(planned)} schedules in the first round."
        )
        click.echo("The second round, boundaries on recovery paths, is known only when the first has run.")
    for p in planned:
        click.echo(f"  {p.schedule}")
    return 0 if planned else 5


def _campaign(
    scenario: Scenario,
    candidate: str,
    options: Options,
    command_line: str,
    reports: tuple[str, ...],
    tell: int,
    as_json: bool,
) -> int:
    from rich.console import Console

    from harness.campaign.interrupt import Interrupt
    from harness.campaign.outputs import parse_reports, write_outputs
    from harness.campaign.runner import Campaign
    from harness.report.console import Progress

    console = Console(stderr=as_json, soft_wrap=False)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    formats = parse_reports(reports)
    with Interrupt() as interrupt:
        campaign = Campaign(scenario, candidate, options, command_line, say, interrupt)
        with Progress(console) as progress:
            result = campaign.run(progress.update)
        written = write_outputs(result, options.out, formats)
    if as_json:
        from harness.report.json import to_json

        click.echo(to_json(result).decode())
    else:
        _print(result, console, written, tell)
    if result.ended == "interrupted":
        _say_interrupted(result, command_line)
    return result.exit_code


def _print(result: CampaignResult, console: Console, written: list[tuple[str, Path]], tell: int) -> None:
    from harness.report.console import print_result

    print_result(result, console=console, tell=tell)
    for name, path in written:
        console.print(f"{name:>8}: {path}", markup=False, highlight=False, soft_wrap=True)


def _say_interrupted(result: CampaignResult, command_line: str) -> None:
    cover = result.coverage
    again = command_line if "--resume" in command_line else f"{command_line} --resume"
    click.echo(
        f"knownstate: Interrupted. What was done, {cover.explored} of {cover.total} schedules known so far, is kept."
        f" Where: {result.out}. Next: go on with `{again}`.",
        err=True,
    )
