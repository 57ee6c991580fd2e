"""The process rig: workers are processes, the store is a file, providers are behind sockets, death is SIGKILL.

One run has the same course as on the simulation rig: a worker submits the workflow and drives it; where the schedule
says so, something goes wrong; then new workers recover, each under a new name and after the dead one's lease has run
out, until nothing changes; then the final audit. Events, boundaries and their names are the same, so that one schedule
line means one run on both rigs.

Real here: the process and its death (its whole group, waited for), the SQLite file (WAL) that the next worker finds,
the connections, the time-outs. The run's clock shows `speed` times real time (see `harness/inject/live.py`): at 20, the
usual lease of 30 s costs 1.5 s and a call's time-out of 5 s a quarter of a second. `speed` stands in the header's
traits.

The candidate never runs in this process, not even to create its tables. A worker that comes to a boundary waits there
until the controller lets it go on, so events have one total order and a kill hits exactly where it is aimed.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from fakes.core.endpoint import Endpoint
from fakes.core.face import Passage, app
from harness.candidates.contract import Traits
from harness.inject.network import Network
from harness.inject.process import Child
from harness.inject.simulation import CALL_TIMEOUT_NS
from harness.model.boundary import Phase
from harness.model.cell import KEY_TTL_NS, Cell
from harness.model.errors import CandidateError, ProviderFailure, UsageError
from harness.model.event import SCHEMA_VERSION, Header
from harness.model.fault import FAULTS
from harness.model.plain import to_plain
from harness.model.schedule import Schedule
from harness.model.wire import ProviderTraits, Request
from harness.model.workflow import Scenario
from harness.rigs.course import APPROVAL
from harness.rigs.process_run import STORE, Run
from harness.rigs.serving import Serving
from harness.rigs.simulation import Explored

SPEED = 20
LOAD_WAIT_S = 60.0
"""How long a candidate may take to be imported."""


class ProcessRig:
    """Runs of one candidate on one scenario. Server, proxies and the empty store stay; each run gets a fresh world."""

    name = "process"

    def __init__(
        self,
        candidate_spec: str,
        scenario: Scenario,
        *,
        state_root: Path,
        toxiproxy: str = "",
        candidate_name: str = "",
        cell: Cell | None = None,
        speed: int = SPEED,
    ) -> None:
        """`state_root`: where our folder is made and removed again. `toxiproxy`: address or program, see `Network`."""
        self.candidate_spec = candidate_spec
        self.scenario = scenario
        self.cells = {name: cell or own for name, own in scenario.cells.items()}
        self.speed = speed
        self.desks: dict[str, Endpoint] = {}
        self.current: Run | None = None
        self._runs = itertools.count(1)
        self._children = itertools.count(1)
        self._spare: Child | None = None
        self._is_spare_ready = False
        self._auditor: Child | None = None
        self._open = ExitStack()
        try:
            self._set_up(state_root, toxiproxy)
        except BaseException:
            self.close()
            raise
        self.candidate_name = candidate_name or candidate_spec
        self.provider_traits = {name: _traits(name, c) for name, c in self.cells.items()}
        self.provider_traits[APPROVAL] = _traits(APPROVAL, Cell())
        self._plain = to_plain(scenario)
        self._plain["cells"] = {name: str(c) for name, c in self.cells.items()}

    def _set_up(self, state_root: Path, toxiproxy: str) -> None:
        network = Network(toxiproxy)
        self._open.callback(network.close)
        state_root.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="process-rig-", dir=state_root))
        self._open.callback(shutil.rmtree, self.folder)
        self._open.callback(self._stop_children)
        self.have_spare()
        serving = Serving(app(self.desks, self))
        self._open.callback(serving.close)
        self.links = {name: network.link(name, serving.address) for name in (*self.cells, APPROVAL)}
        self._prepare()

    def _prepare(self) -> None:
        """Let the candidate make its empty store, and learn its traits."""
        child = self.take_auditor()
        child.say({"do": "prepare", "store": str(self.folder / STORE)})
        answer = child.hear(LOAD_WAIT_S) or {"say": "error", "error": f"the process ended: {child.last_words()}"}
        if answer["say"] != "done":
            raise CandidateError(
                f"The candidate could not prepare an empty store: {answer['error']}.",
                where=f"{self.candidate_spec}, prepare",
                next_step="prepare(connection) must create its tables on the sqlite3 connection it is given.",
            )
        self.have_spare()

    # -- runs ----------------------------------------------------------------------------------------------------------

    def header(self, schedule: Schedule) -> Header:
        traits = {**to_plain(self.traits), "speed": self.speed}
        return Header(SCHEMA_VERSION, self._plain, str(schedule), schedule.seed, self.candidate_name, self.name, traits)

    def run(self, schedule: Schedule) -> Explored:
        """One run under this schedule. Leaves no process and no toxic. Raises UsageError for a fault it cannot do."""
        _refuse_the_impossible(schedule)
        self._await_spare()  # the run's clock starts when somebody is there to work
        folder = self.folder / f"run-{next(self._runs)}"
        folder.mkdir()
        shutil.copyfile(self.folder / STORE, folder / STORE)
        self.current = run = Run(self, schedule, folder)
        try:
            return run.execute()
        finally:
            self.current = None
            run.end()

    def passing(self, request: Request, call: str) -> AbstractContextManager[Passage]:
        """The providers' hook: see `fakes.core.face.Hooks`."""
        run = self.current
        if run is None:
            raise ProviderFailure("invalid", "no run is going on")
        return run.gate.passing(request, call)

    def close(self) -> None:
        """Stop everything this rig has started and remove its folder. Safe to call again."""
        self._open.close()

    def __enter__(self) -> ProcessRig:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- processes -----------------------------------------------------------------------------------------------------

    def have_spare(self) -> None:
        """Start a process that loads the candidate while something else has to be waited for."""
        if self._spare is None:
            log = self.folder / f"process-{next(self._children)}.log"
            argv = [sys.executable, "-P", "-m", "harness.rigs.worker_main", self.candidate_spec]
            self._spare = Child(argv, log, _environment())
            self._is_spare_ready = False

    def take_child(self) -> Child:
        """A process that has loaded the candidate. Raises CandidateError if it cannot be loaded."""
        self._await_spare()
        child, self._spare = self._spare, None
        assert child is not None, "there was one to wait for"
        return child

    def _await_spare(self) -> None:
        """Wait until a process has loaded the candidate, and take down its traits."""
        self.have_spare()
        child = self._spare
        assert child is not None, "have_spare has just seen to it"
        if self._is_spare_ready:
            return
        try:
            hello = child.hear(LOAD_WAIT_S)
        except TimeoutError:
            hello = None
        if hello is None or hello["say"] != "ready":
            self._stop_children()
            raise _unusable(self.candidate_spec, hello, child.last_words())
        self.traits = Traits(**{**hello["traits"], "verbs": frozenset(hello["traits"]["verbs"])})
        self._is_spare_ready = True

    def take_auditor(self) -> Child:
        """The process that reads ledgers, the same for all runs: it sees only what is durable, and changes nothing."""
        if self._auditor is None or not self._auditor.is_running:
            self._stop(self._auditor)
            self._auditor = self.take_child()
        return self._auditor

    def _stop_children(self) -> None:
        spare, self._spare = self._spare, None
        auditor, self._auditor = self._auditor, None
        for child in (spare, auditor):
            self._stop(child)

    @staticmethod
    def _stop(child: Child | None) -> None:
        if child is not None:
            child.stop()


