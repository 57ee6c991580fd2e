"""The search language of the mailbox."""

from __future__ import annotations

from random import Random

import pytest

from fakes.email.searching import Entry, fits, words_of

HEAD = {
    "message_id": "Bill-7@client.test",
    "subject": "Your bill of May",
    "from": [("Alice", "alice@example.test")],
    "to": [("", "bob@example.test")],
    "cc": [("Carol", "carol@example.test")],
    "reply_to": [("", "desk@example.test")],
    "attachments": 1,
}
ENTRY = Entry(HEAD, [("", "hidden@example.test")], "Please pay 100.", 2048, ["delivered"], False)


@pytest.mark.parametrize(
    "query",
    [
        "bill",
        "BILL may",
        '"bill of may"',
        "pay",
        "from:alice",
        "from:ALICE@example.test",
        "to:bob@example.test",
        "cc:carol",
        "bcc:hidden",
        "reply-to:desk",
        "addressed:carol",
        "addressed:hidden",
        'subject:"your bill"',
        "message-id:bill-7@client.test",
        "message-id:<Bill-7@client.test>",
        "tag:delivered",
        "is:unread",
        "is:tagged",
        "has:attachment",
        "larger:1k",
        "smaller:1mb",
        "-from:bob",
        "!to:alice",
        "-is:read",
        "from:alice to:bob",
    ],
)
def test_what_fits_is_found(query: str) -> None:
    assert fits(ENTRY, query)


@pytest.mark.parametrize(
    "query",
    [
        "invoice",
        '"may bill"',
        "from:bob",
        "to:carol",
        "bcc:bob",
        "subject:pay",
        "message-id:bill-8@client.test",
        "tag:sent",
        "is:read",
        "is:nonsense",
        "larger:2k",
        "smaller:2k",
        "larger:lots",
        "-bill",
        "from:alice to:alice",
        "unknown:bill",
    ],
)
def test_what_does_not_fit_is_not_found(query: str) -> None:
    assert not fits(ENTRY, query)


def test_a_phrase_is_one_word() -> None:
    assert words_of('from:a "b c" -subject:"d e" f') == ["from:a", '"b c"', '-subject:"d e"', "f"]


def test_any_query_can_be_asked() -> None:
    random = Random(3)
    for _ in range(500):
        fits(ENTRY, "".join(random.choice('ab:"-! \t\n<>@*?%&äß\x00size') for _ in range(30)))
