"""The house is tidy: every rule of tests/house_rules.py holds for every file, and every rule can fail.

Each rule has two tests: one on this repository, and one on small texts it must refuse, together with their nearest
neighbours that it must not.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import house_rules as rules
from tests.house_rules import Rule, Source

ROOT = Path(__file__).parents[1]

LONG_FUNCTIONS: dict[str, str] = {}
"""`path::function` -> why it is longer than a screen and stays so. Empty is best."""


@functools.cache
def house() -> tuple[Source, ...]:
    return tuple(rules.read_house(ROOT))


def python_files() -> list[Source]:
    return [source for source in house() if source.path.endswith(".py")]


def broken(rule: Rule, sources: Iterable[Source]) -> str:
    """Everything a rule finds, one finding a line: the assertion's message."""
    return "\n".join(["", *(finding for source in sources for finding in rule(source))]).rstrip()


def stays_tidy(findings: str) -> None:
    """Fail with the findings alone: whoever broke a rule needs the place and the advice, not our stack."""
    if findings:
        pytest.fail(findings, pytrace=False)


def refuses(rule: Rule, path: str, text: str) -> bool:
    findings = list(rule(Source(path, text)))
    assert all(finding.startswith(f"{path}:") for finding in findings), "a finding begins with the place to go to"
    return bool(findings)


# --- imports -------------------------------------------------------------------------------------------------------


def test_imports_run_one_way() -> None:
    stays_tidy(broken(rules.imports_run_one_way, python_files()))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("harness/model/a.py", "import orjson"),
        ("harness/model/a.py", "from harness.judge import registry"),
        ("harness/model/a.py", "from ..judge import registry"),
        ("harness/model/a.py", "def f():\n    import harness.cli"),
        ("harness/explore/a.py", "from harness.rigs.simulation import run"),
        ("harness/judge/a.py", "from fakes.core import journal"),
        ("harness/judge/a.py", "import reference_ledger"),
        ("harness/report/a.py", "import sqlalchemy"),
        ("harness/report/a.py", "from harness.judge import registry"),
        ("harness/scenario_files/a.py", "from harness.rigs import simulation"),
        ("harness/rigs/a.py", "from harness.report import html"),
        ("harness/store/a.py", "from harness import bootstrap"),
        ("harness/inject/a.py", "from reference_ledger import ledger"),
        ("fakes/billing/a.py", "from harness.judge import registry"),
        ("reference_ledger/a.py", "from harness.candidates import loading"),
        ("reference_ledger/a.py", "import httpx"),
        ("harness/unheard_of.py", "import os"),
    ],
)
def test_an_import_against_the_direction_is_refused(path: str, text: str) -> None:
    assert refuses(rules.imports_run_one_way, path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("harness/model/a.py", "import json\nfrom harness.model.cell import Cell\nfrom .cell import Cell"),
        ("harness/report/a.py", "import rich.table\nfrom harness.model.event import Event"),
        ("harness/rigs/a.py", "import greenlet\nfrom harness.inject import names\nfrom fakes.core import journal"),
        ("reference_ledger/a.py", "import sqlalchemy\nfrom harness.candidates.contract import Worker"),
        ("harness/cli.py", "from harness import report\nfrom harness.bootstrap import wire"),
    ],
)
def test_an_import_along_the_direction_passes(path: str, text: str) -> None:
    assert not refuses(rules.imports_run_one_way, path, text)


def test_harness_init_imports_nothing() -> None:
    stays_tidy(broken(rules.harness_init_imports_nothing, python_files()))


def test_an_import_in_harness_init_is_refused() -> None:
    assert refuses(rules.harness_init_imports_nothing, "harness/__init__.py", "from harness.model import cell")
    assert not refuses(rules.harness_init_imports_nothing, "harness/model/__init__.py", "import re")


def test_one_file_knows_each_tool() -> None:
    stays_tidy(broken(rules.one_file_knows_each_tool, python_files()))


def test_a_second_file_that_knows_a_tool_is_refused() -> None:
    assert refuses(rules.one_file_knows_each_tool, "harness/rigs/process.py", "from toxiproxy import Toxiproxy")
    assert refuses(rules.one_file_knows_each_tool, "harness/inject/network.py", "import docker.errors")
    assert not refuses(rules.one_file_knows_each_tool, "harness/inject/network.py", "import toxiproxy")


