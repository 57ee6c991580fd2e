"""An access control list: a set of grants.

Granting what is granted changes nothing and names the grant that stands, which carries the marker of whoever made it
first. The same target with other parameters (another role) is a conflict: a grant is changed by revoking it first.
Never here: HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider


class Access(Provider):
    """Grants by target."""

    __slots__ = ()

    name: ClassVar[str] = "access"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "grant": ActionSpec(undoes=None, again=Again.SAME),
        "revoke": ActionSpec(undoes="grant", again=Again.REFUSED),
    }
