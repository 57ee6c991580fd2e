"""Label and field selectors: texts that say which objects are meant.

    a=b, a==b, a!=b, a in (b,c), a notin (b), a, !a          separated by commas; all must hold
    metadata.name=x, metadata.namespace!=y                   fields; there are no others here

Never here: objects of one kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

REQUIREMENTS_MAX = 100
FIELDS = ("metadata.name", "metadata.namespace")
_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,315}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
_LISTED = re.compile(rf"({_KEY})\s+(in|notin)\s+\(([^()]*)\)")
_COMPARED = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_PRESENT = re.compile(rf"(!?)\s*({_KEY})")

Test = Callable[[dict[str, Any]], bool]


def labels_test(text: str) -> Test:
    """Does an object carry such labels? Raises ValueError naming the part that is none."""
    tests = [_requirement(part.strip()) for part in _parts(text)]
    return lambda labels: all(test(labels) for test in tests)


def _parts(text: str) -> list[str]:
    """Cut at commas that are outside of parentheses."""
    parts = re.split(r",(?![^(]*\))", text) if text.strip() else []
    if len(parts) > REQUIREMENTS_MAX:
        raise ValueError("too many requirements")
    return parts


def _requirement(part: str) -> Test:
    if found := _LISTED.fullmatch(part):
        key, is_in = found[1], found[2] == "in"
        values = {each.strip() for each in found[3].split(",")}
        return lambda labels: (labels.get(key) in values) == is_in
    if found := _COMPARED.fullmatch(part):
        name, is_equal, value = found[1], found[2] != "!=", found[3]
        return lambda labels: (labels.get(name) == value) == is_equal
    if found := _PRESENT.fullmatch(part):
        present, is_wanted = found[2], not found[1]
        return lambda labels: (present in labels) == is_wanted
    raise ValueError(part)


def fields_test(text: str) -> Test:
    """Has an object's metadata such a name or namespace? Raises ValueError naming the field that is not supported."""
    wanted: list[tuple[str, bool, str]] = []
    for part in text.split(",") if text else ():
        found = re.fullmatch(r"([^=!]*)(==|=|!=)(.*)", part.strip())
        if found is None or found[1] not in FIELDS:
            raise ValueError(found[1] if found is not None else part)
        wanted.append((found[1].removeprefix("metadata."), found[2] != "!=", found[3]))
    return lambda metadata: all((metadata.get(name, "") == value) == is_equal for name, is_equal, value in wanted)
