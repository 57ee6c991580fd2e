"""What can be configured of the cloud. Never here: what it does with it."""

from __future__ import annotations

from pydantic import Field

from fakes.wire.fake import Options

DURATION_MAX_MS = 10**9
FAKE_ACCESS_KEY = "AKIAFAKEFAKEFAKEFAKE"
FAKE_SECRET = "fake-secret-for-tests-only"
ACCOUNT = "000000000000"


class CloudOptions(Options):
    """Options of the cloud."""

    region: str = Field("us-east-1", pattern=r"^[a-z0-9-]{1,40}$")
    access_key_id: str = Field(FAKE_ACCESS_KEY, pattern=r"^[A-Za-z0-9]{4,128}$")
    secret_access_key: str = Field(FAKE_SECRET, min_length=1, max_length=200)
    are_signatures_checked: bool = True
    """Off: whoever asks is taken for the account's owner."""
    boot_ms: int = Field(1500, ge=0, le=DURATION_MAX_MS)
    """How long an instance is pending."""
    shutdown_ms: int = Field(1500, ge=0, le=DURATION_MAX_MS)
    """How long an instance is shutting down."""
    insync_ms: int = Field(1500, ge=0, le=DURATION_MAX_MS)
    """How long a change of records is PENDING."""
