"""The face with dnspython: what becomes an effect, what is durable, what is said to people, and what stays secret."""

from __future__ import annotations

import json
import socket
import struct
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.xfr
import dns.zone
import pytest
from pydantic import ValidationError

from fakes.dns.channel import CONNECTIONS_MAX
from fakes.dns.face import DnsFake
from fakes.dns.options import TEST_SECRET, DnsOptions
from fakes.wire.clock import MANUAL_START_NS, Clock
from fakes.wire.hosting import Hosted
from harness.model.cell import SECOND_NS
from tests.fakes.dns.asking import HOST, read_exactly, sign_bytes, signed_at
from tests.fakes.dns.bench import Bench, server_of

# --- effects ---------------------------------------------------------------------------------------------------------


def test_an_added_record_is_an_effect_of_the_operation_its_marker_names(bench: Bench) -> None:
    assert bench.add("WWW", operation="bill-1") == "NOERROR"
    (effect,) = bench.effects()
    told = {name: effect[name] for name in ("provider", "action", "target", "operation", "key", "delivery", "undoes")}
    assert told == {
        "provider": "dns",
        "action": "record.add",
        "target": "www.example",
        "operation": "bill-1",
        "key": "",
        "delivery": 1,
        "undoes": None,
    }
    assert bench.entries("effect")[0].call == bench.entries("arrived")[0].call
    (marker,) = bench.entries("marker")
    assert (marker.data["target"], marker.data["operation"]) == ("_op.www.example", "bill-1")


def test_without_a_marker_the_operation_is_not_said(bench: Bench) -> None:
    bench.add("www")
    assert bench.effects()[0]["operation"] == ""


def test_a_marker_may_stand_at_the_name_itself(bench: Bench) -> None:
    update = bench.primary.update()
    update.add("www", 300, "A", "192.0.2.1")
    update.add("www", 300, "TXT", '"op=bill-1"')
    assert bench.primary.send(update) == "NOERROR"
    assert [effect["operation"] for effect in bench.effects()] == ["bill-1"]


def test_replacing_a_value_removes_one_and_adds_one_at_the_price_of_one_serial(bench: Bench) -> None:
    bench.add("www")
    before = bench.primary.serial()
    update = bench.primary.update()
    update.replace("www", 300, "A", "192.0.2.2")
    bench.primary.send(update)
    first, removed, added = bench.effects()
    assert (removed["action"], removed["undoes"]) == ("record.remove", first["effect"])
    assert (added["action"], added["undoes"]) == ("record.add", None)
    assert bench.primary.serial() == before + 1


def test_a_removal_that_names_the_marker_is_the_undoing_of_its_operation(bench: Bench) -> None:
    bench.add("www", operation="bill-1")
    update = bench.primary.update()
    update.present("_op.www", "TXT", '"op=bill-1"')
    update.delete("www")
    update.delete("_op.www", "TXT", '"op=bill-1"')
    assert bench.primary.send(update) == "NOERROR"
    added, removed = bench.effects()
    assert (removed["action"], removed["operation"], removed["undoes"]) == (
        "record.remove",
        "undo.bill-1",
        added["effect"],
    )
    assert dns.rcode.to_text(bench.primary.ask("www").rcode()) == "NXDOMAIN"


def test_a_change_of_ttl_alone_is_no_effect_but_moves_the_serial(bench: Bench) -> None:
    bench.add("www", ttl=300)
    before = bench.primary.serial()
    update = bench.primary.update()
    update.add("www", 60, "A", "192.0.2.1")
    bench.primary.send(update)
    assert len(bench.effects()) == 1
    assert len(bench.entries("ttl-changed")) == 1
    assert bench.primary.serial() == before + 1


def test_what_changes_nothing_is_no_effect(bench: Bench) -> None:
    update = bench.primary.update()
    update.delete("never")
    assert bench.primary.send(update) == "NOERROR"
    assert bench.counted() == (1, 0, 1)


def test_only_the_primary_takes_updates(bench: Bench) -> None:
    update = bench.primary.update()
    update.add("www", 300, "A", "192.0.2.1")
    assert bench.secondary.send(update) == "REFUSED"
    assert bench.resolver.send(update) == "NOTIMP"
    assert bench.effects() == []


