"""Routes of deployments, their statuses, and workflows.

Theory. Every POST of a deployment makes one. Before that, with `auto_merge` (which is the default), the default branch
must be contained in what is deployed: a branch that is behind is merged into and answered 202, nothing deployed; a
commit's name cannot be merged into and is answered 409. So the deployment of an earlier commit, which is what a
rollback is, needs `auto_merge: false`.
Never here: rules of the book, words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from fakes.core.kernel import OUTSIDE
from fakes.deployment.asking import About, Fields, Marks, fields_of, marks_in, operation_in
from fakes.deployment.book import STATES, Deployment, Run, Status
from fakes.deployment.wording import Refused, missing, unprocessable
from fakes.wire.desk import Call
from fakes.wire.http import call_of

if TYPE_CHECKING:
    from fakes.deployment.face import DeploymentFake

ID_LENGTH_MAX = 15
INPUTS_MAX = 25


class DeploymentRoutes:
    """The routes, and what others may do to deployments meanwhile."""

    def __init__(self, fake: DeploymentFake) -> None:
        self._fake = fake
        self._git, self._book, self._options = fake.git, fake.book, fake.options
        self._deployer = fake.deployer

    def routes(self) -> list[Route]:
        """All of them."""
        route = self._fake.route
        return [
            route("/deployments", self._create, "POST"),
            route("/deployments", self._list, "GET"),
            route("/deployments/{id}", self._get, "GET"),
            route("/deployments/{id}", self._delete, "DELETE"),
            route("/deployments/{id}/statuses", self._create_status, "POST"),
            route("/deployments/{id}/statuses", self._statuses, "GET"),
            route("/deployments/{id}/statuses/{status}", self._status, "GET"),
            route("/actions/workflows", self._workflows, "GET"),
            route("/actions/workflows/{workflow}", self._workflow, "GET"),
            route("/actions/workflows/{workflow}/dispatches", self._dispatch, "POST"),
            route("/actions/workflows/{workflow}/runs", self._runs, "GET"),
            route("/actions/runs", self._runs, "GET"),
            route("/actions/runs/{id}", self._run, "GET"),
        ]

    # Deployments.

    async def _create(self, http: HttpRequest) -> Response:
        said = await fields_of(http)
        ref, wanted = said.text("ref"), _deployment(said)
        is_merging, contexts = said.flag("auto_merge", True), said.texts("required_contexts")
        marks = marks_in(wanted.payload, http)
        target = marks.target or wanted.environment
        call = call_of(http).about(what="deploy", target=target, operation=marks.operation)

        def execute() -> Deployment | Refused:
            sha = self._git.resolve(ref)
            if sha is None:
                raise unprocessable(f"No ref found for: {ref[:200]}")
            if is_merging and (answer := self._merge(ref, sha, marks, call)):
                return answer
            self._check_contexts(ref, contexts)
            return self._deploy(call.number, wanted._replace(sha=sha), marks, target)

        made = await self._fake.change(call, execute, About(f"heads/{ref}", wanted.environment))
        if isinstance(made, Refused):
            return self._fake.answer(http, {"message": str(made)}, made.status)
        return self._fake.answer(http, self._shown(http, made), 201)

    def _deploy(self, call: str, wanted: Deployment, marks: Marks, target: str) -> Deployment:
        undone = self._book.deployment(marks.undoes) if marks.undoes else None
        params: dict[str, str | int] = {"ref": wanted.ref, "sha": wanted.sha, "environment": wanted.environment}
        _, effect = self._fake.forge.deploy(
            call,
            target=target,
            operation=marks.operation,
            params=params,
            undoes=undone.effect if undone is not None else "",
        )
        now_ns = self._fake.desk.clock.now_ns()
        made = self._book.add(wanted._replace(made_ns=now_ns, effect=effect, due_ns=self._deployer.due_ns()))
        if made.due_ns:
            self._deployer.append(made, "pending")
            self._deployer.finish_later("deploy", made.id, made.due_ns)
        return made

    def _merge(self, ref: str, sha: str, marks: Marks, call: Call) -> Refused | None:
        """The default branch into what is deployed: None if it is there, 202 if it was merged. Raises Refused 409."""
        default = self._options.default_branch
        head = self._git.head(f"heads/{default}")
        if head is None or self._git.contains(sha, head):
            return None
        branch = ref.removeprefix("refs/").removeprefix("heads/")
        if self._git.head(f"heads/{branch}") is None or branch in self._options.conflicting:
            raise Refused(409, f"Conflict merging {default} into {ref[:200]}.")
        clock = self._fake.desk.clock
        merged = self._git.merged(sha, head, f"Merge branch '{default}' into {branch}", clock.now_s())
        target, params = f"heads/{branch}", {"from": sha, "sha": merged}
        self._fake.forge.do(call.number, "ref.update", target=target, operation=marks.operation, params=params)
        self._git.point(target, merged, clock.now_ns())
        return Refused(202, f"Auto-merged {default} into {branch} on deployment.")

    def _check_contexts(self, ref: str, required: list[str] | None) -> None:
        """Raise Refused 409 unless all required status checks (None: all that there are) succeeded."""
        states = self._options.contexts
        wanted = list(states) if required is None else required
        if all(states.get(name) == "success" for name in wanted):
            return
        told = [{"context": name, "state": states.get(name, "pending")} for name in wanted]
        error = {"contexts": told, "resource": "Deployment", "field": "required_contexts", "code": "invalid"}
        raise Refused(409, f"Conflict: Commit status checks failed for {ref[:200]}.", errors=[error])

    async def _list(self, http: HttpRequest) -> Response:
        at_ns = await self._fake.moment(http, "deploy")
        asked = http.query_params
        filters = {name: asked[name] for name in ("sha", "ref", "task", "environment") if asked.get(name)}
        found = [
            each
            for each in self._book.deployments(at_ns)
            if all(getattr(each, name) == value for name, value in filters.items())
        ]
        return self._fake.paged(http, found, lambda each: self._shown(http, each, at_ns))

    async def _get(self, http: HttpRequest) -> Response:
        at_ns = await self._fake.moment(http, "deploy")
        return self._fake.answer(http, self._shown(http, self._found(http, at_ns), at_ns))

    async def _delete(self, http: HttpRequest) -> Response:
        target, operation = http.path_params["id"], operation_in(http)
        call = call_of(http).about(what="deployment.delete", target=target, operation=operation)

        def execute() -> None:
            deployment = self._found(http)
            if not self._book.is_deletable(deployment):
                message = (
                    "We cannot delete an active deployment unless it is the only deployment in a given environment."
                )
                raise unprocessable(message)
            self._fake.forge.do(call.number, call.facts.what, target=target, operation=operation, params={})
            self._book.put(deployment._replace(gone_ns=self._fake.desk.clock.now_ns(), due_ns=0))

        await self._fake.change(call, execute, About(deployment=_number(target)))
        return self._fake.answer(http, None, 204)

    # Statuses.

    async def _create_status(self, http: HttpRequest) -> Response:
        said, deployment = await fields_of(http), self._found(http)
        state, inactivates = said.text("state"), said.flag("auto_inactive", True)
        if state not in STATES:
            error = {
                "resource": "DeploymentStatus",
                "code": "custom",
                "field": "state",
                "message": "state is not included in the list",
            }
            raise unprocessable("Validation Failed", error)
        wanted = Status(
            id=0,
            deployment=deployment.id,
            state=state,
            environment=said.text("environment", deployment.environment),
            made_ns=0,
            description=said.text("description", ""),
            environment_url=said.text("environment_url", ""),
            log_url=said.text("log_url", said.text("target_url", "")),
        )
        target, operation = str(deployment.id), operation_in(http)
        call = call_of(http).about(what="status.create", target=target, operation=operation)

        def execute() -> Status:
            self._found(http)
            params: dict[str, str | int] = {"state": state}
            self._fake.forge.do(call.number, call.facts.what, target=target, operation=operation, params=params)
            timed = wanted._replace(made_ns=self._fake.desk.clock.now_ns())
            return self._book.append(timed, inactivates=inactivates)

        made = await self._fake.change(call, execute, About("", deployment.environment, deployment.id))
        return self._fake.answer(http, self._fake.shapes(http).status(made), 201)

    async def _statuses(self, http: HttpRequest) -> Response:
        at_ns = await self._fake.moment(http, "status", http.path_params["id"])
        found = self._book.statuses(self._found(http, at_ns).id, at_ns)
        return self._fake.paged(http, found, self._fake.shapes(http).status)

    async def _status(self, http: HttpRequest) -> Response:
        at_ns = await self._fake.moment(http, "status", http.path_params["id"])
        wanted = _number(http.path_params["status"])
        found = [each for each in self._book.statuses(self._found(http, at_ns).id, at_ns) if each.id == wanted]
        if not found:
            raise missing()
        return self._fake.answer(http, self._fake.shapes(http).status(found[0]))

    # Workflows.

    async def _workflows(self, http: HttpRequest) -> Response:
        await self._fake.moment(http, "workflow", is_lookup=False)
        shapes, numbered = self._fake.shapes(http), list(enumerate(self._options.workflows, 1))
        return self._fake.paged(http, numbered, lambda each: shapes.workflow(*each), "workflows")

    async def _workflow(self, http: HttpRequest) -> Response:
        await self._fake.moment(http, "workflow", http.path_params["workflow"], is_lookup=False)
        return self._fake.answer(http, self._fake.shapes(http).workflow(*self._named_workflow(http)))

    async def _dispatch(self, http: HttpRequest) -> Response:
        """Every dispatch is a run of its own, and the answer does not say which."""
        said, (_, file) = await fields_of(http), self._named_workflow(http)
        ref, inputs = said.text("ref"), said.raw("inputs") or {}
        if not isinstance(inputs, dict) or len(inputs) > INPUTS_MAX:
            raise unprocessable(f"you may only define up to {INPUTS_MAX} inputs for a dispatch event")
        marks = marks_in(inputs, http)
        target = marks.target or file
        call = call_of(http).about(what="workflow.dispatch", target=target, operation=marks.operation)

        def execute() -> None:
            branch = ref.removeprefix("refs/").removeprefix("heads/")
            sha = self._git.head(f"heads/{branch}") or self._git.head(f"tags/{branch.removeprefix('tags/')}")
            if sha is None:
                raise unprocessable(f"No ref found for: {ref[:200]}")
            params: dict[str, str | int] = {"ref": ref, "workflow": file}
            self._fake.forge.do(call.number, call.facts.what, target=target, operation=marks.operation, params=params)
            now_ns = self._fake.desk.clock.now_ns()
            run = self._book.add_run(
                Run(0, file, marks.operation or file, branch, sha, now_ns, self._deployer.due_ns())
            )
            if run.due_ns:
                self._deployer.finish_later("workflow.dispatch", run.id, run.due_ns)

        await self._fake.change(call, execute, About(f"heads/{ref}"))
        return self._fake.answer(http, None, 204)

    async def _runs(self, http: HttpRequest) -> Response:
        at_ns = await self._fake.moment(http, "workflow.dispatch")
        file = self._named_workflow(http)[1] if "workflow" in http.path_params else None
        found = [each for each in self._book.runs(at_ns) if file in (None, each.workflow)]
        return self._fake.paged(http, found, lambda each: self._run_data(http, each), "workflow_runs")

    async def _run(self, http: HttpRequest) -> Response:
        at_ns = await self._fake.moment(http, "workflow.dispatch", http.path_params["id"])
        run = self._book.run(_number(http.path_params["id"]))
        if run is None or run.made_ns > at_ns:
            raise missing()
        return self._fake.answer(http, self._run_data(http, run))

    def _run_data(self, http: HttpRequest, run: Run) -> dict[str, Any]:
        files = self._options.workflows
        number = files.index(run.workflow) + 1 if run.workflow in files else 0
        return self._fake.shapes(http).run(run, number)

    def _named_workflow(self, http: HttpRequest) -> tuple[int, str]:
        """Number and file of the workflow in the path, which names it by either. Raises Refused."""
        name = http.path_params["workflow"]
        for number, file in enumerate(self._options.workflows, 1):
            if name in (file, str(number)):
                return number, file
        raise missing()

    # Others.

    def outside_deployment(self, environment: str) -> None:
        """Somebody else deploys the default branch, with success."""
        ref = self._options.default_branch
        sha = self._git.resolve(ref)
        if sha is None:
            raise LookupError(f"there is no branch {ref!r}")
        place = environment or "production"
        wanted = Deployment(0, ref, sha, "deploy", place, "", {}, False, place == "production", 0, "")
        made = self._deploy("", wanted, Marks(OUTSIDE), place)
        if not made.due_ns:
            self._deployer.append(made, "success")

    def outside_inactivation(self, id_: int) -> None:
        """Somebody else marks it inactive."""
        self._deployer.append(self._outside(id_), "inactive")

    def outside_deletion(self, id_: int) -> None:
        """Somebody else deletes it, active or not."""
        deployment = self._outside(id_)
        self._book.put(deployment._replace(gone_ns=self._fake.desk.clock.now_ns(), due_ns=0))
        self._fake.desk.note("drifted", "", {"target": str(id_), "effect": deployment.effect})

    def _outside(self, id_: int) -> Deployment:
        deployment = self._book.deployment(id_)
        if deployment is None:
            raise LookupError(f"there is no deployment {id_}")
        return deployment

    # What the above have in common.

    def _found(self, http: HttpRequest, at_ns: int | None = None) -> Deployment:
        """The deployment in the path. Raises Refused."""
        deployment = self._book.deployment(_number(http.path_params["id"]), at_ns)
        if deployment is None:
            raise missing()
        return deployment

    def _shown(self, http: HttpRequest, deployment: Deployment, at_ns: int | None = None) -> dict[str, Any]:
        latest = next(iter(self._book.statuses(deployment.id, at_ns)), None)
        changed_ns = latest.made_ns if latest is not None else deployment.made_ns
        return self._fake.shapes(http).deployment(deployment, changed_ns)


def _deployment(said: Fields) -> Deployment:
    """What is asked for, before anything is known of it."""
    environment = said.text("environment", "production")
    payload = said.raw("payload")
    return Deployment(
        id=0,
        ref=said.text("ref"),
        sha="",
        task=said.text("task", "deploy"),
        environment=environment,
        description=said.text("description", ""),
        payload={} if payload is None else payload,
        is_transient=said.flag("transient_environment", False),
        is_production=said.flag("production_environment", environment == "production"),
        made_ns=0,
        effect="",
    )


def _number(text: str) -> int:
    """An id in a path; 0, which nothing has, for what is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= ID_LENGTH_MAX else 0
