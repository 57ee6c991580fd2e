"""`knownstate fakes`: what a person or a script that only wants a server gets."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.catalogue import FACES, faces
from tests.cli.conftest import SCRIPT, Command

LIMIT_S = 60


@contextmanager
def up(folder: Path, *arguments: object) -> Iterator[tuple[dict[str, Any], subprocess.Popen[str]]]:
    """The fakes in a process of their own: what they printed with --json, and the process."""
    words = [str(SCRIPT), "fakes", "up", "--json", "--state", str(folder), *map(str, arguments)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        yield json.loads(line), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)


def access(entries: dict[str, Any], **more: Any) -> httpx.Response:
    return httpx.put(entries["access"]["url"] + "/grants/ada/admin", json={}, timeout=10, **more)


@pytest.mark.slow
def test_all_fakes_come_up_say_where_they_are_and_go_when_they_are_told(tmp_path: Path) -> None:
    with up(tmp_path) as (entries, process):
        assert set(entries) == set(FACES)
        for name, entry in entries.items():
            assert httpx.get(entry["control"]).json()["name"] == name
            assert "url" in entry or {"host", "port"} <= set(entry) or "smtp" in entry, entry
            assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", variable) for variable in entry["env"])
        assert entries["payment"]["env"].get("STRIPE_API_BASE", "").startswith("http://127.0.0.1:")
        assert {"host", "port", "zone", "tsig"} <= set(entries["dns"])
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 0
    assert not (tmp_path / "street.json").exists()


@pytest.mark.slow
def test_a_hook_given_at_the_start_loses_a_response_and_the_journal_shows_it(tmp_path: Path, shell: Command) -> None:
    with up(tmp_path, "--only", "access", "--hook", "access: after-commit = reset") as (entries, _):
        with pytest.raises(httpx.TransportError):
            access(entries)
        assert access(entries).status_code < 300
        said = shell("fakes", "journal", "--state", tmp_path, "--no-follow")
    assert said.code == 0
    assert re.search(r"hook-fired .*point=after-commit action=reset", said.out)
    assert "access: 2 arrivals, 1 commits, 1 responses, 0 caller views" in said.out


@pytest.mark.slow
def test_hooks_are_armed_listed_and_cleared_from_the_shell(tmp_path: Path, shell: Command) -> None:
    with up(tmp_path, "--only", "access") as (entries, _):
        assert shell("fakes", "hook", "access", "before-commit = status:503", "--state", tmp_path).out == "hook-1\n"
        assert access(entries).status_code == 503
        assert "fired 1" in shell("fakes", "hook", "access", "--state", tmp_path).out
        assert shell("fakes", "hook", "access", "--clear", "--state", tmp_path).code == 0
        wrong = shell("fakes", "hook", "access", "nowhere = reset", "--state", tmp_path)
        assert (wrong.code, "is no point" in wrong.err) == (2, True)
        assert shell("fakes", "hook", "dns", "--state", tmp_path).code == 2


@pytest.mark.slow
def test_what_was_kept_is_there_the_next_time(tmp_path: Path) -> None:
    with up(tmp_path, "--only", "access") as (entries, _):
        access(entries)
        before = httpx.get(entries["access"]["control"] + "/state").json()
    with up(tmp_path, "--only", "access") as (entries, _):
        assert httpx.get(entries["access"]["control"] + "/state").json() == before


@pytest.mark.slow
def test_a_fake_that_is_killed_is_back_and_its_parent_says_so(tmp_path: Path) -> None:
    with up(tmp_path, "--only", "access", "--hook", "access: after-commit = crash") as (entries, process):
        with pytest.raises(httpx.TransportError):
            access(entries)
        assert access(entries).status_code < 300
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=LIMIT_S)
    assert "access died and is started again on its journal (restart 1)" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "payments"], "Did you mean 'payment'?"),
        (["--only", "access", "--port", "access=notaport"], "is no port of access"),
        (["--only", "access", "--port", "access.smtp=25"], "is no port of access"),
        (["--only", "access", "--set", "access.colour=red"], "access.colour cannot be set"),
        (["--only", "access", "--set", "access.cell=red"], "cell"),
        (["--only", "access", "--set", "dns.cell=red"], "not started"),
        (["--only", "access", "--hook", "access: nowhere = reset"], "is no point"),
        (["--only", "access", "--hook", "nowhere"], "not started"),
    ],
)
def test_what_cannot_be_meant_is_said_with_exit_code_2(knownstate: Command, arguments: list[str], said: str) -> None:
    outcome = knownstate("fakes", "up", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert "Next:" in outcome.err


def test_a_state_folder_that_cannot_be_is_an_environment_error(knownstate: Command, here: Path) -> None:
    (here / "file").write_text("")
    outcome = knownstate("fakes", "up", "--only", "access", "--state", here / "file" / "below")
    assert (outcome.code, "cannot be made" in outcome.err) == (4, True)


@pytest.mark.slow
def test_the_journals_of_all_fakes_are_shown_and_nothing_else_in_their_folder(tmp_path: Path, shell: Command) -> None:
    """The tenant fake keeps its table beside its journal."""
    with up(tmp_path, "--only", "tenant", "--only", "access"):
        said = shell("fakes", "journal", "--state", tmp_path, "--no-follow")
    assert (said.code, said.err) == (0, "")
    assert {line.split(":")[0] for line in said.out.splitlines()[-2:]} == {"access", "tenant"}
    other = shell("fakes", "journal", "tenants", "--state", tmp_path, "--no-follow")
    assert (other.code, "not a journal" in other.err) == (2, True)


def test_a_folder_without_a_journal_is_said(knownstate: Command, here: Path) -> None:
    outcome = knownstate("fakes", "journal", "--state", here)
    assert (outcome.code, "There is no journal" in outcome.err) == (2, True)


def test_the_list_names_every_fake_with_its_settings(knownstate: Command) -> None:
    rows = json.loads(knownstate("fakes", "list", "--json").out)
    assert [row["name"] for row in rows] == list(FACES)
    assert all(any(setting["name"] == "cell" for setting in row["settings"]) for row in rows)


def test_every_face_of_the_catalogue_can_be_loaded() -> None:
    assert {name: kind.name for name, kind in faces().items()} == {name: name for name in FACES}


def test_loading_the_command_does_not_load_the_faces() -> None:
    script = "import sys, harness.commands.fakes_command; sys.exit('starlette' in sys.modules or 'dns' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], env=dict(os.environ), check=False).returncode == 0
