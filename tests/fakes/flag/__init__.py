"""The feature flag service: its rule, and its protocol on the wire."""