def test_the_usual_keyring_of_the_client_library_works_over_both_transports(bench: Bench) -> None:
    keyring = dns.tsigkeyring.from_text({bench.primary.key_name: bench.primary.secret})
    for n, send in enumerate((dns.query.tcp, dns.query.udp)):
        update = dns.update.Update("example", keyring=keyring, keyalgorithm="hmac-sha256")
        update.add(f"www{n}", 300, "A", "192.0.2.1")
        assert send(update, HOST, port=bench.primary.port, timeout=5).rcode() == dns.rcode.NOERROR
    assert len(bench.effects()) == 2


def test_a_signed_transfer_of_several_messages_is_whole(bench: Bench) -> None:
    update = bench.primary.update()
    for n in range(250):
        update.add(f"host-{n}", 300, "A", f"192.0.2.{n % 250}")
    assert bench.primary.send(update) == "NOERROR"
    zone = dns.zone.Zone("example.")
    query, _ = dns.xfr.make_query(zone, keyring=bench.primary.update().keyring)
    dns.query.inbound_xfr(HOST, zone, query, port=bench.primary.port, timeout=5)
    assert len([name for name in zone if name.to_text().startswith("host-")]) == 250
    assert zone.get_soa().serial == bench.primary.serial()


def test_an_incremental_transfer_is_answered_with_the_whole_zone_or_with_nothing_new(bench: Bench) -> None:
    zone = dns.zone.Zone("example.")
    dns.query.inbound_xfr(HOST, zone, port=bench.primary.port, timeout=5)
    query, _ = dns.xfr.make_query(zone)
    up_to_date = dns.query.tcp(query, HOST, port=bench.primary.port, timeout=5)
    assert len(up_to_date.answer) == 1
    bench.add("www")
    dns.query.inbound_xfr(HOST, zone, query, port=bench.primary.port, timeout=5)
    assert zone.get_rrset("www", "A") is not None


# --- streams ---------------------------------------------------------------------------------------------------------


def framed(wire: bytes) -> bytes:
    return struct.pack("!H", len(wire)) + wire


