"""The start-up check: which path hides one of our packages?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentMissing, UsageError
from harness.rooms import check_rooms

CHECK = """
import sys
from harness.rooms import check_rooms
try:
    check_rooms()
except Exception as error:
    print(type(error).__name__, error)
print(sorted({"fakes", "reference_ledger", "scenarios"} & set(sys.modules)))
"""


def check_in(folder: Path) -> str:
    """What the check says in a new interpreter that is started in `folder` and looks there first."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", CHECK], cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_our_own_rooms_are_under_one_root() -> None:
    check_rooms()


def test_a_scenarios_package_in_the_current_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "__init__.py").touch()
    said = check_in(tmp_path)
    assert "UsageError `scenarios`" in said
    assert str(tmp_path.resolve() / "scenarios") in said
    assert "Rename it" in said


def test_a_module_hides_a_room_as_well(tmp_path: Path) -> None:
    (tmp_path / "fakes.py").touch()
    assert f"`fakes` is {tmp_path.resolve() / 'fakes.py'}" in check_in(tmp_path)


def test_a_folder_of_scenario_files_without_init_hides_nothing_and_no_room_is_imported(tmp_path: Path) -> None:
    """The nearest neighbour: Python prefers our package to a plain folder of the same name, wherever that stands."""
    (tmp_path / "scenarios").mkdir()
    assert check_in(tmp_path).strip() == "[]"


def test_another_root_is_told_from_ours(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which hides knownstate's own"):
        check_rooms(("harness",), root=str(tmp_path))


def test_a_room_that_is_nowhere_is_missing() -> None:
    with pytest.raises(EnvironmentMissing, match="`no_such_room` cannot be found"):
        check_rooms(("no_such_room",))
