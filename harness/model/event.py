"""Events and histories: the totally ordered log of one run. Faults have event kinds of their own.

A history is self-contained: its header carries the resolved scenario, so that an old history can be judged without any server.
Versions of interpreter and packages are not in it (equal schedules give byte-equal histories); they stand in `env.json` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

SCHEMA_VERSION = 1


class Event(NamedTuple):
    """One thing that happened. `index` counts from 0 without gaps; `time_ns` is virtual time in simulation, never decreasing."""

    index: int  # type: ignore[assignment]  # `tuple.index` is nothing an event needs; `index` is the word everybody uses
    time_ns: int
    actor: str
    kind: str
    where: str
    """A boundary path, a call's path (without phase), an operation id or ""."""
    data: Mapping[str, Any]


EVENT_KINDS: dict[str, str] = {
    "crossed": "an actor crossed the boundary `where`",
    "fault-armed": "the rig is about to do `fault` at `where` (recorded before it is done)",
    "fault-fired": "`fault` was done at `where`",
    "call-sent": "a request left its caller: call, operation, provider, action, purpose, target, key, params, not_after, fence, approval",
    "arrived": "the provider received request `call` (delivery counts the copies of one call from 1)",
    "effect": "the provider changed the world: effect, call, provider, action, target, operation, key, undoes, delivery",
    "responded": "the provider wrote a response to `call`: code (`ok` or an error code)",
    "caller-saw": "the caller saw an outcome of `call`: outcome ok|definite|indefinite, code; for observations found, complete",
    "claimed": "the candidate's durable ledger says: subject, to, was, and resolution, reason where it gives them",
    "wrote": "the candidate's ledger committed a transaction that changed something",
    "alerted": "the candidate called for a person: subject, reason",
    "worker-started": "an incarnation started: incarnation, verb",
    "worker-finished": "an incarnation ended by itself",
    "worker-died": "an incarnation died: cause",
    "worker-paused": "an incarnation was stopped where it stood",
    "worker-resumed": "a stopped incarnation went on",
    "lease-lost": "the worker's lease ran out and another worker went to work: taken_by",
    "dead-call": "an incarnation that is dead tried to act",
    "submitted": "the workflow was handed to the candidate",
    "cancelled": "a person cancelled the intent: version",
    "approval-requested": "approval, operation, digest",
    "approval-granted": "approval, operation, digest, expires_ns",
    "approval-denied": "approval",
    "approval-revoked": "approval",
    "approval-consumed": "approval, operation, digest, expires_ns",
    "clock-jumped": "virtual time was moved forward at once: by_ns",
    "drifted": "an outside actor changed the world: provider, target, effect",
    "healed": "no further fault will come from here on",
    "settled": "recovery rounds ended: rounds, quiet",
    "audited": "the final ledger as the candidate reports it: operations {id: [state, resolution]}, workflow, timers_left",
    "run-ended": 'cut_short says why the run stopped before it settled, or ""',
    "bug-reached": "a broken twin executed its planted line: twin",
}


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a history. `scenario` is the resolved scenario as plain data (`harness.model.plain`)."""

    schema: int
    scenario: Mapping[str, Any]
    schedule: str
    seed: int
    candidate: str
    rig: str
    traits: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class History:
    """Header and events of one run, in order. May be cut short; `cut_short` says why."""

    header: Header
    events: Sequence[Event]

    def has_fired(self, fault: str, where: str) -> bool:
        """Did this fault fire at this boundary?"""
        return any(e.kind == "fault-fired" and e.where == where and e.data["fault"] == fault for e in self.events)

    def of_kind(self, *kinds: str) -> list[Event]:
        """Events of these kinds, in order."""
        return [e for e in self.events if e.kind in kinds]

    @property
    def cut_short(self) -> str:
        """Why the run did not come to its end, or "" if it did."""
        if not self.events or self.events[-1].kind != "run-ended":
            return "the history has no end"
        return str(self.events[-1].data["cut_short"])
