"""A worker's HTTP client: one kept connection to each provider, and no re-sending of its own.

Here: what a caller sees of a call, as an error code of the published table. What was seen says nothing about what
happened.

    nothing connected                             connection-refused    definite: nothing was sent
    its own time-out                              timeout
    end of the connection before an answer        connection-closed
    reset, broken pipe                            connection-reset
    an answer that breaks off or is not one       truncated-response
    an answer with another status than 2xx        its code

Standard library only. Never here: retries, boundaries, deadlines.
"""

from __future__ import annotations

import http.client
import select
from collections.abc import Mapping

from fakes.core import wire_format as wire
from harness.model.errors import ProviderFailure
from harness.model.wire import Reply, Request

Address = tuple[str, int]


class ProviderClient:
    """Calls providers at their addresses, one call at a time."""

    def __init__(self, addresses: Mapping[str, Address]) -> None:
        self._addresses = addresses
        self._connections: dict[str, http.client.HTTPConnection] = {}

    def call(self, request: Request, number: str, timeout_s: float) -> Reply:
        """Send once and wait for the answer. Raises ProviderFailure for anything but a whole 2xx answer."""
        try:
            connection = self._connected(request.provider, timeout_s)
            status, text = _exchange(connection, wire.write_request(request, number))
        except ProviderFailure:
            self._drop(request.provider)
            raise
        return _read(status, text)

    def close(self) -> None:
        for provider in list(self._connections):
            self._drop(provider)

    def _connected(self, provider: str, timeout_s: float) -> http.client.HTTPConnection:
        """The kept connection, if it still stands, or a new one. Raises ProviderFailure `connection-refused`."""
        kept = self._connections.get(provider)
        if kept is not None and kept.sock is not None and not _has_ended(kept):
            kept.sock.settimeout(timeout_s)
            return kept
        self._drop(provider)
        made = http.client.HTTPConnection(*self._addresses[provider], timeout=timeout_s)
        try:
            made.connect()
        except OSError as error:  # whatever it was: there is no connection, so nothing was sent
            made.close()
            raise ProviderFailure("connection-refused", str(error)) from None
        self._connections[provider] = made
        return made

    def _drop(self, provider: str) -> None:
        connection = self._connections.pop(provider, None)
        if connection is not None:
            connection.close()


def _has_ended(connection: http.client.HTTPConnection) -> bool:
    """Has the other side ended an idle connection? Then it can be read from, though nothing was asked."""
    return bool(select.select([connection.sock], [], [], 0)[0])


def _exchange(connection: http.client.HTTPConnection, message: wire.HttpRequest) -> tuple[int, bytes]:
    """Write the request, read the answer. The order of the clauses matters: some classes are subclasses of others."""
    try:
        connection.request(message.method, message.path, message.body or None, message.headers)
        answer = connection.getresponse()
        text = answer.read()
    except TimeoutError:
        raise ProviderFailure("timeout") from None
    except http.client.RemoteDisconnected:
        raise ProviderFailure("connection-closed") from None
    except http.client.HTTPException as error:
        raise ProviderFailure("truncated-response", str(error)) from None
    except OSError as error:
        raise ProviderFailure("connection-reset", str(error)) from None
    if answer.getheader("content-length") is None:
        # Cut inside the headers: the standard library then reports an empty body and no error.
        raise ProviderFailure("truncated-response", "the headers are incomplete")
    return answer.status, text


def _read(status: int, text: bytes) -> Reply:
    try:
        if 200 <= status < 300:
            return wire.read_reply(text)
        code = wire.read_code(text)
    except ValueError as error:
        raise ProviderFailure("truncated-response", str(error)) from None
    raise ProviderFailure(code)
