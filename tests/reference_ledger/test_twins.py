"""The broken twins: each is there, says what is planted, and can be loaded; the sound ledger never says that one spoke."""

from __future__ import annotations

import pytest

from harness.candidates.loading import load_candidate
from harness.judge.triggered import PREDICATES
from harness.model.cell import Cell
from harness.model.errors import CandidateError
from reference_ledger.ledger import LedgerWorker, ReferenceLedger
from reference_ledger.rules import Rules
from reference_ledger.twins.base import TwinRules, TwinWorker
from reference_ledger.twins.registry import TWINS, Twin
from tests.rigs.simulated import begun, end_of, play, scenario_of

twins = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)


@twins
def test_a_twin_is_loaded_by_its_name(twin: Twin) -> None:
    candidate = load_candidate(f"reference_ledger.twins:{twin.name}")
    assert isinstance(candidate, ReferenceLedger)
    assert candidate.traits.name == twin.name


@twins
def test_a_twin_says_in_one_sentence_what_is_planted(twin: Twin) -> None:
    assert twin.statement.endswith(".")
    assert "\n" not in twin.statement
    assert twin.statement not in (TwinRules.__doc__, TwinWorker.__doc__)


def test_no_two_twins_plant_the_same() -> None:
    assert len({twin.statement for twin in TWINS.values()}) == len({twin.bug for twin in TWINS.values()}) == len(TWINS)


@twins
def test_a_twin_names_a_predicate_a_scenario_and_a_cell_that_exist(twin: Twin) -> None:
    assert twin.triggered in PREDICATES
    assert scenario_of(twin.scenario).id == twin.scenario
    assert not twin.cell or str(Cell.parse(twin.cell)) == twin.cell


def own(bug: type, *bases: type) -> set[str]:
    """The methods of a bug that replace one of the sound ledger's."""
    sound = {name for base in bases for name in vars(base)}
    return {name for name in vars(bug) if name in sound and not name.startswith("__")}


@twins
def test_a_twin_replaces_something_of_the_sound_ledger(twin: Twin) -> None:
    assert own(twin.bug, Rules, LedgerWorker) - {"rules"}


@twins
def test_a_twin_promises_what_the_sound_ledger_promises(twin: Twin) -> None:
    traits = twin.build().traits
    sound = ReferenceLedger().traits
    assert (traits.promise, traits.level, traits.lease_ns, traits.verbs) == (
        sound.promise,
        sound.level,
        sound.lease_ns,
        sound.verbs,
    )


@twins
def test_a_twin_ends_its_control_run(twin: Twin) -> None:
    with begun(twin.build(), f"{twin.scenario}:seed=0:") as run:
        history = run.execute().history
    assert history.cut_short == ""
    assert end_of(history)[0] not in ("RUNNING", "RECOVERING", "")


def test_two_builds_of_a_twin_share_nothing() -> None:
    one, other = (TWINS["blind_retry"].build() for _ in range(2))
    assert one.rules is not other.rules


def test_a_name_that_is_no_twin_is_refused() -> None:
    with pytest.raises(CandidateError, match="no callable 'kind_retry'"):
        load_candidate("reference_ledger.twins:kind_retry")


@pytest.mark.parametrize(
    "line",
    [
        "drill:seed=0:",
        "drill:seed=0:drill/first/attempt-1/committed=lost-response",
        "drill:seed=0:drill/second/attempt-1/intent-recorded=zombie-worker",
        "rollback:seed=0:rollback/undo.billing.charge/attempt-1/delivered=declined",
    ],
)
def test_the_sound_ledger_never_says_that_a_bug_was_reached(line: str) -> None:
    assert not play(line).of_kind("bug-reached")


def test_a_twin_says_that_its_bug_was_reached() -> None:
    line = "pair:seed=0:pair/first/attempt-1/committed=lost-response"
    history = play(line, "reference_ledger.twins:blind_retry")
    assert [e.data["twin"] for e in history.of_kind("bug-reached")] == ["blind_retry"]
