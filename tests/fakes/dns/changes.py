"""Rows about updates: what they change, their prerequisites, what is done twice, and who may send them.

Every row works at names of its own, so that one server can be asked all of them.
"""

from __future__ import annotations

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

from tests.fakes.dns.asking import Server, signed_at
from tests.fakes.dns.rows import adding, key_of, moved, raised, replacing, row

# --- changes and the serial ------------------------------------------------------------------------------------------


@row((("NOERROR", 1), ["192.0.2.1"]))
def adding_moves_the_serial_by_one(server: Server) -> Any:
    return moved(server, adding(server, "row-add", "192.0.2.1")), server.values("row-add")


@row([("NOERROR", 1), ("NOERROR", 0)])
def adding_what_stands_is_nothing(server: Server) -> Any:
    return [moved(server, adding(server, "row-again", "192.0.2.1")) for _ in range(2)]


@row([("NOERROR", 1), ("NOERROR", 1), ("NOERROR", 0)])
def replacing_by_the_same_value_is_nothing(server: Server) -> Any:
    return [moved(server, replacing(server, "row-replace", f"192.0.2.{n}")) for n in (1, 2, 2)]


@row((("NOERROR", 1), [60]))
def a_change_of_ttl_alone_is_a_change(server: Server) -> Any:
    server.send(adding(server, "row-ttl", "192.0.2.1", 300))
    told = moved(server, adding(server, "row-ttl", "192.0.2.1", 60))
    return told, [rrset.ttl for rrset in server.ask("row-ttl").answer]


@row((["192.0.2.1", "192.0.2.2"], [90]))
def a_new_value_gives_its_ttl_to_the_whole_set(server: Server) -> Any:
    server.send(adding(server, "row-set", "192.0.2.1", 300))
    server.send(adding(server, "row-set", "192.0.2.2", 90))
    return server.values("row-set"), [rrset.ttl for rrset in server.ask("row-set").answer]


@row((("NOERROR", 1), ["192.0.2.2"]))
def deleting_a_value_leaves_the_others(server: Server) -> Any:
    for n in (1, 2):
        server.send(adding(server, "row-value", f"192.0.2.{n}"))
    update = server.update()
    update.delete("row-value", "A", "192.0.2.1")
    return moved(server, update), server.values("row-value")


@row((("NOERROR", 1), [], ['"kept"']))
def deleting_a_set_leaves_other_types(server: Server) -> Any:
    server.send(adding(server, "row-type", "192.0.2.1"))
    server.send(adding(server, "row-type", '"kept"', rdtype="TXT"))
    update = server.update()
    update.delete("row-type", "A")
    return moved(server, update), server.values("row-type"), server.values("row-type", "TXT")


@row((("NOERROR", 1), "NXDOMAIN"))
def deleting_a_name_takes_all_of_it(server: Server) -> Any:
    server.send(adding(server, "row-name", "192.0.2.1"))
    server.send(adding(server, "row-name", '"gone"', rdtype="TXT"))
    update = server.update()
    update.delete("row-name")
    return moved(server, update), dns.rcode.to_text(server.ask("row-name").rcode())


@row(("NOERROR", 0))
def deleting_what_is_not_there_is_nothing(server: Server) -> Any:
    update = server.update()
    update.delete("row-never")
    return moved(server, update)


@row(("NOERROR", 0))
def adding_and_deleting_in_one_message_is_nothing(server: Server) -> Any:
    update = adding(server, "row-both", "192.0.2.1")
    update.delete("row-both")
    return moved(server, update)


@row((("NOERROR", 10), ("NOERROR", 0), ("NOERROR", 0)))
def a_newer_soa_sets_the_serial_and_an_older_one_is_ignored(server: Server) -> Any:
    def soa(step: int) -> dns.update.UpdateMessage:
        told = f"ns1.{server.zone}. hostmaster.{server.zone}. {server.serial() + step} 3600 600 604800 60"
        return adding(server, "@", told, rdtype="SOA")

    return moved(server, soa(10)), moved(server, soa(0)), moved(server, soa(-3))


