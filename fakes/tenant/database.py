"""The tenant database: two SQL tables in one SQLite file, which others may look at while the fake serves.

    tenants   id, name (unique), plan, operation, created_ns                             who is a tenant now
    changes   number, id, action, name, params, operation, key, call, undoes, at_ns      how it came to that

A change and what it does to the tenants are one transaction. Write-ahead logging lets readers read while it commits;
when the fake ends in order the log is folded into the file, so that it can be read alone.
Never here: whether something may be done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    create_engine,
    delete,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

WAIT_S = 0.2
"""How long a commit waits for somebody else who is writing."""
CREATE = "tenant.create"

METADATA = MetaData()
TENANTS = Table(
    "tenants",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("plan", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("created_ns", BigInteger, nullable=False),
)
CHANGES = Table(
    "changes",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("action", Text, nullable=False),
    Column("name", Text, nullable=False, index=True),
    Column("params", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("call", Text, nullable=False),
    Column("undoes", Text, index=True),
    Column("at_ns", BigInteger, nullable=False),
)


class Change(NamedTuple):
    """One change of the tenants."""

    id: str
    action: str
    name: str
    params: Mapping[str, str | int]
    operation: str
    key: str
    call: str
    undoes: str | None
    at_ns: int


class Tenant(NamedTuple):
    """One tenant as it was at some moment."""

    id: str
    name: str
    plan: str
    operation: str
    created_ns: int


class NameTaken(Exception):
    """There is a tenant of this name."""


class DatabaseFailed(Exception):
    """The database did not do it, and nothing was changed."""


class TenantDatabase:
    """One open database file. For one writer; others read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        connect = {"check_same_thread": False, "timeout": WAIT_S}
        self._engine = create_engine(f"sqlite:///{path}", poolclass=StaticPool, connect_args=connect)
        self._connection: Connection = self._engine.connect()
        for pragma in ("journal_mode=wal", "synchronous=off"):  # it outlives the process, not the machine
            self._connection.exec_driver_sql(f"pragma {pragma}")
        METADATA.create_all(self._connection)
        self._connection.commit()
        self._version = self._version_now()

    @property
    def reading_url(self) -> str:
        """A SQLAlchemy URL for those who look: whatever they try to write is refused."""
        return f"sqlite:///file:{self.path}?mode=ro&uri=true"

    def was_written_by_others(self) -> bool:
        """Has anybody but us written since this was asked last?"""
        before, self._version = self._version, self._version_now()
        return before != self._version

    def _version_now(self) -> int:
        version = self._connection.exec_driver_sql("pragma data_version").scalar_one()
        self._connection.rollback()
        return int(version)

    def apply(self, change: Change, *, is_done: bool = False) -> None:
        """Do a change and note it, in one transaction. With `is_done`, only note it: somebody else did it.

        Raises NameTaken, DatabaseFailed.
        """
        try:
            with self._connection.begin():
                if not is_done:
                    self._do(change)
                self._connection.execute(insert(CHANGES).values(**_columns(change)))
        except IntegrityError:
            raise NameTaken(change.name) from None
        except SQLAlchemyError as error:
            raise DatabaseFailed(type(error).__name__) from None

    def _do(self, change: Change) -> None:
        if change.action == CREATE:
            made = Tenant(change.id, change.name, str(change.params.get("plan", "")), change.operation, change.at_ns)
            self._connection.execute(insert(TENANTS).values(**made._asdict()))
        else:
            self._connection.execute(delete(TENANTS).where(TENANTS.c.id == change.undoes))

    def rename(self, id_: str, new_id: str) -> None:
        """A tenant is known under another id from now on."""
        with self._connection.begin():
            self._connection.execute(update(TENANTS).where(TENANTS.c.id == id_).values(id=new_id))

    def replace(self, changes: Iterable[Change]) -> None:
        """Be what these changes, in their order, make."""
        with self._connection.begin():
            self._connection.execute(delete(TENANTS))
            self._connection.execute(delete(CHANGES))
            for change in changes:
                self._do(change)
                self._connection.execute(insert(CHANGES).values(**_columns(change)))

    def changes(self) -> list[Change]:
        """All changes, oldest first."""
        rows = self._rows(select(CHANGES).order_by(CHANGES.c.number))
        return [_change(row._asdict()) for row in rows]

    def now(self) -> list[Tenant]:
        """Who is a tenant now."""
        return [
            Tenant(**row._asdict()) for row in self._rows(select(TENANTS).order_by(TENANTS.c.created_ns, TENANTS.c.id))
        ]

    def at(self, at_ns: int, name: str | None = None) -> list[Tenant]:
        """Who was a tenant at that moment, oldest first: all, or the one of this name."""
        ended = CHANGES.alias()
        is_over = select(ended.c.id).where(ended.c.undoes == CHANGES.c.id, ended.c.at_ns <= at_ns).exists()
        wanted = select(CHANGES).where(CHANGES.c.action == CREATE, CHANGES.c.at_ns <= at_ns, ~is_over)
        if name is not None:
            wanted = wanted.where(CHANGES.c.name == name)
        made = [_change(row._asdict()) for row in self._rows(wanted.order_by(CHANGES.c.number))]
        return [
            Tenant(each.id, each.name, str(each.params.get("plan", "")), each.operation, each.at_ns) for each in made
        ]

    def change(self, id_: str) -> Change:
        """The change of this id."""
        (row,) = self._rows(select(CHANGES).where(CHANGES.c.id == id_))
        return _change(row._asdict())

    def _rows(self, wanted: Any) -> list[Row[Any]]:
        rows = list(self._connection.execute(wanted).all())
        self._connection.rollback()
        return rows

    def close(self) -> None:
        """Fold the log into the file, if nobody else is using it, and close."""
        try:
            self._connection.execute(text("pragma journal_mode=delete"))
        except SQLAlchemyError:
            self._connection.rollback()  # somebody reads: the log stays, and is folded in when the next one opens it
        self._connection.close()
        self._engine.dispose()


def _columns(change: Change) -> dict[str, Any]:
    return {**change._asdict(), "params": json.dumps(dict(change.params))}


def _change(columns: Mapping[str, Any]) -> Change:
    kept = {name: columns[name] for name in Change._fields}
    return Change(**{**kept, "params": json.loads(columns["params"])})
