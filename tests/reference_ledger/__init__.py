"""Tests of the reference ledger: its decisions one by one, its course under faults, and its broken twins."""
