"""Histories as JSON lines: a header line, then one line per event. The one place that knows this form.

An event line is an array `[index, time_ns, actor, kind, where, data]`, keys of `data` sorted: equal histories are equal byte for byte.
A campaign keeps the histories of all its runs in `histories/part-N.jsonl.gz`, one gzip member per run, so that `zcat` shows them
all and one run is read from its offset.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from harness.model.errors import UsageError
from harness.model.event import EVENT_KINDS, SCHEMA_VERSION, Event, Header, History
from harness.model.plain import scenario_from_plain
from harness.model.workflow import Scenario
from harness.store.atomic import unwritable

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
HISTORY_BYTES_MAX = 200 * 1024 * 1024
_GZIP = 31
_GZIP_MAGIC = b"\x1f\x8b"


def encode_header(header: Header) -> bytes:
    """The first line."""
    return orjson.dumps(
        {
            "schema": header.schema,
            "scenario": header.scenario,
            "schedule": header.schedule,
            "seed": header.seed,
            "candidate": header.candidate,
            "rig": header.rig,
            "traits": header.traits,
        },
        option=_OPTIONS,
    )


def encode(history: History, header: bytes | None = None) -> bytes:
    """The whole history. `header` saves encoding the same header again."""
    first = header if header is not None else encode_header(history.header)
    if not history.events:
        return first
    # One call for all events is four times as fast as one for each. A newline is put between them as raw bytes: inside JSON there is
    # none (in strings it is escaped), so that `,\n,` is always one of ours.
    woven: list[Any] = [_NEWLINE] * (2 * len(history.events) - 1)
    woven[0::2] = map(tuple, history.events)
    return (
        first + orjson.dumps(woven, default=_plain, option=orjson.OPT_SORT_KEYS)[1:-1].replace(b",\n,", b"\n") + b"\n"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value)


_NEWLINE = orjson.Fragment(b"\n")


def trace_hash(history: History) -> str:
    """One short word for the whole history: equal iff the bytes are equal."""
    return hash_of(encode(history))


def hash_of(data: bytes) -> str:
    """The trace hash of an encoded history."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def decode(data: bytes, where: str = "history") -> History:
    """The inverse. Raises UsageError naming the line that is not what it should be."""
    lines = data.splitlines()
    if not lines:
        raise _bad(where, 1, "the file is empty")
    header = _header(lines[0], where)
    return History(
        header, [_event(line, number, where) for number, line in enumerate(lines[1:], start=2) if line.strip()]
    )


def read(path: Path) -> History:
    """Read a history file (plain or gzip). Raises UsageError, also when the file holds several runs."""
    runs = iter(read_all(path))
    history = next(runs)
    if next(runs, None) is not None:
        raise UsageError(
            "The file holds the histories of several runs, where one is wanted.",
            where=str(path),
            next_step="Give a history.jsonl of a folder under failures/, or judge them all with `knownstate judge`.",
        )
    return history


def read_all(path: Path) -> Iterator[History]:
    """Every history of a file: the one of a history.jsonl (plain or gzip), or those of a campaign's part file.

    Raises UsageError when the file cannot be read, or what is in it is no history; so runs before a damaged one come out first.
    """
    data = _bytes_of(path)
    if data[:2] != _GZIP_MAGIC:
        yield decode(data, str(path))
        return
    number = 0
    while data:
        number += 1
        where = str(path) if number == 1 else f"{path}, run {number}"
        unpack = zlib.decompressobj(_GZIP)
        try:
            whole = unpack.decompress(data, HISTORY_BYTES_MAX)
        except zlib.error as error:
            raise _bad(where, 1, f"its compressed data are damaged ({error})") from error
        if unpack.unconsumed_tail:
            raise _bad(where, 1, f"it is larger than {HISTORY_BYTES_MAX} bytes")
        if not unpack.eof:
            raise _bad(where, 1, "its compressed data break off")
        yield decode(whole, where)
        data = unpack.unused_data


