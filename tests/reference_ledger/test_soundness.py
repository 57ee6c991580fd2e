"""The reference ledger is sound in every provider cell: no single fault, on no path, makes it break a guarantee.

In all eighteen cells every boundary of the sound path is struck by every fault that fits; in three of them the
recovery paths are too. The three differ in key, look-up and lateness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from harness.candidates.loading import REFERENCE
from harness.explore.singles import Abilities, Planned, Singles, SiteFacts
from harness.model.cell import ALL_CELLS, Cell
from harness.model.event import History
from harness.model.lifecycle import TERMINALS, TRANSITIONS, State
from harness.model.schedule import Schedule
from harness.rigs.simulation import SimulationRig
from reference_ledger import factory
from tests.rigs.simulated import bad_verdicts, claims, effects, end_of, play, scenario_of

DEEP = tuple(map(Cell.parse, ("honoured.authoritative.late", "expires.eventual.prompt", "ignored.absent.late")))
RUNS_MIN = 120
"""Fewer first-round runs than this would mean that the sweep has lost its boundaries."""


@dataclass
class Swept:
    """What a sweep saw: how many runs, what did not hold, whether a planted bug spoke, and the moves that were claimed."""

    runs_count: int = 0
    bad: list[str] = field(default_factory=list)
    bugs_reached: int = 0
    moves: set[tuple[str, str]] = field(default_factory=set)

    def add(self, history: History) -> None:
        """One more run."""
        self.runs_count += 1
        self.bad += [
            f"{history.header.schedule}: {v.guarantee} {v.outcome}: {v.explanation}" for v in bad_verdicts(history)
        ]
        self.bugs_reached += len(history.of_kind("bug-reached"))
        self.moves.update((str(e.data["was"]), str(e.data["to"])) for e in history.of_kind("claimed"))


def sweep(cell: Cell, *, rounds: int) -> Swept:
    """Run and judge the singles of `pair` in this cell."""
    candidate, scenario = factory(), scenario_of("pair")
    rig = SimulationRig(candidate, scenario, REFERENCE, cell)
    abilities = Abilities(candidate.traits.verbs, has_leases=candidate.traits.lease_ns > 0)
    singles = Singles(scenario, rig.cells, Schedule("pair", scenario.seed, (), cell), abilities)
    swept = Swept()

    def ran(plan: list[Planned]) -> Iterator[tuple[Planned, Mapping[str, SiteFacts]]]:
        for planned in plan:
            run = rig.run(planned.schedule)
            swept.add(run.history)
            yield planned, run.sites

    ((_, sites),) = ran([singles.control()])
    first = list(ran(singles.first_round(sites)))
    if rounds == 2:
        for _ in ran(singles.second_round(first)):
            pass
    rig.close()
    return swept


@pytest.mark.slow
@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_no_single_fault_breaks_the_sound_ledger(cell: Cell) -> None:
    swept = sweep(cell, rounds=1)
    assert swept.bad == []
    assert swept.runs_count >= RUNS_MIN
    assert swept.bugs_reached == 0


@pytest.mark.slow
@pytest.mark.parametrize("cell", DEEP, ids=str)
def test_no_single_fault_on_a_recovery_path_breaks_the_sound_ledger(cell: Cell) -> None:
    swept = sweep(cell, rounds=2)
    assert swept.bad == []
    assert swept.runs_count >= 2 * RUNS_MIN
    assert swept.bugs_reached == 0
    unlisted = {(was, to) for was, to in swept.moves if was in State.__members__} - {
        (was.value, to.value) for was, following in TRANSITIONS.items() for to in following
    }
    assert unlisted == set(), "every move is in the lifecycle table"


@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_without_a_fault_the_workflow_completes_in_every_cell(cell: Cell) -> None:
    history = play(f"pair:seed=0:cell={cell}:")
    assert end_of(history) == ("COMPLETED", {"first": "VERIFIED", "second": "VERIFIED"})
    assert effects(history) == [("first", "charge", 1), ("second", "resource.create", 1)]
    assert bad_verdicts(history) == []


LOST = "pair/first/attempt-1/sent=lost-request"


@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_exactly_once_is_promised_only_where_the_cell_allows_it(cell: Cell) -> None:
    """A request that vanished is sent again where a key or a proved absence makes that safe, and nowhere else."""
    history = play(f"pair:seed=0:cell={cell}:{LOST}")
    sends = [
        e.where for e in history.of_kind("call-sent") if e.data["action"] == "charge" and e.data["purpose"] == "effect"
    ]
    outlives = cell.key.value == "honoured" or (cell.key.value == "expires" and cell.late.value == "prompt")
    is_safe = cell.absence_can_be_proved or outlives
    assert len(sends) == (2 if is_safe else 1)
    assert end_of(history)[0] == ("COMPLETED" if is_safe else "UNKNOWN")
    assert len(history.of_kind("alerted")) == (0 if is_safe else 1)


def test_every_terminal_is_claimed_once_and_last() -> None:
    for line in ("pair:seed=0:", f"pair:seed=0:cell=ignored.absent.late:{LOST}"):
        states = claims(play(line), "workflow")
        assert states[-1] in TERMINALS
        assert not set(states[:-1]) & set(TERMINALS)


@pytest.mark.parametrize(
    "line",
    [
        # A request of a stopped worker arrives when its key has lapsed: where it may be late, such a key allows no repetition.
        "pair:seed=0:cell=expires.absent.late:pair/first/attempt-1/sent=zombie-worker",
        "drill:seed=0:cell=expires.authoritative.late:drill/first/attempt-1/sent=zombie-worker",
        # The network doubles a request that is refused: the copy right behind it is refused too.
        "pair:seed=0:cell=ignored.eventual.late:pair/second/attempt-1/sent=duplicate-delivery,pair/second/attempt-1/delivered=declined",
        # The request left under a valid approval, in the hands of a worker that then stood still.
        "drill:seed=0:cell=ignored.eventual.late:"
        "drill/second/attempt-1/sent=zombie-worker,drill/second/lookup-3/acknowledged=clock-jump",
    ],
)
def test_combinations_found_by_random_search_hold(line: str) -> None:
    assert bad_verdicts(play(line)) == []
