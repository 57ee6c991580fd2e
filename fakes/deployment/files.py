"""Routes of files: what a branch holds, changed by one commit at a time.

A file is changed only by who names the blob that stands there, so a copy of a change that was done is refused (409).
Never here: git itself, trees and commits as such (`refs.py`).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from fakes.deployment.asking import About, checked_path, fields_of, operation_in
from fakes.deployment.git import Commit, Git
from fakes.deployment.wording import Refused, missing, unprocessable
from fakes.wire.http import call_of

if TYPE_CHECKING:
    from fakes.deployment.face import DeploymentFake

T = TypeVar("T")


class FileRoutes:
    """The routes of a repository's contents."""

    def __init__(self, fake: DeploymentFake) -> None:
        self._fake = fake
        self._git = fake.git

    def routes(self) -> list[Route]:
        """All of them."""
        route = self._fake.route
        return [
            route("/contents", self._contents, "GET"),
            route("/contents/{path:path}", self._contents, "GET"),
            route("/contents/{path:path}", self._put_file, "PUT"),
            route("/contents/{path:path}", self._delete_file, "DELETE"),
        ]

    async def _contents(self, http: HttpRequest) -> Response:
        path = http.path_params.get("path", "").strip("/")
        at_ns = await self._fake.moment(http, "content", path, is_lookup=False)
        ref = http.query_params.get("ref") or self._fake.options.default_branch
        sha = self._git.resolve(ref, at_ns)
        if sha is None:
            raise Refused(404, f"No commit found for the ref {ref[:200]}")
        files, shapes = self._git.files(sha), self._fake.shapes(http)
        if path in files:
            content = self._git.blob(files[path])
            told = {"encoding": "base64", "content": b64encode(content).decode()}
            return self._fake.answer(http, {**shapes.file(path, files[path], len(content), ref), **told})
        inside = f"{path}/" if path else ""
        names = dict.fromkeys(each[len(inside) :].partition("/")[0] for each in files if each.startswith(inside))
        if not names:
            raise missing()
        listed = []
        for name in names:
            below, blob = inside + name, files.get(inside + name)
            size = len(self._git.blob(blob)) if blob else 0
            listed.append(shapes.file(below, blob, size, ref) if blob else shapes.folder(below, ref))
        return self._fake.answer(http, listed)

    async def _put_file(self, http: HttpRequest) -> Response:
        path, said = checked_path(http.path_params["path"]), await fields_of(http)
        message, wanted = said.text("message"), said.text("sha", "")
        try:
            content = b64decode("".join(said.text("content").split()), validate=True)
        except (Base64Error, ValueError):
            raise unprocessable("content is not valid Base64") from None
        branch = said.text("branch", self._fake.options.default_branch)

        def execute() -> tuple[bool, Commit]:
            head = branch_head(self._git, branch)
            files = dict(self._git.files(head))
            is_new = self._check_blob(path, files.get(path), wanted)
            files[path] = self._git.put_blob(content)
            return is_new, self._move(http, "content.put", branch, path, head, files, message)

        is_new, commit = await self._change(http, "content.put", path, branch, execute)
        shapes = self._fake.shapes(http)
        shown = shapes.file(path, self._git.files(commit.sha)[path], len(content), branch)
        data = {"content": shown, "commit": shapes.git_commit(commit)}
        return self._fake.answer(http, data, 201 if is_new else 200)

    async def _delete_file(self, http: HttpRequest) -> Response:
        path, said = checked_path(http.path_params["path"]), await fields_of(http)
        asked = http.query_params
        message = said.text("message", asked.get("message"))
        wanted = said.text("sha", asked.get("sha"))
        branch = said.text("branch", asked.get("branch", self._fake.options.default_branch))

        def execute() -> Commit:
            head = branch_head(self._git, branch)
            files = dict(self._git.files(head))
            if path not in files:
                raise missing()
            self._check_blob(path, files.pop(path), wanted)
            return self._move(http, "content.delete", branch, path, head, files, message)

        commit = await self._change(http, "content.delete", path, branch, execute)
        return self._fake.answer(http, {"content": None, "commit": self._fake.shapes(http).git_commit(commit)})

    def _move(
        self, http: HttpRequest, action: str, branch: str, path: str, head: str, files: dict[str, str], message: str
    ) -> Commit:
        """Commit these files on a branch."""
        sha = self._git.put_commit(message, self._git.put_tree(files), (head,), self._fake.desk.clock.now_s())
        target, params = f"{branch}:{path}", {"from": head, "sha": sha}
        self._fake.forge.do(call_of(http).number, action, target=target, operation=operation_in(http), params=params)
        self._git.point(f"heads/{branch}", sha, self._fake.desk.clock.now_ns())
        return self._git.there(sha)

    def _check_blob(self, path: str, standing: str | None, wanted: str) -> bool:
        """Is the file new? Raises Refused unless the request names what stands there."""
        if standing is None and not wanted:
            return True
        if standing is not None and not wanted:
            raise unprocessable('Invalid request.\n\n"sha" wasn\'t supplied.')
        if wanted != standing:
            raise Refused(409, f"{path} does not match {wanted[:60]}")
        return False

    async def _change(self, http: HttpRequest, what: str, path: str, branch: str, execute: Callable[[], T]) -> T:
        call = call_of(http).about(what=what, target=f"{branch}:{path}", operation=operation_in(http))
        return await self._fake.change(call, execute, About(ref=f"heads/{branch}"))


def branch_head(git: Git, branch: str) -> str:
    """Where a branch points. Raises Refused if there is none."""
    head = git.head(f"heads/{branch}")
    if head is None:
        raise Refused(404, f"Branch {branch[:200]} not found")
    return head
