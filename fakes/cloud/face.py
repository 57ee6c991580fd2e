"""The cloud, hosted: instances over the query protocol of EC2, hosted zones over the REST-XML of Route 53, on one port.

What becomes of an instance or a change is settled later (the SETTLE point: `boot`, `shutdown`, `insync`); what is not
settled when a fake is started again is expected again. Of the cell, `key` speaks of client tokens and caller references,
`lookup` of every Describe, Get and List (`absent`: the caller may not read).
Never here: what an action does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from fakes.cloud.account import Account
from fakes.cloud.ec2 import Ec2
from fakes.cloud.instances import Instances
from fakes.cloud.names import Key
from fakes.cloud.options import CloudOptions
from fakes.cloud.route53 import Route53
from fakes.cloud.seat import Seat, path_of
from fakes.cloud.words import ZONES_PREFIX, refusal_of, status_refusal, worded
from fakes.cloud.zones import Body, Zones
from fakes.wire.desk import Desk
from fakes.wire.fake import Options, Place
from fakes.wire.http import HttpFake, Refusal, call_of
from fakes.wire.journal_file import Document
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.errors import ProviderFailure

MS_NS = 1_000_000
RIVAL_VALUES: Mapping[str, str] = {
    "A": "198.51.100.1",
    "AAAA": "2001:db8::1",
    "CNAME": "outside.example.",
    "TXT": '"outside"',
}
"""What somebody else puts there, by type."""
_Handler = Callable[[HttpRequest, bytes], Awaitable[Response]]


class CloudFake(HttpFake):
    """The cloud, hosted."""

    name: ClassVar[str] = "cloud"
    title: ClassVar[str] = "Cloud: instances (EC2 query protocol) and hosted zones (Route 53, REST-XML)"
    options_class: ClassVar[type[Options]] = CloudOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "terminate": "Somebody else terminates the newest instance of this target.",
        "put-record": "Somebody else puts the record sets of the batch there, with other values.",
        "remove-record": "Somebody else removes the record sets of the batch.",
    }
    options: CloudOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        shelf, now = Shelf(), desk.clock.now_ns
        self.account = Account(options.provider_cell, now=now, record=desk.record, later=desk.later)
        self.instances = Instances(self.account, shelf, now)
        self.zones = Zones(self.account, shelf, now)
        self._loads = 0
        self.state = _CloudState(self.account, shelf, self._expect_all)
        self._seat = Seat(desk, self.account, self.options)
        self._ec2 = Ec2(self._seat, self.instances, self.options.region, self._expect_instance)
        self._route53 = Route53(self._seat, self.zones, self._expect_change)

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url, options = places[self.port].url, self.options
        env = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": options.access_key_id,
            "AWS_SECRET_ACCESS_KEY": options.secret_access_key,
            "AWS_DEFAULT_REGION": options.region,
        }
        keys = {"access_key_id": options.access_key_id, "secret_access_key": options.secret_access_key}
        return {"url": url, "region": options.region, **keys, "env": env}

    def view(self) -> Any:
        now_ns = self.desk.clock.now_ns()
        zones = []
        for zone in self.zones.zones(now_ns):
            records = [
                {"name": key.name, "type": key.type, "set": key.set, "ttl": body.ttl, "values": list(body.values)}
                for key, body in self.zones.records(zone.id, now_ns)
            ]
            zones.append({**zone._asdict(), "records": records})
        instances = [{**each._asdict(), "tags": dict(each.tags)} for each in self.instances.at(now_ns)]
        return {"instances": instances, "zones": zones, "changes_pending": self.zones.pending()}

    def application(self) -> Starlette:
        zones, at = self._route53, ZONES_PREFIX
        routes: tuple[tuple[str, str, _Handler], ...] = (
            ("GET", "/", self._ec2.answer),
            ("POST", "/", self._ec2.answer),
            ("POST", f"{at}hostedzone", zones.create_zone),
            ("GET", f"{at}hostedzone", zones.list_zones),
            ("GET", f"{at}hostedzonesbyname", zones.list_zones_by_name),
            ("GET", f"{at}hostedzone/{{id}}", zones.get_zone),
            ("DELETE", f"{at}hostedzone/{{id}}", zones.delete_zone),
            ("POST", f"{at}hostedzone/{{id}}/rrset", zones.change_records),
            ("POST", f"{at}hostedzone/{{id}}/rrset/", zones.change_records),
            ("GET", f"{at}hostedzone/{{id}}/rrset", zones.list_records),
            ("GET", f"{at}change/{{id}}", zones.get_change),
        )
        application = Starlette(
            routes=[Route(path, self._admitting(handler), methods=[method]) for method, path, handler in routes],
            exception_handlers={HTTPException: self._nowhere},
        )
        application.router.redirect_slashes = False
        return application

    def _admitting(self, handler: _Handler) -> Callable[[HttpRequest], Awaitable[Response]]:
        async def answer(http: HttpRequest) -> Response:
            body = await http.body()
            self._seat.admit(http, body)
            return await handler(http, body)

        return answer

    async def _nowhere(self, http: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path, call = http.scope["path"], call_of(http)
        refusal = worded(status_refusal(error.status_code, path), path, call.number)
        return Response(refusal.body, error.status_code, {**refusal.headers, **(error.headers or {})})

    def refusal(self, code: int, call: Any) -> Refusal:
        return worded(status_refusal(code, path_of(call)), path_of(call), call.number)

    def failure(self, failed: ProviderFailure, call: Any) -> tuple[int, Refusal]:
        refused = refusal_of(failed, path_of(call))
        return refused.status, worded(refused, path_of(call), call.number)

    # What becomes of things.

    def _expect_all(self) -> None:
        self._loads += 1
        for id_ in self.instances.ids():
            self._expect_instance(id_)
        for id_ in self.zones.pending():
            self._expect_change(id_)

    def _expect_instance(self, id_: str) -> None:
        wanted = self.instances.next_state(id_)
        if not wanted:
            return
        target, operation = self.instances.about(id_)
        is_boot = wanted == "running"
        takes_ms = self.options.boot_ms if is_boot else self.options.shutdown_ms
        facts = Facts(what="boot" if is_boot else "shutdown", target=target, operation=operation)
        self._expect(
            self.instances.since_ns(id_) + takes_ms * MS_NS,
            facts,
            lambda: self.instances.next_state(id_) == wanted,
            lambda is_done: self.instances.settle(id_, is_done),
        )

    def _expect_change(self, id_: str) -> None:
        self._expect(
            self.zones.change(id_)["submitted_ns"] + self.options.insync_ms * MS_NS,
            Facts(what="insync", target=id_),
            lambda: self.zones.is_pending(id_),
            lambda is_done: self.zones.settle(id_, is_done),
        )

    def _expect(self, due_ns: int, facts: Facts, is_open: Callable[[], bool], settle: Callable[[bool], None]) -> None:
        """Settle it when it is due, if it is still open then, and no restore has made this timer one of a past."""
        loads = self._loads

        def settling(is_done: bool) -> None:
            if loads == self._loads and is_open():
                settle(is_done)
                if not is_done:
                    self.desk.note("settle-failed", "", {"what": facts.what, "target": facts.target})

        def due() -> None:
            if loads == self._loads and is_open():
                self.desk.settle_later(0, facts, settling)

        self.desk.clock.later(due_ns - self.desk.clock.now_ns(), due)

    # Others.

    def compete(self, what: str, facts: Facts) -> None:
        match what:
            case "terminate":
                self._terminate_from_outside(facts)
            case "put-record":
                for key in self._keys_of(facts):
                    self.zones.put_from_outside(key, Body(60, (self._rival_value(key),)))
            case "remove-record":
                for key in self._keys_of(facts):
                    self.zones.remove_from_outside(key)
            case _:
                super().compete(what, facts)

    def _terminate_from_outside(self, facts: Facts) -> None:
        running = [id_ for id_ in self.instances.ids() if self.instances.next_state(id_) != "terminated"]
        found = [id_ for id_ in running if facts.target in (id_, self.instances.about(id_)[0])]
        if not found:
            raise LookupError(f"no instance of target {facts.target!r} is there to terminate")
        self.instances.end_from_outside(found[-1])
        self._expect_instance(found[-1])

    def _keys_of(self, facts: Facts) -> list[Key]:
        batch = self._route53.batches.get(facts.call)
        if batch is None:
            raise LookupError("the held request changes no record sets")
        return list(dict.fromkeys(wanted.key for wanted in batch))

    def _rival_value(self, key: Key) -> str:
        if key.type not in RIVAL_VALUES:
            raise LookupError(f"somebody else has no value for a record set of type {key.type}")
        return RIVAL_VALUES[key.type]


class _CloudState(ProviderState):
    """Rows and shelf; what is open is expected again after they were loaded."""

    def __init__(self, account: Account, shelf: Shelf, expect_all: Callable[[], None]) -> None:
        super().__init__(account, shelf)
        self._expect_all = expect_all

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        super().load(documents)
        self._expect_all()
