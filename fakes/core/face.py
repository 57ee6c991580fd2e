"""The generic HTTP face of the fakes: the same domains, behind a real socket.

Here: an ASGI application that turns HTTP into `Request`, asks the domain's `handle`, and writes its answer down. A
request has arrived when its last byte has: whoever holds it then (a rig's hook) holds something that was truly on the
wire.
Never here: a provider's rule, a server, a fault.

The domain is called in the event loop itself and may be held there by a hook. That is meant: one request at a time, so
that check and commit stay one step and a run has one order.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, StrictInt, StrictStr, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from fakes.core import wire_format as wire
from fakes.core.endpoint import At, Endpoint
from fakes.core.kernel import Provider
from harness.model.boundary import OBSERVING, Purpose
from harness.model.errors import ERRORS, ProviderFailure
from harness.model.wire import Reply, Request

INDEFINITE_STATUS = 500
"""For a code that is not in the table of errors."""


class Passage(NamedTuple):
    """What a rig says of a request that has arrived: which call it is, where in the workflow, and its boundaries."""

    call: str
    where: str
    at: At


class Hooks(Protocol):
    """The rig's hold on a provider."""

    def passing(self, request: Request, call: str) -> AbstractContextManager[Passage]:
        """Entered when the request has arrived, left when the domain has answered. `call` is "" if there is no number.

        Raises ProviderFailure for a request that does not belong to the present run.
        """


class Body(BaseModel):
    """What a changing request says."""

    model_config = ConfigDict(extra="forbid")

    target: StrictStr
    params: dict[str, StrictStr | StrictInt] = {}


def app(desks: Mapping[str, Endpoint], hooks: Hooks) -> Starlette:
    """The application. `desks` is looked at for every request, so that a rig may put fresh ones in."""

    async def answer(http: HttpRequest) -> JSONResponse:
        body = await http.body()
        desk = desks.get(http.path_params["provider"])
        try:
            if desk is None:
                raise ProviderFailure("not-found", f"there is no provider {http.path_params['provider']!r}")
            request = _read(http, desk, body)
            with hooks.passing(request, http.headers.get(wire.CALL, "")) as passage:
                return _accepted(desk.handle(passage.call, passage.where, request, passage.at))
        except ProviderFailure as refusal:
            return _refused(refusal)

    routes = [
        Route("/{provider}/lookup", answer, methods=["GET"]),
        Route("/{provider}/{action}", answer, methods=["POST"]),
    ]
    return Starlette(routes=routes)


def _read(http: HttpRequest, desk: Endpoint, body: bytes) -> Request:
    """The request as a value. Raises ProviderFailure `invalid`."""
    if http.method == "GET":
        return _observation(http, desk)
    headers = http.headers
    try:
        said = Body.model_validate_json(body)
        not_after_ns, fence = int(headers.get(wire.NOT_AFTER, "0")), int(headers.get(wire.FENCE, "0"))
    except (ValidationError, ValueError) as error:
        raise ProviderFailure("invalid", str(error)) from None
    action = http.path_params["action"]
    return Request(
        desk.name,
        action,
        _purpose(desk, action),
        unquote(headers.get(wire.OPERATION, "")),
        said.target,
        said.params,
        unquote(headers.get(wire.KEY, "")),
        not_after_ns,
        fence,
        unquote(headers.get(wire.APPROVAL, "")),
    )


def _observation(http: HttpRequest, desk: Endpoint) -> Request:
    asked = http.query_params
    purpose = asked.get("for", Purpose.LOOKUP.value)
    if purpose not in OBSERVING or "action" not in asked or "target" not in asked:
        raise ProviderFailure("invalid", "a look-up says action, target, and for=lookup or for=verify")
    operation = unquote(http.headers.get(wire.OPERATION, ""))
    return Request(desk.name, asked["action"], Purpose(purpose), operation, asked["target"])


def _purpose(desk: Endpoint, action: str) -> Purpose:
    """Why this is asked, which a client does not say: it follows from what the provider does."""
    if not isinstance(desk, Provider):
        return Purpose.APPROVE
    spec = desk.actions.get(action)
    return Purpose.UNDO if spec is not None and spec.undoes is not None else Purpose.EFFECT


def _accepted(reply: Reply) -> JSONResponse:
    return JSONResponse(wire.write_reply(reply), status_code=202 if reply.pending else 200)


def _refused(refusal: ProviderFailure) -> JSONResponse:
    spec = ERRORS.get(refusal.code)
    said: dict[str, Any] = {"code": refusal.code, "message": str(refusal)}
    return JSONResponse(said, status_code=spec.status if spec and spec.status else INDEFINITE_STATUS)
