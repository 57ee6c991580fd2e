"""A simulated run that somebody drives: it stands still at boundaries, and is told to go on or to suffer a fault there.

The course of the run (submit, work, settle, audit) plays in a greenlet of its own. At a crossing the run switches out
to whoever drives it, from whichever worker crosses, nested recoveries included; to go on it is switched back to where
it stood.

A driven run is exactly the run of its schedule. But it knows nothing of injections to come, and in three places the run
of a finished schedule does. Each is closed: how often a submission may be repeated and how many rounds settling may
take are asked anew each time, and the moment from which nothing more goes wrong is written in when the run is over
(`_mark_healed`). So that a boundary's path stands for one moment, a fault can strike only where the path is crossed for
the first time, and only one strikes there.

Never here: choosing (that is Hypothesis's, in `machine`) and judging.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from greenlet import getcurrent, greenlet

from harness.explore.singles import Singles
from harness.inject.world import SiteFacts
from harness.model.event import Event, History
from harness.model.fault import Fault
from harness.model.schedule import Schedule
from harness.rigs.simulation import Explored, Run, SimulationRig

_HELD_OPEN = ""
"""No boundary's path. While it is in the plan, the rig does not say that nothing more will go wrong."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Who is about to cross which boundary, and the faults that fit there: in the table's order, perhaps none."""

    worker: str
    where: str
    facts: SiteFacts
    faults: tuple[Fault, ...]
    body: greenlet


class SteppedRun(Run):
    """One run, driven. `standing`: where it stands, None before its start and after its end; `result`: once it is over.

    One at a time on a rig: runs share its store.
    """

    def __init__(self, rig: SimulationRig, singles: Singles, schedule: Schedule) -> None:
        assert not schedule.injections, "a driven run collects its injections itself"
        rig.fresh_world()
        super().__init__(rig, schedule)
        self.singles = singles
        self.standing: Standing | None = None
        self.result: Explored | None = None
        self._course = greenlet(self._play)
        self._driver = getcurrent()
        self._to_pass = 0
        self._crossed: set[str] = set()
        self._round_starts: list[tuple[int, int]] = []
        self._gave_up = False
        self.world.stepper = self._stand
        self.world.plan[_HELD_OPEN] = []

    # -- driving ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Submit the workflow; stand at the first boundary."""
        assert not self._course, "started once"
        self._switch_to(self._course)

    def go_on(self, boundaries: int = 1) -> None:
        """Cross to the `boundaries`-th next boundary, or to the end when there are fewer."""
        assert self.standing is not None, "a run that stands somewhere"
        assert boundaries > 0, f"{boundaries} boundaries"
        self._to_pass = boundaries - 1
        self._switch_to(self.standing.body)

    def inject(self, fault: Fault) -> None:
        """Let this fault strike where the run stands, and stand at the next boundary anybody crosses."""
        standing = self.standing
        assert standing is not None, "a run that stands somewhere"
        assert fault in standing.faults, f"{fault} does not fit {standing.where}"
        self.schedule = self.schedule.plus(standing.where, fault)
        self.world.plan[standing.where] = [fault]
        self.go_on()

    def finish(self) -> Explored:
        """To the end without another fault: settled and audited."""
        assert self.standing is not None, "a run that stands somewhere"
        self.world.stepper = None
        self._switch_to(self.standing.body)
        assert self.result is not None, "nothing stops it any more"
        return self.result

    def so_far(self) -> History:
        """The history up to here. It has no end, and the judge knows what that means."""
        return History(self.rig.header(self.schedule), list(self.recorder.events))

    def reap(self) -> None:
        """Unwind whoever still stands somewhere, the run's own course last."""
        self.world.stepper = None
        super().reap()
        if not self._course.dead:
            self._course.parent = getcurrent()
            self._unwind(self._course)
        self.standing = None

    # -- standing still -----------------------------------------------------------------------------------------------

    def _play(self) -> None:
        self.result = self.execute()

    def _switch_to(self, body: greenlet) -> None:
        """Let the run go on until it stands again or is over. What ends its course by an exception is raised here."""
        self.standing = None
        self._driver = self._course.parent = getcurrent()
        body.switch()

    def _stand(self, who: Any, where: str) -> None:
        is_first = where not in self._crossed
        self._crossed.add(where)
        if self._to_pass:
            self._to_pass -= 1
            return
        facts = self.world.sites[where]
        faults = self.singles.faults_at(facts) if is_first and not self._gave_up else ()
        self.standing = Standing(who.worker, where, facts, faults, getcurrent())
        self._driver.switch()

    # -- what a run of the finished schedule knows beforehand ---------------------------------------------------------

    def may_submit(self, submissions: int) -> bool:
        """As the rig's. Once the submitter has given up, an injection would give it another try: none fits any more."""
        may = super().may_submit(submissions)
        self._gave_up = not may
        return may

    def _recovery_round(self) -> bool:
        self._round_starts.append((len(self.recorder.events), self.world.now))
        return super()._recovery_round()

    def explored(self) -> Explored:
        self._mark_healed()
        return super().explored()

    def _mark_healed(self) -> None:
        """Say `healed` where the rig says it: at the start of the first round that follows the last fault."""
        events = self.recorder.events
        last_fault = max((e.index for e in events if e.kind == "fault-armed"), default=-1)
        for start, time_ns in self._round_starts:
            if start > last_fault:
                events.insert(start, Event(start, time_ns, "rig", "healed", "", {}))
                events[start + 1 :] = [e._replace(index=e.index + 1) for e in events[start + 1 :]]
                return
