"""Which fakes speak a real protocol: name -> where the class is. Loaded when wanted, since each brings libraries.

Never here: the domains of the simulation (`registry.py`), and hosting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

from fakes.core.kernel import Provider
from fakes.registry import PROVIDERS
from harness.model.errors import UsageError

if TYPE_CHECKING:
    from fakes.wire.fake import Fake

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
IN_PROCESS: Mapping[str, Mapping[str, str]] = {"payment": {"stripe": "fakes.payment.in_process:StripeAccount"}}
"""Provider -> API -> its fake for a simulation, in which the real client library runs through a transport without sockets."""


def in_process(interfaces: Mapping[str, str]) -> Mapping[str, type[Provider]]:
    """The providers of a simulation for a candidate that reaches some of them by their own API. Raises UsageError."""
    kinds = dict(PROVIDERS)
    for provider, interface in interfaces.items():
        known = IN_PROCESS.get(provider, {})
        if interface not in known:
            there = ", ".join(f"{name}: {api}" for name, apis in IN_PROCESS.items() for api in apis)
            raise UsageError(
                f"No simulation of {provider} has the API {interface!r}.",
                where="the candidate's `interfaces`",
                next_step=f"There is {there}; others are reached by `handles.call`.",
            )
        module, _, attribute = known[interface].partition(":")
        kinds[provider] = getattr(import_module(module), attribute)
    return kinds


def face(name: str) -> type[Fake]:
    """The fake of this name. Raises UsageError naming the nearest known one."""
    if name not in FACES:
        near = get_close_matches(name, FACES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"There is no fake {name!r}.{hint}", where=f"fakes: {', '.join(FACES)}", next_step="Name one of these."
        )
    module, _, attribute = FACES[name].partition(":")
    kind: type[Fake] = getattr(import_module(module), attribute)
    assert kind.name == name, f"{FACES[name]} calls itself {kind.name}"
    return kind


def faces(names: Iterable[str] = ()) -> dict[str, type[Fake]]:
    """These, or all. Raises UsageError."""
    return {name: face(name) for name in (tuple(names) or FACES)}
