"""The domain's rows as a zone: one truth, seen by the kernel as effects and by the protocol as records.

Theory. Every record of the zone but its SOA is one standing row `record.add`; its target is the name, its parameters are
type, value and TTL. What an update takes away is a row `record.remove` that undoes the one which put it there. So an
update that replaces a value is two effects, each exact about what it undoes. A change of TTL alone leaves the value
standing: it is recorded as `ttl-changed`, and no effect. Markers (`records.py`) are rows like all others, but say whose an
effect is and are none themselves: they are recorded as `marker`.

The domain knows one value per name and refuses another; the protocol allows several, and refuses by prerequisites only.

A version of the zone is its SOA and the moment it came. Moments grow strictly, so the zone as it was at any moment can be
made again from the rows: that is what lagging views show.
Never here: messages, and who may look.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dns.name import Name
from dns.rdata import Rdata
from dns.rdatatype import RdataType

from fakes.core.endpoint import Arrival, Later
from fakes.core.endpoint import Record as Note
from fakes.core.kernel import OUTSIDE, Change
from fakes.core.rows import NEVER, Row
from fakes.dns.domain import Dns
from fakes.dns.markers import Markers
from fakes.dns.records import Record, marker_of, name_of, rdata_of, text_of, type_of, type_text, value_of
from fakes.dns.zone import SOA, Plan, RRset, Zone, carry_out
from fakes.wire.journal_file import Document
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.boundary import Purpose
from harness.model.cell import Cell
from harness.model.wire import Request

VERSION, TTLS = "version", "ttls"
ADD, REMOVE = "record.add", "record.remove"
PAST_ZONES_MAX = 8


class Cause(NamedTuple):
    """What brought a change about: the call ("" for somebody outside), which copy of it, and its markers."""

    call: str
    delivery: int
    markers: Markers | None
    """None: somebody outside, whatever the markers say."""

    def operation(self, record: Record, *, is_removal: bool) -> str:
        return OUTSIDE if self.markers is None else self.markers.operation(record.name, is_removal=is_removal)


class Version(NamedTuple):
    """The zone from this moment on, until the next version's. Numbered from 1."""

    number: int
    at_ns: int
    soa: RRset


class Beginning(NamedTuple):
    """The zone a new fake begins with."""

    origin: Name
    soa: RRset
    records: tuple[Record, ...]


