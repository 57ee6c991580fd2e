"""What the runs of one state machine share: its candidate, its scenario, and one rig for each provider cell.

Never here: Hypothesis, and any memory that one run could leave to the next.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.candidates.contract import Candidate, Traits
from harness.candidates.loading import load_candidate
from harness.explore.singles import Abilities, Singles
from harness.judge.judge import judge
from harness.model.cell import Cell
from harness.model.errors import CandidateError
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome
from harness.model.workflow import Scenario
from harness.rigs.simulation import Explored, SimulationRig
from harness.scenario_files.loader import find, load
from harness.stateful.stepping import SteppedRun

Factory = Callable[[], Candidate]


class Stage:
    """Rigs are made when first needed, and closed when the stage is forgotten, at the latest when the process ends."""

    def __init__(self, candidate: str | Factory, scenario: str | Path | Scenario) -> None:
        self.factory = candidate
        self.spec = spec_of(candidate)
        self.scenario = scenario if isinstance(scenario, Scenario) else load(find(str(scenario)))
        self._rigs: dict[Cell | None, tuple[SimulationRig, Singles]] = {}
        self._closing = weakref.finalize(self, _close, self._rigs)

    def begin(self, cell: Cell | None) -> SteppedRun:
        """A run in a fresh world, not started. The one before it must be over."""
        if cell not in self._rigs:
            rig = self.new_rig(cell)
            abilities = Abilities(rig.candidate.traits.verbs, rig.candidate.traits.lease_ns > 0)
            self._rigs[cell] = rig, Singles(self.scenario, rig.cells, self.schedule(cell), abilities)
        rig, singles = self._rigs[cell]
        return SteppedRun(rig, singles, self.schedule(cell))

    def schedule(self, cell: Cell | None) -> Schedule:
        """The control schedule: the scenario's seed, no injections."""
        return Schedule(self.scenario.id, self.scenario.seed, (), cell)

    def new_rig(self, cell: Cell | None) -> SimulationRig:
        """A rig of its own with a candidate of its own, whose owner closes it."""
        return SimulationRig(made(self.factory), self.scenario, self.spec, cell)

    def replay(self, schedule: Schedule) -> Explored:
        """The run of a finished schedule on a rig that has seen no other."""
        rig = self.new_rig(schedule.cell)
        try:
            return rig.run(schedule)
        finally:
            rig.close()

    def without_idle_faults(self, schedule: Schedule, guarantee: str) -> Schedule:
        """The same violation with as few of the faults as can be had by leaving out one after the other.

        At the end none can be left out. At most n(n+1)/2 runs for n faults.
        """
        for injection in schedule.injections:
            fewer = replace(schedule, injections=tuple(i for i in schedule.injections if i is not injection))
            if self._breaks(fewer, guarantee):
                return self.without_idle_faults(fewer, guarantee)
        return schedule

    def _breaks(self, schedule: Schedule, guarantee: str) -> bool:
        verdicts = judge(self.replay(schedule).history, self.scenario, only=(guarantee,))
        return any(v.outcome is Outcome.VIOLATED for v in verdicts)

    def close(self) -> None:
        self._closing()


def _close(rigs: dict[Cell | None, tuple[SimulationRig, Singles]]) -> None:
    for rig, _ in rigs.values():
        rig.close()
    rigs.clear()


def made(candidate: str | Factory) -> Candidate:
    """The candidate itself. Raises CandidateError for what cannot be one."""
    if isinstance(candidate, str):
        return load_candidate(candidate)
    built = candidate()
    if not isinstance(getattr(built, "traits", None), Traits):
        raise CandidateError(
            f"The factory returned a {type(built).__name__}, which declares no traits.",
            where=spec_of(candidate),
            next_step="Return what harness/candidates/contract.py calls a Candidate.",
        )
    return built


def spec_of(candidate: str | Factory) -> str:
    """`module:factory`, by which another process can load it; `module.name`, for a person, where none can."""
    if isinstance(candidate, str):
        return candidate
    module = getattr(candidate, "__module__", "") or type(candidate).__module__
    name = getattr(candidate, "__qualname__", "") or type(candidate).__qualname__
    return f"{module}:{name}" if is_importable(module, name, candidate) else f"{module}.{name}"


def is_importable(module: str, name: str, candidate: object) -> bool:
    return getattr(sys.modules.get(module), name, None) is candidate
