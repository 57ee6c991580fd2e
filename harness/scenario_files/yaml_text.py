"""From YAML text to plain data with line numbers, under bounds.

Here: the only use of ruamel.yaml. Its parser's events are folded into dicts, lists and scalars directly: no composer,
no constructor and no resolver takes part, so a file has no way to create an object or to run anything. Scalars follow
the YAML 1.2 core rules, with decimal whole numbers only (`007` and forty digits stay text: turning them into numbers
would lose what the author wrote). Never here: knowledge of scenarios.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.model.errors import UsageError

if TYPE_CHECKING:
    from ruamel.yaml.events import Event, NodeEvent, ScalarEvent

FILE_BYTES_MAX = 1024 * 1024
DEPTH_MAX = 16
NODES_MAX = 20_000

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]
KeyPath = tuple[str | int, ...]

_NULL = re.compile(r"(|~|null|Null|NULL)\Z")
_BOOL = re.compile(r"(true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})\Z")
_FLOAT = re.compile(r"[-+]?([0-9]*\.[0-9]+|[0-9]+\.|[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+)\Z")
_TAB_INDENT = re.compile(r"[ ]*\t")
_LOCAL_HINT = "Write the value out where it is used."


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document as plain data. `lines` maps the path of every key and item to the line it starts on, from 1."""

    data: Plain
    lines: Mapping[KeyPath, int]
    name: str

    def where(self, *path: str | int) -> str:
        """`file:line` of the deepest part of `path` that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"


def is_regular(path: Path) -> bool:
    """Is there a regular file? A path the system cannot even ask about (too long, behind a closed folder) is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_bounded(path: Path) -> str:
    """The text of a file. Raises UsageError unless it is a readable regular UTF-8 file of at most FILE_BYTES_MAX
    bytes."""
    if path.is_dir():
        raise UsageError(f"{str(path)!r} is a directory.", where=str(path), next_step="Name one file in it.")
    if not is_regular(path):
        raise UsageError(f"There is no regular file {str(path)!r}.", where=str(path), next_step="Check the path.")
    try:
        # One byte more than allowed is read, never the whole of a larger file, which may also be growing.
        with path.open("rb") as stream:
            raw = stream.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(
            f"The file cannot be read: {error.strerror}.", where=str(path), next_step="Check its permissions."
        ) from None
    return _decoded(raw, str(path))


def read_yaml(text: str, name: str) -> Document:
    """Fold `text` into a Document. Raises UsageError, with the line, on anything that is not one plain bounded
    YAML document."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > FILE_BYTES_MAX:
        raise _too_large(name)
    _refuse_tabs(text, name)
    try:
        fold = _Fold(YAML(typ="safe", pure=True).parse(text), name)
        data = fold.document()
    except YAMLError as error:
        raise _broken(error, text, name) from None
    return Document(data, fold.lines, name)


def _decoded(raw: bytes, name: str) -> str:
    if len(raw) > FILE_BYTES_MAX:
        raise _too_large(name)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _binary(f"{name}:{line}") from None
    if "\0" in text:
        raise _binary(f"{name}:{text.count(chr(10), 0, text.index(chr(0))) + 1}")
    return text


def _too_large(name: str) -> UsageError:
    return UsageError(
        f"The file is larger than 1 MiB ({FILE_BYTES_MAX} bytes).",
        where=name,
        next_step="A scenario is a page of text; split it, or check that this is the file you meant.",
    )


def _binary(where: str) -> UsageError:
    return UsageError("The file is not UTF-8 text.", where=where, next_step="Save it as UTF-8, or name another file.")


def _refuse_tabs(text: str, name: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if _TAB_INDENT.match(line):
            raise _tab(f"{name}:{number}")


def _tab(where: str) -> UsageError:
    return UsageError("A tab stands where YAML needs spaces.", where=where, next_step="Indent with spaces.")


def _broken(error: Exception, text: str, name: str) -> UsageError:
    """A message for what the parser refused; its own wording, on one line, is the reason."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        line = int(mark.line) + 1
    else:
        line = text.count("\n", 0, int(getattr(error, "position", 0))) + 1
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "it breaks off"
    if "\\t" in str(reason):
        return _tab(f"{name}:{line}")
    return UsageError(
        f"The file is not valid YAML: {' '.join(str(reason).split())}.",
        where=f"{name}:{line}",
        next_step="Check quotes, colons and indentation on this line and the one before it.",
    )


