"""The pytest plugin: scenario files and the `knownstate` marker become test items.

Here: options, collection, the fixture and the summary; `sweeps.py` cuts a scenario into cases, `runs.py` runs one and
tells its failure. Never here: an import at module level but pytest and the standard library, since every pytest run of
every project that has knownstate installed loads this file.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from harness.model.workflow import Scenario
    from harness.pytest_plugin.runs import KnownstateRun
    from harness.pytest_plugin.sweeps import Case, Sweep

SUFFIX = ".scenario.yaml"
MARKER = "knownstate(scenario, candidate='module:factory'): sweep a candidate; the test asks for `knownstate_run`"
ITEMS = ("boundary", "family")
SWEEPS = pytest.StashKey[dict[tuple[str, str], "Sweep"]]()
"""Scenario file and candidate -> their sweep: made once in a process."""
SHADOW = pytest.StashKey[str]()
"""What hides one of our packages, or "" when nothing does."""


# -- options ----------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("knownstate", "fault injection into transaction layers")
    group.addoption("--knownstate-candidate", metavar="MODULE:FACTORY", help="the candidate to test")
    group.addoption("--knownstate-seed", type=int, metavar="N", help="seed of the business targets, if not the file's")
    group.addoption("--knownstate-shard", type=_shard, default=(1, 1), metavar="I/N", help="run one of N equal shares")
    group.addoption("--knownstate-items", choices=ITEMS, help="one item for each boundary x fault, or fault family")
    parser.addini("knownstate_candidate", "the candidate to test, module:factory", default="")
    parser.addini("knownstate_items", "boundary (default) or family", default="boundary")


def _shard(text: str) -> tuple[int, int]:
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with 1 <= I <= N, for instance 2/4")
    return int(index), int(count)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.stash[SWEEPS] = {}
    if config.getini("knownstate_items") not in ITEMS:
        said = config.getini("knownstate_items")
        raise pytest.UsageError(f"knownstate_items is {said!r}; the allowed values are {' and '.join(ITEMS)}")


def pytest_unconfigure(config: pytest.Config) -> None:
    for sweep in config.stash.get(SWEEPS, {}).values():
        sweep.bench.close()


# -- collection -------------------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name.endswith(SUFFIX):
        return cast(pytest.Collector, ScenarioFile.from_parent(parent, path=file_path))
    return None


class ScenarioFile(pytest.File):
    """A scenario file: its items sweep the candidate of the options."""

    def collect(self) -> Iterable[pytest.Item]:
        if not _shadow(self.config):
            for case in _cases(self.config, self.path, _candidate(self.config)):
                yield ScenarioItem.from_parent(self, name=case.name, case=case)


class ScenarioItem(pytest.Item):
    """One case of a scenario file."""

    def __init__(self, *, case: Case, **kwargs: Any) -> None:
        from harness.pytest_plugin.runs import KnownstateRun

        super().__init__(**kwargs)
        self._run = KnownstateRun(case, self)

    def runtest(self) -> None:
        self._run.check()

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.path.name.removesuffix(SUFFIX)}::{self.name}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `knownstate_run` gets one id for each case of the scenario its marker names."""
    if "knownstate_run" in metafunc.fixturenames:
        cases = [] if _shadow(metafunc.config) else _marked(metafunc)
        ids = [f"{case.sweep.scenario.id}/{case.name}" for case in cases]
        metafunc.parametrize("knownstate_run", cases, ids=ids, indirect=True)


def _marked(metafunc: pytest.Metafunc) -> list[Case]:
    marker = metafunc.definition.get_closest_marker("knownstate")
    asked = _asked(*marker.args, **marker.kwargs) if marker else None
    if asked is None:
        said = f"{metafunc.definition.nodeid} asks for knownstate_run, and its marker names no scenario."
        raise pytest.Collector.CollectError(f"{said}\nNext: @pytest.mark.{MARKER.partition(':')[0]}")
    scenario, candidate = asked
    place = _place(scenario, metafunc.definition.path.parent, metafunc.config)
    try:
        return _cases(metafunc.config, place, candidate or _candidate(metafunc.config))
    except pytest.skip.Exception as skipped:  # it would skip the whole module, its other tests too
        raise pytest.Collector.CollectError(str(skipped)) from None


