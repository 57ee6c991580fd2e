"""The directory on the wire: the kernel's rule and journal over a database that is the truth.

Theory. A change is committed to the database first and to the journal after, within one step. A fake that is killed
between the two has a change that its journal does not know; when it is started again the change is taken up: it gets its
effect (of the call that made it), its row and its key, and an entry `mended`. The other way round cannot happen.
Whoever writes to the tables directly is an outside actor: what they made or removed becomes an effect of nobody's
operation as soon as the directory is asked anything, or is started.

Only a restored snapshot is stronger than the tables: it is what somebody wanted to be true.
Never here: SQL, HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fakes.core.endpoint import Arrival
from fakes.core.kernel import OUTSIDE
from fakes.core.kernel import Change as RowChange
from fakes.core.rows import NEVER, Row
from fakes.tenant.database import CREATE, Change, DatabaseFailed, NameTaken, Tenant, TenantDatabase
from fakes.tenant.domain import Tenants
from fakes.wire.journal_file import Document
from fakes.wire.json_api import OnWire
from fakes.wire.shelf import ProviderState
from harness.model.cell import Cell
from harness.model.errors import ProviderFailure
from harness.model.wire import Reply, Request

DELETE = "tenant.delete"


class Directory(OnWire, Tenants):
    """Tenants by name, in a database."""

    __slots__ = ("database",)

    def __init__(self, cell: Cell, database: TenantDatabase, **lent: Any) -> None:
        super().__init__(cell, **lent)
        self.database = database

    # Changes: the database's commit comes before the journal's.

    def _apply(self, request: Request, now_ns: int) -> RowChange:
        self.look_around()
        return super()._apply(request, now_ns)

    def _perform(self, arrival: Arrival, now_ns: int) -> Reply:
        commits = self.commits
        try:
            return super()._perform(arrival, now_ns)
        except ProviderFailure:
            self.commits = commits  # the kernel counts before it writes
            raise

    def _write(self, arrival: Arrival, change: RowChange, reference: str) -> str:
        request = arrival.request
        made = Change(
            reference,
            request.action,
            request.target,
            request.params,
            request.operation,
            request.key,
            arrival.call,
            change.undoes,
            self._now(),
        )
        try:
            self.database.apply(made)
        except (NameTaken, DatabaseFailed) as error:
            self._take_back(change)
            code = "already-exists" if isinstance(error, NameTaken) else "unavailable"
            raise ProviderFailure(code, f"the database says {type(error).__name__}") from None
        return super()._write(arrival, change, reference)

    def _take_back(self, change: RowChange) -> None:
        """The database did not do it, so nothing was done."""
        if change.undoes is not None and (row := self._table.get(change.undoes)) is not None:
            self._table.put(row._replace(undone_ns=NEVER))

    # Mending.

    def look_around(self) -> None:
        """Take up what others wrote since the last look."""
        if self.database.was_written_by_others():
            self.mend()

    def mend(self) -> None:
        """Make rows and journal agree with the database."""
        for change in self.database.changes():
            if self._table.get(change.id) is None:
                self._take_up(change)
        there = {tenant.id: tenant for tenant in self.database.now()}
        for row in [row for row in self._table if row.action == CREATE and row.is_standing]:
            if row.reference not in there or there[row.reference].name != row.target:
                self._adopt(DELETE, self._new_reference(), row.target, {}, row.reference)
        for tenant in there.values():
            row_now = self._table.get(tenant.id)
            if row_now is None or not row_now.is_standing:
                self._adopt_tenant(tenant, is_known=row_now is not None)

    def _adopt_tenant(self, tenant: Tenant, *, is_known: bool) -> None:
        """A tenant that others made. An id that was another tenant's is not used again."""
        id_ = self._new_reference() if is_known else tenant.id
        if is_known:
            self.database.rename(tenant.id, id_)
        self._adopt(CREATE, id_, tenant.name, {"plan": tenant.plan}, None)

    def _adopt(self, action: str, id_: str, name: str, params: Mapping[str, str | int], undoes: str | None) -> None:
        """Somebody else did this, in the tables."""
        change = Change(id_, action, name, params, OUTSIDE, "", "", undoes, self._now())
        self.database.apply(change, is_done=True)
        self._take_up(change)
        self._record("drifted", "", {"provider": self.name, "target": name, "effect": id_})

    def _take_up(self, change: Change) -> None:
        """A change of the database that the rows do not know."""
        if change.undoes is not None and (row := self._table.get(change.undoes)) is not None:
            self._table.put(row._replace(undone_ns=change.at_ns))
        params = tuple(sorted(change.params.items()))
        at_ns, undoes = change.at_ns, change.undoes
        self._table.put(Row(change.id, change.action, change.name, change.operation, params, undoes, 0, at_ns, at_ns))
        if change.key and self._keys.use_of(change.key, at_ns) is None:
            self._keys.keep(change.key, (change.action, change.name, params), at_ns, Reply(change.id))
        self._table._numbers = max(self._table._numbers, _number_of(change.id))
        self.commits += 1
        effect = {
            "effect": change.id,
            "provider": self.name,
            "action": change.action,
            "target": change.name,
            "operation": change.operation,
            "key": change.key,
            "call": change.call,
            "delivery": 1,
            "undoes": change.undoes,
        }
        self._record("effect", "", effect)
        self._record("mended", "", {"effect": change.id, "call": change.call})

    def rewrite(self) -> None:
        """Make the database agree with the rows: a snapshot was restored."""
        key_of = {use.reference: key for key, use in self._keys.snapshot()}
        changes = [
            Change(
                row.reference,
                row.action,
                row.target,
                dict(row.params),
                row.operation,
                key_of.get(row.reference, ""),
                "",
                row.undoes,
                row.settled_ns,
            )
            for row in self._table
        ]
        self.database.replace(changes)

    # Looks.

    def tenant(self, name: str, at_ns: int) -> Tenant | None:
        """The tenant of this name at that moment."""
        self.look_around()
        return next(iter(self.database.at(at_ns, name)), None)

    def tenants(self, at_ns: int) -> list[Tenant]:
        """All of that moment, oldest first."""
        self.look_around()
        return self.database.at(at_ns)

    def made(self, reference: str) -> Tenant:
        """The tenant that this change made, whether it still is one or not."""
        change = self.database.change(reference)
        return Tenant(change.id, change.name, str(change.params.get("plan", "")), change.operation, change.at_ns)

    def ended(self, reference: str) -> Tenant:
        """The tenant that this change deleted."""
        undoes = self.database.change(reference).undoes
        assert undoes is not None, f"{reference} deleted nothing"
        return self.made(undoes)


def _number_of(reference: str) -> int:
    """The number in a reference of the kernel's; 0 for one that others made."""
    number = reference.removeprefix(f"{Directory.name}-")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 18 else 0


class DirectoryState(ProviderState):
    """Rows and keys. What is loaded first is compared with the database and mended; a restore rewrites the database."""

    def __init__(self, directory: Directory) -> None:
        super().__init__(directory)
        self._directory = directory
        self._is_started = False

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say, or at the start what the database says."""
        super().load(documents)
        if self._is_started:
            self._directory.rewrite()
            return
        self._is_started = True
        self._directory.mend()
