"""The forge over HTTP, as GitHub's REST API speaks: one repository, its refs and files, deployments, workflows.

What an effect is about: a deployment says it in its `payload`, a dispatch in its `inputs`, as
`{"operation": ..., "target": ..., "undoes": DEPLOYMENT_ID}`; everything else in the header `X-Operation`. Without them
the operation is "" and the target the environment, the ref, `BRANCH:PATH` or the object's number. There are no
idempotency keys and no deadlines, so of the cell only `lookup` is spoken of: `eventual` shows every GET as it was a
little earlier, `absent` refuses the GETs of deployments and runs as a token without that permission is refused.

Points: RECEIVED, PARSED, BEFORE_COMMIT, AFTER_COMMIT, RESPONDING, RESPONDED of every change; PARSED and READ of every
GET; SETTLE (`what=deploy` or `workflow.dispatch`) when the deployer finishes. KEY_CLAIMED is crossed with no key.
Never here: what each route does (`refs.py`, `files.py`, `deploying.py`), and rules (`git.py`, `book.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from fakes.core.kernel import OUTSIDE
from fakes.deployment.asking import About, base_url, page_of
from fakes.deployment.book import Book
from fakes.deployment.deployer import Deployer
from fakes.deployment.deploying import DeploymentRoutes
from fakes.deployment.files import FileRoutes
from fakes.deployment.forge import Forge
from fakes.deployment.git import Git
from fakes.deployment.options import DeploymentOptions
from fakes.deployment.refs import RefRoutes
from fakes.deployment.wording import MESSAGES, Refused, Shapes, links, missing, refusal_data
from fakes.wire.clock import MANUAL_START_NS
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Options, Place
from fakes.wire.http import HttpFake, Refusal, call_of
from fakes.wire.journal_file import Document
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.cell import READ_LAG_NS, SECOND_NS, Lookup
from harness.model.errors import ERRORS, ProviderFailure

SEED_NS = MANUAL_START_NS
"""The moment of the first commit. It is the same in every run, so that its name is."""
HOUR_S = 3600
RATE, MARK, SEEDED = "rate", "mark", "seeded"

T = TypeVar("T")
Handler = Callable[[HttpRequest], Awaitable[Response]]


class DeploymentFake(HttpFake):
    """The forge, hosted."""

    name: ClassVar[str] = "deployment"
    title: ClassVar[str] = "Deployments: refs, files, deployments and workflows in the manner of GitHub's REST API"
    options_class: ClassVar[type[Options]] = DeploymentOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "push": "Somebody else pushes a commit to the branch (to the default branch, if the request is about none).",
        "deploy": "Somebody else deploys the default branch to the environment, with success.",
        "inactivate": "Somebody else marks the deployment inactive.",
        "delete": "Somebody else deletes the deployment, or the ref.",
    }
    options: DeploymentOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        self.cell = options.provider_cell
        self.shelf = Shelf()
        self.git = Git(self.shelf)
        self.book = Book(self.shelf)
        self.forge = Forge(self.cell, now=desk.clock.now_ns, record=desk.record, later=desk.later)
        self.deployer = Deployer(desk, self.book, self.forge, self.options)
        self.at_hand: dict[str, About] = {}
        self._refs = RefRoutes(self)
        self.deploying = DeploymentRoutes(self)
        self.state = _ForgeState(self)

    def application(self) -> Starlette:
        async def refuse(http: HttpRequest, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            self.admit(http)
            return self.answer(
                http, refusal_data(error.status_code, MESSAGES.get(error.status_code, "Error")), error.status_code
            )

        routes = [
            Route("/user", self._user, methods=["GET"]),
            Route("/rate_limit", self._rate_limit, methods=["GET"]),
            self.route("", self._repository, "GET"),
            *self._refs.routes(),
            *FileRoutes(self).routes(),
            *self.deploying.routes(),
        ]
        made = Starlette(routes=routes, exception_handlers={HTTPException: refuse})
        made.router.redirect_slashes = False
        return made

    def route(self, path: str, handler: Handler, method: str) -> Route:
        """A route below the repository. Whoever is not let in, or asks for another repository, does not get there."""

        async def guarded(http: HttpRequest) -> Response:
            self.admit(http)
            owner, name = http.path_params["owner"], http.path_params["repository"]
            if (owner.lower(), name.lower()) != (self.options.owner.lower(), self.options.repository.lower()):
                raise missing()
            return await handler(http)

        return Route(f"/repos/{{owner}}/{{repository}}{path}", guarded, methods=[method])

    # What the routes have in common.

    def admit(self, http: HttpRequest) -> None:
        """Let a request in, and count it. Raises Refused without the token, and beyond the rate."""
        scheme, _, token = http.headers.get("authorization", "").partition(" ")
        if not token:
            raise Refused(401, "Requires authentication")
        if scheme.lower() not in ("token", "bearer") or token.strip() != self.options.token:
            raise Refused(401, "Bad credentials")
        if http.scope["path"] == "/rate_limit":
            return
        start_s, used = self._window()
        if used >= self.options.rate_limit:
            raise Refused(403, "API rate limit exceeded for user ID 1.")
        self.shelf.put(RATE, self.options.login, [start_s, used + 1])

    def _window(self) -> tuple[int, int]:
        start_s, used = self.shelf.get(RATE, self.options.login) or (0, 0)
        now_s = self.desk.clock.now_s()
        return (start_s, used) if start_s <= now_s < start_s + HOUR_S else (now_s, 0)

    def headers(self, call: Call) -> dict[str, str]:
        """What every response carries."""
        start_s, used = self._window()
        limit = self.options.rate_limit
        return {
            "x-ratelimit-limit": str(limit),
            "x-ratelimit-remaining": str(limit - used),
            "x-ratelimit-used": str(used),
            "x-ratelimit-reset": str(start_s + HOUR_S),
            "x-ratelimit-resource": "core",
            "x-github-request-id": call.number,
        }

    def shapes(self, http: HttpRequest) -> Shapes:
        options = self.options
        return Shapes(base_url(http), options.owner, options.repository, options.login, options.default_branch)

    def answer(
        self, http: HttpRequest, data: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        """A response: JSON, or nothing with 204."""
        told = {**self.headers(call_of(http)), **(headers or {})}
        if status == 204:
            return Response(None, 204, told)
        return Response(orjson.dumps(data), status, told, "application/json; charset=utf-8")

    def paged(self, http: HttpRequest, all_: Sequence[T], worded: Callable[[T], Any], wrapped: str = "") -> Response:
        """One page of a list, with links to the others; `wrapped` names it inside an object with its total."""
        page = page_of(http)
        start = (page.number - 1) * page.size
        shown = [worded(each) for each in all_[start : start + page.size]]
        last = max(-(-len(all_) // page.size), 1)
        told = links(base_url(http) + quote(http.scope["path"]), http.query_params.multi_items(), page.number, last)
        return self.answer(http, {"total_count": len(all_), wrapped: shown} if wrapped else shown, 200, told)

    async def change(self, call: Call, execute: Callable[[], T], about: About) -> T:
        """Treat a change; while it is on its way, others may compete with it."""
        self.at_hand[call.number] = about
        try:
            return await self.desk.treat(call, execute)
        finally:
            del self.at_hand[call.number]

    async def moment(self, http: HttpRequest, what: str, target: str = "", *, is_lookup: bool = True) -> int:
        """Cross the points of a look; the moment whose world it sees. Raises Refused where the cell has no look-ups."""
        stale_ns = await self.desk.read(call_of(http).about(what=what, target=target))
        if is_lookup and self.cell.lookup is Lookup.ABSENT:
            raise Refused(403, "Resource not accessible by personal access token")
        return self.desk.clock.now_ns() - max(stale_ns, READ_LAG_NS if self.cell.lookup is Lookup.EVENTUAL else 0)

    # Words.

    def refusal(self, code: int, call: Call) -> Refusal:
        return self._worded(code, refusal_data(code, MESSAGES.get(code, "Error")), call)

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        if isinstance(failed, Refused):
            return failed.status, self._worded(
                failed.status, refusal_data(failed.status, str(failed), failed.more), call
            )
        spec = ERRORS.get(failed.code)
        status = spec.status if spec is not None and spec.status else 500
        return status, self._worded(status, refusal_data(status, str(failed)), call)

    def _worded(self, code: int, data: Any, call: Call) -> Refusal:
        told = {"content-type": "application/json; charset=utf-8", **self.headers(call)}
        return Refusal(told, orjson.dumps(data))

    # Routes of no room.

    async def _user(self, http: HttpRequest) -> Response:
        self.admit(http)
        await self.moment(http, "user", is_lookup=False)
        return self.answer(http, self.shapes(http).user())

    async def _rate_limit(self, http: HttpRequest) -> Response:
        self.admit(http)
        await self.moment(http, "rate", is_lookup=False)
        start_s, used = self._window()
        limit = self.options.rate_limit
        core = {"limit": limit, "used": used, "remaining": limit - used, "reset": start_s + HOUR_S}
        return self.answer(http, {"resources": {"core": core, "search": core, "graphql": core}, "rate": core})

    async def _repository(self, http: HttpRequest) -> Response:
        await self.moment(http, "repository", is_lookup=False)
        return self.answer(http, self.shapes(http).repository())

    # For those who host it.

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url, options = places[self.port].url, self.options
        full_name = f"{options.owner}/{options.repository}"
        env = {"GITHUB_API_URL": url, "GITHUB_TOKEN": options.token, "GITHUB_REPOSITORY": full_name}
        return {"url": url, "token": options.token, "repository": full_name, "env": env}

    def view(self) -> Any:
        refs = self.git.refs()
        head = refs.get(f"heads/{self.options.default_branch}")
        deployments = self.book.deployments()
        return {
            "repository": f"{self.options.owner}/{self.options.repository}",
            "refs": refs,
            "files": self.git.files(head) if head else {},
            "deployments": [{**_shown(d), "state": self.book.state(d.id)} for d in deployments],
            "runs": [run._asdict() for run in self.book.runs()],
        }

    def seed(self) -> None:
        """Make the first commit, if there is none. Kept documents may be older than it."""
        blobs = {path: self.git.put_blob(text.encode()) for path, text in self.options.files.items()}
        sha = self.git.put_commit("Initial commit", self.git.put_tree(blobs), (), SEED_NS // SECOND_NS)
        ref = f"heads/{self.options.default_branch}"
        if self.shelf.get(MARK, SEEDED) is None and not self.git.is_known(ref):
            self.git.point(ref, sha, SEED_NS)
        self.shelf.put(MARK, SEEDED, True)

    def compete(self, what: str, facts: Facts) -> None:
        if what not in self.competitors:
            super().compete(what, facts)
        about = self.at_hand.get(facts.call, About())
        match what:
            case "push":
                self._refs.push(about.ref, OUTSIDE)
            case "deploy":
                self.deploying.outside_deployment(about.environment)
            case "inactivate":
                self.deploying.outside_inactivation(about.deployment)
            case _ if about.deployment:
                self.deploying.outside_deletion(about.deployment)
            case _:
                self._refs.outside_deletion(about.ref)


def _shown(deployment: Any) -> dict[str, Any]:
    """For people: a payload may hold anything, so only that there is one."""
    said = deployment._asdict()
    return {**said, "payload": bool(said["payload"]), "gone_ns": None}


class _ForgeState(ProviderState):
    """The effects and the shelf; after a restart, the deployer goes on with what it had not finished."""

    def __init__(self, fake: DeploymentFake) -> None:
        super().__init__(fake.forge, fake.shelf)
        self._fake = fake

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        super().load(documents)
        self._fake.seed()
        self._fake.deployer.go_on()
