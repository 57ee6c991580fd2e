"""Hosting one fake: its ports, its control, its event loop.

`Host` lives in a running loop; `Hosted` is the same in a thread of its own, for tests and rigs that are not
asynchronous. Whole processes are in `street.py`.
Never here: a provider.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from fakes.wire.clock import Clock
from fakes.wire.control import control_application, counts
from fakes.wire.desk import open_desk
from fakes.wire.fake import Fake, Options, Place, Port, Sockets, bind
from fakes.wire.journal_file import Entry
from fakes.wire.points import parse_hook

T = TypeVar("T")
CONTROL = Port("control")
WAIT_S = 30.0


def bind_all(kind: type[Fake], numbers: Mapping[str, int] | None = None, host: str = "127.0.0.1") -> dict[str, Sockets]:
    """Sockets for every port of a fake and its control; free numbers where none is given. Raises EnvironmentMissing."""
    wanted = numbers or {}
    bound: dict[str, Sockets] = {}
    try:
        for port in (*kind.ports, CONTROL):
            bound[port.name] = bind(port, host, wanted.get(port.name, 0))
    except Exception:
        close_all(bound)
        raise
    return bound


def close_all(sockets: Mapping[str, Sockets]) -> None:
    """Close all sockets of `bind_all`."""
    for each in sockets.values():
        for sock in each.values():
            sock.close()


class Host:
    """One fake, being served. Made and used inside a running loop."""

    def __init__(
        self, kind: type[Fake], options: Options, *, folder: Path | None = None, clock: Clock | None = None
    ) -> None:
        self.desk = open_desk(kind.name, folder, clock=clock)
        self.fake = kind(self.desk, options)
        self.desk.board.has_datagrams = any(port.transport != "tcp" for port in kind.ports)
        self.desk.seat(self.fake.state, self.fake.compete)
        self.places: dict[str, Place] = {}

    async def start(self, sockets: Mapping[str, Sockets]) -> None:
        """Begin to answer on all ports."""
        loop = asyncio.get_running_loop()
        self.desk.clock.attach(loop)
        for name, each in sockets.items():
            self.places[name] = Place(*next(iter(each.values())).getsockname()[:2])
        await self.fake.serve({name: each for name, each in sockets.items() if name != CONTROL.name})
        config = uvicorn.Config(
            control_application(self.fake, self.places),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=3600,
        )
        config.load()
        self._state = ServerState()
        self._control = await loop.create_server(
            lambda: H11Protocol(config, self._state, {}, loop), sock=sockets[CONTROL.name]["tcp"]
        )

    def entry(self) -> dict[str, Any]:
        """What a client needs, and the address of the control."""
        return {**self.fake.entry(self.places), "control": self.places[CONTROL.name].url}

    async def close(self) -> None:
        """Stop, and leave the journal complete."""
        self.desk.board.clear()
        await self.fake.close()
        self._control.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        self.desk.close()


class Hosted:
    """A fake in a thread of this process, as a context manager. `fake`, `desk` and `places` belong to its loop."""

    def __init__(
        self,
        kind: type[Fake],
        options: Options | None = None,
        *,
        folder: Path | None = None,
        clock: Clock | None = None,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        self._kind = kind
        self._options = options if options is not None else kind.options_class()
        self._folder = folder
        self._clock = clock
        self._numbers = numbers
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Hosted:
        ready: concurrent.futures.Future[Host] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main(ready)), name=self._kind.name, daemon=True
        )
        self._thread.start()
        self.host = ready.result(WAIT_S)
        self.fake, self.desk, self.places = self.host.fake, self.host.desk, self.host.places
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive(), f"the {self._kind.name} fake does not end"

    async def _main(self, ready: concurrent.futures.Future[Host]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        sockets: Mapping[str, Sockets] = {}
        try:
            host = Host(self._kind, self._options, folder=self._folder, clock=self._clock)
            sockets = bind_all(self._kind, self._numbers)
            await host.start(sockets)
        except BaseException as error:
            close_all(sockets)
            ready.set_exception(error)
            return
        ready.set_result(host)
        await self._stop.wait()
        await host.close()

    def call(self, action: Callable[[], T]) -> T:
        """Call something in the fake's loop and wait for its result."""

        async def calling() -> T:
            return action()

        return self.run(calling())

    def run(self, work: Awaitable[T]) -> T:
        """Run a coroutine in the fake's loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)  # type: ignore[arg-type]

    def arm(self, hook: str) -> str:
        """Arm a hook by its text; its id."""
        return self.call(lambda: self.desk.board.arm(parse_hook(hook)))

    def release(self, name: str) -> int:
        """Let those hanging at this hook go on."""
        return self.call(lambda: self.desk.board.release(name))

    def advance(self, duration_ns: int) -> None:
        """Let time pass at once."""
        self.call(lambda: self.desk.advance_ns(duration_ns))

    def entries(self, kind: str = "") -> list[Entry]:
        """What happened so far, of one kind or all."""
        return [e for e in self.call(self.desk.journal.entries) if kind in ("", e.kind)]

    def counts(self) -> dict[str, int]:
        """The four counts."""
        return self.call(lambda: counts(self.desk.journal.counts(), self.fake.commit_kinds))

    def wait_for(self, kind: str, count: int = 1) -> list[Entry]:
        """Wait (bounded) until so many entries of this kind are there. Raises TimeoutError."""

        async def waiting() -> list[Entry]:
            async with asyncio.timeout(WAIT_S):
                while len(found := [e for e in self.desk.journal.entries() if e.kind == kind]) < count:
                    await asyncio.sleep(0.002)
            return found

        return self.run(waiting())

    def wait_until_hanging(self, name: str, count: int = 1) -> None:
        """Wait (bounded) until so many requests hang at this hook. Raises TimeoutError."""

        async def waiting() -> None:
            async with asyncio.timeout(WAIT_S):
                while sum(len(h["hanging"]) for h in self.desk.board.listing() if h["id"] == name) < count:
                    await asyncio.sleep(0.002)

        self.run(waiting())
