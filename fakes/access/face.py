"""Access grants over HTTP, in JSON.

    PUT    /grants/{subject}/{role}     201, or 200 if it stands already; 409 while the subject has another role
    DELETE /grants/{subject}/{role}     200 with the grant that was ended; 409 `already-undone`, 404 if there never was one
    GET    /grants/{subject}/{role}     the standing grant, or 404
    GET    /grants/{subject}            {"grants": [...]}: the one that stands
    GET    /grants?subject=&role=&operation=&revoked=true      all; `after` and `limit` page through them

Target of an effect: the subject, such as `ann@board`. Its operation: the header `X-Operation`, or "". A revocation keeps
the grant's target and has an operation of its own.
Never here: the rule, which is in `domain.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.access.grants import Grants
from fakes.core.kernel import OUTSIDE
from fakes.wire.desk import Desk
from fakes.wire.fake import Options, Place
from fakes.wire.json_api import invalid, json_application, missing
from fakes.wire.plain_json import Done, PlainFake, check_nothing_said, listed, name_in
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState
from harness.model.boundary import Purpose
from harness.model.wire import Request

RIVAL_ROLE = "outside"


class AccessFake(PlainFake):
    """The access control list, hosted."""

    name: ClassVar[str] = "access"
    title: ClassVar[str] = "Access grants: who has which role, JSON over HTTP"
    competitors: ClassVar[Mapping[str, str]] = {
        "grant": f"Somebody else grants the subject the role {RIVAL_ROLE!r}.",
        "revoke": "Somebody else revokes what the subject has.",
    }

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        cell = options.provider_cell
        self.domain = self.grants = Grants(cell, now=desk.clock.now_ns, record=desk.record, later=desk.later)
        self.state = ProviderState(self.grants)

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url = places[self.port].url
        return {"url": url, "env": {"ACCESS_API_BASE": url}}

    def view(self) -> Any:
        return {"grants": [grant.as_data() for grant in self.grants.grants(self.desk.clock.now_ns())]}

    def application(self) -> Starlette:
        return json_application(
            [
                Route("/grants", self._list, methods=["GET"]),
                Route("/grants/{subject}", self._get_subject, methods=["GET"]),
                Route("/grants/{subject}/{role}", self._get, methods=["GET"]),
                Route("/grants/{subject}/{role}", self._put, methods=["PUT"]),
                Route("/grants/{subject}/{role}", self._delete, methods=["DELETE"]),
            ]
        )

    async def _put(self, http: HttpRequest) -> JSONResponse:
        await check_nothing_said(http)

        def word(done: Done) -> JSONResponse:
            return JSONResponse(self.grants.grant(done.reply.reference).as_data(), 201 if done.is_new else 200)

        return await self.change(http, "grant", name_in(http, "subject"), {"role": name_in(http, "role")}, word)

    async def _delete(self, http: HttpRequest) -> JSONResponse:
        await check_nothing_said(http)

        def word(done: Done) -> JSONResponse:
            return JSONResponse(self.grants.revoked_by(done.reply.reference).as_data())

        return await self.change(http, "revoke", name_in(http, "subject"), {"role": name_in(http, "role")}, word)

    async def _get(self, http: HttpRequest) -> JSONResponse:
        subject, role = name_in(http, "subject"), name_in(http, "role")
        found = self.grants.standing(subject, await self.moment(http, "grant", subject))
        if found is None or found.role != role:
            raise missing("standing grant of", f"{subject}/{role}")
        return JSONResponse(found.as_data())

    async def _get_subject(self, http: HttpRequest) -> JSONResponse:
        subject = name_in(http, "subject")
        found = self.grants.standing(subject, await self.moment(http, "grant", subject))
        return JSONResponse({"grants": [found.as_data()] if found else []})

    async def _list(self, http: HttpRequest) -> JSONResponse:
        asked = http.query_params
        revoked = asked.get("revoked", "false")
        if revoked not in ("true", "false"):
            raise invalid("revoked is true or false")
        at_ns = await self.moment(http, "grants", asked.get("subject", ""))
        found = [
            grant.as_data()
            for grant in self.grants.grants(at_ns)
            if (revoked == "true" or grant.revoked_ns is None)
            and asked.get("subject") in (None, grant.subject)
            and asked.get("role") in (None, grant.role)
            and asked.get("operation") in (None, grant.operation)
        ]
        return listed("grants", found, http)

    def compete(self, what: str, facts: Facts) -> None:
        match what:
            case "grant":
                rival = {"role": RIVAL_ROLE}
                self.grants.do("", Request(self.name, "grant", Purpose.EFFECT, OUTSIDE, facts.target, rival))
            case "revoke":
                if not self.grants.external_undo(Request(self.name, "revoke", Purpose.UNDO, OUTSIDE, facts.target)):
                    raise LookupError(f"{facts.target!r} has nothing that could be revoked")
            case _:
                super().compete(what, facts)
