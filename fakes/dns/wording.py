"""Writing DNS messages: answers, refusals, transfers, and the table of rcodes for statuses.

Never here: signing (`signatures.py`), and what is answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
from dns.rcode import Rcode
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from dns.rrset import RRset as Rendered

from fakes.dns.answers import Answer, Found
from fakes.dns.messages import Incoming
from fakes.dns.records import IN
from fakes.dns.zone import SOA, RRset, Zone

PAYLOAD_MAX = 1232
"""As BIND and Knot offer it."""
DATAGRAM_BYTES = 512
MESSAGE_BYTES_MAX = 65535
TSIG_FIXED_BYTES = 64
"""Of a TSIG record with a SHA-256 MAC and a server's time, all but its two names."""
TRANSFER_RECORDS_MAX = 200
"""Records in one message of a transfer, unless they are large."""
TRANSFER_BYTES_MAX = 32_000

RCODE_OF_STATUS: Mapping[int, Rcode] = {
    400: Rcode.FORMERR,
    401: Rcode.NOTAUTH,
    404: Rcode.NXDOMAIN,
    501: Rcode.NOTIMP,
}
"""What a hook's `status` means here. Others: 4xx is REFUSED, 5xx SERVFAIL, and any below NOERROR."""


_EMPTY = Answer()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A response to a message, not rendered yet."""

    rcode: Rcode
    answer: Answer = _EMPTY
    is_authoritative: bool = False
    has_recursion: bool = False
    has_question: bool = True


def rcode_of(status: int) -> Rcode:
    """The code of a status that did not come from the zone."""
    if status in RCODE_OF_STATUS:
        return RCODE_OF_STATUS[status]
    return Rcode.SERVFAIL if status >= 500 else Rcode.REFUSED if status >= 400 else Rcode.NOERROR


def answered(answer: Answer, *, is_authority: bool, has_recursion: bool = False) -> Outgoing:
    """The response for an answer of a view: only an authority sets AA."""
    is_authoritative = is_authority and answer.is_authoritative
    return Outgoing(answer.rcode, answer, is_authoritative, has_recursion)


def render(asked: Incoming, said: Outgoing, *, is_datagram: bool) -> bytes:
    """The response as bytes, unsigned. One that does not fit a datagram is truncated to its header and question."""
    limit = MESSAGE_BYTES_MAX
    if is_datagram:
        limit = max(DATAGRAM_BYTES, min(asked.payload_max, PAYLOAD_MAX))
    limit -= _signature_bytes(asked)
    try:
        wire = _rendered(asked, said, said.answer.answer, said.answer.authority)
        is_fitting = len(wire) <= limit
    except dns.exception.TooBig:
        is_fitting = False
    return wire if is_fitting else _rendered(asked, said, (), (), dns.flags.TC)


def render_transfer(asked: Incoming, zone: Zone) -> Iterator[bytes]:
    """The whole zone, in as many messages as it takes: its SOA, every other record, its SOA again."""
    soa = Found(zone.origin, SOA, zone.soa)
    said = Outgoing(Rcode.NOERROR, is_authoritative=True)
    for part in _parts([soa, *_records(zone), soa]):
        yield _rendered(asked, said, part, ())


def _signature_bytes(asked: Incoming) -> int:
    """What must be left free for signing the response."""
    if asked.signature is None:
        return 0
    names = (asked.signature.owner, asked.signature.rdata.algorithm)
    return TSIG_FIXED_BYTES + sum(len(label) + 1 for name in names for label in name.labels)


def _records(zone: Zone) -> Iterator[Found]:
    for record in zone.records():
        yield Found(record.name, record.rdtype, RRset(record.ttl, (record.rdata,)))


def _parts(found: Iterable[Found]) -> Iterator[list[Found]]:
    part: list[Found] = []
    bytes_count = 0
    for each in found:
        (rdata,) = each.rrset.rdatas
        size = len(rdata.to_wire() or b"") + 300
        if part and (len(part) >= TRANSFER_RECORDS_MAX or bytes_count + size > TRANSFER_BYTES_MAX):
            yield part
            part, bytes_count = [], 0
        part.append(each)
        bytes_count += size
    yield part


def _rendered(
    asked: Incoming,
    said: Outgoing,
    answer: Iterable[Found],
    authority: Iterable[Found],
    flags: int = 0,
) -> bytes:
    flags |= dns.flags.QR | (asked.opcode << 11) | (int(said.rcode) & 15)
    if not asked.is_update:
        flags |= asked.flags & dns.flags.RD
    flags |= dns.flags.AA if said.is_authoritative else 0
    flags |= dns.flags.RA if said.has_recursion else 0
    written = dns.message.Message(asked.id)
    written.flags = dns.flags.Flag(flags)  # the opcode's bits are among them
    if asked.question is not None and said.has_question:
        name, rdtype, rdclass = asked.question
        written.question.append(Rendered(name, RdataClass.make(rdclass), RdataType.make(rdtype)))
    written.answer = [_for_library(each) for each in answer]
    written.authority = [_for_library(each) for each in authority]
    if asked.payload_max or said.rcode == Rcode.BADVERS:
        written.use_edns(0, (int(said.rcode) >> 4) << 24, PAYLOAD_MAX)
    return written.to_wire(max_size=MESSAGE_BYTES_MAX, want_shuffle=False)


def _for_library(found: Found) -> Rendered:
    rrset = Rendered(found.name, IN, found.rdtype)
    for rdata in found.rrset.rdatas:
        rrset.add(rdata, found.rrset.ttl)
    return rrset
