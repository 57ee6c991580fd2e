"""The result of a campaign as one value: what reports render, and what `result.json` holds.

Renderers are pure functions of a `CampaignResult`; nothing in it needs a server, a rig or the clock to be understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.event import Event
from harness.model.verdict import Outcome, Verdict

RESULT_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the campaign, in the order of its schedules.

    `boundary` and `fault` are the cell of the matrix it explores (both "" for the control run): the last injection of its schedule.
    `trigger` is the schedule's earlier injection as text, "" when the boundary is reached without one. `fired` says that every
    injection fired. `verdicts` holds those that are not `holds`.
    """

    schedule: str
    boundary: str
    fault: str
    trigger: str
    outcome: Outcome
    fired: bool
    verdicts: tuple[Verdict, ...]
    crossings: int
    events: int


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing run, ready to be shown: its story, its witness events and how to see it again.

    `rows` says how many runs of the campaign fail the same guarantee at the same kind of boundary; `story` has at most ten lines;
    `events` is the whole history (for the time-space picture).
    """

    id: str
    schedule: str
    boundary: str
    fault: str
    verdicts: tuple[Verdict, ...]
    story: tuple[str, ...]
    replay: str
    rows: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was covered and what was left out. `total` counts schedules known to apply; explored + left out = total."""

    total: int
    explored: int
    fired: int
    boundaries: int
    recovery_boundaries: int
    left_out: tuple[str, ...] = ()
    """Sentences: what was left out and why."""
    rounds: int = 1


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """Everything a person or a program wants to know of a campaign."""

    scenario: Mapping[str, object]
    """The resolved scenario as plain data."""
    candidate: str
    traits: Mapping[str, object]
    rig: str
    seed: int
    cell: str
    guarantees: Mapping[str, str]
    """Guarantee id -> statement, those that were judged."""
    not_observable: Mapping[str, str]
    """Guarantee id -> why it could not be judged at the candidate's level. Never counted as passed."""
    control: Outcome
    control_verdicts: tuple[Verdict, ...]
    outcome: Outcome
    exit_code: int
    coverage: Coverage
    rows: tuple[RunRow, ...]
    failures: tuple[Failure, ...]
    command: str
    """The command that runs this campaign again."""
    ended: str
    """`complete`, or why it stopped early: `interrupted`, `max-failures`, `max-time`, `max-schedules`, `fail-fast`, `control-failed`."""
    environment: Mapping[str, str]
    """Interpreter and package versions, platform."""
    seconds: float
    out: str
    """The folder the campaign's files are in."""
