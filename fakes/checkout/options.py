"""What can be set on the shop, and the user everybody may test with.

Never here: what an option does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from fakes.wire.fake import Options
from fakes.wire.points import duration_ns

TEST_USER = "ada@shop.example"
TEST_PASSWORD = "test-password-ada"
FORM_LIFE = "30m"


class Dedupe(StrEnum):
    """By what the shop recognises an order form that comes again."""

    NONCE = "nonce"
    """The form's own number: the same form again is the same order, a form fetched anew is not."""
    NONE = "none"
    ORDER_REF = "order-ref"
    """The merchant's reference: one order for each, whichever form it came with."""


def _duration(text: str) -> str:
    duration_ns(text)
    return text


Duration = Annotated[str, AfterValidator(_duration)]


class ShopOptions(Options):
    """The shop's switches. Of the cell: `ignored` keys dedupe nothing, `absent` look-ups switch the history off, and where
    requests may be `late` an order form never expires."""

    dedupe: Dedupe = Field(Dedupe.NONCE, description="by what an order form that comes again is recognised")
    prg: bool = Field(True, description="answer an order with a redirect to its confirmation (POST, redirect, GET)")
    history_lag: Duration = Field("0s", description="how much later an order appears in the history")
    history_shows_reference: bool = Field(True, description="whether the history shows the merchant's reference")
    history_page_size: int = Field(10, ge=1, le=100, description="orders on one page of the history")
    history_needs_confirmation: bool = Field(
        False, description="whether an order appears only once its link in the confirmation mail was followed"
    )
    session_life: Duration = Field("24h", description="how long a session lasts from signing in")
    form_life: Duration = Field(
        FORM_LIFE, description="how long an order form can be sent, unless requests may be late"
    )
