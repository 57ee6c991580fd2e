"""`knownstate judge`: an old history, judged again. Needs no server, no rig and no candidate."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("judge", short_help="Judge a recorded history again.")
@click.argument("history", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="GUARANTEE", help="Only these guarantees (repeatable).")
@click.option("--events", is_flag=True, help="Print every event first.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def command(history: Path, only: tuple[str, ...], events: bool, as_json: bool) -> int:
    """Judge HISTORY (a history.jsonl, plain or gzip) by the guarantees of this version."""
    from harness.commands.replay_command import _print_json, exit_code, print_events, print_verdicts
    from harness.judge.judge import judge
    from harness.model.verdict import overall
    from harness.store.history_file import read, scenario_of, trace_hash

    recorded = read(history)
    scenario = scenario_of(recorded, str(history))
    verdicts = judge(recorded, scenario, only=only)
    if as_json:
        _print_json(recorded.header.schedule, overall(verdicts).value, verdicts, trace_hash(recorded))
    else:
        if events:
            print_events(recorded.events)
        print_verdicts(recorded, scenario, verdicts)
    return exit_code(overall(verdicts).value, "holds")
