"""A tenant directory: the name is the identity.

Creating a name that is taken is refused, whoever took it: it may have been our own lost request. After a delete the
name is free, and what is created under it then is another tenant.
Never here: HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider


class Tenants(Provider):
    """Tenants by name."""

    __slots__ = ()

    name: ClassVar[str] = "tenant"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "tenant.create": ActionSpec(undoes=None, again=Again.REFUSED),
        "tenant.delete": ActionSpec(undoes="tenant.create", again=Again.REFUSED),
    }
