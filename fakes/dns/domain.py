"""A DNS zone: records by name, one value each, and a serial.

Adding what stands changes nothing, so it does not move the serial: an unchanged serial is no proof that a request did
not arrive. A name that holds another value is a conflict. The record keeps the marker of the operation that added it,
which is the only way to tell an own commit from a competitor's.
Never here: the wire format, TSIG, secondaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider
from fakes.core.rows import NEVER, Row
from harness.model.wire import Request

FIRST_SERIAL = 1


class Dns(Provider):
    """Records by name; the value is in `params["value"]`."""

    __slots__ = ()

    name: ClassVar[str] = "dns"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "record.add": ActionSpec(undoes=None, again=Again.SAME),
        "record.remove": ActionSpec(undoes="record.add", again=Again.REFUSED),
    }

    @property
    def serial(self) -> int:
        """The zone's serial: one more for every change that had an effect, whoever made it."""
        return FIRST_SERIAL + sum(row.settled_ns != NEVER for row in self._table)

    def _is_same(self, row: Row, request: Request) -> bool:
        return dict(row.params).get("value") == request.params.get("value")
