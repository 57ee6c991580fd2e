"""One contract, on the fake and on OpenSMTPD; and the window in which either of them makes one mail into two."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.wire.hosting import Hosted
from tests.fakes.email.contract import DOTS, DOTS_KEPT, ROWS, Row, capabilities, converse
from tests.fakes.email.post import (
    SENDERS,
    SIZE_MAX,
    api,
    effects,
    hosting,
    in_mailbox,
    message,
    outcome,
    smtp_port,
    wire,
)
from tests.fakes.email.real_server import RealServer, opensmtpd
from tests.fakes.email.swallower import swallowing

real = pytest.mark.real("smtpd")
Kept = Callable[[bytes, int], list[bytes]]


@pytest.fixture(scope="module")
def fake() -> Iterator[Hosted]:
    with hosting(size_max=SIZE_MAX, refused_recipients=("nobody.*",)) as hosted:
        yield hosted


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    if os.geteuid() != 0:
        pytest.skip("OpenSMTPD starts as root alone")
    # Not pytest's own folder: the server delivers as somebody else, who cannot enter it.
    with tempfile.TemporaryDirectory(prefix="opensmtpd-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with opensmtpd(folder) as running:
            yield running


def fake_keeps(hosted: Hosted) -> Kept:
    """What the fake's mailboxes have, one copy for each recipient."""

    def kept(marker: bytes, count: int) -> list[bytes]:
        with api(hosted) as client:
            found = [(m["ID"], len(m["To"]) + len(m["Bcc"])) for m in in_mailbox(client, f'"{marker.decode()}"')]
            raw = {id_: client.get(f"/api/v1/message/{id_}/raw").content for id_, _ in found}
        return [raw[id_] for id_, copies in found for _ in range(copies)]

    return kept


def check_row(port: int, row: Row, marker: bytes, kept: Kept) -> None:
    with wire(port) as client:
        replies = converse(client, row, marker)
    for reply, beginning in zip(replies, row.hears, strict=True):
        assert reply.startswith(beginning), replies
    assert len(kept(marker, row.messages)) == row.messages


def check_dots(port: int, marker: bytes, kept: Kept) -> None:
    with wire(port) as client:
        assert client.mail(b"\r\n" + DOTS.replace(b"{marker}", marker)).startswith("250 ")
    (content,) = kept(marker, 1)
    assert DOTS_KEPT in content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    assert content.count(b"Received: from client.test") == 1


def check_capabilities(port: int) -> None:
    with wire(port, greeted=False) as client:
        assert client.greeting.startswith("220 mail.example.test ")
        assert {"8BITMIME", "SIZE", "HELP"} <= capabilities(client)


def check_queue_ids(port: int) -> None:
    with wire(port) as client:
        first, second = client.mail(), client.mail()
    assert first.startswith("250 2.0.0 ")
    assert first != second, "an answer names the message, so no two are equal"


def check_duplicate_window(port: int, client: str, kept: Kept) -> None:
    """Cut between the final dot and the 250: the client sees a lost connection, the server has the message."""
    marker = f"window-{client}"
    with swallowing(port) as relay:
        saw = outcome(SENDERS[client], relay.port, message(text=f"{marker}\n"))
        assert saw.error == "SMTPServerDisconnected"
        assert relay.swallowed[0].startswith(b"250 2.0.0 ")
        assert len(kept(marker.encode(), 1)) == 1, "nobody was told, and it is there"
        assert outcome(SENDERS[client], relay.port, message(text=f"{marker}\n")).error == ""
    copies = kept(marker.encode(), 2)
    assert len(copies) == 2
    assert all(b"<greeting-1@client.test>" in copy for copy in copies), "one Message-ID, and no server minds"


@pytest.mark.parametrize("name", ROWS)
def test_the_fake_keeps_the_contract(fake: Hosted, name: str) -> None:
    check_row(smtp_port(fake), ROWS[name], _marker(name), fake_keeps(fake))


def test_the_fake_unstuffs_dots(fake: Hosted) -> None:
    check_dots(smtp_port(fake), b"dots", fake_keeps(fake))


def test_the_fake_says_what_it_can(fake: Hosted) -> None:
    check_capabilities(smtp_port(fake))
    check_queue_ids(smtp_port(fake))


@pytest.mark.parametrize("client", SENDERS)
def test_the_fake_makes_two_mails_of_a_swallowed_answer(fake: Hosted, client: str) -> None:
    before = len(effects(fake))
    check_duplicate_window(smtp_port(fake), client, fake_keeps(fake))
    assert len(effects(fake)) - before == 2


@real
@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_opensmtpd_keeps_the_contract(server: RealServer, name: str) -> None:
    check_row(server.port, ROWS[name], _marker(name), server.delivered)


@real
@pytest.mark.slow
def test_opensmtpd_unstuffs_dots(server: RealServer) -> None:
    check_dots(server.port, b"dots", server.delivered)


@real
@pytest.mark.slow
def test_opensmtpd_says_what_it_can(server: RealServer) -> None:
    check_capabilities(server.port)
    check_queue_ids(server.port)


@real
@pytest.mark.slow
@pytest.mark.parametrize("client", SENDERS)
def test_opensmtpd_makes_two_mails_of_a_swallowed_answer(server: RealServer, client: str) -> None:
    check_duplicate_window(server.port, client, server.delivered)


def _marker(name: str) -> bytes:
    return b"row-" + name.replace(" ", "-").encode() + b"-end"
