"""`knownstate replay`: one run again, from a schedule line, a scenario file, a history or a failure bundle."""

from __future__ import annotations

from pathlib import Path

import click

from harness.candidates.loading import REFERENCE


@click.command("replay", short_help="Make one run again.")
@click.argument("what")
@click.option(
    "--candidate", "-c", default=REFERENCE, show_default=True, metavar="MODULE:FACTORY", help="The ledger under test."
)
@click.option(
    "--scenario", default="", metavar="ID|FILE", help="The scenario of the line, when it is not a shipped one."
)
@click.option(
    "--rig",
    type=click.Choice(["simulation", "process"]),
    default="simulation",
    show_default=True,
    help="Where it runs.",
)
@click.option("--events", is_flag=True, help="Print every event of the run.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the history to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print verdicts and trace hash as JSON.")
def command(what: str, candidate: str, scenario: str, rig: str, events: bool, out: Path | None, as_json: bool) -> int:
    """Make the run WHAT again: a schedule line, a scenario file that pins one, a history.jsonl, or a bundle under failures/.

    Equal lines give equal runs, byte for byte (on the simulation rig). Exit code 1 when a guarantee is violated; when a scenario file
    says `expect: violation`, 0 when it is violated as expected.
    """
    from harness.bootstrap import bench_for, schedule_and_scenario
    from harness.campaign.bench import hash_of
    from harness.judge.judge import judge
    from harness.model.verdict import overall
    from harness.store.history_file import encode

    schedule, resolved, pinned = schedule_and_scenario(what, scenario)
    bench = bench_for(resolved, schedule, candidate, rig)
    try:
        history = bench.rig.run(schedule).history
    finally:
        bench.close()
    data = encode(history)
    if out is not None:
        from harness.store.atomic import write_whole

        write_whole(out, data)
    verdicts = judge(history, resolved)
    if as_json:
        _print_json(str(schedule), overall(verdicts).value, verdicts, hash_of(data))
    else:
        if events:
            print_events(history.events)
        print_verdicts(history, resolved, verdicts)
        click.echo(f"trace {hash_of(data)}, {len(history.events)} events")
    return exit_code(overall(verdicts).value, resolved.expect.value if pinned else "holds")


def exit_code(outcome: str, expected: str) -> int:
    """As DESIGN section 7; an expected violation is a success."""
    if expected == "violation" and outcome != "unknown":
        return 0 if outcome == "violated" else 1
    return {"holds": 0, "violated": 1, "unknown": 3}[outcome]


def print_events(events: object) -> None:
    import json

    for event in events:  # type: ignore[attr-defined]  # a sequence of events; the type is not worth an import here
        click.echo(f"{event.index:5} {event.time_ns / 1e9:12.6f}s {event.actor:10} {event.kind:18} {event.where}")
        if event.data:
            click.echo(f"{'':22}{json.dumps(dict(event.data), sort_keys=True, default=list)}")


def print_verdicts(history: object, scenario: object, verdicts: object) -> None:
    """The outcome, what is not `holds` with its explanation, and the story of a failing run."""
    from harness.model.event import History
    from harness.model.verdict import Outcome, Verdict, overall
    from harness.model.workflow import Scenario
    from harness.report.story import story

    assert isinstance(history, History), "made by the caller"
    assert isinstance(scenario, Scenario), "the same"
    assert isinstance(verdicts, tuple), "the same"
    outcome = overall(verdicts)
    bad: list[Verdict] = [v for v in verdicts if v.outcome is not Outcome.HOLDS]
    click.secho(
        f"{outcome.value.upper()}: {len(verdicts) - len(bad)} of {len(verdicts)} guarantees hold",
        fg=_colour(outcome.value),
    )
    for verdict in bad:
        click.echo(f"  {verdict.guarantee} is {verdict.outcome.value}:")
        for line in verdict.explanation.splitlines():
            click.echo(f"    {line}")
    if bad:
        click.echo("")
        for line in story(history, scenario, verdicts):
            click.echo(line)
        click.echo("")


def _colour(outcome: str) -> str:
    return {"holds": "green", "violated": "red"}.get(outcome, "yellow")


def _print_json(schedule: str, outcome: str, verdicts: object, trace: str) -> None:
    import json

    from harness.campaign.bench import plain_verdict

    rows = [plain_verdict(v) for v in verdicts]  # type: ignore[attr-defined]  # a tuple of verdicts
    click.echo(json.dumps({"schedule": schedule, "outcome": outcome, "verdicts": rows, "trace": trace}, indent=1))
