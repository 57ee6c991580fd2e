"""The state of a campaign in one SQLite file: what it is, and one row for each finished run. An interrupted campaign resumes from it.

Rows and histories are kept in step: a row is written after its history, and on resuming, what stands in a file of histories after
the last run that has a row (a killed campaign leaves some, the last perhaps torn) is cut off. So nothing is lost that has a row, and
no run is kept twice, but for one that could not be judged: its history stays.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Column, Integer, MetaData, String, Table, Text, bindparam, create_engine, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from harness.model.errors import EnvironmentMissing, UsageError
from harness.store.atomic import unwritable
from harness.store.bundle import clear_bundles

STORE_VERSION = 1
OUTPUTS = ("result.json", "report.html", "junit.xml", "report.md", "env.json")
"""What a campaign leaves beside its store, its histories and its bundles."""
_metadata = MetaData()
_about = Table("about", _metadata, Column("name", String(60), primary_key=True), Column("value", Text, nullable=False))
_runs = Table(
    "runs",
    _metadata,
    Column("schedule", Text, primary_key=True),
    Column("outcome", String(10), nullable=False),
    Column("fired", Integer, nullable=False),
    Column("verdicts", Text, nullable=False),
    Column("crossings", Integer, nullable=False),
    Column("events", Integer, nullable=False),
    Column("trace", String(32), nullable=False),
    Column("part", String(60), nullable=False),
    Column("offset", Integer, nullable=False),
    Column("length", Integer, nullable=False),
    Column("sites", Text, nullable=False),
)


class CampaignStore:
    """`campaign.sqlite` of one output folder, which it holds for itself while it is open."""

    def __init__(self, folder: Path, about: Mapping[str, str], *, resume: bool) -> None:
        """Raises UsageError when the folder is in use or holds another campaign, EnvironmentMissing when it cannot be used."""
        self.folder = folder
        self.path = folder / "campaign.sqlite"
        self._hold = _held(folder)
        try:
            if not resume:
                self._start_anew()
            self._engine = create_engine(f"sqlite:///{self.path}")
            with self._usable():
                _metadata.create_all(self._engine)
                self._check(about)
        except BaseException:
            os.close(self._hold)
            raise

    def _start_anew(self) -> None:
        """Nothing of an earlier campaign may be taken for one of this one, should we be killed. Strangers' files stay."""
        try:
            for old in (self.path, *self._parts(), *(self.folder / name for name in OUTPUTS)):
                old.unlink(missing_ok=True)
            clear_bundles(self.folder / "failures")
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("histories/part-*.jsonl.gz"))

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, orjson.JSONDecodeError) as error:
            why = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise EnvironmentMissing(
                f"The campaign file cannot be used: {why}.",
                where=str(self.path),
                next_step="If the disk is full, give it room and go on with --resume. If the file is damaged, leave out --resume to"
                " start anew, or name another folder with --out DIR.",
            ) from error

    def _check(self, about: Mapping[str, str]) -> None:
        wanted = {**about, "store": str(STORE_VERSION)}
        with self._engine.begin() as connection:
            found = {row.name: row.value for row in connection.execute(select(_about))}
            if not found:
                connection.execute(insert(_about), [{"name": k, "value": v} for k, v in wanted.items()])
                return
        for name, value in wanted.items():
            if found.get(name) != value:
                raise UsageError(
                    f"This folder holds another campaign: its {name} is {found.get(name)!r}, not {value!r}.",
                    where=str(self.path),
                    next_step="Name another folder with --out DIR, or leave out --resume to start anew.",
                )

    def done(self) -> dict[str, dict[str, Any]]:
        """Schedule -> row of every run that is finished, judged, and whose history is there."""
        with self._usable(), self._engine.begin() as connection:
            rows = {row.schedule: _from_row(row) for row in connection.execute(select(_runs))}
        sizes = {part.name: part.stat().st_size for part in self._parts()}
        kept = {line: row for line, row in rows.items() if row["offset"] + row["length"] <= sizes.get(row["part"], -1)}
        if len(kept) < len(rows):
            with self._usable(), self._engine.begin() as connection:
                gone = [{"line": line} for line in rows if line not in kept]
                connection.execute(delete(_runs).where(_runs.c.schedule == bindparam("line")), gone)
        self._cut_to(kept.values())
        return kept

    def _cut_to(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Cut off what stands in a part file after the last run that has a row."""
        ends: dict[str, int] = {}
        for row in rows:
            ends[row["part"]] = max(ends.get(row["part"], 0), row["offset"] + row["length"])
        for part in self._parts():
            if part.name in ends:
                os.truncate(part, ends[part.name])
            else:
                part.unlink()

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of finished runs. The same schedule again changes nothing (results are keyed by schedule)."""
        packed = [_to_row(row) for row in rows]
        if not packed:
            return
        with self._usable(), self._engine.begin() as connection:
            connection.execute(insert(_runs).prefix_with("OR IGNORE"), packed)

    def close(self) -> None:
        self._engine.dispose()
        os.close(self._hold)


def _held(folder: Path) -> int:
    """The folder, opened and locked. The lock is the folder's own: no file of ours tells of it, and it ends with the process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(held)
        raise UsageError(
            "Another campaign is at work in this folder.",
            where=str(folder),
            next_step="Wait for it, or name another folder with --out DIR.",
        ) from error
    except OSError:  # some network file systems have no locks; then it is up to the people
        return held
    return held


def _to_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "verdicts": orjson.dumps(row["verdicts"]).decode(), "sites": orjson.dumps(row["sites"]).decode()}


def _from_row(row: Any) -> dict[str, Any]:
    data = dict(row._mapping)
    data["fired"] = bool(data["fired"])
    data["verdicts"] = orjson.loads(data["verdicts"])
    data["sites"] = orjson.loads(data["sites"])
    return data
