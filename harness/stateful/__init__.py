"""Hypothesis over the simulation rig: a user's test module says `from harness.stateful import LedgerMachine`.

`machine` draws, `stepping` lets a run be driven boundary by boundary, `stage` holds what runs share, `found` tells and
exports a violation. Only `machine` imports Hypothesis; what it finds replays without it.
"""

from harness.stateful.machine import LedgerMachine

__all__ = ["LedgerMachine"]
