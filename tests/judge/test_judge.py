"""Which guarantees are judged, and when an answer does not count."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import harness.judge
from harness.judge import registry
from harness.judge.judge import GUARANTEES, judge, not_observable
from harness.judge.ledgers import FOLDS, Ledgers
from harness.model.errors import UsageError
from harness.model.event import EVENT_KINDS
from harness.model.verdict import Outcome, Verdict, overall
from tests.judge.histories import H, shop

STANDARD = sys.stdlib_module_names


def _clean(schedule: str = "shop:seed=0:") -> H:
    return H(schedule=schedule).done("charge").done("ship").said("workflow", "COMPLETED").end("COMPLETED")


def _rolled_back() -> H:
    h = H().said("workflow", "RUNNING").done("charge").done("ship").said("workflow", "RECOVERING")
    h.compensated("ship").died().compensated("charge")
    return h.said("workflow", "FAILED_COMPENSATED").end("FAILED_COMPENSATED")


@pytest.mark.parametrize("h", [_clean(), _rolled_back()], ids=["completed", "rolled back"])
def test_a_sound_run_holds_every_guarantee_in_the_order_of_the_registry(h: H) -> None:
    verdicts = judge(h.history(), h.scenario)
    assert [v.guarantee for v in verdicts] == list(GUARANTEES)
    assert [v for v in verdicts if v.outcome is not Outcome.HOLDS] == []


def test_only_narrows_and_keeps_the_order_of_the_registry() -> None:
    h = _clean()
    verdicts = judge(h.history(), h.scenario, only=["settles", "known-state"])
    assert [v.guarantee for v in verdicts] == ["known-state", "settles"]


def test_a_scenario_narrows_too() -> None:
    h = H(shop(guarantees=("settles",))).end("COMPLETED")
    assert [v.guarantee for v in judge(h.history(), h.scenario)] == ["settles"]


def test_an_unknown_guarantee_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"no guarantee 'settle'.*settles"):
        judge(_clean().history(), shop(), only=["settle"])


@pytest.mark.parametrize("level", range(6))
def test_what_a_level_cannot_show_is_left_out_and_listed(level: int) -> None:
    h = H(level=level).done("charge").done("ship").end("COMPLETED")
    judged = {v.guarantee for v in judge(h.history(), h.scenario)}
    assert judged.isdisjoint(not_observable(level))
    assert judged | set(not_observable(level)) == set(GUARANTEES)


def test_at_level_zero_claims_and_compensation_records_cannot_be_seen() -> None:
    assert {"known-state", "honest-claim", "right-terminal", "rollback-resumes"} <= set(not_observable(0))
    assert not_observable(5) == {}


def test_a_run_of_which_nothing_can_be_judged_does_not_pass() -> None:
    h = H(level=0).end("COMPLETED")
    assert overall(judge(h.history(), h.scenario, only=["known-state"])) is Outcome.UNKNOWN


def test_a_fault_that_did_not_fire_leaves_everything_unknown() -> None:
    where = "shop/charge/attempt-1/committed"
    h = _clean(f"shop:seed=0:{where}=lost-response")
    verdicts = judge(h.history(), h.scenario)
    assert {v.outcome for v in verdicts} == {Outcome.UNKNOWN}
    assert {v.explanation for v in verdicts} == {f"fault lost-response at {where} did not fire"}


@pytest.mark.parametrize(("fault", "outcome"), [("lost-response", Outcome.HOLDS), ("crash", Outcome.UNKNOWN)])
def test_the_fault_that_fired_must_be_the_one_scheduled(fault: str, outcome: Outcome) -> None:
    where = "shop/charge/attempt-1/committed"
    h = H(schedule=f"shop:seed=0:{where}=lost-response").event("fault-fired", "rig", where, fault=fault)
    h.done("charge").done("ship").end("COMPLETED")
    assert overall(judge(h.history(), h.scenario)) is outcome


def test_a_run_cut_short_holds_nothing() -> None:
    h = H().done("charge").done("ship").audited("COMPLETED").ended("interrupted")
    verdicts = judge(h.history(), h.scenario)
    assert {v.outcome for v in verdicts} == {Outcome.UNKNOWN}
    assert {v.explanation for v in verdicts} == {"the run was cut short: interrupted"}


def test_a_history_without_an_end_holds_nothing() -> None:
    h = H().done("charge").audited("COMPLETED")
    assert {v.outcome for v in judge(h.history(), h.scenario)} == {Outcome.UNKNOWN}


def test_a_violation_is_proved_though_the_run_was_cut_short() -> None:
    h = H().sent("charge").effect("charge").sent("charge").effect("charge").ended("interrupted")
    outcomes = {v.guarantee: v.outcome for v in judge(h.history(), h.scenario)}
    assert outcomes["no-duplicate-effect"] is Outcome.VIOLATED
    assert outcomes["known-state"] is Outcome.UNKNOWN


def test_the_audit_of_a_run_cut_short_proves_nothing() -> None:
    h = H().sent("charge").effect("charge").audited("FAILED_CLEAN").ended("interrupted")
    assert Outcome.VIOLATED not in {v.outcome for v in judge(h.history(), h.scenario)}


def test_a_checker_that_crashes_is_unknown_and_spoils_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(ledgers: Ledgers) -> Verdict:
        raise ZeroDivisionError("planted")

    broken = replace(GUARANTEES["settles"], check=crash)
    monkeypatch.setitem(registry.GUARANTEES, "settles", broken)
    h = _clean()
    verdicts = {v.guarantee: v for v in judge(h.history(), h.scenario)}
    assert verdicts["settles"].outcome is Outcome.UNKNOWN
    assert verdicts["settles"].explanation == "checker crashed: ZeroDivisionError: planted"
    assert {v.outcome for name, v in verdicts.items() if name != "settles"} == {Outcome.HOLDS}


def test_a_history_of_another_shape_is_unknown() -> None:
    h = H().event("call-sent", "w1").end("COMPLETED")
    verdicts = judge(h.history(), h.scenario)
    assert {v.outcome for v in verdicts} == {Outcome.UNKNOWN}
    assert "cannot be read: KeyError" in verdicts[0].explanation


def test_a_call_its_own_client_refused_was_never_sent() -> None:
    h = H().event("caller-saw", "w1", call="shop/charge/attempt-1", outcome="definite", code="deadline-passed")
    h.done("charge").done("ship").end("COMPLETED")
    assert overall(judge(h.history(), h.scenario)) is Outcome.HOLDS


def test_the_cell_of_the_schedule_replaces_the_scenarios() -> None:
    def run(cell: str) -> Outcome:
        h = H(schedule=f"shop:seed=0:{cell}").sent("charge").timed_out("charge").sent("charge").end("UNKNOWN")
        return h.verdict("no-blind-retry").outcome

    assert run("") is Outcome.HOLDS
    assert run("cell=ignored.authoritative.prompt:") is Outcome.VIOLATED


def test_every_guarantee_says_what_it_is_and_where_it_comes_from() -> None:
    for name, row in GUARANTEES.items():
        assert row.id == name
        assert row.statement.endswith(".")
        assert 0 <= row.level <= 5
        assert row.source.startswith(("First seed, ", "Second seed, "))


def test_the_ledgers_read_only_kinds_of_events_there_are() -> None:
    assert set(FOLDS) <= set(EVENT_KINDS)


def test_the_judge_knows_the_nouns_and_the_standard_library_only() -> None:
    allowed = ("harness.model", "harness.judge")
    for path in Path(harness.judge.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                top = name.split(".")[0]
                assert top not in ("fakes", "reference_ledger", "scenarios"), path.name
                assert top != "harness" or name.startswith(allowed), f"{path.name} imports {name}"
                assert top == "harness" or top in STANDARD, f"{path.name} imports {name}"


def test_the_predicates_of_harm_share_no_code_with_the_guarantees() -> None:
    text = (Path(harness.judge.__file__).parent / "triggered.py").read_text(encoding="utf-8")
    assert "harness.judge" not in text
