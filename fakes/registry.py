"""The catalogue of fake providers. Never here: building them, which is a rig's work."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.access.domain import Access
from fakes.approval.domain import ApprovalQueue
from fakes.checkout.domain import Checkout
from fakes.cloud.domain import Cloud
from fakes.cluster.domain import Cluster
from fakes.core.kernel import ActionSpec, Provider
from fakes.deployment.domain import Deployments
from fakes.dns.domain import Dns
from fakes.email.domain import Email
from fakes.flag.domain import Flags
from fakes.inventory.domain import Inventory
from fakes.payment.domain import Payment
from fakes.shipment.domain import Shipments
from fakes.tenant.domain import Tenants

_CLASSES: tuple[type[Provider], ...] = (
    Payment,
    Dns,
    Email,
    Checkout,
    Tenants,
    Cloud,
    Access,
    Flags,
    Inventory,
    Shipments,
    Deployments,
    Cluster,
)

PROVIDERS: dict[str, type[Provider]] = {provider.name: provider for provider in _CLASSES}
"""Name -> provider. The approval queue is not among them: it has no cell and makes no effects."""


def known_actions() -> dict[str, Mapping[str, ActionSpec]]:
    """Provider name -> its actions."""
    return {name: provider.actions for name, provider in PROVIDERS.items()}


def check_catalogue(classes: tuple[type[Provider], ...]) -> None:
    """Raise ValueError for a name or an action given twice, and for an undo of what the provider does not do."""
    owner_of: dict[str, str] = {}
    names = [ApprovalQueue.name, *(provider.name for provider in classes)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two providers are called {name!r}")
    for provider in classes:
        for action, spec in provider.actions.items():
            if action in owner_of:
                raise ValueError(f"action {action!r} of {provider.name!r} belongs to {owner_of[action]!r} already")
            if spec.undoes is not None and spec.undoes not in provider.actions:
                raise ValueError(f"{provider.name!r} has {action!r} to undo {spec.undoes!r}, which it does not do")
            owner_of[action] = provider.name


check_catalogue(_CLASSES)
