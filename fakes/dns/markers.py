"""Whose operation a message is: the markers it adds, and those it takes away by value.

Of a change at a name, the operation is that of the marker the message adds for this name; otherwise of the only one it
adds at all, since a message is one unit. A removal in a message that adds none but deletes the marker `op=X` of that name
(by its value: so the sender knew it) is the undoing of X: `undo.X`. In every other case nothing was said, and it is "".
Never here: what a zone holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dns.name import Name

from fakes.dns.records import IN, NONE_CLASS, Asked, marker_of, subject_of
from harness.model.boundary import UNDO_PREFIX


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of one message, by what they are about."""

    added: Mapping[Name, str]
    removed: Mapping[Name, str]

    def operation(self, name: Name, *, is_removal: bool) -> str:
        """The operation of a change at this name, or ""."""
        if name in self.added:
            return self.added[name]
        if len(operations := set(self.added.values())) == 1:
            return operations.pop()
        if is_removal and not operations and name in self.removed:
            return f"{UNDO_PREFIX}{self.removed[name]}"
        return ""


def markers_of(updates: Iterable[Asked]) -> Markers:
    """What the changes of a message say."""
    found: dict[int, dict[Name, str]] = {IN: {}, NONE_CLASS: {}}
    for asked in updates:
        if asked.rdclass in found and (operation := marker_of(asked.rdata)) is not None:
            found[asked.rdclass][subject_of(asked.name)] = operation
    return Markers(found[IN], found[NONE_CLASS])
