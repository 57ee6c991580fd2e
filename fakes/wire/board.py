"""The board of armed hooks of one fake: who crosses a point asks it what to do.

Here: arming, counting, hanging and releasing, and the actions that need no connection (delay, hang, crash, compete,
signal). The others are the asker's to do: a cut or a status is raised as `Interrupted`, what concerns a view, an event
or a settling is returned.
Never here: transports, and what a provider answers.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from fakes.wire.clock import Clock
from fakes.wire.points import DATAGRAM_ACTS, PASS, REQUEST_POINTS, Act, Action, Facts, Hook, Point
from harness.model.errors import UsageError

HOOKS_MAX = 1000


class Interrupted(Exception):
    """The request's way ends here: with a cut (reset, fin) or a status."""

    def __init__(self, action: Action, point: Point) -> None:
        super().__init__(f"{action} at {point}")
        self.action = action
        self.point = point


class Armed:
    """One hook on the board and how far it has come."""

    def __init__(self, name: str, hook: Hook, now_ns: int) -> None:
        self.name = name
        self.hook = hook
        self.armed_ns = now_ns
        self.seen = 0
        self.fired = 0
        self.hanging: list[tuple[Facts, asyncio.Event]] = []

    @property
    def is_spent(self) -> bool:
        return self.fired >= self.hook.times

    def as_data(self) -> dict[str, Any]:
        waiting = [facts._asdict() for facts, _ in self.hanging]
        return {"id": self.name, "hook": str(self.hook), "seen": self.seen, "fired": self.fired, "hanging": waiting}


class Board:
    """All hooks of one fake. `note(kind, call, data)` writes to its journal and `settle` makes it durable."""

    def __init__(
        self,
        clock: Clock,
        note: Callable[[str, str, Mapping[str, Any]], object],
        settle: Callable[[], None],
        compete: Callable[[str, Facts], None],
    ) -> None:
        self._clock = clock
        self._note = note
        self._settle = settle
        self._compete = compete
        self._armed: dict[str, Armed] = {}
        self._numbers = 0
        self.has_datagrams = False
        """Does this fake take datagrams? Without, nothing on a request's way can be dropped, doubled or overtaken."""

    @property
    def is_empty(self) -> bool:
        """Nothing is armed: crossing costs nothing."""
        return not self._armed

    def arm(self, hook: Hook) -> str:
        """Put a hook on the board; returns its id. Raises UsageError when there are too many, or it could do nothing here."""
        if hook.point in REQUEST_POINTS and hook.action.act in DATAGRAM_ACTS and not self.has_datagrams:
            raise UsageError(
                f"{hook.action.act} is for datagrams, and this fake takes none.",
                where=f"hook {str(hook)!r}",
                next_step="Use reset, fin or truncate, or delay the request.",
            )
        if len(self._armed) >= HOOKS_MAX:
            raise UsageError(f"There are {HOOKS_MAX} hooks already.", next_step="Disarm some.")
        self._numbers += 1
        name = f"hook-{self._numbers}"
        self._armed[name] = Armed(name, hook, self._clock.now_ns())
        return name

    def disarm(self, name: str) -> None:
        """Take it off; who hangs at it goes on. Raises UsageError for an unknown one."""
        self.release(name)
        del self._armed[name]

    def release(self, name: str) -> int:
        """Let those hanging at it go on; how many. Raises UsageError for an unknown one."""
        armed = self._armed.get(name)
        if armed is None:
            known = ", ".join(self._armed) or "none"
            raise UsageError(f"There is no hook {name!r}.", where=f"armed: {known}", next_step="Name one of these.")
        for _, go_on in armed.hanging:
            go_on.set()
        return len(armed.hanging)

    def clear(self) -> None:
        """Take all off."""
        for name in list(self._armed):
            self.disarm(name)

    def listing(self) -> list[dict[str, Any]]:
        """All hooks as data, oldest first."""
        return [armed.as_data() for armed in self._armed.values()]

    def armed_ns(self, name: str) -> int:
        """When this hook was armed."""
        return self._armed[name].armed_ns

    def wants(self, point: Point) -> bool:
        """Is there an unspent hook at this point?"""
        return any(armed.hook.point is point and not armed.is_spent for armed in self._armed.values())

    def draw(self, point: Point, facts: Facts) -> tuple[Action, Armed | None]:
        """Count this crossing, and the action of the first hook whose turn it is. Nothing is done yet.

        `stale` without a duration is given the one that reaches back to the moment its hook was armed.
        """
        chosen: Armed | None = None
        for armed in self._armed.values():
            if not armed.hook.fits(point, facts):
                continue
            armed.seen += 1
            if chosen is None and armed.seen >= armed.hook.nth and not armed.is_spent:
                chosen = armed
        if chosen is None:
            return PASS, None
        chosen.fired += 1
        action = chosen.hook.action
        self._note("hook-fired", facts.call, {"hook": chosen.name, "point": str(point), "action": str(action)})
        if action.act is Act.STALE and not action.duration_ns:
            action = action._replace(duration_ns=max(self._clock.now_ns() - chosen.armed_ns, 1))
        return action, chosen

    async def cross(self, point: Point, facts: Facts) -> Action:
        """Cross a point. Does what needs no connection, and returns PASS or what the asker must do.

        Raises Interrupted for reset, fin and status.
        """
        if not self._armed:
            return PASS
        action, armed = self.draw(point, facts)
        match action.act:
            case Act.PASS:
                return PASS
            case Act.DELAY:
                await self._clock.sleep(action.duration_ns)
            case Act.HANG:
                assert armed is not None
                await self._hang(armed, facts)
            case Act.RESET | Act.FIN | Act.STATUS:
                raise Interrupted(action, point)
            case Act.CRASH | Act.SIGNAL | Act.COMPETE:
                self.do_now(action, facts)
            case _:
                return action
        return PASS

    def do_now(self, action: Action, facts: Facts) -> None:
        """Do an action that takes no time: crash, signal, compete."""
        match action.act:
            case Act.CRASH:
                self._settle()
                os.kill(os.getpid(), signal.SIGKILL)
            case Act.SIGNAL:
                self._signal(action, facts)
            case Act.COMPETE:
                self._compete(action.what, facts)
            case other:
                raise AssertionError(f"{other} takes time or a connection")

    def _signal(self, action: Action, facts: Facts) -> None:
        self._settle()
        try:
            os.kill(action.pid, signal.Signals[f"SIG{action.what.removeprefix('SIG')}"])
        except (OSError, KeyError) as error:
            self._note("hook-failed", facts.call, {"action": str(action), "error": str(error)})

    async def _hang(self, armed: Armed, facts: Facts) -> None:
        held = (facts, asyncio.Event())
        armed.hanging.append(held)
        self._settle()
        try:
            await held[1].wait()
        finally:
            armed.hanging.remove(held)
