"""The durable journal of one fake: what happened, and the state that came of it, in one SQLite file.

Theory. A response may leave only after `commit`, which writes everything recorded since the last one, and every
document that changed, as one row: a step. So a fake that is killed at any moment and started again on the file has lost
no effect whose response could have been seen, and never knows of a document without its entry. A state is the documents
of all steps, later ones over earlier ones. The commit survives the death of the process; it is not made to survive that
of the machine.

One row a commit, since rows and their indexes cost more than what is in them: it is the difference between a third and
a half of a bare server's requests a second.

Entries are numbered upwards from 1, with gaps. Their kinds on every fake: `arrived`, `effect`, `responded`, `cut` (the fake ended a
connection on purpose), `hook-fired`, `caller-saw` (told by callers), `started`, `bug`; and what a domain records besides.
Never here: what an entry or a document means.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

from harness.model.errors import EnvironmentMissing, UsageError

SCHEMA_VERSION = 2
STEPS_MAX = 20_000
"""A journal that is opened with more steps than this has its state written anew, so that the next opening is quick."""
_SCHEMA = f"""
pragma journal_mode=wal;
pragma synchronous=off;
pragma wal_autocheckpoint=4000;
create table if not exists about (name text primary key, value text not null) without rowid;
create table if not exists steps (number integer primary key, entries text not null, documents text not null);
insert or ignore into about values ('schema', '{SCHEMA_VERSION}');
"""
_NEW_STEP = "insert into steps values (?, ?, ?)"
"""A step has the number of its last entry, so that it needs no index; one without entries takes a number of its own."""
_ENTRIES = "select entries from steps where number > ? and entries != '' order by number"
_DOCUMENTS = "select documents from steps where documents != '' order by number"
_ANEW = "anew"
"""Kind of the first document of a step before which no other counts."""


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
        self._waiting: list[Entry] = []
        found = list(_entries_of(self._db, 0))
        (last,) = self._db.execute("select coalesce(max(number), 0) from steps").fetchone()
        self._last: int = last
        self._counts = Counter(entry.kind for entry in found)
        self.is_new = not found
        self._shorten()

    @property
    def last_number(self) -> int:
        """The number of the newest entry, committed or not; 0 if there is none."""
        return self._last

    def record(self, time_ns: int, kind: str, call: str, data: Mapping[str, Any]) -> Entry:
        """Note what happened. It is on disk after the next `commit`."""
        self._last += 1
        entry = Entry(self._last, time_ns, kind, call, data)
        self._waiting.append(entry)
        self._counts[kind] += 1
        return entry

    def commit(self, changes: Iterable[Document] = ()) -> None:
        """Write all that is waiting, and these documents, in one step."""
        documents = list(changes)
        if not self._waiting and not documents:
            return
        if self._waiting:
            told = _text(self._waiting)
        else:
            told, self._last = "", self._last + 1
        state = _text(documents) if documents else ""
        self._db.execute(_NEW_STEP, (self._last, told, state))
        self._waiting.clear()

    def entries(self, after: int = 0, limit: int = -1) -> list[Entry]:
        """Entries with a number above `after`, oldest first, those not committed yet too."""
        found = chain(_entries_of(self._db, after), (entry for entry in self._waiting if entry.number > after))
        return list(found if limit < 0 else islice(found, limit))

    def documents(self) -> Iterator[Document]:
        """All documents, in the order in which they first came."""
        state: dict[tuple[str, str], Any] = {}
        for (text,) in self._db.execute(_DOCUMENTS):
            for kind, id_, value in json.loads(text):
                if kind == _ANEW:
                    state.clear()
                elif value is None:
                    state.pop((kind, id_), None)
                else:
                    state[kind, id_] = value
        return iter([Document(kind, id_, value) for (kind, id_), value in state.items()])

    def replace_documents(self, documents: Iterable[Document]) -> None:
        """Make these the only ones: a restore. What happened before stays in the entries."""
        assert not self._waiting, "what happened before is committed first"
        self._last += 1
        self._db.execute(_NEW_STEP, (self._last, "", _text([Document(_ANEW, "", True), *documents])))

    def counts(self) -> Counter[str]:
        """How many entries there are of each kind."""
        return Counter(self._counts)

    def _shorten(self) -> None:
        (steps,) = self._db.execute("select count(*) from steps where documents != ''").fetchone()
        if steps <= STEPS_MAX:
            return
        documents = list(self.documents())
        self._db.execute("begin immediate")
        self._db.execute("update steps set documents = ''")
        self.replace_documents(documents)
        self._db.execute("commit")

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
        found = list(_entries_of(db, after))
        db.close()
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from None
    return found


def _entries_of(db: sqlite3.Connection, after: int) -> Iterator[Entry]:
    for (text,) in db.execute(_ENTRIES, (after,)):
        yield from (Entry(*row) for row in json.loads(text) if row[0] > after)


def _text(rows: Iterable[tuple[Any, ...]]) -> str:
    plain = [(*row,) for row in rows]  # the quick encoder knows no named tuples
    try:
        return orjson.dumps(plain).decode()
    except TypeError:  # a whole number of more than 64 bits
        return json.dumps(plain, separators=(",", ":"), ensure_ascii=False)


def _unusable(path: Path | str, error: sqlite3.Error) -> UsageError | EnvironmentMissing:
    if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
        return EnvironmentMissing(
            f"The journal cannot be opened: {error}.", where=str(path), next_step="Give a folder that can be written."
        )
    return UsageError(f"This is not a journal: {error}.", where=str(path), next_step="Give another state folder.")
