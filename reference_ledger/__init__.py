"""The reference ledger: our own known-good candidate. A subject like any other, never the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_ledger.ledger import ReferenceLedger


def factory() -> ReferenceLedger:
    """The candidate `reference_ledger:factory`."""
    from reference_ledger.ledger import ReferenceLedger

    return ReferenceLedger()