@row((("NOERROR", 0), ("NOERROR", 0), 2, 1))
def the_apex_keeps_its_soa_and_its_last_name_server(server: Server) -> Any:
    everything, servers, each = server.update(), server.update(), server.update()
    everything.delete("@")
    servers.delete("@", "NS")
    for host in ("ns1", "ns2"):
        each.delete("@", "NS", host)
    told = moved(server, everything), moved(server, servers)
    counted = len(server.values("", "NS"))
    server.send(each)
    left = len(server.values("", "NS"))
    server.send(adding(server, "@", "ns1", rdtype="NS"))
    return *told, counted, left


@row((("NOERROR", 0), ("NOERROR", 1), ("NOERROR", 1), ("NOERROR", 0), ["d.example."]))
def a_name_has_an_alias_or_other_data(server: Server) -> Any:
    server.send(adding(server, "row-data", "192.0.2.1"))
    return (
        moved(server, adding(server, "row-data", "b", rdtype="CNAME")),
        moved(server, adding(server, "row-alias", "b", rdtype="CNAME")),
        moved(server, adding(server, "row-alias", "d", rdtype="CNAME")),
        moved(server, adding(server, "row-alias", "192.0.2.1")),
        server.values("row-alias", "CNAME"),
    )


# --- prerequisites ---------------------------------------------------------------------------------------------------


def _under(server: Server, *prerequisite: str, is_present: bool) -> str:
    update = adding(server, "row-under", "192.0.2.9")
    (update.present if is_present else update.absent)(*prerequisite)
    return server.send(update)


@row({"name": ("NOERROR", "NXDOMAIN"), "set": ("NOERROR", "NXRRSET"), "value": ("NOERROR", "NXRRSET", "NXRRSET")})
def what_must_be_there(server: Server) -> Any:
    server.send(adding(server, "row-here", "192.0.2.1"))
    server.send(adding(server, "row-two", "192.0.2.1"))
    server.send(adding(server, "row-two", "192.0.2.2"))
    name = [_under(server, each, is_present=True) for each in ("row-here", "row-nowhere")]
    kind = [_under(server, "row-here", each, is_present=True) for each in ("A", "TXT")]
    one = [_under(server, "row-here", "A", each, is_present=True) for each in ("192.0.2.1", "192.0.2.2")]
    part = _under(server, "row-two", "A", "192.0.2.1", is_present=True)
    return {"name": tuple(name), "set": tuple(kind), "value": (*one, part)}


@row({"name": ("NOERROR", "YXDOMAIN"), "set": ("NOERROR", "YXRRSET")})
def what_must_not_be_there(server: Server) -> Any:
    server.send(adding(server, "row-taken", "192.0.2.1"))
    name = [_under(server, each, is_present=False) for each in ("row-free", "row-taken")]
    kind = [_under(server, "row-taken", each, is_present=False) for each in ("TXT", "A")]
    return {"name": tuple(name), "set": tuple(kind)}


@row((("NXDOMAIN", 0), [], ("NOERROR", 1)))
def one_prerequisite_that_fails_lets_nothing_happen(server: Server) -> Any:
    def update(other: str) -> dns.update.UpdateMessage:
        message = adding(server, "row-atomic", "192.0.2.1")
        message.absent("row-atomic")
        message.present(other)
        message.add("row-atomic-too", 300, "A", "192.0.2.2")
        return message

    refused = moved(server, update("row-missing")), server.values("row-atomic-too")
    return *refused, moved(server, update("@"))


@row(("NXDOMAIN", "NOERROR"))
def a_name_with_names_below_it_alone_is_not_in_use(server: Server) -> Any:
    server.send(adding(server, "deep.row-inner", "192.0.2.1"))
    return _under(server, "row-inner", is_present=True), _under(server, "row-inner", is_present=False)


# --- asked again -----------------------------------------------------------------------------------------------------


