"""The state of a campaign in one SQLite file: what it is, and one row for each finished run. An interrupted campaign resumes from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Column, Integer, MetaData, String, Table, Text, create_engine, insert, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from harness.model.errors import EnvironmentMissing, UsageError

STORE_VERSION = 1
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
    """`campaign.sqlite` of one output folder."""

    def __init__(self, folder: Path, about: Mapping[str, str], *, resume: bool) -> None:
        self.path = folder / "campaign.sqlite"
        if not resume:
            self._start_anew(folder)
        self._engine = create_engine(f"sqlite:///{self.path}")
        try:
            _metadata.create_all(self._engine)
            self._check(about)
        except (DBAPIError, SQLAlchemyError) as error:
            raise EnvironmentMissing(
                f"The campaign file cannot be used: {str(error).splitlines()[0]}",
                where=str(self.path),
                next_step="Name another folder with --out DIR, or remove the damaged file.",
            ) from error

    def _start_anew(self, folder: Path) -> None:
        self.path.unlink(missing_ok=True)
        for old in sorted(folder.glob("histories/part-*.jsonl.gz")):
            old.unlink()

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
        """Schedule -> row of every run that is finished and judged."""
        with self._engine.begin() as connection:
            return {row.schedule: _from_row(row) for row in connection.execute(select(_runs))}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of finished runs. The same schedule again changes nothing (results are keyed by schedule)."""
        packed = [_to_row(row) for row in rows]
        if not packed:
            return
        with self._engine.begin() as connection:
            connection.execute(insert(_runs).prefix_with("OR IGNORE"), packed)

    def close(self) -> None:
        self._engine.dispose()


def _to_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "verdicts": orjson.dumps(row["verdicts"]).decode(), "sites": orjson.dumps(row["sites"]).decode()}


def _from_row(row: Any) -> dict[str, Any]:
    data = dict(row._mapping)
    data["verdicts"] = orjson.loads(data["verdicts"])
    data["sites"] = orjson.loads(data["sites"])
    return data
