"""Equal text, equal run: one schedule line gives one history, byte for byte, here and in any other interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.candidates.loading import REFERENCE, load_candidate
from harness.model.schedule import Schedule
from harness.rigs.simulation import SimulationRig
from harness.store.history_file import encode, trace_hash
from tests.rigs.simulated import explored, play, scenario_of

ROOT = Path(__file__).parents[2]
LINES = (
    "pair:seed=0:",
    "pair:seed=7:",
    "pair:seed=0:pair/first/attempt-1/committed=crash",
    "pair:seed=0:pair/first/attempt-1/sent=crash,pair/first/lookup-1/delivered=crash",
    "pair:seed=0:pair/first/attempt-1/intent-recorded=zombie-worker",
    "pair:seed=0:pair/first/attempt-1/committed=zombie-worker,pair/second/attempt-1/recorded=crash",
    "pair:seed=0:cell=ignored.authoritative.late:pair/first/attempt-1/sent=late-delivery",
    "pair:seed=0:pair/second/attempt-1/committed=cancel",
    "pair:seed=0:cell=honoured.eventual.late:pair/first/verify-1/delivered=stale-lookup",
    "pair:seed=0:pair/first/attempt-1.record/in-commit=commit-lost,pair/first/lookup-1/delivered=partial-lookup",
    "onboarding:seed=0:onboarding/billing.charge/attempt-1/committed=lost-response",
    "onboarding:seed=0:onboarding/mail.welcome/attempt-1/delivered=declined",
)
PRINTS_HASHES = """
import sys
from harness.store.history_file import trace_hash
from tests.rigs.simulated import play
print(*(trace_hash(play(line)) for line in sys.argv[1:]), sep="\\n")
"""


def alone(line: str) -> bytes:
    """The history of a rig that has run nothing before."""
    schedule = Schedule.parse(line)
    rig = SimulationRig(load_candidate(REFERENCE), scenario_of(schedule.scenario), REFERENCE, schedule.cell)
    try:
        return encode(rig.run(schedule).history)
    finally:
        rig.close()


@pytest.mark.parametrize("line", LINES)
def test_a_line_gives_one_history_whatever_ran_before_it(line: str) -> None:
    first = encode(play(line))
    assert encode(play(line)) == first
    assert alone(line) == first


def test_different_lines_give_different_histories() -> None:
    assert len({trace_hash(play(line)) for line in LINES}) == len(LINES)


def test_the_sites_of_a_line_are_found_in_one_order() -> None:
    first, second = explored(LINES[2]), explored(LINES[2])
    assert list(first.sites.items()) == list(second.sites.items())
    assert first.crossings == second.crossings == len(first.history.of_kind("crossed"))


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_another_interpreter_under_another_hash_seed_gives_the_same_histories(hash_seed: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PRINTS_HASHES, *LINES],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.split() == [trace_hash(play(line)) for line in LINES]
