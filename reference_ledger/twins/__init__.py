"""Broken twins: copies of the reference ledger with one planted bug each, named after it. They prove that the alarm rings.

`reference_ledger.twins:NAME` is a candidate for every name in `registry.TWINS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def __getattr__(name: str) -> Callable[[], Any]:
    """The factory of the twin `name`. Raises AttributeError for a name that is none."""
    from reference_ledger.twins.registry import TWINS

    if name.startswith("__") or name not in TWINS:
        raise AttributeError(f"there is no twin {name!r}; `knownstate list twins` shows them")
    return TWINS[name].build
