"""The repository as a value store: names, refs and their past, ancestry."""

from __future__ import annotations

import pytest

from fakes.deployment.git import MOVES_MAX, Git, blob_sha, is_ref_name
from fakes.wire.shelf import Shelf


@pytest.fixture
def git() -> Git:
    return Git(Shelf())


def commit(git: Git, text: str, *parents: str) -> str:
    return git.put_commit(text, git.put_tree({"a": git.put_blob(text.encode())}), parents, 1)


def test_a_blob_has_the_name_that_git_gives_it() -> None:
    assert blob_sha(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_the_same_commit_made_twice_is_one(git: Git) -> None:
    assert commit(git, "one") == commit(git, "one")
    assert commit(git, "one") != commit(git, "two")


def test_a_commit_contains_all_it_came_from(git: Git) -> None:
    root = commit(git, "root")
    left, right = commit(git, "left", root), commit(git, "right", root)
    merge = git.merged(left, right, "merge", 2)
    assert git.contains(merge, root)
    assert git.contains(merge, right)
    assert not git.contains(left, right)
    assert list(git.history(merge)) == [merge, left, right, root]


def test_a_ref_is_read_as_it_was(git: Git) -> None:
    one, two = commit(git, "one"), commit(git, "two")
    git.point("heads/main", one, 10)
    git.point("heads/main", two, 20)
    git.point("heads/main", None, 30)
    assert [git.head("heads/main", at_ns) for at_ns in (9, 10, 29, 30, None)] == [None, one, two, None, None]
    assert git.refs(25) == {"heads/main": two}


def test_a_ref_remembers_so_many_moves_and_shows_the_oldest_before_them(git: Git) -> None:
    shas = [commit(git, str(number)) for number in range(3)]
    for number in range(MOVES_MAX + 1):
        git.point("heads/main", shas[number % 3], number)
    assert git.head("heads/main", 0) == shas[1]


def test_a_commit_is_named_by_branch_tag_full_ref_or_its_own_name(git: Git) -> None:
    sha = commit(git, "one")
    git.point("heads/main", sha, 1)
    git.point("tags/v1", sha, 1)
    names = ("main", "heads/main", "refs/heads/main", "v1", "refs/tags/v1", sha)
    assert {git.resolve(name) for name in names} == {sha}
    assert git.resolve("f" * 40) is None


@pytest.mark.parametrize("name", ["", "a..b", "a b", "/a", "a/", "a.lock", "a//b", "a.", "-a", "a\n"])
def test_what_git_refuses_is_no_ref_name(name: str) -> None:
    assert not is_ref_name(name)
