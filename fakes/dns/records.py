"""Resource records as values, and how they look in a row of the domain.

A name is known by its text in lower case without the last dot; a value by its presentation text, or by the generic form
of RFC 3597 where the text would not give the same bytes back.

The marker. A message may say whose operation it is by a TXT record `op=ID`, at the name it is about or at `_op.` below
it (a name with a CNAME can have no TXT of its own). Markers are records like all others, and only `book.py` sees more in
them.
Never here: what a zone holds.
"""

from __future__ import annotations

from typing import NamedTuple

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
from dns.name import Name
from dns.rdata import Rdata
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType

IN, ANY_CLASS, NONE_CLASS = RdataClass.IN, RdataClass.ANY, RdataClass.NONE
MARKER_LABEL = b"_op"
MARKER_PREFIX = b"op="
MARKER_BYTES_MAX = 200
TTL_MAX = (1 << 31) - 1


class Record(NamedTuple):
    """One resource record that stands, or stood, in the zone."""

    name: Name
    rdtype: RdataType
    ttl: int
    rdata: Rdata


class Asked(NamedTuple):
    """One record of an UPDATE message, where the class says what is meant. `rdata` is None where it must be empty."""

    name: Name
    rdtype: int
    rdclass: int
    ttl: int
    rdata: Rdata | None
    bytes_count: int = 0


def text_of(name: Name) -> str:
    """A name as it stands in rows, facts and views."""
    return name.canonicalize().to_text(omit_final_dot=True)


def name_of(text: str) -> Name:
    """The inverse of `text_of`. Raises dns.exception.DNSException for what is no name."""
    return dns.name.from_text(text, dns.name.root)


def value_of(rdata: Rdata) -> str:
    """A value as text that gives the same value back."""
    try:
        text = rdata.to_text()
        if dns.rdata.from_text(IN, rdata.rdtype, text) == rdata:
            return text
    except (dns.exception.DNSException, ValueError):
        pass  # There are bytes on the wire for which no presentation exists.
    wire = rdata.to_wire()
    assert wire is not None, "only a rendering into a file gives no bytes"
    return rf"\# {len(wire)} {wire.hex()}".rstrip()


def rdata_of(rdtype: RdataType, value: str) -> Rdata:
    """The inverse of `value_of`. Raises dns.exception.DNSException for what is no value of this type."""
    return dns.rdata.from_text(IN, rdtype, value, dns.name.root, False)


def type_of(text: str) -> RdataType:
    """A record type from its text, such as `A` or `TYPE65400`. Raises dns.exception.DNSException."""
    return dns.rdatatype.from_text(text)


def type_text(rdtype: int) -> str:
    """The inverse of `type_of`."""
    return dns.rdatatype.to_text(RdataType.make(rdtype))


def marker_of(rdata: Rdata | None) -> str | None:
    """The operation a TXT value names, or None if it is no marker."""
    if rdata is None or rdata.rdtype != RdataType.TXT:
        return None
    strings: tuple[bytes, ...] = getattr(rdata, "strings", ())
    whole = b"".join(strings)
    if not whole.startswith(MARKER_PREFIX) or len(whole) > MARKER_BYTES_MAX:
        return None
    return whole[len(MARKER_PREFIX) :].decode("utf-8", "replace")


def subject_of(name: Name) -> Name:
    """What a marker at this name is about: the name itself, or the one above `_op`."""
    return name.parent() if len(name) > 1 and name[0].lower() == MARKER_LABEL else name
