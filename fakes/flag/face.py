"""Feature flags over HTTP, in JSON.

    PUT  /flags/{name}              {"value": true}; 201 for a new flag, 200 otherwise
    POST /flags/{name}/restore      {"reference"?}: undo that set, or the newest; the flag as it is then
    GET  /flags, /flags/{name}      value, version, who set it
    GET  /evaluate/{name}           {"value", "version"}: what a program gets, later than it was set by the propagation
    GET  /audit?flag=&operation=    what was done

A flag comes with `ETag: "VERSION"`. PUT and restore take `If-Match: "VERSION"` (or `*`: any), PUT also `If-None-Match: *`
(there must be none): 412 `version-changed` otherwise, with the version there is. Values are booleans, whole numbers and
strings.
Target of an effect: the flag's name. Its operation: the header `X-Operation`, or "". The cell's `lookup` speaks of
/flags and /audit; /evaluate is there in every cell.
Never here: the rule, which is in `domain.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.core.kernel import OUTSIDE
from fakes.flag.book import FlagBook, FlagValue, text_of
from fakes.wire.desk import Desk
from fakes.wire.fake import Options, Place
from fakes.wire.http import call_of
from fakes.wire.json_api import Body, Refused, invalid, json_application, missing, read_body
from fakes.wire.plain_json import Done, Nothing, PlainFake, is_name, listed, name_in
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState
from harness.model.boundary import Purpose
from harness.model.cell import READ_LAG_NS, Lookup
from harness.model.errors import UsageError
from harness.model.wire import Request

NUMBER_MAX = 2**53 - 1
TEXT_LENGTH_MAX = 10_000
PROPAGATION_MAX_MS = 10**9
RIVAL_VALUE = "outside"
_ETAG = re.compile(r'"(\d{1,15})"', re.ASCII)

Number = Annotated[int, Field(ge=-NUMBER_MAX, le=NUMBER_MAX)]
Text = Annotated[str, Field(max_length=TEXT_LENGTH_MAX)]


class FlagOptions(Options):
    """What can be configured."""

    flags: Mapping[str, bool | int | str] = {}
    """Flags that are there from the beginning, with their values."""
    propagation_ms: int | None = Field(None, ge=0, le=PROPAGATION_MAX_MS)
    """How much later an evaluation sees a change; unless said: two seconds where look-ups are eventual, else at once."""
    must_match: bool = False
    """A change that says no version is refused with 428."""

    @property
    def propagation_ns(self) -> int:
        """How much later an evaluation sees a change."""
        if self.propagation_ms is not None:
            return self.propagation_ms * 1_000_000
        return READ_LAG_NS if self.provider_cell.lookup is Lookup.EVENTUAL else 0


class SetBody(Body):
    """PUT /flags/{name}."""

    value: bool | Number | Text


class RestoreBody(Nothing):
    """POST /flags/{name}/restore."""

    reference: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class FlagFake(PlainFake):
    """The feature flag service, hosted."""

    name: ClassVar[str] = "flag"
    title: ClassVar[str] = "Feature flags: values with versions, JSON over HTTP"
    options_class: ClassVar[type[Options]] = FlagOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "set": f"Somebody else sets the flag: a boolean to its opposite, anything else to {RIVAL_VALUE!r}.",
        "restore": "Somebody else undoes the newest set of the flag.",
    }
    options: FlagOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        opening = self.options.flags
        if wrong := [name for name in opening if not is_name(name)]:
            raise UsageError(
                f"{wrong[0]!r} cannot be the name of a flag.", where="option flags", next_step="Rename it."
            )
        lent = {"now": desk.clock.now_ns, "record": desk.record, "later": desk.later}
        self.domain = self.flags = FlagBook(options.provider_cell, opening, **lent)
        self.state = ProviderState(self.flags)

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url = places[self.port].url
        return {"url": url, "env": {"FLAG_API_BASE": url}}

    def view(self) -> Any:
        audit = list(self.flags.audit(self.desk.clock.now_ns()))
        return {"flags": [flag.as_data() for flag in self.flags.flags()], "audit": audit}

    def application(self) -> Starlette:
        return json_application(
            [
                Route("/flags", self._list, methods=["GET"]),
                Route("/flags/{flag}", self._get, methods=["GET"]),
                Route("/flags/{flag}", self._put, methods=["PUT"]),
                Route("/flags/{flag}/restore", self._restore, methods=["POST"]),
                Route("/evaluate/{flag}", self._evaluate, methods=["GET"]),
                Route("/audit", self._audit, methods=["GET"]),
            ]
        )

    # Changes.

    async def _put(self, http: HttpRequest) -> JSONResponse:
        name, said = name_in(http, "flag"), await read_body(SetBody, http)
        params = {"value": text_of(said.value), **self._conditions(http)}

        def word(done: Done) -> JSONResponse:
            is_first = done.is_new and self.flags.version(name) == 1
            return self._worded(name, done, 201 if is_first else 200)

        return await self.change(http, "flag.set", name, params, word)

    async def _restore(self, http: HttpRequest) -> JSONResponse:
        name = name_in(http, "flag")
        said = await read_body(RestoreBody, http) if await http.body() else RestoreBody()
        params = self._conditions(http)
        if said.reference is not None:
            params["reference"] = said.reference

        return await self.change(http, "flag.restore", name, params, lambda done: self._worded(name, done, 200))

    def _worded(self, name: str, done: Done, status: int) -> JSONResponse:
        """The flag as it is now, and the reference of what was done. The value is null where there is none any more."""
        flag, version = self.flags.flag(name), self.flags.version(name)
        said = flag.as_data() if flag is not None else {"name": name, "value": None, "version": version}
        return JSONResponse({**said, "reference": done.reply.reference}, status, _etag(version))

    def _conditions(self, http: HttpRequest) -> dict[str, str | int]:
        """What the headers of a change want. Raises Refused."""
        match, none_match = http.headers.get("if-match"), http.headers.get("if-none-match")
        if match is None and none_match is None:
            if self.options.must_match:
                raise Refused(428, "precondition-required", "say If-Match or If-None-Match")
            return {}
        if match is None and (none_match or "").strip() == "*":
            return {"if_version": 0}
        if none_match is None and (match or "").strip() == "*":
            return {"if_there": 1}
        found = _ETAG.fullmatch((match or "").strip())
        if found is None or none_match is not None:
            raise invalid('a change wants If-Match: "VERSION", If-Match: *, or If-None-Match: *')
        return {"if_version": int(found[1])}

    # Looks.

    async def _get(self, http: HttpRequest) -> JSONResponse:
        name = name_in(http, "flag")
        found = self.flags.flag(name, await self.moment(http, "flag", name))
        if found is None:
            raise missing("flag", name)
        return JSONResponse(found.as_data(), headers=_etag(found.version))

    async def _list(self, http: HttpRequest) -> JSONResponse:
        at_ns = await self.moment(http, "flags")
        return listed("flags", ({"id": flag.name, **flag.as_data()} for flag in self.flags.flags(at_ns)), http)

    async def _audit(self, http: HttpRequest) -> JSONResponse:
        flag, operation = http.query_params.get("flag"), http.query_params.get("operation")
        at_ns = await self.moment(http, "audit", flag or "")
        done = self.flags.audit(at_ns)
        found = [each for each in done if flag in (None, each["flag"]) and operation in (None, each["operation"])]
        return listed("entries", found, http)

    async def _evaluate(self, http: HttpRequest) -> JSONResponse:
        name = name_in(http, "flag")
        stale_ns = await self.desk.read(call_of(http).about(what="evaluate", target=name))
        at_ns = self.desk.clock.now_ns() - max(stale_ns, self.options.propagation_ns)
        found = self.flags.flag(name, at_ns)
        if found is None:
            return JSONResponse({"name": name, "value": None, "version": 0})
        return JSONResponse({"name": name, "value": found.value, "version": found.version})

    def compete(self, what: str, facts: Facts) -> None:
        match what:
            case "set":
                params: dict[str, str | int] = {"value": text_of(self._rival_value(facts.target))}
                self.flags.do("", Request(self.name, "flag.set", Purpose.EFFECT, OUTSIDE, facts.target, params))
            case "restore":
                wanted = Request(self.name, "flag.restore", Purpose.UNDO, OUTSIDE, facts.target)
                if not self.flags.external_undo(wanted):
                    raise LookupError(f"no set of flag {facts.target!r} can be restored")
            case _:
                super().compete(what, facts)

    def _rival_value(self, name: str) -> FlagValue:
        found = self.flags.flag(name)
        return not found.value if found is not None and isinstance(found.value, bool) else RIVAL_VALUE


def _etag(version: int) -> dict[str, str]:
    return {"etag": f'"{version}"'}
