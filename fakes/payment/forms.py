"""Forms with nested names, `a[b][0]=c`, as trees. Pure; what the names mean is not known here.

A tree's inner nodes are dicts, also where a list is meant (`a[]=x&a[]=y` and `a[0]=x&a[1]=y` are the same tree), since
only the parameter itself knows which of the two it is. Everything is bounded.
"""

from __future__ import annotations

import re
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

PAIRS_MAX = 1000
DEPTH_MAX = 6
NAME_LENGTH_MAX = 500

Tree: TypeAlias = "dict[str, Tree | str]"

_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)\Z")
_PART = re.compile(r"\[([^\[\]]*)\]")


class Malformed(ValueError):
    """This is no form; the text says why, without repeating what it contains."""


def decode(text: bytes) -> Tree:
    """The tree of a form. Of two values under one name the later counts. Raises Malformed."""
    tree: Tree = {}
    if not text:
        return tree
    if text.count(b"&") >= PAIRS_MAX:
        raise Malformed(f"more than {PAIRS_MAX} parameters")
    for pair in text.split(b"&"):
        if pair:
            name, _, value = pair.partition(b"=")
            _put(tree, _path(_plain(name)), _plain(value))
    return tree


def _plain(text: bytes) -> str:
    try:
        return unquote_to_bytes(text.replace(b"+", b" ")).decode() if b"%" in text or b"+" in text else text.decode()
    except UnicodeDecodeError:
        raise Malformed("a parameter is not UTF-8") from None


def _path(name: str) -> list[str]:
    if "[" not in name and "]" not in name and name:
        return [name]
    found = _NAME.match(name) if len(name) <= NAME_LENGTH_MAX else None
    if found is None:
        raise Malformed("a parameter's name is not of the form a[b][0]")
    path = [found[1], *_PART.findall(found[2])]
    if len(path) > DEPTH_MAX:
        raise Malformed(f"parameters are nested more than {DEPTH_MAX} deep")
    return path


def _put(tree: Tree, path: list[str], value: str) -> None:
    node = tree
    for part in path[:-1]:
        inner = node.setdefault(part or str(len(node)), {})
        if isinstance(inner, str):
            raise Malformed("a parameter is both a value and a group")
        node = inner
    last = path[-1] or str(len(node))
    if isinstance(node.get(last), dict):
        raise Malformed("a parameter is both a value and a group")
    node[last] = value
