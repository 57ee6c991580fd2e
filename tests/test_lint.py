"""Style, format and types are tests like any other: a change that breaks them is red in the same run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ("scripts/test",)
"""Python files without an ending, which the tools do not find by themselves."""
BIN = Path(sys.executable).parent
SECONDS_MAX = 300


def complaints(program: str, *arguments: str) -> str:
    """What a tool prints when it is not content, else ""."""
    command = [str(BIN / program), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    return "" if done.returncode == 0 else f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def is_content(program: str, *arguments: str, advice: str = "") -> None:
    if said := complaints(program, *arguments):
        pytest.fail(f"{said}{advice}", pytrace=False)


def test_ruff_finds_nothing() -> None:
    is_content("ruff", "check", "--no-fix", "--output-format", "concise", ".", *SCRIPTS)


def test_every_file_is_formatted() -> None:
    is_content("ruff", "format", "--check", "--output-format", "concise", ".", *SCRIPTS, advice="Run `ruff format .`")


def test_types_fit() -> None:
    is_content("mypy")


def test_the_scripts_types_fit() -> None:
    is_content("mypy", "--scripts-are-modules", "--cache-dir", ".mypy_cache/scripts", *SCRIPTS)


def test_a_tool_that_complains_is_heard(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import os\n", encoding="utf-8")
    assert "F401" in complaints("ruff", "check", "--isolated", "--no-fix", "--no-cache", str(bad))