def _bytes_of(path: Path) -> bytes:
    try:
        if path.stat().st_size > HISTORY_BYTES_MAX:
            raise _bad(str(path), 1, f"it is larger than {HISTORY_BYTES_MAX} bytes")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The history cannot be read: {error.strerror or error}.",
            where=str(path),
            next_step="Give the path of a history.jsonl.",
        ) from error


def scenario_of(history: History, where: str = "history") -> Scenario:
    """The scenario the header carries. Raises UsageError when it is not one."""
    try:
        return scenario_from_plain(history.header.scenario)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _bad(where, 1, f"its scenario cannot be understood ({error!r})") from error


_HEADER_SHAPE = {
    "schema": int,
    "scenario": dict,
    "schedule": str,
    "seed": int,
    "candidate": str,
    "rig": str,
    "traits": dict,
}
_EVENT_SHAPE = (int, int, str, str, str, dict)


def _header(line: bytes, where: str) -> Header:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _bad(where, 1, f"the header is not one ({error})") from error
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise _bad(where, 1, "the first line is no header: it has no schema")
    if data["schema"] != SCHEMA_VERSION:
        raise _bad(where, 1, f"it has schema {data['schema']}, this version reads {SCHEMA_VERSION}")
    for name, kind in _HEADER_SHAPE.items():
        if not isinstance(data.get(name), kind):
            raise _bad(where, 1, f"the header's {name} is {str(data.get(name))[:80]!r}")
    if not isinstance(data["traits"].get("level"), int):
        raise _bad(where, 1, f"the candidate's level is {data['traits'].get('level')!r}, not a number")
    return Header(**{name: data[name] for name in _HEADER_SHAPE})


def _event(line: bytes, number: int, where: str) -> Event:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _bad(where, number, f"the line is not JSON ({error})") from error
    if not isinstance(data, list) or [type(part) for part in data] != list(_EVENT_SHAPE):
        raise _bad(where, number, "the line is not [index, time_ns, actor, kind, where, data]")
    if data[0] != number - 2:
        raise _bad(where, number, f"event index {data[0]} where {number - 2} should be")
    if data[3] not in EVENT_KINDS:
        raise _bad(where, number, f"{data[3]!r} is no event kind")
    return Event(*data)


def _bad(where: str, line: int, why: str) -> UsageError:
    return UsageError(
        f"The history cannot be read: {why}.",
        where=f"{where}:{line}",
        next_step="Give a history.jsonl as a campaign wrote it.",
    )


class Part:
    """One file of histories, written by one process: appended before anything is judged.

    Raises EnvironmentMissing when the place cannot be written or is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115 (kept open for the life of the campaign)
        except OSError as error:
            raise unwritable(path, error) from error

    def append(self, data: bytes) -> tuple[int, int]:
        """Write one run's history through to the system. Returns (offset, length) of its gzip member."""
        pack = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        member = pack.compress(data) + pack.flush()
        try:
            offset = self._file.tell()
            written = 0
            while written < len(member):  # a full disk takes a part first, and says so only of the rest
                written += self._file.write(member[written:])
        except OSError as error:
            raise unwritable(self.path, error) from error
        return offset, len(member)

    def close(self) -> None:
        """Close it. A file in which nothing was written is no file of histories, and goes; whatever is no file stays."""
        self._file.close()
        if self.path.is_file() and not self.path.stat().st_size:
            self.path.unlink()


def read_member(path: Path, offset: int, length: int) -> bytes:
    """The history bytes of one run in a part file. Raises UsageError when they are not there any more."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return zlib.decompress(file.read(length), _GZIP)
    except (OSError, zlib.error) as error:
        raise UsageError(
            f"A history of the campaign cannot be read: {error}.",
            where=f"{path}, bytes {offset} to {offset + length}",
            next_step="The folder was changed from outside: leave out --resume to start anew.",
        ) from error
