"""Patches as functions: of an object and a patch they make another object.

A merge patch replaces lists; a strategic one is treated as a merge patch, except that lists of things with a `name`
(containers, environment variables, volumes) are merged by it, and `$patch: delete` takes such a thing away. A JSON
patch is a list of steps that are all done or none.
Never here: which objects may be patched, and how refusals are worded (`PatchError` says what is wrong).
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

STEPS_MAX = 1000


class PatchError(Exception):
    """A patch that cannot be applied; `is_unfulfilled` when a `test` in it did not hold."""

    def __init__(self, what: str, *, is_unfulfilled: bool = False) -> None:
        super().__init__(what)
        self.is_unfulfilled = is_unfulfilled


def merged(value: Any, patch: Any, *, is_strategic: bool = False) -> Any:
    """A merge patch, plain or strategic: null takes away."""
    if not isinstance(patch, dict):
        if is_strategic and _is_named(value) and _is_named(patch):
            return _merged_by_name(value, patch)
        return deepcopy(patch)
    made = dict(value) if isinstance(value, dict) else {}
    for name, each in patch.items():
        if is_strategic and name.startswith("$"):
            continue
        if each is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), each, is_strategic=is_strategic)
    return made


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in value
    )


def _merged_by_name(value: list[Any], patch: list[Any]) -> list[Any]:
    made = {each["name"]: each for each in value}
    for each in patch:
        if each.get("$patch") == "delete":
            made.pop(each["name"], None)
        else:
            made[each["name"]] = merged(made.get(each["name"]), each, is_strategic=True)
    return list(made.values())


def stepped(value: Any, steps: Any) -> Any:
    """A JSON patch. Raises PatchError, and then nothing was changed."""
    if not isinstance(steps, list) or len(steps) > STEPS_MAX or not all(isinstance(each, dict) for each in steps):
        raise PatchError("a JSON patch is a list of operations")
    made = {"": deepcopy(value)}
    for step in steps:
        _step(made, step)
    return made[""]


def _step(made: dict[str, Any], step: dict[str, Any]) -> None:
    what, place = step.get("op"), _place(step.get("path"))
    match what:
        case "add" | "replace":
            _put(made, place, deepcopy(_value(step)), is_new=what == "add")
        case "remove":
            _take(made, place)
        case "test":
            if _get(made, place) != _value(step):
                raise PatchError(f"testing value {step['path']} failed", is_unfulfilled=True)
        case "copy":
            _put(made, place, deepcopy(_get(made, _place(step.get("from")))), is_new=True)
        case "move":
            origin = _place(step.get("from"))
            if place[: len(origin)] == origin and place != origin:
                raise PatchError("nothing is moved into itself")
            _put(made, place, _take(made, origin), is_new=True)
        case _:
            raise PatchError("an operation is add, remove, replace, move, copy or test")


def _value(step: dict[str, Any]) -> Any:
    if "value" not in step:
        raise PatchError("the operation needs a value")
    return step["value"]


def _place(pointer: Any) -> list[str]:
    """A JSON pointer below the root, which itself has the name ""."""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise PatchError("a path begins with / and leads below the object")
    return ["", *(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))]


def _get(made: dict[str, Any], place: list[str]) -> Any:
    current: Any = made
    for part in place:
        if isinstance(current, dict) and part in current:
            current = current[part]
        elif isinstance(current, list):
            current = current[_index(current, part)]
        else:
            raise PatchError("a path leads nowhere")
    return current


def _put(made: dict[str, Any], place: list[str], value: Any, *, is_new: bool) -> None:
    holder, name = _get(made, place[:-1]), place[-1]
    if isinstance(holder, dict):
        if not is_new and name not in holder:
            raise PatchError("what is not there cannot be replaced")
        holder[name] = value
    elif isinstance(holder, list) and is_new:
        holder.insert(len(holder) if name == "-" else _index(holder, name, is_end_allowed=True), value)
    elif isinstance(holder, list):
        holder[_index(holder, name)] = value
    else:
        raise PatchError("a path leads into a plain value")


def _take(made: dict[str, Any], place: list[str]) -> Any:
    holder, name = _get(made, place[:-1]), place[-1]
    if isinstance(holder, dict) and name in holder:
        return holder.pop(name)
    if isinstance(holder, list):
        return holder.pop(_index(holder, name))
    raise PatchError("what is not there cannot be removed")


def _index(holder: list[Any], part: str, *, is_end_allowed: bool = False) -> int:
    index = int(part) if part.isascii() and part.isdigit() and len(part) < 10 else -1
    if not 0 <= index < len(holder) + is_end_allowed:
        raise PatchError("an index leads outside of its list")
    return index
