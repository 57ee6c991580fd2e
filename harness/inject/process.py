"""Worker processes and the one signal this bench sends them: SIGKILL, to the whole process group.

Fault: `crash`, at every boundary at which the worker waits for us, or for a provider that waits for us: then it cannot
be anywhere else when the signal comes. A caller can conclude nothing, since there is none left. Only processes started
here are signalled, and only while they are unreaped, so that their id cannot belong to somebody else.

What this cannot simulate: a machine that loses power (what the dead process had written, the kernel still has), and a
process that dies inside a system call of its own choosing.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.model.errors import HarnessBug
from harness.rigs.channel import Channel

DEATH_WAIT_S = 5.0
"""How long a killed process may take to be gone."""
STOP_WAIT_S = 1.0
"""How long a process may take to end by itself once its channel is closed."""
LOG_TAIL_BYTES = 2000
KILLED = -signal.SIGKILL


class Child:
    """A process we started, in a group of its own, with a control channel. What it prints goes to `log`."""

    def __init__(self, argv: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        """`argv` gets the channel's file descriptor number as its last argument."""
        ours, theirs = socket.socketpair()
        self.log = log
        self.channel = Channel(ours)
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    [*argv, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(theirs.fileno(),),
                    env=dict(environment),
                    start_new_session=True,
                )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def say(self, message: dict[str, Any]) -> bool:
        """Send a message. False if the process is gone."""
        return self.channel.say(message)

    def hear(self, wait_s: float) -> dict[str, Any] | None:
        """What it says next, or None if it is gone. Raises TimeoutError when it is silent for `wait_s`."""
        return self.channel.hear(wait_s)

    def kill(self) -> int:
        """SIGKILL to the group, and wait until the process is dead. Returns its exit code, negative for a signal."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):  # it ended by itself this very moment, which its exit code will say
                os.killpg(self._process.pid, signal.SIGKILL)
        return self.wait(DEATH_WAIT_S)

    def wait(self, wait_s: float) -> int:
        """Wait until it has ended. Raises HarnessBug if it does not: nobody can say then what it is doing."""
        try:
            return self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            raise HarnessBug(
                f"Process {self.pid} is still there {wait_s:.0f} s after it should have been gone.",
                next_step="Look for a process that hangs in the kernel (state D), for instance on a broken disk.",
            ) from None

    def stop(self) -> None:
        """End it: politely by closing the channel, then by force. Safe to call again."""
        self.channel.close()
        try:
            self._process.wait(STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def last_words(self) -> str:
        """The last line it printed, or ""."""
        text = self.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace").strip()
        return text.splitlines()[-1] if text else ""


def ending(code: int) -> str:
    """An exit code in words."""
    return f"killed by signal {-code}" if code < 0 else f"exit {code}"
