"""The reference ledger: our own known-good candidate. A subject like any other, never the oracle."""
