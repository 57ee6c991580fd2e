"""The deployer: whoever takes new deployments and runs up and finishes them later, well or not.

A deployment that is taken up is `pending`; when its time has come, SETTLE is crossed (`what=deploy`, or
`workflow.dispatch` for a run), and it is a `success`, or a `failure` if a hook wants that. None of it is an effect.
Never here: requests.
"""

from __future__ import annotations

from fakes.deployment.book import Book, Deployment, Status
from fakes.deployment.forge import Forge
from fakes.deployment.options import DeploymentOptions
from fakes.wire.desk import Desk
from fakes.wire.points import Facts


class Deployer:
    """The deployer of one forge, with its timers."""

    def __init__(self, desk: Desk, book: Book, forge: Forge, options: DeploymentOptions) -> None:
        self._desk = desk
        self._book = book
        self._forge = forge
        self._options = options
        self._due: dict[tuple[str, int], int] = {}

    def go_on(self) -> None:
        """After a restart: set the timers of what is not finished."""
        self._due.clear()
        for deployment in self._book.deployments():
            if deployment.due_ns:
                self.finish_later("deploy", deployment.id, deployment.due_ns)
        for run in self._book.runs():
            if run.due_ns and not run.conclusion:
                self.finish_later("workflow.dispatch", run.id, run.due_ns)

    def due_ns(self) -> int:
        """When what is created now will be finished; 0: nobody will."""
        if self._options.deployer == "none":
            return 0
        return self._desk.clock.now_ns() + self._options.settle_delay_ns

    def finish_later(self, what: str, id_: int, due_ns: int) -> None:
        """Set the timer. A timer of a past that a restore took back finds that it is not awaited, and does nothing."""
        desk, place = self._desk, (what, id_)
        self._due[place] = due_ns

        def due() -> None:
            if self._due.get(place) != due_ns:
                return
            del self._due[place]
            desk.settle_later(0, self._facts(what, id_), lambda is_done: self._finish(what, id_, due_ns, is_done))

        desk.clock.later(due_ns - desk.clock.now_ns(), due)

    def _facts(self, what: str, id_: int) -> Facts:
        if what != "deploy":
            run = self._book.run(id_)
            is_marked = run is not None and run.title != run.workflow
            return Facts(what=what, target=str(id_), operation=run.title if run is not None and is_marked else "")
        deployment = self._book.deployment(id_)
        row = self._forge.row(deployment.effect) if deployment is not None else None
        return Facts(what=what, target=row.target if row else str(id_), operation=row.operation if row else "")

    def _finish(self, what: str, id_: int, due_ns: int, is_done: bool) -> None:
        state = "success" if is_done else "failure"
        if what != "deploy":
            run = self._book.run(id_)
            if run is not None and run.due_ns == due_ns and not run.conclusion:
                self._book.put_run(run._replace(conclusion=state))
                self._desk.note("settled", "", {"run": id_, "state": state})
            return
        deployment = self._book.deployment(id_)
        if deployment is None or deployment.due_ns != due_ns:
            return
        self._book.put(deployment._replace(due_ns=0))
        self.append(deployment, state)
        self._desk.note("settled", "", {"deployment": id_, "state": state})

    def append(self, deployment: Deployment, state: str) -> None:
        """Write a status in the deployer's name."""
        now_ns = self._desk.clock.now_ns()
        self._book.append(Status(0, deployment.id, state, deployment.environment, now_ns), inactivates=True)
