"""The start-up check: do our four packages come from one place?

`harness`, `fakes`, `reference_ledger` and `scenarios` are flat names that a user's own folder can hide, and a bench
that runs half with a stranger's `scenarios` says nonsense. Never here: imports of those packages; the check only asks
the import system where it would find them, so that it costs a fraction of a millisecond at every start.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from os.path import dirname, realpath

from harness.model.errors import EnvironmentMissing, UsageError

ROOMS = ("harness", "fakes", "reference_ledger", "scenarios")
_ROOT = dirname(dirname(realpath(__file__)))


def check_rooms(rooms: Sequence[str] = ROOMS, root: str = _ROOT) -> None:
    """Return if every room is found directly under `root`, the folder this file's package lies in.

    Raises UsageError naming the path that hides a room, EnvironmentMissing when a room is nowhere.
    """
    for room in rooms:
        spec = find_spec(room)
        if spec is None:
            raise _lost(room, root)
        place = realpath(_place(spec))
        if dirname(place) != root:
            raise _shadowed(room, place, root)


def _place(spec: ModuleSpec) -> str:
    """The folder of a package (with or without `__init__.py`), the file of a module."""
    if spec.submodule_search_locations:
        return next(iter(spec.submodule_search_locations))
    return spec.origin or spec.name


def _shadowed(room: str, place: str, root: str) -> UsageError:
    entry = next((e for e in sys.path if realpath(e) == dirname(place)), dirname(place))
    return UsageError(
        f"`{room}` is {place}, which hides knownstate's own {root}/{room}.",
        where=f"the import path, entry {entry or 'the current folder'!r}",
        next_step=f"Rename it, or take {dirname(place)} off the import path (PYTHONPATH, `python -m`).",
    )


def _lost(room: str, root: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"`{room}` cannot be found, though it belongs beside {root}/harness.",
        where="the installation of knownstate",
        next_step="Install knownstate again.",
    )
