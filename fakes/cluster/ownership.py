"""Who owns which field: the rules of server-side apply, on fields as paths.

Theory. A field is a leaf of the object: a plain value or a whole list. Whoever writes one owns it. An apply says all
that its manager wants: fields it wants that others own with another value are conflicts (unless it forces them); what
it owned and does not say any more is taken away, if nobody else owns it. Any other write takes over what it changes
and asks nobody. Ownership is kept in the object itself, in `metadata.managedFields`.
Never here: HTTP, versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

Object = dict[str, Any]
Path = tuple[str, ...]
APPLY, UPDATE = "Apply", "Update"
_NOBODYS = {("apiVersion",), ("kind",)}
_SYSTEMS = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
)


class Manager(NamedTuple):
    """Who writes, and how: `Apply` or `Update`."""

    name: str
    operation: str


Owned = dict[Manager, set[Path]]


def leaves(value: Any, below: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All fields of an object that somebody can own, with their values."""
    if isinstance(value, dict) and (value or not below):
        for name, each in value.items():
            path = (*below, name)
            is_systems = below == ("metadata",) and name in _SYSTEMS
            if path not in _NOBODYS and path != ("status",) and not is_systems:
                yield from leaves(each, path)
    elif below:
        yield below, value


def owned_in(made: Object) -> Owned:
    """Who owns what, by the object's own account."""
    entries = made.get("metadata", {}).get("managedFields") or []
    return {
        Manager(each["manager"], each["operation"]): set(_paths(each["fieldsV1"]))
        for each in entries
        if each.get("fieldsType") == "FieldsV1"
    }


def written(made: Object, owned: Owned, api_version: str, time: str) -> Object:
    """The object with this account. An entry that did not change keeps its time."""
    before = {Manager(each["manager"], each["operation"]): each for each in made["metadata"].get("managedFields") or []}
    entries = []
    for manager, paths in owned.items():
        if not paths:
            continue
        entry = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": _tree(paths),
        }
        old = before.get(manager)
        entries.append(old if old is not None and old["fieldsV1"] == entry["fieldsV1"] else entry)
    return {**made, "metadata": {**made["metadata"], "managedFields": entries}}


def after_update(owned: Owned, manager: Manager, old: Object, new: Object) -> Owned:
    """Who owns what after a write that asks nobody."""
    before, after = dict(leaves(old)), dict(leaves(new))
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    kept = {each: {path for path in paths if path in after and path not in changed} for each, paths in owned.items()}
    return {**kept, manager: kept.get(manager, set()) | changed}


def applied(
    old: Object, wanted: Object, manager: Manager, *, is_forced: bool
) -> tuple[Object, Owned, list[tuple[str, str]]]:
    """What an apply makes of an object: (the object, who owns what, conflicts as (manager, field))."""
    owned, current, asked = owned_in(old), dict(leaves(old)), dict(leaves(wanted))
    taken = {
        path: [each for each, paths in owned.items() if path in paths and each != manager]
        for path, value in asked.items()
        if path in current and current[path] != value
    }
    conflicts = [(each.name, "." + ".".join(path)) for path, others in taken.items() for each in others]
    if conflicts and not is_forced:
        return old, owned, conflicts
    made = deepcopy(old)
    for path in owned.get(manager, set()) - set(asked):
        if not any(path in paths for each, paths in owned.items() if each != manager):
            _drop(made, path)
    for path, value in asked.items():
        _set(made, path, value)
    kept = {each: paths - set(taken) for each, paths in owned.items()}
    left = {path for path, _ in leaves(made)}
    account = {**{each: paths & left for each, paths in kept.items()}, manager: set(asked) & left}
    return made, account, []


def _set(made: Object, path: Path, value: Any) -> None:
    for name in path[:-1]:
        if not isinstance(made.get(name), dict):
            made[name] = {}
        made = made[name]
    made[path[-1]] = deepcopy(value)


def _drop(made: Object, path: Path) -> None:
    for name in path[:-1]:
        if not isinstance(made.get(name), dict):
            return
        made = made[name]
    made.pop(path[-1], None)


def _tree(paths: set[Path]) -> Object:
    made: Object = {}
    for path in sorted(paths):
        level = made
        for name in path:
            level = level.setdefault(f"f:{name}", {})
    return made


def _paths(tree: Object, below: Path = ()) -> Iterator[Path]:
    for name, each in tree.items():
        path = (*below, name.removeprefix("f:"))
        if each:
            yield from _paths(each, path)
        else:
            yield path
