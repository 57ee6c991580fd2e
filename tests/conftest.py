"""What every test run shares: the real components some tests need, the Hypothesis profiles, and what did not run.

A test that needs a real program, or a package that is not ours, says `@pytest.mark.real("toxiproxy-server")`. Without
it the test is skipped, and the end of the run says loudly which tier did not run and how to get it. With
KNOWNSTATE_REQUIRE=all (or names separated by commas) it fails instead.
Never here: fixtures of one room (they live in that room's conftest) and anything that starts a server.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

pytest_plugins = ["pytester"]


@dataclass(frozen=True, slots=True)
class Component:
    """A real component: the names its program goes by on PATH, any of which will do, and the command that installs it.

    `module` is the Python module to look for when it is a package; it is found, not imported, and then no program is needed.
    """

    programs: tuple[str, ...]
    install: str
    module: str = ""


COMPONENTS: dict[str, Component] = {
    "toxiproxy-server": Component(("toxiproxy-server",), "scripts/install-real-components toxiproxy-server"),
    "chromium": Component(("chromium", "chromium-browser"), "scripts/install-real-components chromium"),
    "named": Component(("named", "/usr/sbin/named"), "scripts/install-real-components named"),
    "nsupdate": Component(("nsupdate",), "scripts/install-real-components named"),
    "knotd": Component(("knotd", "/usr/sbin/knotd"), "scripts/install-real-components knotd"),
    "smtpd": Component(("smtpd", "/usr/sbin/smtpd"), "scripts/install-real-components smtpd"),
    "kubernetes": Component((), "make test-all (it has an environment of its own)", module="kubernetes"),
    "durastep": Component((), "uv pip install durastep==0.1.0", module="durastep"),
}
"""The names `real(...)` may carry. The programs among them stand in scripts/install-real-components; the packages come with
the `dev` group of pyproject.toml."""

MISSING = "missing-component"
"""Key of the report property that carries a missing component's name. Properties cross from xdist's workers to us."""


@functools.cache
def is_present(name: str) -> bool:
    component = COMPONENTS[name]
    if component.module and importlib.util.find_spec(component.module):
        return True
    return any(shutil.which(program) for program in component.programs)


def is_required(name: str) -> bool:
    required = os.environ.get("KNOWNSTATE_REQUIRE", "").split(",")
    return "all" in required or name in required


def components_of(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("real"):
        yield from mark.args


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Decide before any fixture starts what is not there."""
    for name in components_of(item):
        if name not in COMPONENTS:
            pytest.fail(
                f"real({name!r}) names no component; tests/conftest.py has {', '.join(COMPONENTS)}", pytrace=False
            )
        if is_present(name):
            continue
        if name in os.environ.get("KNOWNSTATE_APART", "").split(","):
            pytest.skip(f"{name} has an environment of its own, and a run there (scripts/test)")
        item.user_properties.append((MISSING, name))
        if is_required(name):
            pytest.fail(f"{name} is required and missing; install it: {COMPONENTS[name].install}", pytrace=False)
        pytest.skip(f"{name} is missing; install it: {COMPONENTS[name].install}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tiers that did not run: missing components, and what the caller (scripts/test) left out."""
    rows = [*missing_tiers(terminalreporter), *tiers_left_out()]
    if not rows:
        return
    terminalreporter.section("TIERS THAT DID NOT RUN", sep="!", red=True, bold=True)
    for tier, extent, command in rows:
        terminalreporter.line(f"{tier}: {extent}. To run it: {command}", yellow=True)


def missing_tiers(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, str, str]]:
    reports = [
        r for kind in ("skipped", "error") for r in reporter.stats.get(kind, ()) if isinstance(r, pytest.TestReport)
    ]
    counts = Counter(name for r in reports for key, name in r.user_properties if key == MISSING)
    for name, tests_count in sorted(counts.items()):
        yield str(name), f"{tests_count} test{'s' if tests_count > 1 else ''} not run", COMPONENTS[str(name)].install


def tiers_left_out() -> Iterator[tuple[str, str, str]]:
    for line in os.environ.get("KNOWNSTATE_LEFT_OUT", "").splitlines():
        tier, _, command = line.partition("\t")
        yield tier, "the whole tier not run", command


def register_profiles(examples_folder: Path) -> None:
    """`dev` for people, `ci` for a change under review, `nightly` for finding new things.

    `ci` repeats the same cases, so that a red run is about the change and not about luck. For that very reason it finds
    nothing new and saves nothing: `nightly` sets both the other way, explicitly, since on a build server Hypothesis
    starts from its own `ci`.
    """
    examples = DirectoryBasedExampleDatabase(examples_folder)
    settings.register_profile("dev", deadline=None, derandomize=False, database=examples)
    settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
    settings.register_profile(
        "nightly", deadline=None, derandomize=False, database=examples, print_blob=True, max_examples=1000
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load a profile. First of all plugins, so that Hypothesis's own `--hypothesis-profile` has the last word."""
    register_profiles(config.rootpath / ".hypothesis" / "examples")
    settings.load_profile(profile_name(os.environ))


def profile_name(environment: Mapping[str, str]) -> str:
    """The profile KNOWNSTATE_PROFILE names; without it `ci` on a build server and `dev` elsewhere."""
    name = environment.get("KNOWNSTATE_PROFILE") or ("ci" if environment.get("CI") else "dev")
    if name not in ("dev", "ci", "nightly"):
        raise pytest.UsageError(f"KNOWNSTATE_PROFILE={name!r} is no profile; choose dev, ci or nightly")
    return name
