"""A feature flag service: every flag has a value and a version, and setting it is a compare-and-set if its caller wants.

Theory. A flag's value is that of the newest set that nobody undid, and its version the number of all sets and restores.
So a restore of the newest set brings the value before it back, and a restore of an older one changes the history but
not the value: what somebody set since is not lost. Without a `reference` the newest standing set is restored.

`params["value"]` is the value; `params["if_version"]`, if given, is the version the caller believes in, for a restore
too. 0 says that there is no such flag: none that was never set, and none whose every set was restored. Setting the value
that is there changes nothing. A version that is another one is refused as `already-exists`: it may have been our own lost
request.
Never here: HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Change, Provider
from fakes.core.rows import Row
from harness.model.errors import ProviderFailure
from harness.model.wire import Request


class Flags(Provider):
    """Flags by name."""

    __slots__ = ()

    name: ClassVar[str] = "flag"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "flag.set": ActionSpec(undoes=None, again=Again.SAME),
        "flag.restore": ActionSpec(undoes="flag.set", again=Again.REFUSED),
    }

    def setting(self, flag: str, at_ns: int | None = None) -> Row | None:
        """The set whose value the flag has now, or had at that moment."""
        moment_ns = self._now() if at_ns is None else at_ns
        rows = reversed(self._table.at("flag.set", flag))
        return next((row for row in rows if row.settled_ns <= moment_ns < row.undone_ns), None)

    def is_there(self, flag: str) -> bool:
        """Has it a value?"""
        return self.setting(flag) is not None

    def version(self, flag: str, at_ns: int | None = None) -> int:
        """How often the flag was set or restored by now, or by that moment."""
        moment_ns = self._now() if at_ns is None else at_ns
        return sum(row.settled_ns <= moment_ns for action in self.actions for row in self._table.at(action, flag))

    def _make(self, request: Request, again: Again) -> Change:
        value = request.params.get("value")
        if value is None:
            raise ProviderFailure("invalid", "a flag is set to a value")
        self._check_version(request)
        row = self.setting(request.target)
        return Change(existing=row.reference) if row is not None and value_of(row) == value else Change()

    def _undo(self, request: Request, row: Row, now_ns: int) -> Change:
        self._check_version(request)
        return super()._undo(request, row, now_ns)

    def _undo_choices(self, request: Request, action: str) -> Iterator[Row]:
        return reversed(list(super()._undo_choices(request, action)))

    def _check_version(self, request: Request) -> None:
        """Raise ProviderFailure unless the caller believes what is so."""
        wanted, flag = request.params.get("if_version"), request.target
        if wanted is None:
            return
        is_so = not self.is_there(flag) if wanted == 0 else wanted == self.version(flag)
        if not is_so:
            raise self._conflict(flag)

    def _conflict(self, flag: str) -> ProviderFailure:
        return ProviderFailure("already-exists", f"flag {flag!r} is at version {self.version(flag)}")


def value_of(row: Row) -> str | int:
    """What was set."""
    return next(value for name, value in row.params if name == "value")
