"""The book of deployments, their statuses, and the runs of workflows.

Theory. Statuses are only appended; what a deployment is, its latest status says. A `success` makes earlier successes
in the same environment `inactive`, by a status of their own. A deployment can be deleted when it is not active, or
when it is the only one. Everything carries the moment it came (and went), so that a past moment can be read too.
Never here: HTTP, git, effects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fakes.core.rows import NEVER
from fakes.wire.shelf import Shelf

DEPLOYMENT, STATUS, RUN = "deployment", "status", "run"
STATES = ("error", "failure", "inactive", "in_progress", "queued", "pending", "success")
FINISHED = ("error", "failure", "inactive")
"""States in which a deployment is not active."""


class Deployment(NamedTuple):
    """One deployment. `due_ns` is when the deployer finishes it, 0 when nobody will."""

    id: int
    ref: str
    sha: str
    task: str
    environment: str
    description: str
    payload: Any
    is_transient: bool
    is_production: bool
    made_ns: int
    effect: str
    due_ns: int = 0
    gone_ns: int = NEVER


class Status(NamedTuple):
    """One status of a deployment."""

    id: int
    deployment: int
    state: str
    environment: str
    made_ns: int
    description: str = ""
    environment_url: str = ""
    log_url: str = ""


class Run(NamedTuple):
    """One run of a workflow. Who dispatched it shows only in its title, if the dispatch said an operation."""

    id: int
    workflow: str
    title: str
    branch: str
    sha: str
    made_ns: int
    due_ns: int = 0
    conclusion: str = ""


class Book:
    """All of them on a shelf, by number."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    # Deployments.

    def add(self, deployment: Deployment) -> Deployment:
        """Write a new deployment under the next number."""
        numbered = deployment._replace(id=self._shelf.number(DEPLOYMENT))
        self.put(numbered)
        return numbered

    def put(self, deployment: Deployment) -> None:
        """Replace it."""
        self._shelf.put(DEPLOYMENT, str(deployment.id), list(deployment))

    def deployment(self, id_: int, at_ns: int | None = None) -> Deployment | None:
        """The deployment of this number, if it is there, or was at that moment."""
        found = self._shelf.get(DEPLOYMENT, str(id_))
        deployment = None if found is None else Deployment(*found)
        return deployment if deployment is not None and _is_there(deployment, at_ns) else None

    def deployments(self, at_ns: int | None = None) -> list[Deployment]:
        """All that are there, newest first."""
        all_ = (Deployment(*each) for each in self._shelf.all(DEPLOYMENT).values())
        return [each for each in all_ if _is_there(each, at_ns)][::-1]

    def is_deletable(self, deployment: Deployment) -> bool:
        """Is it not active, or alone?"""
        return self.state(deployment.id) in FINISHED or len(self.deployments()) == 1

    # Statuses.

    def append(self, status: Status, *, inactivates: bool) -> Status:
        """Write a new status under the next number; a success may make earlier ones in its environment inactive."""
        numbered = status._replace(id=self._shelf.number(STATUS))
        self._shelf.put(STATUS, str(numbered.id), list(numbered))
        if numbered.state == "success" and inactivates:
            for earlier in self._outdated_by(numbered):
                inactive = Status(0, earlier.id, "inactive", earlier.environment, numbered.made_ns)
                self.append(inactive, inactivates=False)
        return numbered

    def statuses(self, deployment: int, at_ns: int | None = None) -> list[Status]:
        """Its statuses, newest first."""
        all_ = (Status(*each) for each in self._shelf.all(STATUS).values())
        return [each for each in all_ if each.deployment == deployment and (at_ns is None or each.made_ns <= at_ns)][
            ::-1
        ]

    def state(self, deployment: int, at_ns: int | None = None) -> str:
        """What it is by its latest status; "" without any."""
        return next((status.state for status in self.statuses(deployment, at_ns)), "")

    def _outdated_by(self, status: Status) -> Iterator[Deployment]:
        for each in self.deployments():
            is_earlier = each.id < status.deployment and each.environment == status.environment
            if is_earlier and not each.is_transient and self.state(each.id) == "success":
                yield each

    # Runs.

    def add_run(self, run: Run) -> Run:
        """Write a new run under the next number."""
        numbered = run._replace(id=self._shelf.number(RUN))
        self.put_run(numbered)
        return numbered

    def put_run(self, run: Run) -> None:
        """Replace it."""
        self._shelf.put(RUN, str(run.id), list(run))

    def run(self, id_: int) -> Run | None:
        """The run of this number."""
        found = self._shelf.get(RUN, str(id_))
        return None if found is None else Run(*found)

    def runs(self, at_ns: int | None = None) -> list[Run]:
        """All runs, newest first."""
        all_ = (Run(*each) for each in self._shelf.all(RUN).values())
        return [each for each in all_ if at_ns is None or each.made_ns <= at_ns][::-1]


def _is_there(deployment: Deployment, at_ns: int | None) -> bool:
    return deployment.gone_ns == NEVER if at_ns is None else deployment.made_ns <= at_ns < deployment.gone_ns
