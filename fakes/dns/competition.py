"""What somebody else does to a name while a request for it is held: as changes of an update, so that the zone's own rules
apply to them.

Never here: when.
"""

from __future__ import annotations

from collections.abc import Mapping

from dns.name import Name
from dns.rdatatype import RdataType

from fakes.core.kernel import OUTSIDE
from fakes.dns.records import ANY_CLASS, IN, MARKER_LABEL, MARKER_PREFIX, Asked, marker_of, rdata_of
from fakes.dns.zone import Zone
from harness.model.errors import ProviderFailure

COMPETITORS: Mapping[str, str] = {
    "take": "another owner adds the name, with an address and a marker of its own",
    "change": "another owner gives what stands at the name another value",
    "remove": "another owner removes the name and its marker",
}
TTL_S = 300
THEIR_VALUE: Mapping[RdataType, str] = {
    RdataType.A: "192.0.2.66",
    RdataType.AAAA: "2001:db8::66",
    RdataType.CNAME: "elsewhere.invalid.",
    RdataType.MX: "10 elsewhere.invalid.",
    RdataType.TXT: '"theirs"',
}


def competing_changes(what: str, zone: Zone, name: Name) -> list[Asked]:
    """The changes. Raises LookupError for an unknown competitor, ProviderFailure if it finds nothing to do."""
    match what:
        case "take":
            return _take(zone, name)
        case "change":
            return _change(zone, name)
        case "remove":
            return _remove(zone, name)
        case _:
            raise LookupError(f"dns knows no competitor {what!r}; known: {', '.join(COMPETITORS)}")


def _take(zone: Zone, name: Name) -> list[Asked]:
    if zone.node(name):
        raise ProviderFailure("already-exists", f"{name} has an owner")
    return [_theirs(name, RdataType.A), *_marked(zone, name)]


def _change(zone: Zone, name: Name) -> list[Asked]:
    for rdtype, rrset in sorted(zone.node(name).items()):
        if rdtype in THEIR_VALUE and any(marker_of(rdata) is None for rdata in rrset.rdatas):
            return [Asked(name, rdtype, ANY_CLASS, 0, None), _theirs(name, rdtype), *_marked(zone, name)]
    raise ProviderFailure("not-found", f"{name} has no value that could be changed")


def _remove(zone: Zone, name: Name) -> list[Asked]:
    if not zone.node(name):
        raise ProviderFailure("not-found", f"{name} is not there")
    return [Asked(each, RdataType.ANY, ANY_CLASS, 0, None) for each in (name, _below(name))]


def _theirs(name: Name, rdtype: RdataType) -> Asked:
    return Asked(name, rdtype, IN, TTL_S, rdata_of(rdtype, THEIR_VALUE[rdtype]))


def _marked(zone: Zone, name: Name) -> list[Asked]:
    """Their marker in the place of the one that stands there."""
    at = _below(name)
    text = f'"{MARKER_PREFIX.decode()}{OUTSIDE}"'
    marker = Asked(at, RdataType.TXT, IN, TTL_S, rdata_of(RdataType.TXT, text))
    return [Asked(at, RdataType.TXT, ANY_CLASS, 0, None), marker]


def _below(name: Name) -> Name:
    return Name((MARKER_LABEL, *name.labels))
