"""The SMTP port, line by line: what it says, in which order its points are crossed, and what it never tells."""

from __future__ import annotations

import base64

import pytest

from fakes.email.face import EmailFake
from fakes.email.smtp import RECIPIENTS_MAX
from fakes.wire.hosting import bind_all
from tests.fakes.email.post import (
    ALICE,
    BOB,
    CAROL,
    SECOND_NS,
    Wire,
    api,
    by_smtplib,
    effects,
    fired,
    hosting,
    in_mailbox,
    message,
    smtp_port,
    three,
    wire,
)


def test_a_message_is_one_effect_however_many_recipients_it_has() -> None:
    with hosting() as hosted:
        by_smtplib(smtp_port(hosted), message(f"{BOB}, {CAROL}", X_Operation="bill%201"))
        (effect,) = effects(hosted)
        assert effect == {
            "effect": "email-1",
            "provider": "email",
            "action": "send",
            "target": f"{BOB},{CAROL}",
            "operation": "bill 1",
            "key": "",
            "delivery": 1,
            "undoes": None,
        }
        (arrived,) = hosted.entries("arrived")
        assert arrived.data["line"] == f"END-OF-DATA <{ALICE}> -> <{BOB}>,<{CAROL}>"
        assert hosted.entries("effect")[0].call == arrived.call


def test_a_message_may_name_what_it_is_about() -> None:
    with hosting() as hosted:
        hosted.arm("after-commit what=send target=cus-1 operation=op-1 = status:451")
        with wire(smtp_port(hosted)) as client:
            assert client.mail(b"X-Target: cus-1\r\nX-Operation: op-1\r\n\r\nx\r\n").startswith("451 ")
        assert effects(hosted)[0]["target"] == "cus-1"


def test_a_recipient_named_twice_is_one() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        assert client.mail(b"\r\n", BOB, BOB).startswith("250 ")
        assert effects(hosted)[0]["target"] == BOB


def test_points_are_crossed_in_their_order() -> None:
    points = ["received", "parsed", "key-claimed", "before-commit", "after-commit", "responding", "responded"]
    with hosting() as hosted:
        for point in ["connect", *reversed(points)]:
            hosted.arm(f"{point} = pass")
        by_smtplib(smtp_port(hosted), message())
        assert [entry.data["point"] for entry in hosted.entries("hook-fired")] == ["connect", *points]


def test_a_bare_hook_means_the_message_and_not_a_command_before_it() -> None:
    with hosting() as hosted:
        hosted.arm("received = status:451")
        hosted.arm("parsed#2 = status:452")
        with wire(smtp_port(hosted)) as client:
            assert client.mail().startswith("451 ")
            assert client.mail().startswith("250 ")
            assert client.mail().startswith("452 ")
        assert fired(hosted) == 2
        assert three(hosted) == (3, 1, 3)


@pytest.mark.parametrize("code", [421, 450, 451, 452, 550, 552, 554, 599])
def test_any_status_can_be_told(code: int) -> None:
    with hosting() as hosted:
        hosted.arm(f"before-commit = status:{code}")
        with wire(smtp_port(hosted)) as client:
            assert client.mail().startswith(f"{code} {str(code)[0]}.")
            assert client.reply() == "" if code == 421 else client.say("NOOP").startswith("250")
        assert three(hosted) == (1, 0, 1)


def test_a_status_of_success_that_is_none_is_a_false_promise() -> None:
    with hosting() as hosted:
        hosted.arm("before-commit = status:250")
        with wire(smtp_port(hosted)) as client:
            assert client.mail() == "250 2.0.0 Ok"
        assert three(hosted) == (1, 0, 1)


def test_commands_in_the_wrong_order_are_refused_and_can_be_mended() -> None:
    with hosting() as hosted, wire(smtp_port(hosted), greeted=False) as client:
        assert client.greeting.startswith("220 mail.example.test ")
        assert client.say(f"MAIL FROM:<{ALICE}>").startswith("503 ")
        client.say("EHLO x")
        assert client.say(f"RCPT TO:<{BOB}>").startswith("503 ")
        assert client.say("DATA").startswith("503 ")
        assert client.say(f"MAIL FROM:<{ALICE}>").startswith("250 ")
        assert client.say(f"MAIL FROM:<{ALICE}>").startswith("503 ")
        assert client.say("DATA").startswith("503 ")
        assert client.say("RSET").startswith("250 ")
        assert client.mail().startswith("250 ")
        assert three(hosted) == (1, 1, 1)


