"""What goes between a caller and a provider: requests and replies as values, the same on every rig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from harness.model.boundary import Purpose


class Request(NamedTuple):
    """One call of a provider.

    `operation` is the logical operation's id and goes with the request as an ownership marker (metadata, TXT record, header);
    `key` is the idempotency key or ""; `not_after_ns` the moment after which the request must not be applied (0: none);
    `fence` the lease's fencing token (0: none); `approval` the id of the approval it spends or "".
    """

    provider: str
    action: str
    purpose: Purpose
    operation: str
    target: str
    params: Mapping[str, str | int] = {}
    key: str = ""
    not_after_ns: int = 0
    fence: int = 0
    approval: str = ""


class Reply(NamedTuple):
    """A provider's positive answer (status 2xx). For observing calls `found` lists records, and `complete` says nothing was left out.

    `reference` is the provider's own id of what was made ("" if none), `pending` says the result will come later,
    `replayed` that an earlier answer was repeated for the same key.
    """

    reference: str = ""
    found: tuple[FoundRecord, ...] = ()
    complete: bool = True
    pending: bool = False
    replayed: bool = False
    values: Mapping[str, str | int] = {}
    """Anything else the provider says, for instance an approval's state and expiry."""


class FoundRecord(NamedTuple):
    """One record an observation found: what stands at the target, and whose marker it carries."""

    reference: str
    operation: str
    action: str
    standing: bool
    """False when it was undone since."""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """What a candidate is told of a provider: its address-independent properties. Times in virtual ns."""

    name: str
    key: str
    lookup: str
    late: str
    key_ttl_ns: int
    call_timeout_ns: int
