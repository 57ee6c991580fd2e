"""A zone and how an UPDATE changes it: RFC 2136, sections 3.2 (prerequisites), 3.4.1 (prescan) and 3.4.2 (update).

Theory. An update is decided in three steps, each a function of the zone and the message: do the prerequisites hold, is
every change well formed, and what would change. The last one yields a `Plan`: the net difference, so that what a message
adds and takes away again is nothing. A plan without difference moves no serial; any other moves it by one, or to the
serial of an SOA record the message brings. Checking and carrying out are one step for the caller: nothing may come
between them.

As BIND 9.18 does, where the RFC leaves it open: a TTL is that of the whole set; CNAME and DNAME are replaced, other data
beside a CNAME is ignored, as are an SOA that is not newer and the deletion of the zone's last NS.
Not here on purpose: DNSSEC, and BIND's looks at names (check-names, check-integrity). Never here: messages, effects, time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import dns.rdatatype
import dns.serial
from dns.name import Name
from dns.rcode import Rcode
from dns.rdata import Rdata
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.SOA import SOA as SoaData

from fakes.dns.records import ANY_CLASS, IN, NONE_CLASS, TTL_MAX, Asked, Record

SOA, NS, CNAME = RdataType.SOA, RdataType.NS, RdataType.CNAME
_SINGLE = frozenset({CNAME, RdataType.DNAME})
_BESIDE_CNAME = frozenset({RdataType.RRSIG, RdataType.NSEC, RdataType.KEY})


class RRset(NamedTuple):
    """All values of one type at one name. Never empty; the values differ."""

    ttl: int
    rdatas: tuple[Rdata, ...]


Node = Mapping[RdataType, RRset]
"""What is at one name. Replaced, never changed."""
_NOTHING: Node = {}


class Zone:
    """The records of a zone, among them its SOA, which holds the serial."""

    def __init__(self, origin: Name, soa: RRset) -> None:
        self.origin = origin
        self._nodes: dict[Name, Node] = {}
        self._below: Counter[Name] = Counter()
        self.replace(origin, {SOA: soa})

    @property
    def soa(self) -> RRset:
        return self._nodes[self.origin][SOA]

    @property
    def serial(self) -> int:
        return soa_data(self.soa).serial

    def node(self, name: Name) -> Node:
        """What is at the name; empty if nothing is."""
        return self._nodes.get(name, _NOTHING)

    def exists(self, name: Name) -> bool:
        """Is something at the name or below it?"""
        return name in self._nodes or self._below[name] > 0

    def replace(self, name: Name, node: Node) -> None:
        """Let this be at the name."""
        step = bool(node) - (name in self._nodes)
        if node:
            self._nodes[name] = node
        else:
            self._nodes.pop(name, None)
        above = name
        while step and above != self.origin:
            above = above.parent()
            self._below[above] += step

    def records(self) -> Iterator[Record]:
        """Every record but the SOA, in the canonical order of names and types."""
        for name in sorted(self._nodes):
            for rdtype, (ttl, rdatas) in sorted(self._nodes[name].items()):
                if rdtype != SOA:
                    yield from (Record(name, rdtype, ttl, rdata) for rdata in rdatas)


@dataclass(slots=True)
class Plan:
    """What an update would change: the nodes it touches as they would be, and the net difference."""

    nodes: dict[Name, dict[RdataType, RRset]] = field(default_factory=dict)
    removed: list[Record] = field(default_factory=list)
    added: list[Record] = field(default_factory=list)
    retimed: list[Record] = field(default_factory=list)
    """Records whose TTL alone changes, with the new one."""
    soa: RRset | None = None
    """The zone's SOA afterwards, serial included; None if nothing changes."""


def check_prerequisites(zone: Zone, prerequisites: Iterable[Asked]) -> Rcode:
    """NOERROR if all hold, otherwise the code of the first that does not."""
    wanted: dict[tuple[Name, RdataType], set[Rdata]] = {}
    for asked in prerequisites:
        if asked.ttl:
            return Rcode.FORMERR
        if not asked.name.is_subdomain(zone.origin):
            return Rcode.NOTZONE
        rdtype = RdataType.make(asked.rdtype)
        if asked.rdclass == IN:
            if asked.rdata is not None:
                wanted.setdefault((asked.name, rdtype), set()).add(asked.rdata)
            continue
        if asked.bytes_count or asked.rdclass not in (ANY_CLASS, NONE_CLASS):
            return Rcode.FORMERR
        if (code := _check_presence(zone.node(asked.name), rdtype, is_wanted=asked.rdclass == ANY_CLASS)) is not None:
            return code
    for (name, rdtype), rdatas in wanted.items():
        found = zone.node(name).get(rdtype)
        if found is None or set(found.rdatas) != rdatas:
            return Rcode.NXRRSET
    return Rcode.NOERROR


def _check_presence(node: Node, rdtype: RdataType, *, is_wanted: bool) -> Rcode | None:
    is_there = bool(node) if rdtype == RdataType.ANY else rdtype in node
    if is_there == is_wanted:
        return None
    if rdtype == RdataType.ANY:
        return Rcode.NXDOMAIN if is_wanted else Rcode.YXDOMAIN
    return Rcode.NXRRSET if is_wanted else Rcode.YXRRSET


