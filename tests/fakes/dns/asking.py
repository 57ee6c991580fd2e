"""How the tests of the DNS fake ask a server, any server: signed updates, queries, and bytes as they are.

Never here: a check, and the fake.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, replace

import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.tsig
import dns.update
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.TSIG import TSIG

HOST = "127.0.0.1"
TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server of one zone, and the key that may change it."""

    zone: str
    key_name: str
    secret: str
    port: int = 0

    def at(self, port: int) -> Server:
        return replace(self, port=port)

    def update(self, *, is_signed: bool = True) -> dns.update.UpdateMessage:
        """An empty update of the zone."""
        key = dns.tsig.Key(self.key_name, self.secret, dns.tsig.HMAC_SHA256) if is_signed else None
        return dns.update.UpdateMessage(self.zone + ".", keyring=key)

    def send(self, message: dns.message.Message, *, timeout: float = TIMEOUT_S) -> str:
        """Send it over TCP; the response code as text."""
        return dns.rcode.to_text(dns.query.tcp(message, HOST, port=self.port, timeout=timeout).rcode())

    def send_udp(self, message: dns.message.Message, *, timeout: float = TIMEOUT_S) -> str:
        """The same in a datagram."""
        return dns.rcode.to_text(dns.query.udp(message, HOST, port=self.port, timeout=timeout).rcode())

    def ask(self, name: str, rdtype: str = "A", *, over_udp: bool = False) -> dns.message.Message:
        """Ask for `name` within the zone ("" is the zone itself); the whole answer."""
        question = dns.message.make_query(self.full(name), rdtype)
        send = dns.query.udp if over_udp else dns.query.tcp
        return send(question, HOST, port=self.port, timeout=TIMEOUT_S)

    def values(self, name: str, rdtype: str = "A") -> list[str]:
        """The values the name has, sorted."""
        answer = self.ask(name, rdtype).answer
        return sorted(
            rdata.to_text() for rrset in answer if rrset.rdtype == RdataType.from_text(rdtype) for rdata in rrset
        )

    def serial(self) -> int:
        """The zone's serial."""
        answer = self.ask("", "SOA").answer
        return int(answer[0][0].serial)

    def full(self, name: str) -> str:
        return f"{name}.{self.zone}." if name else f"{self.zone}."

    def send_bytes(self, wire: bytes) -> bytes:
        """Send a message as it is over TCP; the answer as it is. Raises EOFError when there is none."""
        with socket.create_connection((HOST, self.port), timeout=TIMEOUT_S) as connection:
            connection.sendall(struct.pack("!H", len(wire)) + wire)
            (length,) = struct.unpack("!H", read_exactly(connection, 2))
            return read_exactly(connection, length)

    def send_datagram(self, wire: bytes, *, timeout: float = TIMEOUT_S) -> bytes:
        """Send a datagram as it is; the answer as it is. Raises TimeoutError when there is none."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(timeout)
            udp.connect((HOST, self.port))
            udp.send(wire)
            return udp.recv(65535)


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes. Raises EOFError when the connection ends before."""
    got = b""
    while len(got) < count:
        part = connection.recv(count - len(got))
        if not part:
            raise EOFError
        got += part
    return got


def signed_at(message: dns.message.Message, key: dns.tsig.Key, time_s: int, *, fudge_s: int = 300) -> bytes:
    """The message as bytes, signed as if it were another time: client libraries only know the present."""
    message.tsig, message.keyring = None, None
    return sign_bytes(message.to_wire(), key, time_s, fudge_s=fudge_s)


def sign_bytes(wire: bytes, key: dns.tsig.Key, time_s: int, *, fudge_s: int = 300) -> bytes:
    """Any message, well formed or not, with a good signature of this time."""
    (id_,) = struct.unpack("!H", wire[:2])
    blank = TSIG(RdataClass.ANY, RdataType.TSIG, key.algorithm, time_s, fudge_s, b"", id_, 0, b"")
    rdata, _ = dns.tsig.sign(wire, key, blank, time_s)
    data = rdata.to_wire()
    (additional,) = struct.unpack("!H", wire[10:12])
    record = key.name.to_wire() + struct.pack("!HHIH", RdataType.TSIG, RdataClass.ANY, 0, len(data)) + data
    return wire[:10] + struct.pack("!H", additional + 1) + wire[12:] + record
