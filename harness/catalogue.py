"""The parts of the papers that are drawn from tables in the code, and the check that they are fresh.

    python -m harness.catalogue --check     exit 1 and the names of the stale parts
    python -m harness.catalogue --write     draw them again

A page carries `<!-- catalogue:NAME -->`, the drawn part, `<!-- /catalogue -->`; NAME is a key of `BLOCKS`. What stands between the two
is never edited by hand. Here: one small function per part, table in, Markdown out. Never here: a fact that is not in a table already.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from harness.model.cell import KEY_TTL_NS, SECOND_NS, Cell
from harness.model.errors import UsageError
from harness.model.wire import ProviderTraits, Reply

if TYPE_CHECKING:
    from reference_ledger.records import Flow, Record

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/*.md")
_BLOCK = re.compile(
    r"(?P<open>^<!-- catalogue:(?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<close>^<!-- /catalogue -->$)",
    re.DOTALL | re.MULTILINE,
)
_MARKER = re.compile(r"^<!-- /?catalogue.*-->$", re.MULTILINE)


# -- Markdown -----------------------------------------------------------------------------------------------------------------


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table. A bar within a cell is escaped, a line break becomes a space."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(names: Iterable[str]) -> str:
    """Names as code, with commas; a dash when there is none."""
    return ", ".join(f"`{name}`" for name in names) or "-"


# -- faults, guarantees, errors -----------------------------------------------------------------------------------------------


def faults() -> str:
    from harness.model.fault import FAULTS

    rows = [
        (f"`{f.fault}`", f.family, f.statement, f.certainty or "-", code(f.phases), code(f.rigs))
        for f in FAULTS.values()
    ]
    return table(("fault", "family", "what happens", "the caller's doubt", "strikes at", "rigs"), _short(rows))


def _short(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Ten phases in a cell make a table unreadable: `everywhere` says the same."""
    from harness.model.boundary import Phase

    everywhere = code(Phase)
    for row in rows:
        yield tuple("everywhere" if cell == everywhere else cell for cell in row)


def faults_why() -> str:
    from harness.model.fault import FAULTS

    rows = [(f"`{f.fault}`", code(f.purposes), f.condition if f.phases else "-", f.survivable) for f in FAULTS.values()]
    return table(("fault", "calls it fits", "only if", "why a sound ledger survives it"), rows)


def guarantees() -> str:
    from harness.judge.judge import GUARANTEES

    rows = [(f"`{g.id}`", f"L{g.level}", g.statement, g.source) for g in GUARANTEES.values()]
    return table(("guarantee", "from", "statement", "source"), rows)


def errors() -> str:
    from harness.model.errors import ERRORS

    rows = [(f"`{e.code}`", str(e.status or "no answer"), e.certainty, e.statement) for e in ERRORS.values()]
    return table(("code", "status", "its outcome is", "what may be concluded"), rows)


# -- scenarios, twins, commands -----------------------------------------------------------------------------------------------


def scenarios() -> str:
    from harness.scenario_files.loader import load, shipped

    rows = []
    for scenario in map(load, shipped()):
        explored = "pinned" if scenario.schedule else "all" if not scenario.faults else code(sorted(scenario.faults))
        rows.append((f"`{scenario.id}`", scenario.kind.value, scenario.title, explored, code(scenario.rigs)))
    return table(("scenario", "kind", "title", "faults", "rigs"), rows)


def twins() -> str:
    """Every twin, pinned or not: a pin says what a hunt found, and there may not have been one yet."""
    from harness.selftest.pins import pins
    from reference_ledger.twins.registry import TWINS

    known = pins()
    was_hunted = any(pin.masked for pin in known.values())
    rows = []
    for name, twin in TWINS.items():
        pin = known.get(name)
        found = (f"`{pin.guarantee}`", f"`{pin.schedule}`") if pin else ("not hunted yet", "-")
        rows.append(
            (f"`{name}`", twin.statement, *found, masked(pin.masked) if pin and was_hunted else "not hunted yet")
        )
    return table(("twin", "planted bug", "breaks", "smallest run that shows it", "masked in the cells"), rows)


