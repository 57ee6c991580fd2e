"""XML for the two protocols of the cloud: writing values as elements, and reading a body without trusting it.

Never here: what an element means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias
from xml.etree import ElementTree
from xml.sax.saxutils import escape

PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'
ELEMENTS_MAX = 50_000
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Many(NamedTuple):
    """Values that are elements of one name."""

    tag: str
    values: Sequence[Value]


Value: TypeAlias = "str | int | bool | Mapping[str, Value] | Many"


class NotXml(ValueError):
    """The body cannot be read."""


def document(root: str, namespace: str, value: Value) -> bytes:
    """A whole answer."""
    said = f' xmlns="{namespace}"' if namespace else ""
    return f"{PROLOGUE}<{root}{said}>{_inner(value)}</{root}>".encode()


def _inner(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int():
            return escape(_NOT_XML.sub("\ufffd", str(value)))
        case Many(tag, values):
            return "".join(f"<{tag}>{_inner(each)}</{tag}>" for each in values)
        case _:
            return "".join(f"<{tag}>{_inner(each)}</{tag}>" for tag, each in value.items())


def read(body: bytes, root: str) -> ElementTree.Element:
    """The root element, with namespaces taken off all names. Raises NotXml saying what is wrong."""
    if b"<!" in body.replace(b"<!--", b""):
        raise NotXml("a document type is not taken")  # no entity, so none that expands
    try:
        found = ElementTree.fromstring(body)
    except (ElementTree.ParseError, ValueError, LookupError):  # the last two: an encoding that is none
        raise NotXml("it is not well-formed") from None
    for number, element in enumerate(found.iter()):
        element.tag = element.tag.rpartition("}")[2]
        if number > ELEMENTS_MAX:
            raise NotXml("it has too many elements")
    if found.tag != root:
        raise NotXml(f"the root element is not {root}")
    return found


def text_of(element: ElementTree.Element, path: str) -> str | None:
    """The text of the element at the path, or None."""
    found = element.find(path)
    return None if found is None else (found.text or "").strip()
