"""A file is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.model.errors import EnvironmentMissing
from harness.store.atomic import write_whole


def test_a_file_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b.txt", "whole")
    assert (tmp_path / "a" / "b.txt").read_text() == "whole"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    write_whole(file, "old")

    def fails(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(EnvironmentMissing, match=r"Cannot write .*a\.txt: No space left on device"):
        write_whole(file, "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "old")]


def test_an_interrupted_write_leaves_nothing_beside_it_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a.txt", "new")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentMissing, match="a file where a folder should be"):
        write_whole(tmp_path / "file" / "a.txt", "new")
