"""Every hook point of the DNS fake with a real client, over both transports: what the caller sees, and what was counted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import dns.exception
import dns.message
import dns.query
import dns.rcode
import pytest

from tests.fakes.dns.asking import HOST, Server
from tests.fakes.dns.bench import Bench

SHORT_S = 0.15
"""How long a client waits for an answer that will not come."""


def sent(server: Server, name: str = "www", *, over_udp: bool = False, timeout: float = 5.0) -> str:
    """Add an address under the prerequisite that the name is free; the code, or what the client raises."""
    update = server.update()
    update.absent(name)
    update.add(name, 300, "A", "192.0.2.1")
    try:
        return server.send_udp(update, timeout=timeout) if over_udp else server.send(update, timeout=timeout)
    except (dns.exception.DNSException, OSError, EOFError) as error:
        return type(error).__name__


LOST = "ConnectionResetError"
CUT = "EOFError"

OVER_TCP = [
    # hook, what the caller sees, (arrivals, commits, responses)
    ("connect = reset", LOST, (0, 0, 0)),
    ("received = reset", LOST, (1, 0, 0)),
    ("received = fin", CUT, (1, 0, 0)),
    ("received = status:503", "SERVFAIL", (1, 0, 1)),
    ("parsed = fin", CUT, (1, 0, 0)),
    ("parsed = status:403", "REFUSED", (1, 0, 1)),
    ("key-claimed = reset", LOST, (1, 0, 0)),
    ("before-commit = reset", LOST, (1, 0, 0)),
    ("before-commit = fin", CUT, (1, 0, 0)),
    ("before-commit = status:500", "SERVFAIL", (1, 0, 1)),
    ("after-commit = reset", LOST, (1, 1, 0)),
    ("after-commit = fin", CUT, (1, 1, 0)),
    ("after-commit = status:500", "SERVFAIL", (1, 1, 1)),
    ("after-commit = status:501", "NOTIMP", (1, 1, 1)),
    ("responding = reset", LOST, (1, 1, 0)),
    ("responding = fin", CUT, (1, 1, 0)),
    ("responding = truncate:0", CUT, (1, 1, 0)),
    ("responding = truncate:1", CUT, (1, 1, 0)),
    ("responding = truncate:2", CUT, (1, 1, 0)),
    ("responding = truncate:20", CUT, (1, 1, 0)),
    ("responding = truncate:20:reset", LOST, (1, 1, 0)),
    ("responded = fin", "NOERROR", (1, 1, 1)),
    ("responding = pass", "NOERROR", (1, 1, 1)),
]


@pytest.mark.parametrize(("hook", "seen", "counted"), OVER_TCP, ids=[hook for hook, _, _ in OVER_TCP])
def test_a_fault_on_a_stream(bench: Bench, hook: str, seen: str, counted: tuple[int, int, int]) -> None:
    bench.arm(hook)
    assert sent(bench.primary) == seen
    assert bench.fired() == 1
    assert bench.counted() == counted


def test_a_connection_closed_as_it_was_accepted_ends_either_way(bench: Bench) -> None:
    """What the client had sent already was never read, so its end of the connection may hear RST instead of FIN."""
    bench.arm("connect = fin")
    assert sent(bench.primary) in (LOST, CUT, "BrokenPipeError")
    assert bench.fired() == 1
    assert bench.counted() == (0, 0, 0)


@pytest.mark.parametrize("point", ["received", "before-commit", "after-commit", "responding"])
def test_silence_looks_the_same_before_and_after_the_commit(bench: Bench, point: str) -> None:
    hook = bench.arm(f"{point} = hang")
    assert sent(bench.primary, timeout=SHORT_S) == "Timeout"
    assert bench.fired() == 1
    assert bench.counted() == (1, int(point in ("after-commit", "responding")), 0)
    assert bench.hosted.release(hook) == 1


@pytest.mark.parametrize("fault", ["reset", "fin"])
def test_a_lost_request_and_a_lost_response_raise_the_same(bench: Bench, fault: str) -> None:
    bench.arm(f"before-commit = {fault}")
    never_done = sent(bench.primary)
    bench.arm(f"after-commit = {fault}")
    done = sent(bench.primary)
    assert never_done == done
    assert bench.counted() == (2, 1, 0)


def test_a_lost_response_over_a_stream_is_not_sent_again_by_the_client(bench: Bench) -> None:
    bench.arm("after-commit x9 = fin")
    assert sent(bench.primary) == CUT
    assert bench.counted() == (1, 1, 0)
    assert sent(bench.primary, "other") == CUT
    assert bench.counted() == (2, 2, 0)


def test_nobody_listens_at_a_closed_port(bench: Bench) -> None:
    with socket.socket() as reserved, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reserved_too:
        reserved.bind((HOST, 0))
        reserved_too.bind(reserved.getsockname())
        closed = bench.primary.at(reserved.getsockname()[1])
        assert sent(closed) == "ConnectionRefusedError"
    assert sent(closed, over_udp=True, timeout=SHORT_S) == "Timeout"
    assert bench.counted() == (0, 0, 0)


def test_an_action_for_datagrams_changes_nothing_on_a_stream_and_is_noted(bench: Bench) -> None:
    bench.arm("received = drop")
    bench.arm("responding = twice")
    assert sent(bench.primary) == "NOERROR"
    assert len(bench.entries("hook-failed")) == 2
    assert bench.counted() == (1, 1, 1)


OVER_UDP = [
    ("received = drop", "Timeout", (1, 0, 0)),
    ("received = reset", "Timeout", (1, 0, 0)),
    ("received = status:503", "SERVFAIL", (1, 0, 1)),
    ("before-commit = fin", "Timeout", (1, 0, 0)),
    ("after-commit = reset", "Timeout", (1, 1, 0)),
    ("responding = drop", "Timeout", (1, 1, 0)),
    ("responding = fin", "Timeout", (1, 1, 0)),
    ("responding = truncate:0", "Timeout", (1, 1, 0)),
    ("responding = truncate:15", "FormError", (1, 1, 0)),
    ("responding = twice", "NOERROR", (1, 1, 1)),
    ("responded = fin", "NOERROR", (1, 1, 1)),
]


@pytest.mark.parametrize(("hook", "seen", "counted"), OVER_UDP, ids=[hook for hook, _, _ in OVER_UDP])
def test_a_fault_on_a_datagram(bench: Bench, hook: str, seen: str, counted: tuple[int, int, int]) -> None:
    bench.arm(hook)
    assert sent(bench.primary, over_udp=True, timeout=SHORT_S if seen == "Timeout" else 5.0) == seen
    assert bench.fired() == 1
    assert bench.counted() == counted


def test_a_doubled_request_is_two_arrivals_and_the_second_finds_the_name_taken(bench: Bench) -> None:
    bench.arm("received = twice")
    update = bench.primary.update()
    update.absent("www")
    update.add("www", 300, "A", "192.0.2.1")
    codes = answers_of(bench.primary, update.to_wire(), 2)
    assert codes == ["NOERROR", "YXDOMAIN"]
    assert bench.fired() == 1
    assert bench.counted() == (2, 1, 2)
    assert [entry.data["delivery"] for entry in bench.entries("arrived")] == [1, 2]


def test_a_doubled_request_without_prerequisite_changes_nothing_the_second_time(bench: Bench) -> None:
    bench.arm("received = twice")
    update = bench.primary.update()
    update.add("www", 300, "A", "192.0.2.1")
    assert answers_of(bench.primary, update.to_wire(), 2) == ["NOERROR", "NOERROR"]
    assert bench.counted() == (2, 1, 2)


def test_a_doubled_response_comes_twice(bench: Bench) -> None:
    bench.arm("responding = twice")
    wire = dns.message.make_query("example.", "SOA").to_wire()
    assert answers_of(bench.primary, wire, 2) == ["NOERROR"] * 2
    assert bench.counted() == (1, 0, 1)


def test_a_late_datagram_overwrites_what_was_done_meanwhile(bench: Bench) -> None:
    """A lost update: the caller gave up, somebody wrote the newer value, and then the old request is applied."""
    bench.arm("received = late:10s")
    late = bench.primary.update()
    late.replace("www", 300, "A", "192.0.2.1")
    with pytest.raises(dns.exception.Timeout):
        bench.primary.send_udp(late, timeout=SHORT_S)
    newer = bench.primary.update()
    newer.replace("www", 300, "A", "192.0.2.2")
    assert bench.primary.send_udp(newer) == "NOERROR"
    bench.advance(10)
    bench.wait_for("responded", 2)
    assert bench.primary.values("www") == ["192.0.2.1"]
    assert bench.fired() == 1


def test_a_datagram_later_than_its_signature_holds_is_not_applied(bench: Bench) -> None:
    bench.arm("received = late:15m")
    assert sent(bench.primary, over_udp=True, timeout=SHORT_S) == "Timeout"
    bench.advance(15 * 60)
    bench.wait_for("responded", 1)
    assert bench.entries("responded")[-1].data["code"] == "NOTAUTH"
    assert bench.counted() == (1, 0, 1)


def test_a_late_response_comes_after_a_later_one(bench: Bench) -> None:
    """Reordered: the client that waits for the first one sees the answer to its second question before."""
    bench.arm("responding = late:5s")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(5)
        udp.connect((HOST, bench.primary.port))
        for id_ in (1, 2):
            question = dns.message.make_query("example.", "SOA", id=id_)
            udp.send(question.to_wire())
        first = dns.message.from_wire(udp.recv(4096)).id
        bench.advance(5)
        second = dns.message.from_wire(udp.recv(4096)).id
    assert (first, second) == (2, 1)
    assert bench.fired() == 1


def test_a_lost_datagram_is_not_sent_again_by_the_client_library(bench: Bench) -> None:
    bench.arm("responding x9 = drop")
    assert sent(bench.primary, over_udp=True, timeout=SHORT_S) == "Timeout"
    assert bench.counted() == (1, 1, 0)


@pytest.mark.parametrize("over_udp", [False, True], ids=["tcp", "udp"])
def test_the_retry_after_a_lost_response_looks_like_a_conflict_and_the_marker_tells_whose(
    bench: Bench, over_udp: bool
) -> None:
    bench.arm("after-commit = fin")
    update = bench.primary.update()
    update.absent("www")
    update.add("www", 300, "A", "192.0.2.1")
    update.add("_op.www", 300, "TXT", '"op=bill-1"')
    send = bench.primary.send_udp if over_udp else bench.primary.send
    with pytest.raises((EOFError, dns.exception.Timeout)):
        send(update, timeout=SHORT_S)
    assert send(update) == "YXDOMAIN"
    assert bench.counted() == (2, 1, 1)
    assert bench.primary.values("_op.www", "TXT") == ['"op=bill-1"']


def test_reads_can_fail_too(bench: Bench) -> None:
    for hook, check in READ_FAULTS:
        bench.arm(hook)
        check(bench.primary)
    assert bench.fired() == len(READ_FAULTS)


def test_a_hook_can_wait_for_one_view(bench: Bench) -> None:
    bench.arm('read line="*at resolver" = status:503')
    codes = [dns.rcode.to_text(s.ask("www").rcode()) for s in (bench.primary, bench.secondary, bench.resolver)]
    assert codes == ["NXDOMAIN", "NXDOMAIN", "SERVFAIL"]
    assert bench.fired() == 1


def _raises(kind: type[BaseException]) -> Callable[[Server], None]:
    def check(server: Server) -> None:
        with pytest.raises(kind):
            server.ask("www")

    return check


def _is_code(code: str) -> Callable[[Server], None]:
    def check(server: Server) -> None:
        assert dns.rcode.to_text(server.ask("www").rcode()) == code

    return check


READ_FAULTS = [
    ("read = reset", _raises(ConnectionResetError)),
    ("read = fin", _raises(EOFError)),
    ("read = status:503", _is_code("SERVFAIL")),
    ("read = status:404", _is_code("NXDOMAIN")),
    ("parsed = status:429", _is_code("REFUSED")),
]


# --- held, and somebody else -----------------------------------------------------------------------------------------


def test_two_updates_held_before_the_commit_meet_at_their_prerequisites(bench: Bench) -> None:
    hook = bench.arm("before-commit x2 = hang")
    codes: list[str] = []
    threads = [threading.Thread(target=lambda: codes.append(sent(bench.primary))) for _ in range(2)]
    for thread in threads:
        thread.start()
    bench.hosted.wait_until_hanging(hook, 2)
    assert bench.hosted.release(hook) == 2
    for thread in threads:
        thread.join()
    assert sorted(codes) == ["NOERROR", "YXDOMAIN"]
    assert bench.counted() == (2, 1, 2)


def test_a_competitor_takes_the_name_first(bench: Bench) -> None:
    bench.arm("before-commit target=www.example = compete:take")
    assert bench.add("www", operation="bill-1") == "YXDOMAIN"
    (effect,) = bench.effects()
    assert (effect["operation"], effect["target"], bench.entries("effect")[0].call) == ("outside", "www.example", "")
    assert bench.primary.values("_op.www", "TXT") == ['"op=outside"']


def test_a_competitor_changes_the_value_first(bench: Bench) -> None:
    bench.add("www")
    bench.arm("before-commit = compete:change")
    update = bench.primary.update()
    update.present("www", "A", "192.0.2.1")
    update.replace("www", 300, "A", "192.0.2.2")
    assert bench.primary.send(update) == "NXRRSET"
    assert bench.primary.values("www") == ["192.0.2.66"]


def test_a_competitor_removes_the_name_first(bench: Bench) -> None:
    bench.add("www", operation="bill-1")
    bench.arm("before-commit = compete:remove")
    update = bench.primary.update()
    update.present("www")
    update.delete("www")
    assert bench.primary.send(update) == "NXDOMAIN"
    added, removed = bench.effects()
    assert (removed["action"], removed["undoes"], removed["operation"]) == ("record.remove", added["effect"], "outside")
    assert [entry.data["effect"] for entry in bench.entries("drifted")] == [removed["effect"]]


@pytest.mark.parametrize("what", ["take", "change", "remove"])
def test_a_competitor_that_finds_nothing_to_do_is_noted(bench: Bench, what: str) -> None:
    name = "www"
    if what == "take":
        bench.add(name)
    bench.arm(f"before-commit = compete:{what}")
    update = bench.primary.update()
    update.add(name, 300, "A", "192.0.2.1")
    assert bench.primary.send(update) == "NOERROR"
    assert len(bench.entries("hook-failed")) == 1


def test_an_unknown_competitor_is_noted(bench: Bench) -> None:
    bench.arm("before-commit = compete:nobody")
    assert bench.add("www") == "NOERROR"
    (failed,) = bench.entries("hook-failed")
    assert "take, change, remove" in failed.data["error"]


def test_a_hook_can_wait_for_action_target_and_operation(bench: Bench) -> None:
    bench.arm("after-commit what=record.remove target=b.example operation=undo.one = fin")
    for name in ("a", "b"):
        bench.add(name, operation="one")
    for name, is_hit in (("a", False), ("b", True)):
        update = bench.primary.update()
        update.delete(name)
        update.delete(f"_op.{name}", "TXT", '"op=one"')
        if is_hit:
            with pytest.raises(EOFError):
                bench.primary.send(update)
        else:
            assert bench.primary.send(update) == "NOERROR"
    assert bench.fired() == 1


def test_every_point_of_an_update_is_crossed_in_order(bench: Bench) -> None:
    points = [
        "connect",
        "received",
        "parsed",
        "key-claimed",
        "before-commit",
        "after-commit",
        "responding",
        "responded",
    ]
    for point in points:
        bench.arm(f"{point} = pass")
    assert bench.add("www") == "NOERROR"
    bench.wait_for("hook-fired", len(points))
    assert [entry.data["point"] for entry in bench.entries("hook-fired")] == points
    order = [entry.kind for entry in bench.entries() if entry.kind in ("arrived", "effect", "responded")]
    assert order == ["arrived", "effect", "responded"]


def test_every_point_of_a_query_is_crossed_in_order(bench: Bench) -> None:
    points = ["received", "parsed", "read", "responding", "responded"]
    for point in points:
        bench.arm(f"{point} = pass")
    bench.primary.ask("www", over_udp=True)
    bench.wait_for("hook-fired", len(points))
    assert [entry.data["point"] for entry in bench.entries("hook-fired")] == points


def answers_of(server: Server, wire: bytes, count: int) -> list[str]:
    """Send one datagram, and the codes of so many answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(5)
        udp.connect((HOST, server.port))
        udp.send(wire)
        return [dns.rcode.to_text(udp.recv(4096)[3] & 15) for _ in range(count)]