def prescan(zone: Zone, updates: Iterable[Asked]) -> Rcode:
    """NOERROR if every change is well formed."""
    for asked in updates:
        if not asked.name.is_subdomain(zone.origin):
            return Rcode.NOTZONE
        if not _is_well_formed(asked):
            return Rcode.FORMERR
    return Rcode.NOERROR


def _is_well_formed(asked: Asked) -> bool:
    rdtype = RdataType.make(asked.rdtype)
    is_data = bool(rdtype) and not dns.rdatatype.is_metatype(rdtype)
    if asked.rdclass == IN:
        return is_data
    if asked.rdclass == ANY_CLASS:
        return not asked.ttl and not asked.bytes_count and (is_data or rdtype == RdataType.ANY)
    return asked.rdclass == NONE_CLASS and is_data and not asked.ttl


def plan_update(zone: Zone, updates: Iterable[Asked]) -> Plan:
    """What these well-formed changes, in their order, would make of the zone. The zone is not changed."""
    plan = Plan()
    newest = zone.soa
    for asked in updates:
        node = plan.nodes.setdefault(asked.name, dict(zone.node(asked.name)))
        if asked.rdtype == SOA:
            newest = _newer_soa(zone, newest, asked)
        elif asked.rdclass == IN:
            _add(node, asked)
        elif asked.rdclass == ANY_CLASS:
            _delete_sets(node, asked, is_apex=asked.name == zone.origin)
        else:
            _delete_value(node, asked, is_apex=asked.name == zone.origin)
    for name, after in plan.nodes.items():
        _compare(plan, name, zone.node(name), after)
    if newest is not zone.soa:
        plan.soa = newest
    elif plan.removed or plan.added or plan.retimed:
        plan.soa = with_serial(zone.soa, next_serial(zone.serial))
    return plan


def carry_out(zone: Zone, plan: Plan) -> None:
    """Make the zone what the plan says. The plan must be of this zone as it is."""
    assert plan.soa is not None, "a plan without difference is not carried out"
    for name, node in plan.nodes.items():
        zone.replace(name, node)
    zone.replace(zone.origin, {**zone.node(zone.origin), SOA: plan.soa})


def next_serial(serial: int) -> int:
    """One more, as serials count: 0 is left out."""
    return (serial + 1) % (1 << 32) or 1


def is_newer(serial: int, than: int) -> bool:
    """RFC 1982."""
    return bool(dns.serial.Serial(serial) > dns.serial.Serial(than))


def soa_data(soa: RRset) -> SoaData:
    """The value of an SOA set, which has just one."""
    (rdata,) = soa.rdatas
    assert isinstance(rdata, SoaData), f"{rdata!r} is no SOA"
    return rdata


def with_serial(soa: RRset, serial: int) -> RRset:
    """The same SOA with another serial."""
    return soa._replace(rdatas=(soa_data(soa).replace(serial=serial),))


def _newer_soa(zone: Zone, newest: RRset, asked: Asked) -> RRset:
    if asked.rdclass != IN or asked.name != zone.origin or asked.rdata is None:
        return newest
    offered = RRset(_ttl(asked), (asked.rdata,))
    return offered if is_newer(soa_data(offered).serial, soa_data(newest).serial) else newest


def _ttl(asked: Asked) -> int:
    return asked.ttl if asked.ttl <= TTL_MAX else 0


def _add(node: dict[RdataType, RRset], asked: Asked) -> None:
    rdtype = RdataType.make(asked.rdtype)
    assert asked.rdata is not None, "the message reader gives every addition its value"
    if rdtype == CNAME:
        if any(other != CNAME and other not in _BESIDE_CNAME for other in node):
            return
    elif CNAME in node and rdtype not in _BESIDE_CNAME:
        return
    present = node.get(rdtype)
    rdatas = () if present is None else present.rdatas
    # What is there stays as it is, also if the new value writes a name in it in another case: they are equal.
    if asked.rdata not in rdatas:
        rdatas = (asked.rdata,) if rdtype in _SINGLE else (*rdatas, asked.rdata)
    node[rdtype] = RRset(_ttl(asked), rdatas)


def _delete_sets(node: dict[RdataType, RRset], asked: Asked, *, is_apex: bool) -> None:
    for rdtype in list(node):
        if asked.rdtype in (RdataType.ANY, rdtype) and not (is_apex and rdtype in (SOA, NS)):
            del node[rdtype]


def _delete_value(node: dict[RdataType, RRset], asked: Asked, *, is_apex: bool) -> None:
    rdtype = RdataType.make(asked.rdtype)
    present = node.get(rdtype)
    if present is None or asked.rdata not in present.rdatas:
        return
    left = tuple(rdata for rdata in present.rdatas if rdata != asked.rdata)
    if left:
        node[rdtype] = present._replace(rdatas=left)
    elif not (is_apex and rdtype == NS):
        del node[rdtype]


def _compare(plan: Plan, name: Name, before: Node, after: Node) -> None:
    for rdtype in sorted({*before, *after} - {SOA}):
        old, new = before.get(rdtype), after.get(rdtype)
        olds, news = old.rdatas if old else (), new.rdatas if new else ()
        plan.removed += [Record(name, rdtype, old.ttl, rdata) for rdata in olds if old and rdata not in news]
        plan.added += [Record(name, rdtype, new.ttl, rdata) for rdata in news if new and rdata not in olds]
        if old and new and old.ttl != new.ttl:
            plan.retimed += [Record(name, rdtype, new.ttl, rdata) for rdata in news if rdata in olds]
