"""The mailbox as programs read it, after Mailpit's convention, and the page for people."""

from __future__ import annotations

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
    wire,
)


def test_a_mail_in_a_list_has_the_fields_of_the_convention() -> None:
    with hosting() as hosted, api(hosted) as client:
        by_smtplib(smtp_port(hosted), message(f"Bob <{BOB}>", text="One\n\n  two\n"))
        answer = client.get("/api/v1/messages").json()
        (mail,) = answer.pop("messages")
        assert answer == {
            "total": 1,
            "unread": 1,
            "count": 1,
            "messages_count": 1,
            "messages_unread": 1,
            "start": 0,
            "tags": ["sent"],
        }
        size = mail.pop("Size")
        assert size == len(client.get("/api/v1/message/email-1/raw").content)
        assert mail == {
            "ID": "email-1",
            "MessageID": "greeting-1@client.test",
            "Read": False,
            "From": {"Name": "", "Address": ALICE},
            "To": [{"Name": "Bob", "Address": BOB}],
            "Cc": [],
            "Bcc": [],
            "ReplyTo": [],
            "Subject": "Hello",
            "Created": "2026-01-01T00:00:00.000Z",
            "Username": "",
            "Tags": ["sent"],
            "Attachments": 0,
            "Snippet": "One two",
        }


def test_opening_a_mail_shows_all_of_it_and_marks_it_as_read() -> None:
    with hosting() as hosted, api(hosted) as client:
        client.post("/emails", json=body(html="<p>Hi"))
        mail = client.get("/api/v1/message/latest").json()
        assert (mail["ID"], mail["Text"].strip(), mail["HTML"].strip()) == ("email-1", "Hi Bob", "<p>Hi")
        assert (mail["ReturnPath"], mail["Date"]) == (ALICE, "2026-01-01T00:00:00.000Z")
        assert client.get("/api/v1/messages").json()["unread"] == 0
        assert in_mailbox(client, "is:read")[0]["Read"] is True


def test_lists_are_newest_first_and_come_in_windows() -> None:
    with hosting() as hosted, api(hosted) as client:
        for number in range(4):
            client.post("/emails", json=body(subject=f"No {number}"))
        asked = client.get("/api/v1/messages", params={"start": 1, "limit": 2}).json()
        assert [mail["Subject"] for mail in asked["messages"]] == ["No 2", "No 1"]
        assert (asked["total"], asked["count"], asked["start"]) == (4, 2, 1)
        assert len(client.get("/api/v1/messages?start=x&limit=-1").json()["messages"]) == 4


def test_a_message_is_found_by_its_message_id() -> None:
    with hosting() as hosted, api(hosted) as client:
        by_smtplib(smtp_port(hosted), message())
        client.post("/emails", json=body())
        assert [m["ID"] for m in in_mailbox(client, "message-id:greeting-1@client.test")] == ["email-1"]
        assert [m["ID"] for m in in_mailbox(client, f"from:{ALICE} -message-id:greeting")] == ["email-2"]
        assert client.get("/api/v1/search").status_code == 400


def test_deleting_empties_the_mailbox_and_unsends_nothing() -> None:
    with hosting() as hosted, api(hosted) as client:
        for _ in range(4):
            client.post("/emails", json=body())
        assert client.request("DELETE", "/api/v1/messages", json={"IDs": ["email-2", "x"]}).text == "ok"
        assert [mail["ID"] for mail in in_mailbox(client)] == ["email-4", "email-3", "email-1"]
        assert client.get("/api/v1/message/email-2").status_code == 404
        assert client.delete("/api/v1/search", params={"query": "is:unread"}).text == "ok"
        assert in_mailbox(client) == []
        client.post("/emails", json=body())
        assert client.delete("/api/v1/messages").text == "ok"
        assert in_mailbox(client) == []
        assert client.request("DELETE", "/api/v1/messages", content=b"{").status_code == 400
        assert len(effects(hosted)) == 5
        assert len(client.get("/emails").json()["data"]) == 5


def test_a_stale_mailbox_shows_what_was_there() -> None:
    with hosting() as hosted, api(hosted) as client:
        hosted.advance(10 * SECOND_NS)
        client.post("/emails", json=body())
        hosted.advance(2 * SECOND_NS)
        client.delete("/api/v1/messages")
        hosted.arm("read what=messages = stale:1s")
        hosted.arm("read what=search target=message-id:* = stale:1s")
        hosted.arm("read what=message = stale:5s")
        assert len(in_mailbox(client)) == 1
        assert len(in_mailbox(client, "message-id:email-1")) == 1
        assert client.get("/api/v1/message/email-1").status_code == 404
        assert in_mailbox(client) == []
        assert fired(hosted) == 3


def test_somebody_empties_the_mailbox_before_it_is_searched() -> None:
    with hosting() as hosted, api(hosted) as client:
        client.post("/emails", json=body())
        hosted.arm("read what=search = compete:purge")
        assert in_mailbox(client, "to:bob") == []
        assert len(effects(hosted)) == 1


def test_the_page_lists_what_was_sent_and_what_waits() -> None:
    with hosting() as hosted, api(hosted) as client:
        assert "Nothing was sent yet" in client.get("/").text
        client.post("/emails", json=body(subject="First"))
        client.post("/emails", json=body(subject="Later", scheduled_at="2027-01-01"))
        page = client.get("/").text
        assert page.index("First") < page.index("Waiting for their time") < page.index("Later")
        assert 'href="/mails/email-1"' in page
        client.delete("/api/v1/messages")
        assert client.get("/mails/email-1").status_code == 404
        assert "There is no such mail" in client.get("/mails/x").text


def test_the_page_shows_text_and_never_what_a_mail_would_do_to_a_browser() -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    with hosting() as hosted, api(hosted) as client:
        with wire(smtp_port(hosted)) as sender:
            head = f"Subject: {evil}\r\nFrom: {evil} <a@b>\r\nX-Operation: {evil}\r\nMessage-ID: <{evil}>\r\n\r\n"
            sender.mail(head.encode() + evil.encode() + b"\r\n")
        client.post(
            "/emails", json=body(text=None, html=f"<p>Read me</p>{evil}", subject=evil, to=f'"{evil}" <{CAROL}>')
        )
        for path in ("/", "/mails/email-1", "/mails/email-2"):
            answer = client.get(path)
            assert "<script" not in answer.text
            assert "<img" not in answer.text
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert "Read me" in answer.text
        assert "alert(1)" not in answer.text.partition('class="text"')[2]
