"""The mail API: keys, schedules, look-ups, and what a lost answer leaves behind."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.fakes.email.post import (
    ALICE,
    BOB,
    CAROL,
    SECOND_NS,
    api,
    body,
    effects,
    fired,
    hosting,
    in_mailbox,
    three,
)

HOUR_NS = 3600 * SECOND_NS
KEYED = {"idempotency-key": "k-1"}


def send(client: httpx.Client, headers: dict[str, str] | None = None, /, **more: Any) -> httpx.Response:
    return client.post("/emails", json=body(**more), headers=headers)


def in_hours(hosted: Any, hours: int) -> str:
    return datetime.fromtimestamp(hosted.desk.clock.now_ns() / SECOND_NS + hours * 3600, UTC).isoformat()


def code(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["code"])


def test_sending_makes_one_effect_with_the_marks_it_was_given() -> None:
    with hosting() as hosted, api(hosted) as client:
        answer = send(client, {**KEYED, "x-operation": "bill%201"}, to=[BOB], cc=CAROL, bcc=["d@example.test"])
        assert answer.json() == {"id": "email-1", "message_id": "email-1@mail.example.test", "status": "sent"}
        (effect,) = effects(hosted)
        assert (effect["operation"], effect["key"]) == ("bill 1", "k-1")
        assert effect["target"] == f"{BOB},{CAROL},d@example.test"
        assert client.get("/api/v1/message/email-1/headers").json()["X-Operation"] == ["bill 1"]
        (mail,) = in_mailbox(client)
        assert [each["Address"] for each in mail["Bcc"]] == ["d@example.test"]


@pytest.mark.parametrize(
    ("headers", "more"),
    [
        ({"x-operation": "op", "x-target": "cus-1"}, {}),
        ({}, {"metadata": {"operation": "op", "target": "cus-1"}}),
        ({}, {"headers": {"X-Operation": "op", "x-target": "cus-1"}}),
    ],
)
def test_the_marks_may_be_given_in_three_ways(headers: dict[str, str], more: dict[str, Any]) -> None:
    with hosting() as hosted, api(hosted) as client:
        assert send(client, headers, **more).status_code == 200
        assert [(each["operation"], each["target"]) for each in effects(hosted)] == [("op", "cus-1")]
        assert client.get("/api/v1/message/email-1/headers").json()["X-Operation"] == ["op"]


def test_points_are_crossed_in_their_order() -> None:
    points = ["received", "parsed", "key-claimed", "before-commit", "after-commit", "responding", "responded"]
    with hosting() as hosted, api(hosted) as client:
        for point in ["connect", *reversed(points)]:
            hosted.arm(f"{point} = pass")
        send(client, KEYED)
        hosted.wait_for("hook-fired", 8)
        assert [entry.data["point"] for entry in hosted.entries("hook-fired")] == ["connect", *points]


@pytest.mark.parametrize(
    ("hook", "counts"),
    [
        ("connect = reset", (0, 0, 0)),
        ("received = fin", (1, 0, 0)),
        ("before-commit what=send = reset", (1, 0, 0)),
        ("after-commit = reset", (1, 1, 0)),
        ("after-commit = fin", (1, 1, 0)),
        ("responding = truncate:40", (1, 1, 0)),
        ("responding = truncate:120", (1, 1, 0)),
    ],
)
def test_a_lost_answer_is_an_exception_whatever_was_done(hook: str, counts: tuple[int, int, int]) -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.arm(hook)
        with pytest.raises(httpx.TransportError):
            send(client)
        assert fired(hosted) == 1
        assert three(hosted) == counts


def test_a_status_hook_is_worded_as_json() -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.arm("before-commit = status:429:5")
        answer = send(client)
        assert (answer.status_code, answer.headers["retry-after"], code(answer)) == (429, "5", "rate-limited")
        assert three(hosted) == (1, 0, 1)


# Keys.


def test_under_its_key_a_lost_answer_is_given_again() -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.arm("after-commit = reset")
        with pytest.raises(httpx.TransportError):
            send(client, KEYED)
        again = send(client, KEYED)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.json()["id"] == "email-1"
        assert three(hosted) == (2, 1, 1)


def test_without_a_key_a_lost_answer_and_a_retry_are_two_mails() -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.arm("after-commit = reset")
        with pytest.raises(httpx.TransportError):
            send(client)
        assert send(client).json()["id"] == "email-2"
        assert three(hosted) == (2, 2, 1)


def test_another_message_under_a_used_key_is_refused() -> None:
    with hosting() as hosted, api(hosted) as client:
        send(client, KEYED)
        other = send(client, KEYED, subject="Other")
        assert (other.status_code, code(other)) == (400, "key-reused")
        assert three(hosted) == (2, 1, 2)


def test_where_bodies_are_not_compared_another_message_gets_the_first_ones_answer() -> None:
    with hosting(compares_body=False) as hosted, api(hosted) as client:
        send(client, KEYED)
        other = send(client, KEYED, subject="Other", to=CAROL)
        assert other.json()["id"] == "email-1"
        assert other.headers["idempotent-replayed"] == "true"
        assert three(hosted) == (2, 1, 2)


@pytest.mark.parametrize(("hours", "commits"), [(23, 1), (25, 2)])
def test_a_key_expires_where_keys_do(hours: int, commits: int) -> None:
    with hosting(cell="expires.authoritative.prompt") as hosted, api(hosted) as client:
        send(client, KEYED)
        hosted.advance(hours * HOUR_NS)
        send(client, KEYED)
        assert three(hosted)[1] == commits


def test_the_life_of_a_key_is_an_option() -> None:
    with hosting(cell="expires.authoritative.prompt", key_ttl_ns=900 * SECOND_NS) as hosted, api(hosted) as client:
        for advance_s in (0, 899, 2):
            hosted.advance(advance_s * SECOND_NS)
            send(client, KEYED)
        assert three(hosted) == (3, 2, 3)


@pytest.mark.parametrize("options", [{"keys": "none"}, {"cell": "ignored.authoritative.prompt"}])
def test_where_keys_are_ignored_every_request_sends(options: dict[str, Any]) -> None:
    with hosting(**options) as hosted, api(hosted) as client:
        assert [send(client, KEYED).json()["id"] for _ in range(2)] == ["email-1", "email-2"]
        assert [each["key"] for each in effects(hosted)] == ["k-1", "k-1"]


@pytest.mark.parametrize(
    ("keys", "hook", "commits"),
    [
        ("replay", "after-commit = status:500", 1),
        ("release-on-error", "after-commit = status:500", 2),
        ("release-on-error", "before-commit = status:500", 1),
        ("release-on-error", "after-commit = reset", 1),
    ],
)
def test_who_releases_a_key_on_error_sends_twice_after_an_error_that_was_none(
    keys: str, hook: str, commits: int
) -> None:
    with hosting(keys=keys) as hosted, api(hosted) as client:
        hosted.arm(hook)
        if "reset" in hook:
            with pytest.raises(httpx.TransportError):
                send(client, KEYED)
        else:
            assert send(client, KEYED).status_code == 500
        assert send(client, KEYED).status_code == 200
        assert fired(hosted) == 1
        assert three(hosted)[1] == commits


@pytest.mark.parametrize("keys", ["replay", "release-on-error"])
def test_a_refused_recipient_is_a_refusal_that_a_key_may_keep(keys: str) -> None:
    with hosting(keys=keys, refused_recipients=("no@*",)) as hosted, api(hosted) as client:
        for _ in range(2):
            answer = send(client, KEYED, to="no@example.test")
            assert (answer.status_code, code(answer)) == (422, "declined")
        other = send(client, KEYED)
        assert other.status_code == (400 if keys == "replay" else 200)
        assert three(hosted)[1] == (0 if keys == "replay" else 1)


def test_two_requests_with_one_key_at_once_are_a_conflict() -> None:
    with hosting() as hosted, api(hosted) as client:
        hook = hosted.arm("before-commit = hang")
        first: list[int] = []
        thread = threading.Thread(target=lambda: first.append(send(client, KEYED).status_code))
        thread.start()
        hosted.wait_until_hanging(hook)
        with api(hosted) as other:
            answer = send(other, KEYED)
        assert (answer.status_code, code(answer)) == (409, "key-in-use")
        hosted.release(hook)
        thread.join(5)
        assert first == [200]
        assert three(hosted) == (2, 1, 2)


# Schedules.


def test_a_scheduled_message_is_an_effect_when_it_is_due() -> None:
    with hosting() as hosted, api(hosted) as client:
        answer = send(client, {**KEYED, "x-operation": "op"}, scheduled_at=in_hours(hosted, 2))
        assert answer.json()["status"] == "scheduled"
        assert (effects(hosted), in_mailbox(client)) == ([], [])
        hosted.advance(2 * HOUR_NS)
        (effect,) = [entry.data for entry in hosted.wait_for("effect")]
        assert (effect["effect"], effect["operation"], effect["key"]) == ("email-1", "op", "k-1")
        assert hosted.entries("effect")[0].call == hosted.entries("arrived")[0].call
        assert client.get("/emails/email-1").json()["status"] == "sent"
        again = send(client, {**KEYED, "x-operation": "op"}, scheduled_at=in_hours(hosted, 0))
        assert again.headers["idempotent-replayed"] == "true"
        assert again.json() == {**answer.json(), "status": "sent"}


def test_a_moment_that_has_passed_means_now() -> None:
    with hosting() as hosted, api(hosted) as client:
        assert send(client, scheduled_at="2000-01-01").json()["status"] == "sent"


def test_a_scheduled_message_can_be_cancelled_until_it_is_due() -> None:
    with hosting() as hosted, api(hosted) as client:
        for _ in range(2):
            send(client, scheduled_at=in_hours(hosted, 2))
        assert client.post("/emails/email-1/cancel").json()["status"] == "canceled"
        again = client.post("/emails/email-1/cancel")
        assert (again.status_code, code(again)) == (409, "already-undone")
        hosted.advance(3 * HOUR_NS)
        hosted.wait_for("effect")
        late = client.post("/emails/email-2/cancel")
        assert (late.status_code, code(late)) == (409, "already-sent")
        assert [each["effect"] for each in effects(hosted)] == ["email-2"]
        assert client.post("/emails/email-9/cancel").status_code == 404


def test_a_cancelling_that_is_held_until_the_message_is_due_comes_too_late() -> None:
    with hosting() as hosted, api(hosted) as client:
        send(client, scheduled_at=in_hours(hosted, 1))
        hook = hosted.arm("before-commit what=cancel = hang")
        answers: list[int] = []
        thread = threading.Thread(target=lambda: answers.append(client.post("/emails/email-1/cancel").status_code))
        thread.start()
        hosted.wait_until_hanging(hook)
        hosted.advance(HOUR_NS)
        hosted.wait_for("effect")
        hosted.release(hook)
        thread.join(5)
        assert answers == [409]


def test_the_lost_answer_to_a_cancelling_looks_like_a_conflict_when_asked_again() -> None:
    with hosting() as hosted, api(hosted) as client:
        send(client, scheduled_at=in_hours(hosted, 1))
        hosted.arm("after-commit what=cancel = reset")
        with pytest.raises(httpx.TransportError):
            client.post("/emails/email-1/cancel")
        assert code(client.post("/emails/email-1/cancel")) == "already-undone"
        assert client.get("/emails/email-1").json()["status"] == "canceled"


def test_somebody_cancels_first() -> None:
    with hosting() as hosted, api(hosted) as client:
        send(client, scheduled_at=in_hours(hosted, 1))
        hosted.arm("before-commit what=cancel = compete:cancel")
        assert code(client.post("/emails/email-1/cancel")) == "already-undone"


def test_a_message_that_is_cancelled_while_it_is_about_to_be_sent_is_not_sent() -> None:
    with hosting() as hosted, api(hosted) as client:
        send(client, scheduled_at=in_hours(hosted, 1))
        hook = hosted.arm("settle what=send = hang")
        hosted.advance(HOUR_NS)
        hosted.wait_until_hanging(hook)
        assert client.post("/emails/email-1/cancel").status_code == 200
        hosted.release(hook)
        hosted.run(asyncio.sleep(0))
        hosted.advance(HOUR_NS)
        assert effects(hosted) == []


def test_a_scheduled_message_may_fail_when_it_is_due() -> None:
    with hosting() as hosted, api(hosted) as client:
        send(client, scheduled_at=in_hours(hosted, 1))
        hosted.arm(f"settle what=send target={BOB} = fail")
        hosted.advance(HOUR_NS)
        hosted.wait_for("failed")
        assert client.get("/emails/email-1").json()["status"] == "failed"
        assert (effects(hosted), in_mailbox(client)) == ([], [])


# Look-ups.


def test_a_message_is_found_by_the_callers_own_reference() -> None:
    with hosting() as hosted, api(hosted) as client:
        for reference in ("r-1", "r-2", "r-1"):
            send(client, reference=reference)
        found = client.get("/emails", params={"reference": "r-1"}).json()
        assert [view["id"] for view in found["data"]] == ["email-3", "email-1"]
        assert found["has_more"] is False
        (view,) = client.get("/emails", params={"reference": "r-1", "limit": 1, "status": "sent"}).json()["data"]
        assert (view["reference"], view["from"], view["to"]) == ("r-1", ALICE, [BOB])
        assert client.get("/emails", params={"message_id": view["message_id"]}).json()["data"] == [view]
        assert client.get("/emails", params={"to": CAROL}).json()["data"] == []
        assert client.get("/emails/email-9").status_code == 404


@pytest.mark.parametrize(
    "path", ["/emails?reference=r-1", "/emails/email-1", "/api/v1/message/email-1", "/api/v1/messages"]
)
def test_an_eventual_look_up_lags(path: str) -> None:
    with hosting(cell="honoured.eventual.prompt") as hosted, api(hosted) as client:
        send(client, reference="r-1")
        early = client.get(path)
        assert early.status_code == 404 or "email-1" not in early.text
        hosted.advance(3 * SECOND_NS)
        assert "email-1" in client.get(path).text


@pytest.mark.parametrize(
    "path", ["/emails?reference=r-1", "/emails/email-1", "/api/v1/message/email-1", "/api/v1/search?query=a"]
)
def test_where_there_is_no_look_up_nothing_tells(path: str) -> None:
    with hosting(cell="honoured.absent.prompt") as hosted, api(hosted) as client:
        send(client, reference="r-1")
        assert client.get(path).status_code == 405


def test_a_stale_look_up_shows_the_past() -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.advance(10 * SECOND_NS)
        send(client, reference="r-1")
        hosted.arm("read what=search target=r-1 = stale:1s")
        hosted.arm("read what=email x2 = stale:1s")
        assert client.get("/emails?reference=r-1").json()["data"] == []
        assert client.get("/emails/email-1").status_code == 404
        hosted.advance(2 * SECOND_NS)
        assert client.get("/emails/email-1").json()["status"] == "sent"
        assert fired(hosted) == 3


def test_after_its_deadline_a_request_is_refused_where_deadlines_hold() -> None:
    with hosting() as hosted, api(hosted) as client:
        assert send(client, {"x-not-after-ns": "1"}).status_code == 408
        assert three(hosted) == (1, 0, 1)


# What cannot be sent.


@pytest.mark.parametrize(
    "more",
    [
        {"to": []},
        {"to": "bob"},
        {"to": ["bob@example.test", "x y@z"]},
        {"from": "nobody"},
        {"subject": "a\r\nBcc: evil@example.test"},
        {"headers": {"Subject": "x"}},
        {"headers": {"Content-Type": "x"}},
        {"headers": {"X-A": "a\nb"}},
        {"headers": {"X A": "a"}},
        {"scheduled_at": "soon"},
        {"scheduled_at": "+999999-01-01T00:00:00Z"},
        {"unknown": 1},
        {"subject": 7},
        {"metadata": {"a": 1}},
        {"text": 1},
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything(more: dict[str, Any]) -> None:
    with hosting() as hosted, api(hosted) as client:
        answer = send(client, **more)
        assert (answer.status_code, code(answer)) == (400, "invalid")
        assert three(hosted) == (1, 0, 1)


def test_who_does_not_present_the_key_is_refused_and_the_key_is_never_told() -> None:
    with hosting() as hosted:
        for key in ("wrong", "é"):
            with httpx.Client(base_url=hosted.places["http"].url, trust_env=False) as client:
                headers = {"authorization": f"Bearer {key}".encode()}
                for method, path in (("POST", "/emails"), ("GET", "/emails"), ("POST", "/emails/x/cancel")):
                    answer = client.request(method, path, json=body(), headers=headers)
                    assert (answer.status_code, code(answer)) == (401, "unauthorized")
        with api(hosted) as client:
            send(client)
        assert hosted.fake.options.api_key not in repr([hosted.entries(), hosted.call(hosted.fake.view)])
    with hosting(api_key="") as hosted, api(hosted, "anything") as client:
        assert send(client).status_code == 200


def test_other_paths_lead_nowhere() -> None:
    with hosting() as hosted, api(hosted) as client:
        assert client.get("/nowhere").status_code == 404
        assert client.put("/emails").status_code == 405
