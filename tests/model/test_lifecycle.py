"""The lifecycle table: what it lists may happen, what it does not list raises, and nothing leads nowhere."""

from __future__ import annotations

from itertools import product

import pytest

from harness.model.lifecycle import (
    IN_RECOVERY,
    INITIAL,
    SETTLED_WITH_EFFECT,
    TERMINALS,
    TRANSITIONS,
    UNRESOLVED,
    UNRESOLVED_TERMINALS,
    IllegalTransition,
    State,
    WorkflowState,
    advance,
)

PAIRS = list(product(State, State))
LISTED = [(old, new) for old, new in PAIRS if new in TRANSITIONS[old]]
UNLISTED = [pair for pair in PAIRS if pair not in LISTED]
FINAL = {State.COMPENSATED, State.IRREVERSIBLE_EFFECT}
"""Nothing more can become of them, whoever acts."""


@pytest.mark.parametrize(("old", "new"), LISTED)
def test_a_listed_pair_leads_to_its_state(old: State, new: State) -> None:
    assert advance(old, new) is new


@pytest.mark.parametrize(("old", "new"), UNLISTED)
def test_an_unlisted_pair_raises_and_names_both_states_and_those_allowed(old: State, new: State) -> None:
    with pytest.raises(IllegalTransition) as refused:
        advance(old, new)
    assert (refused.value.old, refused.value.new) == (old, new)
    allowed = sorted(map(str, TRANSITIONS[old])) or ["none: it is final"]
    assert all(word in str(refused.value) for word in [str(old), str(new), *allowed])


def test_an_unlisted_pair_changes_nothing() -> None:
    before = {state: set(following) for state, following in TRANSITIONS.items()}
    state = State.PREPARED
    with pytest.raises(IllegalTransition):
        state = advance(state, State.VERIFIED)
    assert state is State.PREPARED
    assert before == TRANSITIONS


def reachable_from(state: State) -> set[State]:
    """Every state some way leads to, the start included."""
    found, open_states = {state}, [state]
    while open_states:
        for following in TRANSITIONS[open_states.pop()] - found:
            found.add(following)
            open_states.append(following)
    return found


def test_every_state_is_reached_from_the_first() -> None:
    assert reachable_from(INITIAL) == set(State)


def test_exactly_the_final_states_lead_nowhere() -> None:
    assert {state for state, following in TRANSITIONS.items() if not following} == FINAL


@pytest.mark.parametrize("state", sorted(UNRESOLVED))
def test_an_unresolved_state_can_be_resolved(state: State) -> None:
    assert reachable_from(state) & (FINAL | {State.RECONCILED})


def test_no_state_follows_itself() -> None:
    assert not [state for state, following in TRANSITIONS.items() if state in following]


def test_nothing_is_committed_without_an_intention() -> None:
    assert {old for old, new in LISTED if new is State.COMMITTED} == {State.COMMITTING}


def test_only_an_observation_leads_to_verified() -> None:
    assert {old for old, new in LISTED if new is State.VERIFIED} == {State.VERIFYING}


def test_an_operation_in_doubt_is_never_simply_prepared_again() -> None:
    assert State.PREPARED not in TRANSITIONS[State.OUTCOME_UNKNOWN]


def test_the_sets_that_settle_operations_do_not_overlap() -> None:
    assert not SETTLED_WITH_EFFECT & UNRESOLVED
    assert not IN_RECOVERY & (UNRESOLVED | SETTLED_WITH_EFFECT)


def test_a_workflow_is_at_its_end_unless_somebody_drives_it() -> None:
    assert set(WorkflowState) - TERMINALS == {WorkflowState.RUNNING, WorkflowState.RECOVERING}
    assert UNRESOLVED_TERMINALS <= TERMINALS
