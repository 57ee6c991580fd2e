"""Durations: text to nanoseconds and back, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scenario_files.durations import DURATION_MAX_NS, duration_ns, duration_text


@pytest.mark.parametrize(
    ("text", "value_ns"),
    [
        ("250ms", 250_000_000),
        ("30s", 30_000_000_000),
        ("10m", 600_000_000_000),
        ("2h", 7_200_000_000_000),
        ("7d", 604_800_000_000_000),
        ("3us", 3_000),
        ("5ns", 5),
        ("0s", 0),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, value_ns: int) -> None:
    assert duration_ns(text) == value_ns
    assert duration_text(value_ns) == text


@pytest.mark.parametrize("text", ["", "10", "s", "-1s", "1.5h", "1 h", "1H", "1h30m", "1h\n", "٣s", "9" * 30 + "s"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="250ms, 30s, 10m, 2h, 7d"):
        duration_ns(text)


def test_ten_years_are_the_limit() -> None:
    assert duration_ns("3650d") == DURATION_MAX_NS
    with pytest.raises(ValueError, match="longer than 3650d"):
        duration_ns("3651d")


@given(st.integers(min_value=0, max_value=DURATION_MAX_NS))
def test_every_duration_is_written_exactly(value_ns: int) -> None:
    assert duration_ns(duration_text(value_ns)) == value_ns
