"""A repository as a value store: blobs, trees, commits, and refs that know where they pointed before.

Theory. Blobs, trees and commits are named after what they hold, so they are never changed and writing one again does
nothing. Only refs move; each keeps the moments at which it did, so that a past moment can be read like the present
one. A blob's name is git's own, so that a client may compute it; trees are flat (path -> blob) and their names, like
those of commits, only look alike. A ref's full name has no `refs/` here: `heads/main`.
Never here: HTTP, effects, and who may do it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1
from typing import Any, NamedTuple

from fakes.wire.shelf import Shelf

BLOB, TREE, COMMIT, REF = "blob", "tree", "commit", "ref"
MOVES_MAX = 1000
"""A ref remembers so many of its moves; a look further back sees the oldest of them."""
SHA = re.compile(r"[0-9a-f]{40}")
_REF_NAME = re.compile(r"(?!.*(\.\.|//|@\{|\.lock$))[A-Za-z0-9_][A-Za-z0-9._/@+=-]{0,199}(?<![./])")


class Commit(NamedTuple):
    """One commit."""

    sha: str
    message: str
    tree: str
    parents: tuple[str, ...]
    made_s: int


def blob_sha(content: bytes) -> str:
    """The name git gives to these bytes."""
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_ref_name(name: str) -> bool:
    """Can a branch or tag be called so? A part of what git checks, and nothing that git refuses."""
    return _REF_NAME.fullmatch(name) is not None


class Git:
    """One repository on a shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    # What is named after its content.

    def put_blob(self, content: bytes) -> str:
        """Keep these bytes. Returns their name."""
        sha = blob_sha(content)
        if self._shelf.get(BLOB, sha) is None:
            self._shelf.put(BLOB, sha, b64encode(content).decode())
        return sha

    def put_tree(self, files: Mapping[str, str]) -> str:
        """Keep a tree: path -> blob. Returns its name."""
        ordered = dict(sorted(files.items()))
        sha = _digest(TREE, ordered)
        if self._shelf.get(TREE, sha) is None:
            self._shelf.put(TREE, sha, ordered)
        return sha

    def put_commit(self, message: str, tree: str, parents: Iterable[str], made_s: int) -> str:
        """Keep a commit. Returns its name."""
        value = {"message": message, "tree": tree, "parents": list(parents), "made_s": made_s}
        sha = _digest(COMMIT, value)
        if self._shelf.get(COMMIT, sha) is None:
            self._shelf.put(COMMIT, sha, value)
        return sha

    def blob(self, sha: str) -> bytes:
        """Its bytes. It must be there."""
        return b64decode(self._shelf.get(BLOB, sha))

    def has_blob(self, sha: str) -> bool:
        """Are these bytes there?"""
        return self._shelf.get(BLOB, sha) is not None

    def tree(self, sha: str) -> Mapping[str, str] | None:
        """Path -> blob, or None if there is no such tree."""
        files: Mapping[str, str] | None = self._shelf.get(TREE, sha)
        return files

    def commit(self, sha: str) -> Commit | None:
        """The commit of this full name."""
        found = self._shelf.get(COMMIT, sha)
        return (
            None
            if found is None
            else Commit(sha, found["message"], found["tree"], tuple(found["parents"]), found["made_s"])
        )

    def there(self, sha: str) -> Commit:
        """The commit of this name, which must be there."""
        commit = self.commit(sha)
        assert commit is not None, f"commit {sha} is shown after it was found"
        return commit

    def files(self, sha: str) -> Mapping[str, str]:
        """The files of a commit that is there: path -> blob."""
        return dict(self._shelf.get(TREE, self._shelf.get(COMMIT, sha)["tree"]))

    def history(self, sha: str) -> Iterator[str]:
        """This commit and all it came from, each once."""
        seen, waiting = {sha}, [sha]
        while waiting:
            current = waiting.pop(0)
            yield current
            fresh = [parent for parent in self._shelf.get(COMMIT, current)["parents"] if parent not in seen]
            seen.update(fresh)
            waiting += fresh

    def contains(self, sha: str, earlier: str) -> bool:
        """Did this commit come from the earlier one, or is it the same?"""
        return any(each == earlier for each in self.history(sha))

    # Refs.

    def point(self, ref: str, sha: str | None, now_ns: int) -> None:
        """Let a ref point there from now on; None: it is gone."""
        moves = self._shelf.get(REF, ref) or []
        self._shelf.put(REF, ref, [*moves, [now_ns, sha]][-MOVES_MAX:])

    def is_known(self, ref: str) -> bool:
        """Is or was there such a ref?"""
        return self._shelf.get(REF, ref) is not None

    def head(self, ref: str, at_ns: int | None = None) -> str | None:
        """Where a ref points, or pointed at a moment; None if there was none."""
        moves: list[Any] = self._shelf.get(REF, ref) or []
        sha: str | None = None
        for index, (moment_ns, target) in enumerate(moves):
            if at_ns is None or moment_ns <= at_ns or (not index and len(moves) == MOVES_MAX):
                sha = target
        return sha

    def refs(self, at_ns: int | None = None) -> dict[str, str]:
        """All refs, sorted by name, and where they point."""
        heads = ((ref, self.head(ref, at_ns)) for ref in sorted(self._shelf.all(REF)))
        return {ref: sha for ref, sha in heads if sha is not None}

    def resolve(self, name: str, at_ns: int | None = None) -> str | None:
        """The commit that a branch, a tag, a full ref or a commit's name means; None if it means none."""
        bare = name.removeprefix("refs/")
        for ref in (f"heads/{bare}", f"tags/{bare}", bare):
            if sha := self.head(ref, at_ns):
                return sha
        return name if SHA.fullmatch(name) and self.commit(name) is not None else None

    def merged(self, into: str, other: str, message: str, made_s: int) -> str:
        """A merge of two commits: the files of both, those of `other` where both have one. Returns its name."""
        tree = self.put_tree({**self.files(into), **self.files(other)})
        return self.put_commit(message, tree, (into, other), made_s)


def _digest(kind: str, value: Any) -> str:
    return sha1(f"{kind} {json.dumps(value, sort_keys=True)}".encode()).hexdigest()
