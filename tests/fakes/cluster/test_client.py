"""The kubernetes client, unmodified: what it does with the cluster, and what it sends again without being asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fakes.cluster.face import ClusterFake
from fakes.wire.hosting import Hosted
from tests.fakes.cluster.visitor import config_map, counted, deployment, effects, fresh, mark

pytestmark = pytest.mark.real("kubernetes")


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with Hosted(ClusterFake) as hosted:
        yield hosted


@pytest.fixture
def hosted(running: Hosted) -> Hosted:
    return fresh(running)


def client_of(hosted: Hosted, **options: Any) -> Any:
    """The client with its defaults, configured from the kubeconfig that the fake gives."""
    from kubernetes import client, config

    configuration = client.Configuration()
    config.load_kube_config_from_dict(hosted.call(hosted.host.entry)["kubeconfig"], client_configuration=configuration)
    for name, value in options.items():
        setattr(configuration, name, value)
    return client.ApiClient(configuration)


@pytest.fixture
def core(hosted: Hosted) -> Any:
    from kubernetes import client

    return client.CoreV1Api(client_of(hosted))


CALLS: dict[str, Callable[[Any], Any]] = {
    "PUT": lambda core: core.replace_namespaced_config_map("a", "default", config_map(value="2")),
    "DELETE": lambda core: core.delete_namespaced_config_map("a", "default"),
    "POST": lambda core: core.create_namespaced_config_map("default", config_map("b")),
    "PATCH": lambda core: core.patch_namespaced_config_map("a", "default", {"data": {"k": "2"}}),
}


def counts_of(hosted: Hosted, core: Any, method: str, hook: str) -> tuple[int, int, int]:
    """(arrivals, commits, responses) of one call of the client that fails."""
    core.create_namespaced_config_map("default", config_map("a"))
    before, place = hosted.counts(), mark(hosted)
    hosted.arm(hook)
    with pytest.raises(Exception) as failed:
        CALLS[method](core)
    assert type(failed.value).__module__.split(".")[0] in ("urllib3", "kubernetes")
    counts = counted(hosted, before)
    assert len([e for e in hosted.entries("hook-fired") if e.number > place]) == counts[0]
    return counts


@pytest.mark.parametrize(
    ("method", "counts"), [("PUT", (4, 1, 0)), ("DELETE", (4, 1, 0)), ("POST", (1, 1, 0)), ("PATCH", (1, 1, 0))]
)
def test_the_client_sends_puts_and_deletions_four_times(
    hosted: Hosted, core: Any, method: str, counts: tuple[int, int, int]
) -> None:
    assert counts_of(hosted, core, method, "after-commit x99 = reset") == counts


@pytest.mark.parametrize(
    ("method", "counts"), [("PUT", (4, 0, 4)), ("DELETE", (4, 0, 4)), ("POST", (1, 0, 1)), ("PATCH", (1, 0, 1))]
)
def test_a_503_with_retry_after_is_the_same(
    hosted: Hosted, core: Any, method: str, counts: tuple[int, int, int]
) -> None:
    assert counts_of(hosted, core, method, "before-commit x99 = status:503:0") == counts


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_503_without_retry_after_is_sent_once(hosted: Hosted, core: Any, method: str) -> None:
    assert counts_of(hosted, core, method, "before-commit x99 = status:503") == (1, 0, 1)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_without_retries_the_client_sends_once(hosted: Hosted, method: str) -> None:
    from kubernetes import client

    core = client.CoreV1Api(client_of(hosted, retries=False))
    assert counts_of(hosted, core, method, "after-commit x99 = reset") == (1, 1, 0)


def test_a_lost_success_of_a_put_is_a_conflict_with_the_callers_own_write(hosted: Hosted, core: Any) -> None:
    from kubernetes.client.exceptions import ApiException

    made = core.create_namespaced_config_map("default", config_map("a"))
    made.data = {"k": "mine"}
    before = hosted.counts()
    hosted.arm("after-commit = reset")
    with pytest.raises(ApiException) as refused:
        core.replace_namespaced_config_map("a", "default", made)
    assert (refused.value.status, "has been modified" in refused.value.body) == (409, True)
    assert counted(hosted, before) == (2, 1, 1)
    assert core.read_namespaced_config_map("a", "default").data == {"k": "mine"}


def test_a_lost_success_of_a_deletion_is_not_found_for_the_callers_own(hosted: Hosted, core: Any) -> None:
    from kubernetes.client.exceptions import ApiException

    core.create_namespaced_config_map("default", config_map("a"))
    before = hosted.counts()
    hosted.arm("after-commit = reset")
    with pytest.raises(ApiException) as refused:
        core.delete_namespaced_config_map("a", "default")
    assert refused.value.status == 404
    assert counted(hosted, before) == (2, 1, 1)


def test_two_conflicts_are_one_exception_and_differ_by_their_reason(core: Any) -> None:
    from kubernetes.client.exceptions import ApiException

    made = core.create_namespaced_config_map("default", config_map("a"))
    core.patch_namespaced_config_map("a", "default", {"data": {"k": "2"}})
    reasons = []
    for call in (
        lambda: core.create_namespaced_config_map("default", config_map("a")),
        lambda: core.replace_namespaced_config_map("a", "default", made),
    ):
        with pytest.raises(ApiException) as refused:
            call()
        reasons.append((type(refused.value).__name__, '"reason": "AlreadyExists"' in refused.value.body))
    assert reasons == [("ConflictException", True), ("ConflictException", False)]


def test_the_client_patches_in_every_way(hosted: Hosted, core: Any) -> None:
    before = mark(hosted)
    core.create_namespaced_config_map("default", config_map("a"))
    core.patch_namespaced_config_map("a", "default", {"data": {"strategic": "1"}})
    core.patch_namespaced_config_map("a", "default", [{"op": "add", "path": "/data/stepped", "value": "1"}])
    applied = core.patch_namespaced_config_map(
        "a",
        "default",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"applied": "1"}},
        field_manager="me",
        _content_type="application/apply-patch+yaml",
    )
    assert applied.data == {"k": "1", "strategic": "1", "stepped": "1", "applied": "1"}
    assert [each.manager for each in applied.metadata.managed_fields] == ["OpenAPI-Generator", "me"]
    assert len(effects(hosted, before)) == 4


@pytest.mark.slow
def test_the_client_waits_for_a_deployment_and_deletes_it(hosted: Hosted) -> None:
    from kubernetes import client, watch

    apps = client.AppsV1Api(client_of(hosted))
    made = apps.create_namespaced_deployment("default", deployment(finalizers=["example.com/hold"]))
    assert made.status.observed_generation is None
    stream = watch.Watch()
    for event in stream.stream(apps.list_namespaced_deployment, "default", timeout_seconds=10):
        status = event["object"].status
        if status.observed_generation == made.metadata.generation and status.ready_replicas == 2:
            stream.stop()
    assert {each.type for each in status.conditions} == {"Available", "Progressing"}
    apps.delete_namespaced_deployment("web", "default")
    assert apps.read_namespaced_deployment("web", "default").metadata.deletion_timestamp is not None
    apps.patch_namespaced_deployment("web", "default", {"metadata": {"finalizers": None}})
    assert apps.list_namespaced_deployment("default").items == []


def test_a_watch_of_the_client_ends_with_410_when_the_past_was_forgotten(hosted: Hosted, core: Any) -> None:
    from kubernetes import watch
    from kubernetes.client.exceptions import ApiException

    version = core.create_namespaced_config_map("default", config_map("a")).metadata.resource_version
    core.create_namespaced_config_map("default", config_map("b"))
    hosted.arm("read what=object.list = compete:compact")
    assert len(core.list_namespaced_config_map("default").items) == 2
    with pytest.raises(ApiException) as expired:
        list(watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version=version))
    assert expired.value.status == 410


def test_the_client_pages_through_a_list(core: Any) -> None:
    for name in "abc":
        core.create_namespaced_config_map("default", config_map(name))
    names, token = [], None
    while token != "":
        page = core.list_namespaced_config_map("default", limit=2, _continue=token)
        names += [each.metadata.name for each in page.items]
        token = page.metadata._continue or ""
    assert names == ["a", "b", "c"]


def test_a_secret_of_the_client_is_kept_encoded(core: Any) -> None:
    from kubernetes import client

    said = client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"password": "hunter2"})
    core.create_namespaced_secret("default", said)
    assert core.read_namespaced_secret("s", "default").data == {"password": "aHVudGVyMg=="}