@dataclass(slots=True)
class _Fold:
    """Events into data. Recursion is as deep as the data, which DEPTH_MAX bounds before the call."""

    events: Iterator[Event]
    name: str
    lines: dict[KeyPath, int] = field(default_factory=dict)
    nodes_count: int = 0

    def document(self) -> Plain:
        from ruamel.yaml.events import DocumentStartEvent, StreamStartEvent

        assert isinstance(next(self.events), StreamStartEvent), "a stream begins with its start"
        first = next(self.events)
        if not isinstance(first, DocumentStartEvent):
            return None
        if first.version is not None and tuple(first.version) != (1, 2):
            raise self._refused(first, "The file asks for another YAML version", "Remove the %YAML line.")
        data = self._node(next(self.events), ())
        next(self.events)
        following = next(self.events)
        if isinstance(following, DocumentStartEvent):
            raise self._refused(following, "The file holds more than one document", "Keep one scenario per file.")
        return data

    def _node(self, event: Event, path: KeyPath) -> Plain:
        from ruamel.yaml.events import MappingStartEvent, ScalarEvent, SequenceStartEvent

        self._admit(event, path)
        if path not in self.lines:
            self.lines[path] = _line(event)
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        if isinstance(event, SequenceStartEvent):
            return self._list(path)
        assert isinstance(event, MappingStartEvent), f"{event} is not a node"
        return self._map(path)

    def _list(self, path: KeyPath) -> list[Plain]:
        from ruamel.yaml.events import SequenceEndEvent

        items: list[Plain] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _map(self, path: KeyPath) -> dict[str, Plain]:
        from ruamel.yaml.events import MappingEndEvent

        entries: dict[str, Plain] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self._key(event, path, entries)
            self.lines[(*path, key)] = _line(event)
            entries[key] = self._node(next(self.events), (*path, key))
        return entries

    def _key(self, event: Event, path: KeyPath, entries: Mapping[str, Plain]) -> str:
        from ruamel.yaml.events import ScalarEvent

        self._admit(event, path)
        if not isinstance(event, ScalarEvent):
            raise self._refused(event, "A key of this map is itself a map or a list", "Keys are plain text.")
        key = str(event.value)
        if key in entries:
            first = self.lines[(*path, key)]
            raise self._refused(
                event, f"{key!r} stands twice in one map, first on line {first}", "Rename or remove one of the two."
            )
        return key

    def _admit(self, event: Event, path: KeyPath) -> None:
        """Refuse what a scenario never needs and an attacker might: aliases, anchors, tags, depth, mass."""
        from ruamel.yaml.events import AliasEvent, NodeEvent

        self.nodes_count += 1
        if isinstance(event, AliasEvent):
            raise self._refused(event, f"The alias *{event.anchor} is not allowed", _LOCAL_HINT)
        assert isinstance(event, NodeEvent), f"{event} is not a node"
        if event.anchor is not None:
            raise self._refused(event, f"The anchor &{event.anchor} is not allowed", _LOCAL_HINT)
        if (tag := _tag(event)) is not None:
            raise self._refused(event, f"The tag {tag} is not allowed", "Remove it; the key decides the type.")
        if len(path) > DEPTH_MAX:
            raise self._refused(event, f"The data is nested deeper than {DEPTH_MAX} levels", "Check the brackets.")
        if self.nodes_count > NODES_MAX:
            raise self._refused(event, f"The file has more than {NODES_MAX} values", "Split the scenario.")

    def _refused(self, event: Event, what: str, next_step: str) -> UsageError:
        return UsageError(f"{what}.", where=f"{self.name}:{_line(event)}", next_step=next_step)


def _line(event: Event) -> int:
    return int(event.start_mark.line) + 1


def _tag(event: NodeEvent) -> str | None:
    tag = getattr(event, "tag", None)
    return None if tag is None else str(tag)


def _scalar(event: ScalarEvent) -> Plain:
    """YAML 1.2: only an unquoted scalar can be anything but text."""
    text = str(event.value)
    if event.style is not None:
        return text
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text
