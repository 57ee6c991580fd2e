"""The command in this process, and in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness import cli
from tests.campaign.stage import TINY

SCRIPT = Path(sys.executable).with_name("knownstate")


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's own, with a scenario in it, as the current one."""
    (tmp_path / "tiny.scenario.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def knownstate(here: Path, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs a command here; there is never a traceback."""

    def command(*arguments: object) -> Said:
        code = cli.run([str(a) for a in arguments])
        said = Said(code, *capfd.readouterr())
        assert "Traceback" not in said.out + said.err
        return said

    return command


@pytest.fixture
def shell(here: Path) -> Command:
    """Runs the console script itself."""

    def command(*arguments: object, **options: object) -> Said:
        words = [str(SCRIPT), *map(str, arguments)]
        env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        usual: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": env, **options}
        done = subprocess.run(words, text=True, timeout=60, cwd=here, **usual)
        said = Said(done.returncode, done.stdout or "", done.stderr)
        assert "Traceback" not in said.out + said.err
        return said

    return command