# --- size and names ------------------------------------------------------------------------------------------------


def test_functions_fit_a_screen_or_two() -> None:
    rule = functools.partial(rules.functions_fit, exceptions=LONG_FUNCTIONS)
    stays_tidy(broken(rule, python_files()))


def test_a_function_of_71_lines_is_refused_unless_it_is_excused() -> None:
    longest = "def f():\n" + "    a = 1\n" * 69
    assert not refuses(functools.partial(rules.functions_fit, exceptions={}), "a.py", longest)
    too_long = longest + "    a = 1\n"
    assert refuses(functools.partial(rules.functions_fit, exceptions={}), "a.py", too_long)
    assert not refuses(functools.partial(rules.functions_fit, exceptions={"a.py::f": "a table"}), "a.py", too_long)


def test_every_excuse_for_a_long_function_is_still_needed() -> None:
    long = {name for source in python_files() for name, _, _ in rules.long_functions(source)}
    assert set(LONG_FUNCTIONS) <= long, "remove from LONG_FUNCTIONS what has become short"


def test_files_are_short_or_say_why_not() -> None:
    stays_tidy(broken(rules.files_fit, python_files()))


def test_a_file_of_501_lines_is_refused_unless_its_header_says_why() -> None:
    assert not refuses(rules.files_fit, "a.py", "a = 1\n" * 500)
    assert refuses(rules.files_fit, "a.py", "a = 1\n" * 501)
    assert not refuses(
        rules.files_fit, "a.py", '"""One table.\n\n501 lines because it is one table."""\n' + "a = 1\n" * 501
    )


def test_names_say_something() -> None:
    stays_tidy(broken(rules.names_say_something, house()))


@pytest.mark.parametrize("path", ["harness/utils.py", "fakes/misc/a.py", "tests/http_helpers.py", "harness/manager.py"])
def test_a_name_that_says_nothing_is_refused(path: str) -> None:
    assert refuses(rules.names_say_something, path, "")


def test_a_name_that_merely_contains_such_a_word_passes() -> None:
    assert not refuses(rules.names_say_something, "harness/miscount.py", "")


# --- leftovers and swallowing --------------------------------------------------------------------------------------


def test_nothing_is_left_over() -> None:
    stays_tidy(broken(rules.nothing_is_left_over, house()))


def test_a_leftover_marker_is_refused_in_code_and_papers() -> None:
    assert refuses(rules.nothing_is_left_over, "harness/a.py", "# TO" + "DO: later")
    assert refuses(rules.nothing_is_left_over, "docs/a.md", "a HA" + "CK")
    assert not refuses(rules.nothing_is_left_over, "docs/a.md", "todos los hackers")


def test_tests_do_not_sleep() -> None:
    stays_tidy(broken(rules.tests_do_not_sleep, python_files()))


def test_a_sleep_in_a_test_is_refused() -> None:
    assert refuses(rules.tests_do_not_sleep, "tests/test_a.py", "import time\ntime.sleep(1)")
    assert refuses(rules.tests_do_not_sleep, "tests/test_a.py", "from time import sleep")
    assert not refuses(rules.tests_do_not_sleep, "tests/test_a.py", "handles.sleep_ns(1)")
    assert not refuses(rules.tests_do_not_sleep, "harness/inject/network.py", "import time\ntime.sleep(1)")


def test_nothing_is_swallowed() -> None:
    stays_tidy(broken(rules.nothing_is_swallowed, python_files()))


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept: raise",
        "try: f()\nexcept BaseException: failed = True",
        "try: f()\nexcept (OSError, BaseException): g()",
        "try: f()\nexcept Exception: pass",
        "try: f()\nexcept Exception as error: ...",
        "with contextlib.suppress(Exception): f()",
    ],
)
def test_swallowing_is_refused(text: str) -> None:
    assert refuses(rules.nothing_is_swallowed, "harness/a.py", text)


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept BaseException:\n    close()\n    raise",
        "try: f()\nexcept BaseException as error: outcome = error",
        "try: f()\nexcept Exception as error: log(error)",
        "try: f()\nexcept FileNotFoundError: pass",
        "with contextlib.suppress(FileNotFoundError): f()",
    ],
)
def test_what_is_raised_again_kept_or_narrow_passes(text: str) -> None:
    assert not refuses(rules.nothing_is_swallowed, "harness/a.py", text)


