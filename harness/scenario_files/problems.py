"""What pydantic refused, in an author's words: what, where with the line, what to do next.

Here: one sentence per kind of refusal. Never here: rules about scenarios (models and checks have them).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.model.errors import UsageError
from harness.scenario_files.known import advice
from harness.scenario_files.models import LIST, MAP, TEXT, form_at, keys_of
from harness.scenario_files.yaml_text import Document, KeyPath

if TYPE_CHECKING:
    from pydantic import ValidationError

SHOWN_MAX = 80
_TAGS = frozenset({TEXT, MAP, LIST})
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "list_type": "a list",
}
_SHAPES = {TEXT: "text", MAP: "a map", LIST: "a list"}
Details = Mapping[str, Any]


def usage_error(error: ValidationError, document: Document) -> UsageError:
    """The first problem in the order of the file, in full; the lines of the others are named beside it.

    Missing keys come last: a misspelt key is missing under its right name too, and the misspelling is what to mend.
    """
    found: dict[KeyPath, list[Details]] = {}
    for details in error.errors(include_url=False):
        found.setdefault(_path(details["loc"], str(details["type"]), document), []).append(details)
    ordered = sorted(found, key=lambda path: (found[path][0]["type"] == "missing", _line(document, path), str(path)))
    first = ordered[0]
    what, next_step = _sentence(first, found[first])
    others = ", ".join(str(_line(document, path)) for path in ordered[1:6])
    if others:
        what += f" (Further problems on lines {others}{', ...' if len(ordered) > 6 else ''}.)"
    return UsageError(what, where=document.where(*first), next_step=next_step)


def shown(value: object) -> str:
    """A value for a message: what the author wrote, at most SHOWN_MAX characters."""
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."


def _line(document: Document, path: KeyPath) -> int:
    return int(document.where(*path).rpartition(":")[2])


def _path(loc: tuple[int | str, ...], kind: str, document: Document) -> KeyPath:
    """Pydantic's location as a path of the file: without the tags of alternatives and the types it tried.

    Only a missing key's path may lead to where the file has nothing. An unknown key may look like a tag, and is none.
    """
    path = tuple(part for part in loc if part not in _TAGS)
    if kind == "extra_forbidden" and loc[-1] in _TAGS:
        path = (*path, loc[-1])
    if kind == "missing":
        return path
    while path and path not in document.lines:
        path = path[:-1]
    return path


def _sentence(path: KeyPath, problems: list[Details]) -> tuple[str, str]:
    """What and next. Several problems at one path are the alternatives of one value."""
    details = problems[0]
    kind, value, context = str(details["type"]), details["input"], details.get("ctx", {})
    label = _label(path)
    if kind == "extra_forbidden":
        return _unknown_key(path)
    if kind == "missing":
        noun, _ = form_at(path[:-1])
        return f"The key {label} is missing: {noun} needs it.", f"Add `{path[-1]}:` here."
    if kind in {"enum", "literal_error"}:
        return _not_allowed(label, value, re.findall(r"'([^']*)'|\b(\d+)\b", str(context["expected"])))
    if kind == "union_tag_invalid":
        tags = re.findall(r"<\w+>", str(context["expected_tags"]))
        return _wrong_type(label, value, " or ".join(_SHAPES[tag] for tag in tags))
    if kind in _EXPECTED:
        expected = dict.fromkeys(_EXPECTED[p["type"]] for p in problems if p["type"] in _EXPECTED)
        return _wrong_type(label, value, " or ".join(expected))
    if kind == "value_error":
        return f"{label} cannot be used: {context['error']}.", "Correct it on this line."
    return f"{label} is {shown(value)}: {details['msg'][0].lower()}{details['msg'][1:]}.", "Correct it on this line."


def _label(path: KeyPath) -> str:
    if not path:
        return "The file"
    if isinstance(path[-1], int):
        return f"Item {path[-1] + 1} of `{path[-2] if len(path) > 1 else ''}`"
    return f"`{path[-1]}`"


def _unknown_key(path: KeyPath) -> tuple[str, str]:
    noun, form = form_at(path[:-1])
    key = str(path[-1])
    return f"`{key[:SHOWN_MAX]}` is not a key of {noun}.", advice(key, keys_of(form), noun="Its keys")


def _not_allowed(label: str, value: object, found: list[tuple[str, str]]) -> tuple[str, str]:
    allowed = [text or number for text, number in found]
    return f"{label} is {shown(value)}, which is not allowed.", advice(str(value), allowed, noun="Allowed")


def _wrong_type(label: str, value: object, expected: str) -> tuple[str, str]:
    what = f"{label} must be {expected}, not {shown(value)}."
    if "text" in expected and isinstance(value, (int, float)):
        return what, "Put it in quotes if text is meant."
    return what, f"Write {expected} here."
