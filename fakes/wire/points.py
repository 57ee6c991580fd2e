"""Hook points and what may be done at them: values, their one-line text form, and the table of what fits where.

A hook is a point of one fake, a description of the requests it waits for, and an action. Text form:

    POINT[#NTH][xTIMES] [FIELD=GLOB ...] = ACTION[:ARGUMENT[:ARGUMENT]]

    after-commit = reset                            the first request that reaches the point, once
    responding#2 what=charge = truncate:40          the second charge: 40 bytes of its response, then FIN
    before-commit x3 line=POST* = status:503        three times
    read target=shop-* x99 = stale:5s               look-ups of these targets show the world of five seconds ago

Fields: `what` (the domain's action), `line` (the protocol's own words, such as `POST /v1/refunds`), `target`,
`operation`, `key`. Patterns are globs. Crossings are counted from the moment the hook was armed.
Never here: doing any of it (`board.py`, and the faces).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from harness.model.errors import UsageError

NS_OF = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
TIMES_MAX = 1_000_000
BYTES_MAX = 1 << 31


class Point(StrEnum):
    """Where a fake can be held. The first eight are on a request's way, in this order; B-numbers as in the docs."""

    CONNECT = "connect"
    """B0: a connection was accepted."""
    RECEIVED = "received"
    """B1: the request's last byte has come."""
    PARSED = "parsed"
    """B2: it was read and its sender is known."""
    KEY_CLAIMED = "key-claimed"
    """B3: its idempotency key is in flight."""
    BEFORE_COMMIT = "before-commit"
    """B4: nothing was changed yet."""
    AFTER_COMMIT = "after-commit"
    """B5: done and in the journal, nothing said."""
    RESPONDING = "responding"
    """B6: the response is about to be written."""
    RESPONDED = "responded"
    """B7: the response was written."""
    READ = "read"
    """R: a view is read."""
    EVENT = "event"
    """W: an event is about to be delivered."""
    SETTLE = "settle"
    """A: what was accepted is about to be settled."""


class Act(StrEnum):
    """What can be done at a point."""

    PASS = "pass"
    DELAY = "delay"
    """`delay:DURATION`"""
    HANG = "hang"
    """Until released."""
    RESET = "reset"
    """The connection ends with RST."""
    FIN = "fin"
    """The connection ends orderly, without a response."""
    STATUS = "status"
    """`status:CODE` answers with this code in the protocol's own form: `status:429:5` adds retry-after seconds."""
    TRUNCATE = "truncate"
    """`truncate:BYTES[:reset]`: so many bytes of the response, counted from its first, then FIN or RST."""
    CRASH = "crash"
    """The fake is killed; who supervises it starts it again on its journal."""
    COMPETE = "compete"
    """`compete:WHAT`: somebody else does something first; what there is, each fake says."""
    SIGNAL = "signal"
    """`signal:NAME:PID`: the process of this id gets SIGNAME."""
    STALE = "stale"
    """`stale:DURATION` shows the view of so long ago; `stale` the view of the moment the hook was armed."""
    DROP = "drop"
    """An event, or a datagram, is lost."""
    TWICE = "twice"
    """An event, or a datagram, comes twice."""
    LATE = "late"
    """`late:DURATION`: an event, or a datagram, comes later, after what was sent meanwhile."""
    FAIL = "fail"
    """What was accepted fails when it settles."""


REQUEST_POINTS = tuple(Point)[:8]
_ANYWHERE = frozenset({Act.PASS, Act.DELAY, Act.HANG, Act.CRASH, Act.COMPETE, Act.SIGNAL})
_CUTS = frozenset({Act.RESET, Act.FIN})
DATAGRAM_ACTS = frozenset({Act.DROP, Act.TWICE, Act.LATE})

