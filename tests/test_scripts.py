"""The scripts a stranger meets first: bootstrap, the test runner, the installer of real components."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("cat", "cksum", "dirname", "mkdir", "rm")
"""What bootstrap needs of a POSIX system, beside its shell."""
UV = """#!/bin/sh
[ "$1" = --version ] && exit
echo "$*" >>uv-calls
mkdir -p "$UV_PROJECT_ENVIRONMENT/bin"
printf '#!/bin/sh\\n' >"$UV_PROJECT_ENVIRONMENT/bin/python"
/bin/chmod +x "$UV_PROJECT_ENVIRONMENT/bin/python"
"""
"""A stand-in for uv: it notes its arguments and makes an environment with an interpreter in it."""


def place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with only what bootstrap reads, and a `bin` that will be all of PATH."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "scripts" / "bootstrap", tmp_path / "scripts")
    for name in ("uv.lock", "pyproject.toml"):
        (tmp_path / name).write_text("as locked", encoding="utf-8")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"a POSIX system has {tool}"
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def bootstrap(checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "scripts/bootstrap"],
        cwd=checkout,
        env={"PATH": str(checkout / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )


def uv_calls(checkout: Path) -> list[str]:
    return (checkout / "uv-calls").read_text(encoding="utf-8").splitlines()


def test_bootstrap_without_any_python_says_what_where_next_and_exits_4(checkout: Path) -> None:
    done = bootstrap(checkout)
    assert done.returncode == 4
    assert "no Python 3.11 or newer was found" in done.stderr
    assert "Where: PATH" in done.stderr
    assert "Next:  install one" in done.stderr


def test_bootstrap_passes_over_an_interpreter_that_does_not_work(checkout: Path) -> None:
    place(checkout / "bin" / "uv", UV)
    place(checkout / "bin" / "python3", "#!/bin/sh\nexit 127\n")
    (checkout / "bin" / "python3.12").symlink_to(sys.executable)
    assert bootstrap(checkout).returncode == 0
    assert uv_calls(checkout)[0].startswith("sync --frozen --python ")


def test_a_second_bootstrap_does_nothing_until_the_lock_changes(checkout: Path) -> None:
    place(checkout / "bin" / "uv", UV)
    assert [bootstrap(checkout).returncode for _ in range(2)] == [0, 0]
    assert len(uv_calls(checkout)) == 1
    (checkout / "uv.lock").write_text("locked anew", encoding="utf-8")
    assert bootstrap(checkout).returncode == 0
    assert len(uv_calls(checkout)) == 2


def test_a_deleted_environment_is_made_again(checkout: Path) -> None:
    place(checkout / "bin" / "uv", UV)
    bootstrap(checkout)
    shutil.rmtree(checkout / ".venv")
    bootstrap(checkout)
    assert len(uv_calls(checkout)) == 2


def test_a_failed_sync_leaves_no_stamp_and_exits_4(checkout: Path) -> None:
    place(checkout / "bin" / "uv", UV + "exit 1\n")
    done = bootstrap(checkout)
    assert done.returncode == 4
    assert "the locked packages could not be installed" in done.stderr
    assert not (checkout / ".venv" / ".bootstrapped").exists()


@pytest.fixture
def runner() -> ModuleType:
    """scripts/test as a module; it has no ending, so the import system has to be told what it is."""
    loader = SourceFileLoader("scripts_test", str(ROOT / "scripts" / "test"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(loader.get_data(loader.path), loader.path, "exec"), module.__dict__)
    return module


def test_an_interpreter_that_does_not_answer_is_not_found(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    place(tmp_path / "python3.99", "#!/bin/sh\nexit 127\n")
    assert runner.find_interpreter("3.99") is None
    place(tmp_path / "python3.99", "#!/bin/sh\necho 3.99\n")
    assert runner.find_interpreter("3.99") == str(tmp_path / "python3.99")


def test_a_version_that_is_not_run_is_named_with_its_command(runner: ModuleType) -> None:
    found = {"3.12": "/python3.12", "3.13": None}
    assert "Python 3.12\tmake test-all" in list(runner.left_out(found, run_all=False))
    assert list(runner.left_out(found, run_all=True)) == [
        "Python 3.13 (not found)\tinstall Python 3.13, then make test-all"
    ]


@pytest.mark.parametrize(
    ("sound", "twin", "code"),
    [(0, 0, 0), (1, 0, 1), (0, 1, 1)],
    ids=["the sound ledger holds and the twin is caught", "the sound ledger fails", "the twin is missed"],
)
def test_the_first_run_succeeds_only_if_both_runs_do(checkout: Path, sound: int, twin: int, code: int) -> None:
    shutil.copy(ROOT / "scripts" / "first-run", checkout / "scripts")
    (checkout / ".venv" / "bin").mkdir(parents=True)
    command = f'#!/bin/sh\ncase "$*" in *blind_retry*) exit {twin};; *) exit {sound};; esac\n'
    place(checkout / ".venv" / "bin" / "knownstate", command)
    done = subprocess.run(["/bin/sh", "scripts/first-run"], cwd=checkout, capture_output=True, check=False)
    assert done.returncode == code


def install(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "install-real-components"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_installer_lists_presence_and_command_of_every_component() -> None:
    lines = install("--list").stdout.splitlines()
    assert {line.split()[0] for line in lines} >= {"toxiproxy-server", "chromium"}
    for name, state, *command in (line.split() for line in lines):
        assert state in ("present", "missing"), name
        assert command, name


def test_the_installer_refuses_an_unknown_name_with_the_known_ones() -> None:
    done = install("toxiproxi")
    assert done.returncode == 2
    assert "'toxiproxi' is no component" in done.stderr
    assert "toxiproxy-server" in done.stderr
