"""The outer frame of everything that answers requests: it counts and records what arrives and what is written back.

Here: `Endpoint`, and the three callables through which a rig lends it time, a history and boundaries. Never here: any
rule of a provider. What a caller saw is not counted here: an endpoint cannot know it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from harness.model.boundary import Phase
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import Reply, Request

Record: TypeAlias = Callable[[str, str, Mapping[str, Any]], None]
"""(kind, where, data): the recorder adds index, time and the actor, which is the endpoint's name."""
At: TypeAlias = Callable[[Phase], Fault | None]
"""Cross the boundary of this phase and return the fault to do. Time may pass, other requests may be handled inside."""
Later: TypeAlias = Callable[[int, Callable[[], None]], None]
"""(delay_ns, action): do it later in virtual time. Timers are the rig's, and so is putting them back."""


class Arrival(NamedTuple):
    """One delivered copy of a request: the call's name and path, and which copy it is, counted from 1."""

    call: str
    where: str
    request: Request
    delivery: int


class Endpoint(ABC):
    """Something that answers requests. Arrivals, commits and responses are counted apart: none implies another."""

    __slots__ = ("_later", "_now", "_record", "arrivals", "commits", "responses")

    name: ClassVar[str]

    def __init__(self, *, now: Callable[[], int], record: Record, later: Later) -> None:
        self._now = now
        self._record = record
        self._later = later
        self.arrivals = 0
        self.commits = 0
        self.responses = 0

    def handle(self, call: str, where: str, request: Request, at: At, delivery: int = 1) -> Reply:
        """Answer one delivered copy of a request. Raises ProviderFailure for every answer that is not a success.

        A response is recorded even if nobody is left to read it: the caller's death does not reach this far.
        """
        self.arrivals += 1
        self._record("arrived", where, {"call": call, "delivery": delivery})
        try:
            reply = self._answer(Arrival(call, where, request, delivery), at)
        except ProviderFailure as refusal:
            self._respond(call, where, refusal.code)
            raise
        self._respond(call, where, "ok")
        return reply

    @abstractmethod
    def circumstances(self, request: Request) -> tuple[bool, bool]:
        """(its identity was seen before, what it is about stands): on this the applicability of faults depends."""

    @abstractmethod
    def snapshot(self) -> object:
        """All state now, as one hashable value."""

    @abstractmethod
    def restore(self, snapshot: object) -> None:
        """Go back to a snapshot, which stays usable."""

    @abstractmethod
    def _answer(self, arrival: Arrival, at: At) -> Reply:
        """The endpoint's own part, between arrival and response. Raises ProviderFailure."""

    def _respond(self, call: str, where: str, code: str) -> None:
        self.responses += 1
        self._record("responded", where, {"call": call, "code": code})


def refuse(fault: Fault | None, codes: Mapping[Fault, str]) -> None:
    """Raise ProviderFailure if `codes` gives this fault a code; any other fault is not done here."""
    if fault is not None and fault in codes:
        raise ProviderFailure(codes[fault])
