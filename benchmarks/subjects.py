"""What is measured: the reference ledger on a shipped scenario, and on chains made by hand.

Never here: a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.bare import BareRig
from harness.candidates.loading import REFERENCE, load_candidate
from harness.explore.singles import Abilities, Singles
from harness.judge.judge import judge
from harness.model.cell import Cell
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, overall
from harness.model.workflow import Operation, RecoveryClass, Scenario, ScenarioKind, Workflow
from harness.rigs.simulation import Explored, SimulationRig
from harness.scenario_files import find, load
from harness.store.history_file import encode, encode_header

SCENARIO = "onboarding"


@dataclass(frozen=True, slots=True)
class Pair:
    """One candidate on one scenario, bare and on the simulation rig. `control` is the schedule without a fault."""

    scenario: Scenario
    bare: BareRig
    rig: SimulationRig
    control: Schedule

    def kept(self, schedule: Schedule) -> bytes:
        """Run and write the history down, as a campaign does before it judges."""
        ran = self.rig.run(schedule)
        return encode(ran.history, encode_header(ran.history.header))

    def judged(self, schedule: Schedule) -> Explored:
        """Run, write down, judge."""
        ran = self.rig.run(schedule)
        encode(ran.history, encode_header(ran.history.header))
        judge(ran.history, self.scenario)
        return ran

    def singles(self) -> Singles:
        """A new plan of all single faults, as a campaign makes it."""
        traits = self.bare.candidate.traits
        return Singles(self.scenario, self.rig.cells, self.control, Abilities(traits.verbs, traits.lease_ns > 0))

    def close(self) -> None:
        self.bare.close()
        self.rig.close()


def pair(scenario: Scenario) -> Pair:
    """Both rigs, checked: the control run holds, and both do the same work; else the ratio of their times is nothing."""
    candidate = load_candidate(REFERENCE)
    made = Pair(scenario, BareRig(candidate, scenario), SimulationRig(candidate, scenario), Schedule(scenario.id))
    ran = made.rig.run(made.control)
    assert overall(judge(ran.history, scenario)) is Outcome.HOLDS, f"the control run of {scenario.id} does not hold"
    bare, harnessed = made.bare.work_done(), work_of(ran)
    assert bare == harnessed, f"{scenario.id}: bare does {bare} transactions and calls, the rig {harnessed}"
    return made


def work_of(ran: Explored) -> tuple[int, int]:
    """(ledger transactions that changed something, provider calls that were sent) of a run."""
    kinds = [event.kind for event in ran.history.events]
    return kinds.count("wrote"), kinds.count("call-sent")


def onboarding() -> Scenario:
    return load(find(SCENARIO))


def chain(length: int) -> Scenario:
    """A workflow in which every operation waits for the one before: twice as long is twice the work, no more."""
    operations = tuple(_link(number) for number in range(1, length + 1))
    return Scenario(
        id=f"chain-{length}",
        title=f"{length} records, one after the other",
        why="To see what a longer workflow costs.",
        kind=ScenarioKind.WORKFLOW,
        workflow=Workflow(f"chain-{length}", operations),
        cells={"dns": Cell()},
    )


def _link(number: int) -> Operation:
    return Operation(
        id=f"record-{number}",
        provider="dns",
        action="record.add",
        target=f"host-{number}.example.test",
        params={"type": "A", "value": f"192.0.2.{number}"},
        recovery_class=RecoveryClass.REVERSIBLE,
        undo="record.remove",
        depends_on=(f"record-{number - 1}",) if number > 1 else (),
    )
