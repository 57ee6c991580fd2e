"""The rows of a campaign: kept, found again, and in step with the histories."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from harness.model.errors import EnvironmentMissing, UsageError
from harness.store.campaign_store import CampaignStore
from harness.store.history_file import Part

ABOUT = {"scenario": "tiny", "seed": "0"}


def row(line: str, offset: int = 0, length: int = 0, part: str = "part-0.jsonl.gz") -> dict[str, Any]:
    return {
        "schedule": line,
        "outcome": "violated",
        "fired": True,
        "verdicts": [{"guarantee": "settles", "witness": [1, 2]}],
        "crossings": 3,
        "events": 9,
        "trace": "abc",
        "part": part,
        "offset": offset,
        "length": length,
        "sites": {"tiny/a/b/sent": ["sent", "effect", "payment", "a", "charge", False, True]},
    }


def store_in(folder: Path, *, resume: bool = True, about: dict[str, str] = ABOUT) -> CampaignStore:
    return CampaignStore(folder, about, resume=resume)


def part_in(folder: Path, *histories: bytes) -> list[tuple[int, int]]:
    part = Part(folder / "histories" / "part-0.jsonl.gz")
    places = [part.append(data) for data in histories]
    part.close()
    return places


def kept(folder: Path, *rows: dict[str, Any]) -> None:
    store = store_in(folder)
    store.add(rows)
    store.close()


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    (place,) = part_in(tmp_path, b"one")
    kept(tmp_path, row("a", *place))
    store = store_in(tmp_path)
    assert store.done() == {"a": row("a", *place)}
    store.close()


def test_the_same_schedule_again_changes_nothing(tmp_path: Path) -> None:
    (place,) = part_in(tmp_path, b"one")
    kept(tmp_path, row("a", *place))
    kept(tmp_path, {**row("a", *place), "outcome": "holds"})
    store = store_in(tmp_path)
    assert store.done()["a"]["outcome"] == "violated"
    store.close()


def test_a_history_without_a_row_is_cut_off_and_a_row_without_a_history_forgotten(tmp_path: Path) -> None:
    first, second = part_in(tmp_path, b"one", b"two")
    kept(tmp_path, row("a", *first), row("gone", 0, 5, "part-7.jsonl.gz"))
    store = store_in(tmp_path)
    assert list(store.done()) == ["a"]
    assert (tmp_path / "histories" / "part-0.jsonl.gz").stat().st_size == first[1] == second[0]
    store.close()


def test_starting_anew_forgets_all(tmp_path: Path) -> None:
    kept(tmp_path, row("a", *part_in(tmp_path, b"one")[0]))
    store = store_in(tmp_path, resume=False)
    assert store.done() == {}
    assert not list(tmp_path.glob("histories/*"))
    store.close()


def test_a_campaign_of_another_kind_is_refused_with_the_difference(tmp_path: Path) -> None:
    store_in(tmp_path).close()
    with pytest.raises(UsageError, match="its seed is '0', not '1'"):
        store_in(tmp_path, about={**ABOUT, "seed": "1"})
    store_in(tmp_path).close()


def test_a_store_that_is_open_is_held(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with pytest.raises(UsageError, match="at work in this folder"):
        store_in(tmp_path, resume=False)
    store.close()
    store_in(tmp_path).close()


@pytest.mark.parametrize("keep", [0, 100, 4096])
def test_a_damaged_store_is_refused(tmp_path: Path, keep: int) -> None:
    kept(tmp_path, row("a"))
    file = tmp_path / "campaign.sqlite"
    file.write_bytes(file.read_bytes()[:keep] + b"\xff" * 8000)
    with pytest.raises(EnvironmentMissing, match="cannot be used"):
        store_in(tmp_path).done()


def test_a_garbled_row_is_refused(tmp_path: Path) -> None:
    kept(tmp_path, row("a"))
    connection = sqlite3.connect(tmp_path / "campaign.sqlite")
    connection.execute("UPDATE runs SET sites = 'no json'")
    connection.commit()
    connection.close()
    store = store_in(tmp_path)
    with pytest.raises(EnvironmentMissing, match="cannot be used"):
        store.done()
    store.close()


@pytest.mark.parametrize("place", ["/dev/null/out", "/proc/self/out"])
def test_a_folder_that_cannot_be_is_named(place: str) -> None:
    with pytest.raises(EnvironmentMissing, match=f"Cannot write {place}"):
        store_in(Path(place))
