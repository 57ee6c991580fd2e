"""What the JSON interfaces of our own making have in common: reading bodies, wording refusals, the headers of a change.

    {"error": {"code": "quantity-changed", "message": "...", more fields of this refusal}}

A code is one of the table of errors, or the interface's own. A change may carry `Idempotency-Key`, `X-Operation` (the
logical operation it belongs to, percent-encoded) and `X-Not-After-Ns` (it must not be applied after this moment).
Never here: the rule of a provider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute

from fakes.core import wire_format as wire
from fakes.core.endpoint import Arrival
from fakes.core.kernel import Provider
from fakes.core.rows import frozen
from fakes.wire.desk import Call, no_fault
from fakes.wire.http import HttpFake, Refusal, json_refusal
from harness.model.errors import ERRORS, ProviderFailure
from harness.model.wire import Reply, Request

KEY_LENGTH_MAX = 255
HINT_LENGTH_MAX = 200
HTTP_WORDS: Mapping[int, str] = {
    400: "invalid",
    401: "unauthorized",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    429: "rate-limited",
    431: "too-large",
    500: "internal-error",
    503: "unavailable",
}

M = TypeVar("M", bound="Body")


class Body(BaseModel):
    """What a request says: nothing but what is known, and no type in the guise of another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Refused(ProviderFailure):
    """A refusal of an interface's own: its status, its code, and facts a program can go by."""

    def __init__(self, status: int, code: str, message: str, **facts: Any) -> None:
        super().__init__(code, message)
        self.status = status
        self.facts = facts


class Change(NamedTuple):
    """What the headers of a change say."""

    operation: str
    key: str
    not_after_ns: int


def change_of(request: HttpRequest) -> Change:
    """Read them. Raises Refused for what cannot be one."""
    headers = request.headers
    key, operation = unquote(headers.get(wire.KEY, "")), unquote(headers.get(wire.OPERATION, ""))
    deadline = headers.get(wire.NOT_AFTER, "0")
    if len(key) > KEY_LENGTH_MAX or len(operation) > KEY_LENGTH_MAX:
        raise invalid(f"Idempotency-Key and X-Operation have at most {KEY_LENGTH_MAX} characters")
    if not (deadline.isascii() and deadline.isdigit() and len(deadline) <= 20):
        raise invalid("X-Not-After-Ns is a whole number of nanoseconds since 1970")
    return Change(operation, key, int(deadline))


async def read_body(model: type[M], request: HttpRequest) -> M:
    """The body as a value. Raises Refused saying which fields are wrong, without repeating what they contain."""
    body = await request.body()
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors(include_input=False)]
        raise invalid("; ".join(wrong)) from None


def invalid(message: str) -> Refused:
    """What was asked cannot be understood."""
    return Refused(400, "invalid", message[: 2 * HINT_LENGTH_MAX])


def missing(what: str, id_: str) -> Refused:
    """There is none of this id."""
    return Refused(404, "not-found", f"there is no {what} {id_[:HINT_LENGTH_MAX]!r}")


def answer_to(failed: ProviderFailure) -> tuple[int, dict[str, Any]]:
    """Status and body of a refusal."""
    if isinstance(failed, Refused):
        return failed.status, {"error": {"code": failed.code, "message": str(failed), **failed.facts}}
    spec = ERRORS.get(failed.code)
    message = str(failed) if str(failed) != failed.code or spec is None else spec.statement
    return spec.status if spec and spec.status else 500, {"error": {"code": failed.code, "message": message}}


class JsonFake(HttpFake):
    """A fake whose interface is of this kind."""

    def refusal(self, code: int, call: Call) -> Refusal:
        word = HTTP_WORDS.get(code, "error")
        return json_refusal({"error": {"code": word, "message": f"the service answers {code}"}})

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        status, data = answer_to(failed)
        return status, json_refusal(data)


def json_application(routes: Sequence[BaseRoute]) -> Starlette:
    """An application whose own refusals (no such path, no such method) are worded alike."""

    async def refuse(request: HttpRequest, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        word = HTTP_WORDS.get(error.status_code, "error")
        said = {"error": {"code": word, "message": f"{request.method} leads nowhere here: {error.detail}"}}
        return JSONResponse(said, error.status_code, dict(error.headers or {}))

    application = Starlette(routes=routes, exception_handlers={HTTPException: refuse})
    application.router.redirect_slashes = False  # its redirect cannot repeat a query that is not UTF-8
    return application


class OnWire(Provider):
    """For a domain that is asked over its protocol: one delivered change, without the frame that a simulation needs."""

    __slots__ = ()

    def do(self, call: str, request: Request) -> Reply:
        """Treat one change as the kernel does. Arrivals and responses are the desk's to record."""
        return self._change(Arrival(call, "", request, 1), no_fault)

    def would_refuse(self, request: Request) -> ProviderFailure | None:
        """The refusal that the rule has for this change now, or None. Changes nothing."""
        spec = self.actions[request.action]
        if spec.undoes is not None:
            is_possible = self._standing_to_undo(request) is not None
            return None if is_possible else self._nothing_to_undo(request, spec.undoes)
        try:
            self._make(request, spec.again)
        except ProviderFailure as failed:
            return failed
        return None

    def has_answer_to(self, request: Request) -> bool:
        """Would this request get a kept answer?"""
        use = self._keys.use_of(request.key, self._now())
        return use is not None and use.fingerprint == (request.action, request.target, frozen(request))


def utc(moment_ns: int) -> str:
    """A moment for people, to the second."""
    return datetime.fromtimestamp(moment_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
