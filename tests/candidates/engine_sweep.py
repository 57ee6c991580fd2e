"""The singles sweep over an engine, counted: what docs/engines says of an engine is made here.

`python -m tests.candidates.engine_sweep` prints the tables of docs/engines/durastep.md.
Here: running, judging and counting. Never here: what a number should be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness.candidates.contract import Candidate
from harness.candidates.engines import durastep
from harness.explore.singles import Abilities, Planned, Singles
from harness.judge.judge import judge
from harness.model.cell import Cell
from harness.model.event import History
from harness.model.fault import FAULTS, Fault
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, overall
from harness.model.workflow import Scenario
from harness.rigs.simulation import Explored, SimulationRig
from harness.scenario_files import find, load

SCENARIO = "pair"
CELLS = ("honoured.authoritative.prompt", "ignored.authoritative.prompt", "ignored.absent.late")
FORMS: dict[str, Callable[[], Candidate]] = {"factory": durastep.factory, "keyed": durastep.keyed}


@dataclass(frozen=True, slots=True)
class Swept:
    """One judged run. `violated` are the guarantees it breaks, `repeated` how often a further request took effect."""

    schedule: str
    fault: str
    outcome: Outcome
    violated: tuple[str, ...]
    repeated: int
    promises_broken: int

    @property
    def family(self) -> str:
        return FAULTS[Fault(self.fault)].family.value


def sweep(candidate: Candidate, scenario: Scenario, cell: Cell) -> list[Swept]:
    """Every single fault at every boundary, those of the recovery paths included, without the control run."""
    rig = SimulationRig(candidate, scenario, cell=cell)
    base = Schedule(scenario.id, scenario.seed, cell=cell)
    abilities = Abilities(candidate.traits.verbs, candidate.traits.lease_ns > 0)
    singles = Singles(scenario, rig.cells, base, abilities)
    try:
        first = [(planned, rig.run(planned.schedule)) for planned in singles.first_round(rig.run(base).sites)]
        beyond = singles.second_round([(planned, explored.sites) for planned, explored in first])
        second = ((planned, rig.run(planned.schedule)) for planned in beyond)
        return [swept(*ran, scenario) for ran in (*first, *second)]
    finally:
        rig.close()


def swept(planned: Planned, explored: Explored, scenario: Scenario) -> Swept:
    verdicts = judge(explored.history, scenario)
    broken = tuple(v.guarantee for v in verdicts if v.outcome is Outcome.VIOLATED)
    return Swept(
        str(planned.schedule),
        planned.fault,
        overall(verdicts),
        broken,
        effects_repeated(explored.history),
        len(durastep.broken_promises(explored.history)),
    )


def effects_repeated(history: History) -> int:
    """Effects that a further request made where one stood already, counted from the history alone: the hand count
    beside the judge. Copies of one request, which the network made, count once.
    """
    requests = {(e.data["provider"], e.data["target"], e.data["call"]) for e in history.of_kind("effect")}
    return len(requests) - len({(provider, target) for provider, target, _ in requests})


def table(runs: Iterable[Swept]) -> Iterator[str]:
    """Markdown: one row for each fault family that fits anywhere, in the table of faults' order."""
    runs = list(runs)
    yield "| fault family | runs | break the invariant | break its own promise | repeat an effect |"
    yield "|---|---|---|---|---|"
    for family in dict.fromkeys(row.family.value for row in FAULTS.values()):
        mine = [run for run in runs if run.family == family]
        if mine:
            yield _row(family, mine)
    yield _row("all", runs)


def _row(name: str, runs: list[Swept]) -> str:
    broken = [run for run in runs if run.violated]
    repeated = [run for run in runs if run.repeated]
    promises = [run for run in runs if run.promises_broken]
    return f"| {name} | {len(runs)} | {len(broken)} | {len(promises)} | {len(repeated)} |"


def section(form: str, cell: str) -> str:
    """One form of the adapter in one cell: heading and table."""
    runs = sweep(FORMS[form](), load(find(SCENARIO)), Cell.parse(cell))
    return "\n".join((f"### `{form}`, cell `{cell}`", "", *table(runs)))


if __name__ == "__main__":
    print("\n\n".join(section(form, cell) for form in FORMS for cell in CELLS))
