"""What smtplib and aiosmtplib see, with their defaults, for every place where an SMTP exchange can break.

Each row says what was truly done: a client's exception never does.
"""

from __future__ import annotations

import asyncio
import smtplib
from typing import Any

import aiosmtplib
import pytest

from tests.fakes.email.post import (
    BOB,
    HOST,
    SENDERS,
    SHORT_S,
    api,
    fired,
    hosting,
    in_mailbox,
    message,
    outcome,
    smtp_port,
    three,
)

GONE = "SMTPServerDisconnected"
BOTH = pytest.mark.parametrize("client", SENDERS)

ROWS: dict[str, tuple[tuple[int, int, int], str, str, int]] = {
    # hook: (arrivals, commits, responses), smtplib sees, aiosmtplib sees, code
    # A reset may come while the client is still connecting: then smtplib lets the system's own exception through.
    "connect = reset": ((0, 0, 0), f"{GONE} or ConnectionResetError", "SMTPConnectError", 0),
    "connect = fin": ((0, 0, 0), GONE, "SMTPConnectError", 0),
    "received = reset": ((1, 0, 0), GONE, GONE, 0),
    "received = fin": ((1, 0, 0), GONE, GONE, 0),
    "parsed what=send = reset": ((1, 0, 0), GONE, GONE, 0),
    "parsed = status:554": ((1, 0, 1), "SMTPDataError", "SMTPDataError", 554),
    "before-commit = reset": ((1, 0, 0), GONE, GONE, 0),
    "before-commit = fin": ((1, 0, 0), GONE, GONE, 0),
    "before-commit = status:421": ((1, 0, 1), "SMTPDataError", "SMTPDataError", 421),
    "after-commit = reset": ((1, 1, 0), GONE, GONE, 0),
    "after-commit = fin": ((1, 1, 0), GONE, GONE, 0),
    "after-commit = status:421": ((1, 1, 1), "SMTPDataError", "SMTPDataError", 421),
    "after-commit = status:451": ((1, 1, 1), "SMTPDataError", "SMTPDataError", 451),
    "after-commit = status:552": ((1, 1, 1), "SMTPDataError", "SMTPDataError", 552),
    "responding = reset": ((1, 1, 0), GONE, GONE, 0),
    "responding = truncate:0": ((1, 1, 0), GONE, GONE, 0),
    "responding = truncate:30:reset": ((1, 1, 0), GONE, GONE, 0),
    "responded = reset": ((1, 1, 1), "", "", 0),
    "responded = fin": ((1, 1, 1), "", "", 0),
    "received what=quit = reset": ((1, 1, 1), "", "", 0),
    "received what=data = status:451": ((0, 0, 0), "SMTPDataError", "SMTPDataError", 451),
    "parsed what=mail = status:451": ((0, 0, 0), "SMTPSenderRefused", "SMTPSenderRefused", 451),
    "parsed what=rcpt = reset": ((0, 0, 0), GONE, GONE, 0),
}


@BOTH
@pytest.mark.parametrize("hook", ROWS)
def test_a_fault_is_seen_as_measured(hook: str, client: str) -> None:
    counts, by_smtplib, by_aiosmtplib, code = ROWS[hook]
    with hosting() as hosted:
        hosted.arm(hook)
        saw = outcome(SENDERS[client], smtp_port(hosted), message())
        assert fired(hosted) == 1
        assert three(hosted) == counts
    assert saw.error in (by_smtplib if client == "smtplib" else by_aiosmtplib).split(" or ")
    assert code in (0, saw.code)


@BOTH
def test_before_and_after_the_commit_look_the_same(client: str) -> None:
    seen = []
    with hosting() as hosted:
        for hook in ("before-commit = reset", "after-commit = reset"):
            hosted.arm(hook)
            seen.append(outcome(SENDERS[client], smtp_port(hosted), message()))
        assert fired(hosted) == 2
        assert three(hosted) == (2, 1, 0)
    assert seen[0] == seen[1]


@BOTH
@pytest.mark.parametrize(("point", "commits"), [("before-commit", 0), ("after-commit", 1)])
def test_silence_looks_the_same_too_and_what_was_held_is_done_later(client: str, point: str, commits: int) -> None:
    with hosting() as hosted:
        hook = hosted.arm(f"{point} = hang")
        saw = outcome(SENDERS[client], smtp_port(hosted), message(), SHORT_S)
        assert saw.error == (GONE if client == "smtplib" else "SMTPReadTimeoutError")
        assert three(hosted) == (1, commits, 0)
        assert hosted.release(hook) == 1
        hosted.wait_for("effect")
        assert three(hosted) == (1, 1, 0)


@BOTH
def test_a_temporary_refusal_after_the_commit_invites_the_duplicate(client: str) -> None:
    with hosting() as hosted, api(hosted) as http:
        hosted.arm("after-commit = status:451")
        assert outcome(SENDERS[client], smtp_port(hosted), message()).error == "SMTPDataError"
        assert outcome(SENDERS[client], smtp_port(hosted), message()).error == ""
        assert three(hosted) == (2, 2, 2)
        assert len(in_mailbox(http, "message-id:greeting-1@client.test")) == 2


