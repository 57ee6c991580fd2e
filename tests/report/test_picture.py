"""The time-space picture, as a value and as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from harness.model.event import Event
from harness.model.verdict import Outcome, Verdict
from harness.report import picture, svg
from harness.report.picture import LaneKind, Picture, Shape
from tests.report import examples
from tests.report.examples import Recorder

REQUEST = {"operation": "a", "provider": "billing", "action": "charge", "purpose": "effect", "target": "T"}
CALL = "w/a/attempt-1"


def _failing() -> Picture:
    events = examples.failing_events()
    return picture.draw(events, examples.failing_verdicts(events))


def _drawn(log: Recorder) -> Picture:
    return picture.draw(log.events, [Verdict("settles", Outcome.UNKNOWN, (), "cut short", "a")])


def test_lanes_are_workers_then_ledger_then_providers() -> None:
    assert [lane.name for lane in _failing().lanes] == ["worker-1", "worker-2", "ledger", "billing", "dns"]


def test_people_have_a_lane_when_they_act() -> None:
    log = Recorder()
    log.add(1, "person", "cancelled", version=1)
    assert [lane.kind for lane in _drawn(log).lanes] == [LaneKind.PEOPLE]


def test_a_lost_response_is_a_broken_arrow_and_its_neighbour_is_whole() -> None:
    answers = [arrow for arrow in _failing().arrows if arrow.answer]
    assert [arrow.lost for arrow in answers] == [True, False, False, False]


def test_a_request_that_never_arrives_is_a_broken_arrow_to_its_provider() -> None:
    log = Recorder()
    log.add(1, "worker-1", "call-sent", CALL, call=CALL, **REQUEST)
    log.add(9, "worker-1", "caller-saw", CALL, call=CALL, outcome="indefinite", code="timeout")
    image = _drawn(log)
    (arrow,) = image.arrows
    assert arrow.lost
    assert not arrow.answer
    assert image.lanes[arrow.to_lane].name == "billing"


def test_an_error_the_provider_sent_is_an_answer_that_came() -> None:
    log = Recorder()
    log.call(1, "worker-1", CALL, **REQUEST)
    log.add(5, "billing", "responded", CALL, call=CALL, code="internal-error")
    log.add(6, "worker-1", "caller-saw", CALL, call=CALL, outcome="indefinite", code="internal-error")
    assert [arrow.lost for arrow in _drawn(log).arrows] == [False, False]


def test_each_copy_of_a_request_has_its_arrow() -> None:
    log = Recorder()
    log.call(1, "worker-1", CALL, **REQUEST)
    log.add(5, "billing", "arrived", CALL, call=CALL, delivery=2)
    assert len([arrow for arrow in _drawn(log).arrows if not arrow.answer]) == 2


def test_the_first_broken_moment_is_where_the_first_violation_is_complete() -> None:
    events = examples.failing_events()
    image = picture.draw(events, examples.failing_verdicts(events))
    (mark,) = [mark for mark in image.marks if mark.row == image.broken_row]
    assert events[mark.event].kind == "call-sent"
    assert events[mark.event].where == examples.CALL + "2"


def test_without_a_violation_nothing_is_broken() -> None:
    assert picture.draw(examples.failing_events(), ()).broken_row is None


def test_rows_keep_the_order_of_events() -> None:
    marks = _failing().marks
    assert [mark.row for mark in marks] == list(range(len(marks)))
    assert [mark.event for mark in marks] == sorted(mark.event for mark in marks)


def test_effects_undos_claims_and_faults_have_shapes_of_their_own() -> None:
    log = Recorder()
    log.call(1, "worker-1", CALL, **REQUEST)
    for effect, undoes in (("e1", None), ("e2", "e1")):
        log.effect(5, effect, CALL, provider="billing", action="charge", target="T", operation="a", undoes=undoes)
    log.add(6, "worker-1", "claimed", "a", subject="a", to="VERIFIED")
    log.add(7, "rig", "fault-fired", f"{CALL}/committed", fault="lost-response")
    shapes = {mark.shape for mark in _drawn(log).marks}
    assert {Shape.EFFECT, Shape.UNDO, Shape.CLAIM, Shape.FAULT} <= shapes


def _long_history() -> tuple[Event, ...]:
    log = Recorder()
    for number in range(100):
        path = f"w/op{number}/attempt-1"
        log.call(number, "worker-1", path, **REQUEST | {"operation": f"op{number}"})
        log.add(number, "billing", "responded", path, call=path, code="ok")
        log.add(number, "worker-1", "caller-saw", path, call=path, outcome="ok", code="ok")
    return tuple(log.events)


def test_a_long_history_is_capped_and_says_how_much_is_missing() -> None:
    image = picture.draw(_long_history(), ())
    assert len(image.marks) <= picture.ITEMS_MAX
    assert image.elided == 400 - len(image.marks)
    assert sum(count for _, count in image.gaps) == image.elided


def test_a_call_is_drawn_whole_or_not_at_all() -> None:
    events = _long_history()
    drawn = {mark.event for mark in picture.draw(events, (), items_max=10).marks}
    calls = [{e.index for e in events if e.where == f"w/op{number}/attempt-1"} for number in range(100)]
    assert all(call <= drawn or not call & drawn for call in calls)


def test_the_svg_is_well_formed_and_has_a_title() -> None:
    root = ElementTree.fromstring(svg.to_svg(_failing(), "t-1", "a <title> & more"))
    (title,) = [child for child in root if child.tag == "title"]
    assert title.text == "a <title> & more"
    assert root.get("aria-labelledby") == title.get("id") == "t-1"


def test_lost_arrows_are_dashed_without_any_style() -> None:
    root = ElementTree.fromstring(svg.to_svg(_failing(), "t-1", "x"))
    lines = [line for line in root.iter("line") if "arrow" in str(line.get("class"))]
    assert {bool(line.get("stroke-dasharray")) == ("lost" in str(line.get("class"))) for line in lines} == {True}


def test_lanes_stand_closer_when_there_are_many_but_never_too_close() -> None:
    assert svg.LANE_PX_MAX >= svg.lane_px(4) >= svg.lane_px(5) >= svg.lane_px(12) == svg.LANE_PX_MIN
