"""How a broken twin is made: the reference ledger with one decision replaced.

`TwinRules.reached()` tells the rig that the planted line ran (the event `bug-reached`), so that the bench can be measured: reached,
triggered and detected are three different things. A twin that breaks a mechanism rather than a decision brings its own worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.candidates.contract import Handles
from reference_ledger.ledger import LedgerWorker, ReferenceLedger
from reference_ledger.rules import Rules


class TwinRules(Rules):
    """Rules with one planted bug. `mark` is the present worker's."""

    twin = ""
    mark: Callable[[str], None] | None = None

    def reached(self) -> None:
        """The planted line runs."""
        if self.mark is not None:
            self.mark(self.twin)


class TwinWorker(LedgerWorker):
    """The sound worker, telling its rules where to report."""

    rules: TwinRules

    def __init__(self, home: ReferenceLedger, handles: Handles) -> None:
        super().__init__(home, handles)
        self.rules.mark = getattr(handles, "mark", None)


def build(name: str, rules: type[TwinRules] = TwinRules, worker: type[TwinWorker] = TwinWorker) -> Any:
    """The candidate of a twin."""
    made = rules()
    made.twin = name
    return ReferenceLedger(name, made, worker)
