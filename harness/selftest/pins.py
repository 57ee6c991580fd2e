"""What is expected of each twin, as data: `pins.json`, made by `knownstate selftest --full --update` and checked by every self-test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.store.atomic import write_whole

PINS_FILE = Path(__file__).with_name("pins.json")


@dataclass(frozen=True, slots=True)
class Pin:
    """One twin's pinned verdict: the guarantee it breaks, the smallest schedule that shows it, and the cells in which it is masked.

    `guarantees` are all that run breaks, the most telling first; `explored` is how many schedules it took.
    """

    twin: str
    guarantee: str
    guarantees: tuple[str, ...]
    schedule: str
    explored: int
    masked: tuple[str, ...]


def pins(file: Path | None = None) -> Mapping[str, Pin]:
    """Twin -> pin, as shipped or as in `file`. A twin may have none yet."""
    rows = json.loads((file or PINS_FILE).read_text(encoding="utf-8"))
    return {
        row["twin"]: Pin(**{**row, **{name: tuple(row[name]) for name in ("guarantees", "masked")}}) for row in rows
    }


def save(found: Iterable[Pin], file: Path | None = None) -> None:
    """Put these in the place of those of the same twins."""
    rows = {**pins(file), **{pin.twin: pin for pin in found}}
    write_whole(file or PINS_FILE, json.dumps([asdict(row) for row in rows.values()], indent=1) + "\n")
