"""The three JSON fakes as processes that are killed: what was committed is there afterwards, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.approval.face import ApprovalFake, ApprovalOptions
from fakes.inventory.face import InventoryFake, InventoryOptions
from fakes.shipment.face import ShipmentFake, ShipmentOptions
from fakes.wire.street import Plot, Street
from tests.fakes.wire.test_street import wait_for_death

pytestmark = pytest.mark.slow

CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "approval": ("/requests", {"id": "c-1", "digest": "d"}),
    "inventory": ("/reservations", {"id": "r-1", "sku": "sku-1", "quantity": 1}),
    "shipment": ("/labels", {"service": "standard", "reference": "ord-1"}),
}
LISTS = {
    "approval": ("/requests", "requests"),
    "inventory": ("/reservations", "reservations"),
    "shipment": ("/labels", "labels"),
}
HEADERS = {"idempotency-key": "k-1", "authorization": f"Bearer {ShipmentOptions().api_key}"}


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    folder: Path = tmp_path_factory.mktemp("street")
    plots = [
        Plot(ApprovalFake, ApprovalOptions()),
        Plot(InventoryFake, InventoryOptions()),
        Plot(ShipmentFake, ShipmentOptions()),
    ]
    with Street(plots, folder) as it:
        yield it


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_survives_a_kill_after_its_commit_and_only_then(street: Street, name: str) -> None:
    entry, (path, body), (listed, field) = street.entries()[name], CHANGES[name], LISTS[name]

    def change() -> int:
        return httpx.post(entry["url"] + path, json=body, headers=HEADERS, trust_env=False).status_code

    def count() -> int:
        return len(httpx.get(entry["url"] + listed, headers=HEADERS, trust_env=False).json()[field])

    for point, expected in (("before-commit", 0), ("after-commit", 1)):
        pid = street.pids()[name]
        httpx.post(entry["control"] + "/hooks", json={"hook": f"{point} = crash"}).raise_for_status()
        with pytest.raises(httpx.TransportError):
            change()
        wait_for_death(pid)
        street.mend()
        assert street.pids()[name] != pid
        assert count() == expected
    assert change() in (200, 201)
    assert count() == 1
