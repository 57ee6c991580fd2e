"""The inventory's rule: sums over rows, and never below zero."""

from __future__ import annotations

import pytest

from fakes.inventory.domain import OPENING_QUANTITY, Inventory, Levels
from harness.model.wire import Request
from tests.fakes.stage import Stage, effect, standing, undo


@pytest.fixture
def inventory(stage: Stage) -> Inventory:
    provider = stage.provider(kind=Inventory)
    assert isinstance(provider, Inventory)
    return provider


def reserve(target: str = "res-1", quantity: int = 3, **more: int | str) -> Request:
    return effect("reserve", target, "hold", params={"sku": "cup", "quantity": quantity, **more})


def commit(target: str = "ship-1", quantity: int = 3, reservation: str = "res-1") -> Request:
    named = {"reservation": reservation} if reservation else {}
    return effect("stock.commit", target, "take", params={"sku": "cup", "quantity": quantity, **named})


def test_a_reservation_holds_and_its_release_gives_back(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve())
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY, 3)
    stage.send(inventory, undo("release", "res-1"))
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY, 0)
    assert standing(stage, inventory, "reserve", "res-1") == [False]


def test_the_same_reservation_again_changes_nothing_and_another_of_its_id_is_refused(
    stage: Stage, inventory: Inventory
) -> None:
    assert stage.send(inventory, reserve()) == stage.send(inventory, reserve())
    assert stage.refusal(inventory, reserve(quantity=4)) == "already-exists"
    assert inventory.levels("cup").held == 3


def test_a_commit_takes_what_its_reservation_holds_and_a_restock_returns_it_to_the_hold(
    stage: Stage, inventory: Inventory
) -> None:
    stage.send(inventory, reserve())
    stage.send(inventory, commit())
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY - 3, 0)
    stage.send(inventory, undo("restock", "ship-1"))
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY, 3)


def test_a_commit_without_a_reservation_takes_available_stock(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, commit(reservation=""))
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY - 3, 0)


def test_what_is_available_never_falls_below_zero(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve(quantity=OPENING_QUANTITY))
    assert inventory.levels("cup").available == 0
    assert stage.refusal(inventory, reserve("res-2", 1)) == "declined"
    assert stage.refusal(inventory, commit("ship-2", 1, reservation="")) == "declined"
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY, OPENING_QUANTITY)


def test_a_committed_reservation_cannot_be_released_before_it_is_restocked(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve())
    stage.send(inventory, commit())
    assert stage.refusal(inventory, undo("release", "res-1")) == "invalid"
    assert not inventory.external_undo(undo("release", "res-1"))
    stage.send(inventory, undo("restock", "ship-1"))
    assert stage.refusal(inventory, undo("release", "res-1")) == "ok"


def test_a_reservation_is_committed_once(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve())
    stage.send(inventory, commit())
    assert stage.refusal(inventory, commit("ship-2")) == "declined"
    assert stage.refusal(inventory, commit("ship-3", reservation="res-9")) == "declined"


def test_a_commit_asks_for_no_more_than_is_held(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve())
    assert stage.refusal(inventory, commit(quantity=4)) == "invalid"
    stage.send(inventory, commit(quantity=2))
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY - 2, 1)


@pytest.mark.parametrize("quantity", [0, -1, "3", 1 << 40])
def test_a_quantity_is_a_positive_whole_number(stage: Stage, inventory: Inventory, quantity: int) -> None:
    assert stage.refusal(inventory, reserve(quantity=quantity)) == "invalid"


def test_a_past_moment_is_summed_like_the_present(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve())
    stage.pass_ns(10)
    stage.send(inventory, commit())
    stage.pass_ns(10)
    assert inventory.levels("cup", 5) == Levels(OPENING_QUANTITY, 3)
    assert inventory.levels("cup", 15) == Levels(OPENING_QUANTITY - 3, 0)


def test_without_an_article_the_target_is_the_article(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, effect("reserve", "mug", params={"quantity": 2}))
    assert inventory.levels("mug").held == 2


def test_a_snapshot_brings_the_levels_back(stage: Stage, inventory: Inventory) -> None:
    stage.send(inventory, reserve())
    kept = inventory.snapshot()
    stage.send(inventory, commit())
    inventory.restore(kept)
    assert inventory.levels("cup") == Levels(OPENING_QUANTITY, 3)
