"""The idempotency layer: what a key is worth in each cell, what it is bound to, and which answers it keeps."""

from __future__ import annotations

import pytest

from harness.model.boundary import Phase
from harness.model.cell import KEY_TTL_NS
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import Reply, Request
from tests.fakes.stage import Stage, effect, found, standing, undo

HONOURED, EXPIRES, IGNORED = (f"{key}.authoritative.prompt" for key in ("honoured", "expires", "ignored"))
CHARGE = effect(key="k-1")


@pytest.mark.parametrize("cell", [HONOURED, EXPIRES])
def test_same_request_under_a_key_gets_the_same_answer_and_no_second_effect(stage: Stage, cell: str) -> None:
    provider = stage.provider(cell)
    first = stage.send(provider, CHARGE)
    again = stage.send(provider, CHARGE)
    assert (again.reference, again.replayed) == (first.reference, True)
    assert len(stage.data("effect")) == 1


def test_first_answer_is_not_called_a_replay(stage: Stage) -> None:
    assert not stage.send(stage.provider(), CHARGE).replayed


def test_ignored_key_makes_a_second_effect(stage: Stage) -> None:
    provider = stage.provider(IGNORED)
    first = stage.send(provider, CHARGE)
    again = stage.send(provider, CHARGE)
    assert again.reference != first.reference
    assert not again.replayed
    assert standing(stage, provider) == [True, True]


def test_requests_without_a_key_are_never_replays(stage: Stage) -> None:
    provider = stage.provider(HONOURED)
    stage.send(provider, effect())
    stage.send(provider, effect())
    assert standing(stage, provider) == [True, True]


def test_expiring_key_is_honoured_to_the_last_nanosecond_of_its_day(stage: Stage) -> None:
    provider = stage.provider(EXPIRES)
    stage.send(provider, CHARGE)
    stage.pass_ns(KEY_TTL_NS)
    assert stage.send(provider, CHARGE).replayed


def test_expired_key_executes_anew(stage: Stage) -> None:
    provider = stage.provider(EXPIRES)
    stage.send(provider, CHARGE)
    stage.pass_ns(KEY_TTL_NS + 1)
    assert not stage.send(provider, CHARGE).replayed
    assert standing(stage, provider) == [True, True]


def test_replay_does_not_prolong_a_keys_life(stage: Stage) -> None:
    provider = stage.provider(EXPIRES)
    stage.send(provider, CHARGE)
    stage.pass_ns(KEY_TTL_NS)
    stage.send(provider, CHARGE)
    stage.pass_ns(1)
    assert not stage.send(provider, CHARGE).replayed


def test_key_used_anew_after_its_expiry_lives_another_day(stage: Stage) -> None:
    provider = stage.provider(EXPIRES)
    stage.send(provider, CHARGE)
    stage.pass_ns(KEY_TTL_NS + 1)
    stage.send(provider, CHARGE)
    stage.pass_ns(KEY_TTL_NS)
    assert stage.send(provider, CHARGE).replayed


def test_honoured_key_outlives_a_day(stage: Stage) -> None:
    provider = stage.provider(HONOURED)
    stage.send(provider, CHARGE)
    stage.pass_ns(400 * KEY_TTL_NS)
    assert stage.send(provider, CHARGE).replayed


def test_time_that_passes_in_the_crossing_counts_against_the_key(stage: Stage) -> None:
    provider = stage.provider(EXPIRES)
    stage.send(provider, CHARGE)
    stage.pass_ns(KEY_TTL_NS)
    stage.stall_ns = 1
    assert not stage.send(provider, CHARGE).replayed


@pytest.mark.parametrize(
    "other",
    [
        effect(key="k-1", params={"amount": 101}),
        effect(key="k-1", target="cus-2"),
        effect("customer.create", key="k-1", params={"amount": 100}),
    ],
    ids=["other parameters", "other target", "other action"],
)
def test_key_of_another_request_is_refused_and_nothing_is_applied(stage: Stage, other: Request) -> None:
    provider = stage.provider()
    stage.send(provider, CHARGE)
    assert stage.refusal(provider, other) == "key-reused"
    assert len(stage.data("effect")) == 1


