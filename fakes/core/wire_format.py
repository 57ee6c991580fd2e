"""How requests and replies look on a real wire: paths, headers and JSON, written and read.

    POST /{provider}/{action}   body {"target", "params"}              a change, or a question to the approval queue
    GET  /{provider}/lookup     query action, target, operation, for   an observation (`for` is lookup or verify)

The server's side (`face.py`) and a client's side share this page, so that neither can drift. Standard library only: a
worker that is started a thousand times must not pay for a web framework.
Never here: sockets, and what a request means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from harness.model.boundary import OBSERVING
from harness.model.wire import FoundRecord, Reply, Request

KEY = "idempotency-key"
NOT_AFTER = "x-not-after-ns"
"""The deadline: on the run's clock, like every other time a candidate sees."""
OPERATION = "x-operation"
FENCE = "x-fence"
APPROVAL = "x-approval"
CALL = "x-call"
"""A rig's own number of the call. A client that has none leaves it out."""
LOOKUP = "lookup"


class HttpRequest(NamedTuple):
    """A request ready to be written."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def write_request(request: Request, call: str) -> HttpRequest:
    """The request on the wire. `call` goes along for the rig; providers do not read it."""
    headers = {OPERATION: quote(request.operation), CALL: call, "accept": "application/json"}
    if request.purpose in OBSERVING:
        asked = {"action": request.action, "target": request.target, "for": request.purpose.value}
        return HttpRequest("GET", f"/{request.provider}/{LOOKUP}?{urlencode(asked)}", headers, b"")
    if request.key:
        headers[KEY] = quote(request.key)
    if request.not_after_ns:
        headers[NOT_AFTER] = str(request.not_after_ns)
    if request.fence:
        headers[FENCE] = str(request.fence)
    if request.approval:
        headers[APPROVAL] = quote(request.approval)
    headers["content-type"] = "application/json"
    body = json.dumps({"target": request.target, "params": dict(request.params)}).encode()
    return HttpRequest("POST", f"/{request.provider}/{quote(request.action)}", headers, body)


def write_reply(reply: Reply) -> dict[str, Any]:
    """A positive answer as JSON data."""
    return {
        "reference": reply.reference,
        "found": [record._asdict() for record in reply.found],
        "complete": reply.complete,
        "pending": reply.pending,
        "replayed": reply.replayed,
        "values": dict(reply.values),
    }


def read_reply(text: bytes) -> Reply:
    """The inverse of `write_reply`. Raises ValueError for anything else: half an answer is no answer."""
    data = _object(text)
    try:
        found = tuple(FoundRecord(**record) for record in data["found"])
        return Reply(data["reference"], found, data["complete"], data["pending"], data["replayed"], data["values"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a reply: {error}") from None


def read_code(text: bytes) -> str:
    """The error code of a refusal. Raises ValueError if there is none."""
    code = _object(text).get("code")
    if not isinstance(code, str) or not code:
        raise ValueError("not a refusal: it has no code")
    return code


def _object(text: bytes) -> Mapping[str, Any]:
    data = json.loads(text)  # its JSONDecodeError and UnicodeDecodeError are ValueErrors
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data
