"""Tenant provisioning over HTTP, in JSON, over a real SQL table that clients can read for themselves.

    POST   /tenants                     {"name", "plan"?}: 201; 409 `already-exists` if the name is taken, by whomever
    GET    /tenants?operation=&plan=    all; `after` and `limit` page through them
    GET    /tenants/{name}
    DELETE /tenants/{name}              200 with the tenant that was; 409 `already-undone`, 404 if there never was one

Where look-ups are authoritative the entry has `database_url`, a SQLAlchemy URL of the file with the table `tenants`
(id, name, plan, operation, created_ns), which can be read but not written. What somebody writes into the file by other
ways is taken for what it is: the truth, changed from outside.
Target of an effect: the tenant's name. Its operation: the header `X-Operation`, or "".
Never here: the rule, which is in `domain.py`, and SQL.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.core.kernel import OUTSIDE
from fakes.tenant.database import CREATE, TenantDatabase
from fakes.tenant.directory import DELETE, Directory, DirectoryState
from fakes.wire.desk import Desk
from fakes.wire.fake import Options, Place
from fakes.wire.json_api import Body, invalid, json_application, missing, read_body
from fakes.wire.plain_json import (
    NAME_LENGTH_MAX,
    Done,
    PlainFake,
    check_nothing_said,
    is_name,
    listed,
    name_in,
)
from fakes.wire.points import Facts
from harness.model.boundary import Purpose
from harness.model.cell import Lookup
from harness.model.wire import Request

FILE_NAME = "tenants.sqlite"


class NewTenant(Body):
    """POST /tenants."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX)]
    plan: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,50}$")] = "standard"


class TenantFake(PlainFake):
    """The tenant directory, hosted."""

    name: ClassVar[str] = "tenant"
    title: ClassVar[str] = "Tenants: a provisioning API (JSON over HTTP) over a SQL table"
    competitors: ClassVar[Mapping[str, str]] = {
        "create": "Somebody else creates a tenant of the name.",
        "delete": "Somebody else deletes the tenant.",
    }

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        journal = desk.journal.path
        self._passing = Path(tempfile.mkdtemp(prefix="tenants-")) if journal is None else None
        kept_in = self._passing if journal is None else journal.parent
        assert kept_in is not None, "one of the two is there"
        database = TenantDatabase(kept_in / FILE_NAME)
        lent = {"now": desk.clock.now_ns, "record": self._record, "later": desk.later}
        self.domain = self.directory = Directory(options.provider_cell, database, **lent)
        self.state = DirectoryState(self.directory)

    def _record(self, kind: str, where: str, data: Mapping[str, Any]) -> None:
        """As the desk does, except that what nobody called for belongs to no call, even if it shows during one."""
        current, self.desk.current = self.desk.current, str(data.get("call", ""))
        try:
            self.desk.record(kind, where, data)
        finally:
            self.desk.current = current

    async def close(self) -> None:
        await super().close()
        self.directory.database.close()
        if self._passing is not None:
            shutil.rmtree(self._passing)

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url = places[self.port].url
        entry: dict[str, Any] = {"url": url, "env": {"TENANT_API_BASE": url}}
        if self.directory.cell.lookup is Lookup.AUTHORITATIVE:
            entry["database_url"] = entry["env"]["TENANT_DATABASE_URL"] = self.directory.database.reading_url
        return entry

    def view(self) -> Any:
        tenants = self.directory.tenants(self.desk.clock.now_ns())
        return {"tenants": [tenant._asdict() for tenant in tenants]}

    def application(self) -> Starlette:
        return json_application(
            [
                Route("/tenants", self._list, methods=["GET"]),
                Route("/tenants", self._create, methods=["POST"]),
                Route("/tenants/{name:path}", self._get, methods=["GET"]),
                Route("/tenants/{name:path}", self._delete, methods=["DELETE"]),
            ]
        )

    async def _create(self, http: HttpRequest) -> JSONResponse:
        said = await read_body(NewTenant, http)
        if not is_name(said.name):
            raise invalid("a name has no control characters")

        def word(done: Done) -> JSONResponse:
            return JSONResponse(self.directory.made(done.reply.reference)._asdict(), 201)

        return await self.change(http, CREATE, said.name, {"plan": said.plan}, word)

    async def _delete(self, http: HttpRequest) -> JSONResponse:
        await check_nothing_said(http)

        def word(done: Done) -> JSONResponse:
            return JSONResponse(self.directory.ended(done.reply.reference)._asdict())

        return await self.change(http, DELETE, name_in(http, "name"), {}, word)

    async def _get(self, http: HttpRequest) -> JSONResponse:
        name = name_in(http, "name")
        found = self.directory.tenant(name, await self.moment(http, "tenant", name))
        if found is None:
            raise missing("tenant", name)
        return JSONResponse(found._asdict())

    async def _list(self, http: HttpRequest) -> JSONResponse:
        operation, plan = http.query_params.get("operation"), http.query_params.get("plan")
        at_ns = await self.moment(http, "tenants")
        found = [
            tenant._asdict()
            for tenant in self.directory.tenants(at_ns)
            if operation in (None, tenant.operation) and plan in (None, tenant.plan)
        ]
        return listed("tenants", found, http)

    def compete(self, what: str, facts: Facts) -> None:
        rivals: Mapping[str, Callable[[str], None]] = {"create": self._create_first, "delete": self._delete_first}
        if what not in rivals:
            super().compete(what, facts)
        rivals[what](facts.target)

    def _create_first(self, name: str) -> None:
        self.directory.do("", Request(self.name, CREATE, Purpose.EFFECT, OUTSIDE, name, {"plan": "standard"}))

    def _delete_first(self, name: str) -> None:
        if not self.directory.external_undo(Request(self.name, DELETE, Purpose.UNDO, OUTSIDE, name)):
            raise LookupError(f"there is no tenant {name!r} to delete")
