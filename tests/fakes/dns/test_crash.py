"""The fake as a process that is killed: what was committed is there again, and the ports are never lost."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import dns.message
import pytest

from fakes.dns.face import DnsFake
from fakes.dns.options import DnsOptions
from fakes.wire.points import parse_hook
from fakes.wire.street import Plot, Street
from tests.fakes.dns.asking import HOST, Server

pytestmark = pytest.mark.slow
LIMIT_S = 20.0


def await_death(pid: int) -> None:
    """Until our child is dead, and not yet waited for."""
    deadline = time.monotonic() + LIMIT_S
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert time.monotonic() < deadline, f"{pid} does not die"


@pytest.fixture(params=["before-commit", "after-commit"])
def point(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def street(tmp_path: Path, point: str) -> Iterator[Street]:
    with Street([Plot(DnsFake, DnsOptions(), (parse_hook(f"{point} = crash"),))], tmp_path) as street:
        yield street


def server_of(street: Street) -> Server:
    entry = street.entries()["dns"]
    return Server(entry["zone"], entry["tsig"]["name"], entry["tsig"]["secret"], entry["port"])


def test_the_client_sees_the_same_and_the_zone_tells_the_difference(street: Street, point: str) -> None:
    server, pid = server_of(street), street.pids()["dns"]
    update = server.update()
    update.absent("www")
    update.add("www", 300, "A", "192.0.2.1")
    with pytest.raises((EOFError, ConnectionResetError)):
        server.send(update)
    await_death(pid)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(LIMIT_S)
        udp.connect((HOST, server.port))
        udp.send(dns.message.make_query("www.example.", "A").to_wire())
        street.mend()
        waited = dns.message.from_wire(udp.recv(4096))
    assert street.restarts() == {"dns": 1}
    is_there = point == "after-commit"
    assert bool(waited.answer) == is_there
    assert server.send(update) == ("YXDOMAIN" if is_there else "NOERROR")
    assert server.serial() == 2
