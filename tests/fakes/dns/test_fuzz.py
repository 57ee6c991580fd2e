"""Malformed messages: answered, or met with silence, and never a bug of ours. Every input comes from a seed."""

from __future__ import annotations

import random
import socket
import struct
from collections import Counter
from collections.abc import Iterator

import dns.message
import dns.rcode
import dns.tsig
import pytest

from fakes.dns.face import DnsFake
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.dns.asking import HOST, TIMEOUT_S, Server, sign_bytes
from tests.fakes.dns.bench import Bench, server_of

MANY, SOME = 1000, 150
SIGNED_S = 1_700_000_000
"""When every signature here was made: the fake takes it for the present."""
NAMES = ("www", "a.b", "_op.www", "@", "x" * 63)
FIELD_VALUES = (0, 1, 2, 0x3F, 0x40, 0x7F, 0x80, 0xBF, 0xC0, 0xFE, 0xFF)
TYPES = (0, 1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 39, 41, 43, 46, 47, 48, 50, 52, 64, 249, 250, 251, 252, 255, 257, 65400)


class _Kept:
    """The way back into the test."""

    def __init__(self, *, is_datagram: bool) -> None:
        self.is_datagram = is_datagram
        self.is_cut = False
        self.written: list[bytes] = []

    def write(self, message: bytes) -> None:
        self.written.append(message)

    def limit(self, bytes_count: int, *, by_reset: bool) -> None:
        raise AssertionError("no hook is armed")

    def end(self, *, by_reset: bool) -> None:
        self.is_cut = True


def random_bytes(chance: random.Random, server: Server) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 2, 11, 12, 13, 20, 40, 100, 500)))


def random_body(chance: random.Random, server: Server) -> bytes:
    """A header that makes sense, and then nothing that does."""
    opcode = chance.choice((0, 5, 5, 4, 2, 9))
    counts = [chance.choice((0, 1, 1, 2, 9, 65535)) for _ in range(4)]
    flags = opcode << 11 | chance.getrandbits(11)
    zone = chance.choice((b"", b"\x07example\x00\x00\x06\x00\x01"))
    return struct.pack("!6H", chance.getrandbits(16), flags, *counts) + zone + chance.randbytes(chance.randrange(60))


def valid_wire(chance: random.Random, server: Server) -> bytes:
    """Unsigned, and equal for equal chances: the number is not the library's."""
    update = server.update(is_signed=False)
    update.id = chance.getrandbits(16)
    for _ in range(chance.randrange(4)):
        update.add(chance.choice(NAMES), chance.choice((0, 300, 1 << 31)), "A", "192.0.2.1")
        update.add(chance.choice(NAMES), 60, "TXT", '"op=é"')
        update.delete(chance.choice(NAMES), "MX", "10 mail")
        update.absent(chance.choice(NAMES), "CNAME")
    if chance.random() < 0.3:
        return dns.message.make_query(
            f"{server.zone}.", chance.choice(("A", "ANY", "IXFR")), use_edns=0, id=update.id
        ).to_wire()
    return update.to_wire()


def mutated(chance: random.Random, server: Server) -> bytes:
    return _mutate(chance, sign_bytes(valid_wire(chance, server), _key(server), SIGNED_S))


def mutated_and_signed(chance: random.Random, server: Server) -> bytes:
    """Malformed in what is signed: it gets past the signature."""
    wire = _mutate(chance, valid_wire(chance, server))
    return wire if len(wire) < 12 else sign_bytes(wire, _key(server), SIGNED_S)


