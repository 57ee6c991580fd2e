"""Reading and writing messages as values."""

from __future__ import annotations

import json
from email import message_from_bytes, policy
from random import Random

import pytest

from fakes.email.composing import Bounce, Draft, compose, report, trace
from fakes.email.letters import Letter, headers_of, is_address, plain, read_letter, text_of

NOW_NS = 1_767_225_600_000_000_000
DRAFT = Draft(("Älice", "alice@example.test"), [("", "bob@example.test")], [], [], "Grüße", "Hi\n", None, {})


def draft(**more: object) -> bytes:
    return compose(DRAFT._replace(**more), message_id="1@mail.test", now_ns=NOW_NS)


def test_a_message_tells_who_wrote_what_to_whom() -> None:
    reading = read_letter(
        b"From: =?utf-8?q?=C3=84lice?= <alice@example.test>\r\nTo: bob@example.test, Carol <carol@example.test>\r\n"
        b"Subject: =?utf-8?b?R3LDvMOfZQ==?=\r\nMessage-ID: <m1@client.test>\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000\r\n"
        b"Content-Type: text/plain; charset=latin-1\r\n\r\nGr\xfc\xdfe\r\n"
    )
    assert reading.sender == [("Älice", "alice@example.test")]
    assert reading.to == [("", "bob@example.test"), ("Carol", "carol@example.test")]
    assert (reading.subject, reading.message_id, reading.text) == ("Grüße", "m1@client.test", "Grüße\n")
    assert reading.date_ns == NOW_NS


def test_the_marks_of_an_operation_are_read_from_the_header() -> None:
    reading = read_letter(b"X-Operation: bill%2F7\r\nX-Target: cus-1\r\nX-Not-After-Ns: 12\r\n\r\n")
    assert (reading.operation, reading.target, reading.not_after) == ("bill/7", "cus-1", "12")


def test_a_mark_in_the_text_is_no_mark() -> None:
    assert read_letter(b"Subject: x\r\n\r\nX-Operation: bill\r\n").operation == ""


def test_parts_are_text_html_and_attachments() -> None:
    content = (
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nplain\r\n'
        b"--b\r\nContent-Type: text/html\r\n\r\n<p>html\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\nin it"
        b'\r\n--b\r\nContent-Type: application/pdf; name="bill.pdf"\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--b--\r\n'
    )
    reading = read_letter(content)
    assert (reading.text, reading.html) == ("plain", "<p>html")
    assert reading.attachments == [("", "message/rfc822", 5), ("bill.pdf", "application/pdf", 3)]
    assert reading.head()["attachments"] == 2


def test_only_what_a_person_would_read_of_html_is_its_text() -> None:
    html = "<style>p{}</style><p>One &amp; <b>two</b><script>alert(1)</script><br>three"
    assert text_of(html).split() == ["One", "&", "two", "three"]
    assert read_letter(b"Content-Type: text/html\r\n\r\n" + html.encode()).head()["snippet"] == "One & two three"


def test_parts_nested_too_deeply_leave_the_header() -> None:
    parts = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (depth, depth) for depth in range(300)
    )
    assert read_letter(b"Subject: deep\r\n" + parts).subject == "deep"


def test_whatever_bytes_come_there_is_a_reading_that_can_be_written_down() -> None:
    random = Random(7)
    valid = draft(html="<p>Hi", headers={"X-Operation": "op"})
    for _ in range(120):
        content = bytearray(valid)
        for _ in range(random.randrange(1, 20)):
            content[random.randrange(len(content))] = random.randrange(256)
        wild = bytes(content) if random.random() < 0.7 else random.randbytes(200)
        reading = read_letter(wild)
        json.dumps([reading, reading.head(), headers_of(wild)], ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "value", ["=?utf-8?b?!!!?=", "=?nonsense?q?x?=", "=?utf-8?q?=ED=A0=80?=", "<<<>>>", '"', "a@b@c", ",,,;:", "\x00"]
)
def test_odd_header_fields_do_not_matter(value: str) -> None:
    fields = ("From", "To", "Cc", "Subject", "Date", "Message-ID", "Content-Type", "X-Operation", "X-Target")
    content = "".join(f"{name}: {value}\r\n" for name in fields) + "\r\nbody"
    reading = read_letter(content.encode())
    assert plain(reading.subject) == reading.subject
    assert reading.text == "body"