class Book(Dns):
    """The zone on the kernel. `load` takes up what was kept, or begins."""

    __slots__ = (
        "_beginning",
        "_clock",
        "_moment_ns",
        "_past",
        "_references",
        "_shelf",
        "_state",
        "_versions",
        "zone",
    )

    def __init__(
        self, cell: Cell, beginning: Beginning, shelf: Shelf, *, now: Callable[[], int], record: Note, later: Later
    ) -> None:
        super().__init__(cell, now=lambda: self._moment_ns, record=record, later=later)
        self._clock = now
        self._beginning = beginning
        self._shelf = shelf
        self._state = ProviderState(self, shelf)
        self._references: dict[tuple[Name, RdataType, Rdata], str] = {}
        self._versions: list[Version] = []
        self._past: dict[int, Zone] = {}
        self._moment_ns = 0
        self.zone = Zone(beginning.origin, beginning.soa)

    @property
    def serial(self) -> int:
        """The serial the zone's SOA has: one more for every message that had an effect, however many records it changed."""
        return self.zone.serial

    # Changing.

    def carry_out(self, plan: Plan, cause: Cause) -> Version:
        """Do what a plan of this zone as it is says, as effects."""
        self._moment_ns = max(self._clock(), self._versions[-1].at_ns + 1)
        self._check(plan)
        carry_out(self.zone, plan)
        for record in plan.removed:
            self._remove(record, cause)
        for record in plan.added:
            self._add(record, cause)
        for record in plan.retimed:
            self._retime(record, cause)
        return self._new_version()

    def _check(self, plan: Plan) -> None:
        for record in plan.removed:
            assert _key(record) in self._references, f"{record} does not stand"
        for record in plan.added:
            assert _key(record) not in self._references, f"{record} stands already"

    def _add(self, record: Record, cause: Cause) -> None:
        params: dict[str, str | int] = {
            "type": type_text(record.rdtype),
            "value": value_of(record.rdata),
            "ttl": record.ttl,
        }
        operation = cause.operation(record, is_removal=False)
        request = Request(self.name, ADD, Purpose.EFFECT, operation, text_of(record.name), params)
        self._references[_key(record)] = self._put(request, record, cause, Change())

    def _remove(self, record: Record, cause: Cause) -> None:
        reference = self._references.pop(_key(record))
        row = self._table.get(reference)
        assert row is not None, f"{reference} is in the index alone"
        operation = cause.operation(record, is_removal=True)
        params: dict[str, str | int] = {"reference": reference}
        request = Request(self.name, REMOVE, Purpose.UNDO, operation, row.target, params)
        removal = self._put(request, record, cause, self._undo(request, row, self._moment_ns))
        if cause.markers is None and marker_of(record.rdata) is None:
            self._record("drifted", "", {"provider": self.name, "target": row.target, "effect": removal})

    def _put(self, request: Request, record: Record, cause: Cause, change: Change) -> str:
        """Write a row: as an effect, unless it is a marker's."""
        reference = self._new_reference()
        if marker_of(record.rdata) is None:
            self.commits += 1
            return self._write(Arrival(cause.call, "", request, cause.delivery), change, reference)
        self._table.put(_row(reference, request, change.undoes, self._moment_ns))
        told = {"action": request.action, "target": request.target, "operation": request.operation}
        self._record("marker", "", {**told, "call": cause.call, "reference": reference})
        return reference

    def _retime(self, record: Record, cause: Cause) -> None:
        reference = self._references[_key(record)]
        history = [*(self._shelf.get(TTLS, reference) or ()), [self._moment_ns, record.ttl]]
        self._shelf.put(TTLS, reference, history)
        told = {"effect": reference, "target": text_of(record.name), "ttl": record.ttl, "call": cause.call}
        self._record("ttl-changed", "", told)

    def _new_version(self) -> Version:
        soa = self.zone.soa
        version = Version(len(self._versions) + 1, self._moment_ns, soa)
        self._versions.append(version)
        self._shelf.put(VERSION, str(version.number), [version.at_ns, soa.ttl, value_of(soa.rdatas[0])])
        return version

    # Looking back.

    @property
    def newest(self) -> Version:
        return self._versions[-1]

    def version(self, number: int) -> Version | None:
        """The version of this number, if there is one."""
        return self._versions[number - 1] if 0 < number <= len(self._versions) else None

    def version_at(self, moment_ns: int) -> Version:
        """The version that stood at this moment; the first one, if it was before."""
        later = bisect_right(self._versions, moment_ns, key=lambda version: version.at_ns)
        return self._versions[max(later - 1, 0)]

    def zone_of(self, version: Version) -> Zone:
        """The zone as this version was. To be read only."""
        if version == self.newest:
            return self.zone
        if version.number not in self._past:
            while len(self._past) >= PAST_ZONES_MAX:
                self._past.pop(next(iter(self._past)))
            self._past[version.number] = self._made_again(version)
        return self._past[version.number]

    def standing(self) -> Iterator[tuple[Record, Row]]:
        """Every record of the zone but the SOA, with its row."""
        for record in self.zone.records():
            row = self._table.get(self._references[_key(record)])
            assert row is not None, f"{record} has no row"
            yield record, row

    def _made_again(self, version: Version) -> Zone:
        zone = Zone(self._beginning.origin, version.soa)
        nodes: dict[Name, dict[RdataType, RRset]] = {}
        for row in self._table:
            if row.action != ADD or not row.settled_ns <= version.at_ns < row.undone_ns:
                continue
            record = self._record_of(row, version.at_ns)
            node = nodes.setdefault(record.name, dict(zone.node(record.name)))
            present = node.get(record.rdtype)
            node[record.rdtype] = RRset(record.ttl, (*(present.rdatas if present else ()), record.rdata))
        for name, node in nodes.items():
            zone.replace(name, node)
        return zone

    def _record_of(self, row: Row, moment_ns: int) -> Record:
        params = dict(row.params)
        rdtype, ttl = type_of(str(params["type"])), int(params["ttl"])
        for since_ns, changed in self._shelf.get(TTLS, row.reference) or ():
            ttl = changed if since_ns <= moment_ns else ttl
        return Record(name_of(row.target), rdtype, ttl, rdata_of(rdtype, str(params["value"])))

    # Keeping.

    def take_changes(self) -> Iterator[Document]:
        """What changed since the last call."""
        return self._state.take_changes()

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say; with none, begin."""
        self._state.load(documents)
        self._past.clear()
        kept = self._shelf.all(VERSION)
        self._versions = [
            Version(int(number), at_ns, RRset(ttl, (rdata_of(SOA, soa),))) for number, (at_ns, ttl, soa) in kept.items()
        ]
        if not self._versions:
            self._begin()
        self._moment_ns = self.newest.at_ns
        self.zone = self._made_again(self.newest)
        rows = [row for row in self._table if row.action == ADD and row.is_standing]
        self._references = {_key(self._record_of(row, self._moment_ns)): row.reference for row in rows}

    def _begin(self) -> None:
        """The first version. What it holds was there before anybody asked, so it is nobody's effect."""
        self._moment_ns = self._clock()
        for record in self._beginning.records:
            params: dict[str, str | int] = {
                "type": type_text(record.rdtype),
                "value": value_of(record.rdata),
                "ttl": record.ttl,
            }
            request = Request(self.name, ADD, Purpose.EFFECT, OUTSIDE, text_of(record.name), params)
            self._table.put(_row(self._new_reference(), request, None, self._moment_ns))
        self.zone = Zone(self._beginning.origin, self._beginning.soa)
        self._new_version()


def _key(record: Record) -> tuple[Name, RdataType, Rdata]:
    return record.name, record.rdtype, record.rdata


def _row(reference: str, request: Request, undoes: str | None, moment_ns: int) -> Row:
    params = tuple(sorted(request.params.items()))
    return Row(
        reference, request.action, request.target, request.operation, params, undoes, 0, moment_ns, moment_ns, NEVER
    )
