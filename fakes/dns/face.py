"""The DNS fake: a primary that takes updates (RFC 2136, TSIG), a secondary and a resolver, over TCP and UDP.

Target of an effect: the name, in lower case without the last dot. Its operation: the marker in the same message (TXT
`op=ID` at `_op.NAME`, or at NAME; `markers.py`), or "". DNS has no idempotency keys, so `key` of the cell says nothing here;
`lookup` speaks of the views (`views.py`); in a `late` cell the time of signatures is not checked, so that a request can be
applied at any later time.

Updates must be signed, and only the primary takes them: unsigned ones, and those to the secondary, are REFUSED; a resolver
does not know the operation (NOTIMP). Transfers need no key. Hook statuses become rcodes (`wording.py`).
A hook at BEFORE_COMMIT is before the prerequisites too: nothing comes between them and the change.
An event is a NOTIFY to the secondary, some time after a change: one that is lost is made good by the next, or by the
refresh of the SOA.
Never here: bytes, and the rules of a zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from dns.name import Name
from dns.rcode import Rcode
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType

from fakes.dns.answers import REFUSED, Answer, Found
from fakes.dns.book import ADD, REMOVE, VERSION, Book, Cause, Version
from fakes.dns.channel import Datagrams, Handle, Streams, Way
from fakes.dns.competition import COMPETITORS, competing_changes
from fakes.dns.exchange import Exchange, Said, Visit
from fakes.dns.markers import Markers, markers_of
from fakes.dns.messages import Incoming
from fakes.dns.options import DnsOptions
from fakes.dns.records import IN, Asked, marker_of, name_of, text_of, type_text, value_of
from fakes.dns.signatures import ALGORITHM_TEXT
from fakes.dns.views import PRIMARY, RESOLVER, SECONDARY, Views
from fakes.dns.wording import Outgoing, answered, render_transfer
from fakes.dns.zone import SOA, RRset, check_prerequisites, is_newer, plan_update, prescan, soa_data
from fakes.wire.desk import Desk
from fakes.wire.fake import Fake, Options, Place, Port, Sockets
from fakes.wire.journal_file import Document
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf
from harness.model.cell import SECOND_NS, Late

VIEWS = (PRIMARY, SECONDARY, RESOLVER)
MILLISECOND_NS = 1_000_000
_ALL_OF_A_KIND = frozenset({RdataType.MAILA, RdataType.MAILB})
_NEVER_ASKED = frozenset({RdataType.TSIG, RdataType.OPT, RdataType.TKEY})


class DnsFake(Fake):
    """One zone, three views of it."""

    name = "dns"
    title = "DNS zone with dynamic updates (RFC 2136, TSIG) over TCP and UDP; secondary and resolver"
    ports: ClassVar = tuple(Port(view, "both") for view in VIEWS)
    options_class: ClassVar[type[Options]] = DnsOptions
    competitors: ClassVar[Mapping[str, str]] = COMPETITORS

    def __init__(self, desk: Desk, options: Options) -> None:
        assert isinstance(options, DnsOptions), f"these options are not the DNS fake's: {options!r}"
        super().__init__(desk, options)
        self._said = options
        shelf, now = Shelf(), desk.clock.now_ns
        cell = options.provider_cell
        self.book = Book(cell, options.beginning(), shelf, now=now, record=desk.record, later=desk.later)
        self.views = Views(self.book, shelf, cell.lookup, now)
        self.server = Server(desk, self.book, self.views, options)
        self.state = _State(self)
        self._open: list[Streams | Datagrams] = []

    async def serve(self, sockets: Mapping[str, Sockets]) -> None:
        for view in VIEWS:
            streams = Streams(self.desk, self._handler(view), idle_max_s=self._said.idle_max_s)
            datagrams = Datagrams(self.desk, self._handler(view))
            await streams.serve(sockets[view]["tcp"])
            await datagrams.serve(sockets[view]["udp"])
            self._open += [streams, datagrams]

    async def close(self) -> None:
        for each in self._open:
            each.close()

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        host, port = places[PRIMARY]
        key, secret = self._said.key_name, self._said.secret.get_secret_value()
        return {
            "host": host,
            "port": port,
            "zone": text_of(self.book.zone.origin),
            "tsig": {"name": key, "secret": secret, "algorithm": ALGORITHM_TEXT},
            **{view: {"host": places[view].host, "port": places[view].port} for view in (SECONDARY, RESOLVER)},
            "env": {
                "RFC2136_NAMESERVER": f"{host}:{port}",
                "RFC2136_TSIG_ALGORITHM": f"{ALGORITHM_TEXT}.",
                "RFC2136_TSIG_KEY": key,
                "RFC2136_TSIG_SECRET": secret,
            },
        }

    def view(self) -> dict[str, Any]:
        records = [
            {
                "name": row.target,
                "type": type_text(record.rdtype),
                "ttl": record.ttl,
                "value": value_of(record.rdata),
                "operation": row.operation,
                "reference": row.reference,
            }
            for record, row in self.book.standing()
        ]
        zone = self.book.zone
        return {
            "zone": text_of(zone.origin),
            "serial": zone.serial,
            "soa": value_of(zone.soa.rdatas[0]),
            "records": records,
            "secondary": {"serial": self.views.zone(SECONDARY).serial},
            "resolver": {"cached": self.views.cached()},
        }

    def compete(self, what: str, facts: Facts) -> None:
        if what not in self.competitors:
            super().compete(what, facts)
        if not facts.target:
            raise LookupError(f"{facts.line!r} is about no name that somebody else could compete for")
        self.server.change(competing_changes(what, self.book.zone, name_of(facts.target)), Cause("", 1, None))

    def _handler(self, view: str) -> Handle:
        async def handle(wire: bytes, way: Way) -> None:
            await self.server.handle(wire, way, view)

        return handle


class _State:
    """The book, and what must be set going again when it was taken up."""

    def __init__(self, fake: DnsFake) -> None:
        self._fake = fake

    def take_changes(self) -> Iterable[Document]:
        return self._fake.book.take_changes()

    def load(self, documents: Iterable[Document]) -> None:
        self._fake.book.load(documents)
        self._fake.server.notify_again()


class Server(Exchange):
    """What is answered, on every port."""

    def __init__(self, desk: Desk, book: Book, views: Views, options: DnsOptions) -> None:
        is_prompt = options.provider_cell.late is Late.NO
        super().__init__(desk, options.key, skew_s=options.clock_skew_s, checks_time=is_prompt)
        self._book = book
        self._views = views
        self._lag_ns = options.secondary_lag_ms * MILLISECOND_NS

    async def respond_to(self, visit: Visit) -> Said:
        if visit.asked.is_update:
            return self.said(visit, Outgoing(await self._update(visit)))
        return await self._query(visit)

    # Updates.

    async def _update(self, visit: Visit) -> Rcode:
        asked = visit.asked
        if (refused := self._refused(visit)) is not None:
            return refused
        markers = markers_of(asked.second)
        call = visit.call.about(**_about(asked.second, markers, self._book.zone.origin))

        def execute() -> Rcode:
            zone = self._book.zone
            if code := check_prerequisites(zone, asked.first) or prescan(zone, asked.second):
                return code
            self.change(asked.second, Cause(call.number, visit.delivery, markers))
            return Rcode.NOERROR

        return await self.desk.treat(call, execute)

    def _refused(self, visit: Visit) -> Rcode | None:
        """Why an update is not even looked at, or None."""
        question = visit.asked.question
        assert question is not None, "an update without a zone is a problem of its own"
        if visit.view == RESOLVER:
            return Rcode.NOTIMP
        if question.rdtype != SOA:
            return Rcode.FORMERR
        if question.rdclass != IN:
            return Rcode.NOTIMP
        if question.name != self._book.zone.origin:
            return Rcode.NOTAUTH
        return Rcode.REFUSED if visit.view == SECONDARY or not visit.standing.is_signed else None

    def change(self, changes: Sequence[Asked], cause: Cause) -> None:
        """Carry out well-formed changes; if they change anything, the secondary will hear of it."""
        plan = plan_update(self._book.zone, changes)
        if plan.soa is not None:
            self._notify_later(self._book.carry_out(plan, cause))

    # The secondary.

    def notify_again(self) -> None:
        """Set the timers for what the secondary does not have yet."""
        newest, has = self._book.newest.number, self._views.transferred.number
        for number in range(has + 1, newest + 1):
            version = self._book.version(number)
            assert version is not None, f"there is no {VERSION} {number}"
            self._notify_later(version)

    def _notify_later(self, version: Version) -> None:
        # A version that came in the same nanosecond as another has a moment that lies a little ahead of the clock.
        passed_ns = max(self.desk.clock.now_ns() - version.at_ns, 0)
        refresh_ns = soa_data(version.soa).refresh * SECOND_NS
        self.desk.clock.later(self._lag_ns - passed_ns, lambda: self.desk.go(self._notify(version)))
        self.desk.later(max(refresh_ns, self._lag_ns) - passed_ns, lambda: self._transfer(version, "refresh"))

    async def _notify(self, version: Version) -> None:
        zone = text_of(self._book.zone.origin)
        serial = soa_data(version.soa).serial

        async def send() -> None:
            self._transfer(version, "notify")

        await self.desk.deliver(Facts(line=f"NOTIFY {zone} {serial}", what="notify", target=zone), send)

    def _transfer(self, version: Version, why: str) -> None:
        if self._views.transfer(version):
            self.desk.note("transferred", "", {"serial": soa_data(version.soa).serial, "why": why})

    # Queries.

    async def _query(self, visit: Visit) -> Said:
        question = visit.asked.question
        assert question is not None, "a query without a question is a problem of its own"
        name, rdtype, rdclass = question
        if (code := _not_asked(rdtype, rdclass)) is not None:
            return self.said(visit, Outgoing(code))
        if rdtype in (RdataType.AXFR, RdataType.IXFR):
            return await self._transfer_out(visit, name, rdtype)
        stale_ns = await self.desk.read(visit.call.about(what="lookup", target=text_of(name)))
        answer = self._views.answer(visit.view, name, RdataType.make(rdtype), stale_ns)
        is_resolver = visit.view == RESOLVER
        outgoing = answered(answer, is_authority=not is_resolver, has_recursion=is_resolver)
        return self.said(visit, outgoing)

    async def _transfer_out(self, visit: Visit, name: Name, rdtype: int) -> Said:
        has = _client_serial(visit.asked) if rdtype == RdataType.IXFR else None
        if name != self._book.zone.origin:
            return self.said(visit, Outgoing(Rcode.NOTAUTH))
        if has is None and (rdtype == RdataType.IXFR or visit.way.is_datagram):
            return self.said(visit, Outgoing(Rcode.FORMERR))
        stale_ns = await self.desk.read(visit.call.about(what="transfer", target=text_of(name)))
        if not self._views.may_transfer(visit.view):
            return self.said(visit, answered(REFUSED, is_authority=False))
        zone = self._views.zone(visit.view, stale_ns)
        if has is not None and (visit.way.is_datagram or not is_newer(zone.serial, has)):
            soa = Answer(answer=(Found(zone.origin, SOA, zone.soa),))
            return self.said(visit, answered(soa, is_authority=True))
        return Said(Rcode.NOERROR, self.signed(visit, list(render_transfer(visit.asked, zone))))


def _not_asked(rdtype: int, rdclass: int) -> Rcode | None:
    """The code for questions nobody should ask; None for others."""
    if rdclass != IN:
        return Rcode.FORMERR if rdclass in (RdataClass.ANY, RdataClass.NONE) else Rcode.REFUSED
    if rdtype in _NEVER_ASKED:
        return Rcode.FORMERR
    return Rcode.NOTIMP if rdtype in _ALL_OF_A_KIND else None


def _client_serial(asked: Incoming) -> int | None:
    """What the client of an incremental transfer has. It gets the whole zone (RFC 1995 section 4) unless it has that."""
    soas = [RRset(each.ttl, (each.rdata,)) for each in asked.second if each.rdtype == SOA and each.rdata is not None]
    return soa_data(soas[0]).serial if len(soas) == 1 else None


def _about(changes: Sequence[Asked], markers: Markers, origin: Name) -> dict[str, str]:
    """What an update is about: its first change that is no marker's, or the zone."""
    plain = [each for each in changes if not _is_marker(each)]
    first = plain[0].name if plain else origin
    is_removal = bool(plain) and all(each.rdclass != IN for each in plain)
    return {
        "what": REMOVE if is_removal else ADD,
        "target": text_of(first),
        "operation": markers.operation(first, is_removal=is_removal),
    }


def _is_marker(asked: Asked) -> bool:
    return marker_of(asked.rdata) is not None
