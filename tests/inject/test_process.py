"""Processes we start, and how they end. Pids are looked up in /proc: what the code believes is not evidence."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.inject.process import KILLED, Child, ending
from harness.rigs.channel import Channel
from harness.rigs.worker_handles import ORPHANED

WAIT_S = 10.0

ECHO = """
import sys
from socket import socket
from harness.rigs.channel import Channel
channel = Channel(socket(fileno=int(sys.argv[-1])))
while (message := channel.hear()) is not None:
    channel.say({"heard": message})
"""
PARENT = """
import subprocess, sys
from socket import socket
from harness.rigs.channel import Channel
channel = Channel(socket(fileno=int(sys.argv[-1])))
grandchild = subprocess.Popen(["sleep", "600"])
channel.say({"grandchild": grandchild.pid})
channel.hear()
grandchild.wait()
"""
STUBBORN = """
import signal, sys, time
from socket import socket
from harness.rigs.channel import Channel
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
Channel(socket(fileno=int(sys.argv[-1]))).say({"up": True})
time.sleep(600)
"""
FAILING = "print('one'); raise SystemExit('the last line')"


class Nursery:
    """Starts children and sees that none outlives the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.children: list[Child] = []

    def start(self, program: str) -> Child:
        log = self._folder / f"{len(self.children)}.log"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        child = Child([sys.executable, "-c", program], log, environment)
        self.children.append(child)
        return child


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path)
    yield nursery
    for child in nursery.children:
        child.kill()
        child.channel.close()


def is_alive(pid: int) -> bool:
    """Is there such a process, and is it more than a zombie?"""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until_gone(pid: int) -> bool:
    """Wait on the process itself, not on its parent: it may be nobody's child any more."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], WAIT_S)[0])
    finally:
        os.close(handle)


@pytest.mark.slow
def test_what_is_said_to_a_child_is_heard_and_answered(nursery: Nursery) -> None:
    child = nursery.start(ECHO)
    child.say({"text": "ü\n2"})
    assert child.hear(WAIT_S) == {"heard": {"text": "ü\n2"}}


@pytest.mark.slow
def test_a_killed_child_is_dead_when_kill_returns(nursery: Nursery) -> None:
    child = nursery.start(STUBBORN)
    child.hear(WAIT_S)
    assert child.kill() == KILLED
    assert not is_alive(child.pid)
    assert child.hear(WAIT_S) is None


@pytest.mark.slow
def test_the_whole_group_dies_with_the_child(nursery: Nursery) -> None:
    child = nursery.start(PARENT)
    hello = child.hear(WAIT_S)
    assert hello is not None
    assert is_alive(hello["grandchild"])
    child.kill()
    assert wait_until_gone(hello["grandchild"])


@pytest.mark.slow
def test_killing_twice_signals_once(nursery: Nursery) -> None:
    child = nursery.start(ECHO)
    assert [child.kill(), child.kill()] == [KILLED, KILLED]


@pytest.mark.slow
def test_a_child_that_listens_ends_by_itself_when_its_channel_ends(nursery: Nursery) -> None:
    child = nursery.start(ECHO)
    child.say({})
    child.hear(WAIT_S)
    child.stop()
    assert child.wait(0) == 0


@pytest.mark.slow
def test_a_child_that_does_not_listen_is_stopped_by_force(nursery: Nursery) -> None:
    child = nursery.start(STUBBORN)
    child.hear(WAIT_S)
    child.stop()
    assert child.wait(0) == KILLED


@pytest.mark.slow
def test_a_child_that_ends_by_itself_leaves_its_last_words(nursery: Nursery) -> None:
    child = nursery.start(FAILING)
    assert child.hear(WAIT_S) is None
    assert (child.wait(WAIT_S), child.last_words()) == (1, "the last line")


def test_a_silent_child_is_not_waited_for_longer_than_asked(nursery: Nursery) -> None:
    child = nursery.start(ECHO)
    with pytest.raises(TimeoutError):
        child.hear(0.01)


def test_endings_are_told_in_words() -> None:
    assert (ending(3), ending(-signal.SIGKILL)) == ("exit 3", "killed by signal 9")


def test_saying_something_to_nobody_is_no_error() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        assert Channel(ours).say({"text": "x"}) is False


ORPHAN = """
import sys
from socket import socket
from harness.rigs.channel import Channel
from harness.rigs.worker_handles import Enlistment, WorkerHandles
handles = WorkerHandles(Enlistment("w1", 1, ":memory:", {}, {}, 0, 1), Channel(socket(fileno=int(sys.argv[-1]))))
try:
    handles.alert("billing.charge", "help")
finally:
    print("cleaned up")
"""


@pytest.mark.slow
def test_a_worker_whose_controller_is_gone_dies_like_in_a_crash(nursery: Nursery) -> None:
    child = nursery.start(ORPHAN)
    child.hear(WAIT_S)
    child.channel.close()
    assert (child.wait(WAIT_S), child.last_words()) == (ORPHANED, "")
