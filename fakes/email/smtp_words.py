"""What the server says over SMTP, by code. Its own words, with the enhanced codes of RFC 3463.

Never here: when it says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.errors import ProviderFailure

WORDS: Mapping[int, str] = {
    250: "2.0.0 Ok",
    421: "4.3.2 Service not available, closing transmission channel",
    450: "4.2.0 Mailbox temporarily unavailable, try again later",
    451: "4.3.0 Local error in processing, try again later",
    452: "4.3.1 Insufficient system storage",
    500: "5.5.2 Syntax error",
    501: "5.5.4 Syntax error in parameters",
    503: "5.5.1 Bad sequence of commands",
    550: "5.1.1 Mailbox unavailable",
    551: "5.1.6 User not local",
    552: "5.3.4 Message size exceeds fixed limit",
    553: "5.1.3 Mailbox name not allowed",
    554: "5.0.0 Transaction failed",
}
REFUSALS: Mapping[str, str] = {
    "expired": "554 5.4.7 Delivery time expired",
    "declined": "550 5.7.1 Message refused",
    "invalid": "554 5.6.0 Message content not understood",
}
UNEXPECTED = f"451 {WORDS[451]}"
TOO_MANY_RECIPIENTS = "452 4.5.3 Too many recipients"
NO_AUTH = "503 5.5.1 Authentication is not enabled"
LINE_TOO_LONG = "500 5.5.2 Line too long"


def status_line(code: int) -> str:
    """A status that the server did not come to itself."""
    return f"{code} {WORDS.get(code, f'{code // 100}.0.0 Status {code}')}"


def refusal_line(failed: ProviderFailure) -> str:
    """A refusal the domain came to."""
    return REFUSALS.get(failed.code, UNEXPECTED)


def unknown_recipient(address: str) -> str:
    return f"550 5.1.1 <{address}>: Recipient address rejected: no such user here"


def queued(id_: str) -> str:
    """The answer by which the server becomes responsible for a message."""
    return f"250 2.0.0 Ok: queued as {id_}"
