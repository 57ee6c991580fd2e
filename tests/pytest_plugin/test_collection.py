"""Which items there are, what they are called, and what is said when there can be none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.pytest_plugin.conftest import PLAIN_TEST, SCENARIO, node_ids, write_scenario

pytestmark = pytest.mark.slow

FILE_IDS = [
    "one-charge.scenario.yaml::control",
    "one-charge.scenario.yaml::billing.charge/attempt-1/sent=lost-request",
    "one-charge.scenario.yaml::billing.charge/attempt-1/committed=lost-response",
]


def collected(folder: pytest.Pytester, *arguments: str) -> list[str]:
    return node_ids(folder.runpytest_inprocess("--collect-only", "-q", *arguments))


def test_a_scenario_file_gives_an_item_for_each_boundary_and_fault(folder: pytest.Pytester) -> None:
    ids = collected(folder)
    assert [i for i in ids if "verify" not in i and "recovery" not in i] == FILE_IDS
    assert len(set(ids)) == len(ids)


def test_recovery_paths_are_one_item_for_each_fault_that_leads_to_them(folder: pytest.Pytester) -> None:
    recovery = [i.partition("::")[2] for i in collected(folder) if "recovery" in i]
    assert recovery == ["recovery-after-lost-request", "recovery-after-lost-response"]


def test_the_marker_gives_the_same_cases_as_the_file(folder: pytest.Pytester) -> None:
    folder.makepyfile(PLAIN_TEST.format(candidate="reference_ledger:factory"))
    ids = collected(folder)
    of_file = [i.partition("::")[2] for i in ids if "scenario.yaml" in i]
    of_marker = [i.partition("[one-charge/")[2].removesuffix("]") for i in ids if "test_my_ledger" in i]
    assert of_marker == of_file


def test_two_seeds_give_the_same_ids(folder: pytest.Pytester) -> None:
    assert collected(folder, "--knownstate-seed=1") == collected(folder, "--knownstate-seed=7") != []


def test_strict_ids_are_content(folder: pytest.Pytester) -> None:
    folder.makepyfile(PLAIN_TEST.format(candidate="reference_ledger:factory"))
    result = folder.runpytest_inprocess("--collect-only", "-q", "-o", "strict_parametrization_ids=true")
    assert result.ret == pytest.ExitCode.OK


def test_items_by_family_are_fewer_and_named_after_it(folder: pytest.Pytester) -> None:
    names = [i.partition("::")[2] for i in collected(folder, "--knownstate-items=family")]
    assert names == ["control", "message-faults", "recovery-after-message-faults"]


def test_the_ini_file_chooses_candidate_and_items(folder: pytest.Pytester) -> None:
    folder.makeini("[pytest]\nknownstate_candidate = hasty_twin:factory\nknownstate_items = family\n")
    result = folder.runpytest_inprocess("-v")
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["*::message-faults FAILED*"])


def test_the_option_outranks_the_ini_file(folder: pytest.Pytester) -> None:
    folder.makeini("[pytest]\nknownstate_candidate = hasty_twin:factory\n")
    result = folder.runpytest_inprocess("--knownstate-candidate=reference_ledger:factory")
    assert result.ret == pytest.ExitCode.OK


def test_the_shards_together_are_the_whole(folder: pytest.Pytester) -> None:
    first, second = (set(collected(folder, f"--knownstate-shard={i}/2", "-k", "attempt")) for i in (1, 2))
    assert first | second == set(collected(folder, "-k", "attempt"))
    assert not first & second


def test_a_shard_that_cannot_be_is_wrong_use(folder: pytest.Pytester) -> None:
    result = folder.runpytest_inprocess("--knownstate-shard=3/2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'3/2' is not I/N with 1 <= I <= N*"])


def test_words_select_items(folder: pytest.Pytester) -> None:
    result = folder.runpytest_inprocess("-k", "committed and attempt", "-v")
    result.assert_outcomes(passed=1, deselected=len(collected(folder)) - 1)


def test_a_node_id_selects_one_item(folder: pytest.Pytester) -> None:
    folder.runpytest_inprocess(FILE_IDS[2]).assert_outcomes(passed=1)


def test_a_broken_file_is_a_collection_error_with_what_where_and_next(folder: pytest.Pytester) -> None:
    write_scenario(folder, SCENARIO.replace("provider: payment", "provider: paymnt"))
    result = folder.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["There is no provider 'paymnt'.", "Where: one-charge.scenario.yaml:12", "Next: Did you mean `payment`*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin*")


def test_a_missing_candidate_is_a_collection_error(folder: pytest.Pytester) -> None:
    result = folder.runpytest_inprocess("--knownstate-candidate=nowhere_to_be_found:factory")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["The candidate cannot be used*nowhere_to_be_found*", "Where: *", "Next: *"])
    result.stdout.no_fnmatch_line("*pytest_plugin*")


def test_the_fixture_without_a_marker_says_what_to_write(folder: pytest.Pytester) -> None:
    folder.makepyfile("def test_my_ledger(knownstate_run):\n    knownstate_run.check()\n")
    result = folder.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*its marker names no scenario.", "Next: @pytest.mark.knownstate(scenario*"])


def test_the_marker_names_a_shipped_scenario(folder: pytest.Pytester) -> None:
    text = PLAIN_TEST.format(candidate="reference_ledger:factory").replace("one-charge", "pair")
    folder.makepyfile(text)
    assert any("[pair/control]" in i for i in collected(folder))


def test_a_scenario_for_another_rig_is_skipped_and_said(folder: pytest.Pytester) -> None:
    write_scenario(folder, SCENARIO.replace("[simulation]", "[process]"))
    result = folder.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*one-charge runs on process only*"])


def test_a_package_that_hides_ours_is_wrong_use(folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = folder.mkpydir("scenarios")
    monkeypatch.syspath_prepend(folder.path)
    monkeypatch.delitem(sys.modules, "scenarios", raising=False)
    result = folder.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: `scenarios` is {stranger}, which hides knownstate's own*"])


def test_loading_the_plugin_imports_pytest_and_the_standard_library_only() -> None:
    program = "import pytest, sys, harness; old = set(sys.modules); import harness.pytest_plugin as p; print(*(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert {name for name in done.stdout.split() if name.split(".")[0] not in sys.stdlib_module_names} == {
        "harness.pytest_plugin"
    }