ALLOWED: Mapping[Point, frozenset[Act]] = {
    Point.CONNECT: _ANYWHERE | _CUTS,
    Point.RECEIVED: _ANYWHERE | _CUTS | DATAGRAM_ACTS | {Act.STATUS},
    Point.PARSED: _ANYWHERE | _CUTS | {Act.STATUS},
    Point.KEY_CLAIMED: _ANYWHERE | _CUTS | {Act.STATUS},
    Point.BEFORE_COMMIT: _ANYWHERE | _CUTS | {Act.STATUS},
    Point.AFTER_COMMIT: _ANYWHERE | _CUTS | {Act.STATUS},
    Point.RESPONDING: _ANYWHERE | _CUTS | DATAGRAM_ACTS | {Act.TRUNCATE},
    Point.RESPONDED: _ANYWHERE | _CUTS,
    Point.READ: _ANYWHERE | _CUTS | {Act.STATUS, Act.STALE},
    Point.EVENT: _ANYWHERE | DATAGRAM_ACTS,
    Point.SETTLE: _ANYWHERE | {Act.FAIL},
}
"""Which action fits which point. DROP, TWICE and LATE on a request's way are for datagrams alone."""


class Action(NamedTuple):
    """One action with its arguments; which of them it has, `Act` says."""

    act: Act
    duration_ns: int = 0
    code: int = 0
    """A status, or the seconds' companion of it."""
    retry_after_s: int = -1
    """-1: not said."""
    bytes_count: int = 0
    by_reset: bool = False
    what: str = ""
    pid: int = 0

    def __str__(self) -> str:
        match self.act:
            case Act.DELAY | Act.LATE:
                return f"{self.act}:{self.duration_ns}ns"
            case Act.STALE:
                return f"stale:{self.duration_ns}ns" if self.duration_ns else "stale"
            case Act.STATUS:
                return f"status:{self.code}" + (f":{self.retry_after_s}" if self.retry_after_s >= 0 else "")
            case Act.TRUNCATE:
                return f"truncate:{self.bytes_count}" + (":reset" if self.by_reset else "")
            case Act.COMPETE:
                return f"compete:{self.what}"
            case Act.SIGNAL:
                return f"signal:{self.what}:{self.pid}"
            case other:
                return str(other)


PASS = Action(Act.PASS)


class Facts(NamedTuple):
    """What is known of a request at a point; "" where it is not known (yet)."""

    call: str = ""
    """The fake's own number of the arrival, such as `payment-7`."""
    line: str = ""
    what: str = ""
    target: str = ""
    operation: str = ""
    key: str = ""


FIELDS = ("what", "line", "target", "operation", "key")


@dataclass(frozen=True, slots=True)
class Hook:
    """One armed hook, as a value."""

    point: Point
    action: Action
    nth: int = 1
    times: int = 1
    match: Mapping[str, str] = field(default_factory=dict)
    """Field -> glob; every one must fit."""

    def fits(self, point: Point, facts: Facts) -> bool:
        """Does this crossing count for the hook?"""
        if point is not self.point:
            return False
        return all(fnmatchcase(getattr(facts, name), glob) for name, glob in self.match.items())

    def __str__(self) -> str:
        nth = f"#{self.nth}" if self.nth != 1 else ""
        times = f"x{self.times}" if self.times != 1 else ""
        wanted = "".join(f" {name}={_quoted(glob)}" for name, glob in self.match.items())
        return f"{self.point}{nth}{times}{wanted} = {self.action}"


