"""A cloud provider: every create is one more resource, with an id of the provider's choosing.

A create that is repeated without an honoured key leaves a second resource that costs money and that nobody knows.
Terminating says which resource by `reference`, or means the oldest at the target.
Never here: HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider


class Cloud(Provider):
    """Resources by the name they were asked for under."""

    __slots__ = ()

    name: ClassVar[str] = "cloud"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "resource.create": ActionSpec(undoes=None, again=Again.NEW),
        "resource.terminate": ActionSpec(undoes="resource.create", again=Again.REFUSED),
    }
