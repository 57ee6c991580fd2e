"""A schedule is one line of text: what is written is read back, and what cannot be read is named."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.fault import Fault
from harness.model.schedule import INJECTIONS_MAX, Injection, Schedule
from tests.model.values import schedules

AT = "pair/first/attempt-1/sent"


@given(schedules)
def test_a_schedule_is_read_back_from_its_line(schedule: Schedule) -> None:
    assert Schedule.parse(str(schedule)) == schedule


@given(schedules)
def test_a_line_needs_no_quotes_in_a_shell(schedule: Schedule) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._:=,/-]+", str(schedule))


def test_the_line_of_a_control_run_ends_after_its_seed() -> None:
    assert str(Schedule("pair")) == "pair:seed=0:"
    assert Schedule.parse("pair:seed=0:").injections == ()


def test_injections_keep_their_order() -> None:
    line = f"pair:seed=3:cell=ignored.eventual.late:{AT}=lost-request,{AT}=crash"
    injections = (Injection(AT, Fault.LOST_REQUEST), Injection(AT, Fault.CRASH))
    assert Schedule.parse(line) == Schedule("pair", 3, injections, Cell.parse("ignored.eventual.late"))


def test_a_line_copied_with_its_newline_is_read() -> None:
    assert Schedule.parse(f"  pair:seed=0:{AT}=crash\n") == Schedule("pair").plus(AT, Fault.CRASH)


def test_one_more_injection_makes_another_schedule() -> None:
    schedule = Schedule("pair")
    longer = schedule.plus(AT, Fault.CRASH)
    assert schedule.injections == ()
    assert str(longer) == f"pair:seed=0:{AT}=crash"


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("", "SCENARIO:seed=N:BOUNDARY=FAULT"),
        ("pair", "SCENARIO:seed=N:BOUNDARY=FAULT"),
        ("pair:seed=0", "SCENARIO:seed=N:BOUNDARY=FAULT"),
        ("pair:seed=0:cell=honoured.absent.late:x:y", "SCENARIO:seed=N:BOUNDARY=FAULT"),
        ("Pair:seed=0:", "'Pair' is not a scenario id"),
        (":seed=0:", "'' is not a scenario id"),
        ("pair:seed=:", "'seed=' is not seed=N"),
        ("pair:seed=-1:", "'seed=-1' is not seed=N"),
        ("pair:seed=1e3:", "'seed=1e3' is not seed=N"),
        ("pair:seed=\u0663:", "is not seed=N"),
        ("pair:seed=" + "9" * 19 + ":", "is not seed=N"),
        ("pair:0:", "'0' is not seed=N"),
        ("pair:seed=0:sell=honoured.absent.late:", "'sell=honoured.absent.late' is not cell="),
        ("pair:seed=0:cell=honoured.absent:", "'honoured.absent' is not key.lookup.late"),
        ("pair:seed=0:cell=honoured.sometimes.late:", "'sometimes'"),
        (f"pair:seed=0:{AT}", f"'{AT}' is not BOUNDARY=FAULT"),
        ("pair:seed=0:first/sent=crash", "workflow/subject/step/phase"),
        ("pair:seed=0:pair/First/attempt-1/sent=crash", "'First'"),
        ("pair:seed=0:pair/first/attempt-1/posted=crash", "'posted'"),
        (f"pair:seed=0:{AT}=explode", "'explode' is no fault"),
        (f"pair:seed=0:{AT}=", "'' is no fault"),
        (f"pair:seed=0:{AT}=crash,{AT}=Crash", "'Crash' is no fault"),
        (f"pair:seed=0:{AT}=crash,,{AT}=crash", "'' is not BOUNDARY=FAULT"),
    ],
)
def test_a_malformed_line_is_refused_with_the_offending_part(line: str, part: str) -> None:
    with pytest.raises(UsageError) as refused:
        Schedule.parse(line)
    assert part in refused.value.what
    assert repr(line.strip()[:300]) in refused.value.where
    assert refused.value.next_step
    assert refused.value.exit_code == 2


def test_a_schedule_has_a_largest_number_of_injections() -> None:
    full = Schedule("pair", injections=(Injection(AT, Fault.CRASH),) * INJECTIONS_MAX)
    assert Schedule.parse(str(full)) == full
    with pytest.raises(UsageError, match=f"has {INJECTIONS_MAX + 1} injections"):
        Schedule.parse(str(full.plus(AT, Fault.CRASH)))
