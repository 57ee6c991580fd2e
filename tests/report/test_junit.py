"""JUnit XML, read back by a parser of somebody else's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import junitparser
import pytest

from harness.model.result import CampaignResult
from harness.model.verdict import Outcome, Verdict
from harness.report.junit import CONTROL_NAME, to_junit
from tests.report import examples

STRUCK = f"{examples.STRUCK}=lost-response"


@pytest.fixture
def suite(tmp_path: Path) -> junitparser.TestSuite:
    return _suite(examples.campaign(), tmp_path)


def _suite(result: CampaignResult, folder: Path) -> junitparser.TestSuite:
    (folder / "junit.xml").write_bytes(to_junit(result))
    (found,) = junitparser.JUnitXml.fromfile(str(folder / "junit.xml"))
    return found


def _case(suite: junitparser.TestSuite, name: str) -> junitparser.TestCase:
    (found,) = [case for case in suite if case.name == name]
    return found


def test_totals_are_those_of_the_cases(suite: junitparser.TestSuite) -> None:
    written = (suite.tests, suite.failures, suite.errors, suite.skipped)
    suite.update_statistics()
    assert written == (suite.tests, suite.failures, suite.errors, suite.skipped) == (11, 2, 1, 0)


def test_each_boundary_and_fault_is_one_case_with_a_name_without_seed(suite: junitparser.TestSuite) -> None:
    names = [case.name for case in suite]
    assert len(names) == len(set(names)) == 11
    assert STRUCK in names
    assert not any("seed" in name for name in names)


def test_the_class_name_says_scenario_and_candidate(suite: junitparser.TestSuite) -> None:
    assert {case.classname for case in suite} == {"knownstate.onboarding.acme.ledger-create"}


def test_a_violation_is_a_failure_with_the_guarantee_and_the_story(suite: junitparser.TestSuite) -> None:
    (failure,) = _case(suite, STRUCK).result
    assert isinstance(failure, junitparser.Failure)
    assert failure.type == "no-duplicate-effect"
    assert failure.message.endswith("but the provider billing charged ORD-1 again as e2")
    assert "\n" not in failure.message
    assert "a second time" in failure.text
    assert "replay: knownstate replay" in failure.text


def test_unknown_is_an_error_and_never_passes(suite: junitparser.TestSuite) -> None:
    (error,) = _case(suite, "onboarding/workflow/write-3/in-commit=commit-lost").result
    assert isinstance(error, junitparser.Error)
    assert error.message == "the scheduled fault did not fire"


def test_what_holds_has_no_result(suite: junitparser.TestSuite) -> None:
    assert _case(suite, f"{examples.CALL}1/sent=crash").result == []
    assert _case(suite, CONTROL_NAME).result == []


def test_a_case_carries_seed_schedule_and_replay(suite: junitparser.TestSuite) -> None:
    found = {p.get("name"): p.get("value") for p in _case(suite, STRUCK)._elem.iter("property")}
    assert found["seed"] == "0"
    assert found["schedule"] == f"onboarding:seed=0:{STRUCK}"
    assert found["replay"].endswith(f"'onboarding:seed=0:{STRUCK}'")


def test_a_failing_control_run_is_a_failing_case(tmp_path: Path) -> None:
    verdict = Verdict("settles", Outcome.VIOLATED, (1,), "but it never settles: a contradiction")
    result = replace(examples.holding(), control=Outcome.VIOLATED, control_verdicts=(verdict,))
    (failure,) = _case(_suite(result, tmp_path), CONTROL_NAME).result
    assert failure.type == "settles"


def test_runs_of_one_cell_under_other_seeds_are_one_case_with_the_worst_outcome(tmp_path: Path) -> None:
    base = examples.campaign()
    twin = replace(base.rows[1], schedule=base.rows[1].schedule.replace("seed=0", "seed=7"), outcome=Outcome.UNKNOWN)
    suite = _suite(replace(base, rows=(*base.rows, twin)), tmp_path)
    assert suite.tests == 11
    (error,) = _case(suite, f"{examples.CALL}1/sent=lost-request").result
    assert isinstance(error, junitparser.Error)


def test_the_same_cell_behind_a_trigger_is_a_case_of_its_own(suite: junitparser.TestSuite) -> None:
    assert _case(suite, f"onboarding/dns.record/attempt-1/committed=crash after {examples.STRUCK}=crash").result == []


def test_control_characters_are_stripped(tmp_path: Path) -> None:
    verdict = Verdict("known-state", Outcome.UNKNOWN, (), "it said \x00\x1b[31mno\ufffe")
    row = examples.row(f"{examples.CALL}1/sent", "crash", Outcome.UNKNOWN, verdict)
    suite = _suite(replace(examples.campaign(), rows=(row,), failures=()), tmp_path)
    (error,) = _case(suite, f"{examples.CALL}1/sent=crash").result
    assert error.message == "it said [31mno"
