"""Flags as their protocol knows them: JSON values, flags that are there from the beginning, and what was done to them.

A value is kept in its row as JSON text. A flag that is there from the beginning begins with version 1.
Never here: HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from fakes.core.rows import NEVER, Row
from fakes.flag.domain import Flags, value_of
from fakes.wire.json_api import OnWire, Refused
from harness.model.cell import Cell
from harness.model.wire import Request

FlagValue: TypeAlias = bool | int | str


class Flag(NamedTuple):
    """A flag as it was at some moment. `set_by` is the operation whose value it has."""

    name: str
    value: FlagValue
    version: int
    set_by: str
    set_ns: int | None

    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        return self._asdict()


class FlagBook(OnWire, Flags):
    """All flags. `opening`: the values of those that are there from the beginning."""

    __slots__ = ("opening",)

    def __init__(self, cell: Cell, opening: Mapping[str, FlagValue], **lent: Any) -> None:
        super().__init__(cell, **lent)
        self.opening = dict(opening)

    def version(self, flag: str, at_ns: int | None = None) -> int:
        """0 for a flag that never was there."""
        return super().version(flag, at_ns) + (flag in self.opening)

    def is_there(self, flag: str) -> bool:
        """Has it a value, set or from the beginning?"""
        return flag in self.opening or super().is_there(flag)

    def flag(self, name: str, at_ns: int | None = None) -> Flag | None:
        """The flag (at that moment). One whose every set was restored is there no more, unless it was from the beginning."""
        row, version = self.setting(name, at_ns), self.version(name, at_ns)
        if row is not None:
            return Flag(name, json.loads(str(value_of(row))), version, row.operation, row.settled_ns)
        return Flag(name, self.opening[name], version, "", None) if name in self.opening else None

    def flags(self, at_ns: int | None = None) -> list[Flag]:
        """All (at that moment), oldest first."""
        names = dict.fromkeys([*self.opening, *(row.target for row in self._table)])
        return [found for name in names if (found := self.flag(name, at_ns)) is not None]

    def audit(self, at_ns: int) -> Iterator[dict[str, Any]]:
        """What had been done by that moment, oldest first; the version is the one it made."""
        versions = dict.fromkeys(self.opening, 1)
        for row in self._table:
            if row.settled_ns <= at_ns:
                versions[row.target] = versions.get(row.target, 0) + 1
                yield _entry(row, versions[row.target], at_ns)

    def _check_version(self, request: Request) -> None:
        """On the wire a caller can also want that there is some version: `if_there`."""
        if request.params.get("if_there") and not self.is_there(request.target):
            raise self._conflict(request.target)
        super()._check_version(request)

    def _conflict(self, flag: str) -> Refused:
        version = self.version(flag)
        said = f"is at version {version}" if self.is_there(flag) else "is not there"
        return Refused(412, "version-changed", f"flag {flag!r} {said}", version=version)


def text_of(value: FlagValue) -> str:
    """A value as it is kept."""
    return json.dumps(value)


def _entry(row: Row, version: int, at_ns: int) -> dict[str, Any]:
    value = json.loads(str(value_of(row))) if row.action == "flag.set" else None
    return {
        "id": row.reference,
        "flag": row.target,
        "action": row.action,
        "value": value,
        "version": version,
        "operation": row.operation,
        "undoes": row.undoes,
        "is_undone": row.undone_ns != NEVER and row.undone_ns <= at_ns,
        "at_ns": row.settled_ns,
    }
