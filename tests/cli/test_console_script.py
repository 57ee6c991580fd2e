"""The console script as a process: its streams, its signals, its death, and what it leaves behind."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.store.history_file import read_all
from tests.campaign.stage import TINY
from tests.cli.conftest import SCRIPT, Command

pytestmark = pytest.mark.slow
OWN = "long.scenario.yaml"
LONG = TINY.replace("id: tiny", "id: long").replace("faults: [crash, lost-response, lost-request]", "faults: all")


@pytest.fixture(autouse=True)
def long(here: Path) -> None:
    """Some hundred schedules, so that there is a middle to be stopped in."""
    (here / OWN).write_text(LONG)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The result of a campaign that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / OWN).write_text(LONG)
    done = subprocess.run([SCRIPT, "run", OWN, "--out", "out", "-j", "2"], cwd=folder, capture_output=True, timeout=120)
    assert done.returncode == 0
    return json.loads((folder / "out" / "result.json").read_bytes())


def begun(here: Path, *options: str) -> subprocess.Popen[str]:
    """A campaign in a session of its own, waited for until it is in the middle of its second round."""
    words = [str(SCRIPT), "run", OWN, "--out", "out", *options]
    process = subprocess.Popen(
        words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    rounds = 0
    for line in process.stdout:
        rounds += line.startswith("100 %")
        if rounds and line[:2] in ("30", "40", "50", "60"):
            break
    return process


def alive_in(session: int) -> list[int]:
    """Processes of this session that are not zombies."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = place.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if own == str(session) and state != "Z":
            found.append(int(place.parent.name))
    return found


