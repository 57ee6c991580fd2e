"""Every shape of a link, looked at from both ends of the connection, on the real Toxiproxy."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.inject.network import INSTALL, Link, Network
from harness.model.errors import EnvironmentMissing

WAIT_S = 5.0
SILENCE_S = 0.1
"""How long a test listens before it calls a line silent."""

needs_toxiproxy = pytest.mark.real("toxiproxy-server")


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.close()


class Line:
    """A client and a provider, connected over a link."""

    def __init__(self, network: Network) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(WAIT_S)
        self.link: Link = network.link("payment", self._listening.getsockname())
        self.client, self.provider = self.connect()

    def connect(self) -> tuple[socket.socket, socket.socket]:
        client = socket.create_connection(self.link.address, WAIT_S)
        provider, _ = self._listening.accept()
        provider.settimeout(WAIT_S)
        return client, provider

    def close(self) -> None:
        for end in (self.client, self.provider, self._listening):
            end.close()
        self.link.close()


@pytest.fixture
def line(network: Network) -> Iterator[Line]:
    line = Line(network)
    yield line
    line.close()


def gets(end: socket.socket, text: bytes) -> bool:
    """Does this text, and then nothing else for now, come out here?"""
    end.settimeout(WAIT_S)
    received = b""
    while len(received) < len(text):
        piece = end.recv(100)
        if not piece:
            return False
        received += piece
    return received == text


def is_silent(end: socket.socket) -> bool:
    """Does nothing come out here, not even the end?"""
    end.settimeout(SILENCE_S)
    try:
        end.recv(100)
    except TimeoutError:
        return True
    return False


@needs_toxiproxy
def test_a_healthy_link_passes_both_ways(line: Line) -> None:
    line.client.sendall(b"charge")
    assert gets(line.provider, b"charge")
    line.provider.sendall(b"done")
    assert gets(line.client, b"done")


@needs_toxiproxy
@pytest.mark.slow
def test_dropped_responses_reach_nobody_though_the_request_got_there(line: Line) -> None:
    line.client.sendall(b"charge")
    assert gets(line.provider, b"charge")
    line.link.drop_responses()
    line.provider.sendall(b"done")
    assert is_silent(line.client)
    line.client.sendall(b"more")
    assert gets(line.provider, b"more"), "the way there is open still"


@needs_toxiproxy
@pytest.mark.slow
def test_dropped_requests_do_not_arrive_though_the_line_stands(line: Line) -> None:
    line.link.drop_requests()
    line.client.sendall(b"charge")
    assert is_silent(line.provider)
    line.provider.sendall(b"hello")
    assert gets(line.client, b"hello"), "the way back is open still"


@needs_toxiproxy
def test_a_refusing_link_ends_what_stands_and_lets_nobody_in(line: Line) -> None:
    line.link.refuse()
    assert line.client.recv(100) == b""
    assert line.provider.recv(100) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(line.link.address, WAIT_S)


@needs_toxiproxy
@pytest.mark.parametrize("shape", [Link.drop_responses, Link.drop_requests, Link.refuse])
def test_a_healed_link_is_as_before(line: Line, shape: object) -> None:
    assert callable(shape)
    shape(line.link)
    line.link.heal()
    assert line.link.toxics() == {}
    client, provider = line.connect()
    with client, provider:
        client.sendall(b"charge")
        assert gets(provider, b"charge")
        provider.sendall(b"done")
        assert gets(client, b"done")


@needs_toxiproxy
def test_what_was_dropped_does_not_come_out_after_healing(line: Line) -> None:
    line.link.drop_requests()
    line.client.sendall(b"charge")
    line.link.heal()
    assert line.provider.recv(100) == b"", "the held-up line ends, empty"


@needs_toxiproxy
def test_a_shape_is_read_back_from_the_server(line: Line) -> None:
    line.link.drop_responses()
    assert line.link.toxics() == {"timeout-downstream": {"timeout": 0}}


@needs_toxiproxy
def test_a_link_that_is_closed_twice_is_gone_once(line: Line) -> None:
    line.link.close()
    line.link.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(line.link.address, WAIT_S)


@needs_toxiproxy
@pytest.mark.slow
def test_two_networks_do_not_get_in_each_others_way(network: Network) -> None:
    """The client library keeps one address for all of its servers."""
    other = Network()
    try:
        here, there = Line(network), Line(other)
        here.link.drop_responses()
        assert there.link.toxics() == {}
        assert here.link.toxics() != {}
        here.close()
        there.close()
    finally:
        other.close()


@needs_toxiproxy
@pytest.mark.slow
def test_somebody_elses_server_is_used_and_left_running(network: Network) -> None:
    guest = Network(f"{network.host}:{network.port}")
    line = Line(guest)
    guest.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(line.link.address, WAIT_S)
    line.close()
    with network.addressed() as api:
        assert api.running()


@needs_toxiproxy
@pytest.mark.slow
def test_our_own_server_is_gone_when_the_network_is_closed() -> None:
    network = Network()
    network.close()
    network.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((network.host, network.port), WAIT_S)


BENCH = """
from harness.inject.network import Network
network = Network()
print(network.port, flush=True)
input()
"""


@needs_toxiproxy
@pytest.mark.slow
def test_a_server_does_not_outlive_a_bench_that_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    bench = subprocess.Popen(
        [sys.executable, "-c", BENCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    )
    with bench:
        assert bench.stdout is not None
        port = int(bench.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), WAIT_S) as watch:
            bench.kill()
            with suppress(
                ConnectionResetError
            ):  # a server that is killed ends its connections, in one way or the other
                assert watch.recv(1) == b"", "the server ends its connections when it ends"


def test_a_missing_program_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KNOWNSTATE_TOXIPROXY", raising=False)
    with pytest.raises(EnvironmentMissing) as missing:
        Network()
    assert missing.value.exit_code == 4
    assert INSTALL in missing.value.next_step


def test_an_address_where_nobody_answers_is_missing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
    with pytest.raises(EnvironmentMissing, match=f"No Toxiproxy answers at {host}:{port}"):
        Network(f"{host}:{port}")


@pytest.mark.slow
def test_a_program_that_is_no_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWNSTATE_TOXIPROXY", sys.executable)
    with pytest.raises(EnvironmentMissing, match="was started 3 times"):
        Network()
