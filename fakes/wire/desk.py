"""The desk a fake works at: it lends time, the journal and the hooks, and keeps their order right.

Theory. Every request goes the same way, whatever the protocol:

    arrived -> RECEIVED -> (face reads it) -> PARSED -> key in flight -> KEY_CLAIMED -> BEFORE_COMMIT
            -> execute and journal, one step -> AFTER_COMMIT -> (face words it) -> RESPONDING -> written -> RESPONDED

Between the look at the world and the change of it nothing else runs, since `execute` is a plain function in the one
event loop. Others run while a request is held at a hook, which is how two requests with one key meet.
Never here: a protocol, a provider's rule, a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fakes.wire.board import Armed, Board, Interrupted
from fakes.wire.clock import Clock
from fakes.wire.journal_file import Document, Durable, Entry, JournalFile
from fakes.wire.points import PASS, Act, Action, Facts, Point
from harness.model.boundary import Phase
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault

T = TypeVar("T")
FLUSH_DELAY_S = 0.002
"""How long an entry that no response depends on may wait for the next commit."""
_CLOCK = "clock_offset_ns"


def no_fault(phase: Phase) -> Fault | None:
    """For the `at` of a domain: on the wire, hooks do what faults do in a simulation."""
    return None


class Call:
    """One arrived request and what is known of it so far."""

    __slots__ = ("facts",)

    def __init__(self, number: str, line: str) -> None:
        self.facts = Facts(call=number, line=line)

    @property
    def number(self) -> str:
        return self.facts.call

    def about(self, *, what: str, target: str = "", operation: str = "", key: str = "") -> Call:
        """Say what it is about, once it has been read. Returns itself."""
        self.facts = self.facts._replace(what=what, target=target, operation=operation, key=key)
        return self


class Desk:
    """One fake's desk. Everything here is used from the fake's event loop."""

    def __init__(self, name: str, *, clock: Clock | None = None, journal: JournalFile | None = None) -> None:
        self.name = name
        self.clock = clock or Clock()
        self.journal = journal or JournalFile()
        if (offset := self.journal.kept(_CLOCK)) is not None:
            self.clock.offset_ns = int(offset)
        self.board = Board(self.clock, self.note, self.commit, self._compete)
        self.current = ""
        """The call that is being executed: entries a domain records belong to it."""
        self._state: Durable | None = None
        self._competitor: Callable[[str, Facts], None] | None = None
        self._in_flight: set[str] = set()
        self._flush: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def seat(self, state: Durable, compete: Callable[[str, Facts], None]) -> None:
        """The fake sits down: from now on its changes are kept, and those the journal has are loaded into it."""
        self._state = state
        self._competitor = compete
        state.load(self.journal.documents())
        self.note("started", "", {"is_new": self.journal.is_new})
        self.commit()

    def advance_ns(self, duration_ns: int) -> None:
        """Let time pass at once. A fake that is started again goes on from there."""
        self.clock.advance_ns(duration_ns)
        self.journal.keep(_CLOCK, str(self.clock.offset_ns))
        self.note("time-passed", "", {"duration_ns": duration_ns})
        self.commit()

    # Entries.

    def note(self, kind: str, call: str, data: Mapping[str, Any]) -> Entry:
        """Record something. It is durable after the next commit, which comes soon by itself."""
        entry = self.journal.record(self.clock.now_ns(), kind, call, data)
        self._flush_soon()
        return entry

    def record(self, kind: str, where: str, data: Mapping[str, Any]) -> None:
        """For domains: the same with the present call. `where` is kept when there is one."""
        told = {**data, "where": where} if where else dict(data)
        self.note(kind, str(told.pop("call", "") or self.current), told)

    def commit(self) -> None:
        """Make everything so far durable."""
        self.journal.commit(self._state.take_changes() if self._state is not None else ())

    def arrived(self, line: str, **more: Any) -> Call:
        """A request has come. `line` is its first line in the protocol's words, without anything secret."""
        call = Call(f"{self.name}-{self.journal.last_number + 1}", line)
        self.note("arrived", call.number, {"line": line, **more})
        return call

    def responded(self, call: Call, **more: Any) -> None:
        """Its response was written: `code` in the protocol's words."""
        self.note("responded", call.number, more)

    def cut(self, call: Call, action: Action, point: Point) -> None:
        """The connection was ended on purpose."""
        self.note("cut", call.number, {"action": str(action), "point": str(point)})

    # The way of a request.

    async def cross(self, point: Point, call: Call) -> Action:
        """Cross a point of this request. Raises Interrupted."""
        return PASS if self.board.is_empty else await self.board.cross(point, call.facts)

    async def treat(self, call: Call, execute: Callable[[], T], *, is_replay: bool = False) -> T:
        """From PARSED to AFTER_COMMIT; call `call.about(...)` first. Returns what `execute` does.

        `execute` looks and changes in one step; what it raises was executed too, and is durable before it goes on.
        With `is_replay`, a kept answer is given again, and BEFORE_COMMIT and AFTER_COMMIT are not crossed.
        Raises ProviderFailure `key-in-use` while another request with this key is on its way, Interrupted from a hook.
        """
        await self.cross(Point.PARSED, call)
        with self._claimed(call.facts.key):
            await self.cross(Point.KEY_CLAIMED, call)
            if not is_replay:
                await self.cross(Point.BEFORE_COMMIT, call)
            self.current = call.number
            try:
                return execute()
            finally:
                self.current = ""
                self.commit()
                if not is_replay:
                    await self.cross(Point.AFTER_COMMIT, call)

    async def read(self, call: Call) -> int:
        """Cross PARSED and READ of a request that changes nothing. Returns how stale its view must be, in ns (0: fresh)."""
        await self.cross(Point.PARSED, call)
        action = await self.cross(Point.READ, call)
        return action.duration_ns if action.act is Act.STALE else 0

    def is_in_flight(self, key: str) -> bool:
        """Is a request with this key on its way?"""
        return key in self._in_flight

    @contextmanager
    def _claimed(self, key: str) -> Iterator[None]:
        if not key:
            yield
            return
        if key in self._in_flight:
            raise ProviderFailure("key-in-use")
        self._in_flight.add(key)
        try:
            yield
        finally:
            self._in_flight.discard(key)

    # What happens later.

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Do it later, and make it durable."""

        def due() -> None:
            action()
            self.commit()

        self.clock.later(delay_ns, due)

    def settle_later(self, delay_ns: int, facts: Facts, settle: Callable[[bool], None]) -> None:
        """Settle later what was accepted: `settle(True)` if it succeeds, `settle(False)` if a hook lets it fail."""

        async def settling() -> None:
            action = await self.board.cross(Point.SETTLE, facts)
            settle(action.act is not Act.FAIL)
            self.commit()

        self.clock.later(delay_ns, lambda: self.go(settling()))

    async def deliver(self, facts: Facts, send: Callable[[], Awaitable[None]]) -> None:
        """Deliver an event: once, or as a hook at EVENT wants it (not, twice, late)."""
        action = await self.board.cross(Point.EVENT, facts)
        match action.act:
            case Act.DROP:
                return
            case Act.LATE:
                await self.clock.sleep(action.duration_ns)
            case Act.TWICE:
                await send()
        await send()

    def go(self, work: Any) -> None:
        """Run a coroutine beside the requests; what it raises is a bug and noted as one."""
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # one that was cancelled before it began was never awaited

    async def _guarded(self, work: Any) -> None:
        try:
            await work
        except Interrupted:
            return
        except Exception as error:  # noted: nobody waits for this task
            self.note_bug(error)

    def note_bug(self, error: BaseException, call: str = "") -> None:
        """Something of ours went wrong. Tests look for it."""
        import traceback

        self.note("bug", call, {"error": "".join(traceback.format_exception(error))[-4000:]})
        self.commit()

    def close(self) -> None:
        """End what runs beside, and close the journal."""
        self.board.clear()
        for task in self._tasks:
            task.cancel()
        if self._flush is not None:
            self._flush.cancel()
        self.clock.detach()
        self.commit()
        self.journal.close()

    # Snapshots.

    def snapshot(self) -> list[Document]:
        """The whole state as documents."""
        self.commit()
        return list(self.journal.documents())

    def restore(self, documents: list[Document]) -> None:
        """Go back to a snapshot, which stays usable. What happened stays in the journal."""
        assert self._state is not None, "nobody sits at this desk"
        self.commit()
        self.journal.replace_documents(documents)
        self._state.load(self.journal.documents())
        self.note("restored", "", {"documents": len(documents)})
        self.commit()

    def _compete(self, what: str, facts: Facts) -> None:
        assert self._competitor is not None, "nobody sits at this desk"
        try:
            self._competitor(what, facts)
        except (ProviderFailure, LookupError, ValueError) as error:
            self.note("hook-failed", facts.call, {"action": f"compete:{what}", "error": str(error)})
        self.commit()

    def _flush_soon(self) -> None:
        if self._flush is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return  # Outside of a loop, whoever notes commits.
            self._flush = loop.call_later(FLUSH_DELAY_S, self._flush_now)

    def _flush_now(self) -> None:
        self._flush = None
        self.commit()


def open_desk(name: str, folder: Path | None, *, clock: Clock | None = None) -> Desk:
    """A desk whose journal is `folder`/NAME.sqlite, or in memory."""
    journal = JournalFile(":memory:" if folder is None else folder / f"{name}.sqlite")
    return Desk(name, clock=clock, journal=journal)


__all__ = ["Armed", "Call", "Desk", "Facts", "no_fault", "open_desk"]
