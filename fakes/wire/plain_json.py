"""The plain providers over JSON (access, tenant, flag): one change is one action of the domain, one look-up one moment.

A change carries the headers of `fakes.wire.json_api` and is the kernel's; its answer is worded in the same step. A look-up
sees the world through the cell: `eventual` as it was two seconds ago, `absent` not at all (405).
Never here: a path, and a provider's rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse

from fakes.wire.http import call_of
from fakes.wire.json_api import Body, JsonFake, OnWire, Refused, change_of, invalid, read_body
from harness.model.boundary import Purpose
from harness.model.cell import READ_LAG_NS, Key, Lookup
from harness.model.wire import Reply, Request

LISTED_MAX = 500
NAME_LENGTH_MAX = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class Nothing(Body):
    """A body that has nothing to say."""


class Done(NamedTuple):
    """What became of a change."""

    reply: Reply
    is_new: bool
    """Did it change anything?"""


class PlainFake(JsonFake):
    """A fake of one such domain."""

    domain: OnWire

    async def change(
        self,
        http: HttpRequest,
        action: str,
        target: str,
        params: Mapping[str, str | int],
        word: Callable[[Done], JSONResponse],
    ) -> JSONResponse:
        """Do one action, and word what became of it. Raises ProviderFailure."""
        said, domain = change_of(http), self.domain
        is_undo = domain.actions[action].undoes is not None
        purpose = Purpose.UNDO if is_undo else Purpose.EFFECT
        request = Request(self.name, action, purpose, said.operation, target, params, said.key, said.not_after_ns)
        claimed = "" if domain.cell.key is Key.IGNORED else said.key
        call = call_of(http).about(what=action, target=target, operation=said.operation, key=claimed)

        def execute() -> JSONResponse:
            before = domain.commits
            reply = domain.do(call.number, request)
            answer = word(Done(reply, domain.commits > before))
            if reply.replayed:
                answer.headers["idempotent-replayed"] = "true"
            return answer

        return await self.desk.treat(call, execute, is_replay=domain.has_answer_to(request))

    async def moment(self, http: HttpRequest, what: str, target: str = "") -> int:
        """Cross a look-up's points; the moment whose world it sees. Raises Refused where there are no look-ups."""
        stale_ns = await self.desk.read(call_of(http).about(what=what, target=target))
        lookup = self.domain.cell.lookup
        if lookup is Lookup.ABSENT:
            raise Refused(405, "method-not-allowed", "this provider has no look-ups")
        return self.desk.clock.now_ns() - max(stale_ns, READ_LAG_NS if lookup is Lookup.EVENTUAL else 0)


async def check_nothing_said(http: HttpRequest) -> None:
    """The body is empty, or `{}`. Raises Refused."""
    if await http.body():
        await read_body(Nothing, http)


def name_in(http: HttpRequest, part: str) -> str:
    """A name out of the path. Raises Refused for one that cannot be."""
    name = str(http.path_params[part])
    if not is_name(name):
        raise invalid(f"a {part} has from 1 to {NAME_LENGTH_MAX} characters, none of them a control character")
    return name


def is_name(text: str) -> bool:
    """Can this be a name?"""
    return 0 < len(text) <= NAME_LENGTH_MAX and _CONTROL.search(text) is None


def listed(what: str, found: Iterable[Mapping[str, Any]], http: HttpRequest) -> JSONResponse:
    """A page of what was found: `after=ID` goes on after that one, `limit=N` makes it shorter. Raises Refused."""
    rows, after, limit = list(found), http.query_params.get("after"), http.query_params.get("limit", str(LISTED_MAX))
    if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and int(limit) > 0):
        raise invalid("limit is a positive whole number")
    if after is not None:
        places = [place for place, row in enumerate(rows) if row["id"] == after]
        if not places:
            raise invalid("after names nothing that is in this list")
        rows = rows[places[0] + 1 :]
    size = min(int(limit), LISTED_MAX)
    return JSONResponse({what: rows[:size], "has_more": len(rows) > size})
