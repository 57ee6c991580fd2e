"""The network's faults on real connections: the only file that knows Toxiproxy.

Here: finding or starting the server, a link (one proxy before one provider), toxics on it, each read back after it was
set.
Never here: when a fault is due or whether it fired. Toxiproxy cannot aim at a request; the provider's hook aims
(`messages.py`).

    lost response        `timeout` of 0 on the way back: silence until the caller's time-out; the provider has committed
    lost request         `timeout` of 0 on the way there: the same silence, and nothing arrives
    connection refused   the proxy is switched off: nothing was sent

What it cannot do: leave a connection attempt unanswered (a proxy always accepts), break at an exact byte of a response
of unknown length, or tell requests apart on one connection. Random `toxicity` is never used: it cannot be repeated.

The client library keeps its server's address in a class, has no time-outs, ignores 5xx and answers None for what it
does not find. All of that ends here: one lock, one bounded session, every answer checked.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import toxiproxy
import toxiproxy.api
import toxiproxy.exceptions

from harness.model.errors import EnvironmentMissing, HarnessBug

PROGRAM = "toxiproxy-server"
VARIABLE = "KNOWNSTATE_TOXIPROXY"
INSTALL = "scripts/install-real-components toxiproxy-server"
LOOPBACK = "127.0.0.1"
STARTS_MAX = 3
"""A free port can be taken by somebody else before the server has it."""
START_WAIT_S = 5.0
STOP_WAIT_S = 2.0
POLL_S = 0.005
ADMIN_WAIT_S = 2.0
"""Time-out of one request to the server's API."""
_numbers = itertools.count(1)

_GUARDED = 'exec 3<&0; (read -r _ <&3; kill -KILL $$) & exec 3<&-; exec "$0" "$@" </dev/null'
"""Becomes the server, with a guard in its group: when our end of the pipe is gone, however we ended, so is the server."""


class _BoundedRequests:
    """Stands where the client library expects `requests`: one kept connection, time-outs, no proxies from outside."""

    def __init__(self, requests: Any) -> None:
        self._failure: type[Exception] = requests.RequestException
        self._session = requests.Session()
        self._session.trust_env = False  # an HTTP_PROXY of this machine must not come between us and loopback

    def get(self, url: str, **options: Any) -> Any:
        return self._do("get", url, options)

    def post(self, url: str, **options: Any) -> Any:
        return self._do("post", url, options)

    def delete(self, url: str, **options: Any) -> Any:
        return self._do("delete", url, options)

    def _do(self, verb: str, url: str, options: dict[str, Any]) -> Any:
        try:
            response = self._session.request(verb, url, timeout=ADMIN_WAIT_S, **options)
        except self._failure as error:
            raise _trouble(f"it does not answer ({error})", url) from error
        if response.status_code >= 500:
            raise _trouble(f"it answers {response.status_code}", url)
        return response


_requests = toxiproxy.api.requests
_lock = threading.RLock()


def _begin() -> None:
    """In a forked process too: it must share neither the connection nor the lock of the process it comes from."""
    global _lock
    _lock = threading.RLock()
    toxiproxy.api.requests = _BoundedRequests(_requests)


_begin()
os.register_at_fork(after_in_child=_begin)


