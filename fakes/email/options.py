"""What can be configured on the mail provider.

Never here: a rule.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from fakes.wire.fake import Options
from fakes.wire.outbox import Receiver
from harness.model.cell import KEY_TTL_NS, SECOND_NS

NS_MAX = 10**18
Glob = Annotated[str, Field(min_length=1, max_length=320)]
Hostname = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$")]


class EmailOptions(Options):
    """What can be configured."""

    hostname: Hostname = "mail.example.test"
    """The name the server calls itself, and the domain of the Message-IDs it makes."""
    size_max: int = Field(10 << 20, ge=1, le=64 << 20)
    """The largest message in bytes: announced as SIZE, beyond it 552."""
    refused_recipients: tuple[Glob, ...] = ()
    """Recipients that are refused at once: 550 over SMTP, a refusal over HTTP."""
    bounced_recipients: tuple[Glob, ...] = ()
    """Recipients that are accepted and bounce later."""
    settles_ns: int = Field(SECOND_NS, ge=0, le=NS_MAX)
    """How long after its acceptance a message is delivered, or bounces."""
    drops_repeated_message_ids: bool = False
    """Is a message whose Message-ID was accepted before answered and not sent? Real servers do not do it."""
    smtp_user: str = ""
    """Who may log in over SMTP; "": AUTH is not offered."""
    smtp_password: str = "fake-smtp-password"
    requires_auth: bool = False
    """Is mail taken only from who has logged in? Needs `smtp_user`."""
    api_key: str = "mail_test_fake_0000000000000000"
    """What callers of the mail API must present; "": nothing."""
    keys: Literal["replay", "release-on-error", "none"] = "replay"
    """What an Idempotency-Key does, in a cell that does not ignore keys. `release-on-error`: whoever is answered an error
    has the key free again, even if the message was sent."""
    key_ttl_ns: int = Field(KEY_TTL_NS, ge=0, le=NS_MAX)
    """How long a key is kept in a cell where keys expire."""
    compares_body: bool = True
    """Is another message under the same key refused? Otherwise it gets the first one's answer."""
    subscribers: tuple[Receiver, ...] = ()
    """Addresses that events are posted to."""

    @model_validator(mode="after")
    def _has_somebody_to_log_in(self) -> Self:
        if self.requires_auth and not self.smtp_user:
            raise ValueError("requires_auth needs an smtp_user: nobody could log in")
        return self
