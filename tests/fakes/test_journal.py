"""The four counts: arrivals, commits, responses and what callers saw differ, and are told apart."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.core.journal import Counts, count
from harness.model.event import Event
from tests.fakes.stage import Stage, effect

CALL = {"call": "c-1"}


def events(*rows: tuple[str, str, Mapping[str, object]]) -> list[Event]:
    return [Event(n, 0, actor, kind, "", data) for n, (actor, kind, data) in enumerate(rows)]


SENT = ("w-1", "call-sent", {**CALL, "provider": "dns"})
ARRIVED = ("dns", "arrived", {**CALL, "delivery": 1})
COMMITTED = ("dns", "effect", {**CALL, "effect": "dns-1"})
RESPONDED = ("dns", "responded", {**CALL, "code": "ok"})
SAW = ("w-1", "caller-saw", {**CALL, "outcome": "ok"})


def test_undisturbed_call_counts_once_everywhere() -> None:
    assert count(events(SENT, ARRIVED, COMMITTED, RESPONDED, SAW)) == {"dns": Counts(1, 1, 1, 1)}


def test_lost_request_is_seen_by_its_caller_only() -> None:
    assert count(events(SENT, SAW)) == {"dns": Counts(caller_views=1)}


def test_caller_that_died_saw_nothing_of_what_was_answered() -> None:
    assert count(events(SENT, ARRIVED, COMMITTED, RESPONDED)) == {"dns": Counts(1, 1, 1, 0)}


def test_copied_request_arrives_twice_for_one_view() -> None:
    copied = count(events(SENT, ARRIVED, COMMITTED, RESPONDED, SAW, ARRIVED, RESPONDED))
    assert copied == {"dns": Counts(arrivals=2, commits=1, responses=2, caller_views=1)}


def test_change_by_an_outside_actor_is_nobodys_commit() -> None:
    outside = ("dns", "effect", {"call": "", "effect": "dns-2"})
    assert count(events(ARRIVED, COMMITTED, RESPONDED, outside))["dns"].commits == 1


def test_outcome_of_a_call_that_was_never_sent_belongs_to_no_provider() -> None:
    assert count(events(SAW)) == {"": Counts(caller_views=1)}


def test_endpoints_are_counted_apart() -> None:
    elsewhere = ("email", "arrived", {"call": "c-2", "delivery": 1})
    assert count(events(ARRIVED, elsewhere)) == {"dns": Counts(arrivals=1), "email": Counts(arrivals=1)}


def test_journal_indexes_events_without_gaps_and_stamps_the_time(stage: Stage) -> None:
    stage.send(stage.provider(), effect())
    stage.pass_ns(5)
    stage.send(stage.provider(), effect())
    assert [event.index for event in stage.journal.events] == list(range(6))
    assert [event.time_ns for event in stage.journal.events] == [0, 0, 0, 5, 5, 5]
