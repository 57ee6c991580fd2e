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

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
HISTORY_BYTES_MAX = 200 * 1024 * 1024
_GZIP = 31


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
    dumps = orjson.dumps
    lines = [header if header is not None else encode_header(history.header)]
    lines += [dumps(event, default=_plain, option=_OPTIONS) for event in history.events]
    return b"".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value)


def trace_hash(history: History) -> str:
    """One short word for the whole history: equal iff the bytes are equal."""
    return hashlib.blake2b(encode(history), digest_size=12).hexdigest()


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
    """Read a history file (plain or gzip). Raises UsageError."""
    try:
        if path.stat().st_size > HISTORY_BYTES_MAX:
            raise _bad(str(path), 1, f"it is larger than {HISTORY_BYTES_MAX} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The history cannot be read: {error.strerror or error}.",
            where=str(path),
            next_step="Give the path of a history.jsonl.",
        ) from error
    if data[:2] == b"\x1f\x8b":
        data = zlib.decompress(data, _GZIP)
    return decode(data, str(path))


def scenario_of(history: History, where: str = "history") -> Scenario:
    """The scenario the header carries. Raises UsageError when it is not one."""
    try:
        return scenario_from_plain(history.header.scenario)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _bad(where, 1, f"its scenario cannot be understood ({error!r})") from error


def _header(line: bytes, where: str) -> Header:
    try:
        data = orjson.loads(line)
        header = Header(**data)
    except (orjson.JSONDecodeError, TypeError) as error:
        raise _bad(where, 1, f"the header is not one ({error})") from error
    if header.schema != SCHEMA_VERSION:
        raise _bad(where, 1, f"it has schema {header.schema!r}, this version reads {SCHEMA_VERSION}")
    return header


def _event(line: bytes, number: int, where: str) -> Event:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _bad(where, number, f"the line is not JSON ({error})") from error
    if not isinstance(data, list) or len(data) != 6 or not isinstance(data[5], dict):
        raise _bad(where, number, "the line is not [index, time_ns, actor, kind, where, data]")
    if data[0] != number - 2 or not isinstance(data[1], int):
        raise _bad(where, number, f"event index {data[0]!r} where {number - 2} should be")
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
    """One file of histories, written by one process: appended before anything is judged."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = open(path, "ab")  # noqa: SIM115 (kept open for the life of the campaign)

    def append(self, data: bytes) -> tuple[int, int]:
        """Write one run's history. Returns (offset, length) of its gzip member."""
        offset = self._file.tell()
        pack = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        member = pack.compress(data) + pack.flush()
        self._file.write(member)
        return offset, len(member)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def read_member(path: Path, offset: int, length: int) -> bytes:
    """The history bytes of one run in a part file."""
    with open(path, "rb") as file:
        file.seek(offset)
        return zlib.decompress(file.read(length), _GZIP)


def members(path: Path) -> Iterator[bytes]:
    """Every run's history in a part file, in order. A torn last member (a killed campaign) ends the iteration."""
    data = path.read_bytes()
    while data:
        unpack = zlib.decompressobj(_GZIP)
        try:
            whole = unpack.decompress(data)
        except zlib.error:
            return
        if not unpack.eof:
            return
        yield whole
        data = unpack.unused_data
