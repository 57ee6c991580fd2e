"""Routes of refs, commits and trees.

A ref moves by fast forward unless the request forces it. Trees and commits are named after what they hold and reached
by no ref when they are made, so making them is no effect.
Never here: git itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from fakes.deployment.asking import About, Fields, checked_path, fields_of, operation_in
from fakes.deployment.files import branch_head
from fakes.deployment.git import SHA, is_ref_name
from fakes.deployment.wording import Refused, missing, unprocessable
from fakes.wire.http import call_of

if TYPE_CHECKING:
    from fakes.deployment.face import DeploymentFake

T = TypeVar("T")


class RefRoutes:
    """The routes, and what others may do to refs meanwhile."""

    def __init__(self, fake: DeploymentFake) -> None:
        self._fake = fake
        self._git = fake.git

    def routes(self) -> list[Route]:
        """All of them."""
        route = self._fake.route
        return [
            route("/git/refs", self._create, "POST"),
            route("/git/refs", self._list, "GET"),
            route("/git/matching-refs/{ref:path}", self._list, "GET"),
            route("/git/ref/{ref:path}", self._get, "GET"),
            route("/git/refs/{ref:path}", self._get, "GET"),
            route("/git/refs/{ref:path}", self._update, "PATCH"),
            route("/git/refs/{ref:path}", self._delete, "DELETE"),
            route("/branches", self._branches, "GET"),
            route("/branches/{branch:path}", self._branch, "GET"),
            route("/commits", self._commits, "GET"),
            route("/commits/{ref:path}", self._commit, "GET"),
            route("/git/commits", self._create_commit, "POST"),
            route("/git/commits/{sha}", self._git_commit, "GET"),
            route("/git/trees", self._create_tree, "POST"),
            route("/git/trees/{sha}", self._tree, "GET"),
        ]

    # Refs.

    async def _create(self, http: HttpRequest) -> Response:
        said = await fields_of(http)
        full, sha = said.text("ref"), said.text("sha")
        ref = full.removeprefix("refs/")
        kind, _, name = ref.partition("/")
        if not full.startswith("refs/") or kind not in ("heads", "tags") or not is_ref_name(name):
            raise unprocessable(f"{full[:200]} is not a valid ref name.")

        def execute() -> None:
            if self._git.head(ref) is not None:
                raise unprocessable("Reference already exists")
            self._check_object(sha)
            self._effect(http, "ref.create", ref, {"sha": sha})
            self._git.point(ref, sha, self._now())

        await self._change(http, "ref.create", ref, execute)
        return self._fake.answer(http, self._fake.shapes(http).ref(ref, sha), 201)

    async def _update(self, http: HttpRequest) -> Response:
        said = await fields_of(http)
        ref, sha, is_forced = http.path_params["ref"], said.text("sha"), said.flag("force", False)

        def execute() -> None:
            head = self._git.head(ref)
            if head is None:
                raise unprocessable("Reference does not exist")
            self._check_object(sha)
            if not is_forced and not self._git.contains(sha, head):
                raise unprocessable("Update is not a fast forward")
            if head != sha:
                self._effect(http, "ref.update", ref, {"from": head, "sha": sha})
                self._git.point(ref, sha, self._now())

        await self._change(http, "ref.update", ref, execute)
        return self._fake.answer(http, self._fake.shapes(http).ref(ref, sha))

    async def _delete(self, http: HttpRequest) -> Response:
        ref = http.path_params["ref"]

        def execute() -> None:
            head = self._git.head(ref)
            if head is None:
                raise unprocessable("Reference does not exist")
            if ref == self._default_ref:
                raise unprocessable("Cannot delete the default branch")
            self._effect(http, "ref.delete", ref, {"from": head})
            self._git.point(ref, None, self._now())

        await self._change(http, "ref.delete", ref, execute)
        return self._fake.answer(http, None, 204)

    async def _get(self, http: HttpRequest) -> Response:
        ref = http.path_params["ref"]
        sha = self._git.head(ref, await self._fake.moment(http, "ref", ref, is_lookup=False))
        if sha is None:
            raise missing()
        return self._fake.answer(http, self._fake.shapes(http).ref(ref, sha))

    async def _list(self, http: HttpRequest) -> Response:
        prefix = http.path_params.get("ref", "")
        refs = self._git.refs(await self._fake.moment(http, "ref", prefix, is_lookup=False))
        found = [each for each in refs.items() if each[0].startswith(prefix)]
        shapes = self._fake.shapes(http)
        return self._fake.paged(http, found, lambda each: shapes.ref(*each))

    async def _branches(self, http: HttpRequest) -> Response:
        refs = self._git.refs(await self._fake.moment(http, "branch", is_lookup=False))
        found = [(ref.removeprefix("heads/"), sha) for ref, sha in refs.items() if ref.startswith("heads/")]
        shapes = self._fake.shapes(http)
        return self._fake.paged(http, found, lambda each: shapes.branch(each[0], self._git.there(each[1])))

    async def _branch(self, http: HttpRequest) -> Response:
        name = http.path_params["branch"]
        sha = self._git.head(f"heads/{name}", await self._fake.moment(http, "branch", name, is_lookup=False))
        if sha is None:
            raise Refused(404, "Branch not found")
        return self._fake.answer(http, self._fake.shapes(http).branch(name, self._git.there(sha)))

    # Commits and trees.

    async def _commits(self, http: HttpRequest) -> Response:
        name = http.query_params.get("sha", self._fake.options.default_branch)
        sha = self._git.resolve(name, await self._fake.moment(http, "commit", name, is_lookup=False))
        if sha is None:
            raise missing()
        shapes = self._fake.shapes(http)
        history = list(self._git.history(sha))
        return self._fake.paged(http, history, lambda each: shapes.commit(self._git.there(each)))

    async def _commit(self, http: HttpRequest) -> Response:
        name = http.path_params["ref"]
        sha = self._git.resolve(name, await self._fake.moment(http, "commit", name, is_lookup=False))
        if sha is None:
            raise unprocessable(f"No commit found for SHA: {name[:200]}")
        return self._fake.answer(http, self._fake.shapes(http).commit(self._git.there(sha)))

    async def _git_commit(self, http: HttpRequest) -> Response:
        await self._fake.moment(http, "commit", http.path_params["sha"], is_lookup=False)
        commit = self._git.commit(http.path_params["sha"])
        if commit is None:
            raise missing()
        return self._fake.answer(http, self._fake.shapes(http).git_commit(commit))

    async def _create_commit(self, http: HttpRequest) -> Response:
        said = await fields_of(http)
        message, tree, parents = said.text("message"), said.text("tree"), said.texts("parents") or []
        if self._git.tree(tree) is None:
            raise unprocessable("Tree SHA does not exist")
        if any(self._git.commit(parent) is None for parent in parents):
            raise unprocessable("Parent SHA does not exist or is not a commit object")

        def execute() -> str:
            return self._git.put_commit(message, tree, parents, self._fake.desk.clock.now_s())

        sha = await self._change(http, "commit.create", "", execute)
        return self._fake.answer(http, self._fake.shapes(http).git_commit(self._git.there(sha)), 201)

    async def _tree(self, http: HttpRequest) -> Response:
        await self._fake.moment(http, "tree", http.path_params["sha"], is_lookup=False)
        name = http.path_params["sha"]
        head = self._git.resolve(name)
        sha = self._git.there(head).tree if head is not None else name
        if self._git.tree(sha) is None:
            raise missing()
        return self._fake.answer(http, self._tree_data(sha))

    async def _create_tree(self, http: HttpRequest) -> Response:
        said = await fields_of(http)
        base = self._git.tree(said.text("base_tree", ""))
        entries = said.raw("tree")
        if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
            raise unprocessable('Invalid request.\n\n"tree" wasn\'t supplied.')

        def execute() -> str:
            files = dict(base or {})
            for each in entries:
                self._place(files, Fields(each))
            return self._git.put_tree(files)

        sha = await self._change(http, "tree.create", "", execute)
        return self._fake.answer(http, self._tree_data(sha), 201)

    def _place(self, files: dict[str, str], entry: Fields) -> None:
        """Put one entry of a tree where it says: a text, a blob that is there, or nothing, which takes it away."""
        path = checked_path(entry.text("path"))
        if entry.raw("content") is not None:
            files[path] = self._git.put_blob(entry.text("content").encode())
        elif entry.raw("sha") is None:
            files.pop(path, None)
        elif self._git.has_blob(sha := entry.text("sha")):
            files[path] = sha
        else:
            raise unprocessable("tree.sha does not exist")

    def _tree_data(self, sha: str) -> dict[str, Any]:
        files = self._git.tree(sha)
        assert files is not None, f"tree {sha} is shown after it was found"
        base = {"mode": "100644", "type": "blob"}
        entries = [
            {**base, "path": path, "sha": blob, "size": len(self._git.blob(blob))} for path, blob in files.items()
        ]
        return {"sha": sha, "truncated": False, "tree": entries}

    # Others.

    def push(self, ref: str, operation: str) -> None:
        """Somebody pushes a commit: a file of their own is changed."""
        ref = ref if ref.startswith("heads/") and self._git.head(ref) else self._default_ref
        head = branch_head(self._git, ref.removeprefix("heads/"))
        blob = self._git.put_blob(f"after {head}\n".encode())
        tree = self._git.put_tree({**self._git.files(head), f"{operation}.txt": blob})
        sha = self._git.put_commit(f"Push by {operation}", tree, (head,), self._fake.desk.clock.now_s())
        self._fake.forge.do("", "ref.update", target=ref, operation=operation, params={"from": head, "sha": sha})
        self._git.point(ref, sha, self._now())

    def outside_deletion(self, ref: str) -> None:
        """Somebody deletes a ref. Raises LookupError if there is none, or it is the default branch."""
        if self._git.head(ref) is None or ref == self._default_ref:
            raise LookupError(f"no ref {ref!r} can be deleted")
        self._fake.desk.note("drifted", "", {"target": ref})
        self._git.point(ref, None, self._now())

    # What the above have in common.

    @property
    def _default_ref(self) -> str:
        return f"heads/{self._fake.options.default_branch}"

    def _now(self) -> int:
        return self._fake.desk.clock.now_ns()

    def _check_object(self, sha: str) -> None:
        if not SHA.fullmatch(sha) or self._git.commit(sha) is None:
            raise unprocessable("Object does not exist")

    def _effect(self, http: HttpRequest, action: str, target: str, params: dict[str, str | int]) -> None:
        number = call_of(http).number
        self._fake.forge.do(number, action, target=target, operation=operation_in(http), params=params)

    async def _change(self, http: HttpRequest, what: str, target: str, execute: Callable[[], T]) -> T:
        call = call_of(http).about(what=what, target=target, operation=operation_in(http))
        return await self._fake.change(call, execute, About(ref=target))