# --- network -------------------------------------------------------------------------------------------------------


def test_nothing_is_fetched_from_afar() -> None:
    stays_tidy(broken(rules.nothing_is_fetched_from_afar, house()))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("harness/a.py", "httpx.get('https://knownstate.io/latest')"),
        ("harness/a.py", "urllib.request.urlopen(f'http://10.0.0.{n}/')"),
        ("harness/a.py", "httpx.Client(base_url='http://billing.com')"),
        ("harness/report/page.html.j2", "<script src='https://cdn.net/a.js'></script>"),
        ("harness/report/page.html", '<link rel="stylesheet" href="//fonts.net/a.css">'),
        ("harness/report/page.css", "background: url(https://a.net/b.png)"),
    ],
)
def test_a_distant_fetch_is_refused(path: str, text: str) -> None:
    assert refuses(rules.nothing_is_fetched_from_afar, path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("harness/a.py", "httpx.get(f'http://127.0.0.1:{port}/health')"),
        ("harness/a.py", "httpx.Client(base_url='http://billing.test')"),
        ("harness/a.py", "schema = 'https://json-schema.org/draft/2020-12/schema'"),
        ("harness/report/page.html.j2", "<a href='https://example.org'>more</a><link href='data:,'>"),
    ],
)
def test_loopback_and_mere_mentions_pass(path: str, text: str) -> None:
    assert not refuses(rules.nothing_is_fetched_from_afar, path, text)


# --- rooms ---------------------------------------------------------------------------------------------------------


def test_rooms_have_signs() -> None:
    stays_tidy("\n".join(rules.rooms_have_signs(house())))


def signs_missing(*sources: Source) -> list[str]:
    signs = [Source(f"{room}/README.md", "here") for room in rules.ROOMS]
    return [finding.split("/:")[0] for finding in rules.rooms_have_signs([*signs, *sources])]


def test_a_room_without_a_sign_is_refused() -> None:
    assert signs_missing() == []
    assert signs_missing(Source("fakes/dns/zone.py", ""), Source("fakes/dns/__init__.py", "")) == ["fakes/dns"]
    assert signs_missing(Source("fakes/dns/zone.py", ""), Source("fakes/dns/__init__.py", '"""A zone."""')) == []
    assert signs_missing(Source("fakes/dns/zone.py", ""), Source("fakes/dns/README.md", "A zone.")) == []
    assert "reports" in "".join(rules.rooms_have_signs([]))


def test_test_folders_are_packages() -> None:
    stays_tidy("\n".join(rules.folders_of_tests_are_packages(house())))


def test_a_test_folder_that_is_no_package_is_refused() -> None:
    bare, init = Source("tests/fakes/test_a.py", ""), Source("tests/fakes/__init__.py", '"""Fakes."""')
    assert list(rules.folders_of_tests_are_packages([bare]))
    assert not list(rules.folders_of_tests_are_packages([bare, init]))


# --- the rules see the house ---------------------------------------------------------------------------------------


def test_the_rules_see_every_kind_of_file() -> None:
    """A walk that finds nothing would let every rule pass."""
    paths = {source.path for source in house()}
    assert {"harness/model/cell.py", "tests/test_house.py", "Makefile", "scripts/bootstrap", "pyproject.toml"} <= paths
    assert len(python_files()) > 20


def test_the_rules_do_not_see_what_tools_leave_behind(tmp_path: Path) -> None:
    for place in ("docs/a.md", "docs/.ruff_cache/b", "docs/__pycache__/c.py", "reports/README.md"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("text")
    assert [source.path for source in rules.read_house(tmp_path)] == ["docs/a.md", "reports/README.md"]


def test_every_door_leads_to_a_room_that_exists() -> None:
    gone = [d for d in rules.DOORS if not list(ROOT.glob(d.replace(".", "/") + "*"))]
    assert not gone, f"remove from DOORS (tests/house_rules.py) what is gone: {gone}"