def rows(here: Path) -> Any:
    return json.loads((here / "out" / "result.json").read_bytes())["rows"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_was_done_and_resume_completes_it(here: Path, shell: Command, whole: Any, jobs: str) -> None:
    process = begun(here, "--jobs", jobs)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody at once
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert "Interrupted. What was done" in err
    assert "Where: out." in err
    assert f"knownstate run {OWN} --out out --jobs {jobs} --resume" in err
    assert alive_in(process.pid) == []
    stopped = json.loads((here / "out" / "result.json").read_bytes())
    assert (stopped["ended"], stopped["exit_code"]) == ("interrupted", 130)
    assert "interrupted" in (here / "out" / "report.html").read_text()
    assert 0 < len(stopped["rows"]) < len(whole["rows"])
    assert shell("run", OWN, "--out", "out", "--jobs", jobs, "--resume").code == 0
    assert rows(here) == whole["rows"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_campaign_leaves_nobody_behind_and_resumes(here: Path, shell: Command, whole: Any, jobs: str) -> None:
    process = begun(here, "--jobs", jobs)
    children = [pid for pid in alive_in(process.pid) if pid != process.pid]
    assert len(children) == (2 if jobs == "2" else 0)
    watched = [os.pidfd_open(pid) for pid in children]
    process.kill()
    process.communicate(timeout=60)
    for descriptor in watched:
        assert _has_ended(descriptor)
    assert shell("run", OWN, "--out", "out", "--jobs", jobs, "--resume").code == 0
    assert rows(here) == whole["rows"]
    made = Counter(h.header.schedule for part in (here / "out").glob("histories/*") for h in read_all(part))
    assert made.keys() == {"long:seed=0:", *(row["schedule"] for row in whole["rows"])}
    assert set(made.values()) == {1}


def _has_ended(descriptor: int) -> bool:
    ready, _, _ = select.select([descriptor], [], [], 10)
    os.close(descriptor)
    return bool(ready)


def test_a_second_ctrl_c_does_not_wait(here: Path) -> None:
    (here / "stuck_ledger.py").write_text(STUCK)
    words = [str(SCRIPT), "run", OWN, "--out", "out", "-c", "stuck_ledger:factory"]
    process = subprocess.Popen(words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("control:")
    assert process.stderr.readline() == "stuck\n"
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline() == "\n"
    assert process.stderr.readline().startswith("Interrupted: what is under way is finished")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert (here / "out" / "report.html").is_file()


STUCK = '''
import sys
from reference_ledger.ledger import ReferenceLedger

starts = 0

class Stuck(ReferenceLedger):
    """Works once, and then never comes back."""

    def start(self, handles):
        global starts
        starts += 1
        if starts > 1:
            print("stuck", file=sys.stderr, flush=True)
            while True:
                pass
        return super().start(handles)

def factory():
    return Stuck()
'''


# -- streams ------------------------------------------------------------------------------------------------------------------


def piped_to_head(here: Path, *arguments: str) -> tuple[int, str, str]:
    """The exit code of a command whose reader goes away after one line."""
    process = subprocess.Popen(
        [str(SCRIPT), *arguments], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    first = process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    return process.wait(timeout=60), first, err


def test_a_reader_that_goes_away_changes_neither_files_nor_exit_code(here: Path) -> None:
    code, first, err = piped_to_head(here, "run", "tiny.scenario.yaml", "--out", "out")
    assert (code, err) == (0, "")
    assert first.startswith("control: holds")
    assert (here / "out" / "result.json").is_file()


def test_a_list_whose_reader_goes_away_says_nothing_of_it(here: Path) -> None:
    assert piped_to_head(here, "list", "faults") == (0, "crash\n", "")


def test_a_full_output_is_an_error_of_the_environment(shell: Command) -> None:
    with open("/dev/full", "w") as full:
        said = shell("list", "faults", stdout=full)
    assert said.code == 4
    assert said.err == (
        "knownstate: The output cannot be written: No space left on device. Where: standard output. Next: give it room.\n"
    )


def test_closed_streams_keep_no_campaign_from_its_folder(here: Path) -> None:
    done = subprocess.run(["sh", "-c", f"'{SCRIPT}' run tiny.scenario.yaml --out out >&- 2>&-"], cwd=here, timeout=60)
    assert done.returncode == 0
    assert (here / "out" / "result.json").is_file()


def test_a_disk_that_is_full_in_mid_campaign_is_named_and_what_was_done_is_kept(here: Path, shell: Command) -> None:
    """The limit on a file's size does to a write what a full disk does."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))

    said = shell("run", OWN, "--out", "out", preexec_fn=small_files)
    assert said.code == 4
    assert "Cannot write out/histories/part-0.jsonl.gz: File too large." in said.err
    assert "kept in out, for --resume" in said.err
    assert shell("run", OWN, "--out", "out", "--resume").code == 0


def test_colours_are_for_terminals_only(shell: Command) -> None:
    assert "\x1b" not in shell("list", "scenarios").out


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_has_colours_unless_it_wants_none(here: Path, setting: dict[str, str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | setting | {"TERM": "xterm"}
    done = subprocess.run([SCRIPT, "list", "guarantees"], cwd=here, stdout=theirs, env=env, timeout=60)
    os.close(theirs)
    assert done.returncode == 0
    assert ("\x1b[" in os.read(ours, 4096).decode()) is coloured
    os.close(ours)


# -- start --------------------------------------------------------------------------------------------------------------------


def test_the_version_is_said_without_loading_anything(here: Path) -> None:
    code = "import sys; sys.argv[1:] = ['--version']; from harness.cli import main; main(); print(sorted(sys.modules))"
    done = subprocess.run([SCRIPT.with_name("python"), "-c", code], capture_output=True, text=True, timeout=60)
    first, modules = done.stdout.splitlines()
    assert first.startswith("knownstate ")
    assert not {"'click'", "'sqlalchemy'", "'rich'", "'pydantic'", "'typing'"} & set(modules.strip("[]").split(", "))


def test_a_command_loads_only_what_it_needs(here: Path) -> None:
    code = "import sys; from harness.cli import run; run(['list', 'faults']); print(sorted(sys.modules))"
    done = subprocess.run([SCRIPT.with_name("python"), "-c", code], capture_output=True, text=True, timeout=60)
    assert not {"'sqlalchemy'", "'faker'", "'pydantic'"} & set(done.stdout.splitlines()[-1].strip("[]").split(", "))


def test_folders_of_the_user_with_our_names_do_no_harm(here: Path, shell: Command) -> None:
    for name in ("scenarios", "fakes", "harness", "reference_ledger"):
        (here / name).mkdir()
        (here / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    (here / "my_ledger.py").write_text("from reference_ledger import factory\n")
    assert shell("run", "tiny.scenario.yaml", "-c", "my_ledger:factory", "--max-schedules", "2").code == 3


def test_a_candidate_in_the_current_folder_is_found_on_several_processes(here: Path, shell: Command) -> None:
    (here / "my_ledger.py").write_text("from reference_ledger import factory\n")
    said = shell("run", "tiny.scenario.yaml", "-c", "my_ledger:factory", "--jobs", "2")
    assert said.code == 0, said.err
