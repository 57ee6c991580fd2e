"""The pure parts: patches, selectors, owners of fields, paths."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.cluster.asking import Resource, located
from fakes.cluster.kinds import CONFIG_MAP, DEPLOYMENT, NAMESPACE
from fakes.cluster.ownership import APPLY, UPDATE, Manager, after_update, applied, leaves, owned_in, written
from fakes.cluster.patches import PatchError, merged, stepped
from fakes.cluster.selectors import fields_test, labels_test


def test_a_merge_patch_takes_away_what_is_null_and_replaces_lists() -> None:
    old = {"a": {"b": 1, "c": 2}, "l": [{"name": "x"}]}
    assert merged(old, {"a": {"b": None, "d": 3}, "l": []}) == {"a": {"c": 2, "d": 3}, "l": []}
    assert old == {"a": {"b": 1, "c": 2}, "l": [{"name": "x"}]}


def test_a_strategic_patch_merges_lists_by_name() -> None:
    old = {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}
    patch = {"containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}], "$retainKeys": []}
    assert merged(old, patch, is_strategic=True) == {"containers": [{"name": "a", "image": "2"}]}


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        ([{"op": "add", "path": "/a/c", "value": 1}], {"a": {"b": [1, 2], "c": 1}}),
        ([{"op": "add", "path": "/a/b/-", "value": 3}], {"a": {"b": [1, 2, 3]}}),
        ([{"op": "add", "path": "/a/b/0", "value": 0}], {"a": {"b": [0, 1, 2]}}),
        ([{"op": "replace", "path": "/a/b/1", "value": 9}], {"a": {"b": [1, 9]}}),
        ([{"op": "remove", "path": "/a/b"}], {"a": {}}),
        ([{"op": "move", "from": "/a/b", "path": "/x~1y"}], {"a": {}, "x/y": [1, 2]}),
        ([{"op": "copy", "from": "/a/b/0", "path": "/c"}], {"a": {"b": [1, 2]}, "c": 1}),
        ([{"op": "test", "path": "/a/b/0", "value": 1}], {"a": {"b": [1, 2]}}),
    ],
)
def test_a_json_patch_is_done_step_by_step(steps: list[Any], made: Any) -> None:
    assert stepped({"a": {"b": [1, 2]}}, steps) == made


@pytest.mark.parametrize(
    "steps",
    [
        {},
        ["x"],
        [{"op": "brew", "path": "/a"}],
        [{"op": "add", "path": "/a/b/3", "value": 1}],
        [{"op": "add", "path": "/a/b/x", "value": 1}],
        [{"op": "add", "path": "", "value": 1}],
        [{"op": "add", "path": "/a"}],
        [{"op": "replace", "path": "/none", "value": 1}],
        [{"op": "remove", "path": "/none"}],
        [{"op": "remove", "path": "/a/b/0/0"}],
        [{"op": "test", "path": "/a/b/0", "value": 2}],
        [{"op": "move", "from": "/a", "path": "/a/b/0"}],
    ],
)
def test_a_json_patch_that_cannot_be_done_changes_nothing(steps: Any) -> None:
    old = {"a": {"b": [1, 2]}}
    with pytest.raises(PatchError):
        stepped(old, steps)
    assert old == {"a": {"b": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("", True),
        ("a=1", True),
        ("a==1,b!=1", True),
        ("a in (1,2),c notin (x)", True),
        ("a,!c", True),
        ("a=2", False),
        ("c", False),
        ("a notin (1)", False),
        ("b=", False),
    ],
)
def test_labels_are_selected(text: str, is_meant: bool) -> None:
    assert labels_test(text)({"a": "1", "b": "2"}) is is_meant


@pytest.mark.parametrize("text", ["a=b=c", "a in 1", "(", "=", "a,,b", "a b"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        labels_test(text)


def test_fields_are_selected_by_name_and_namespace_only() -> None:
    assert fields_test("metadata.name=a,metadata.namespace!=x")({"name": "a", "namespace": "y"})
    assert not fields_test("metadata.name==b")({"name": "a"})
    with pytest.raises(ValueError, match=r"spec\.x"):
        fields_test("spec.x=1")


def test_fields_are_leaves_and_the_systems_are_nobodys() -> None:
    value = {
        "kind": "X",
        "metadata": {"name": "a", "labels": {"l": "1"}},
        "data": {"k": "v", "e": {}},
        "status": {"s": 1},
    }
    assert dict(leaves(value)) == {("metadata", "labels", "l"): "1", ("data", "k"): "v", ("data", "e"): {}}


def test_who_changes_a_field_owns_it_and_an_apply_conflicts_with_that() -> None:
    me, other = Manager("me", APPLY), Manager("other", UPDATE)
    first, owned, _ = applied({"metadata": {}}, {"data": {"a": "1", "b": "1"}}, me, is_forced=False)
    first = written(first, owned, "v1", "t1")
    second = {**first, "data": {"a": "1", "b": "2"}}
    second = written(second, after_update(owned_in(first), other, first, second), "v1", "t2")
    assert owned_in(second) == {me: {("data", "a")}, other: {("data", "b")}}
    assert applied(second, {"data": {"a": "1", "b": "1"}}, me, is_forced=False)[2] == [("other", ".data.b")]
    forced, owned, conflicts = applied(second, {"data": {"b": "1"}}, me, is_forced=True)
    assert conflicts == []
    assert forced["data"] == {"b": "1"}
    assert {each: paths for each, paths in owned.items() if paths} == {me: {("data", "b")}}


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces", Resource(NAMESPACE, "", "", "")),
        ("/api/v1/namespaces/a", Resource(NAMESPACE, "", "a", "")),
        ("/api/v1/namespaces/a/status", Resource(NAMESPACE, "", "a", "status")),
        ("/api/v1/configmaps", Resource(CONFIG_MAP, "", "", "")),
        ("/api/v1/namespaces/a/configmaps/b", Resource(CONFIG_MAP, "a", "b", "")),
        ("/apis/apps/v1/namespaces/a/deployments/b/status", Resource(DEPLOYMENT, "a", "b", "status")),
        ("/api/v1/namespaces/a/configmaps/b/status", None),
        ("/api/v1/configmaps/b", None),
        ("/api/v1/namespaces/a/namespaces", None),
        ("/apis/apps/v2/deployments", None),
        ("/api/v1/pods", None),
        ("/api", None),
        ("/", None),
        ("/api/v1/namespaces//configmaps", None),
    ],
)
def test_a_path_names_a_resource(path: str, resource: Resource | None) -> None:
    assert located(path) == resource
