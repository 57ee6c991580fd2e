"""Undo: which effect it finds, what it leaves on record, and what it says when there is nothing to undo."""

from __future__ import annotations

import pytest

from fakes.cloud.domain import Cloud
from harness.model.claim import Effect, EffectId
from tests.fakes.stage import Stage, effect, standing, undo


def test_undo_is_an_effect_that_names_the_one_it_undoes(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    stage.send(provider, undo(key="k-2"))
    assert Effect(**stage.data("effect")[-1]) == Effect(
        EffectId("payment-2"), "payment", "refund", "cus-1", "undo.bill", "k-2", "call-2", 1, EffectId(charge)
    )
    assert standing(stage, provider) == [False]


def test_undo_takes_the_oldest_standing_effect(stage: Stage) -> None:
    provider = stage.provider()
    first, second = (stage.send(provider, effect()).reference for _ in range(2))
    stage.send(provider, undo())
    stage.send(provider, undo())
    assert [data["undoes"] for data in stage.data("effect")] == [None, None, first, second]


def test_undo_with_a_reference_takes_that_effect(stage: Stage) -> None:
    cloud = stage.provider(kind=Cloud)
    create = effect("resource.create", "web")
    _, second = (stage.send(cloud, create).reference for _ in range(2))
    stage.send(cloud, undo("resource.terminate", "web", params={"reference": second}))
    assert standing(stage, cloud, "resource.create", "web") == [True, False]


def test_reference_to_an_undone_effect_is_not_answered_with_another_one(stage: Stage) -> None:
    provider = stage.provider()
    first, _ = (stage.send(provider, effect()).reference for _ in range(2))
    stage.send(provider, undo())
    assert stage.refusal(provider, undo(params={"reference": first})) == "already-undone"
    assert standing(stage, provider) == [False, True]


@pytest.mark.parametrize("reference", ["payment-1", "payment-99"])
def test_reference_to_something_else_is_not_found(stage: Stage, reference: str) -> None:
    provider = stage.provider()
    stage.send(provider, effect("customer.create"))
    stage.send(provider, effect())
    assert stage.refusal(provider, undo(params={"reference": reference})) == "not-found"


def test_reference_at_another_target_is_not_found(stage: Stage) -> None:
    provider = stage.provider()
    reference = stage.send(provider, effect(target="cus-2")).reference
    assert stage.refusal(provider, undo(target="cus-1", params={"reference": reference})) == "not-found"


def test_undo_of_what_never_was_is_not_found(stage: Stage) -> None:
    assert stage.refusal(stage.provider(), undo()) == "not-found"


def test_undo_of_what_was_undone_says_so(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    stage.send(provider, undo())
    assert stage.refusal(provider, undo()) == "already-undone"
    assert provider.commits == 2


def test_circumstances_of_an_undo_ask_for_the_effect_it_would_undo(stage: Stage) -> None:
    provider = stage.provider()
    assert provider.circumstances(undo()) == (False, False)
    stage.send(provider, effect())
    assert provider.circumstances(undo()) == (False, True)
    stage.send(provider, undo())
    assert provider.circumstances(undo()) == (False, False)


def test_outside_actor_undoes_what_stands_and_is_not_counted_as_a_call(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    assert provider.external_undo(undo())
    drift = stage.data("effect")[-1]
    assert (drift["call"], drift["operation"], drift["key"], drift["undoes"]) == ("", "outside", "", charge)
    assert stage.data("drifted") == [{"provider": "payment", "target": "cus-1", "effect": drift["effect"]}]
    assert (provider.arrivals, provider.commits, provider.responses) == (1, 1, 1)
    assert stage.counts(provider).commits == 1
    assert standing(stage, provider) == [False]


def test_undo_after_an_outside_actor_is_refused_as_undone_already(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    provider.external_undo(undo())
    assert stage.refusal(provider, undo()) == "already-undone"


def test_outside_actor_finds_nothing_where_nothing_stands(stage: Stage) -> None:
    provider = stage.provider()
    assert not provider.external_undo(undo())
    assert not provider.external_undo(effect())
    assert stage.journal.events == []
