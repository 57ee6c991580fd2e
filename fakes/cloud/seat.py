"""What both protocols of the cloud share: who asks, and which moment's world a look-up sees.

Never here: an action.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from fakes.cloud.account import Account
from fakes.cloud.options import CloudOptions
from fakes.cloud.sigv4 import NotSigned, Signed, verify
from fakes.cloud.words import may_not_read, request_id, unsigned
from fakes.wire.desk import Call, Desk
from harness.model.cell import READ_LAG_NS, Key, Lookup

XML = "text/xml;charset=UTF-8"


class Seat:
    """One account at a desk."""

    def __init__(self, desk: Desk, account: Account, options: CloudOptions) -> None:
        self.desk = desk
        self.account = account
        self._options = options
        self._secrets = {options.access_key_id: options.secret_access_key}

    def admit(self, http: HttpRequest, body: bytes) -> None:
        """Raises ProviderFailure for somebody who is not known."""
        if not self._options.are_signatures_checked:
            return
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in http.headers.raw]
        path = http.scope["raw_path"].decode("latin-1").partition("?")[0]
        try:
            verify(Signed(http.method, path, query_of(http), headers, body), self._secrets)
        except NotSigned as error:
            raise unsigned(error.why, http.scope["path"]) from None

    def claimed(self, key: str) -> str:
        """The key under which a request is on its way: none where keys are ignored."""
        return "" if self.account.cell.key is Key.IGNORED else key

    async def moment(self, call: Call, what: str, target: str = "") -> int:
        """Cross a look-up's points; the moment whose world it sees. Raises ProviderFailure where there are none."""
        stale_ns = await self.desk.read(call.about(what=what, target=target))
        lookup = self.account.cell.lookup
        if lookup is Lookup.ABSENT:
            raise may_not_read(path_of(call))
        return self.desk.clock.now_ns() - max(stale_ns, READ_LAG_NS if lookup is Lookup.EVENTUAL else 0)


def query_of(http: HttpRequest) -> str:
    """The query as it was on the wire, whatever its bytes are."""
    return str(http.scope["query_string"].decode("latin-1"))


def path_of(call: Call) -> str:
    """The path of an arrival."""
    return call.facts.line.partition(" ")[2]


def answered(call: Call, body: Callable[[str], bytes], status: int = 200, location: str = "") -> Response:
    """An answer with its request id."""
    id_ = request_id(call.number)
    headers = {"x-amzn-requestid": id_} | ({"location": location} if location else {})
    return Response(body(id_), status, headers, XML)