def masked(cells: Iterable[str]) -> str:
    """The provider cells in which a bug does not show. Sixteen names say less than `all but two`."""
    from harness.model.cell import ALL_CELLS

    names = set(cells)
    hidden = [str(cell) for cell in ALL_CELLS if str(cell) in names]
    shown = [str(cell) for cell in ALL_CELLS if str(cell) not in names]
    if not shown:
        return "all; it shows where providers of several cells meet"
    return f"all but {code(shown)}" if len(hidden) > len(shown) else code(hidden)


def commands() -> str:
    from harness.commands import COMMANDS

    return table(("command", "does"), ((f"`knownstate {name}`", text) for name, text in COMMANDS.items()))


def example() -> str:
    source = ROOT.joinpath("docs", "examples", "minimal_ledger.py").read_text(encoding="utf-8")
    return f"```python\n{source}```\n"


# -- lifecycle ----------------------------------------------------------------------------------------------------------------


def lifecycle_doing() -> str:
    return _diagram(is_undoing=False)


def lifecycle_undoing() -> str:
    return _diagram(is_undoing=True)


def _diagram(*, is_undoing: bool) -> str:
    """Half of the lifecycle table: the moves that touch a state of undoing, or the others. Each move stands in one half."""
    from harness.model.lifecycle import IN_RECOVERY, INITIAL, TRANSITIONS, UNRESOLVED, State

    undoing = IN_RECOVERY | {State.COMPENSATED, State.COMPENSATION_FAILED, State.IRREVERSIBLE_EFFECT}
    moves = [
        (old, new)
        for old, news in TRANSITIONS.items()
        for new in State
        if new in news and (old in undoing or new in undoing) == is_undoing
    ]
    shown = {state for move in moves for state in move}
    lines = ["stateDiagram-v2"]
    lines += [] if is_undoing else [f"    [*] --> {INITIAL}"]
    lines += [f"    {old} --> {new}" for old, new in moves]
    lines += [f"    {state} --> [*]" for state in State if state in shown and not TRANSITIONS[state]]
    lines += [
        "    classDef open stroke-dasharray: 4",
        *(f"    class {s} open" for s in State if s in UNRESOLVED & shown),
    ]
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"


def lifecycle_states() -> str:
    from harness.model.lifecycle import TRANSITIONS, State

    rows = [(f"`{state}`", _kind_of(state), code(n for n in State if n in TRANSITIONS[state])) for state in State]
    return table(("state", "is", "may become"), rows)


def _kind_of(state: str) -> str:
    from harness.model.lifecycle import IN_RECOVERY, SETTLED_WITH_EFFECT, TRANSITIONS, UNRESOLVED, State

    kinds = {
        "a claim that the effect stands": state in SETTLED_WITH_EFFECT,
        "openly unresolved: waits for an observation or a person": state in UNRESOLVED,
        "on a recovery path that is driven": state in IN_RECOVERY,
        "final": not TRANSITIONS[State(state)],
    }
    return "; ".join(kind for kind, applies in kinds.items() if applies) or "under way"


# -- the reference ledger in doubt --------------------------------------------------------------------------------------------


def cells() -> str:
    from harness.model.cell import ALL_CELLS

    rows = ((f"`{cell}`", in_doubt(cell, attempts=1), in_doubt(cell, attempts=3)) for cell in ALL_CELLS)
    return table(("cell", "after the first of three attempts", "after the last"), rows)


def in_doubt(cell: Cell, attempts: int) -> str:
    """What the sound rules do with an operation in doubt of which every look-up finds nothing: asked of the rules themselves."""
    from harness.model.lifecycle import State
    from reference_ledger.rules import Next, Rules, Seen

    rules, now = Rules(), 2
    record, flow, traits = _doubtful(cell, attempts)
    steps = ["waits out the deadline"] if rules.waits_for_deadline(traits) else []
    seen = Seen.FAILED if traits.lookup == "absent" else rules.seen(record, Reply(), traits, now)
    following = Next.LOOK_AGAIN
    while following is Next.LOOK_AGAIN:
        record.observations += 1
        following = rules.resolve(flow, record, seen, traits, now)
    if traits.lookup != "absent":
        steps.append("looks" if record.observations == 1 else f"looks {record.observations} times")
    again = rules.after_absence(flow, record) is State.PREPARED
    proved = "knows that it is absent, tries again" if again else "knows that it is absent, fails the workflow"
    ends = {
        Next.IS_NOT_COMMITTED: proved,
        Next.SEND_AGAIN: "sends again under the same key",
        Next.ASK_A_PERSON: "asks a person",
    }
    return ", ".join([*steps, ends[following]])


