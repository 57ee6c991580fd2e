"""Singles: every applicable (boundary, fault), each at its first crossing, recovery paths included.

The control run tells the boundaries of the sound path. Each of its (boundary, fault) pairs is one schedule. Those runs cross
boundaries that the control run never saw: recovery paths. Each of them is then reached by the first schedule that crossed it (its
trigger) and gets every fault that applies there: the second round. Boundaries that only the second round crosses need two faults
before the third; they are counted and left to the deeper strategies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell
from harness.model.fault import Circumstances, Fault, applicable
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario

SiteFacts = tuple[Phase, Purpose, str, str, str, bool, bool]


@dataclass(frozen=True, slots=True)
class Planned:
    """One schedule to run: `boundary` and `fault` are its last injection ("" for the control run), `trigger` what comes before it."""

    schedule: Schedule
    boundary: str = ""
    fault: str = ""
    trigger: str = ""


class Singles:
    """Plans rounds of schedules for one scenario. Deterministic: the same sites in the same order give the same plan."""

    def __init__(self, scenario: Scenario, cells: Mapping[str, Cell], base: Schedule, rig: str = "simulation") -> None:
        self.scenario = scenario
        self.cells = cells
        self.base = base
        self.rig = rig
        self.approved = {op.id for op in scenario.workflow.operations if op.policy.human_approval_required}
        self.known: dict[str, Schedule] = {}
        """Boundary -> the schedule that reaches it (the base itself for the control run's)."""
        self.beyond: set[str] = set()
        """Boundaries seen in the last round only."""
        self.control_count = 0
        self._fitting: dict[tuple[SiteFacts, bool], tuple[Fault, ...]] = {}

    def faults_at(self, facts: SiteFacts) -> tuple[Fault, ...]:
        """The faults that fit a site and that the scenario allows, in the table's order."""
        phase, purpose, provider, subject, action, key_seen, stands = facts
        needs_approval = subject in self.approved
        found = self._fitting.get((facts, needs_approval))
        if found is None:
            around = Circumstances(self.cells.get(provider), action, key_seen, stands, needs_approval)
            found = applicable(phase, purpose, around, self.rig)
            if self.scenario.faults:
                found = tuple(f for f in found if f.value in self.scenario.faults)
            self._fitting[facts, needs_approval] = found
        return found

    def control(self) -> Planned:
        return Planned(self.base)

    def first_round(self, sites: Mapping[str, SiteFacts]) -> list[Planned]:
        """Every applicable fault at every boundary of the control run."""
        planned = self._plan(sites.items(), self.base)
        self.control_count = len(self.known)
        return planned

    def second_round(self, runs: Iterable[tuple[Planned, Mapping[str, SiteFacts]]]) -> list[Planned]:
        """Every applicable fault at every boundary that a run of the first round crossed and nobody knew."""
        planned: list[Planned] = []
        for ran, sites in runs:
            planned += self._plan(sites.items(), ran.schedule)
        return planned

    def look_beyond(self, sites: Iterable[str]) -> None:
        """Count boundaries that only the second round crossed."""
        self.beyond.update(path for path in sites if path not in self.known)

    def _plan(self, sites: Iterable[tuple[str, SiteFacts]], trigger: Schedule) -> list[Planned]:
        planned = []
        text = ",".join(map(str, trigger.injections))
        for path, facts in sites:
            if path in self.known:
                continue
            self.known[path] = trigger
            planned += [Planned(trigger.plus(path, f), path, f.value, text) for f in self.faults_at(facts)]
        return planned
