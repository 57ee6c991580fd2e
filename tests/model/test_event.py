"""Histories: what fired is found, and a history without an end says so."""

from __future__ import annotations

from harness.model.event import Event, Header, History

HEADER = Header(1, {}, "pair:seed=0:", 0, "candidate", "simulation", {})
FIRED = Event(0, 0, "rig", "fault-fired", "pair/first/attempt-1/sent", {"fault": "crash"})
ENDED = Event(1, 5, "rig", "run-ended", "", {"cut_short": ""})
CUT = Event(1, 5, "rig", "run-ended", "", {"cut_short": "crossings"})


def test_a_fault_has_fired_only_at_its_own_boundary() -> None:
    history = History(HEADER, [FIRED, ENDED])
    assert history.has_fired("crash", FIRED.where)
    assert not history.has_fired("crash", "pair/second/attempt-1/sent")
    assert not history.has_fired("lost-request", FIRED.where)


def test_an_armed_fault_has_not_fired() -> None:
    assert not History(HEADER, [FIRED._replace(kind="fault-armed"), ENDED]).has_fired("crash", FIRED.where)


def test_events_of_some_kinds_keep_their_order() -> None:
    assert History(HEADER, [FIRED, ENDED]).of_kind("run-ended", "fault-fired") == [FIRED, ENDED]


def test_a_history_says_why_it_was_cut_short() -> None:
    assert History(HEADER, [FIRED, ENDED]).cut_short == ""
    assert History(HEADER, [FIRED, CUT]).cut_short == "crossings"
    assert History(HEADER, [FIRED]).cut_short == "the history has no end"
    assert History(HEADER, []).cut_short == "the history has no end"
