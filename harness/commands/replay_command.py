"""`knownstate replay`: one run again, from a schedule line, a scenario file, a history or a failure bundle."""

from __future__ import annotations

from pathlib import Path

import click

from harness.candidates.loading import REFERENCE


@click.command("replay", short_help="Make one run again.")
@click.argument("what")
@click.option(
    "--candidate",
    "-c",
    metavar="MODULE:FACTORY",
    help=f"The ledger under test  [default: the history's, or {REFERENCE}]",
)
@click.option(
    "--scenario", default="", metavar="ID|FILE", help="The scenario of the line, when it is not a shipped one."
)
@click.option(
    "--rig",
    type=click.Choice(["simulation", "process"]),
    help="Where it runs  [default: as the history, or simulation]",
)
@click.option("--events", is_flag=True, help="Print every event of the run.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the history to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print verdicts and trace hash as JSON.")
def command(
    what: str, candidate: str | None, scenario: str, rig: str | None, events: bool, out: Path | None, as_json: bool
) -> int:
    """Make the run WHAT again: a schedule line, a scenario file that pins one, a history.jsonl, or a bundle under failures/.

    Equal lines give equal runs, byte for byte (on the simulation rig). Exit code 1 when a guarantee is violated; when a scenario file
    says `expect: violation`, 0 when it is violated as expected.
    """
    from harness.bootstrap import bench_for, replayable
    from harness.commands.verdicts import exit_code, print_json, print_verdicts
    from harness.judge.judge import judge
    from harness.model.verdict import overall
    from harness.store.history_file import encode, hash_of

    found = replayable(what, scenario)
    bench = bench_for(
        found.scenario, found.schedule, candidate or found.candidate or REFERENCE, rig or found.rig or "simulation"
    )
    try:
        history = bench.rig.run(found.schedule).history
    finally:
        bench.close()
    data = encode(history)
    if out is not None:
        from harness.store.atomic import write_whole

        write_whole(out, data)
    verdicts = judge(history, found.scenario)
    if as_json:
        print_json(history, verdicts)
    else:
        print_verdicts(history, found.scenario, verdicts, events=events)
        click.echo(f"trace {hash_of(data)}, {len(history.events)} events")
    return exit_code(overall(verdicts), found.expect)
