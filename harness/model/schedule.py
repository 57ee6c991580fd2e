"""Schedules: the finite, ordered list of (boundary, fault) of one run. A plain value; equal text, equal run.

Text form, one line, safe in a shell without quotes:

    onboarding:seed=0:onboarding/billing.charge/attempt-1/committed=lost-response,onboarding/dns.record/attempt-1/sent=crash

and, when the scenario's provider cells are replaced by one cell, `onboarding:seed=0:cell=ignored.eventual.late:...`.
The control run, without any fault, is `onboarding:seed=0:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.model.boundary import Boundary
from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.fault import Fault

INJECTIONS_MAX = 64
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault at one boundary; it fires at the first crossing."""

    boundary: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.boundary}={self.fault.value}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Scenario id, seed of the business targets, an optional cell for all providers, and the injections in order."""

    scenario: str
    seed: int = 0
    injections: tuple[Injection, ...] = ()
    cell: Cell | None = None

    def __str__(self) -> str:
        cell = f"cell={self.cell}:" if self.cell else ""
        return f"{self.scenario}:seed={self.seed}:{cell}{','.join(map(str, self.injections))}"

    def plus(self, boundary: str, fault: Fault) -> Schedule:
        """This schedule with one more injection at its end."""
        return Schedule(self.scenario, self.seed, (*self.injections, Injection(boundary, fault)), self.cell)

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a line. Raises UsageError saying which part cannot be read and what is allowed there."""
        parts = text.strip().split(":")
        if len(parts) not in (3, 4):
            raise _bad(text, "it does not have the form SCENARIO:seed=N:BOUNDARY=FAULT,...")
        name, seed_text, rest = parts[0], parts[1], parts[-1]
        if not _NAME.match(name):
            raise _bad(text, f"{name!r} is not a scenario id (lower-case letters, digits, . _ -)")
        if not re.fullmatch(r"seed=[0-9]{1,18}", seed_text):
            raise _bad(text, f"{seed_text!r} is not seed=N with a whole number N")
        cell = None
        if len(parts) == 4:
            if not parts[2].startswith("cell="):
                raise _bad(text, f"{parts[2]!r} is not cell=KEY.LOOKUP.LATE")
            try:
                cell = Cell.parse(parts[2].removeprefix("cell="))
            except ValueError as error:
                raise _bad(text, str(error)) from None
        items = rest.split(",") if rest else []
        if len(items) > INJECTIONS_MAX:
            raise _bad(text, f"it has {len(items)} injections; at most {INJECTIONS_MAX} are allowed")
        return cls(name, int(seed_text.removeprefix("seed=")), tuple(_injection(text, item) for item in items), cell)


def _injection(line: str, item: str) -> Injection:
    boundary, separator, fault = item.partition("=")
    if not separator:
        raise _bad(line, f"{item!r} is not BOUNDARY=FAULT")
    try:
        Boundary.parse(boundary)
    except ValueError as error:
        raise _bad(line, str(error)) from None
    try:
        return Injection(boundary, Fault(fault))
    except ValueError:
        raise _bad(line, f"{fault!r} is no fault", "`knownstate list faults` shows the alphabet.") from None


def _bad(line: str, why: str, next_step: str = "Copy the whole line from a report or a replay command.") -> UsageError:
    return UsageError(
        f"The schedule line cannot be read: {why}.", where=f"schedule line {line.strip()[:300]!r}", next_step=next_step
    )
