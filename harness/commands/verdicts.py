"""How `replay` and `judge` say what became of one run."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from harness.model.event import Event, History
from harness.model.verdict import Outcome, Verdict, overall
from harness.model.workflow import Expectation, Scenario

COLOURS = {Outcome.HOLDS: "green", Outcome.VIOLATED: "red", Outcome.UNKNOWN: "yellow"}


def exit_code(outcome: Outcome, expected: Expectation = Expectation.HOLDS) -> int:
    """As DESIGN section 7; an expected violation is a success."""
    if expected is Expectation.VIOLATION and outcome is not Outcome.UNKNOWN:
        return 0 if outcome is Outcome.VIOLATED else 1
    return {Outcome.HOLDS: 0, Outcome.VIOLATED: 1, Outcome.UNKNOWN: 3}[outcome]


def print_verdicts(
    history: History, scenario: Scenario, verdicts: tuple[Verdict, ...], *, events: bool = False
) -> None:
    """The outcome, what is not `holds` with its explanation, and the story of a failing run; all events first if asked for."""
    from harness.judge.telling import most_telling_first
    from harness.report.story import story

    verdicts = most_telling_first(verdicts)
    if events:
        _print_events(history.events)
    outcome = overall(verdicts)
    bad = [v for v in verdicts if v.outcome is not Outcome.HOLDS]
    said = f"{outcome.value.upper()}: {len(verdicts) - len(bad)} of {len(verdicts)} guarantees hold"
    click.secho(said, fg=COLOURS[outcome])
    for verdict in bad:
        click.echo(f"  {verdict.guarantee} is {verdict.outcome.value}:")
        for line in verdict.explanation.splitlines():
            click.echo(f"    {line}")
    if bad:
        click.echo("\n".join(["", *story(history, scenario, verdicts), ""]))


def _print_events(events: Sequence[Event]) -> None:
    for event in events:
        click.echo(f"{event.index:5} {event.time_ns / 1e9:12.6f}s {event.actor:10} {event.kind:18} {event.where}")
        if event.data:
            click.echo(f"{'':22}{json.dumps(dict(event.data), sort_keys=True, default=list)}")


def print_json(history: History, verdicts: tuple[Verdict, ...]) -> None:
    """Schedule, outcome, every verdict and the trace hash."""
    click.echo(json.dumps(as_plain(history, verdicts), indent=1))


def as_plain(history: History, verdicts: tuple[Verdict, ...]) -> dict[str, object]:
    """The same as a value."""
    from harness.model.plain import to_plain
    from harness.store.history_file import trace_hash

    return {
        "schedule": history.header.schedule,
        "outcome": overall(verdicts).value,
        "verdicts": [to_plain(v) for v in verdicts],
        "trace": trace_hash(history),
    }
