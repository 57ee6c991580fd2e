"""Snapshots: what is restored is what was, and nothing done afterwards reaches into it."""

from __future__ import annotations

import pytest

from fakes.core.kernel import PENDING_NS, Provider
from fakes.registry import PROVIDERS
from harness.model.boundary import Phase
from harness.model.fault import Fault
from tests.fakes.stage import Stage, effect, found, standing, undo


def busy(stage: Stage, provider: Provider) -> None:
    """A standing, an undone and a pending record, and a kept key."""
    stage.send(provider, effect(key="k-1"))
    stage.send(provider, effect(target="cus-2"))
    stage.send(provider, undo(target="cus-2", key="k-2"))
    stage.send(provider, effect(target="cus-3"), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})


def test_snapshot_of_a_restored_provider_is_the_snapshot(stage: Stage) -> None:
    provider = stage.provider()
    busy(stage, provider)
    kept = provider.snapshot()
    busy(stage, other := stage.provider())
    stage.send(other, effect())
    assert other.snapshot() != kept
    other.restore(kept)
    assert other.snapshot() == kept
    assert hash(other.snapshot()) == hash(kept)


def test_what_happens_after_a_snapshot_does_not_change_it(stage: Stage) -> None:
    provider = stage.provider()
    busy(stage, provider)
    kept = provider.snapshot()
    text = repr(kept)
    stage.send(provider, undo())
    stage.pass_ns(PENDING_NS)
    assert repr(kept) == text


def test_snapshot_can_be_restored_more_than_once(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    kept = provider.snapshot()
    for _ in range(2):
        stage.send(provider, undo())
        assert standing(stage, provider) == [False]
        provider.restore(kept)
        assert standing(stage, provider) == [True]
        provider.restore(kept)


def test_restored_provider_goes_on_with_the_same_references_and_counts(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    kept = provider.snapshot()
    first = stage.send(provider, effect()).reference
    provider.restore(kept)
    assert (provider.arrivals, provider.commits, provider.responses) == (1, 1, 1)
    assert stage.send(provider, effect()).reference == first


def test_restored_key_is_as_unused_as_it_was(stage: Stage) -> None:
    provider = stage.provider()
    fresh = provider.snapshot()
    stage.send(provider, effect(key="k-1"))
    provider.restore(fresh)
    assert not stage.send(provider, effect(key="k-1")).replayed


def test_timer_put_back_with_a_snapshot_settles_the_restored_record(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect(), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    kept, timers = provider.snapshot(), list(stage.timers)
    stage.pass_ns(PENDING_NS)
    provider.restore(kept)
    stage.now_ns, stage.timers = 0, timers
    assert [record.pending for record in found(stage, provider)] == [True]
    stage.pass_ns(PENDING_NS)
    assert standing(stage, provider) == [True]


def test_timer_of_a_past_that_was_taken_back_does_nothing(stage: Stage) -> None:
    provider = stage.provider()
    fresh = provider.snapshot()
    stage.send(provider, effect(), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    provider.restore(fresh)
    stage.pass_ns(PENDING_NS)
    assert provider.snapshot() == fresh


@pytest.mark.parametrize("kind", PROVIDERS.values(), ids=PROVIDERS.keys())
def test_something_else_is_not_accepted_as_a_snapshot(stage: Stage, kind: type[Provider]) -> None:
    with pytest.raises(AssertionError, match=kind.name):
        stage.provider(kind=kind).restore(())


def test_equal_runs_record_equal_events(stage: Stage) -> None:
    other = Stage()
    for one in (stage, other):
        busy(one, one.provider())
        one.pass_ns(PENDING_NS)
    assert stage.journal.events == other.journal.events
