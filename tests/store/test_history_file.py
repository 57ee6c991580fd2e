"""Histories on disk: equal values give equal bytes, and what is no history is refused with its place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentMissing, UsageError
from harness.model.event import SCHEMA_VERSION, Event, Header, History
from harness.store import history_file
from harness.store.history_file import (
    Part,
    decode,
    encode,
    hash_of,
    read,
    read_all,
    read_member,
    scenario_of,
    trace_hash,
)

HEADER = Header(SCHEMA_VERSION, {"id": "tiny"}, "tiny:seed=0:", 0, "ours:factory", "simulation", {"level": 3})
HISTORY = History(
    HEADER,
    [
        Event(0, 0, "w1", "worker-started", "", {"incarnation": 1, "verb": "submit"}),
        Event(1, 5, "rig", "run-ended", "", {"cut_short": ""}),
    ],
)
DATA = encode(HISTORY)


def test_a_history_comes_back_as_it_was() -> None:
    assert decode(DATA) == HISTORY
    assert trace_hash(HISTORY) == hash_of(DATA)


def test_the_order_of_keys_changes_no_byte() -> None:
    turned = [event._replace(data=dict(reversed(event.data.items()))) for event in HISTORY.events]
    assert encode(History(HEADER, turned)) == DATA


def test_one_changed_event_changes_the_hash() -> None:
    later = [HISTORY.events[0], HISTORY.events[1]._replace(time_ns=6)]
    assert trace_hash(History(HEADER, later)) != trace_hash(HISTORY)


def with_line(number: int, change: Callable[[object], object]) -> bytes:
    lines = DATA.splitlines()
    lines[number - 1] = json.dumps(change(json.loads(lines[number - 1]))).encode()
    return b"\n".join(lines)


def header_with(**values: object) -> bytes:
    return with_line(1, lambda header: {**header, **values})  # type: ignore[dict-item]  # a header is a map


DAMAGED = {
    "empty": (b"", 1, "empty"),
    "no-json": (b"hello\n", 1, "header is not one"),
    "binary": (bytes(range(256)), 1, "header is not one"),
    "a-list": (b"[1]\n", 1, "no header"),
    "another-schema": (header_with(schema=SCHEMA_VERSION + 1), 1, f"schema {SCHEMA_VERSION + 1}"),
    "no-traits": (header_with(traits=None), 1, "traits is 'None'"),
    "level-is-a-word": (header_with(traits={"level": "high"}), 1, "level is 'high'"),
    "schedule-is-a-number": (header_with(schedule=7), 1, "schedule is '7'"),
    "cut-in-a-line": (DATA[:-20], 3, "not JSON"),
    "no-event": (with_line(2, lambda event: {"event": event}), 2, "not [index"),
    "event-with-odd-kind": (with_line(2, lambda event: [0, 0, "w1", ["x"], "", {}]), 2, "not [index"),
    "unknown-kind": (with_line(2, lambda event: [0, 0, "w1", "danced", "", {}]), 2, "'danced'"),
    "a-gap": (DATA.replace(b"[1,5", b"[2,5"), 3, "event index 2 where 1 should be"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_no_history_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    data, line, words = DAMAGED[name]
    file = tmp_path / "history.jsonl"
    file.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read(file)
    assert words in caught.value.what
    assert caught.value.where == f"{file}:{line}"


def test_a_history_without_its_end_is_read_and_says_so(tmp_path: Path) -> None:
    cut = decode(DATA.splitlines()[0] + b"\n" + DATA.splitlines()[1])
    assert cut.cut_short == "the history has no end"
    assert decode(DATA).cut_short == ""


def test_a_scenario_of_another_shape_is_refused() -> None:
    with pytest.raises(UsageError, match="scenario cannot be understood"):
        scenario_of(HISTORY)


def test_a_compressed_history_is_read(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl.gz"
    file.write_bytes(gzip.compress(DATA))
    assert read(file) == HISTORY


@pytest.mark.parametrize(("cut", "words"), [(-9, "break off"), (8, "break off")])
def test_a_compressed_history_that_breaks_off_is_refused(tmp_path: Path, cut: int, words: str) -> None:
    file = tmp_path / "history.jsonl.gz"
    file.write_bytes(gzip.compress(DATA)[:cut])
    with pytest.raises(UsageError, match=words):
        read(file)


def test_a_garbled_compressed_history_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl.gz"
    file.write_bytes(b"\x1f\x8b\x08" + b"\xff" * 100)
    with pytest.raises(UsageError, match="damaged"):
        read(file)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_file, "HISTORY_BYTES_MAX", 10_000)
    file = tmp_path / "history.jsonl.gz"
    file.write_bytes(gzip.compress(b"0" * 1_000_000))
    with pytest.raises(UsageError, match="larger than 10000"):
        read(file)


def test_a_part_file_gives_its_runs_and_each_by_its_place(tmp_path: Path) -> None:
    part = Part(tmp_path / "histories" / "part-0.jsonl.gz")
    places = [part.append(DATA), part.append(DATA + b"\n")]
    part.close()
    assert list(read_all(part.path)) == [HISTORY, HISTORY]
    assert [read_member(part.path, *place) for place in places] == [DATA, DATA + b"\n"]
    assert gzip.decompress(part.path.read_bytes()) == DATA + DATA + b"\n", "zcat shows them all"


def test_several_runs_are_refused_where_one_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "part-0.jsonl.gz"
    file.write_bytes(gzip.compress(DATA) * 2)
    with pytest.raises(UsageError, match="several runs"):
        read(file)


def test_the_runs_before_a_torn_one_come_out_first(tmp_path: Path) -> None:
    file = tmp_path / "part-0.jsonl.gz"
    file.write_bytes(gzip.compress(DATA) * 2 + gzip.compress(DATA)[:-9])
    runs = read_all(file)
    assert [next(runs), next(runs)] == [HISTORY, HISTORY]
    with pytest.raises(UsageError, match="run 3:1"):
        next(runs)


def test_a_history_that_is_not_where_its_row_says_is_an_error_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="changed from outside"):
        read_member(tmp_path / "part-0.jsonl.gz", 0, 10)


def test_a_full_disk_is_named() -> None:
    part = Part(Path("/dev/full"))
    with pytest.raises(EnvironmentMissing, match="Cannot write /dev/full: No space left"):
        part.append(DATA)
    part.close()
    assert Path("/dev/full").is_char_device(), "a device is not ours to remove"


def test_a_part_in_which_nothing_was_written_leaves_no_file(tmp_path: Path) -> None:
    """A process may be started for a batch that another one has taken meanwhile."""
    part = Part(tmp_path / "part.jsonl.gz")
    part.close()
    part.close()
    assert list(tmp_path.iterdir()) == []
    kept = Part(tmp_path / "part.jsonl.gz")
    kept.append(b"a line")
    kept.close()
    Part(tmp_path / "part.jsonl.gz").close()
    assert len(list(tmp_path.iterdir())) == 1