def _doubtful(cell: Cell, attempts: int) -> tuple[Record, Flow, ProviderTraits]:
    """An operation sent at time 0, whose deadline was 1; and the provider of this cell."""
    from harness.model.lifecycle import State, WorkflowState
    from harness.model.workflow import Operation, RecoveryClass, Workflow
    from reference_ledger.records import Flow, Record

    operation = Operation("operation", "provider", "do", "target", {}, RecoveryClass.COMPENSATABLE, "undo")
    record = Record("operation", operation, "key", 0, State.OUTCOME_UNKNOWN, attempts=attempts, doubted=1, not_after=1)
    flow = Flow(Workflow("workflow", (operation,)), WorkflowState.RUNNING, 1, 0, records={record.id: record})
    traits = ProviderTraits("provider", cell.key.value, cell.lookup.value, cell.late.value, KEY_TTL_NS, SECOND_NS)
    return record, flow, traits


def tables() -> str:
    """The reference ledger's tables. SQLAlchemy's own order: parents before children, then by name."""
    from reference_ledger.schema import metadata

    rows = []
    for table_ in metadata.sorted_tables:
        keys = [column.name for column in table_.primary_key]
        rows.append((f"`{table_.name}`", code(keys), code(c.name for c in table_.columns if c.name not in keys)))
    return table(("table", "key", "columns"), rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "cells": cells,
    "commands": commands,
    "errors": errors,
    "example": example,
    "faults": faults,
    "faults-why": faults_why,
    "guarantees": guarantees,
    "lifecycle-doing": lifecycle_doing,
    "lifecycle-states": lifecycle_states,
    "lifecycle-undoing": lifecycle_undoing,
    "scenarios": scenarios,
    "tables": tables,
    "twins": twins,
}


# -- pages --------------------------------------------------------------------------------------------------------------------


def pages(root: Path = ROOT) -> list[Path]:
    """Every page that may carry drawn parts, sorted."""
    return sorted(path for pattern in PAGES for path in root.glob(pattern))


def redrawn(text: str, where: str) -> str:
    """The page with every drawn part fresh. Raises UsageError for a part nobody draws, or a marker without its partner."""
    if len(_MARKER.findall(text)) != 2 * len(_BLOCK.findall(text)):
        raise UsageError(
            "A catalogue marker has no partner.",
            where=where,
            next_step="Each <!-- catalogue:NAME --> stands on a line of its own and is closed by <!-- /catalogue -->.",
        )
    return _BLOCK.sub(lambda found: found["open"] + _drawn(found["name"], where) + found["close"], text)


def _drawn(name: str, where: str) -> str:
    if name not in BLOCKS:
        raise UsageError(
            f"Nobody draws {name!r}; the parts are {', '.join(BLOCKS)}.", where=where, next_step="Correct the marker."
        )
    return BLOCKS[name]()


def stale(root: Path = ROOT) -> list[tuple[Path, str]]:
    """The pages that are not fresh, each with its fresh text."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in pages(root)]
    return [(path, fresh) for path, text in texts if (fresh := redrawn(text, str(path))) != text]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.catalogue", description="Draw the catalogues in the papers."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="exit 1 if a page is stale")
    what.add_argument("--write", action="store_true", help="draw the stale pages again")
    options = parser.parse_args(arguments)
    try:
        found = stale()
    except UsageError as error:
        parser.error(str(error))
    for path, fresh in found:
        if options.write:
            path.write_text(fresh, encoding="utf-8")
        print(
            f"{path.relative_to(ROOT)}: {'written' if options.write else 'stale; run python -m harness.catalogue --write'}"
        )
    return 1 if found and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