def parse_hook(text: str) -> Hook:
    """The inverse of `str(hook)`. Raises UsageError saying what is not understood and what is allowed."""
    head, equals, action_text = text.rpartition(" = ") if " = " in text else text.rpartition("=")
    words = re.findall(r"(?:[^\s\"]|\"[^\"]*\")+", head)
    if not equals or not words:
        raise _wrong(text, "a hook has the form POINT[#NTH][xTIMES] [FIELD=GLOB ...] = ACTION[:ARGUMENT]")
    found = re.fullmatch(r"([a-z-]+)(?:#(\d+))?(?:x(\d+))?", words[0])
    if found is None or found[1] not in tuple(Point):
        raise _wrong(text, f"{words[0]!r} is no point; points are {', '.join(Point)}")
    nth, times = int(found[2] or 1), int(found[3] or 1)
    match: dict[str, str] = {}
    for word in words[1:]:
        if counted := re.fullmatch(r"#(\d+)|x(\d+)", word):
            nth, times = int(counted[1] or nth), int(counted[2] or times)
            continue
        name, separator, glob = word.partition("=")
        if not separator or name not in FIELDS:
            raise _wrong(text, f"{word!r} is no condition; write FIELD=GLOB with a field of {', '.join(FIELDS)}")
        match[name] = glob.strip('"')
    if not (1 <= nth <= TIMES_MAX and 1 <= times <= TIMES_MAX):
        raise _wrong(text, f"#NTH and xTIMES are from 1 to {TIMES_MAX}")
    action = parse_action(action_text.strip(), text)
    point = Point(found[1])
    if action.act not in ALLOWED[point]:
        fitting = ", ".join(sorted(ALLOWED[point]))
        raise _wrong(text, f"{action.act} cannot be done at {point}; what can: {fitting}")
    return Hook(point, action, nth, times, match)


def parse_action(text: str, where: str = "") -> Action:
    """One action from its text. Raises UsageError."""
    name, *arguments = text.split(":")
    if name not in tuple(Act):
        raise _wrong(where or text, f"{name!r} is no action; actions are {', '.join(Act)}")
    act = Act(name)
    try:
        return _with_arguments(act, arguments)
    except (ValueError, IndexError, KeyError):
        raise _wrong(where or text, f"{text!r} has not the arguments of {act}:{_USAGE[act]}") from None


_USAGE: Mapping[Act, str] = {act: f" write {act}" for act in Act} | {
    Act.DELAY: " write delay:200ms",
    Act.LATE: " write late:2s",
    Act.STALE: " write stale or stale:5s",
    Act.STATUS: " write status:503 or status:429:5 (retry after 5 s)",
    Act.TRUNCATE: " write truncate:40 or truncate:40:reset",
    Act.COMPETE: " write compete:WHAT",
    Act.SIGNAL: " write signal:KILL:4711",
}
_Arguments: TypeAlias = list[str]


def _with_arguments(act: Act, given: _Arguments) -> Action:
    match act:
        case Act.DELAY | Act.LATE:
            (duration,) = given
            return Action(act, duration_ns=duration_ns(duration))
        case Act.STALE:
            return Action(act, duration_ns=duration_ns(given[0]) if given else 0)
        case Act.STATUS:
            code = int(given[0])
            if not 100 <= code <= 599 or len(given) > 2:
                raise ValueError(code)
            return Action(act, code=code, retry_after_s=int(given[1]) if len(given) == 2 else -1)
        case Act.TRUNCATE:
            if not 0 <= int(given[0]) <= BYTES_MAX or given[1:] not in ([], ["reset"], ["fin"]):
                raise ValueError(given)
            return Action(act, bytes_count=int(given[0]), by_reset=given[1:] == ["reset"])
        case Act.COMPETE:
            (what,) = given
            return Action(act, what=what)
        case Act.SIGNAL:
            name, pid = given
            if int(pid) <= 1 or not name.isalnum():
                raise ValueError(pid)
            return Action(act, what=name, pid=int(pid))
        case _:
            if given:
                raise ValueError(given)
            return Action(act)


def duration_ns(text: str) -> int:
    """`200ms`, `1.5s`, `24h` in nanoseconds. Raises ValueError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)", text)
    if found is None:
        raise ValueError(f"{text!r} is no duration")
    return round(float(found[1]) * NS_OF[found[2]])


def _quoted(glob: str) -> str:
    return f'"{glob}"' if re.search(r"\s", glob) else glob


def _wrong(text: str, what: str) -> UsageError:
    return UsageError(f"{what[0].upper()}{what[1:]}.", where=f"hook {text!r}", next_step="Correct it.")
