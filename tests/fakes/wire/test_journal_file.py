from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.wire.journal_file import Document, JournalFile, read_entries
from harness.model.errors import EnvironmentMissing, UsageError


def test_what_was_committed_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "a.sqlite")
    journal.record(5, "arrived", "a-1", {"line": "POST /"})
    journal.commit([Document("note", "1", {"text": "ä"})])
    journal.close()
    again = JournalFile(tmp_path / "a.sqlite")
    assert [(e.number, e.kind, e.data) for e in again.entries()] == [(1, "arrived", {"line": "POST /"})]
    assert list(again.documents()) == [Document("note", "1", {"text": "ä"})]
    assert again.record(6, "arrived", "a-2", {}).number == 2


def test_a_document_keeps_its_place_when_it_is_replaced_and_goes_when_it_is_removed() -> None:
    journal = JournalFile()
    journal.commit([Document("k", "a", 1), Document("k", "b", 2)])
    journal.commit([Document("k", "a", 3)])
    assert list(journal.documents()) == [Document("k", "a", 3), Document("k", "b", 2)]
    journal.commit([Document("k", "a", None)])
    assert list(journal.documents()) == [Document("k", "b", 2)]


@pytest.mark.slow
def test_a_killed_writer_has_lost_nothing_it_committed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from fakes.wire.journal_file import Document, JournalFile\n"
        "journal = JournalFile(sys.argv[1])\n"
        "journal.record(1, 'effect', 'a-1', {})\n"
        "journal.commit([Document('k', 'a', 1)])\n"
        "journal.record(2, 'effect', 'a-2', {})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.sqlite")], check=False)
    assert done.returncode == -signal.SIGKILL
    again = JournalFile(tmp_path / "a.sqlite")
    assert [e.call for e in again.entries()] == ["a-1"]
    assert list(again.documents()) == [Document("k", "a", 1)]


def test_entries_that_wait_are_seen_and_counted() -> None:
    journal = JournalFile()
    journal.record(1, "arrived", "", {})
    journal.commit()
    journal.record(2, "arrived", "", {})
    assert [e.number for e in journal.entries()] == [1, 2]
    assert [e.number for e in journal.entries(after=1)] == [2]
    assert journal.counts()["arrived"] == 2


def test_somebody_else_can_read_along(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "a.sqlite")
    journal.record(1, "arrived", "a-1", {"n": 1})
    journal.commit()
    assert [e.data for e in read_entries(tmp_path / "a.sqlite")] == [{"n": 1}]
    assert read_entries(tmp_path / "a.sqlite", after=1) == []


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_text(json.dumps({"not": "a database"}) * 100)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="not a journal"):
        JournalFile(path)
    assert path.read_bytes() == before


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    JournalFile(tmp_path / "a.sqlite").close()
    with sqlite3.connect(tmp_path / "a.sqlite") as db:
        db.execute("update about set value = '99' where name = 'schema'")
    with pytest.raises(UsageError, match="version 99"):
        JournalFile(tmp_path / "a.sqlite")


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="cannot be opened"):
        JournalFile(tmp_path / "no" / "a.sqlite")


def test_a_long_journal_is_shortened_when_it_is_opened_and_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = JournalFile(tmp_path / "a.sqlite")
    for number in range(20):
        journal.record(number, "effect", f"a-{number}", {})
        journal.commit([Document("k", str(number % 7), number), Document("gone", str(number), 1)])
        journal.commit([Document("gone", str(number), None)])
    before = list(journal.documents())
    journal.close()
    monkeypatch.setattr("fakes.wire.journal_file.STEPS_MAX", 10)
    again = JournalFile(tmp_path / "a.sqlite")
    assert list(again.documents()) == before == [Document("k", str(n), 14 + n if n < 6 else 13) for n in range(7)]
    assert again.counts()["effect"] == len(again.entries()) == 20
    again.commit([Document("k", "0", None)])
    again.close()
    assert list(JournalFile(tmp_path / "a.sqlite").documents()) == before[1:]


def test_entries_are_read_from_a_number_on_and_up_to_a_limit() -> None:
    journal = JournalFile()
    for number in range(6):
        journal.record(number, "arrived", "", {})
        if number % 2:
            journal.commit()
    journal.record(6, "arrived", "", {})
    assert [e.number for e in journal.entries(after=3)] == [4, 5, 6, 7]
    assert [e.number for e in journal.entries(after=1, limit=3)] == [2, 3, 4]
