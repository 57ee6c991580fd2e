"""Garbage collection for processes that do nothing but run schedules.

A run leaves hundreds of small objects and no cycles worth speaking of; a full collection walks everything the imports made and costs
tens of milliseconds. So what is there when the runs begin is taken out of the collector's sight, and the rest is collected less often.
Only for processes of our own: a library must not do this to its host.
"""

from __future__ import annotations

import gc

YOUNG_MAX = 50_000
"""New containers before a young collection: some twenty runs."""


def settle() -> None:
    """Collect once, freeze what is left, and collect rarely from here on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, 20, 100)
