"""TSIG (RFC 8945): whether a message is signed by the key, and signing what is answered.

Errors are worded as BIND does: NOTAUTH with a TSIG record that carries the error. For BADKEY and BADSIG it is not signed,
since there is nothing to sign with; for BADTIME it is, and tells the server's time.

A signature says when it was made and how long that holds (fudge). Nothing else stands in the way of a replay: the same
bytes sent again within that time are a new request, as on BIND and Knot.
Never here: a clock; every time is an argument. The secret leaves this module nowhere.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import dns.exception
import dns.name
import dns.tsig
from dns.rcode import Rcode
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.TSIG import TSIG

from fakes.dns.messages import Incoming, Signature
from fakes.dns.records import ANY_CLASS

ALGORITHM = dns.tsig.HMAC_SHA256
ALGORITHM_TEXT = "hmac-sha256"
FUDGE_S = 300
_LIBRARY: Any = dns.tsig
"""Without its types, since these functions have none."""
_LIBRARY_DATA: Any = TSIG


class Standing(NamedTuple):
    """What is known of a message's sender: `error` is NOERROR for a good signature, and for none at all."""

    error: Rcode
    is_signed: bool


UNSIGNED = Standing(Rcode.NOERROR, is_signed=False)


def verify(asked: Incoming, key: dns.tsig.Key) -> Standing:
    """Is the message signed by this key? The time is not looked at."""
    signature = asked.signature
    if signature is None:
        return UNSIGNED
    rdata = signature.rdata
    try:
        _LIBRARY.validate(asked.wire, key, signature.owner, rdata, rdata.time_signed, b"", signature.start)
    except (dns.tsig.BadKey, dns.tsig.BadAlgorithm):
        return Standing(Rcode.BADKEY, is_signed=False)
    except (dns.tsig.BadSignature, dns.tsig.PeerError, dns.exception.FormError):
        return Standing(Rcode.BADSIG, is_signed=False)
    return Standing(Rcode.NOERROR, is_signed=True)


def is_in_time(signature: Signature, now_s: int) -> bool:
    """Is the time at which it was signed near enough?"""
    rdata = signature.rdata
    return bool(abs(rdata.time_signed - now_s) <= rdata.fudge)


class Signer:
    """Signs the response to one signed message, or the several of a transfer."""

    def __init__(self, asked: Incoming, key: dns.tsig.Key) -> None:
        assert asked.signature is not None, "only what was signed is answered signed"
        self._asked = asked
        self._signature = asked.signature
        self._key = key
        self._running: Any = None

    def sign(self, wire: bytes, now_s: int, *, is_one_of_many: bool = False) -> bytes:
        """The message with its signature."""
        blank = self._blank(now_s)
        mac = self._signature.rdata.mac
        signed, self._running = _LIBRARY.sign(
            wire, self._key, blank, now_s, mac, self._running if is_one_of_many else None, is_one_of_many
        )
        return _with_record(wire, self._signature, signed)

    def with_error(self, wire: bytes, error: Rcode, now_s: int) -> bytes:
        """The message with a record that says what is wrong with the request's signature."""
        if error != Rcode.BADTIME:
            return _with_record(wire, self._signature, self._blank(self._signature.rdata.time_signed, error))
        other = struct.pack("!HI", now_s >> 32, now_s & 0xFFFFFFFF)
        blank = self._blank(self._signature.rdata.time_signed, error, other)
        signed, _ = _LIBRARY.sign(wire, self._key, blank, blank.time_signed, self._signature.rdata.mac)
        return _with_record(wire, self._signature, signed)

    def _blank(self, time_s: int, error: Rcode = Rcode.NOERROR, other: bytes = b"") -> Any:
        algorithm = self._signature.rdata.algorithm
        return _LIBRARY_DATA(ANY_CLASS, RdataType.TSIG, algorithm, time_s, FUDGE_S, b"", self._asked.id, error, other)


def _with_record(wire: bytes, signature: Signature, rdata: Any) -> bytes:
    (additional,) = struct.unpack("!H", wire[10:12])
    data: bytes = rdata.to_wire()
    head = struct.pack("!HHIH", RdataType.TSIG, ANY_CLASS, 0, len(data))
    record = signature.owner.to_digestable(dns.name.root) + head + data
    return wire[:10] + struct.pack("!H", additional + 1) + wire[12:] + record
