"""Singles: every applicable fault at every boundary once, recovery paths in a second round, and nothing that makes no sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.candidates.loading import REFERENCE
from harness.explore.singles import Abilities, Planned, Singles, SiteFacts
from harness.model.boundary import Phase, Purpose
from harness.model.cell import ALL_CELLS, Cell
from harness.model.fault import FAULTS, Family, Fault
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario
from harness.rigs.simulation import SimulationRig
from harness.scenario_files import load, shipped
from reference_ledger import factory
from tests.rigs.simulated import explored, scenario_of

PAIR = scenario_of("pair")
CONTROL = Schedule("pair")
ABLE = Abilities(factory().traits.verbs, has_leases=True)
SENT: SiteFacts = (Phase.SENT, Purpose.EFFECT, "payment", "first", "charge", False, False)
DELIVERED: SiteFacts = (Phase.DELIVERED, Purpose.EFFECT, "payment", "first", "charge", False, False)
RECORDED: SiteFacts = (Phase.RECORDED, Purpose.EFFECT, "", "first", "", False, False)
LOOKED: SiteFacts = (Phase.DELIVERED, Purpose.LOOKUP, "payment", "first", "charge", False, False)
AT = "pair/first/attempt-1/delivered"


def singles(abilities: Abilities = ABLE, scenario: Scenario = PAIR, cell: str = "") -> Singles:
    cells = {name: Cell.parse(cell) if cell else own for name, own in scenario.cells.items()}
    return Singles(scenario, cells, CONTROL, abilities)


def planned_faults(plan: list[Planned]) -> list[Fault]:
    return [Fault(planned.fault) for planned in plan]


def key_seen(facts: SiteFacts) -> SiteFacts:
    return (*facts[:5], True, facts[6])


def standing(facts: SiteFacts) -> SiteFacts:
    return (*facts[:6], True)


# --- rounds --------------------------------------------------------------------------------------------------------


def test_the_control_run_has_no_injection() -> None:
    assert singles().control() == Planned(CONTROL)


def test_the_first_round_has_every_fitting_fault_at_every_boundary_of_the_control_run_once() -> None:
    sites = explored("pair:seed=0:").sites
    explorer = singles()
    plan = explorer.first_round(sites)
    wanted = {(path, fault.value) for path, facts in sites.items() for fault in explorer.faults_at(facts)}
    assert {(p.boundary, p.fault) for p in plan} == wanted
    assert len(plan) == len(wanted)
    assert explorer.control_count == len(sites) == len(explorer.known)


def test_a_planned_schedule_is_the_trigger_and_one_injection_more() -> None:
    explorer = singles()
    (first,) = [p for p in explorer.first_round({"pair/first/attempt-1/sent": SENT}) if p.fault == "lost-request"]
    assert str(first.schedule) == "pair:seed=0:pair/first/attempt-1/sent=lost-request"
    assert first.trigger == ""
    second = explorer.second_round([(first, {"pair/first/lookup-1/delivered": LOOKED})])
    assert {p.trigger for p in second} == {"pair/first/attempt-1/sent=lost-request"}
    (crash,) = [p for p in second if p.fault == "crash"]
    assert crash.schedule == first.schedule.plus("pair/first/lookup-1/delivered", Fault.CRASH)


def test_the_second_round_has_only_what_nobody_knew() -> None:
    sites = {"pair/first/attempt-1/sent": SENT}
    explorer = singles()
    plan = explorer.first_round(sites)
    assert explorer.second_round([(plan[0], sites)]) == []


def test_a_boundary_of_a_recovery_path_belongs_to_the_first_run_that_crossed_it() -> None:
    explorer = singles()
    one, other, *_ = explorer.first_round({"pair/first/attempt-1/sent": SENT})
    looked = {"pair/first/lookup-1/delivered": LOOKED}
    second = explorer.second_round([(one, looked), (other, looked)])
    assert {p.trigger for p in second} == {str(one.schedule.injections[0])}


def test_what_only_the_second_round_crossed_is_counted_and_left() -> None:
    explorer = singles()
    explorer.first_round({"pair/first/attempt-1/sent": SENT})
    explorer.look_beyond(["pair/first/attempt-1/sent", "pair/first/lookup-2/sent", "pair/first/lookup-2/sent"])
    assert explorer.beyond == {"pair/first/lookup-2/sent"}


def rounds_of(line: str) -> list[str]:
    """Both rounds of a scenario as lines, from a first round of lost responses only, to be quick."""
    explorer = singles()
    plan = explorer.first_round(explored(line).sites)
    ran = [(p, explored(str(p.schedule)).sites) for p in plan if p.fault == "lost-response"]
    return [str(p.schedule) for p in plan + explorer.second_round(ran)]


def test_the_same_sites_give_the_same_plan_in_the_same_order() -> None:
    first = rounds_of("pair:seed=0:")
    assert rounds_of("pair:seed=0:") == first
    assert len(set(first)) == len(first)


def test_faults_are_planned_in_the_order_of_the_table() -> None:
    order = list(FAULTS)
    plan = planned_faults(singles().first_round({"pair/first/attempt-1/sent": SENT}))
    assert plan == sorted(plan, key=order.index)


# --- variants ------------------------------------------------------------------------------------------------------


def test_a_boundary_under_a_key_that_was_seen_gets_the_faults_that_need_one() -> None:
    explorer = singles()
    plan = explorer.first_round({AT: DELIVERED})
    again = planned_faults(explorer.second_round([(plan[0], {AT: key_seen(DELIVERED)})]))
    assert {Fault.REJECTS_DUPLICATE_KEY, Fault.KEY_IN_USE} <= set(again)
    assert Fault.RATE_LIMITED not in again, "it means the same as before"


def test_a_boundary_under_the_same_circumstances_gets_nothing_again() -> None:
    explorer = singles()
    plan = explorer.first_round({AT: key_seen(DELIVERED)})
    assert explorer.second_round([(plan[0], {AT: key_seen(DELIVERED)})]) == []


def test_looking_is_tried_again_once_something_stands() -> None:
    where = "pair/first/lookup-1/delivered"
    explorer = singles(cell="honoured.eventual.prompt")
    plan = explorer.first_round({where: LOOKED})
    assert Fault.STALE_LOOKUP not in planned_faults(plan)
    again = planned_faults(explorer.second_round([(plan[0], {where: standing(LOOKED)})]))
    assert set(again) == {Fault.CRASH, Fault.LOOKUP_UNAVAILABLE, Fault.STALE_LOOKUP, Fault.PARTIAL_LOOKUP}


def test_a_variant_is_no_new_boundary() -> None:
    explorer = singles()
    plan = explorer.first_round({AT: DELIVERED})
    explorer.second_round([(plan[0], {AT: key_seen(DELIVERED)})])
    assert explorer.known == {AT}
    assert len(explorer.variants) == 2


# --- what makes sense ----------------------------------------------------------------------------------------------


def test_without_the_verb_nothing_is_cancelled() -> None:
    mute = Abilities(ABLE.verbs - {"cancel"}, has_leases=True)
    assert Fault.CANCEL in singles(ABLE).faults_at(RECORDED)
    assert Fault.CANCEL not in singles(mute).faults_at(RECORDED)


def test_without_leases_there_are_no_faults_of_leases_but_the_clock_still_jumps() -> None:
    leaseless = singles(Abilities(ABLE.verbs, has_leases=False))
    after_commit: SiteFacts = (Phase.AFTER_COMMIT, Purpose.WRITE, "", "workflow", "", False, False)
    families = {fault: FAULTS[fault].family for fault in leaseless.faults_at(after_commit)}
    assert [fault for fault, family in families.items() if family is Family.LEASE] == [Fault.CLOCK_JUMP]
    assert Fault.ZOMBIE_WORKER in singles(ABLE).faults_at(after_commit)


def test_a_scenario_that_names_its_faults_gets_no_others() -> None:
    few = singles(scenario=replace(PAIR, faults=frozenset({"crash", "lost-request"})))
    assert few.faults_at(SENT) == (Fault.CRASH, Fault.LOST_REQUEST)


def test_an_approval_expires_only_where_one_is_needed() -> None:
    drill = scenario_of("drill")
    intended: SiteFacts = (Phase.INTENT_RECORDED, Purpose.EFFECT, "cloud", "second", "", False, False)
    needing = Singles(drill, drill.cells, Schedule("drill"), ABLE)
    assert Fault.APPROVAL_EXPIRES in needing.faults_at(intended)
    assert Fault.APPROVAL_EXPIRES not in needing.faults_at((*intended[:3], "first", *intended[4:]))


def test_the_cell_of_the_run_decides_and_not_the_scenario_s_own() -> None:
    assert Fault.LATE_DELIVERY not in singles(cell="honoured.authoritative.prompt").faults_at(SENT)
    assert Fault.LATE_DELIVERY in singles(cell="honoured.authoritative.late").faults_at(SENT)


# --- the shipped scenarios -----------------------------------------------------------------------------------------


def cells_of(scenario: Scenario) -> list[Cell | None]:
    """The scenario's own cells for all; every one of the eighteen for the two that are made for sweeping."""
    return [None, *ALL_CELLS] if scenario.id in ("drill", "rollback") else [None]


