"""The shipped scenarios: complete, named as their files, each about what it says it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.fault import FAULTS, Fault
from harness.model.workflow import RecoveryClass, Scenario, ScenarioKind
from harness.scenario_files import find, load, load_text, shipped
from harness.scenario_files.loader import shipped_folder

SUFFIX = ".scenario.yaml"
BOUNDARIES = {
    "crash before request": "crash-before-request",
    "crash after send before response": "crash-after-send",
    "provider commits then times out": "commit-then-timeout",
    "provider rejects duplicate idempotency key": "duplicate-key-rejected",
    "verification service unavailable": "verification-unavailable",
    "compensation provider unavailable": "compensation-unavailable",
    "compensation commits then response lost": "compensation-response-lost",
    "intent cancelled during compensation": "cancelled-during-compensation",
    "state changes before compensation": "changed-before-compensation",
    "worker loses lease during reconciliation": "lease-lost-reconciling",
    "human approval expires during recovery": "approval-expires-recovering",
}
STORIES = {
    "undo-missing",
    "undo-fails",
    "undo-rate-limited",
    "slow-step-judged-dead",
    "crash-in-mid-rollback",
    "stale-snapshot",
}
every_file = pytest.mark.parametrize("path", shipped(), ids=lambda path: path.name)


def scenario(name: str) -> Scenario:
    return load(find(name))


def test_the_smallest_file_the_room_shows_is_valid_and_complete() -> None:
    sign = (shipped_folder() / "README.md").read_text(encoding="utf-8")
    example = sign.split("```yaml\n")[1].split("```")[0]
    assert load_text(example, Path("README.md")).workflow.operation("charge").undo == "refund"


def of_kind(kind: ScenarioKind) -> set[str]:
    return {loaded.id for loaded in map(load, shipped()) if loaded.kind is kind}


@every_file
def test_a_file_is_named_after_its_scenario(path: Path) -> None:
    assert path.name == load(path).id + SUFFIX


@every_file
def test_a_file_begins_with_its_modeline(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=scenario.schema.json"


@every_file
def test_a_file_says_why_and_from_where(path: Path) -> None:
    loaded = load(path)
    assert len(loaded.why.split()) > 20
    assert loaded.source


@every_file
@pytest.mark.parametrize("seed", range(3))
def test_a_file_is_valid_under_other_seeds(path: Path, seed: int) -> None:
    assert load(path, seed).seed == seed


@every_file
def test_each_allowed_fault_can_be_done_on_each_rig_the_file_names(path: Path) -> None:
    loaded = load(path)
    for rig in loaded.rigs:
        assert all(rig in FAULTS[Fault(name)].rigs for name in loaded.faults), rig


@pytest.mark.parametrize(("quoted", "name"), BOUNDARIES.items(), ids=BOUNDARIES.values())
def test_each_of_the_eleven_boundaries_is_a_scenario_that_quotes_it(quoted: str, name: str) -> None:
    loaded = scenario(name)
    assert loaded.kind is ScenarioKind.BOUNDARY
    assert quoted in loaded.source
    assert loaded.faults, "a boundary explores its own story only"


def test_the_boundaries_are_eleven_and_the_stories_six() -> None:
    assert of_kind(ScenarioKind.BOUNDARY) == set(BOUNDARIES.values())
    assert of_kind(ScenarioKind.STORY) == STORIES
    assert of_kind(ScenarioKind.WORKFLOW) >= {"onboarding", "charge-mail", "rollback", "pair"}


@pytest.mark.parametrize("name", sorted(STORIES))
def test_a_story_explores_its_own_faults_only(name: str) -> None:
    assert scenario(name).faults


def test_onboarding_withdraws_traffic_before_anything_behind_it() -> None:
    assert scenario("onboarding").workflow.operation("dns.record").must_compensate_before == (
        "access.grant",
        "cloud.resource",
    )


def test_onboarding_sends_the_mail_last_and_asks_before_it_charges() -> None:
    workflow = scenario("onboarding").workflow
    mail = workflow.operations[-1]
    assert (mail.recovery_class, mail.undo) == (RecoveryClass.IRREVERSIBLE, None)
    assert set(mail.depends_on) == {"billing.charge", "dns.record", "access.grant"}
    assert [op.id for op in workflow.operations if op.policy.human_approval_required] == ["billing.charge"]


def test_the_onboarding_cells_differ_in_all_three_guarantees() -> None:
    cells = scenario("onboarding").cells.values()
    assert {cell.key for cell in cells} == set(type(next(iter(cells)).key))
    assert {cell.lookup for cell in cells} == set(type(next(iter(cells)).lookup))
    assert {cell.late for cell in cells} == set(type(next(iter(cells)).late))


def test_rollback_always_rolls_back_and_not_in_reverse_order() -> None:
    loaded = scenario("rollback")
    charge, dns = loaded.workflow.operation("billing.charge"), loaded.workflow.operation("dns.record")
    assert loaded.always_declined == ("mail.welcome",)
    assert dns.depends_on == ("billing.charge",)
    assert charge.must_compensate_before == ("dns.record",)


def test_the_missing_undo_is_missing_and_nobody_may_invent_one() -> None:
    charge = scenario("undo-missing").workflow.operation("billing.charge")
    assert (charge.recovery_class, charge.undo) == (RecoveryClass.COMPENSATABLE, None)
    assert not charge.policy.automatic_compensation_allowed


def test_the_failing_undo_is_refused_in_every_run() -> None:
    assert "undo.billing.charge" in scenario("undo-fails").always_declined


def test_charge_mail_runs_on_real_processes_too() -> None:
    assert scenario("charge-mail").rigs == ("simulation", "process")


def test_the_pair_can_be_undone_and_needs_nobody() -> None:
    operations = scenario("pair").workflow.operations
    assert [op.id for op in operations] == ["first", "second"]
    assert all(op.undo and not op.policy.human_approval_required for op in operations)
