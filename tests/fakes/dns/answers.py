"""Rows about malformed messages and about what is read.

Every row works at names of its own, so that one server can be asked all of them.
"""

from __future__ import annotations

import struct
import time
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.update
import dns.zone

from tests.fakes.dns.asking import HOST, TIMEOUT_S, Server, sign_bytes
from tests.fakes.dns.rows import adding, key_of, raised, row

# --- malformed -------------------------------------------------------------------------------------------------------

A, TXT, ANY, AXFR, OPT = 1, 16, 255, 252, 41
CLASS_IN, CLASS_NONE, CLASS_ANY = 1, 254, 255
ADDRESS = bytes((192, 0, 2, 1))


def _record(rdtype: int, rdclass: int, ttl: int = 0, data: bytes = b"") -> bytes:
    return b"\x07row-raw\x07example\x00" + struct.pack("!HHIH", rdtype, rdclass, ttl, len(data)) + data


def _raw(server: Server, *, prerequisite: bytes = b"", change: bytes = b"") -> str:
    counts = (1, bool(prerequisite), bool(change), 0)
    wire = struct.pack("!6H", 77, 5 << 11, *counts) + b"\x07example\x00" + struct.pack("!HH", 6, CLASS_IN)
    unsigned = wire + prerequisite + change
    key, now_s = key_of(server), int(time.time())
    return dns.rcode.to_text(server.send_bytes(sign_bytes(unsigned, key, now_s))[3] & 15)


@row(dict.fromkeys(("ttl", "any-data", "none-data", "class"), "FORMERR"))
def a_malformed_prerequisite(server: Server) -> Any:
    return {
        "ttl": _raw(server, prerequisite=_record(ANY, CLASS_ANY, 5)),
        "any-data": _raw(server, prerequisite=_record(A, CLASS_ANY, 0, ADDRESS)),
        "none-data": _raw(server, prerequisite=_record(A, CLASS_NONE, 0, ADDRESS)),
        "class": _raw(server, prerequisite=_record(A, 7, 0, ADDRESS)),
    }


@row(
    dict.fromkeys(("any", "axfr", "opt", "data", "delete-axfr", "value-ttl", "value-any", "class", "short"), "FORMERR")
)
def a_malformed_change(server: Server) -> Any:
    return {
        "any": _raw(server, change=_record(ANY, CLASS_IN, 5)),
        "axfr": _raw(server, change=_record(AXFR, CLASS_IN, 5)),
        "opt": _raw(server, change=_record(OPT, CLASS_IN, 5)),
        "data": _raw(server, change=_record(A, CLASS_ANY, 0, ADDRESS)),
        "delete-axfr": _raw(server, change=_record(AXFR, CLASS_ANY)),
        "value-ttl": _raw(server, change=_record(A, CLASS_NONE, 5, ADDRESS)),
        "value-any": _raw(server, change=_record(ANY, CLASS_NONE)),
        "class": _raw(server, change=_record(A, 7, 0, ADDRESS)),
        "short": _raw(server, change=_record(A, CLASS_IN, 5, ADDRESS[:3])),
    }


@row("FORMERR")
def a_deletion_with_a_ttl(server: Server) -> Any:
    return _raw(server, change=_record(A, CLASS_ANY, 5))


@row("FORMERR")
def a_change_of_type_zero(server: Server) -> Any:
    return _raw(server, change=_record(0, CLASS_IN, 5))


@row(("NOERROR", [r"\# 3 616263"]))
def a_type_nobody_knows_is_kept_as_it_is(server: Server) -> Any:
    return _raw(server, change=_record(65400, CLASS_IN, 5, b"abc")), server.values("row-raw", "TYPE65400")


@row({"none": "FORMERR", "opcode": "NOTIMP", "status": "NOTIMP", "zones": "FORMERR", "type": "FORMERR"})
def a_header_that_asks_for_nothing_sensible(server: Server) -> Any:
    soa = b"\x07example\x00\x00\x06\x00\x01"

    def code(flags: int, count: int = 0, body: bytes = b"") -> str:
        wire = struct.pack("!6H", 7, flags, count, 0, 0, 0) + body
        return dns.rcode.to_text(server.send_datagram(wire)[3] & 15)

    return {
        "none": code(0),
        "opcode": code(9 << 11),
        "status": code(2 << 11, 1, soa),
        "zones": code(5 << 11),
        "type": code(5 << 11, 1, b"\x07example\x00\x00\x01\x00\x01"),
    }


@row(["TimeoutError", "TimeoutError"])
def a_response_and_a_scrap_are_not_answered(server: Server) -> Any:
    response = struct.pack("!6H", 7, 0x8000, 1, 0, 0, 0) + b"\x07example\x00\x00\x06\x00\x01"
    return [raised(lambda wire=wire: server.send_datagram(wire, timeout=0.1)) for wire in (response, b"abc")]


