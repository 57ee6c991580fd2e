"""The forge's words: what things look like in JSON, its refusals, and the links of a paged list.

Never here: reading requests, and rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from fakes.deployment.book import Deployment, Run, Status
from fakes.deployment.git import Commit
from harness.model.cell import SECOND_NS
from harness.model.errors import ProviderFailure

DOCUMENTATION = "https://docs.github.com/rest"
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
MESSAGES: Mapping[int, str] = {
    400: "Problems parsing JSON",
    401: "Bad credentials",
    403: SECONDARY,
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Payload too large",
    422: "Validation Failed",
    429: SECONDARY,
    431: "Request header fields too large",
    500: "Server Error",
    502: "Server Error",
    503: "Service unavailable. Please wait a few minutes before you try again.",
}


class Refused(ProviderFailure):
    """A refusal with a status and a message of the forge's, and what else its body has."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__("refused", message)
        self.status = status
        self.more = more


def missing() -> Refused:
    """What was asked for is not there."""
    return Refused(404, "Not Found")


def unprocessable(message: str, *errors: Mapping[str, Any]) -> Refused:
    """It was understood and cannot be done."""
    return Refused(422, message, **({"errors": list(errors)} if errors else {}))


def refusal_data(status: int, message: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The body of a refusal."""
    return {"message": message, **(more or {}), "documentation_url": DOCUMENTATION, "status": str(status)}


def utc(moment_ns: int) -> str:
    """A moment, to the second."""
    return datetime.fromtimestamp(moment_ns // SECOND_NS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def links(url: str, query: Sequence[tuple[str, str]], number: int, last: int) -> dict[str, str]:
    """The Link header of page `number` of `last`; nothing if there is only one."""
    pages = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number <= 1:
        del pages["prev"], pages["first"]
    if number >= last:
        del pages["next"], pages["last"]
    kept = [(name, value) for name, value in query if name != "page"]
    parts = [f'<{url}?{urlencode([*kept, ("page", str(page))])}>; rel="{rel}"' for rel, page in pages.items()]
    return {"link": ", ".join(parts)} if parts and last > 1 else {}


class Shapes:
    """How things of one repository look to a caller who reached it under this address."""

    def __init__(self, base: str, owner: str, name: str, login: str, default_branch: str) -> None:
        self._owner = owner
        self._name = name
        self._login = login
        self._default_branch = default_branch
        self.user_base = base
        self.url = f"{base}/repos/{owner}/{name}"

    def user(self) -> dict[str, Any]:
        return {"login": self._login, "id": 1, "type": "User", "url": f"{self.user_base}/users/{self._login}"}

    def repository(self) -> dict[str, Any]:
        owner = {"login": self._owner, "id": 2, "type": "Organization", "url": f"{self.user_base}/users/{self._owner}"}
        return {
            "id": 1,
            "node_id": "R_1",
            "name": self._name,
            "full_name": f"{self._owner}/{self._name}",
            "owner": owner,
            "private": True,
            "default_branch": self._default_branch,
            "url": self.url,
            "deployments_url": f"{self.url}/deployments",
            "contents_url": f"{self.url}/contents/{{+path}}",
            "git_refs_url": f"{self.url}/git/refs{{/sha}}",
            "permissions": {"admin": False, "push": True, "pull": True},
        }

    def ref(self, name: str, sha: str) -> dict[str, Any]:
        target = {"type": "commit", "sha": sha, "url": f"{self.url}/git/commits/{sha}"}
        return {"ref": f"refs/{name}", "node_id": f"REF_{name}", "url": f"{self.url}/git/refs/{name}", "object": target}

    def branch(self, name: str, commit: Commit) -> dict[str, Any]:
        return {"name": name, "commit": self.commit(commit), "protected": False}

    def git_commit(self, commit: Commit) -> dict[str, Any]:
        who = {"name": self._login, "email": f"{self._login}@example.com", "date": utc(commit.made_s * SECOND_NS)}
        return {
            "sha": commit.sha,
            "node_id": f"C_{commit.sha}",
            "url": f"{self.url}/git/commits/{commit.sha}",
            "author": who,
            "committer": who,
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": f"{self.url}/git/trees/{commit.tree}"},
            "parents": [{"sha": each, "url": f"{self.url}/git/commits/{each}"} for each in commit.parents],
        }

    def commit(self, commit: Commit) -> dict[str, Any]:
        inner = self.git_commit(commit)
        parents = [{"sha": each, "url": f"{self.url}/commits/{each}"} for each in commit.parents]
        outer = {"sha": commit.sha, "node_id": inner["node_id"], "url": f"{self.url}/commits/{commit.sha}"}
        return {**outer, "commit": inner, "author": self.user(), "committer": self.user(), "parents": parents}

    def file(self, path: str, blob: str, size: int, ref: str) -> dict[str, Any]:
        return {
            "type": "file",
            "name": path.rpartition("/")[2],
            "path": path,
            "sha": blob,
            "size": size,
            "url": f"{self.url}/contents/{path}?ref={ref}",
            "git_url": f"{self.url}/git/blobs/{blob}",
        }

    def folder(self, path: str, ref: str) -> dict[str, Any]:
        name = path.rpartition("/")[2]
        url = f"{self.url}/contents/{path}?ref={ref}"
        return {"type": "dir", "name": name, "path": path, "sha": "", "size": 0, "url": url}

    def deployment(self, deployment: Deployment, changed_ns: int) -> dict[str, Any]:
        url = f"{self.url}/deployments/{deployment.id}"
        return {
            "url": url,
            "id": deployment.id,
            "node_id": f"DE_{deployment.id}",
            "sha": deployment.sha,
            "ref": deployment.ref,
            "task": deployment.task,
            "payload": deployment.payload,
            "original_environment": deployment.environment,
            "environment": deployment.environment,
            "description": deployment.description or None,
            "creator": self.user(),
            "created_at": utc(deployment.made_ns),
            "updated_at": utc(changed_ns),
            "statuses_url": f"{url}/statuses",
            "repository_url": self.url,
            "transient_environment": deployment.is_transient,
            "production_environment": deployment.is_production,
        }

    def status(self, status: Status) -> dict[str, Any]:
        deployment_url = f"{self.url}/deployments/{status.deployment}"
        return {
            "url": f"{deployment_url}/statuses/{status.id}",
            "id": status.id,
            "node_id": f"DES_{status.id}",
            "state": status.state,
            "creator": self.user(),
            "description": status.description,
            "environment": status.environment,
            "target_url": status.log_url,
            "log_url": status.log_url,
            "environment_url": status.environment_url,
            "created_at": utc(status.made_ns),
            "updated_at": utc(status.made_ns),
            "deployment_url": deployment_url,
            "repository_url": self.url,
        }

    def workflow(self, number: int, file: str) -> dict[str, Any]:
        url = f"{self.url}/actions/workflows/{number}"
        return {
            "id": number,
            "node_id": f"W_{number}",
            "name": file.rpartition(".")[0] or file,
            "path": f".github/workflows/{file}",
            "state": "active",
            "url": url,
        }

    def run(self, run: Run, workflow: int) -> dict[str, Any]:
        return {
            "id": run.id,
            "node_id": f"WFR_{run.id}",
            "name": run.workflow,
            "display_title": run.title,
            "run_number": run.id,
            "run_attempt": 1,
            "event": "workflow_dispatch",
            "status": "completed" if run.conclusion else "queued",
            "conclusion": run.conclusion or None,
            "workflow_id": workflow,
            "head_branch": run.branch,
            "head_sha": run.sha,
            "created_at": utc(run.made_ns),
            "updated_at": utc(run.made_ns),
            "url": f"{self.url}/actions/runs/{run.id}",
            "html_url": f"{self.url}/actions/runs/{run.id}",
        }
