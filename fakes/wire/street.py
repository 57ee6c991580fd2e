"""A street: several fakes, each a process of its own, in the care of one parent.

Theory. The parent imports everything once and forks a child per fake, so that a killed one is back within some
milliseconds. The sockets are the parent's: a connection that arrives while its fake is down waits and is then
answered, and a port is never lost to somebody else. What a killed fake had committed is in its journal, from which
the next one starts. Hooks are not: they belong to the process that died.

The parent has no threads and no event loop, so forking it is safe. A child ends when its parent is gone, however that
came: it watches a pipe whose other end only the parent holds.
Never here: a provider, and what a person reads.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from fakes.wire.clock import Clock
from fakes.wire.fake import LOOPBACK, Fake, Options, Sockets
from fakes.wire.hosting import Host, bind_all, close_all
from fakes.wire.points import Hook
from harness.model.errors import EnvironmentMissing, KnownstateError, UsageError

READY_MAX_S = 30.0
STOP_MAX_S = 5.0
RESTARTS_MAX = 100_000
FAST_DEATHS_MAX = 3
"""A child that dies this often in a row before it is ready will not come up."""
LOOK_EVERY_S = 0.01
PLACE_FILE = "street.json"
GC_THRESHOLD = (20_000, 20, 20)
"""A fake's state only grows; what a request leaves behind is small and mostly freed without the collector."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One fake to be put up."""

    kind: type[Fake]
    options: Options
    hooks: tuple[Hook, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Port name -> number; others are free ones."""


@dataclass(slots=True)
class _House:
    """One fake and its present process."""

    plot: Plot
    sockets: dict[str, Sockets]
    pid: int = 0
    entry: dict[str, Any] = field(default_factory=dict)
    restarts: int = 0
    fast_deaths: int = 0


class Street:
    """Fakes as processes, as a context manager: up on entering, gone on leaving."""

    def __init__(
        self,
        plots: Sequence[Plot],
        folder: Path,
        *,
        host: str = LOOPBACK,
        is_manual: bool = False,
        told: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`folder` keeps the journals, and must exist; `told` hears of restarts."""
        self._plots = plots
        self._folder = folder
        self._host = host
        self._is_manual = is_manual
        self._told = told
        self._houses: dict[str, _House] = {}
        self._life: tuple[int, int] = (-1, -1)

    def __enter__(self) -> Street:
        self._life = os.pipe()
        try:
            for plot in self._plots:
                sockets = bind_all(plot.kind, plot.numbers, self._host)
                self._houses[plot.kind.name] = _House(plot, sockets)
            pending = {name: self._fork(house, is_first=True) for name, house in self._houses.items()}
            for name, pipe in pending.items():
                self._await_ready(self._houses[name], pipe)
        except BaseException:
            self.stop()
            raise
        self._write_place()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def entries(self) -> dict[str, dict[str, Any]]:
        """Name -> what a client needs, as JSON data."""
        return {name: house.entry for name, house in self._houses.items()}

    def pids(self) -> dict[str, int]:
        """Name -> id of its present process."""
        return {name: house.pid for name, house in self._houses.items()}

    def restarts(self) -> dict[str, int]:
        """Name -> how often it was started again."""
        return {name: house.restarts for name, house in self._houses.items()}

    def watch(self, until: Callable[[], bool]) -> None:
        """Start again whatever dies, until told to stop. Raises EnvironmentMissing for a fake that cannot stay up."""
        while not until():
            self.mend()
            time.sleep(LOOK_EVERY_S)

    def mend(self) -> None:
        """Start again what has died since."""
        for house in self._houses.values():
            if house.pid and os.waitpid(house.pid, os.WNOHANG)[0]:
                self._restart(house)

    def stop(self) -> None:
        """End every child and close every port. Safe to call again."""
        if self._life[1] >= 0:
            os.close(self._life[1])
            os.close(self._life[0])
        self._life = (-1, -1)
        deadline = time.monotonic() + STOP_MAX_S
        for house in self._houses.values():
            _end(house.pid, deadline)
            house.pid = 0
            close_all(house.sockets)
        (self._folder / PLACE_FILE).unlink(missing_ok=True)

    def _restart(self, house: _House) -> None:
        name = house.plot.kind.name
        house.restarts += 1
        if house.restarts > RESTARTS_MAX:
            raise self._lost(name, f"died {RESTARTS_MAX} times")
        self._told(f"{name} died and is started again on its journal (restart {house.restarts})")
        self._await_ready(house, self._fork(house, is_first=False))
        self._write_place()

    def _fork(self, house: _House, *, is_first: bool) -> int:
        """Start a child; returns the pipe on which it says that it is ready."""
        ready, says = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        pid = os.fork()
        if pid == 0:
            os.close(ready)
            self._child(house, says, is_first)
        os.close(says)
        house.pid = pid
        return ready

    def _await_ready(self, house: _House, pipe: int) -> None:
        name = house.plot.kind.name
        text = _read_all(pipe, READY_MAX_S)
        said: dict[str, Any] = json.loads(text) if text.endswith(b"}") else {}
        if said and "what" not in said:
            house.entry, house.fast_deaths = said, 0
            return
        _end(house.pid, time.monotonic() + STOP_MAX_S)
        house.pid = 0
        if said:
            raise UsageError(f"{name}: {said['what']}", where=said["where"], next_step=said["next"])
        house.fast_deaths += 1
        if house.fast_deaths >= FAST_DEATHS_MAX:
            raise self._lost(name, "died before it was ready, again and again")
        self._await_ready(house, self._fork(house, is_first=False))

    def _lost(self, name: str, why: str) -> EnvironmentMissing:
        return EnvironmentMissing(
            f"The {name} fake cannot be served: {why}",
            where=str(self._folder / f"{name}.sqlite"),
            next_step="Mend what it says, or give another --state folder.",
        )

    def _write_place(self) -> None:
        """Where everything is, for `fakes journal` and for people; the secrets of test accounts are not in it."""
        place = {"pid": os.getpid(), "controls": {n: h.entry["control"] for n, h in self._houses.items()}}
        temporary = self._folder / f"{PLACE_FILE}.new"
        temporary.write_text(json.dumps(place), encoding="utf-8")
        temporary.replace(self._folder / PLACE_FILE)

    # In the child.

    def _child(self, house: _House, says: int, is_first: bool) -> NoReturn:
        code = 1
        try:
            os.setpgid(0, 0)  # a Ctrl-C at the terminal is the parent's to handle
            os.close(self._life[1])
            for other in self._houses.values():
                if other is not house:
                    close_all(other.sockets)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            gc.freeze()  # what the parent loaded stays: no need to look through it again and again
            gc.set_threshold(*GC_THRESHOLD)
            asyncio.run(self._serve(house, says, is_first))
            code = 0
        except KnownstateError as error:
            os.write(says, json.dumps({"what": error.what, "where": error.where, "next": error.next_step}).encode())
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            os._exit(code)  # nothing of the parent's may run in here: no handler, no cleanup

    async def _serve(self, house: _House, says: int, is_first: bool) -> None:
        plot, over = house.plot, asyncio.Event()
        loop = asyncio.get_running_loop()
        host = Host(plot.kind, plot.options, folder=self._folder, clock=Clock(is_manual=self._is_manual))
        await host.start(house.sockets)
        for hook in plot.hooks if is_first else ():
            host.desk.board.arm(hook)
        loop.add_reader(self._life[0], over.set)
        loop.add_signal_handler(signal.SIGTERM, over.set)
        os.write(says, json.dumps(host.entry()).encode())
        os.close(says)
        await over.wait()
        loop.remove_reader(self._life[0])
        await host.close()


def _read_all(pipe: int, limit_s: float) -> bytes:
    """All until the other end is closed; what there is when the time is over."""
    parts, deadline = [], time.monotonic() + limit_s
    try:
        while (left_s := deadline - time.monotonic()) > 0 and select.select([pipe], [], [], left_s)[0]:
            part = os.read(pipe, 65536)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(pipe)
    return b"".join(parts)


def _end(pid: int, deadline: float) -> None:
    """Ask a child of ours to end, and kill it when it has not until then."""
    if not pid:
        return
    try:
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(LOOK_EVERY_S)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return
