"""State that can be kept: a shelf of documents, and a domain's rows and keys seen as documents.

Never here: a provider's rule. A domain in a simulation does not pay for this: `ProviderState` puts watching tables
into a provider that is on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from fakes.core.kernel import Provider
from fakes.core.keys import Keys, Use
from fakes.core.rows import Row, Table
from fakes.wire.journal_file import Document

ROW, KEY, NUMBERS = "row", "key", "numbers"


class Shelf:
    """Documents (JSON data) by kind and id, each kind in the order in which its ids first came.

    What is put must not be changed afterwards: put a new value.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Any]] = {}
        self._changed: dict[tuple[str, str], None] = {}

    def put(self, kind: str, id_: str, value: Any) -> None:
        """Add or replace."""
        assert value is not None, "None says that there is none: remove it"
        self._kinds.setdefault(kind, {})[id_] = value
        self._changed[kind, id_] = None

    def get(self, kind: str, id_: str) -> Any:
        """The document, or None."""
        return self._kinds.get(kind, {}).get(id_)

    def remove(self, kind: str, id_: str) -> None:
        """Take it away, if it is there."""
        if self._kinds.get(kind, {}).pop(id_, None) is not None:
            self._changed[kind, id_] = None

    def all(self, kind: str) -> dict[str, Any]:
        """All of one kind, oldest first. To be read only."""
        return self._kinds.get(kind, {})

    def number(self, kind: str) -> int:
        """The next number of this kind, from 1: it makes ids that are equal in equal runs."""
        numbers = self.get(NUMBERS, "shelf") or {}
        number = int(numbers.get(kind, 0)) + 1
        self.put(NUMBERS, "shelf", {**numbers, kind: number})
        return number

    def take_changes(self) -> Iterator[Document]:
        """What changed since the last call."""
        changed, self._changed = self._changed, {}
        return iter([Document(kind, id_, self.get(kind, id_)) for kind, id_ in changed])

    def load(self, documents: Iterable[Document]) -> None:
        """Hold exactly these."""
        self._kinds, self._changed = {}, {}
        for kind, id_, value in documents:
            self._kinds.setdefault(kind, {})[id_] = value


Counted: TypeAlias = Callable[[Row, int], None]
"""Takes a row and +1 when it comes, -1 when it is replaced: for sums that must not be made over all rows each time."""


class _WatchedTable(Table):
    __slots__ = ("count", "touched")

    def __init__(self, count: Counted | None) -> None:
        super().__init__()
        self.touched: dict[str, None] = {}
        self.count = count

    def put(self, row: Row) -> None:
        old = self.get(row.reference)
        super().put(row)
        self.touched[row.reference] = None
        if self.count is not None:
            if old is not None:
                self.count(old, -1)
            self.count(row, 1)


class _WatchedKeys(Keys):
    __slots__ = ("touched",)

    def __init__(self, keys: Keys) -> None:
        self._life_ns = keys._life_ns
        self._uses: dict[str, Use] = {}
        self.touched: dict[str, None] = {}

    def _bind(self, key: str, use: Use) -> None:
        super()._bind(key, use)
        self.touched[key] = None


class ProviderState:
    """The rows, keys and numbers of a provider of the simulation's kernel, as documents; a shelf may stand beside it.

    Pending rows are not settled by this after a restart: who accepts what is settled later sets that timer itself.
    """

    def __init__(self, provider: Provider, shelf: Shelf | None = None, count: Counted | None = None) -> None:
        self._provider = provider
        self._shelf = shelf or Shelf()
        self._table = provider._table = _WatchedTable(count)
        self._keys = provider._keys = _WatchedKeys(provider._keys)
        self._numbers = self._numbers_now()

    def _numbers_now(self) -> list[int]:
        provider = self._provider
        return [provider.arrivals, provider.commits, provider.responses, provider._table._numbers]

    def take_changes(self) -> Iterator[Document]:
        """What changed since the last call."""
        rows, self._table.touched = self._table.touched, {}
        for reference in rows:
            yield Document(ROW, reference, list(self._table._rows[reference]))
        keys, self._keys.touched = self._keys.touched, {}
        for key in keys:
            if use := self._keys._uses.get(key):
                yield Document(KEY, key, list(use))
        if (numbers := self._numbers_now()) != self._numbers:
            self._numbers = numbers
            yield Document(NUMBERS, "provider", numbers)
        yield from self._shelf.take_changes()

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        provider, others = self._provider, []
        if self._table.count is not None:
            for row in self._table:
                self._table.count(row, -1)
        self._table.restore((0, (), ()))
        self._keys.restore(())
        provider.arrivals = provider.commits = provider.responses = 0
        for document in documents:
            kind, id_, value = document
            if kind == ROW:
                self._table.put(_row(value))
            elif kind == KEY:
                self._keys._uses[id_] = _use(value)
            elif kind == NUMBERS and id_ == "provider":
                provider.arrivals, provider.commits, provider.responses, self._table._numbers = value
            else:
                others.append(document)
        self._table.touched.clear()
        self._numbers = self._numbers_now()
        self._shelf.load(others)


def _row(value: list[Any]) -> Row:
    reference, action, target, operation, params, *rest = value
    return Row(reference, action, target, operation, tuple((name, each) for name, each in params), *rest)


def _use(value: list[Any]) -> Use:
    first_ns, (action, target, params), reference, pending, code = value
    return Use(first_ns, (action, target, tuple((name, each) for name, each in params)), reference, pending, code)