@row(["NOERROR", "YXDOMAIN"])
def a_retry_of_a_conditional_add_looks_like_a_conflict(server: Server) -> Any:
    """The first answer may have been lost: the second one is the same then."""

    def attempt() -> str:
        update = adding(server, "row-retry", "192.0.2.1")
        update.absent("row-retry")
        return server.send(update)

    return [attempt(), attempt()]


@row(["NOERROR", "NXRRSET"])
def a_retry_of_a_conditional_replace_looks_like_a_conflict(server: Server) -> Any:
    server.send(adding(server, "row-swap", "192.0.2.1"))

    def attempt() -> str:
        update = replacing(server, "row-swap", "192.0.2.2")
        update.present("row-swap", "A", "192.0.2.1")
        return server.send(update)

    return [attempt(), attempt()]


@row((["NOERROR"] * 3, ["192.0.2.1"]))
def the_same_bytes_again_are_a_new_update(server: Server) -> Any:
    """A, B, and the bytes of A once more: no replay is noticed, and the value of A is back."""
    first = replacing(server, "row-replay", "192.0.2.1").to_wire()
    second = replacing(server, "row-replay", "192.0.2.2").to_wire()
    codes = [dns.rcode.to_text(server.send_bytes(wire)[3] & 15) for wire in (first, second, first)]
    return codes, server.values("row-replay")


# --- who may ---------------------------------------------------------------------------------------------------------


def _signed_by(server: Server, key: dns.tsig.Key) -> dns.update.UpdateMessage:
    update = dns.update.UpdateMessage(f"{server.zone}.", keyring=key)
    update.add("row-key", 300, "A", "192.0.2.1")
    return update


@row(("PeerBadSignature", "PeerBadKey", []))
def a_wrong_key_is_told_from_an_unknown_one(server: Server) -> Any:
    wrong = dns.tsig.Key(server.key_name, "AAAA", dns.tsig.HMAC_SHA256)
    unknown = dns.tsig.Key("nobody", server.secret, dns.tsig.HMAC_SHA256)
    answers = [raised(lambda key=key: server.send(_signed_by(server, key))) for key in (wrong, unknown)]
    return *answers, server.values("row-key")


@row("REFUSED")
def an_unsigned_update_is_refused(server: Server) -> Any:
    update = server.update(is_signed=False)
    update.add("row-unsigned", 300, "A", "192.0.2.1")
    return server.send(update)


@row("REFUSED")
def an_unsigned_update_does_not_learn_about_prerequisites(server: Server) -> Any:
    update = server.update(is_signed=False)
    update.present("row-nowhere")
    update.add("row-unsigned", 300, "A", "192.0.2.1")
    return server.send(update)


@row(["PeerBadTime", "PeerBadTime", "none: NOERROR", []])
def a_signature_holds_for_its_fudge(server: Server) -> Any:
    key = dns.tsig.Key(server.key_name, server.secret, dns.tsig.HMAC_SHA256)

    def attempt(step_s: int, name: str) -> str:
        wire = signed_at(adding(server, name, "192.0.2.1"), key, int(time.time()) + step_s)
        mac = dns.message.from_wire(wire, keyring=False).mac

        def read() -> str:
            # A client's clock may be wrong too, so the library must only look at the answer's error.
            told = dns.message.from_wire(server.send_bytes(wire), keyring=key, request_mac=mac)
            return dns.rcode.to_text(told.rcode())

        return raised(read)

    return [*(attempt(s, "row-time") for s in (-1000, 1000)), attempt(-200, "row-near"), server.values("row-time")]


@row(("NOTZONE", "NOTZONE", "NOTAUTH"))
def what_is_not_in_the_zone_is_refused(server: Server) -> Any:
    outside = dns.name.from_text("x.other.")
    change, prerequisite = server.update(), adding(server, "row-out", "192.0.2.1")
    change.add(outside, 300, "A", "192.0.2.1")
    prerequisite.present(outside)
    other = dns.update.UpdateMessage("other.", keyring=key_of(server))
    other.add("a", 300, "A", "192.0.2.1")
    codes = [server.send(change), server.send(prerequisite)]
    wire = server.send_bytes(other.to_wire())
    return *codes, dns.rcode.to_text(wire[3] & 15)
