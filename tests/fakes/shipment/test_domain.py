"""The shipping service's rule: what was scanned stays bought."""

from __future__ import annotations

import pytest

from fakes.shipment.domain import Shipments
from harness.model.wire import Request
from tests.fakes.stage import Stage, effect, standing, undo


@pytest.fixture
def shipments(stage: Stage) -> Shipments:
    provider = stage.provider(kind=Shipments)
    assert isinstance(provider, Shipments)
    return provider


BUY = effect("label.buy", "ord-1", "ship", params={"amount": 750})
VOID = undo("label.void", "ord-1", "undo.ship")


def of(label: str) -> Request:
    return undo("label.void", "ord-1", "undo.ship", params={"reference": label})


def test_every_purchase_is_a_label_of_its_own(stage: Stage, shipments: Shipments) -> None:
    first, second = stage.send(shipments, BUY), stage.send(shipments, BUY)
    assert first.reference != second.reference
    assert standing(stage, shipments, "label.buy", "ord-1") == [True, True]


def test_the_same_key_buys_once(stage: Stage, shipments: Shipments) -> None:
    keyed = BUY._replace(key="k-1")
    assert stage.send(shipments, keyed).reference == stage.send(shipments, keyed).reference
    assert shipments.commits == 1


def test_a_void_takes_back_the_oldest_label_or_the_one_it_names(stage: Stage, shipments: Shipments) -> None:
    first, second = (stage.send(shipments, BUY).reference for _ in range(2))
    stage.send(shipments, of(second))
    assert standing(stage, shipments, "label.buy", "ord-1") == [True, False]
    stage.send(shipments, VOID)
    assert stage.data("effect")[-1]["undoes"] == first
    assert stage.refusal(shipments, VOID) == "already-undone"


def test_what_was_scanned_cannot_be_voided_by_anybody(stage: Stage, shipments: Shipments) -> None:
    label = stage.send(shipments, BUY).reference
    assert shipments.scan(label)
    assert not shipments.scan(label)
    assert stage.refusal(shipments, VOID) == "declined"
    assert not shipments.external_undo(VOID)
    assert standing(stage, shipments, "label.buy", "ord-1") == [True]


def test_a_void_passes_over_a_scanned_label(stage: Stage, shipments: Shipments) -> None:
    first, second = (stage.send(shipments, BUY).reference for _ in range(2))
    shipments.scan(first)
    stage.send(shipments, VOID)
    assert stage.data("effect")[-1]["undoes"] == second


def test_only_a_label_that_stands_is_scanned(stage: Stage, shipments: Shipments) -> None:
    label = stage.send(shipments, BUY).reference
    stage.send(shipments, VOID)
    assert not shipments.scan(label)
    assert not shipments.scan("shipment-9")
    assert not shipments.scan(f"scan-{label}")


def test_a_snapshot_remembers_the_scan_and_its_absence(stage: Stage, shipments: Shipments) -> None:
    label = stage.send(shipments, BUY).reference
    before = shipments.snapshot()
    shipments.scan(label)
    after = shipments.snapshot()
    shipments.restore(before)
    assert shipments.scanned_ns(label) is None
    shipments.restore(after)
    assert shipments.scanned_ns(label) == 0


@pytest.mark.parametrize("amount", [-1, "7", 1 << 40])
def test_an_amount_is_a_whole_number_of_minor_units(stage: Stage, shipments: Shipments, amount: int) -> None:
    assert stage.refusal(shipments, BUY._replace(params={"amount": amount})) == "invalid"
