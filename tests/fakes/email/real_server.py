"""OpenSMTPD as a server to compare with: in a folder of its own, on the loopback, for two local recipients.

It needs root, as it drops its own rights, and mount namespaces, so that its spool is nobody else's and is gone with it.
The process is ended by its id.
Never here: what it should answer (`contract.py`).
"""

from __future__ import annotations

import shutil
import smtplib
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.fakes.email.post import BOB, CAROL, HOST, SIZE_MAX

READY_MAX_S = 20.0
DELIVERED_MAX_S = 20.0
TRY_S = 0.05

CONF = """\
smtp max-message-size "{size}"
table people {{ "{bob}" = "nobody", "{carol}" = "nobody" }}
listen on 127.0.0.1 port {port} hostname mail.example.test
action "box" maildir "{mail}/%{{dest.user}}" virtual <people>
match from any for domain "example.test" action "box"
"""
START = """\
mount -t tmpfs none /var/spool && mount -t tmpfs none /run && mount --bind "$2" /etc/resolv.conf && exec "$0" -d -f "$1"
"""
RESOLVER = "lookup file\n"
"""It looks its clients up by their addresses; asking a name server that is not there would take it seconds."""


class RealServer(NamedTuple):
    """A running one."""

    port: int
    mail: Path
    process: subprocess.Popen[bytes]

    def delivered(self, marker: bytes, count: int) -> list[bytes]:
        """Wait (bounded) until so many messages that contain this were delivered; what there is then."""
        deadline = time.monotonic() + DELIVERED_MAX_S
        while len(found := self.now(marker)) < count and time.monotonic() < deadline:
            _live_on(self.process, self.mail.parent)
        return found

    def now(self, marker: bytes) -> list[bytes]:
        """The delivered messages that contain this."""
        contents = [path.read_bytes() for path in sorted(self.mail.glob("*/new/*"))]
        return [content for content in contents if marker in content]


@contextmanager
def opensmtpd(folder: Path) -> Iterator[RealServer]:
    """Run it in this folder, whose way down anybody may go."""
    program = shutil.which("smtpd") or "/usr/sbin/smtpd"
    mail, conf = folder / "mail", folder / "smtpd.conf"
    mail.mkdir()
    mail.chmod(0o777)
    port = _free_port()
    conf.write_text(CONF.format(size=SIZE_MAX, bob=BOB, carol=CAROL, port=port, mail=mail))
    (folder / "resolv.conf").write_text(RESOLVER)
    command = ["unshare", "--mount", "sh", "-c", START, program, str(conf), str(folder / "resolv.conf")]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        _await_ready(port, process, folder)
        yield RealServer(port, mail, process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _await_ready(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait (bounded) until it greets. Raises RuntimeError with what it said."""
    deadline = time.monotonic() + READY_MAX_S
    while time.monotonic() < deadline:
        try:
            with smtplib.SMTP(HOST, port, timeout=2):
                return
        except (OSError, smtplib.SMTPException):
            _live_on(process, folder)
    raise RuntimeError(f"no greeting: {_output(folder)}")


def _live_on(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait a little. Raises RuntimeError with what the server said if it ends, which it should not."""
    with suppress(subprocess.TimeoutExpired):
        raise RuntimeError(f"the server has ended with {process.wait(TRY_S)}: {_output(folder)}")


def _output(folder: Path) -> str:
    return (folder / "output").read_text(errors="replace")


def _free_port() -> int:
    with socket.socket() as tcp:
        tcp.bind((HOST, 0))
        return int(tcp.getsockname()[1])