def _asked(scenario: object = None, candidate: str = "", **unknown: object) -> tuple[str, str] | None:
    return None if scenario is None or unknown else (str(scenario), candidate)


def _place(scenario: str, beside: Path, config: pytest.Config) -> Path:
    """The scenario's file: a path from the test's folder, or a name from there, from `scenarios`, or as shipped."""
    from harness.pytest_plugin.runs import plainly
    from harness.scenario_files.loader import find

    if (beside / scenario).is_file():
        return beside / scenario
    with plainly(pytest.Collector.CollectError):
        return find(scenario, (beside, config.rootpath, config.rootpath / "scenarios"))


def _candidate(config: pytest.Config) -> str:
    from harness.candidates.loading import REFERENCE

    return config.getoption("knownstate_candidate") or config.getini("knownstate_candidate") or REFERENCE


def _cases(config: pytest.Config, path: Path, candidate: str) -> list[Case]:
    from harness.pytest_plugin.runs import plainly

    sweeps = config.stash[SWEEPS]
    sweep = sweeps.get((str(path), candidate))
    if sweep is None:
        with plainly(pytest.Collector.CollectError):
            sweep = sweeps[str(path), candidate] = _sweep(config, path, candidate)
    return sweep.cases()


def _sweep(config: pytest.Config, path: Path, candidate: str) -> Sweep:
    from harness.pytest_plugin.sweeps import Sweep

    scenario = _scenario(path, config.getoption("knownstate_seed"))
    if "simulation" not in scenario.rigs:
        pytest.skip(f"{scenario.id} runs on {', '.join(scenario.rigs)} only; items run on the simulation rig")
    items = config.getoption("knownstate_items") or config.getini("knownstate_items")
    folder = _histories(config) / f"sweep-{len(config.stash[SWEEPS])}"
    return Sweep(scenario, candidate, folder, config.getoption("knownstate_shard"), items)


def _scenario(path: Path, seed: int | None) -> Scenario:
    """A pinned schedule has its own seed; another one would give it other targets."""
    from harness.scenario_files.loader import load

    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    scenario = load(shown)
    return scenario if seed is None or scenario.schedule else load(shown, seed)


def _histories(config: pytest.Config) -> Path:
    """Where histories are written before they are judged: pytest's folder of this run, kept as it keeps tmp_path.

    Fixtures are not there yet while pytest collects, hence the attribute that the fixture itself reads.
    """
    factory: pytest.TempPathFactory | None = getattr(config, "_tmp_path_factory", None)
    base = factory.getbasetemp() if factory is not None else Path(tempfile.mkdtemp(prefix="knownstate-"))
    return base / "knownstate"


def _shadow(config: pytest.Config) -> str:
    """What hides one of our packages, asked before the first of them is used. An xdist worker cannot end the session."""
    from harness.model.errors import KnownstateError
    from harness.rooms import check_rooms

    if SHADOW not in config.stash:
        try:
            check_rooms()
            config.stash[SHADOW] = ""
        except KnownstateError as error:
            config.stash[SHADOW] = str(error)
    if config.stash[SHADOW] and _is_worker(config):
        raise pytest.Collector.CollectError(config.stash[SHADOW])
    return config.stash[SHADOW]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Say what hides our packages when collection is over: raised within, it would count as a broken test file."""
    try:
        return (yield)
    finally:
        said = session.config.stash.get(SHADOW, "")
        if said and not _is_worker(session.config):
            raise pytest.UsageError(said)


# -- the fixture and the summary --------------------------------------------------------------------------------------


@pytest.fixture
def knownstate_run(request: pytest.FixtureRequest) -> KnownstateRun:
    """One boundary x fault of the scenario that the marker names; `knownstate_run.check()` is a whole test."""
    from harness.pytest_plugin.runs import KnownstateRun

    return KnownstateRun(request.param, request.node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One replay line for each failure."""
    noted = [dict(report.user_properties) for report in terminalreporter.stats.get("failed", ())]
    commands = dict.fromkeys(str(note["replay"]) for note in noted if {"replay", "schedule"} <= note.keys())
    if commands:
        terminalreporter.section("knownstate: to see a failure again")
        for command in commands:
            terminalreporter.line(command)