def _unusable(spec: str, hello: dict[str, Any] | None, last_words: str) -> CandidateError:
    if hello is not None:
        return CandidateError(hello["what"], where=hello["where"], next_step=hello["next"])
    what = f"The candidate's process did not come up within {LOAD_WAIT_S:.0f} s: {last_words or 'it said nothing'}."
    return CandidateError(what, where=spec, next_step="Import the module by hand to see why.")


def _traits(name: str, cell: Cell) -> ProviderTraits:
    return ProviderTraits(name, cell.key.value, cell.lookup.value, cell.late.value, KEY_TTL_NS, CALL_TIMEOUT_NS)


def _environment() -> dict[str, str]:
    """Ours, and our import path as it is now: the worker finds the candidate where we would."""
    paths = [path or os.getcwd() for path in sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _refuse_the_impossible(schedule: Schedule) -> None:
    """Raise UsageError for an injection this rig cannot do as it is written."""
    for injection in schedule.injections:
        spec = FAULTS[injection.fault]
        phase = Phase(injection.boundary.rpartition("/")[2])
        if ProcessRig.name not in spec.rigs:
            able = ", ".join(f.value for f, row in FAULTS.items() if ProcessRig.name in row.rigs)
            raise UsageError(
                f"The process rig cannot do {injection.fault.value}; it can do {able}.",
                where=f"schedule line {str(schedule)!r}",
                next_step="Use --rig simulation for this schedule.",
            )
        if phase not in spec.phases:
            fitting = ", ".join(p.value for p in spec.phases)
            raise UsageError(
                f"{injection.fault.value} does not fit the phase {phase.value}; it fits {fitting}.",
                where=f"schedule line {str(schedule)!r}",
                next_step="Take a boundary of one of these phases.",
            )
