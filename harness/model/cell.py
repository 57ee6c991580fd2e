"""Provider cells: which guarantees a provider gives to those who must recover."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

SECOND_NS = 1_000_000_000
KEY_TTL_NS = 24 * 3600 * SECOND_NS
"""How long a cell with `key=expires` honours a key: 24 hours, as Stripe's first API generation documents."""
READ_LAG_NS = 2 * SECOND_NS
"""Usual lag of an `eventual` look-up. It has no bound a caller may rely on: `not found` is never proof there."""
LATE_NS = 15 * 60 * SECOND_NS
"""How much later a late delivery arrives: longer than any recovery waits."""


_E = TypeVar("_E", bound=StrEnum)


class Key(StrEnum):
    HONOURED = "honoured"
    EXPIRES = "expires"
    IGNORED = "ignored"


class Lookup(StrEnum):
    AUTHORITATIVE = "authoritative"
    EVENTUAL = "eventual"
    ABSENT = "absent"


class Late(StrEnum):
    NO = "prompt"
    """A request is never applied after its `not_after`: the provider refuses it as `expired`."""
    YES = "late"
    """A request may be applied at any later time, whatever deadline it carried."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """key x lookup x late delivery. Text form `honoured.authoritative.prompt`."""

    key: Key = Key.HONOURED
    lookup: Lookup = Lookup.AUTHORITATIVE
    late: Late = Late.NO

    def __str__(self) -> str:
        return f"{self.key.value}.{self.lookup.value}.{self.late.value}"

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Read `key.lookup.late`. Raises ValueError naming the allowed words."""
        parts = text.split(".")
        if len(parts) != 3:
            raise ValueError(f"{text!r} is not key.lookup.late, for instance honoured.authoritative.prompt")
        return cls(_word(Key, parts[0]), _word(Lookup, parts[1]), _word(Late, parts[2]))

    @property
    def absence_can_be_proved(self) -> bool:
        """Is there a moment after which `not found` means `never committed`? Only if reads are authoritative and no request is late."""
        return self.lookup is Lookup.AUTHORITATIVE and self.late is Late.NO


def _word(kind: type[_E], text: str) -> _E:
    try:
        return kind(text)
    except ValueError:
        allowed = ", ".join(member.value for member in kind)
        raise ValueError(f"{text!r} is not one of {allowed}") from None


ALL_CELLS = tuple(Cell(k, lo, la) for k in Key for lo in Lookup for la in Late)
