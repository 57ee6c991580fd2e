"""Fakes as processes: what survives a kill, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.wire.fake import Options
from fakes.wire.journal_file import read_entries
from fakes.wire.points import parse_hook
from fakes.wire.street import PLACE_FILE, Plot, Street
from harness.model.errors import EnvironmentMissing, UsageError
from tests.fakes.wire.echo import Echo

pytestmark = pytest.mark.slow
LIMIT_S = 20.0


@pytest.fixture
def street(tmp_path: Path) -> Iterator[Street]:
    with Street([Plot(Echo, Options())], tmp_path) as street:
        yield street


def post(street: Street, text: str = "a") -> str:
    try:
        return str(httpx.post(street.entries()["echo"]["url"] + "/notes", content=text, timeout=10).status_code)
    except httpx.TransportError as error:
        return type(error).__name__


def arm(street: Street, hook: str) -> None:
    httpx.post(street.entries()["echo"]["control"] + "/hooks", json={"hook": hook}).raise_for_status()


def notes(street: Street) -> list[str]:
    found: list[str] = httpx.get(street.entries()["echo"]["control"] + "/state").json()["notes"]
    return found


def wait_for_death(pid: int) -> None:
    """Until our child is dead, and not yet waited for."""
    deadline = time.monotonic() + LIMIT_S
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert time.monotonic() < deadline, f"{pid} does not die"


def test_a_fake_that_crashes_after_its_commit_comes_back_with_it(street: Street) -> None:
    pid = street.pids()["echo"]
    arm(street, "after-commit = crash")
    assert post(street) in ("ReadError", "RemoteProtocolError")
    wait_for_death(pid)
    street.mend()
    assert street.pids()["echo"] != pid
    assert notes(street) == ["a"]
    assert post(street, "b") == "200"
    assert notes(street) == ["a", "b"]


def test_a_fake_that_crashes_before_its_commit_comes_back_without(street: Street) -> None:
    pid = street.pids()["echo"]
    arm(street, "before-commit = crash")
    assert post(street) in ("ReadError", "RemoteProtocolError")
    wait_for_death(pid)
    street.mend()
    assert notes(street) == []


def test_the_crash_itself_is_in_the_journal(street: Street, tmp_path: Path) -> None:
    pid = street.pids()["echo"]
    arm(street, "after-commit = crash")
    post(street)
    wait_for_death(pid)
    street.mend()
    kinds = [entry.kind for entry in read_entries(tmp_path / "echo.sqlite")]
    assert kinds == ["started", "arrived", "effect", "hook-fired", "started"]


def test_a_connection_that_comes_while_the_fake_is_down_is_answered_when_it_is_back(street: Street) -> None:
    pid = street.pids()["echo"]
    os.kill(pid, signal.SIGKILL)
    wait_for_death(pid)
    host, port = street.entries()["echo"]["url"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(b"GET /notes HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        street.mend()
        assert sock.recv(100).startswith(b"HTTP/1.1 200")


def test_hooks_given_at_the_start_are_armed_once(tmp_path: Path) -> None:
    with Street([Plot(Echo, Options(), (parse_hook("after-commit = crash"),))], tmp_path) as street:
        pid = street.pids()["echo"]
        post(street)
        wait_for_death(pid)
        street.mend()
        assert post(street) == "200"


def test_nothing_is_left_when_the_street_is_gone(tmp_path: Path) -> None:
    with Street([Plot(Echo, Options())], tmp_path) as street:
        pid, url = street.pids()["echo"], street.entries()["echo"]["url"]
        assert (tmp_path / PLACE_FILE).exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
    assert not (tmp_path / PLACE_FILE).exists()


def test_the_fakes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, json, pathlib\n"
        "from tests.fakes.wire.echo import Echo\n"
        "from fakes.wire.street import Street, Plot\n"
        "from fakes.wire.fake import Options\n"
        "with Street([Plot(Echo, Options())], pathlib.Path(sys.argv[1])) as s:\n"
        "    print(json.dumps(s.pids()), flush=True)\n"
        "    s.watch(lambda: False)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    handle = os.pidfd_open(json.loads(parent.stdout.readline())["echo"])
    parent.kill()
    parent.wait()
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    assert poll.poll(LIMIT_S * 1000), "the fake outlives its parent"
    os.close(handle)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        plot = Plot(Echo, Options(), numbers={"http": taken.getsockname()[1]})
        with pytest.raises(EnvironmentMissing, match="cannot be had"), Street([plot], tmp_path):
            pass


def test_a_journal_that_is_none_is_said_and_not_started_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "echo.sqlite").write_text("no database, and long enough to be read as one" * 50)
    with pytest.raises(UsageError, match=r"^echo: This is not a journal.*Where: \S+echo.sqlite. Next: Give another"):
        Street([Plot(Echo, Options())], tmp_path).__enter__()


def test_a_hook_that_could_do_nothing_is_refused_at_the_start(tmp_path: Path) -> None:
    plot = Plot(Echo, Options(), (parse_hook("received = drop"),))
    with pytest.raises(UsageError, match="drop is for datagrams, and this fake takes none"):
        Street([plot], tmp_path).__enter__()