def test_order_of_parameters_does_not_matter_to_a_key(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect(key="k-1", params={"amount": 100, "currency": "eur"}))
    assert stage.send(provider, effect(key="k-1", params={"currency": "eur", "amount": 100})).replayed


def test_parameters_changed_by_their_owner_afterwards_do_not_change_what_the_key_is_bound_to(stage: Stage) -> None:
    provider = stage.provider()
    params = {"amount": 100}
    stage.send(provider, effect(key="k-1", params=params))
    params["amount"] = 101
    assert stage.refusal(provider, effect(key="k-1", params=params)) == "key-reused"


def test_refusal_that_execution_came_to_is_kept(stage: Stage) -> None:
    provider = stage.provider(declined="bill")
    assert stage.refusal(provider, CHARGE) == "declined"
    assert provider.circumstances(CHARGE) == (True, False)
    assert stage.refusal(provider, CHARGE._replace(operation="other")) == "declined"


def test_refusal_before_execution_is_not_kept(stage: Stage) -> None:
    provider = stage.provider()
    assert stage.refusal(provider, CHARGE, {Phase.DELIVERED: Fault.DECLINED}) == "declined"
    assert provider.circumstances(CHARGE) == (False, False)
    assert not stage.send(provider, CHARGE).replayed


def test_undo_that_found_nothing_may_be_repeated_under_its_key(stage: Stage) -> None:
    provider = stage.provider()
    assert stage.refusal(provider, undo(key="k-2")) == "not-found"
    stage.send(provider, CHARGE)
    assert stage.refusal(provider, undo(key="k-2")) == "ok"


def test_error_after_commit_leaves_the_success_under_the_key(stage: Stage) -> None:
    provider = stage.provider()
    with pytest.raises(ProviderFailure, match="internal-error"):
        stage.send(provider, CHARGE, {Phase.COMMITTED: Fault.ERROR_AFTER_COMMIT})
    again = stage.send(provider, CHARGE)
    assert again.replayed
    assert again.reference == found(stage, provider)[0].reference


def test_untrue_success_is_kept_as_the_answer(stage: Stage) -> None:
    provider = stage.provider()
    lie = stage.send(provider, CHARGE, {Phase.DELIVERED: Fault.FALSE_SUCCESS})
    again = stage.send(provider, CHARGE)
    assert (again.reference, again.replayed) == (lie.reference, True)
    assert found(stage, provider) == []


def test_pending_answer_is_replayed_as_pending_even_when_it_has_settled(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, CHARGE, {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    stage.pass_ns(KEY_TTL_NS)
    again = stage.send(provider, CHARGE)
    assert (again.pending, again.replayed) == (True, True)


def test_committed_is_crossed_on_a_replay_and_not_on_a_refusal(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, CHARGE)
    stage.crossed.clear()
    stage.send(provider, CHARGE)
    assert stage.crossed == [Phase.DELIVERED, Phase.COMMITTED]
    stage.crossed.clear()
    stage.refusal(provider, effect(key="k-1", target="cus-2"))
    assert stage.crossed == [Phase.DELIVERED]


def test_circumstances_call_a_key_seen_only_while_it_lives(stage: Stage) -> None:
    provider = stage.provider(EXPIRES)
    assert provider.circumstances(CHARGE) == (False, False)
    stage.send(provider, CHARGE)
    assert provider.circumstances(CHARGE) == (True, True)
    stage.pass_ns(KEY_TTL_NS + 1)
    assert provider.circumstances(CHARGE) == (False, True)


def test_circumstances_never_call_a_key_seen_where_keys_are_ignored(stage: Stage) -> None:
    provider = stage.provider(IGNORED)
    stage.send(provider, CHARGE)
    assert provider.circumstances(CHARGE) == (False, True)


def test_request_overtaken_in_its_crossing_by_a_copy_gets_the_copys_answer(stage: Stage) -> None:
    provider = stage.provider()
    inner: list[Reply] = []

    def at(phase: Phase) -> None:
        if phase is Phase.DELIVERED:
            inner.append(stage.send(provider, CHARGE, delivery=2))

    outer = provider.handle("call-0", "flow/bill/call-0", CHARGE, at)
    assert (outer.reference, outer.replayed) == (inner[0].reference, True)
    assert standing(stage, provider) == [True]
