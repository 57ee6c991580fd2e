"""What a server of the zone answers a question: RFC 1034 section 4.3.2, with CNAME, wildcards and delegations.

Not here on purpose: synthesis from DNAME, glue, DNSSEC. Never here: messages, and which zone is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

from dns.name import Name
from dns.rcode import Rcode
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.CNAME import CNAME as AliasData

from fakes.dns.zone import CNAME, NS, SOA, Node, RRset, Zone, soa_data

CHAIN_MAX = 16
_ASTERISK = b"*"


class Found(NamedTuple):
    """One set in an answer."""

    name: Name
    rdtype: RdataType
    rrset: RRset


class Answer(NamedTuple):
    """An answer without its message. In a negative one the zone's SOA is the authority."""

    rcode: Rcode = Rcode.NOERROR
    is_authoritative: bool = True
    answer: tuple[Found, ...] = ()
    authority: tuple[Found, ...] = ()


REFUSED = Answer(Rcode.REFUSED, is_authoritative=False)


def look_up(zone: Zone, name: Name, rdtype: RdataType) -> Answer:
    """The answer from this zone."""
    if not name.is_subdomain(zone.origin):
        return REFUSED
    found: list[Found] = []
    for _ in range(CHAIN_MAX):
        if cut := _cut_above(zone, name, rdtype):
            return Answer(Rcode.NOERROR, bool(found), tuple(found), (cut,))
        node = zone.node(name) or _wildcard(zone, name)
        if not node:
            return _negative(zone, found, Rcode.NOERROR if zone.exists(name) else Rcode.NXDOMAIN)
        here = [Found(name, each, rrset) for each, rrset in sorted(node.items()) if rdtype in (RdataType.ANY, each)]
        if here:
            found += here
            break
        if CNAME not in node:
            return _negative(zone, found, Rcode.NOERROR)
        found.append(Found(name, CNAME, node[CNAME]))
        name = _alias(node[CNAME])
        if not name.is_subdomain(zone.origin) or any(each.name == name for each in found):
            break
    return Answer(answer=tuple(found))


def _negative(zone: Zone, found: list[Found], code: Rcode) -> Answer:
    """The TTL of the SOA is how long the absence may be kept: RFC 2308 section 3."""
    soa = zone.soa
    kept = soa._replace(ttl=min(soa.ttl, soa_data(soa).minimum))
    return Answer(code, answer=tuple(found), authority=(Found(zone.origin, SOA, kept),))


def _alias(rrset: RRset) -> Name:
    (rdata,) = rrset.rdatas
    assert isinstance(rdata, AliasData), f"{rdata!r} is no alias"
    return rdata.target


def _cut_above(zone: Zone, name: Name, rdtype: RdataType) -> Found | None:
    """The topmost delegation on the way to the name. The DS set at a cut belongs to this side."""
    depth = len(name) - len(zone.origin)
    for up in range(depth - 1, -1, -1):
        at = Name(name[up:])
        if (delegated := zone.node(at).get(NS)) and not (up == 0 and rdtype == RdataType.DS):
            return Found(at, NS, delegated)
    return None


def _wildcard(zone: Zone, name: Name) -> Node:
    """What `*` below the closest existing name says; nothing for a name that exists itself."""
    if zone.exists(name):
        return {}
    above = name.parent()
    while not zone.exists(above):
        above = above.parent()
    return zone.node(Name((_ASTERISK, *above.labels)))
