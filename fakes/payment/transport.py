"""The unmodified `stripe` client in a simulation: its HTTP requests become calls that cross boundaries.

`SimulatedClient(handles, name)` is given to `stripe.StripeClient(..., http_client=...)`. What is replaced is the
`requests` session beneath the library's own client and its waiting: bodies, headers, retries and their classification
are the library's. It waits in virtual time, without jitter, and keys that the library makes up by chance are renamed in
the order in which they come, so that equal runs are equal. The library's keys have the form of a UUID and nothing else
tells them from a caller's: a caller gives its own keys another form.

A call that comes to nothing raises what `requests` raises: `timeout` ReadTimeout, `connection-reset`, `-closed` and
`-refused` ConnectionError, `truncated-response` ChunkedEncodingError. Which action a request is, its endpoint says;
operation and target are its metadata's, or those named by `about` (questions, and requests without metadata).
What this cannot show: connections that are kept and reused, and the byte at which a response is cut.
Never here: what the API answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import RemoteDisconnected
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import orjson
import requests
from requests.structures import CaseInsensitiveDict
from stripe import RequestsClient

from fakes.payment.api import OPERATION, TARGET, Answer
from fakes.payment.endpoints import Endpoint, find
from fakes.payment.forms import Malformed, Tree, decode
from fakes.payment.in_process import BODY, METHOD, PATH, QUERY, TYPE, Unsuccessful, answer_for
from harness.model.boundary import Purpose
from harness.model.errors import ProviderFailure
from harness.model.wire import Reply, Request

PROVIDER = "payment"
UNDOING: Mapping[str, str] = {
    "customer.delete": "customer.delete",
    "refund.create": "refund",
    "payment_intent.cancel": "authorization.cancel",
}
DOING: Mapping[str, str] = {"payment_intent.confirm": "charge", "payment_intent.capture": "capture"}
LOOKED_FOR: Mapping[str, str] = {
    "payment_intent": "charge",
    "charge": "charge",
    "refund": "refund",
    "customer": "customer.create",
}
"""Endpoint or kind of object -> the domain's action. A payment intent's creation is one if it confirms."""
_BY_CHANCE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


class Caller(Protocol):
    """Of a worker's handles, what a client needs."""

    def call(self, request: Request) -> Reply:
        """Call a provider. Raises ProviderFailure."""

    def sleep_ns(self, duration_ns: int) -> None:
        """Wait in virtual time."""


class SimulatedClient(RequestsClient):
    """The library's default client, on a session that leads into the simulation."""

    name = "requests"

    def __init__(self, handles: Caller, name: str = "client") -> None:
        """`name` tells this client's keys from those of others in the run: a worker's name and incarnation."""
        self.session = Session(handles, name)
        super().__init__(session=self.session)
        self._handles = handles

    @contextmanager
    def about(self, operation: str, target: str) -> Iterator[None]:
        """What the requests inside are about, as far as they cannot say it themselves."""
        before, self.session.about = self.session.about, (operation, target)
        try:
            yield
        finally:
            self.session.about = before

    def _add_jitter_time(self, sleep_seconds: float) -> float:
        return sleep_seconds

    def _sleep_time_seconds(self, num_retries: int) -> float:
        self._handles.sleep_ns(round(super()._sleep_time_seconds(num_retries) * 1e9))
        return 0.0


class Response:
    """What the library reads of a response."""

    def __init__(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.content = content
        self.headers: CaseInsensitiveDict[str] = CaseInsensitiveDict(headers)


class Session(requests.Session):
    """Stands where `requests` has its session."""

    def __init__(self, handles: Caller, name: str) -> None:
        super().__init__()
        self._handles = handles
        self._name = name
        self._keys: dict[str, str] = {}
        self.about = ("", "")

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """One HTTP request. Raises what `requests` raises."""
        given: Mapping[str, str] = {name.lower(): value for name, value in kwargs["headers"].items()}
        asked = self._asked(method.upper(), url, given, kwargs.get("data") or "")
        try:
            reply = self._handles.call(asked)
        except ProviderFailure as failure:
            answer = failure.answer if isinstance(failure, Unsuccessful) else _answer_to(failure)
            return Response(answer.status, answer.body, {"content-type": "application/json", **answer.headers})
        values = reply.values
        return Response(int(values["status"]), str(values["body"]).encode(), orjson.loads(str(values["headers"])))

    def _asked(self, method: str, url: str, headers: Mapping[str, str], body: str) -> Request:
        address = urlsplit(url)
        path = unquote(address.path)
        try:
            said = {**decode(address.query.encode()), **decode(body.encode())}
        except Malformed:
            said = {}  # it is sent as it is, and refused there
        matched = find(method, path)
        action, purpose = _action(matched[0], said) if matched else (f"{method} {path}", Purpose.EFFECT)
        operation, target = self._marker(headers, said)
        params: dict[str, str | int] = {METHOD: method, PATH: path, QUERY: address.query, BODY: body}
        params[TYPE] = headers.get("content-type", "")
        given = {name: value for name, value in params.items() if value != ""}
        return Request(PROVIDER, action, purpose, operation, target, given, self._key(headers))

    def _marker(self, headers: Mapping[str, str], said: Tree) -> tuple[str, str]:
        metadata = said.get("metadata")
        own = metadata if isinstance(metadata, dict) else {}
        operation = headers.get(OPERATION) or own.get("operation") or self.about[0]
        target = headers.get(TARGET) or own.get("target") or self.about[1] or said.get("customer") or ""
        return str(operation), str(target)

    def _key(self, headers: Mapping[str, str]) -> str:
        key = headers.get("idempotency-key", "")
        if not _BY_CHANCE.match(key):
            return key
        return self._keys.setdefault(key, f"auto-{self._name}-{len(self._keys) + 1}")


def _action(endpoint: Endpoint, said: Tree) -> tuple[str, Purpose]:
    """The domain's action that a request asks for, and why it is asked."""
    if endpoint.run is None:
        return LOOKED_FOR.get(endpoint.kind, endpoint.kind), Purpose.LOOKUP
    if endpoint.name in UNDOING:
        return UNDOING[endpoint.name], Purpose.UNDO
    if endpoint.name == "payment_intent.create" and said.get("confirm") == "true":
        return "authorize" if said.get("capture_method") == "manual" else "charge", Purpose.EFFECT
    return DOING.get(endpoint.name, endpoint.name), Purpose.EFFECT


def _answer_to(failure: ProviderFailure) -> Answer:
    """The answer that fits a code, where the answer itself is not known. Raises what `requests` raises without one."""
    match failure.code:
        case "timeout" | "deadline-passed":
            raise requests.ReadTimeout("Read timed out.")
        case "connection-reset":
            raise requests.ConnectionError("Connection aborted.", ConnectionResetError(104, "Connection reset by peer"))
        case "connection-closed":
            raise requests.ConnectionError("Connection aborted.", RemoteDisconnected("closed without response"))
        case "connection-refused":
            raise requests.ConnectionError("Connection refused.", ConnectionRefusedError(111, "Connection refused"))
        case "truncated-response":
            raise requests.exceptions.ChunkedEncodingError("Connection broken: IncompleteRead")
        case code:
            return answer_for(code)