def test_a_composed_message_is_one_that_a_library_understands() -> None:
    content = draft(
        html="<p>Grüße", text="Grüße\n.\n" + "x" * 2000, cc=[("C", "c@x.test")], reply_to=[("", "r@x.test")]
    )
    read = message_from_bytes(content, policy=policy.default)
    assert (read["From"], read["To"], read["Cc"], read["Reply-To"]) == (
        "Älice <alice@example.test>",
        "bob@example.test",
        "C <c@x.test>",
        "r@x.test",
    )
    assert (read["Subject"], read["Message-ID"]) == ("Grüße", "<1@mail.test>")
    text, html = read.get_body(("plain",)), read.get_body(("html",))
    assert text is not None
    assert html is not None
    assert text.get_content().splitlines()[:2] == ["Grüße", "."]
    assert html.get_content().strip() == "<p>Grüße"
    assert max(map(len, content.split(b"\r\n"))) < 998
    assert b"\n" not in content.replace(b"\r\n", b"")


def test_equal_drafts_make_equal_bytes() -> None:
    assert draft(html="<p>") == draft(html="<p>")
    assert draft(html="<p>") != draft(html="<b>")


def test_a_draft_without_bodies_is_an_empty_message() -> None:
    assert read_letter(draft(text=None)).text.strip() == ""


def test_a_trace_does_not_repeat_what_a_client_made_up() -> None:
    line = trace(helo="evil\r\nX: y <z>", hostname="mail.test", id_="email-1", now_ns=NOW_NS, is_extended=False)
    assert headers_of(line + b"\r\n") == {
        "Received": ["from evilX:yz ([127.0.0.1]) by mail.test with SMTP id email-1; Thu, 01 Jan 2026 00:00:00 +0000"]
    }


def test_a_bounce_report_says_which_recipient_of_which_message_failed() -> None:
    bounce = Bounce(
        "mail.test", "alice@example.test", "bob@example.test", "email-1", b"Message-ID: <m1@client.test>\r\n"
    )
    read = message_from_bytes(report(bounce, message_id="r@mail.test", now_ns=NOW_NS), policy=policy.default)
    assert read.get_content_type() == "multipart/report"
    status, headers = list(read.iter_parts())[1:]
    server, recipient = status.get_payload()
    assert (server["X-Queue-ID"], recipient["Final-Recipient"]) == ("email-1", "rfc822; bob@example.test")
    assert (recipient["Action"], recipient["Status"]) == ("failed", "5.1.1")
    assert "<m1@client.test>" in headers.get_payload()


@pytest.mark.parametrize(
    "text", ["", "a", "a@", "@b", "a b@c", "a@b>", "a\n@b", "a@b,c@d", "a" * 320 + "@b", "\ud800@b"]
)
def test_what_cannot_be_an_address_is_none(text: str) -> None:
    assert not is_address(text)
    assert is_address("ä.b+c@example.test")


def test_the_status_of_a_message_is_that_of_the_moment_asked_for() -> None:
    head = {"message_id": "", "subject": "", "from": [], "to": [], "cc": [], "reply_to": []}
    letter = Letter("email-1", "", "", "http", "a@x", {"b@x": ["queued", 20]}, "", "", "", {}, "", head, 1, 10, 20)
    assert letter.status(30) == "scheduled"
    sent = letter._replace(sent_ns=20, recipients={"b@x": ["delivered", 25], "c@x": ["bounced", 30]})
    assert [sent.status(at) for at in (19, 20, 25, 30)] == ["scheduled", "sent", "sent", "bounced"]
    assert letter._replace(ended_ns=15, end="canceled").status(15) == "canceled"
    deleted = sent._replace(deleted_ns=40)
    assert [deleted.is_in_mailbox(at) for at in (19, 20, 39, 40)] == [False, True, True, False]
