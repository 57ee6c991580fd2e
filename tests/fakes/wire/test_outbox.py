"""Events of the approval queue: at least once, in no promised order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from fakes.approval.face import ApprovalFake, ApprovalOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.outbox import ATTEMPTS_MAX
from tests.fakes.approval.test_face import DENY, GRANT, ID, S, ask, client_of, do
from tests.fakes.wire.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as it:
        yield it


@pytest.fixture
def hosted(receiver: Receiver) -> Iterator[Hosted]:
    with Hosted(ApprovalFake, ApprovalOptions(subscribers=(receiver.url,)), clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def client(hosted: Hosted) -> Iterator[httpx.Client]:
    with client_of(hosted) as it:
        yield it


def test_every_change_is_told_once_and_a_repeated_request_is_none(
    hosted: Hosted, client: httpx.Client, receiver: Receiver
) -> None:
    ask(client)
    ask(client)
    hosted.wait_for("event-delivered")
    do(client, "decide", GRANT)
    assert receiver.types(2) == ["approval.requested", "approval.granted"]
    assert receiver.events[1]["data"]["approval"]["decision"]["by"] == "Ana"


def test_an_event_may_come_twice_under_one_id(hosted: Hosted, client: httpx.Client, receiver: Receiver) -> None:
    hosted.arm("event = twice")
    ask(client)
    first, second = receiver.wait_for(2)
    assert first["id"] == second["id"]
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert len(hosted.entries("hook-fired")) == 1


def test_a_late_event_is_overtaken(hosted: Hosted, client: httpx.Client, receiver: Receiver) -> None:
    hosted.arm("event what=approval.requested target=approval-c-1 = late:60s")
    ask(client)
    hosted.wait_for("hook-fired")
    do(client, "decide", GRANT)
    receiver.wait_for(1)
    hosted.advance(60 * S)
    assert receiver.types(2) == ["approval.granted", "approval.requested"]


def test_a_dropped_event_does_not_come(hosted: Hosted, client: httpx.Client, receiver: Receiver) -> None:
    hosted.arm("event = drop")
    ask(client)
    hosted.wait_for("event-dropped")
    do(client, "decide", GRANT)
    assert receiver.types(1) == ["approval.granted"]


def test_an_event_that_is_not_taken_is_sent_again_after_a_pause_that_doubles(
    hosted: Hosted, client: httpx.Client, receiver: Receiver
) -> None:
    receiver.statuses = [500, 404]
    ask(client)
    for attempt in (1, 2):
        hosted.wait_for("event-refused", attempt)
        hosted.advance(attempt * S - 1)
        assert len(receiver.events) == attempt
        hosted.advance(1)
        receiver.wait_for(attempt + 1)
    hosted.wait_for("event-delivered")
    assert [event["attempt"] for event in receiver.events] == [1, 2, 3]


def test_an_event_nobody_takes_is_abandoned(hosted: Hosted, client: httpx.Client, receiver: Receiver) -> None:
    receiver.statuses = [503] * 50
    ask(client)
    for attempt in range(1, ATTEMPTS_MAX):
        hosted.wait_for("event-refused", attempt)
        hosted.advance(3600 * S)
    hosted.wait_for("event-abandoned")
    assert len(receiver.events) == ATTEMPTS_MAX


def test_a_receiver_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    gone = ApprovalOptions(subscribers=("http://127.0.0.1:9/events",))
    with Hosted(ApprovalFake, gone, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        ask(client)
        (sent,) = hosted.wait_for("event-sent")
        assert sent.data["error"] == "ConnectError"
        assert not hosted.entries("bug")


@pytest.mark.slow
def test_what_was_queued_before_a_restart_is_delivered_after_it(tmp_path: Path, receiver: Receiver) -> None:
    options = ApprovalOptions(subscribers=(receiver.url,))
    with Hosted(ApprovalFake, options, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        hook = hosted.arm("event = hang")
        with client_of(hosted) as client:
            ask(client)
        hosted.wait_until_hanging(hook)
    assert not receiver.events
    with Hosted(ApprovalFake, options, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        assert receiver.types(1) == ["approval.requested"]
        hosted.wait_for("event-delivered")
        assert not hosted.entries("bug")


def test_after_a_restore_events_of_the_past_that_was_taken_back_do_not_come(
    hosted: Hosted, client: httpx.Client, receiver: Receiver
) -> None:
    ask(client)
    hosted.wait_for("event-delivered")
    kept = hosted.call(hosted.desk.snapshot)
    hosted.arm("event = late:60s")
    do(client, "decide", GRANT)
    hosted.wait_for("hook-fired")
    hosted.call(lambda: hosted.desk.restore(kept))
    hosted.advance(60 * S)
    do(client, "decide", DENY)
    assert receiver.types(2) == ["approval.requested", "approval.denied"]


@pytest.mark.parametrize("url", ["http://example.com:80/", "https://127.0.0.1:1/", "http://127.0.0.1/", "x", ""])
def test_receivers_are_on_this_machine(url: str) -> None:
    with pytest.raises(ValidationError):
        ApprovalOptions(subscribers=(url,))


def test_events_are_in_the_view(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    hosted.wait_for("event-delivered")
    (event,) = hosted.call(hosted.fake.view)["events"]
    assert (event["state"], event["attempts"], event["about"]["target"]) == ("delivered", 1, ID)
