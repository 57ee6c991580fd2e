"""The three views: which one is an authority, how far the others lag, and what a cell makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import dns.flags
import dns.message
import dns.rcode
import pytest

from fakes.dns.face import DnsFake
from fakes.dns.options import DnsOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.dns.asking import Server
from tests.fakes.dns.bench import Bench


@pytest.fixture(scope="module")
def hosted() -> Iterator[tuple[Hosted, list[object]]]:
    """On a manual clock: lags and TTLs are exact."""
    with Hosted(DnsFake, clock=Clock(is_manual=True)) as running:
        yield running, running.call(running.desk.snapshot)


def code(server: Server, name: str, rdtype: str = "A") -> str:
    return dns.rcode.to_text(server.ask(name, rdtype).rcode())


def ttl(server: Server, name: str) -> int:
    return server.ask(name).answer[0].ttl


def replace(bench: Bench, name: str, value: str) -> None:
    update = bench.primary.update()
    update.replace(name, 300, "A", value)
    assert bench.primary.send(update) == "NOERROR"


def is_authority(message: dns.message.Message) -> bool:
    return bool(message.flags & dns.flags.AA)


def test_authorities_say_so_and_a_resolver_says_that_it_recurses(bench: Bench) -> None:
    bench.add("www")
    bench.advance(4)
    answers = [server.ask("www") for server in (bench.primary, bench.secondary, bench.resolver)]
    assert [is_authority(answer) for answer in answers] == [True, True, False]
    assert [bool(answer.flags & dns.flags.RA) for answer in answers] == [False, False, True]
    assert [len(answer.answer) for answer in answers] == [1, 1, 1]


def test_a_secondary_lags_and_answers_with_authority_all_the_same(bench: Bench) -> None:
    bench.add("www")
    bench.advance(3.5)
    answer = bench.secondary.ask("www")
    assert (dns.rcode.to_text(answer.rcode()), is_authority(answer)) == ("NXDOMAIN", True)
    bench.advance(0.1)
    assert bench.secondary.values("www") == ["192.0.2.1"]
    assert bench.secondary.serial() == bench.primary.serial()


def test_a_secondary_lags_behind_every_change_by_itself(bench: Bench) -> None:
    bench.add("www", "192.0.2.1")
    bench.advance(2)
    replace(bench, "www", "192.0.2.2")
    bench.advance(1.6)
    assert bench.secondary.values("www") == ["192.0.2.1"]
    bench.advance(2)
    assert bench.secondary.values("www") == ["192.0.2.2"]


def test_changes_of_one_moment_reach_the_secondary_when_its_lag_is_over(bench: Bench) -> None:
    for n in range(3):
        replace(bench, "www", f"192.0.2.{n}")
    bench.advance(3.6)
    assert bench.secondary.values("www") == ["192.0.2.2"]


def test_a_lost_notify_is_made_good_by_the_next_one(bench: Bench) -> None:
    bench.arm("event what=notify = drop")
    bench.add("one")
    bench.advance(4)
    assert bench.fired() == 1
    assert code(bench.secondary, "one") == "NXDOMAIN"
    bench.add("two")
    bench.advance(4)
    assert bench.secondary.values("one") == bench.secondary.values("two") == ["192.0.2.1"]


def test_a_lost_notify_is_made_good_by_the_refresh(bench: Bench) -> None:
    bench.arm("event = drop")
    bench.add("www")
    bench.advance(3599)
    assert (bench.fired(), code(bench.secondary, "www")) == (1, "NXDOMAIN")
    bench.advance(1)
    assert bench.secondary.values("www") == ["192.0.2.1"]
    assert bench.entries("transferred")[-1].data["why"] == "refresh"


def test_a_late_notify_does_not_take_the_secondary_back(bench: Bench) -> None:
    bench.arm("event = late:10s")
    replace(bench, "www", "192.0.2.1")
    bench.advance(1)
    replace(bench, "www", "192.0.2.2")
    bench.advance(4)
    assert bench.secondary.values("www") == ["192.0.2.2"]
    bench.advance(20)
    assert bench.secondary.values("www") == ["192.0.2.2"]
    assert bench.fired() == 1


def test_a_doubled_notify_is_one_transfer(bench: Bench) -> None:
    bench.arm("event = twice")
    bench.add("www")
    bench.advance(4)
    assert bench.secondary.values("www") == ["192.0.2.1"]
    assert (bench.fired(), len(bench.entries("transferred"))) == (1, 1)


def test_a_resolver_counts_down_and_keeps_the_old_value_for_its_ttl(bench: Bench) -> None:
    bench.add("www", ttl=300)
    assert ttl(bench.resolver, "www") == 300
    replace(bench, "www", "192.0.2.2")
    bench.advance(299)
    assert (bench.resolver.values("www"), ttl(bench.resolver, "www")) == (["192.0.2.1"], 1)
    bench.advance(1)
    assert (bench.resolver.values("www"), ttl(bench.resolver, "www")) == (["192.0.2.2"], 300)


def test_a_resolver_keeps_that_something_was_not_there(bench: Bench) -> None:
    assert code(bench.resolver, "www") == "NXDOMAIN"
    bench.add("www")
    bench.advance(59)
    assert code(bench.resolver, "www") == "NXDOMAIN"
    assert bench.primary.values("www") == ["192.0.2.1"]
    bench.advance(1)
    assert bench.resolver.values("www") == ["192.0.2.1"]


def test_a_resolver_keeps_each_type_by_itself(bench: Bench) -> None:
    bench.add("www")
    assert code(bench.resolver, "www", "TXT") == "NOERROR"
    assert bench.resolver.values("www") == ["192.0.2.1"]


def test_a_resolver_does_not_keep_what_has_no_ttl(bench: Bench) -> None:
    bench.add("www", ttl=0)
    assert ttl(bench.resolver, "www") == 0
    update = bench.primary.update()
    update.replace("www", 0, "A", "192.0.2.2")
    bench.primary.send(update)
    assert bench.resolver.values("www") == ["192.0.2.2"]


def test_a_resolver_asks_for_no_zone_but_ours_and_gives_no_transfer(bench: Bench) -> None:
    question = dns.message.make_query("www.other.", "A")
    assert dns.message.from_wire(bench.resolver.send_bytes(question.to_wire())).rcode() == dns.rcode.REFUSED
    transfer = dns.message.make_query("example.", "AXFR")
    assert dns.message.from_wire(bench.resolver.send_bytes(transfer.to_wire())).rcode() == dns.rcode.REFUSED


def test_a_stale_hook_shows_the_world_of_before(bench: Bench) -> None:
    replace(bench, "www", "192.0.2.1")
    bench.advance(10)
    replace(bench, "www", "192.0.2.2")
    bench.advance(10)
    bench.arm("read what=lookup target=www.example = stale:15s")
    assert bench.primary.values("www") == ["192.0.2.1"]
    assert bench.primary.values("www") == ["192.0.2.2"]
    assert bench.fired() == 1


def test_a_stale_hook_without_a_duration_shows_the_moment_it_was_armed(bench: Bench) -> None:
    bench.add("www")
    bench.arm("read x9 = stale")
    replace(bench, "www", "192.0.2.2")
    bench.advance(5)
    replace(bench, "www", "192.0.2.3")
    for server in (bench.primary, bench.secondary, bench.resolver):
        assert "192.0.2.3" not in server.values("www")
    assert bench.fired() == 3


def test_a_stale_view_has_the_ttl_of_its_time(bench: Bench) -> None:
    bench.add("www", ttl=300)
    bench.advance(10)
    update = bench.primary.update()
    update.add("www", 60, "A", "192.0.2.1")
    bench.primary.send(update)
    bench.advance(10)
    bench.arm("read = stale:15s")
    assert (ttl(bench.primary, "www"), ttl(bench.primary, "www")) == (300, 60)


def test_where_look_ups_are_eventual_the_primary_lags_and_its_prerequisites_do_not() -> None:
    options = DnsOptions(cell="honoured.eventual.prompt")
    with Hosted(DnsFake, options, clock=Clock(is_manual=True)) as hosted:
        bench = Bench(hosted)
        bench.advance(10)
        bench.add("www")
        answer = bench.primary.ask("www")
        assert (dns.rcode.to_text(answer.rcode()), is_authority(answer)) == ("NXDOMAIN", True)
        assert bench.add("www") == "YXDOMAIN"
        bench.advance(2)
        assert bench.primary.values("www") == ["192.0.2.1"]


def test_where_look_ups_are_absent_no_view_answers() -> None:
    with Hosted(DnsFake, DnsOptions(cell="honoured.absent.prompt")) as hosted:
        bench = Bench(hosted)
        assert bench.add("www") == "NOERROR"
        for server in (bench.primary, bench.secondary, bench.resolver):
            assert code(server, "www") == "REFUSED"
