"""Message faults on a real wire: armed while everybody waits, confirmed by what both ends saw, then said to have fired.

    fault                at          what is done                           what proves that it fired
    lost-response        committed   the provider waits in its hook, the    its response was written, and the caller saw
                                     way back is silenced, it goes on       an indefinite outcome
    lost-request         sent        the way there is silenced before the   it never arrived, and the caller saw
                                     caller may send                        an indefinite outcome
    connection-refused   sent        the proxy is switched off before the   it never arrived, and the caller saw
                                     caller may send                        `connection-refused`

What the caller can conclude stands in the table of faults. A fault that cannot be proved leaves no `fault-fired` event,
and the judge then says `unknown`. The link is healed as soon as the caller has seen the outcome, or has died without
seeing one. What this cannot do: aim at one of two requests that are under way to the same provider at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from harness.inject.live import LiveWorld
from harness.model.boundary import Phase
from harness.model.errors import Certainty, HarnessBug
from harness.model.fault import Fault


class Link(Protocol):
    """The way to one provider; `network.Link` is the real one."""

    def drop_responses(self) -> None:
        """Nothing comes back any more."""

    def drop_requests(self) -> None:
        """Nothing gets there any more."""

    def refuse(self) -> None:
        """Nobody can connect any more."""

    def heal(self) -> None:
        """All is as it was."""


_SHAPES: dict[Fault, Callable[[Link], None]] = {
    Fault.LOST_RESPONSE: lambda link: link.drop_responses(),
    Fault.LOST_REQUEST: lambda link: link.drop_requests(),
    Fault.CONNECTION_REFUSED: lambda link: link.refuse(),
}
BEFORE_SENDING = (Fault.LOST_REQUEST, Fault.CONNECTION_REFUSED)
"""Faults for which the wire must be ready before the caller sends."""


@dataclass(frozen=True, slots=True)
class Armed:
    """A fault that lies in wait for one call. `since` is the number of events recorded before it was armed."""

    call: str
    where: str
    fault: Fault
    link: Link
    since: int


class Messages:
    """The message faults of one run. At most one is armed: callers are held until the one before is over."""

    def __init__(self, world: LiveWorld, links: Mapping[str, Link]) -> None:
        self._world = world
        self._links = links
        self._armed: Armed | None = None

    def arm(self, fault: Fault, call: str, phase: Phase, provider: str) -> None:
        """Shape the link to this provider. Returns when the shape is there. Everybody must be waiting."""
        where = f"{call}/{phase.value}"
        shape = _SHAPES.get(fault)
        if shape is None:
            raise HarnessBug(
                f"The process rig cannot do {fault.value}.", where=where, next_step="Report this schedule line."
            )
        assert self._armed is None, f"{fault.value} at {where} while {self._armed} is armed"
        link = self._links[provider]
        self._armed = Armed(call, where, fault, link, len(self._world.recorder.events))
        shape(link)

    def seen(self, call: str, outcome: str, code: str) -> None:
        """The caller has seen an outcome of this call: if a fault was armed for it, heal the link, say if it fired."""
        armed = self._armed
        if armed is None or armed.call != call:
            return
        self.heal()
        if self._is_proved(armed, outcome, code):
            self._world.fired(armed.where, armed.fault)

    def heal(self) -> None:
        """Take the armed fault back, if there is one."""
        armed, self._armed = self._armed, None
        if armed is not None:
            armed.link.heal()

    def _is_proved(self, armed: Armed, outcome: str, code: str) -> bool:
        events = self._world.recorder.events[armed.since :]
        seen = {event.kind for event in events if event.data.get("call") == armed.call}
        if armed.fault is Fault.LOST_RESPONSE:
            return outcome == Certainty.INDEFINITE and "responded" in seen
        if armed.fault is Fault.LOST_REQUEST:
            return outcome == Certainty.INDEFINITE and "arrived" not in seen
        return code == "connection-refused" and "arrived" not in seen
