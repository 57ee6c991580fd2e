"""Which fakes speak a real protocol: name -> where the class is. Loaded when wanted, since each brings libraries.

Never here: the domains of the simulation (`registry.py`), and hosting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module

from fakes.wire.fake import Fake
from harness.model.errors import UsageError

FACES: Mapping[str, str] = {
    "payment": "fakes.payment.face:PaymentFake",
    "dns": "fakes.dns.face:DnsFake",
    "email": "fakes.email.face:EmailFake",
    "checkout": "fakes.checkout.face:ShopFake",
    "approval": "fakes.approval.face:ApprovalFake",
    "deployment": "fakes.deployment.face:DeploymentFake",
    "cluster": "fakes.cluster.face:ClusterFake",
    "cloud": "fakes.cloud.face:CloudFake",
    "tenant": "fakes.tenant.face:TenantFake",
    "access": "fakes.access.face:AccessFake",
    "flag": "fakes.flag.face:FlagFake",
    "inventory": "fakes.inventory.face:InventoryFake",
    "shipment": "fakes.shipment.face:ShipmentFake",
}


def face(name: str) -> type[Fake]:
    """The fake of this name. Raises UsageError naming the nearest known one."""
    if name not in FACES:
        near = get_close_matches(name, FACES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"There is no fake {name!r}.{hint}", where=f"fakes: {', '.join(FACES)}", next_step="Name one of these."
        )
    module, _, attribute = FACES[name].partition(":")
    kind = getattr(import_module(module), attribute)
    assert isinstance(kind, type), f"{FACES[name]} is no class"
    assert issubclass(kind, Fake), f"{FACES[name]} is no fake"
    assert kind.name == name, f"{FACES[name]} calls itself {kind.name}"
    return kind


def faces(names: Iterable[str] = ()) -> dict[str, type[Fake]]:
    """These, or all. Raises UsageError."""
    return {name: face(name) for name in (tuple(names) or FACES)}
