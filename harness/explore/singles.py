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
from harness.model.fault import FAULTS, Circumstances, Family, Fault, applicable
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario

CIRCUMSTANTIAL = frozenset(
    {
        "key seen before",
        "eventual cell, something stands",
        "something stands",
        "approval asked",
        "approval read",
        "has look-up, key is new",
    }
)
"""Conditions that depend on whether the key was seen or something stands."""
LOOKING = frozenset({Fault.LOOKUP_UNAVAILABLE, Fault.PARTIAL_LOOKUP, Fault.CRASH})
"""Faults that always apply but mean something else when something stands than when nothing does."""

SiteFacts = tuple[Phase, Purpose, str, str, str, bool, bool]

Variant = tuple[str, bool, bool]
"""A boundary under the circumstances that decide its faults: path, key seen before, something stands."""


def variant_of(path: str, facts: SiteFacts) -> Variant:
    return path, facts[5], facts[6]


@dataclass(frozen=True, slots=True)
class Planned:
    """One schedule to run: `boundary` and `fault` are its last injection ("" for the control run), `trigger` what comes before it."""

    schedule: Schedule
    boundary: str = ""
    fault: str = ""
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the candidate declares, as far as it decides which faults make sense: its verbs, and whether it has leases."""

    verbs: frozenset[str]
    has_leases: bool

    def allow(self, fault: Fault) -> bool:
        if fault is Fault.CANCEL:
            return "cancel" in self.verbs
        if FAULTS[fault].family is Family.LEASE and fault is not Fault.CLOCK_JUMP:
            return self.has_leases
        return True


class Singles:
    """Plans rounds of schedules for one scenario. Deterministic: the same sites in the same order give the same plan.

    The same boundary may be reached under other circumstances (the provider has seen the key, or not; something stands at the
    target, or not). Each such variant is explored with the faults it admits; for the first variant with all that apply.
    """

    def __init__(
        self,
        scenario: Scenario,
        cells: Mapping[str, Cell],
        base: Schedule,
        abilities: Abilities,
        rig: str = "simulation",
    ) -> None:
        self.scenario = scenario
        self.cells = cells
        self.base = base
        self.abilities = abilities
        self.rig = rig
        self.approved = {op.id for op in scenario.workflow.operations if op.policy.human_approval_required}
        self.known: set[str] = set()
        """Boundaries found so far."""
        self.variants: set[Variant] = set()
        self.beyond: set[str] = set()
        """Boundaries seen in the last round only."""
        self.control_count = 0
        self._first: set[str] = set()
        self._fitting: dict[tuple[SiteFacts, bool], tuple[Fault, ...]] = {}

    def faults_at(self, facts: SiteFacts) -> tuple[Fault, ...]:
        """The faults that fit a site, that the candidate can meet and that the scenario allows, in the table's order."""
        phase, purpose, provider, subject, action, key_seen, stands = facts
        needs_approval = subject in self.approved
        found = self._fitting.get((facts, needs_approval))
        if found is None:
            around = Circumstances(self.cells.get(provider), action, key_seen, stands, needs_approval)
            fitting = applicable(phase, purpose, around, self.rig)
            allowed = self.scenario.faults
            found = tuple(f for f in fitting if self.abilities.allow(f) and (not allowed or f.value in allowed))
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
            variant = variant_of(path, facts)
            if variant in self.variants:
                continue
            self.variants.add(variant)
            self.known.add(path)
            planned += [
                Planned(trigger.plus(path, fault), path, fault.value, text) for fault in self._new_faults(path, facts)
            ]
        return planned

    def _new_faults(self, path: str, facts: SiteFacts) -> list[Fault]:
        """Of a boundary's later variants, only the faults whose meaning depends on what differs."""
        fitting = self.faults_at(facts)
        first = path not in self._first
        self._first.add(path)
        if first:
            return list(fitting)
        return [fault for fault in fitting if FAULTS[fault].condition in CIRCUMSTANTIAL or fault in LOOKING]
