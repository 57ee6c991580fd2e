"""Reading DNS messages: bytes to values, by RFC 1035, 2136, 6891 and 8945.

A message whose header can be read always gives an `Incoming`; what is wrong with the rest is in its `problem`, as the
code to answer. What has no header, or is a response, gives None: servers are silent then.
Own reading, not the client library's: that one joins the records of an UPDATE into sets, and forgets their order and
what was malformed about them.
Never here: what a zone holds, and the time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import dns.exception
import dns.flags
import dns.opcode
import dns.rdata
import dns.wire
from dns.name import Name
from dns.opcode import Opcode
from dns.rcode import Rcode
from dns.rdatatype import RdataType

from fakes.dns.records import ANY_CLASS, IN, NONE_CLASS, Asked, text_of, type_text

HEADER_BYTES = 12
RECORDS_MAX = 4096
LINE_LENGTH_MAX = 160
OPT_VERSION = 0


class Question(NamedTuple):
    """The question, or the zone of an UPDATE."""

    name: Name
    rdtype: int
    rdclass: int


class Signature(NamedTuple):
    """A TSIG record: whose key, its data as the library has it, and where in the message it begins."""

    owner: Name
    rdata: Any
    start: int


@dataclass(frozen=True, slots=True)
class Incoming:
    """One message from a client. The three sections are in the order of the wire, OPT and TSIG taken out."""

    wire: bytes
    id: int
    flags: int
    opcode: int
    problem: Rcode = Rcode.NOERROR
    question: Question | None = None
    first: tuple[Asked, ...] = ()
    """Answers, or the prerequisites of an UPDATE."""
    second: tuple[Asked, ...] = ()
    """Authority, or the changes of an UPDATE."""
    payload_max: int = 0
    """How large a datagram the client takes by its OPT record; 0 without one."""
    signature: Signature | None = None

    @property
    def line(self) -> str:
        """What it is in the protocol's words: `UPDATE example`, `QUERY www.example A`."""
        opcode = dns.opcode.to_text(Opcode.make(self.opcode))
        if self.question is None:
            return opcode
        rdtype = "" if self.opcode == Opcode.UPDATE else f" {type_text(self.question.rdtype)}"
        return f"{opcode} {text_of(self.question.name)}"[:LINE_LENGTH_MAX] + rdtype

    @property
    def is_update(self) -> bool:
        return self.opcode == Opcode.UPDATE

    @property
    def wants_recursion(self) -> bool:
        return bool(self.flags & dns.flags.RD)


def read_message(wire: bytes) -> Incoming | None:
    """The message as a value, or None where a server says nothing."""
    if len(wire) < HEADER_BYTES:
        return None
    id_, flags, *counts = struct.unpack("!6H", wire[:HEADER_BYTES])
    if flags & dns.flags.QR:
        return None
    opcode = (flags >> 11) & 15
    bare = Incoming(wire, id_, flags, opcode)
    is_known = opcode in (Opcode.QUERY, Opcode.UPDATE)
    if (is_known and counts[0] != 1) or sum(counts) > RECORDS_MAX:
        return Incoming(wire, id_, flags, opcode, Rcode.FORMERR)
    try:
        read = _Reader(bare).read(counts)
    except (dns.exception.DNSException, ValueError):
        return Incoming(wire, id_, flags, opcode, Rcode.FORMERR)
    return read if is_known else Incoming(wire, id_, flags, opcode, Rcode.NOTIMP)


class _Reader:
    """Goes through one message once."""

    def __init__(self, bare: Incoming) -> None:
        self._bare = bare
        self._parser = dns.wire.Parser(bare.wire, HEADER_BYTES)
        self._problem = Rcode.NOERROR
        self._opt: tuple[int, int] | None = None
        self._signature: Signature | None = None

    def read(self, counts: list[int]) -> Incoming:
        """The whole. Raises dns.exception.DNSException for what cannot be read."""
        bare, parser = self._bare, self._parser
        questions = [Question(parser.get_name(decompress=True), *parser.get_struct("!HH")) for _ in range(counts[0])]
        sections = [tuple([a for _ in range(count) if (a := self._record()) is not None]) for count in counts[1:]]
        if parser.remaining() and (bare.is_update or self._signature):
            raise dns.exception.FormError
        return Incoming(
            bare.wire,
            bare.id,
            bare.flags,
            bare.opcode,
            self._problem,
            questions[0] if questions else None,
            sections[0],
            sections[1],
            self._opt[0] if self._opt else 0,
            self._signature,
        )

    def _record(self) -> Asked | None:
        parser = self._parser
        if self._signature is not None:
            raise dns.exception.FormError  # a signature is the last record
        start = parser.current
        name = parser.get_name(decompress=True)
        rdtype, rdclass, ttl, bytes_count = parser.get_struct("!HHIH")
        with parser.restrict_to(bytes_count):
            if rdtype == RdataType.TSIG:
                if ttl or rdclass != ANY_CLASS:
                    raise dns.exception.FormError
                self._signature = Signature(name, dns.rdata.from_wire_parser(ANY_CLASS, RdataType.TSIG, parser), start)
                return None
            if rdtype == RdataType.OPT and not self._bare.is_update:
                self._read_opt(rdclass, ttl)
                parser.get_remaining()
                return None
            return Asked(name, rdtype, rdclass, ttl, self._rdata(rdtype, rdclass, bytes_count), bytes_count)

    def _rdata(self, rdtype: int, rdclass: int, bytes_count: int) -> Any:
        """The value where the class says that there is one; what else stands there is passed over."""
        parser = self._parser
        if rdclass == IN or (rdclass == NONE_CLASS and bytes_count):
            return dns.rdata.from_wire_parser(IN, RdataType.make(rdtype), parser)
        parser.get_remaining()
        return None

    def _read_opt(self, payload_max: int, ttl: int) -> None:
        if self._opt is not None:
            raise dns.exception.FormError
        self._opt = (payload_max, ttl)
        if (ttl >> 16) & 255 != OPT_VERSION:
            self._problem = Rcode.BADVERS
