"""Pairs, triples and deeper: after every run of one round, every applicable fault at every boundary it crossed afterwards.

Breadth first in the number of faults, then in the order of boundaries, so that the first counterexample has the fewest
faults. A run's own crossings decide what can follow it: boundaries that only exist on its recovery path are among them, and
a fault is never planned where the run did not come.

On a large workflow most pairs lie across operations that share nothing. The per-operation reduction keeps those within one
operation (the workflow's own steps go with every operation), and a fixed sample of the rest, chosen by their text, as an
audit: what the audit finds is a finding like any other, and refutes the reduction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.explore.singles import Planned, Singles, SiteFacts
from harness.model.boundary import UNDO_PREFIX, WORKFLOW_SUBJECT
from harness.model.schedule import Schedule

FAULTS_MAX = 5
REDUCE_ABOVE = 20_000
"""A round with more schedules is reduced, unless it must not be."""
AUDIT_PER_MILLE = 20

Runs = Iterable[tuple[Planned, Mapping[str, SiteFacts]]]


@dataclass(slots=True)
class Round:
    """What is to be run with one more fault. `audit` are those of `planned` that the reduction alone would have left out."""

    planned: list[Planned] = field(default_factory=list)
    audit: set[str] = field(default_factory=set)
    left_out: int = 0


def next_round(singles: Singles, runs: Runs, *, reduce: str = "auto") -> Round:
    """Every run of the last round with one more fault. `reduce` is auto, always or never."""
    plans = [(planned, is_across) for ran, sites in runs for planned, is_across in _extensions(singles, ran, sites)]
    if reduce == "never" or (reduce == "auto" and len(plans) <= REDUCE_ABOVE):
        return Round([planned for planned, _ in plans])
    result = Round()
    for planned, is_across in plans:
        if is_across and not is_in_audit(planned.schedule):
            result.left_out += 1
            continue
        if is_across:
            result.audit.add(str(planned.schedule))
        result.planned.append(planned)
    return result


def is_in_audit(schedule: Schedule) -> bool:
    """Is it in the sample? By its text alone, so that every process and every re-run draws the same."""
    digest = hashlib.blake2b(str(schedule).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % 1000 < AUDIT_PER_MILLE


def _extensions(singles: Singles, ran: Planned, sites: Mapping[str, SiteFacts]) -> Iterator[tuple[Planned, bool]]:
    """This run with one more fault after its last one, and whether that is across operations."""
    text = ",".join(map(str, ran.schedule.injections))
    owners = {_owner(sites[i.boundary]) for i in ran.schedule.injections if i.boundary in sites}
    for path, facts in _after(sites, ran.boundary):
        singles.known.add(path)
        is_across = not owners <= {_owner(facts), WORKFLOW_SUBJECT} and _owner(facts) != WORKFLOW_SUBJECT
        for fault in singles.faults_at(facts):
            yield Planned(ran.schedule.plus(path, fault), path, fault.value, text), is_across


def _after(sites: Mapping[str, SiteFacts], boundary: str) -> Iterator[tuple[str, SiteFacts]]:
    """The boundaries first crossed after this one, in order; none if it was not crossed."""
    is_past = False
    for path, facts in sites.items():
        if is_past:
            yield path, facts
        is_past = is_past or path == boundary


def _owner(facts: SiteFacts) -> str:
    return facts[3].removeprefix(UNDO_PREFIX)