def control_sites(scenario: Scenario, cell: Cell | None) -> tuple[Mapping[str, SiteFacts], Singles]:
    rig = SimulationRig(factory(), scenario, REFERENCE, cell)
    base = Schedule(scenario.id, scenario.seed, (), cell)
    try:
        return rig.run(base).sites, Singles(scenario, rig.cells, base, ABLE)
    finally:
        rig.close()


def faults_planned(path: Path) -> set[Fault]:
    """The faults of a shipped scenario's first round."""
    scenario = load(path)
    found: set[Fault] = set()
    for cell in cells_of(scenario):
        sites, explorer = control_sites(scenario, cell)
        found.update(planned_faults(explorer.first_round(sites)))
    return found


def faults_of_second_round() -> set[Fault]:
    """Faults planned on the recovery paths of a lost response, where keys are honoured and nothing, or all, can be looked up."""
    found: set[Fault] = set()
    for cell in ("honoured.absent.prompt", "honoured.authoritative.prompt"):
        first = explored(f"pair:seed=0:cell={cell}:pair/first/attempt-1/committed=lost-response")
        base = Planned(Schedule.parse(first.history.header.schedule))
        found.update(planned_faults(singles(cell=cell).second_round([(base, first.sites)])))
    return found


@pytest.mark.slow
def test_every_fault_the_simulation_can_do_is_planned_in_some_shipped_scenario() -> None:
    planned = set().union(*(faults_planned(path) for path in shipped()))
    able = {row.fault for row in FAULTS.values() if "simulation" in row.rigs}
    only_recovering = {Fault.REJECTS_DUPLICATE_KEY, Fault.KEY_IN_USE, Fault.LEASE_LOST_IN_RECONCILIATION}
    assert able - planned == only_recovering, "these need an earlier attempt"
    assert only_recovering <= faults_of_second_round()