class Network:
    """A Toxiproxy server, ours or somebody's, and the links made on it."""

    def __init__(self, where: str = "") -> None:
        """`where`: address (host:port) of a running server, path of the program, "" for KNOWNSTATE_TOXIPROXY or PATH.

        Raises EnvironmentMissing if there is neither a server nor a program.
        """
        self._server: subprocess.Popen[bytes] | None = None
        self._links: list[Link] = []
        named = where or os.environ.get(VARIABLE, "")
        if _is_address(named):
            host, _, port = named.rpartition(":")
            self.host, self.port = host, int(port)
            self._expect_answer(named)
        else:
            self._start(_program(named))

    def link(self, name: str, upstream: tuple[str, int]) -> Link:
        """A new link before a server. It exists, and can be connected to, when this returns."""
        title = f"knownstate-{os.getpid()}-{next(_numbers)}-{name}"
        with self.addressed() as api:
            proxy = api.create(upstream=f"{upstream[0]}:{upstream[1]}", name=title, listen=f"{LOOPBACK}:0")
        link = Link(self, title, proxy)
        self._links.append(link)
        return link

    def close(self) -> None:
        """Remove our links; stop the server if it is ours. Safe to call again."""
        links, self._links = self._links, []
        try:
            for link in links:
                link.close()
        finally:
            self._stop()

    @contextmanager
    def addressed(self) -> Iterator[Any]:
        """The client library, pointed at this server. The lock is held: the address belongs to a class."""
        with _lock:
            api = toxiproxy.Toxiproxy()
            api.update_api_consumer(self.host, self.port)
            yield api

    # -- the server ----------------------------------------------------------------------------------------------------

    def _expect_answer(self, named: str) -> None:
        with self.addressed() as api:
            if not api.running():
                raise EnvironmentMissing(
                    f"No Toxiproxy answers at {named}.",
                    where=f"the option toxiproxy, or {VARIABLE}",
                    next_step="Start it there, or leave the address out: the program is then started here.",
                )

    def _start(self, program: str) -> None:
        for _ in range(STARTS_MAX):
            self.host, self.port = LOOPBACK, _free_port()
            self._server = subprocess.Popen(
                ["sh", "-c", _GUARDED, program, "-host", self.host, "-port", str(self.port)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt at the terminal is ours to act on, not the server's
            )
            try:
                if self._comes_up(self._server):
                    return
            except BaseException:
                self._stop()
                raise
            self._stop()
        raise EnvironmentMissing(
            f"{program} was started {STARTS_MAX} times and did not answer within {START_WAIT_S:.0f} s.",
            where=f"its API on {LOOPBACK}",
            next_step=f"Try `{program} -version`; to install it again: {INSTALL}",
        )

    def _comes_up(self, server: subprocess.Popen[bytes]) -> bool:
        end = time.monotonic() + START_WAIT_S
        while time.monotonic() < end and server.poll() is None:
            with self.addressed() as api:
                if api.running():
                    return server.poll() is None
            time.sleep(POLL_S)
        return False

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        _signal(server, signal.SIGTERM)
        try:
            server.wait(STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            _signal(server, signal.SIGKILL)
            server.wait(STOP_WAIT_S)
        finally:
            assert server.stdin is not None, "it was started with a pipe"
            server.stdin.close()


class Link:
    """The way to one provider. `address` is where its clients connect."""

    def __init__(self, network: Network, name: str, proxy: Any) -> None:
        self.name = name
        self._network = network
        self._proxy = proxy
        host, _, port = str(proxy.listen).rpartition(":")
        self.address = (host, int(port))

    def drop_responses(self) -> None:
        """From now on nothing that the provider writes comes through; connections stay open."""
        self._add("timeout", "downstream", {"timeout": 0})

    def drop_requests(self) -> None:
        """From now on nothing that clients write comes through; connections stay open."""
        self._add("timeout", "upstream", {"timeout": 0})

    def refuse(self) -> None:
        """From now on no connection is made, and those that were end."""
        self._switch(on=False)

    def heal(self) -> None:
        """Take everything back. Returns when the server says that nothing is left."""
        with self._network.addressed():
            for name in self._proxy.toxics():
                self._proxy.destroy_toxic(name)
            if self._proxy.toxics():
                raise _trouble(f"toxics are left on {self.name}: {sorted(self._proxy.toxics())}", self.name)
            if not self._proxy.enabled:
                self._switch(on=True)

    def toxics(self) -> dict[str, dict[str, Any]]:
        """Name -> attributes of what is set now, as the server tells it."""
        with self._network.addressed():
            return {name: dict(toxic.attributes) for name, toxic in self._proxy.toxics().items()}

    def close(self) -> None:
        with self._network.addressed() as api:
            if api.get_proxy(self.name) is not None:
                self._proxy.destroy()

    def _add(self, kind: str, stream: str, attributes: dict[str, Any]) -> None:
        name = f"{kind}-{stream}"
        with self._network.addressed():
            try:
                self._proxy.add_toxic(type=kind, stream=stream, name=name, toxicity=1.0, attributes=attributes)
            except (toxiproxy.exceptions.InvalidToxic, toxiproxy.exceptions.ProxyExists) as error:
                raise _trouble(f"it refuses the toxic {name}: {error}", self.name) from error
            toxic = self._proxy.get_toxic(name)
            if toxic is None or toxic.stream != stream or dict(toxic.attributes) != attributes:
                raise _trouble(f"the toxic {name} was set and is not there", self.name)

    def _switch(self, *, on: bool) -> None:
        with self._network.addressed() as api:
            if on:
                self._proxy.enable()
            else:
                self._proxy.disable()
            seen = api.get_proxy(self.name)
            if seen is None or seen.enabled is not on:
                raise _trouble(f"{self.name} was switched {'on' if on else 'off'} and is not", self.name)


def _is_address(named: str) -> bool:
    host, separator, port = named.rpartition(":")
    return bool(separator and host) and "/" not in named and port.isdigit()


def _program(named: str) -> str:
    """The program's path. Raises EnvironmentMissing with the command that installs it."""
    found = shutil.which(named or PROGRAM)
    if found is None:
        raise EnvironmentMissing(
            f"{named or PROGRAM} is not a program on this machine; the process rig needs Toxiproxy's server.",
            where=f"{VARIABLE}={named}" if named else "PATH",
            next_step=f"Install it: {INSTALL}",
        )
    return found


def _signal(server: subprocess.Popen[bytes], number: int) -> None:
    """To the server and its guard. The group outlives the server while the guard is in it, so its number stays ours."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _trouble(what: str, where: str) -> HarnessBug:
    return HarnessBug(
        f"The Toxiproxy server does not do as it should: {what}.",
        where=where,
        next_step="Run the schedule again; if it comes back, report it with the server's version.",
    )
