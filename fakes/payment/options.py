"""What can be configured on the payment fake. Never here: what it does."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from fakes.payment.account import Habits
from fakes.wire.fake import Options
from harness.model.cell import SECOND_NS

NS_MAX = 10**18
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class PaymentOptions(Options):
    """The provider cell, and what the provider leaves open."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    api_key: str = Field("sk_test_knownstate", min_length=1, max_length=200)
    """The secret key that is accepted. A test credential: it opens nothing but this fake."""
    idempotency: Literal["v1", "v2"] = "v1"
    """v1 gives the kept answer again, failures too; v2 goes on with what failed and answers with the present."""
    should_retry: Literal["unsaid", "true", "false"] = "unsaid"
    """The `Stripe-Should-Retry` header of statuses that hooks answer with."""
    search_lag_ns: int = Field(60 * SECOND_NS, ge=0, le=NS_MAX)
    """How far a search is behind; lists are not."""
    payments_settle_ns: int = Field(5 * SECOND_NS, ge=0, le=NS_MAX)
    """How long a debit that is not a card's is processing."""
    refunds_begin: Literal["succeeded", "pending", "requires_action"] = "succeeded"
    """What refunds are at first, unless the test card says otherwise."""
    refunds_settle_ns: int = Field(60 * SECOND_NS, ge=0, le=NS_MAX)
    """When a refund is settled: a pending one succeeds or fails, a succeeded one may fail after all."""
    authorizations_last_ns: int = Field(7 * 24 * 3600 * SECOND_NS, ge=0, le=NS_MAX)
    """How long money is held that nobody captures; 0: for ever."""
    webhook_hosts: tuple[str, ...] = _LOOPBACK
    """Events are sent to these hosts only; an endpoint elsewhere can be registered and gets nothing."""

    def habits(self) -> Habits:
        """The same for the account."""
        return Habits(
            payments_settle_ns=self.payments_settle_ns,
            refunds_settle_ns=self.refunds_settle_ns,
            refunds_begin=self.refunds_begin,
            authorizations_last_ns=self.authorizations_last_ns,
        )
