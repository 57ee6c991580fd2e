"""What comes after the acceptance: delivery, bounces, reports, and the events that tell of them."""

from __future__ import annotations

from email import message_from_bytes
from typing import Any

import pytest

from fakes.email.face import EmailFake
from fakes.email.options import EmailOptions
from fakes.wire.hosting import Hosted
from tests.fakes.email.post import (
    ALICE,
    BOB,
    CAROL,
    SECOND_NS,
    api,
    body,
    by_smtplib,
    effects,
    fired,
    hosting,
    in_mailbox,
    message,
    smtp_port,
    three,
)
from tests.fakes.wire.receiver import receiving


def test_what_was_sent_is_delivered_later() -> None:
    with hosting() as hosted, api(hosted) as client:
        by_smtplib(smtp_port(hosted), message())
        assert client.get("/emails/email-1").json()["status"] == "sent"
        hosted.advance(SECOND_NS)
        hosted.wait_for("delivered")
        assert client.get("/emails/email-1").json()["status"] == "delivered"
        assert in_mailbox(client, "tag:delivered")[0]["ID"] == "email-1"


def test_on_a_clock_that_runs_it_happens_by_itself() -> None:
    with Hosted(EmailFake, EmailOptions(settles_ns=1)) as hosted:
        by_smtplib(smtp_port(hosted), message())
        hosted.wait_for("delivered")


def test_a_bounce_comes_after_the_250_and_is_reported_to_the_sender() -> None:
    with hosting(bounced_recipients=("bob@*",)) as hosted, api(hosted) as client:
        assert by_smtplib(smtp_port(hosted), message(f"{BOB}, {CAROL}")) == {}
        hosted.advance(SECOND_NS)
        hosted.wait_for("bounced")
        view = client.get("/emails/email-1").json()
        assert view["status"] == "bounced"
        assert view["recipients"] == {BOB: "bounced", CAROL: "delivered"}
        report, original = in_mailbox(client)
        assert (report["ID"], report["To"][0]["Address"]) == ("report-1", ALICE)
        raw = message_from_bytes(client.get("/api/v1/message/report-1/raw").content)
        assert raw.get_content_type() == "multipart/report"
        assert "<greeting-1@client.test>" in str(raw)
        assert original["ID"] == "email-1"
        assert len(effects(hosted)) == 1, "a report is nobody's effect"
        assert [view["id"] for view in client.get("/emails").json()["data"]] == ["email-1"]


def test_a_hook_lets_one_delivery_fail() -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.arm(f'settle what=deliver line="deliver {CAROL}" = fail')
        by_smtplib(smtp_port(hosted), message(f"{BOB}, {CAROL}"))
        hosted.advance(SECOND_NS)
        hosted.wait_for("delivered")
        hosted.wait_for("bounced")
        assert fired(hosted) == 1
        assert client.get("/emails/email-1").json()["recipients"] == {BOB: "delivered", CAROL: "bounced"}


def test_a_delivery_that_is_held_is_open_until_it_is_released() -> None:
    with hosting() as hosted, api(hosted) as client:
        hook = hosted.arm("settle = hang")
        by_smtplib(smtp_port(hosted), message())
        hosted.advance(5 * SECOND_NS)
        hosted.wait_until_hanging(hook)
        assert client.get("/emails/email-1").json()["status"] == "sent"
        hosted.release(hook)
        hosted.wait_for("delivered")


def told(event: dict[str, Any]) -> tuple[str, str, str]:
    data = event["data"]
    return event["type"], data["email_id"], data["recipient"]


def test_subscribers_are_told_of_deliveries_and_bounces() -> None:
    with receiving() as receiver, hosting(subscribers=(receiver.url,), bounced_recipients=("bob@*",)) as hosted:
        with api(hosted) as client:
            client.post("/emails", json=body(to=[BOB, CAROL], reference="r-1"), headers={"x-operation": "op"})
        hosted.advance(SECOND_NS)
        events = receiver.wait_for(2)
        assert sorted(map(told, events)) == [
            ("email.bounced", "email-1", BOB),
            ("email.delivered", "email-1", CAROL),
        ]
        assert {(event["data"]["reference"], event["data"]["operation"]) for event in events} == {("r-1", "op")}
        hosted.wait_for("event-delivered", 2)


@pytest.mark.parametrize(("action", "deliveries"), [("twice", 2), ("drop", 0)])
def test_an_event_may_come_twice_or_not_at_all(action: str, deliveries: int) -> None:
    with receiving() as receiver, hosting(subscribers=(receiver.url,)) as hosted:
        hosted.arm(f"event what=email.delivered target={BOB} = {action}")
        by_smtplib(smtp_port(hosted), message())
        hosted.advance(SECOND_NS)
        hosted.wait_for("event-delivered" if deliveries else "event-dropped")
        assert fired(hosted) == 1
        assert [event["id"] for event in receiver.events] == ["email-event-1"] * deliveries
        assert three(hosted) == (1, 1, 1)


def test_a_late_event_is_overtaken() -> None:
    with receiving() as receiver, hosting(subscribers=(receiver.url,)) as hosted:
        hosted.arm("event = late:60s")
        for _ in range(2):
            by_smtplib(smtp_port(hosted), message())
            hosted.advance(SECOND_NS)
            hosted.wait_for("delivered", len(effects(hosted)))
        receiver.wait_for(1)
        hosted.advance(60 * SECOND_NS)
        assert [event["data"]["email_id"] for event in receiver.wait_for(2)] == ["email-2", "email-1"]


def test_an_event_tells_of_a_scheduled_message_that_failed() -> None:
    with receiving() as receiver, hosting(subscribers=(receiver.url,)) as hosted, api(hosted) as client:
        client.post("/emails", json=body(scheduled_at="2026-01-02"))
        hosted.arm("settle what=send = fail")
        hosted.advance(24 * 3600 * SECOND_NS)
        assert receiver.types(1) == ["email.failed"]
