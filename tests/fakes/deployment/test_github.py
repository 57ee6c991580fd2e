"""PyGithub, unmodified: what it does with the forge, and what it sends again without being asked.

The client waits a quarter of a second between requests and a second between changes. Where a test is not about what it
does by default, that pacing, and nothing else, is switched off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from github import Auth, Github, GithubException
from github.Repository import Repository

from fakes.deployment.face import DeploymentFake
from fakes.wire.hosting import Hosted
from tests.fakes.deployment.visitor import counted, effects, fresh, mark


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with Hosted(DeploymentFake) as hosted:
        yield hosted


@pytest.fixture
def hosted(running: Hosted) -> Hosted:
    return fresh(running)


def repository(hosted: Hosted, **options: Any) -> Repository:
    """The repository as the client sees it; without options, with all of the client's defaults."""
    entry = hosted.call(hosted.host.entry)
    return Github(base_url=entry["url"], auth=Auth.Token(entry["token"]), **options).get_repo(entry["repository"])


UNPACED = {"seconds_between_requests": None, "seconds_between_writes": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hook", "counts"),
    [
        ("after-commit x99 = reset", (11, 11, 0)),
        ("before-commit x99 = reset", (11, 0, 0)),
        ("after-commit x99 = status:502", (11, 11, 11)),
        ("after-commit x99 = status:403:0", (11, 11, 11)),
    ],
)
def test_the_client_sends_a_deployment_eleven_times_by_default(
    hosted: Hosted, hook: str, counts: tuple[int, int, int]
) -> None:
    shop = repository(hosted)
    before = hosted.counts()
    hosted.arm(hook)
    with pytest.raises((requests.ConnectionError, requests.exceptions.RetryError, GithubException)):
        shop.create_deployment("main", payload={"operation": "op-1"})
    assert counted(hosted, before) == counts
    assert len(hosted.call(hosted.desk.board.listing)) == 1


@pytest.mark.parametrize("hook", ["after-commit = reset", "after-commit = status:502"])
def test_without_retries_the_client_sends_a_deployment_once(hosted: Hosted, hook: str) -> None:
    shop = repository(hosted, retry=None, **UNPACED)
    before = hosted.counts()
    hosted.arm(hook)
    with pytest.raises((requests.ConnectionError, GithubException)):
        shop.create_deployment("main")
    assert counted(hosted, before)[:2] == (1, 1)


def test_one_lost_response_makes_two_deployments_and_no_exception(hosted: Hosted) -> None:
    shop = repository(hosted, **UNPACED)
    before = mark(hosted)
    hosted.arm("after-commit = reset")
    made = shop.create_deployment("main", payload={"operation": "op-1", "target": "shop"})
    assert effects(hosted, before) == [("deploy", "shop", "op-1")] * 2
    found = list(shop.get_deployments(sha=made.sha, environment="production"))
    assert [each.payload["operation"] for each in found] == ["op-1", "op-1"]


def test_one_lost_dispatch_makes_two_runs(hosted: Hosted) -> None:
    workflow = repository(hosted, **UNPACED).get_workflow("deploy.yml")
    hosted.arm("after-commit what=workflow.dispatch = reset")
    assert workflow.create_dispatch("main", {"operation": "op-1"})
    assert [run.display_title for run in workflow.get_runs()] == ["op-1", "op-1"]


def test_a_lost_success_of_a_change_under_compare_and_set_is_a_refusal_of_the_callers_own(hosted: Hosted) -> None:
    """PUT is sent again as well, and the second copy no longer finds the blob it names."""
    shop = repository(hosted, **UNPACED)
    readme = shop.get_contents("README.md")
    assert not isinstance(readme, list)
    before = hosted.counts()
    hosted.arm("after-commit = reset")
    with pytest.raises(GithubException) as refused:
        shop.update_file("README.md", "mine", "changed", readme.sha)
    assert refused.value.status == 409
    assert counted(hosted, before) == (2, 1, 1)
    changed = shop.get_contents("README.md")
    assert not isinstance(changed, list)
    assert changed.decoded_content == b"changed"


def test_the_client_walks_through_a_deployment(hosted: Hosted) -> None:
    shop = repository(hosted, **UNPACED)
    main = shop.get_git_ref("heads/main")
    topic = shop.create_git_ref("refs/heads/topic", main.object.sha)
    commit = shop.create_file("docs/a.md", "docs", "text", branch="topic")["commit"]
    main.edit(commit.sha)
    with pytest.raises(GithubException, match="not a fast forward"):
        main.edit(commit.parents[0].sha)
    topic.delete()
    assert [branch.name for branch in shop.get_branches()] == ["main"]
    first, second = (shop.create_deployment("main", environment="staging") for _ in range(2))
    first.create_status("success")
    second.create_status("success", environment_url="https://staging.example.com")
    assert [status.state for status in first.get_statuses()] == ["inactive", "success"]
    assert shop.get_deployment(second.id).environment == "staging"
    assert shop.get_commit("main").sha == commit.sha


def test_the_client_follows_the_links_of_a_list(hosted: Hosted) -> None:
    shop = repository(hosted, per_page=2, **UNPACED)
    made = [shop.create_deployment("main").id for _ in range(5)]
    assert [each.id for each in shop.get_deployments()] == made[::-1]
    assert shop.get_deployments().totalCount == 5


def test_an_auto_merge_looks_like_a_deployment_to_the_client(hosted: Hosted) -> None:
    """202 is no exception: what comes back has a message and no id, and nothing was deployed."""
    shop = repository(hosted, **UNPACED)
    shop.create_git_ref("refs/heads/topic", shop.get_git_ref("heads/main").object.sha)
    shop.create_file("a.txt", "ahead", "a")
    before = mark(hosted)
    made = shop.create_deployment("topic", payload={"operation": "op-1"})
    assert made.raw_data == {"message": "Auto-merged main into topic on deployment."}
    assert effects(hosted, before) == [("ref.update", "heads/topic", "op-1")]
    assert shop.get_deployments().totalCount == 0