def test_reset_forgets_the_envelope() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        client.say(f"MAIL FROM:<{ALICE}>")
        client.say(f"RCPT TO:<{CAROL}>")
        client.say("RSET")
        client.mail()
        assert effects(hosted)[0]["target"] == BOB


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("MAIL TO:<x@y>", "501"),
        ("MAIL FROM:", "501"),
        ("MAIL FROM:<a@b> FOO=1", "555"),
        ("MAIL FROM:<a@b> BODY=9BIT", "501"),
        ("MAIL FROM:<a@b> SIZE=x", "501"),
        ("MAIL FROM:<a@b\xff>", "553"),
        ("NONSENSE", "500"),
        ("", "500"),
        ("EXPN x", "502"),
        ("VRFY bob@example.test", "252"),
        ("AUTH PLAIN AGEAYg==", "503"),
        ("HELP", "250"),
        ("NOOP", "250"),
        ("MAIL FROM:<" + "a" * 600 + "@x>", "500"),
        ("X" * 5000, "500"),
    ],
)
def test_lines_have_their_codes(line: str, code: str) -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        assert client.say(line.encode("latin-1")).startswith(code)
        assert client.mail().startswith("250 ")


def test_too_many_unknown_commands_end_the_connection() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        codes = [client.say("NONSENSE")[:3] for _ in range(5)]
        assert codes == ["500", "500", "500", "500", "502"]
        assert client.reply() == ""


def test_every_connection_has_the_same_room_for_its_lines() -> None:
    """The table of limits must not be one for all connections, nor grow with every EHLO."""
    long = "MAIL FROM:<" + "a" * 530 + "@x>"
    with hosting() as hosted:
        for _ in range(3):
            with wire(smtp_port(hosted)) as client:
                for _ in range(5):
                    client.say("EHLO x")
                assert client.say(long[:548]).startswith(("250", "501", "553"))
                assert client.say(long + "y" * 20).startswith("500")


def test_a_message_beyond_the_size_limit_is_refused_when_announced_and_when_sent() -> None:
    with hosting(size_max=1000) as hosted, wire(smtp_port(hosted)) as client:
        assert client.say(f"MAIL FROM:<{ALICE}> SIZE=1001").startswith("552 ")
        assert client.mail((b"x" * 80 + b"\r\n") * 13).startswith("552 ")
        assert client.mail((b"x" * 80 + b"\r\n") * 12).startswith("250 ")
        assert three(hosted) == (1, 1, 1)


def test_a_line_that_is_too_long_is_refused_at_the_end() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        assert client.mail(b"Subject: x\r\n\r\n" + b"x" * 1200 + b"\r\n").startswith("500 ")
        assert client.mail(b"Subject: x\r\n\r\n" + b"x" * 998 + b"\r\n").startswith("250 ")


def test_there_is_an_end_of_recipients() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        client.say(f"MAIL FROM:<{ALICE}>")
        codes = [client.say(f"RCPT TO:<r{number}@example.test>")[:3] for number in range(RECIPIENTS_MAX + 1)]
        assert codes == ["250"] * RECIPIENTS_MAX + ["452"]


def test_commands_may_come_all_at_once() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        client.send(f"MAIL FROM:<{ALICE}>\r\nRCPT TO:<{BOB}>\r\nDATA\r\n\r\nx\r\n.\r\nQUIT\r\n".encode())
        assert client.replies(6) == ["250", "250", "354", "250", "221", ""]


def test_content_is_kept_as_it_came_but_for_the_dots() -> None:
    content = b"Subject: \xff\r\n\r\n..one dot\r\n...two\r\na lone\nline feed\r\n8-bit: \xe4\xf6\xfc\r\n"
    with hosting() as hosted, wire(smtp_port(hosted)) as client, api(hosted) as http:
        assert client.mail(content).startswith("250 ")
        kept = http.get("/api/v1/message/email-1/raw").content
        assert kept.endswith(b"Subject: \xff\r\n\r\n.one dot\r\n..two\r\na lone\nline feed\r\n8-bit: \xe4\xf6\xfc\r\n")
        assert kept.startswith(
            b"Received: from client.test ([127.0.0.1])\r\n\tby mail.example.test with ESMTP id email-1;"
        )


def test_addresses_may_be_in_any_script() -> None:
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        assert client.say("MAIL FROM:<ä@example.test> SMTPUTF8").startswith("250 ")
        assert client.say("RCPT TO:<bøb@example.test>").startswith("250 ")
        client.say("DATA")
        assert client.say("\r\n.").startswith("250 ")
        assert effects(hosted)[0]["target"] == "bøb@example.test"


def test_a_null_sender_is_one() -> None:
    with hosting(bounced_recipients=("*",)) as hosted, wire(smtp_port(hosted)) as client, api(hosted) as http:
        assert client.say("MAIL FROM:<>").startswith("250 ")
        client.say(f"RCPT TO:<{BOB}>")
        client.say("DATA")
        assert client.say("\r\n.").startswith("250 ")
        hosted.advance(2 * SECOND_NS)
        hosted.wait_for("bounced")
        assert [mail["ID"] for mail in in_mailbox(http)] == ["email-1"], "a report that fails is not reported"


