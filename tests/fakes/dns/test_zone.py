"""The pure zone and the book on the kernel: what cannot be seen from outside, and what must agree inside."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.update
import dns.zone
import pytest
from dns.rdatatype import RdataType

from fakes.core.rows import NEVER
from fakes.dns.answers import look_up
from fakes.dns.book import Book, Cause
from fakes.dns.markers import markers_of
from fakes.dns.options import DnsOptions
from fakes.dns.records import (
    ANY_CLASS,
    IN,
    NONE_CLASS,
    Asked,
    marker_of,
    name_of,
    rdata_of,
    subject_of,
    text_of,
    type_of,
    value_of,
)
from fakes.dns.zone import Plan, Zone, is_newer, next_serial, plan_update
from fakes.wire.shelf import Shelf
from harness.model.cell import Cell
from tests.fakes.dns.asking import HOST, TIMEOUT_S, Server
from tests.fakes.dns.conftest import Servers


def asked(name: str, rdtype: str, rdclass: int, value: str | None = None, ttl: int = 300) -> Asked:
    kind = type_of(rdtype)
    rdata = None if value is None else rdata_of(kind, value)
    return Asked(name_of(f"{name}.example"), kind, rdclass, ttl if rdclass == IN else 0, rdata)


class Made:
    """A book outside of any fake, its time set by the test."""

    def __init__(self) -> None:
        self.now_ns = 1000
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.shelf = Shelf()
        self.book = Book(
            Cell(),
            DnsOptions().beginning(),
            self.shelf,
            now=lambda: self.now_ns,
            record=lambda kind, where, data: self.notes.append((kind, dict(data))),
            later=_never,
        )
        self.book.load(())

    def change(self, *changes: Asked) -> Plan:
        plan = plan_update(self.book.zone, changes)
        if plan.soa is not None:
            self.book.carry_out(plan, Cause("dns-1", 1, markers_of(changes)))
        return plan


def _never(delay_ns: int, action: Callable[[], None]) -> None:
    raise AssertionError("nothing is settled later here")


def contents(zone: Zone) -> list[tuple[str, int, int, str]]:
    return sorted((text_of(r.name), int(r.rdtype), r.ttl, value_of(r.rdata)) for r in zone.records())


# --- serials ---------------------------------------------------------------------------------------------------------


def test_serials_go_round_and_leave_out_zero() -> None:
    assert [next_serial(n) for n in (1, 0xFFFFFFFE, 0xFFFFFFFF)] == [2, 0xFFFFFFFF, 1]
    assert is_newer(1, 0xFFFFFFFF)
    assert not is_newer(0xFFFFFFFF, 1)
    assert not is_newer(7, 7)


def test_a_serial_at_its_end_goes_on_from_one() -> None:
    made = Made()
    soa = "ns1.example. hostmaster.example. {} 3600 600 604800 60"
    for serial in (0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF):
        made.change(Asked(name_of("example"), RdataType.SOA, IN, 300, rdata_of(RdataType.SOA, soa.format(serial))))
    assert made.book.serial == 0xFFFFFFFF
    made.change(asked("www", "A", IN, "192.0.2.1"))
    assert made.book.serial == 1


# --- markers and values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "is_removal", "operation"),
    [
        ((), False, ""),
        ((asked("_op.www", "TXT", IN, '"op=a"'),), False, "a"),
        ((asked("www", "TXT", IN, '"op=a"'),), False, "a"),
        ((asked("_OP.WWW", "TXT", IN, '"op=a"'),), False, "a"),
        ((asked("_op.other", "TXT", IN, '"op=a"'),), False, "a"),
        ((asked("_op.other", "TXT", IN, '"op=a"'), asked("_op.third", "TXT", IN, '"op=b"')), False, ""),
        ((asked("_op.www", "TXT", IN, '"op=a"'), asked("_op.third", "TXT", IN, '"op=b"')), False, "a"),
        ((asked("_op.www", "TXT", IN, '"op=" "a"'),), False, "a"),
        ((asked("_op.www", "TXT", IN, '"other"'),), False, ""),
        ((asked("_op.www", "TXT", NONE_CLASS, '"op=a"'),), True, "undo.a"),
        ((asked("_op.www", "TXT", NONE_CLASS, '"op=a"'),), False, ""),
        ((asked("_op.www", "TXT", ANY_CLASS),), True, ""),
        ((asked("_op.www", "TXT", NONE_CLASS, '"op=a"'), asked("_op.www", "TXT", IN, '"op=b"')), True, "b"),
    ],
)
def test_whose_operation_a_change_is(changes: Sequence[Asked], is_removal: bool, operation: str) -> None:
    assert markers_of(changes).operation(name_of("www.example"), is_removal=is_removal) == operation


def test_an_endless_marker_is_none() -> None:
    assert marker_of(rdata_of(RdataType.TXT, f'"op={"x" * 190}"')) == "x" * 190
    assert marker_of(rdata_of(RdataType.TXT, f'"op={"x" * 198}"')) is None
    assert subject_of(name_of("_op")) == name_of("_op").parent()


@pytest.mark.parametrize(
    ("rdtype", "value"),
    [("A", "192.0.2.1"), ("MX", "10 mail.example."), ("TXT", r'"a\"b" "\000\255"'), ("TYPE65400", r"\# 3 616263")],
)
def test_a_value_in_a_row_gives_the_value_back(rdtype: str, value: str) -> None:
    rdata = rdata_of(type_of(rdtype), value)
    assert rdata_of(type_of(rdtype), value_of(rdata)) == rdata


def test_a_name_in_a_row_gives_the_name_back() -> None:
    name = name_of(r"A\.b\000.example")
    assert name_of(text_of(name)) == name


# --- the book --------------------------------------------------------------------------------------------------------


def _random_change(chance: random.Random) -> Asked:
    rdtype, values = chance.choice(
        (
            ("A", ("192.0.2.1", "192.0.2.2", "192.0.2.3")),
            ("TXT", ('"op=one"', '"op=two"', '"text"')),
            ("CNAME", ("x.example.", "X.EXAMPLE.", "y.example.")),
            ("MX", ("10 m.invalid.", "20 m.invalid.")),
        )
    )
    hosts = ("a", "b", "a.b", "*")
    name = chance.choice((*hosts, "_op.a") if rdtype == "TXT" else hosts)
    match chance.randrange(5):
        case 0 | 1:
            return asked(name, rdtype, IN, chance.choice(values), chance.choice((60, 300)))
        case 2:
            return asked(name, rdtype, NONE_CLASS, chance.choice(values))
        case 3:
            return asked(name, rdtype, ANY_CLASS)
        case _:
            return asked(name, "ANY", ANY_CLASS) if chance.random() < 0.3 else asked(name, rdtype, IN, values[0])


@pytest.mark.parametrize("seed", range(5))
def test_the_zone_and_the_rows_say_the_same_at_every_version(seed: int) -> None:
    chance, made = random.Random(seed), Made()
    was = {made.book.newest.number: (contents(made.book.zone), made.book.serial)}
    for _ in range(30):
        made.now_ns += chance.choice((0, 0, 5))
        serial = made.book.serial
        plan = made.change(*(_random_change(chance) for _ in range(chance.randrange(1, 4))))
        assert made.book.serial == serial + (plan.soa is not None)
        was[made.book.newest.number] = (contents(made.book.zone), made.book.serial)
        assert len(list(made.book.standing())) == len(contents(made.book.zone))
    assert len(was) > 10
    again = Made()
    again.book.load(list(made.book.take_changes()))
    for number, (records, serial) in was.items():
        for book in (made.book, again.book):
            version = book.version(number)
            assert version is not None
            assert (contents(book.zone_of(version)), book.zone_of(version).serial) == (records, serial)


@pytest.mark.parametrize("seed", range(3))
def test_every_removal_undoes_one_addition_once(seed: int) -> None:
    chance, made = random.Random(seed), Made()
    for _ in range(80):
        made.change(*(_random_change(chance) for _ in range(2)))
    effects = [data for kind, data in made.notes if kind == "effect"]
    added = {data["effect"] for data in effects if data["action"] == "record.add"}
    undone = [data["undoes"] for data in effects if data["action"] == "record.remove"]
    assert len(undone) > 10
    assert len(set(undone)) == len(undone)
    assert set(undone) <= added
    standing = {row.reference for record, row in made.book.standing() if marker_of(record.rdata) is None}
    beginning = {row.reference for row in made.book._table if row.operation == "outside"}
    assert standing - beginning == added - set(undone)
    assert made.book.commits == len(effects)


def test_two_changes_at_one_moment_have_moments_of_their_own() -> None:
    made = Made()
    made.change(asked("a", "A", IN, "192.0.2.1"))
    made.change(asked("a", "A", ANY_CLASS))
    moments = [version.at_ns for version in (made.book.version(n) for n in (1, 2, 3)) if version]
    assert moments == [1000, 1001, 1002]
    assert made.book.version_at(1001).number == 2
    assert made.book.version_at(0).number == 1
    assert made.book.version_at(NEVER).number == 3


def test_a_name_below_which_something_was_is_gone_with_the_last_of_it() -> None:
    made = Made()
    made.change(asked("deep.down", "A", IN, "192.0.2.1"))
    assert look_up(made.book.zone, name_of("down.example"), RdataType.A).rcode == dns.rcode.NOERROR
    made.change(asked("deep.down", "ANY", ANY_CLASS))
    assert look_up(made.book.zone, name_of("down.example"), RdataType.A).rcode == dns.rcode.NXDOMAIN


def test_an_alias_to_itself_ends() -> None:
    made = Made()
    made.change(asked("loop", "CNAME", IN, "loop.example."))
    answer = look_up(made.book.zone, name_of("loop.example"), RdataType.A)
    assert {found.name for found in answer.answer} == {name_of("loop.example")}
    assert len(answer.answer) == 1


# --- the same, and BIND ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.real("named")
@pytest.mark.parametrize("seed", range(3))
def test_random_updates_leave_the_fake_and_bind_with_the_same_zone(servers: Servers, seed: int) -> None:
    """Codes and steps of the serial after every message, and every record in the end."""
    chance = random.Random(f"bind {seed}")
    fake, bind = servers.get("fake"), servers.get("named")
    for _ in range(60):
        changes = [_random_change(chance) for _ in range(chance.randrange(1, 4))]
        wanted = [_random_change(chance) for _ in range(chance.randrange(2))]
        told = []
        for server in (fake, bind):
            before = server.serial()
            told.append((server.send(_message(server, changes, wanted)), server.serial() - before))
        assert told[0] == told[1], (changes, wanted)
    assert _records(fake) == _records(bind)


def _message(server: Server, changes: Sequence[Asked], wanted: Sequence[Asked]) -> dns.update.UpdateMessage:
    update = server.update()
    for each in wanted:
        update.present(each.name, each.rdtype if each.rdata is None else each.rdata)
    for each in changes:
        if each.rdclass == IN:
            update.add(each.name, each.ttl, each.rdata)
        elif each.rdata is not None:
            update.delete(each.name, each.rdata)
        elif each.rdtype == RdataType.ANY:
            update.delete(each.name)
        else:
            update.delete(each.name, each.rdtype)
    return update


def _records(server: Server) -> list[str]:
    zone = dns.zone.Zone(f"{server.zone}.", relativize=False)
    dns.query.inbound_xfr(HOST, zone, port=server.port, timeout=TIMEOUT_S)
    rows = [f"{name} {ttl} {rdata.to_text()}" for name, ttl, rdata in zone.iterate_rdatas()]
    return sorted(row for row in rows if " hostmaster." not in row)
