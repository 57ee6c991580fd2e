"""What passes, what fails, what is printed then, and what reaches the JUnit file."""

from __future__ import annotations

import pytest
from junitparser import JUnitXml, Properties

from tests.pytest_plugin.conftest import BROKEN, PLAIN_TEST, SCENARIO, TWIN_SPEC, write_scenario

LINE = "one-charge:seed=0:one-charge/billing.charge/attempt-1/committed=lost-response"
REPLAY = f"knownstate replay {LINE} --candidate {TWIN_SPEC} --scenario one-charge.scenario.yaml"
BAD_ITEM = "billing.charge/attempt-1/committed=lost-response"
BAD = "committed and lost-response"
pytestmark = pytest.mark.slow


IDLE_TWIN = """\
from reference_ledger.ledger import ReferenceLedger
from reference_ledger.rules import Rules


class Idle(Rules):
    def may_start(self, flow, record):
        return False


def factory():
    return ReferenceLedger("idle", Idle())
"""
"""It starts nothing, so that its control run is unsound."""


def pinned(expect: str, line: str = LINE) -> str:
    return SCENARIO.replace("expect: holds", f"schedule: {line}\nexpect: {expect}")


def properties_in(folder: pytest.Pytester) -> dict[str, dict[str, str]]:
    """The properties of each case in junit.xml."""
    cases = [case for suite in JUnitXml.fromfile(str(folder.path / "junit.xml")) for case in suite]
    return {case.name: {p.name: p.value for p in case.child(Properties) or ()} for case in cases}


def test_a_sound_candidate_passes(folder: pytest.Pytester) -> None:
    outcomes = folder.runpytest_inprocess().parseoutcomes()
    assert outcomes["passed"] >= 3
    assert outcomes.keys() <= {"passed", "skipped"}


def test_a_broken_candidate_fails_with_its_story_and_the_replay_command_last(folder: pytest.Pytester) -> None:
    result = folder.runpytest_inprocess(BROKEN, "-k", BAD)
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(
        [
            "*FAILURES*",
            f"*one-charge::{BAD_ITEM}*",
            f"*honest-claim*violated: {LINE}",
            "*FAULT: the response was lost after the provider had committed*",
            "honest-claim is violated:",
            "let billing.charge be claimed*",
            "Replay:",
            REPLAY,
            "*knownstate: to see a failure again*",
            REPLAY,
        ]
    )


def test_a_failure_shows_no_traceback(folder: pytest.Pytester) -> None:
    folder.makepyfile(PLAIN_TEST.format(candidate=TWIN_SPEC))
    result = folder.runpytest_inprocess(BROKEN)
    for sign in ("*Traceback*", "*runs.py:*", ">*", "E  *", "*knownstate_run.check()*"):
        result.stdout.no_fnmatch_line(sign)


def test_the_marker_fails_as_the_file_does(folder: pytest.Pytester) -> None:
    folder.makepyfile(PLAIN_TEST.format(candidate=TWIN_SPEC))
    result = folder.runpytest_inprocess("-k", f"test_my_ledger and {BAD}")
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*FAULT: the response was lost*", "Replay:", REPLAY])


def test_a_test_may_judge_the_run_itself(folder: pytest.Pytester) -> None:
    text = PLAIN_TEST.format(candidate=TWIN_SPEC)
    folder.makepyfile(
        text.replace(
            "knownstate_run.check()",
            f"assert knownstate_run.run().schedule == {LINE!r} == str(knownstate_run.schedule)",
        )
    )
    folder.runpytest_inprocess(
        f"test_a_test_may_judge_the_run_itself.py::test_my_ledger[one-charge/{BAD_ITEM}]"
    ).assert_outcomes(passed=1)


def test_a_family_item_tells_the_worst_run_and_lists_the_others(folder: pytest.Pytester) -> None:
    result = folder.runpytest_inprocess(BROKEN, "--knownstate-items=family", "-k", "message-faults and not recovery")
    result.stdout.fnmatch_lines(["* of * schedules fail. Beside the one above:", "one-charge:seed=0:*", "Replay:"])