def test_after_its_deadline_a_message_is_refused_where_deadlines_hold() -> None:
    late = b"X-Not-After-Ns: 1\r\n\r\nx\r\n"
    with hosting() as hosted, wire(smtp_port(hosted)) as client:
        assert client.mail(late).startswith("554 5.4.7 ")
        assert client.mail(b"X-Not-After-Ns: soon\r\n\r\nx\r\n").startswith("554 5.6.0 ")
        assert client.mail(b"X-Not-After-Ns: 9999999999999999999\r\n\r\nx\r\n").startswith("250 ")
        assert three(hosted) == (3, 1, 3)
    with hosting(cell="honoured.authoritative.late") as hosted, wire(smtp_port(hosted)) as client:
        assert client.mail(late).startswith("250 ")


def test_a_deadline_that_passes_while_the_message_is_held_counts() -> None:
    with hosting() as hosted:
        hook = hosted.arm("before-commit = hang")
        now_ns = hosted.desk.clock.now_ns()
        with wire(smtp_port(hosted)) as client:
            client.envelope()
            client.send(f"X-Not-After-Ns: {now_ns + SECOND_NS}\r\n\r\nx\r\n.\r\n".encode())
            hosted.wait_until_hanging(hook)
            hosted.advance(2 * SECOND_NS)
            hosted.release(hook)
            assert client.reply().startswith("554 5.4.7 ")
        assert three(hosted) == (1, 0, 1)


def test_somebody_else_writes_first() -> None:
    with hosting() as hosted, api(hosted) as http:
        hosted.arm("before-commit = compete:send")
        by_smtplib(smtp_port(hosted), message())
        assert [(each["operation"], each["target"]) for each in effects(hosted)] == [("outside", BOB), ("", BOB)]
        assert [mail["ID"] for mail in in_mailbox(http, f"to:{BOB}")] == ["email-2"]
        assert hosted.entries("effect")[0].call == ""


def test_auth_takes_both_mechanisms_and_tells_nobody() -> None:
    plain = base64.b64encode(b"\0tester\0s3cret-word").decode()
    with hosting(smtp_user="tester", smtp_password="s3cret-word") as hosted:
        with wire(smtp_port(hosted)) as client:
            assert client.say("AUTH PLAIN !!!").startswith("501 ")
            assert client.say(f"AUTH PLAIN {base64.b64encode(bytes(3)).decode()}").startswith("501 ")
            assert client.say(f"AUTH PLAIN {base64.b64encode(b'x').decode()}").startswith("501 ")
            assert client.say("AUTH DIGEST x").startswith("504 ")
            assert client.say("AUTH LOGIN").startswith("334 ")
            assert client.say("*").startswith("501 ")
            assert client.say("AUTH LOGIN").startswith("334 ")
            assert client.say(b"x" * 3000).startswith("500 ")
            hosted.arm("received what=auth = status:454")
            assert client.say(f"AUTH PLAIN {plain}").startswith("454 ")
            assert client.say(f"AUTH PLAIN {plain}").startswith("235 ")
            assert client.say(f"AUTH PLAIN {plain}").startswith("503 ")
        with wire(smtp_port(hosted)) as client:
            client.say("AUTH LOGIN")
            client.say(base64.b64encode(b"tester"))
            assert client.say(base64.b64encode(b"wrong")).startswith("535 ")
            client.say("AUTH LOGIN")
            client.say(base64.b64encode(b"tester"))
            assert client.say(base64.b64encode(b"s3cret-word")).startswith("235 ")
            assert client.mail().startswith("250 ")
        told = repr([hosted.entries(), hosted.call(hosted.fake.view)])
        assert "s3cret-word" not in told
        assert plain not in told


def test_who_must_log_in_and_has_not_sends_nothing() -> None:
    with hosting(smtp_user="tester", requires_auth=True) as hosted, wire(smtp_port(hosted)) as client:
        assert client.say(f"MAIL FROM:<{ALICE}>").startswith("530 ")
        assert three(hosted) == (0, 0, 0)


def test_a_client_that_goes_away_in_the_middle_has_sent_nothing() -> None:
    with hosting() as hosted:
        with wire(smtp_port(hosted)) as client:
            client.envelope()
            client.send(b"Subject: half\r\n\r\nhal")
        with wire(smtp_port(hosted)) as client:
            assert client.mail().startswith("250 ")
        assert three(hosted) == (1, 1, 1)


def test_closing_the_fake_ends_connections_that_are_open_or_held() -> None:
    with hosting() as hosted:
        hook = hosted.arm("after-commit = hang")
        idle, held = Wire(smtp_port(hosted)), Wire(smtp_port(hosted))
        held.envelope()
        held.send(b"\r\n.\r\n")
        hosted.wait_until_hanging(hook)
        hosted.run(hosted.fake.close())
        for client in (idle, held):
            assert client.reply() == ""
            client.close()
        hosted.run(hosted.fake.serve(bind_all(EmailFake)))
