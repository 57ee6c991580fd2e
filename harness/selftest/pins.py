"""What is expected of each twin, as data: `pins.json`, made by `knownstate selftest --full --update` and checked by every self-test."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
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


@functools.lru_cache(maxsize=1)
def pins() -> Mapping[str, Pin]:
    """Twin -> pin, as shipped. Raises KeyError for a twin that has none when looked up."""
    rows = json.loads(PINS_FILE.read_text(encoding="utf-8"))
    return {
        row["twin"]: Pin(
            row["twin"],
            row["guarantee"],
            tuple(row["guarantees"]),
            row["schedule"],
            row["explored"],
            tuple(row["masked"]),
        )
        for row in rows
    }


def save(rows: list[Pin]) -> None:
    """Replace the shipped pins."""
    write_whole(PINS_FILE, json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    pins.cache_clear()