def test_a_pinned_file_is_one_item(folder: pytest.Pytester) -> None:
    write_scenario(folder, pinned("holds"))
    result = folder.runpytest_inprocess("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["one-charge.scenario.yaml::pinned PASSED*"])


def test_an_expected_violation_passes_when_it_comes(folder: pytest.Pytester) -> None:
    write_scenario(folder, pinned("violation"))
    folder.runpytest_inprocess(BROKEN).assert_outcomes(passed=1)


def test_an_expected_violation_that_does_not_come_fails(folder: pytest.Pytester) -> None:
    write_scenario(folder, pinned("violation"))
    result = folder.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"every guarantee holds, and the scenario expects a violation: {LINE}"])


def test_an_exploring_file_that_expects_a_violation_needs_one_among_all(folder: pytest.Pytester) -> None:
    write_scenario(folder, SCENARIO.replace("expect: holds", "expect: violation"))
    folder.runpytest_inprocess().assert_outcomes(failed=1)
    for shard in ("1/2", "2/2"):
        folder.runpytest_inprocess(BROKEN, f"--knownstate-shard={shard}").assert_outcomes(passed=1)


def test_a_fault_that_does_not_fire_is_unknown_and_fails(folder: pytest.Pytester) -> None:
    write_scenario(folder, pinned("holds", LINE.replace("attempt-1", "attempt-3")))
    result = folder.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unknown, which never passes (*): *attempt-3*", "*is unknown:"])


def test_without_a_sound_control_run_no_item_passes(folder: pytest.Pytester) -> None:
    write_scenario(folder, SCENARIO.replace("[lost-response, lost-request]", "[crash]"))
    folder.makepyfile(idle_twin=IDLE_TWIN)
    result = folder.runpytest_inprocess("--knownstate-candidate=idle_twin:factory")
    assert result.parseoutcomes().keys() == {"failed"}
    assert result.parseoutcomes()["failed"] > 3
    result.stdout.fnmatch_lines(
        ["*violated: one-charge:seed=0:", "not judged: without any fault the outcome is violated *"]
    )


def test_the_junit_file_has_seed_schedule_and_replay(folder: pytest.Pytester) -> None:
    folder.runpytest_inprocess(BROKEN, "-k", BAD, "--junitxml=junit.xml", "-W", "error")
    (properties,) = properties_in(folder).values()
    assert properties == {"seed": "0", "schedule": LINE, "replay": REPLAY}


def test_a_seed_stands_in_the_properties_and_not_in_the_name(folder: pytest.Pytester) -> None:
    folder.runpytest_inprocess("--knownstate-seed=7", "-k", BAD, "--junitxml=junit.xml")
    assert properties_in(folder)[BAD_ITEM]["schedule"] == LINE.replace("seed=0", "seed=7")


def test_only_the_failed_ones_run_again(folder: pytest.Pytester) -> None:
    first = folder.runpytest_inprocess(BROKEN).parseoutcomes()
    again = folder.runpytest_inprocess(BROKEN, "--lf").parseoutcomes()
    assert again["failed"] == first["failed"] > 0
    assert "passed" not in again


def test_histories_are_kept_under_basetemp(folder: pytest.Pytester) -> None:
    folder.runpytest_inprocess("--basetemp=kept", "-k", BAD)
    assert [p.name for p in (folder.path / "kept").rglob("*.gz")] == ["one-charge.jsonl.gz"]


def test_xdist_workers_find_the_same_items_and_the_replay_comes_back(folder: pytest.Pytester) -> None:
    folder.makepyfile(PLAIN_TEST.format(candidate=TWIN_SPEC))
    alone = folder.runpytest_inprocess(BROKEN).parseoutcomes()
    result = folder.runpytest_subprocess(BROKEN, "-n", "2", "--junitxml=junit.xml")
    shared = result.parseoutcomes()
    assert {k: shared[k] for k in ("failed", "passed")} == {k: alone[k] for k in ("failed", "passed")}
    result.stdout.fnmatch_lines(["*knownstate: to see a failure again*", REPLAY])
    assert properties_in(folder)[BAD_ITEM]["replay"] == REPLAY


def test_a_package_that_hides_ours_is_said_by_xdist_workers_too(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkpydir("scenarios")
    monkeypatch.setenv("PYTHONPATH", str(folder.path))
    result = folder.runpytest_subprocess("-n", "1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["`scenarios` is *, which hides knownstate's own*"])
