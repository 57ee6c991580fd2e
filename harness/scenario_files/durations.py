"""Durations as people write them: `250ms`, `30s`, `10m`, `2h`, `7d`.

Here: text to nanoseconds and back, exactly. Never here: clocks.
"""

from __future__ import annotations

import re

UNITS_NS = {
    "d": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
"""Unit -> nanoseconds, longest first: the writer takes the first that divides."""
DURATION_PATTERN = r"^[0-9]{1,18}(ns|us|ms|s|m|h|d)$"
DURATION_MAX_NS = 3650 * UNITS_NS["d"]


def duration_ns(text: str) -> int:
    """Nanoseconds of a duration. Raises ValueError saying how one is written, or that this one is beyond ten years."""
    if not re.match(DURATION_PATTERN, text) or text.endswith("\n"):
        raise ValueError(f"{text!r} is not a duration; write a whole number and a unit: 250ms, 30s, 10m, 2h, 7d")
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    value_ns = int(number) * UNITS_NS[text[len(number) :]]
    if value_ns > DURATION_MAX_NS:
        raise ValueError(f"{text!r} is longer than 3650d, the longest a scenario may ask for")
    return value_ns


def duration_text(value_ns: int) -> str:
    """The shortest exact form: the largest unit that divides it. Zero is `0s`."""
    assert value_ns >= 0, "a duration is not negative"
    if value_ns == 0:
        return "0s"
    unit = next(name for name, size in UNITS_NS.items() if value_ns % size == 0)
    return f"{value_ns // UNITS_NS[unit]}{unit}"
