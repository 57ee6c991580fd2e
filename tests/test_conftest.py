"""The rules of tests/conftest.py, shown on small suites: what a missing component does, which profile is loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import settings

from tests.conftest import profile_name

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
ROWS = """
COMPONENTS["imaginary"] = Component(("no-such-program-anywhere",), "install-it imaginary")
COMPONENTS["python"] = Component(("no-such-program-anywhere", "sh"), "install-it python")
COMPONENTS["package"] = Component((), "install-it package", module="json")
COMPONENTS["no-package"] = Component((), "install-it no-package", module="no_such_module_anywhere")
"""
SUITE = """
import pytest

@pytest.fixture
def server():
    raise RuntimeError("a fixture ran although the component is missing")

@pytest.mark.real("imaginary")
def test_on_a_missing_component(server): pass

@pytest.mark.real("imaginary")
def test_on_a_missing_component_again(): pass

@pytest.mark.real("python")
def test_on_a_present_component(): pass

def test_that_needs_nothing(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with our conftest, two more components of which one is missing, and four tests."""
    for name in ("KNOWNSTATE_REQUIRE", "KNOWNSTATE_LEFT_OUT", "KNOWNSTATE_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeini("[pytest]\nmarkers = real(component): needs it\naddopts = --strict-markers -p no:knownstate\n")
    pytester.makeconftest(CONFTEST + ROWS)
    pytester.makepyfile(SUITE)
    return pytester


def test_a_missing_component_skips_its_tests_before_their_fixtures(suite: pytest.Pytester) -> None:
    suite.runpytest().assert_outcomes(passed=2, skipped=2)


def test_a_missing_component_is_named_loudly_with_its_count_and_its_command(suite: pytest.Pytester) -> None:
    result = suite.runpytest()
    result.stdout.fnmatch_lines(
        ["*TIERS THAT DID NOT RUN*", "imaginary: 2 tests not run. To run it: install-it imaginary", "*2 passed*"]
    )


def test_nothing_missing_prints_no_section(suite: pytest.Pytester) -> None:
    result = suite.runpytest("-k", "a_present_component or that_needs_nothing")
    result.assert_outcomes(passed=2, deselected=2)
    result.stdout.no_fnmatch_line("*DID NOT RUN*")


def test_a_component_may_be_a_package_that_is_looked_for_and_not_imported(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.mark.real("package")
        def test_on_a_present_package(): pass

        @pytest.mark.real("no-package")
        def test_on_a_missing_package(): pass
        """
    )
    result = suite.runpytest()
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["no-package: 1 test not run. To run it: install-it no-package"])


@pytest.mark.slow
def test_the_section_survives_xdist(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-p", "xdist", "-n", "2")
    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["imaginary: 2 tests not run. To run it: install-it imaginary"])


@pytest.mark.parametrize("required", ["all", "imaginary", "python,imaginary"])
def test_a_required_component_that_is_missing_fails_its_tests(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, required: str
) -> None:
    monkeypatch.setenv("KNOWNSTATE_REQUIRE", required)
    result = suite.runpytest()
    result.assert_outcomes(passed=2, errors=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*imaginary is required and missing; install it: install-it imaginary"])


def test_requiring_another_component_leaves_the_skip(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWNSTATE_REQUIRE", "python")
    suite.runpytest().assert_outcomes(passed=2, skipped=2)


def test_a_component_nobody_knows_fails_and_names_the_known_ones(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.real('toxiproxi')\ndef test_misspelt(): pass\n")
    result = suite.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*real('toxiproxi') names no component*toxiproxy-server*"])


def test_a_tier_left_out_by_the_caller_is_named(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWNSTATE_LEFT_OUT", "Python 3.99\tmake test-all")
    result = suite.runpytest("-k", "nothing")
    result.stdout.fnmatch_lines(["*DID NOT RUN*", "Python 3.99: the whole tier not run. To run it: make test-all"])


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, "dev"),
        ({"CI": "true"}, "ci"),
        ({"CI": "true", "KNOWNSTATE_PROFILE": "nightly"}, "nightly"),
        ({"CI": "", "KNOWNSTATE_PROFILE": ""}, "dev"),
    ],
)
def test_the_environment_names_the_profile(environment: dict[str, str], name: str) -> None:
    assert profile_name(environment) == name


def test_ci_repeats_its_cases_and_saves_none() -> None:
    assert settings.get_profile("ci").derandomize
    assert settings.get_profile("ci").database is None


def test_nightly_looks_for_new_cases_and_saves_them() -> None:
    assert not settings.get_profile("nightly").derandomize
    assert settings.get_profile("nightly").database is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dev", "nightly"])
def test_a_profile_undoes_what_hypothesis_chooses_on_a_build_server(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("KNOWNSTATE_PROFILE", name)
    suite.makepyfile(
        """
        from hypothesis import settings

        def test_the_loaded_profile():
            assert not settings().derandomize
            assert settings().database is not None
        """
    )
    suite.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.slow
def test_hypothesis_own_option_has_the_last_word(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWNSTATE_PROFILE", "ci")
    suite.makepyfile("from hypothesis import settings\ndef test_profile(): assert settings().max_examples == 1000\n")
    suite.runpytest_subprocess("--hypothesis-profile=nightly").assert_outcomes(passed=1)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(pytest.UsageError, match="'weekly' is no profile; choose dev, ci or nightly"):
        profile_name({"KNOWNSTATE_PROFILE": "weekly"})


def test_every_component_can_be_installed_by_the_script_it_names() -> None:
    script = Path(__file__).parents[1].joinpath("scripts", "install-real-components").read_text(encoding="utf-8")
    known = re.search(r"^COMPONENTS=\((.*)\)$", script, re.MULTILINE)
    named = re.findall(r"scripts/install-real-components ([a-z-]+)", CONFTEST)
    assert known is not None
    assert named
    assert set(named) <= set(known.group(1).split())
