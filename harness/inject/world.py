"""The simulated world of one run: virtual clock, timers, the plan of faults, and the crossing of boundaries.

Everything that happens in a simulated run passes `World.cross`. It records the crossing, remembers the site for the explorer, and
looks into the plan; a fault of the message, provider, look-up or store family is handed back to the call or commit that crosses,
which does it; all other faults are struck here, on the spot, by the run (`Strikes`), while the crossing worker stands still.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

from harness.inject.names import StepNames
from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell
from harness.model.event import Event
from harness.model.fault import FAULTS, Family, Fault
from harness.rigs.recorder import NOTHING, Recorder

SiteFacts = tuple[Phase, Purpose, str, str, str, bool, bool]
"""phase, purpose, provider, subject, action, key seen, something stands: what applicability depends on."""

_make = tuple.__new__
HANDED_BACK = (Family.MESSAGE, Family.PROVIDER, Family.LOOKUP, Family.STORE)


class RunCut(BaseException):
    """A limit of the run was reached. Passes through the candidate, which has no business catching it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _raise(reason: str) -> NoReturn:
    raise RunCut(reason)


class Crosser(Protocol):
    """Whoever crosses boundaries: a worker's handles."""

    worker: str
    dead: bool
    dying: bool


class Strikes(Protocol):
    """What the run does when a fault strikes that is not handed back."""

    def strike(self, who: Any, where: str, phase: Phase, fault: Fault, request: Any) -> None:
        """Do the fault. May run other workers; returns when the crossing worker goes on, or does not return."""


class World:
    """Clock, timers, plan, sites, recorder and step names of one run. Times in virtual ns."""

    __slots__ = (
        "_tie",
        "_timers",
        "add",
        "alerted",
        "cells",
        "clock_reads",
        "crossings",
        "crossings_max",
        "cut",
        "events",
        "names",
        "now",
        "plan",
        "recorder",
        "sites",
        "stepper",
        "strikes",
        "time_max",
    )

    def __init__(
        self,
        recorder: Recorder,
        names: StepNames,
        plan: dict[str, list[Fault]],
        cells: Mapping[str, Cell],
        crossings_max: int,
        time_max: int,
    ) -> None:
        self.now = 0
        self.recorder = recorder
        self.add = recorder.add
        self.events = recorder.events
        self.names = names
        self.plan = plan
        self.cells = cells
        self.sites: dict[str, SiteFacts] = {}
        self.crossings = 0
        self.clock_reads = 0
        self.crossings_max = crossings_max
        self.time_max = time_max
        self.strikes: Strikes | None = None
        self.stepper: Callable[[Any, str], None] | None = None
        """Called at every crossing when somebody drives the run step by step."""
        self.cut: Callable[[str], NoReturn] = _raise
        """Ends the run at a limit. A rig whose candidates run on our own stack has to do it past their `except`."""
        self.alerted: set[str] = set()
        """Subjects the pager has rung for: it honours its own keys, the same subject rings once."""
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._tie = 0

    def record(self, actor: str, kind: str, where: str = "", data: Mapping[str, Any] | None = None) -> None:
        """Append an event at the present moment."""
        self.recorder.add(self.now, actor, kind, where, data if data is not None else {})

    # -- time ---------------------------------------------------------------------------------------------------------------

    def later(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Do `action` when `delay_ns` have passed. Ties are kept in the order they were made."""
        self._tie += 1
        heapq.heappush(self._timers, (self.now + delay_ns, self._tie, action))

    @property
    def timers_left(self) -> int:
        return len(self._timers)

    def advance(self, duration_ns: int) -> None:
        """Let time pass, doing what falls due on the way, in order. Raises RunCut at the run's time limit."""
        end = self.now + duration_ns
        if end > self.time_max:
            self.cut("virtual-time")
        timers = self._timers
        while timers and timers[0][0] <= end:
            due, _, action = heapq.heappop(timers)
            self.now = max(self.now, due)
            action()
        self.now = max(self.now, end)

    def advance_to_last_timer(self) -> None:
        """Let time pass until no timer is left (timers may make others: bounded by the run's time limit)."""
        while self._timers:
            self.advance(max(0, self._timers[0][0] - self.now))

    def release(self) -> None:
        """The run is over: nothing here refers back to it, so that it is freed at once and not by a later collection."""
        self.strikes = self.stepper = None
        self.cut = _raise
        self._timers.clear()

    # -- crossing -----------------------------------------------------------------------------------------------------------

    def cross(
        self,
        who: Crosser,
        where: str,
        phase: Phase,
        purpose: Purpose,
        provider: str,
        subject: str,
        request: Any = None,
        key_seen: bool = False,
        stands: bool = False,
    ) -> Fault | None:
        """Cross the boundary `where`. Returns the fault the crossing call or commit has to do itself, or None."""
        events = self.events  # the recorder's `add`, in place: half of all events are made here
        events.append(_make(Event, (len(events), self.now, who.worker, "crossed", where, NOTHING)))
        self.crossings = crossings = self.crossings + 1
        if crossings > self.crossings_max:
            self.cut("crossings")
        if where not in self.sites:
            action = request.action if request is not None else ""
            self.sites[where] = (phase, purpose, provider, subject, action, key_seen, stands)
        if self.stepper is not None:
            self.stepper(who, where)
        if where not in self.plan:
            return None
        return self._next_fault(who, where, phase, request)

    def _next_fault(self, who: Crosser, where: str, phase: Phase, request: Any) -> Fault | None:
        faults = self.plan[where]
        while faults:
            fault = faults.pop(0)
            if not faults:
                del self.plan[where]
            self.record("rig", "fault-armed", where, {"fault": fault.value})
            if FAULTS[fault].family in HANDED_BACK:
                return fault
            assert self.strikes is not None
            self.strikes.strike(who, where, phase, fault, request)
        return None

    def fired(self, where: str, fault: Fault) -> None:
        """The fault was done."""
        certainty = FAULTS[fault].certainty
        self.record(
            "rig", "fault-fired", where, {"fault": fault.value, "certainty": certainty.value if certainty else ""}
        )
