"""What the fake and a real server have in common, as rows: a conversation, and what both must say.

A reply is compared by its first digit where servers differ in the rest (`5`), and wholly where they agree (`250`).
Never here: a server.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.fakes.email.post import ALICE, BOB, CAROL, SIZE_MAX, Wire

MAIL, RCPT = f"MAIL FROM:<{ALICE}>", f"RCPT TO:<{BOB}>"
STRANGER = "RCPT TO:<nobody.we.know@example.test>"
BIG = (b"x" * 76 + b"\r\n") * (SIZE_MAX // 39)


class Row(NamedTuple):
    """Lines that are said, and the beginnings of the replies. A line of bytes is message content up to its final dot."""

    says: tuple[str | bytes, ...]
    hears: tuple[str, ...]
    messages: int = 0
    """How many the server has accepted afterwards."""


ROWS: dict[str, Row] = {
    "an accepted message": Row((MAIL, RCPT, "DATA", b"{marker}\r\n"), ("250", "250", "354", "250 2.0.0 "), 1),
    "two messages": Row((MAIL, RCPT, "DATA", b"{marker}\r\n") * 2, ("250", "250", "354", "250 2.0.0 ") * 2, 2),
    "two recipients": Row(
        (MAIL, RCPT, f"RCPT TO:<{CAROL}>", "DATA", b"{marker}\r\n"), ("250", "250", "250", "354", "250"), 2
    ),
    "a null sender": Row(("MAIL FROM:<>", RCPT, "DATA", b"{marker}\r\n"), ("250", "250", "354", "250"), 1),
    "a refused recipient": Row((MAIL, STRANGER), ("250", "5")),
    "one refused recipient of two": Row(
        (MAIL, STRANGER, RCPT, "DATA", b"{marker}\r\n"), ("250", "5", "250", "354", "250"), 1
    ),
    "all recipients refused": Row((MAIL, STRANGER, "DATA"), ("250", "5", "503")),
    "a message that is too big": Row((MAIL, RCPT, "DATA", b"{marker}\r\n" + BIG), ("250", "250", "354", "5")),
    "a message after one that was too big": Row(
        (MAIL, RCPT, "DATA", BIG, MAIL, RCPT, "DATA", b"{marker}\r\n"),
        ("250", "250", "354", "5", "250", "250", "354", "250"),
        1,
    ),
    "recipient before sender": Row((RCPT,), ("503",)),
    "data before sender": Row(("DATA",), ("503",)),
    "data before recipient": Row((MAIL, "DATA"), ("250", "503")),
    "sender twice": Row((MAIL, MAIL), ("250", "503")),
    "a reset envelope": Row((MAIL, RCPT, "RSET", "DATA"), ("250", "250", "250", "503")),
    "an unknown command": Row(("NONSENSE", "NOOP"), ("500", "250")),
    "an unknown parameter": Row((f"{MAIL} NONSENSE=1",), ("5",)),
    "a sender that is none": Row(("MAIL FROM:a b",), ("55",)),
    "8bit": Row((f"{MAIL} BODY=8BITMIME", RCPT, "DATA", b"{marker}\xe4\xff\r\n"), ("250", "250", "354", "250"), 1),
    "an announced size": Row((f"{MAIL} SIZE=100",), ("250",)),
    "leave": Row(("QUIT",), ("221",)),
}

DOTS = b"{marker}\r\n..a dot\r\n...two\r\n..\r\nend\r\n"
DOTS_KEPT = b"\r\n.a dot\r\n..two\r\n.\r\nend\r\n"


def converse(client: Wire, row: Row, marker: bytes) -> list[str]:
    """Say all of the row; the replies."""
    replies = []
    for line in row.says:
        if isinstance(line, bytes):
            client.send(b"Subject: contract\r\n\r\n" + line.replace(b"{marker}", marker) + b".\r\n")
            replies.append(client.reply())
        else:
            replies.append(client.say(line))
    return replies


def capabilities(client: Wire) -> set[str]:
    """What it answers to EHLO, by first words."""
    client.send(b"EHLO client.test\r\n")
    return {line[4:].split()[0].upper() for line in client.lines()}