# --- reading ---------------------------------------------------------------------------------------------------------


def _seen(message: dns.message.Message) -> tuple[str, bool, list[str]]:
    is_authoritative = bool(message.flags & dns.flags.AA)
    return dns.rcode.to_text(message.rcode()), is_authoritative, [f"{s.name} {s.ttl}" for s in message.authority]


@row({"none": ("NXDOMAIN", True, ["example. 60"]), "type": ("NOERROR", True, ["example. 60"])})
def what_is_not_there_is_said_with_the_soa(server: Server) -> Any:
    server.send(adding(server, "row-there", "192.0.2.1"))
    return {"none": _seen(server.ask("row-not-there")), "type": _seen(server.ask("row-there", "TXT"))}


@row([True, True])
def the_primary_answers_with_authority_over_both_transports(server: Server) -> Any:
    server.send(adding(server, "row-aa", "192.0.2.1"))
    return [bool(server.ask("row-aa", over_udp=udp).flags & dns.flags.AA) for udp in (False, True)]


@row(("REFUSED", False, []))
def a_name_of_another_zone_is_refused(server: Server) -> Any:
    question = dns.message.make_query("www.other.", "A")
    return _seen(dns.query.tcp(question, HOST, port=server.port, timeout=TIMEOUT_S))


@row((["192.0.2.7"], [], ("NOERROR", True, ["example. 60"])))
def a_wildcard_answers_for_names_that_do_not_exist(server: Server) -> Any:
    server.send(adding(server, "*.row-wild", "192.0.2.7"))
    server.send(adding(server, "own.row-wild", '"own"', rdtype="TXT"))
    return server.values("any.row-wild"), server.values("own.row-wild"), _seen(server.ask("row-wild"))


@row((["row-chain.example. CNAME", "row-end.example. A"], ["row-chain-2.example. CNAME"], "NXDOMAIN"))
def an_alias_is_followed_within_the_zone(server: Server) -> Any:
    server.send(adding(server, "row-chain", "row-end", rdtype="CNAME"))
    server.send(adding(server, "row-end", "192.0.2.1"))
    server.send(adding(server, "row-chain-2", "row-no-end", rdtype="CNAME"))
    first, second = server.ask("row-chain"), server.ask("row-chain-2")
    named = [[f"{s.name} {dns.rdatatype.to_text(s.rdtype)}" for s in each.answer] for each in (first, second)]
    return *named, dns.rcode.to_text(second.rcode())


@row(("NOERROR", False, ["row-cut.example. 300"]))
def below_a_delegation_another_server_is_named(server: Server) -> Any:
    server.send(adding(server, "row-cut", "ns.other.", rdtype="NS"))
    return _seen(server.ask("www.row-cut"))


@row((True, True))
def an_answer_too_large_for_a_datagram_is_truncated(server: Server) -> Any:
    for n in range(8):
        server.send(adding(server, "row-large", f'"{n}{"x" * 200}"', rdtype="TXT"))
    truncated = server.ask("row-large", "TXT", over_udp=True)
    return bool(truncated.flags & dns.flags.TC), len(server.values("row-large", "TXT")) == 8


@row((True, "BADVERS"))
def extended_dns(server: Server) -> Any:
    def ask(version: int) -> dns.message.Message:
        question = dns.message.make_query(f"{server.zone}.", "SOA", use_edns=version)
        return dns.query.udp(question, HOST, port=server.port, timeout=TIMEOUT_S)

    return ask(0).edns == 0, dns.rcode.to_text(ask(1).rcode())


@row((True, True, "FORMERR"))
def the_whole_zone_can_be_transferred(server: Server) -> Any:
    server.send(adding(server, "row-axfr", "192.0.2.1"))
    zone = dns.zone.Zone(f"{server.zone}.")
    dns.query.inbound_xfr(HOST, zone, port=server.port, timeout=TIMEOUT_S)
    question = dns.message.make_query(f"{server.zone}.", "AXFR")
    refused = server.send_datagram(question.to_wire())
    serial = zone.get_soa().serial == server.serial()
    return serial, zone.get_rrset("row-axfr", "A") is not None, dns.rcode.to_text(refused[3] & 15)


@row(("NOERROR", "NOERROR"))
def names_that_make_little_sense_are_taken(server: Server) -> Any:
    """An address at what is no host name, and an exchange in the zone that has no address."""
    no_host = server.send(adding(server, "_row-host", "192.0.2.1"))
    return no_host, server.send(adding(server, "row-mail", "10 row-no-address", rdtype="MX"))