def test_messages_in_one_segment_and_in_single_bytes_are_answered_in_order(bench: Bench) -> None:
    wires = [dns.message.make_query("example.", "SOA", id=n).to_wire() for n in (1, 2, 3)]
    with socket.create_connection((HOST, bench.primary.port), timeout=5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(framed(wires[0]) + framed(wires[1]))
        for byte in framed(wires[2]):
            connection.sendall(bytes((byte,)))
        ids = []
        for _ in wires:
            (length,) = struct.unpack("!H", read_exactly(connection, 2))
            ids.append(dns.message.from_wire(read_exactly(connection, length)).id)
    assert ids == [1, 2, 3]


def test_half_a_message_is_no_arrival(bench: Bench) -> None:
    with socket.create_connection((HOST, bench.primary.port), timeout=5) as connection:
        connection.sendall(framed(bench.primary.update().to_wire())[:30])
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    assert len(bench.entries("torn")) == 1
    assert bench.counted() == (0, 0, 0)


def test_a_client_that_stopped_writing_still_gets_its_answer(bench: Bench) -> None:
    with socket.create_connection((HOST, bench.primary.port), timeout=5) as connection:
        connection.sendall(framed(dns.message.make_query("example.", "SOA").to_wire()))
        connection.shutdown(socket.SHUT_WR)
        (length,) = struct.unpack("!H", read_exactly(connection, 2))
        assert len(read_exactly(connection, length)) == length
        assert connection.recv(1) == b""


def test_a_connection_on_which_nothing_comes_is_closed() -> None:
    with Hosted(DnsFake, DnsOptions(idle_max_s=0.05)) as hosted:
        with socket.create_connection((HOST, hosted.places["dns"].port), timeout=5) as connection:
            assert connection.recv(1) == b""
        assert hosted.counts()["arrivals"] == 0


def test_more_than_the_buffer_holds_waits_until_it_is_read(bench: Bench) -> None:
    padded = dns.message.make_query("example.", "SOA").to_wire() + b"\x00" * 60_000
    hook = bench.arm("received = hang")
    with socket.create_connection((HOST, bench.primary.port), timeout=5) as connection:
        sending = threading.Thread(target=connection.sendall, args=(framed(padded) * 20,))
        sending.start()
        bench.hosted.wait_until_hanging(hook)
        bench.hosted.release(hook)
        for _ in range(20):
            (length,) = struct.unpack("!H", read_exactly(connection, 2))
            assert dns.message.from_wire(read_exactly(connection, length)).answer
        sending.join()


def test_one_connection_too_many_is_ended(bench: Bench) -> None:
    with ExitStack() as stack:
        at = (HOST, bench.primary.port)
        several = [stack.enter_context(socket.create_connection(at, timeout=5)) for _ in range(CONNECTIONS_MAX + 1)]
        question = framed(dns.message.make_query("example.", "SOA").to_wire())
        several[0].sendall(question)
        assert len(read_exactly(several[0], 2)) == 2
        with pytest.raises((ConnectionError, EOFError)):
            read_exactly(several[-1], 2)
    assert bench.primary.serial() >= 1


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_a_fake_that_is_hosted_again_on_its_folder_has_lost_nothing(tmp_path: Path) -> None:
    with Hosted(DnsFake, folder=tmp_path) as first:
        bench = Bench(first)
        bench.add("www", operation="bill-1")
        bench.add("old", "192.0.2.3")
        update = bench.primary.update()
        update.add("www", 60, "A", "192.0.2.2")
        update.delete("old")
        bench.primary.send(update)
        bench.resolver.ask("absent")
        seen = first.call(first.fake.view)
    with Hosted(DnsFake, folder=tmp_path) as second:
        bench = Bench(second)
        assert second.call(second.fake.view) == seen
        assert bench.primary.values("www") == ["192.0.2.1", "192.0.2.2"]
        assert bench.primary.ask("www").answer[0].ttl == 60
        bench.advance(4)
        bench.wait_for("transferred", 1)
        assert bench.secondary.serial() == bench.primary.serial()
        removal = bench.primary.update()
        removal.delete("www", "A", "192.0.2.2")
        assert bench.primary.send(removal) == "NOERROR"
        references = [effect["undoes"] for effect in bench.effects()]
        assert references == [record["reference"] for record in seen["records"] if record["value"] == "192.0.2.2"]


def test_a_snapshot_brings_the_old_state_back_and_stays_usable(bench: Bench) -> None:
    bench.add("www")
    hosted = bench.hosted
    kept = hosted.call(hosted.desk.snapshot)
    seen = hosted.call(hosted.fake.view)
    for _ in range(2):
        update = bench.primary.update()
        update.replace("www", 300, "A", "192.0.2.9")
        update.add("more", 300, "A", "192.0.2.9")
        bench.primary.send(update)
        assert bench.primary.values("more") == ["192.0.2.9"]
        hosted.call(lambda: hosted.desk.restore(kept))
        assert hosted.call(hosted.fake.view) == seen
        assert bench.primary.values("www") == ["192.0.2.1"]


def test_timers_of_a_past_that_was_taken_back_do_nothing(bench: Bench) -> None:
    hosted = bench.hosted
    kept = hosted.call(hosted.desk.snapshot)
    bench.add("gone")
    hosted.call(lambda: hosted.desk.restore(kept))
    before = bench.secondary.serial()
    bench.advance(4)
    assert bench.secondary.serial() == before
    assert dns.rcode.to_text(bench.secondary.ask("gone").rcode()) == "NXDOMAIN"


def _conversation(hosted: Hosted) -> list[bytes]:
    """The same bytes to every view, and what comes back."""
    server = server_of(hosted)
    key, time_s = server.update().keyring, MANUAL_START_NS // SECOND_NS
    assert key is not None
    answers = []
    for n in range(3):
        update = dns.update.UpdateMessage("example.", id=n)
        update.add("www", 300, "A", f"192.0.2.{n}")
        update.add("_op.www", 300, "TXT", f'"op=bill-{n}"')
        answers.append(server.send_bytes(signed_at(update, key, time_s)))
        question = dns.message.make_query("www.example.", "ANY", id=n).to_wire()
        answers += [server.at(hosted.places[view].port).send_datagram(question) for view in ("dns", "resolver")]
        answers.append(server.send_bytes(dns.message.make_query("example.", "AXFR", id=n).to_wire()))
        hosted.advance(SECOND_NS)
    return answers


def test_equal_requests_give_equal_bytes_under_a_manual_clock() -> None:
    told = []
    for _ in range(2):
        with Hosted(DnsFake, clock=Clock(is_manual=True)) as hosted:
            entries_after = _conversation(hosted)
            kinds = [(e.time_ns, e.kind, e.call, dict(e.data)) for e in hosted.entries()]
            told.append((entries_after, kinds))
    assert told[0] == told[1]


# --- what is said ----------------------------------------------------------------------------------------------------


def test_the_secret_is_in_the_entry_and_nowhere_else(bench: Bench) -> None:
    bench.add("www", operation="bill-1")
    hosted = bench.hosted
    assert hosted.host.entry()["tsig"]["secret"] == TEST_SECRET
    told = [json.dumps(hosted.call(hosted.fake.view)), repr(hosted.fake.options)]
    told += [repr(entry) for entry in hosted.entries()]
    told += [repr(document) for document in hosted.call(hosted.desk.snapshot)]
    assert not [text for text in told if TEST_SECRET in text or "not-a-secret" in text]


def test_the_entry_says_all_a_client_needs(bench: Bench) -> None:
    entry: dict[str, Any] = bench.hosted.host.entry()
    assert entry["zone"] == "example"
    assert entry["tsig"]["algorithm"] == "hmac-sha256"
    ports = {entry["port"], entry["secondary"]["port"], entry["resolver"]["port"]}
    assert len(ports) == 3
    assert entry["env"]["RFC2136_NAMESERVER"] == f"{entry['host']}:{entry['port']}"


def test_the_view_shows_whose_a_record_is(bench: Bench) -> None:
    bench.add("www", operation="bill-1")
    seen = bench.hosted.call(bench.hosted.fake.view)
    (record,) = [each for each in seen["records"] if each["name"] == "www.example"]
    assert (record["type"], record["value"], record["operation"]) == ("A", "192.0.2.1", "bill-1")
    assert seen["serial"] == seen["secondary"]["serial"] + 1


def test_a_status_has_a_code_of_its_own(bench: Bench) -> None:
    codes = {400: "FORMERR", 401: "NOTAUTH", 403: "REFUSED", 404: "NXDOMAIN", 429: "REFUSED", 500: "SERVFAIL"}
    codes |= {501: "NOTIMP", 503: "SERVFAIL", 200: "NOERROR"}
    for status, code in codes.items():
        bench.arm(f"before-commit = status:{status}")
        assert bench.add("www") == code
    assert bench.fired() == len(codes)
    assert bench.effects() == []


# --- options ---------------------------------------------------------------------------------------------------------


def test_a_server_whose_clock_is_wrong_answers_with_its_time() -> None:
    with Hosted(DnsFake, DnsOptions(clock_skew_s=1000)) as hosted:
        bench = Bench(hosted)
        with pytest.raises(dns.tsig.PeerBadTime):
            bench.add("www")
        assert bench.effects() == []


def test_a_late_cell_does_not_look_at_the_time_of_signatures() -> None:
    with Hosted(DnsFake, DnsOptions(cell="honoured.authoritative.late")) as hosted:
        server = server_of(hosted)
        update = server.update()
        update.add("www", 300, "A", "192.0.2.1")
        key = update.keyring
        assert key is not None
        answer = server.send_bytes(signed_at(update, key, 1))
        assert answer[3] & 15 == dns.rcode.NOERROR
        assert hosted.counts()["commits"] == 1


def test_a_zone_can_begin_with_records_that_are_nobodys_effect() -> None:
    options = DnsOptions(zone="shop.test", records=("www 60 A 192.0.2.5", "@ MX 10 mail"))
    with Hosted(DnsFake, options) as hosted:
        server = server_of(hosted)
        assert server.values("www") == ["192.0.2.5"]
        assert server.values("", "MX") == ["10 mail.shop.test."]
        assert hosted.counts()["commits"] == 0
        assert Bench(hosted).add("new") == "NOERROR"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"zone": "."}, "the root cannot be served"),
        ({"zone": "a..b"}, "no domain name"),
        ({"secret": "?secret?"}, "not base64"),
        ({"records": ("www A nonsense",)}, "no line of a zone file"),
        ({"records": ("@ SOA a b 1 2 3 4 5",)}, "no SOA"),
        ({"refresh": 5}, "refresh"),
    ],
)
def test_a_wrong_option_is_named_without_saying_a_secret(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as error:
        DnsOptions.model_validate(wrong)
    assert words in str(error.value)
    assert "?secret?" not in str(error.value)


def test_a_good_signature_does_not_help_a_malformed_message(bench: Bench) -> None:
    key = bench.primary.update().keyring
    assert key is not None
    wire = sign_bytes(struct.pack("!6H", 9, 5 << 11, 1, 0, 1, 0) + b"\x07example\x00\x00\x06\x00\x01\x01", key, 0)
    assert bench.primary.send_bytes(wire)[3] & 15 == dns.rcode.FORMERR


def test_a_server_says_nothing_of_a_message_it_cannot_read(bench: Bench) -> None:
    with pytest.raises(EOFError):
        bench.primary.send_bytes(b"abc")
    assert bench.counted() == (0, 0, 0)
