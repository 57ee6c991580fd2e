"""The durable journal of one fake: what happened, and the state that came of it, in one SQLite file.

Theory. A response may leave only after `commit`, which writes everything recorded since the last one, and every
document that changed, in one transaction (WAL). So a fake that is killed at any moment and started again on the file
has lost no effect whose response could have been seen, and never knows of a document without its entry. The commit
survives the death of the process; it is not made to survive that of the machine.

Entries are numbered from 1. Their kinds on every fake: `arrived`, `effect`, `responded`, `cut` (the fake ended a
connection on purpose), `hook-fired`, `caller-saw` (told by callers), `started`, `bug`; and what a domain records besides.
Never here: what an entry or a document means.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

from harness.model.errors import EnvironmentMissing, UsageError

SCHEMA_VERSION = 1
_SCHEMA = f"""
pragma journal_mode=wal;
pragma synchronous=off;
pragma wal_autocheckpoint=4000;
create table if not exists about (name text primary key, value text not null) without rowid;
create table if not exists entries (
  number integer primary key, time_ns integer not null, kind text not null, call text not null, data text not null);
create table if not exists documents (
  place integer primary key, kind text not null, id text not null, value text not null, unique (kind, id));
insert or ignore into about values ('schema', '{SCHEMA_VERSION}');
"""
_NEW_ENTRY = "insert into entries values (?, ?, ?, ?, ?)"
_NEW_DOCUMENT = (
    "insert into documents (kind, id, value) values (?, ?, ?)"
    " on conflict (kind, id) do update set value = excluded.value"
)
_NO_DOCUMENT = "delete from documents where kind = ? and id = ?"


class Entry(NamedTuple):
    """One thing that happened. `call` is the fake's number of the arrival it belongs to, or ""."""

    number: int
    time_ns: int
    kind: str
    call: str
    data: Mapping[str, Any]


class Document(NamedTuple):
    """A part of a fake's state: JSON data, or None if it is gone."""

    kind: str
    id: str
    value: Any


class Durable(Protocol):
    """A state that can be kept in documents and taken up again."""

    def take_changes(self) -> Iterable[Document]:
        """What changed since the last call, each document once."""

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these documents say, given in the order in which they first came. Timers are set again."""


class JournalFile:
    """One fake's journal. For one process at a time; a reader may look at the file from elsewhere."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        """Open or make it. Raises UsageError for a file that is something else, EnvironmentMissing if it cannot be had."""
        self.path = None if path == ":memory:" else Path(path)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
            self._db.executescript(_SCHEMA)
            (version,) = self._db.execute("select value from about where name = 'schema'").fetchone()
        except sqlite3.DatabaseError as error:
            raise _unusable(path, error) from None
        if version != str(SCHEMA_VERSION):
            raise UsageError(
                f"The journal is of version {version}; this is version {SCHEMA_VERSION}.",
                where=str(path),
                next_step="Give another state folder.",
            )
        (last,) = self._db.execute("select coalesce(max(number), 0) from entries").fetchone()
        self._last: int = last
        self._waiting: list[Entry] = []
        self.is_new = last == 0

    @property
    def last_number(self) -> int:
        """The number of the newest entry, committed or not; 0 if there is none."""
        return self._last

    def record(self, time_ns: int, kind: str, call: str, data: Mapping[str, Any]) -> Entry:
        """Note what happened. It is on disk after the next `commit`."""
        self._last += 1
        entry = Entry(self._last, time_ns, kind, call, data)
        self._waiting.append(entry)
        return entry

    def commit(self, changes: Iterable[Document] = ()) -> None:
        """Write all that is waiting, and these documents, in one transaction."""
        documents = list(changes)
        if not self._waiting and not documents:
            return
        execute = self._db.execute
        execute("begin immediate")
        try:
            for number, time_ns, kind, call, data in self._waiting:
                execute(_NEW_ENTRY, (number, time_ns, kind, call, _text(data)))
            for kind, id_, value in documents:
                if value is None:
                    execute(_NO_DOCUMENT, (kind, id_))
                else:
                    execute(_NEW_DOCUMENT, (kind, id_, _text(value)))
            execute("commit")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise
        self._waiting.clear()

    def entries(self, after: int = 0, limit: int = -1) -> list[Entry]:
        """Entries with a number above `after`, oldest first, those not committed yet too."""
        asked = "select * from entries where number > ? order by number limit ?"
        kept = [Entry(n, t, k, c, json.loads(data)) for n, t, k, c, data in self._db.execute(asked, (after, limit))]
        if limit < 0 or len(kept) < limit:
            kept += [entry for entry in self._waiting if entry.number > after]
        return kept if limit < 0 else kept[:limit]

    def documents(self) -> Iterator[Document]:
        """All documents, in the order in which they first came."""
        for kind, id_, value in self._db.execute("select kind, id, value from documents order by place"):
            yield Document(kind, id_, json.loads(value))

    def replace_documents(self, documents: Iterable[Document]) -> None:
        """Make these the only ones: a restore. What happened before stays in the entries."""
        self._db.execute("begin immediate")
        self._db.execute("delete from documents")
        self._db.executemany(_NEW_DOCUMENT, [(d.kind, d.id, _text(d.value)) for d in documents])
        self._db.execute("commit")

    def counts(self) -> Counter[str]:
        """How many entries there are of each kind."""
        counted = Counter(dict(self._db.execute("select kind, count(*) from entries group by kind")))
        counted.update(entry.kind for entry in self._waiting)
        return counted

    def keep(self, name: str, value: str) -> None:
        """Keep something about the fake that is no part of its state, such as how far its clock was advanced."""
        self._db.execute("insert or replace into about values (?, ?)", (name, value))

    def kept(self, name: str) -> str | None:
        """What was kept under this name."""
        row = self._db.execute("select value from about where name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        """Commit what is waiting and close."""
        self.commit()
        self._db.close()


def read_entries(path: Path, after: int = 0) -> list[Entry]:
    """The entries of a journal that somebody else may be writing, read only. Raises UsageError for no journal."""
    if not path.is_file():
        raise UsageError(
            f"There is no journal {path}.", where=str(path.parent), next_step="Name a fakes' state folder."
        )
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        rows = db.execute("select * from entries where number > ? order by number", (after,)).fetchall()
        db.close()
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from None
    return [Entry(n, t, k, c, json.loads(data)) for n, t, k, c, data in rows]


def _text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a whole number of more than 64 bits
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _unusable(path: Path | str, error: sqlite3.Error) -> UsageError | EnvironmentMissing:
    if isinstance(error, sqlite3.OperationalError):
        return EnvironmentMissing(
            f"The journal cannot be opened: {error}.", where=str(path), next_step="Give a folder that can be written."
        )
    return UsageError(f"This is not a journal: {error}.", where=str(path), next_step="Give another state folder.")