@pytest.mark.parametrize(
    ("bytes_count", "by_smtplib"),
    [(1, ("SMTPDataError", 2)), (2, ("SMTPDataError", 25)), (3, ("", 0)), (5, ("", 0)), (30, ("", 0))],
)
@BOTH
def test_smtplib_takes_the_beginning_of_a_reply_for_the_whole(
    client: str, bytes_count: int, by_smtplib: tuple[str, int]
) -> None:
    """Three digits and an orderly end are a success to it; to aiosmtplib they are a lost connection."""
    with hosting() as hosted:
        hosted.arm(f"responding = truncate:{bytes_count}")
        saw = outcome(SENDERS[client], smtp_port(hosted), message())
        assert fired(hosted) == 1
        assert three(hosted) == (1, 1, 0)
    assert (saw.error, saw.code) == (by_smtplib if client == "smtplib" else (GONE, 0))


def test_one_refused_recipient_of_two_is_a_returned_dict_and_no_exception() -> None:
    with hosting(refused_recipients=("no@*",)) as hosted:
        mail = message(f"{BOB}, no@example.test")
        refused = SENDERS["smtplib"](smtp_port(hosted), mail)
        assert list(refused) == ["no@example.test"]
        assert refused["no@example.test"][0] == 550
        errors, said = SENDERS["aiosmtplib"](smtp_port(hosted), mail)
        assert list(errors) == ["no@example.test"]
        assert "queued as" in said
        assert [entry.data["target"] for entry in hosted.entries("effect")] == [BOB, BOB]


@BOTH
def test_all_recipients_refused_is_an_exception_and_nothing_arrives(client: str) -> None:
    with hosting(refused_recipients=("*@example.test",)) as hosted:
        assert outcome(SENDERS[client], smtp_port(hosted), message()).error == "SMTPRecipientsRefused"
        assert three(hosted) == (0, 0, 0)


@BOTH
def test_a_hook_refuses_one_recipient_by_its_address(client: str) -> None:
    with hosting() as hosted:
        hosted.arm("parsed what=rcpt target=carol@* = status:450")
        returned = SENDERS[client](smtp_port(hosted), message(f"{BOB}, carol@example.test"))
        errors = returned if client == "smtplib" else returned[0]
        assert list(errors) == ["carol@example.test"]
        assert fired(hosted) == 1
        assert [entry.data["target"] for entry in hosted.entries("effect")] == [BOB]


def test_the_queue_id_is_dropped_by_smtplib_and_returned_by_aiosmtplib() -> None:
    with hosting() as hosted:
        assert SENDERS["smtplib"](smtp_port(hosted), message()) == {}
        assert SENDERS["aiosmtplib"](smtp_port(hosted), message()) == ({}, "2.0.0 Ok: queued as email-2")
        assert [entry.data["effect"] for entry in hosted.entries("effect")] == ["email-1", "email-2"]


@BOTH
def test_a_lost_answer_and_a_retry_of_the_same_message_are_two_mails(client: str) -> None:
    """Real servers do not know a message by its Message-ID."""
    with hosting() as hosted:
        hosted.arm("after-commit = reset")
        assert outcome(SENDERS[client], smtp_port(hosted), message()).error == GONE
        assert outcome(SENDERS[client], smtp_port(hosted), message()).error == ""
        assert three(hosted) == (2, 2, 1)


@BOTH
def test_with_the_option_a_repeated_message_id_is_answered_and_not_sent(client: str) -> None:
    with hosting(drops_repeated_message_ids=True) as hosted:
        hosted.arm("after-commit = reset")
        assert outcome(SENDERS[client], smtp_port(hosted), message()).error == GONE
        saw = outcome(SENDERS[client], smtp_port(hosted), message())
        assert saw.returned in ({}, ({}, "2.0.0 Ok: queued as email-1"))
        assert three(hosted) == (2, 1, 1)


def test_one_connection_can_send_many_and_loses_only_the_one_that_was_cut() -> None:
    with hosting() as hosted:
        hosted.arm("after-commit#3 = reset")
        client = smtplib.SMTP(HOST, smtp_port(hosted), timeout=5)
        sent: list[Any] = [client.send_message(message()) for _ in range(2)]
        with pytest.raises(smtplib.SMTPServerDisconnected):
            client.send_message(message())
        client.close()
        assert sent == [{}, {}]
        assert three(hosted) == (3, 3, 2)


def test_the_test_user_can_log_in_with_both_clients() -> None:
    with hosting(smtp_user="tester", requires_auth=True) as hosted:
        assert outcome(SENDERS["smtplib"], smtp_port(hosted), message()).error == "SMTPSenderRefused"
        with smtplib.SMTP(HOST, smtp_port(hosted), timeout=5) as client:
            client.login("tester", "fake-smtp-password")
            client.send_message(message())
        asyncio.run(
            aiosmtplib.send(
                message(), hostname=HOST, port=smtp_port(hosted), username="tester", password="fake-smtp-password"
            )
        )
        with smtplib.SMTP(HOST, smtp_port(hosted), timeout=5) as client, pytest.raises(smtplib.SMTPAuthenticationError):
            client.login("tester", "wrong")
        assert three(hosted) == (2, 2, 2)
        with api(hosted) as http:
            assert [mail["Username"] for mail in in_mailbox(http)] == ["tester", "tester"]
