"""What a restart, a restore and a second equal run leave as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fakes.catalogue import face
from fakes.email.face import EmailFake
from fakes.email.options import EmailOptions
from fakes.wire.hosting import Hosted
from tests.fakes.email.post import (
    BOB,
    CAROL,
    SECOND_NS,
    api,
    body,
    by_smtplib,
    effects,
    hosting,
    in_mailbox,
    message,
    smtp_port,
    wire,
)

KEYED = {"idempotency-key": "k-1"}


def test_the_catalogue_knows_it() -> None:
    assert face("email") is EmailFake


def test_an_entry_has_what_a_client_needs() -> None:
    with hosting(smtp_user="tester") as hosted:
        entry = hosted.host.entry()
        assert entry["smtp"] == {
            "host": "127.0.0.1",
            "port": smtp_port(hosted),
            "user": "tester",
            "password": "fake-smtp-password",
        }
        assert entry["env"] == {
            "SMTP_HOST": "127.0.0.1",
            "SMTP_PORT": str(smtp_port(hosted)),
            "MAIL_API_BASE": entry["url"],
            "MAILBOX_BASE": entry["url"],
            "MAIL_API_KEY": entry["api_key"],
            "SMTP_USER": "tester",
            "SMTP_PASSWORD": "fake-smtp-password",
        }


@pytest.mark.parametrize(
    "options",
    [
        {"requires_auth": True},
        {"hostname": "a b"},
        {"subscribers": ("http://example.com/x",)},
        {"size_max": 0},
        {"unknown": 1},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EmailOptions(**options)


def test_a_restarted_fake_has_lost_nothing(tmp_path: Path) -> None:
    with hosting(tmp_path) as hosted, api(hosted) as client:
        client.post("/emails", json=body(reference="r-1"), headers=KEYED)
        by_smtplib(smtp_port(hosted), message(text="x\xe4\n"))
        client.delete("/api/v1/search", params={"query": "message-id:email-1"})
        before = hosted.call(hosted.fake.view)
        raw = client.get("/api/v1/message/email-2/raw").content
    with hosting(tmp_path) as hosted, api(hosted) as client:
        assert hosted.call(hosted.fake.view) == before
        assert client.get("/api/v1/message/email-2/raw").content == raw
        assert [mail["ID"] for mail in in_mailbox(client)] == ["email-2"]
        again = client.post("/emails", json=body(reference="r-1"), headers=KEYED)
        assert again.json()["id"] == "email-1"
        assert client.post("/emails", json=body()).json()["id"] == "email-3"
        assert len(effects(hosted)) == 3


def test_what_was_open_goes_on_after_a_restart(tmp_path: Path) -> None:
    with hosting(tmp_path) as hosted, api(hosted) as client:
        client.post("/emails", json=body())
        client.post("/emails", json=body(scheduled_at="2026-01-01T01:00:00Z"))
        client.post("/emails", json=body(scheduled_at="2026-01-01T01:00:00Z"))
        client.post("/emails/email-3/cancel")
    with hosting(tmp_path) as hosted, api(hosted) as client:
        hosted.advance(SECOND_NS)
        hosted.wait_for("delivered")
        hosted.advance(3600 * SECOND_NS)
        hosted.wait_for("effect", 2)
        hosted.advance(SECOND_NS)
        hosted.wait_for("delivered", 2)
        statuses = [view["status"] for view in client.get("/emails").json()["data"]]
        assert statuses == ["canceled", "delivered", "delivered"]


def test_a_released_key_stays_released_after_a_restart(tmp_path: Path) -> None:
    with hosting(tmp_path, keys="release-on-error") as hosted, api(hosted) as client:
        hosted.arm("after-commit = status:500")
        client.post("/emails", json=body(), headers=KEYED)
    with hosting(tmp_path, keys="release-on-error") as hosted, api(hosted) as client:
        assert client.post("/emails", json=body(), headers=KEYED).json()["id"] == "email-2"


def test_a_restore_brings_the_old_state_back_with_what_was_open_in_it() -> None:
    with hosting() as hosted, api(hosted) as client:
        client.post("/emails", json=body(), headers=KEYED)
        client.post("/emails", json=body(scheduled_at="2026-01-01T01:00:00Z"))
        before, kept = hosted.call(hosted.fake.view), hosted.call(hosted.desk.snapshot)
        client.post("/emails/email-2/cancel")
        by_smtplib(smtp_port(hosted), message(CAROL))
        client.delete("/api/v1/messages")
        hosted.call(lambda: hosted.desk.restore(kept))
        assert hosted.call(hosted.fake.view) == before
        assert [mail["ID"] for mail in in_mailbox(client)] == ["email-1"]
        hosted.advance(2 * 3600 * SECOND_NS)
        hosted.wait_for("delivered", 1)
        hosted.wait_for("effect", 3)
        assert client.get("/emails/email-2").json()["status"] in ("sent", "delivered")
        assert [entry.data["effect"] for entry in hosted.entries("delivered")].count("email-1") == 1


def test_timers_of_a_past_that_was_taken_back_cross_no_point() -> None:
    with hosting() as hosted:
        empty = hosted.call(hosted.desk.snapshot)
        by_smtplib(smtp_port(hosted), message())
        hosted.call(lambda: hosted.desk.restore(empty))
        hosted.arm("settle = fail")
        hosted.advance(10 * SECOND_NS)
        assert hosted.entries("hook-fired") == []


def _run(hosted: Hosted) -> list[bytes]:
    said: list[bytes] = []
    with wire(smtp_port(hosted)) as client:
        said += [client.greeting.encode(), client.mail(b"Subject: x\r\n\r\nx\r\n", BOB, CAROL).encode()]
    with api(hosted) as client:
        said.append(client.post("/emails", json=body(html="<p>"), headers=KEYED).content)
        client.post("/emails", json=body(scheduled_at="2026-01-01T00:00:05Z"))
        hosted.advance(SECOND_NS)
        hosted.wait_for("delivered", 2)
        hosted.wait_for("bounced", 1)
        for path in ("/api/v1/messages", "/emails", "/", "/mails/email-2", "/api/v1/message/latest"):
            said.append(client.get(path).content)
        said += [client.get(f"/api/v1/message/{id_}/raw").content for id_ in ("email-1", "email-2", "report-1")]
    return said


def test_equal_runs_give_equal_bytes() -> None:
    runs = []
    for _ in range(2):
        with hosting(bounced_recipients=("carol@*",)) as hosted:
            runs.append(_run(hosted))
    assert runs[0] == runs[1]