def odd_records(chance: random.Random, server: Server) -> bytes:
    """A well-formed frame with values of any type, class and length, with pointers in them."""
    body, counts = b"", [1, 0, 0, 0]
    for section in (1, 2):
        for _ in range(chance.randrange(3)):
            name = chance.choice((b"\xc0\x0c", b"\x01a\xc0\x0c", b"\x00", b"\xc0\xff", b"\x07EXAMPLE\x00"))
            size = chance.choice((0, 1, 4, 16, 30))
            data = chance.choice((chance.randbytes(size), b"\xc0\x0c" * (size // 2), b"\x00" * size))
            rdclass = chance.choice((1, 1, 1, 254, 255, 3, 0))
            head = struct.pack("!HHIH", chance.choice(TYPES), rdclass, chance.choice((0, 0, 300, 1 << 31)), len(data))
            body += name + head + data
            counts[section] += 1
    opcode = chance.choice((5, 5, 5, 0))
    wire = struct.pack("!6H", 1, opcode << 11, *counts) + b"\x07example\x00\x00\x06\x00\x01" + body
    return sign_bytes(wire, _key(server), SIGNED_S)


def one_odd_record(chance: random.Random, server: Server, n: int) -> bytes:
    """One addition at a name of its own, of any type, with a value that may happen to be one."""
    data = chance.choice(
        (chance.randbytes(chance.randrange(40)), b"\x01a\x00" * 2, b"\x00\x05\x01\x80\x00", b"\x03\xff\x00\x22")
    )
    head = struct.pack("!HHIH", chance.choice(TYPES), 1, 300, len(data))
    label = f"{n:04}\x00\xff.".encode("latin-1")
    change = bytes((len(label),)) + label + b"\xc0\x0c" + head + data
    wire = struct.pack("!6H", 1, 5 << 11, 1, 0, 1, 0) + b"\x07example\x00\x00\x06\x00\x01" + change
    return sign_bytes(wire, _key(server), SIGNED_S)


def _mutate(chance: random.Random, wire: bytes) -> bytes:
    parts = bytearray(wire)
    for _ in range(chance.choice((1, 1, 2, 8))):
        match chance.randrange(4):
            case 0 if parts:
                parts[chance.randrange(len(parts))] = chance.choice(FIELD_VALUES)
            case 1 if parts:
                del parts[chance.randrange(len(parts)) :]
            case 2:
                at = chance.randrange(len(parts) + 1)
                parts[at:at] = chance.randbytes(chance.randrange(1, 5))
            case _ if len(parts) > 14:
                at = chance.randrange(12, len(parts) - 1)
                parts[at : at + 2] = struct.pack("!H", 0xC000 | chance.randrange(len(parts)))
    return bytes(parts)


def _key(server: Server) -> dns.tsig.Key:
    key = server.update().keyring
    assert isinstance(key, dns.tsig.Key)
    return key


KINDS = [random_bytes, random_body, mutated, mutated_and_signed, odd_records]


@pytest.fixture(scope="module")
def patient() -> Iterator[Hosted]:
    """Its clock stands still and takes every signature's time for the present, so that inputs are the same every day."""
    with Hosted(DnsFake, clock=Clock(is_manual=True)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_nothing_that_comes_is_a_bug(patient: Hosted, kind: object) -> None:
    assert callable(kind)
    server = server_of(patient)
    bench = Bench(patient)
    chance = random.Random(f"dns {kind.__name__}")
    fake = patient.fake
    assert isinstance(fake, DnsFake)
    codes: Counter[str] = Counter()
    for n in range(MANY):
        way = _Kept(is_datagram=n % 2 == 0)
        wire = kind(chance, server)
        patient.run(fake.server.handle(wire, way, ("dns", "dns", "secondary", "resolver")[n % 4]))
        codes.update([dns.rcode.to_text(answer[3] & 15) for answer in way.written] or ["silence"])
        for answer in way.written:
            assert answer[:2] == wire[:2]
            assert answer[2] & 0x80
            if not answer[2] & 0x78:  # of other opcodes the client library reads less than may be echoed
                dns.message.from_wire(answer, keyring=False)
    assert [entry.data["error"] for entry in bench.entries("bug")] == []
    assert server.serial() >= 1
    assert "SERVFAIL" not in codes
    if kind is not random_bytes:
        assert codes["FORMERR"] > 0
    if kind in (mutated_and_signed, odd_records):
        assert codes["NOERROR"] > 0


def test_a_fake_that_was_fuzzed_can_be_hosted_again(patient: Hosted) -> None:
    """Whatever got into the zone can be written down and read back."""
    server, chance = server_of(patient), random.Random("dns kept")
    fake = patient.fake
    assert isinstance(fake, DnsFake)
    for n in range(MANY):
        patient.run(fake.server.handle(one_odd_record(chance, server, n), _Kept(is_datagram=False), "dns"))
    seen = patient.call(fake.view)
    patient.call(lambda: patient.desk.restore(patient.desk.snapshot()))
    assert patient.call(fake.view) == seen
    assert len({record["type"] for record in seen["records"]}) > 5


@pytest.mark.slow
def test_streams_of_malformed_messages_end_or_are_answered(patient: Hosted) -> None:
    server, bench, chance = server_of(patient), Bench(patient), random.Random("dns streams")
    for n in range(SOME):
        wire = KINDS[n % len(KINDS)](chance, server)
        length = chance.choice((len(wire), len(wire), len(wire) + 3, max(len(wire) - 3, 0), 0, 65535))
        with socket.create_connection((HOST, server.port), timeout=TIMEOUT_S) as connection:
            connection.sendall(struct.pack("!H", length) + wire)
            connection.shutdown(socket.SHUT_WR)
            while _more(connection):
                continue
    assert bench.entries("bug") == []
    assert server.serial() >= 1


def _more(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(65536))
    except ConnectionResetError:
        return False


def test_datagrams_of_any_size_leave_the_fake_at_work(patient: Hosted) -> None:
    server, bench, chance = server_of(patient), Bench(patient), random.Random("dns datagrams")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect((HOST, server.port))
        for n in range(SOME):
            udp.send(KINDS[n % len(KINDS)](chance, server))
        for size in (0, 1, 12, 65507):
            udp.send(chance.randbytes(size))
    assert server.serial() >= 1
    assert bench.entries("bug") == []


@pytest.mark.parametrize("count", [1, 9, 1 << 15])
def test_a_chain_of_pointers_ends(patient: Hosted, count: int) -> None:
    head = struct.pack("!6H", 1, 0, 1, 0, 0, 0)
    chain = b"".join(struct.pack("!H", 0xC000 | max(12, 12 + 2 * n - 2) & 0x3FFF) for n in range(count))
    answer = server_of(patient).send_bytes((head + chain)[:65535])
    assert answer[3] & 15 == dns.rcode.FORMERR
