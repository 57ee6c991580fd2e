"""The account: the kernel's truth of the cloud, with the actions that only its protocols have, and a shelf beside it.

    resource.create / resource.terminate             RunInstances / TerminateInstances, one effect per instance
    tags.set                                         CreateTags, one effect per resource whose tags change
    zone.create / zone.delete                        CreateHostedZone / DeleteHostedZone
    record-set.put / record-set.remove, -.restore    ChangeResourceRecordSets, one effect per record set that changes

Operation and target of an effect: of an instance its tags `operation` and `target`; of zones and records the words
`operation=...` and `target=...` in the comment of the zone or of the batch. Where nothing is said the operation is ""
and the target the instance's id, the zone's name, or a record set's name and type. What ends an instance or zone can
carry nothing: its operation is "", its target that of what it ends. The key of an effect is the client token, of a zone
its caller reference with a prefix: the two services do not know each other's.
Never here: XML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from fakes.cloud.domain import Cloud
from fakes.core.kernel import OUTSIDE, ActionSpec, Again
from fakes.core.rows import Row
from fakes.wire.json_api import OnWire
from harness.model.boundary import Purpose
from harness.model.errors import ProviderFailure
from harness.model.wire import Request

_SAID = re.compile(r"(?:^|\s)(operation|target)=(\S+)")


class Account(OnWire, Cloud):
    """Everything one account did."""

    __slots__ = ()

    actions: ClassVar[Mapping[str, ActionSpec]] = {
        **Cloud.actions,
        "tags.set": ActionSpec(undoes=None, again=Again.NEW),
        "zone.create": ActionSpec(undoes=None, again=Again.NEW),
        "zone.delete": ActionSpec(undoes="zone.create", again=Again.REFUSED),
        "record-set.put": ActionSpec(undoes=None, again=Again.NEW),
        "record-set.remove": ActionSpec(undoes="record-set.put", again=Again.REFUSED),
        "record-set.restore": ActionSpec(undoes="record-set.put", again=Again.REFUSED),
    }

    def make(
        self,
        call: str,
        action: str,
        target: str,
        *,
        operation: str,
        params: Mapping[str, str | int] | None = None,
        key: str = "",
    ) -> str:
        """Do something new; the effect's reference."""
        wanted = Request(self.name, action, Purpose.EFFECT, operation, target, params or {}, key)
        return self.do(call, wanted).reference

    def undo(self, call: str, action: str, reference: str, *, operation: str = "") -> str:
        """Undo the standing effect of this reference; the reference of the undo."""
        row = self.row(reference)
        named: dict[str, str | int] = {"reference": reference}
        return self.do(call, Request(self.name, action, Purpose.UNDO, operation, row.target, named)).reference

    def undo_from_outside(self, action: str, reference: str) -> bool:
        """Somebody undoes it who is none of ours. Was there anything?"""
        target, named = self.row(reference).target, {"reference": reference}
        return self.external_undo(Request(self.name, action, Purpose.UNDO, OUTSIDE, target, named))

    def row(self, reference: str) -> Row:
        """The row of a reference that was given out."""
        row = self._table.get(reference)
        assert row is not None, f"effect {reference} is gone"
        return row

    def close(self, reference: str) -> None:
        """What this effect made is no more, by an effect that is recorded as the undo of another."""
        row = self.row(reference)
        if row.is_standing:
            self._table.put(row._replace(undone_ns=self._now()))

    def bound_to(self, key: str, action: str, params: Mapping[str, str | int]) -> str | None:
        """The reference this key made before, or None: it is free. Raises ProviderFailure `key-reused`."""
        use = self._keys.use_of(key, self._now())
        if use is None:
            return None
        if use.fingerprint[0] != action or use.fingerprint[2] != tuple(sorted(params.items())):
            raise ProviderFailure("key-reused")
        return use.reference

    def is_bound(self, key: str) -> bool:
        """Was this key used before, for whatever?"""
        return self._keys.use_of(key, self._now()) is not None


def said_in(comment: str) -> dict[str, str]:
    """What a comment says of `operation` and `target`."""
    return dict(_SAID.findall(comment))


def zone_key(caller_reference: str) -> str:
    """A caller reference among the keys of the account."""
    return f"hostedzone:{caller_reference}"
