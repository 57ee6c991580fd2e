"""A mail provider: what is sent cannot be called back.

A message has no identity the provider would dedupe by, so sending again under no key sends again. Its only recovery
is to know: by the key while it lives, by the mailbox where it can be read, and otherwise not at all.
Never here: SMTP or HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider


class Email(Provider):
    """Messages by recipient address."""

    __slots__ = ()

    name: ClassVar[str] = "email"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "send": ActionSpec(undoes=None, again=Again.NEW),
    }
