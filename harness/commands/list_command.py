"""`knownstate list`: the catalogues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from harness.candidates.loading import REFERENCE

KINDS = ("scenarios", "faults", "boundaries", "guarantees", "twins")


@click.command("list", short_help="Show scenarios, faults, boundaries, guarantees or twins.")
@click.argument("what", type=click.Choice(KINDS))
@click.argument("scenario", required=False)
@click.option(
    "--candidate",
    "-c",
    default=REFERENCE,
    show_default=True,
    metavar="MODULE:FACTORY",
    help="For boundaries: whose run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(what: str, scenario: str | None, candidate: str, as_json: bool) -> int:
    """Show a catalogue. `list boundaries SCENARIO` runs the scenario once without faults and shows what it crosses, with the faults
    that apply at each boundary (default: onboarding).
    """
    if scenario is not None and what != "boundaries":
        raise click.UsageError(f"`list {what}` shows all of them: leave out {scenario!r}.")
    rows = _boundaries(scenario or "onboarding", candidate) if what == "boundaries" else _CATALOGUES[what]()
    if as_json:
        import json

        click.echo(json.dumps(rows, indent=1))
        return 0
    _print(what, rows)
    return 0


def _print(what: str, rows: list[dict[str, Any]]) -> None:
    import textwrap

    width = min(_columns(), 110)
    for row in rows:
        name, text = str(row[_FIRST[what]]), _TEXTS[what](row)
        click.secho(name, bold=True)
        for line in textwrap.wrap(text, max(40, width - 4)):
            click.echo(f"    {line}")


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def _scenarios() -> list[dict[str, Any]]:
    from harness.scenario_files.loader import load, shipped

    rows = []
    for path in shipped():
        s = load(path)
        rows.append(
            {
                "id": s.id,
                "kind": s.kind.value,
                "title": s.title,
                "rigs": list(s.rigs),
                "operations": len(s.workflow.operations),
                "why": " ".join(s.why.split()),
                "source": s.source,
                "schedule": s.schedule,
                "expect": s.expect.value,
            }
        )
    return rows


def _faults() -> list[dict[str, Any]]:
    from harness.model.fault import FAULTS

    return [
        {
            "fault": f.fault.value,
            "family": f.family.value,
            "certainty": f.certainty.value if f.certainty else "none",
            "statement": f.statement,
            "phases": [p.value for p in f.phases],
            "purposes": [p.value for p in f.purposes],
            "condition": f.condition,
            "survivable": f.survivable,
            "rigs": list(f.rigs),
        }
        for f in FAULTS.values()
    ]


def _guarantees() -> list[dict[str, Any]]:
    from harness.judge.judge import GUARANTEES

    return [{"id": g.id, "level": g.level, "statement": g.statement, "source": g.source} for g in GUARANTEES.values()]


def _twins() -> list[dict[str, Any]]:
    from harness.selftest.pins import pins
    from reference_ledger.twins.registry import TWINS

    known = pins()
    rows = []
    for name, twin in TWINS.items():
        pin = known.get(name)
        rows.append(
            {
                "twin": name,
                "candidate": f"reference_ledger.twins:{name}",
                "bug": twin.statement,
                "guarantee": pin.guarantee if pin else "",
                "schedule": pin.schedule if pin else "",
                "masked": list(pin.masked) if pin else [],
            }
        )
    return rows


def _boundaries(name: str, candidate: str) -> list[dict[str, Any]]:
    from harness.bootstrap import bench_for, scenario_named
    from harness.explore.singles import Singles
    from harness.model.schedule import Schedule

    scenario = scenario_named(name, None)
    base = Schedule(scenario.id, scenario.seed)
    bench = bench_for(scenario, base, candidate, "simulation")
    try:
        sites = bench.rig.run(base).sites
        singles = Singles(scenario, bench.rig.cells, base, bench.abilities)
    finally:
        bench.close()
    return [
        {"boundary": path, "provider": facts[2], "faults": [f.value for f in singles.faults_at(facts)]}
        for path, facts in sites.items()
    ]


_CATALOGUES: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "scenarios": _scenarios,
    "faults": _faults,
    "guarantees": _guarantees,
    "twins": _twins,
}
_FIRST = {"scenarios": "id", "faults": "fault", "boundaries": "boundary", "guarantees": "id", "twins": "twin"}
_TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "scenarios": lambda r: f"[{r['kind']}; {', '.join(r['rigs'])}] {r['title']}.",
    "faults": lambda r: (
        f"[{r['family']}; leaves the caller {r['certainty']}; {', '.join(r['rigs']) or 'no rig yet'}] {r['statement']}"
    ),
    "boundaries": lambda r: ", ".join(r["faults"]) or "no fault applies",
    "guarantees": lambda r: f"[from L{r['level']}] {r['statement']}",
    "twins": lambda r: (
        f"{r['bug']} Breaks {r['guarantee']}: knownstate replay {r['schedule']} -c {r['candidate']}"
        if r["schedule"]
        else f"{r['bug']} Not pinned yet."
    ),
}
