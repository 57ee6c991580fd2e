"""The three views of the zone, each on a port of its own.

    dns         the primary: knows every change at once (AA)
    secondary   has the version of the last NOTIFY that reached it, or of its refresh (AA, as secondaries answer)
    resolver    asks the primary and keeps what it heard, also that something is not there (no AA)

In a cell whose look-up is `eventual`, what answers as the primary is a replica that lags, AA all the same, as where a
provider balances its servers; updates still see the truth. Where it is `absent`, no view answers.
The resolver's memory is part of the state: it is another machine, which does not forget because this one restarts.
Never here: messages, and when a NOTIFY comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dns.name import Name
from dns.rcode import Rcode
from dns.rdatatype import RdataType

from fakes.dns.answers import REFUSED, Answer, Found, look_up
from fakes.dns.book import Book, Version
from fakes.dns.records import name_of, rdata_of, text_of, type_of, type_text, value_of
from fakes.dns.zone import RRset, Zone
from fakes.wire.shelf import Shelf
from harness.model.cell import READ_LAG_NS, SECOND_NS, Lookup

PRIMARY, SECONDARY, RESOLVER = "dns", "secondary", "resolver"
CACHE, PLACE = "cache", "secondary"
CACHE_MAX = 10_000
TTL_KEPT_MAX_S = 7 * 24 * 3600


class Views:
    """What each view shows. `now` is the fake's clock."""

    def __init__(self, book: Book, shelf: Shelf, lookup: Lookup, now: Callable[[], int]) -> None:
        self._book = book
        self._shelf = shelf
        self._lookup = lookup
        self._now = now

    def answer(self, view: str, name: Name, rdtype: RdataType, stale_ns: int) -> Answer:
        """The view's answer; `stale_ns` lets it be that of so long ago."""
        if self._lookup is Lookup.ABSENT:
            return REFUSED
        if view == RESOLVER and not stale_ns:
            return self._resolved(name, rdtype)
        return look_up(self.zone(view, stale_ns), name, rdtype)

    def zone(self, view: str, stale_ns: int = 0) -> Zone:
        """The zone as an authority shows it."""
        lag_ns = READ_LAG_NS if self._lookup is Lookup.EVENTUAL else 0
        version = self._book.newest
        if stale_ns or lag_ns:
            version = self._book.version_at(self._now() - stale_ns - lag_ns)
        if view == SECONDARY:
            version = min(version, self.transferred)
        return self._book.zone_of(version)

    def may_transfer(self, view: str) -> bool:
        """Does this view give the whole zone?"""
        return view != RESOLVER and self._lookup is not Lookup.ABSENT

    # The secondary.

    @property
    def transferred(self) -> Version:
        """The version the secondary has. A new one has what there was when the zone began."""
        version = self._book.version(int(self._shelf.get(PLACE, "version") or 1))
        assert version is not None, "the secondary has a version that never was"
        return version

    def transfer(self, version: Version) -> bool:
        """The secondary gets this version. Was it newer, and not one of a past that was taken back?"""
        if self._book.version(version.number) != version or version.number <= self.transferred.number:
            return False
        self._shelf.put(PLACE, "version", version.number)
        return True

    # The resolver.

    def _resolved(self, name: Name, rdtype: RdataType) -> Answer:
        id_ = f"{text_of(name)} {type_text(rdtype)}"
        now_ns = self._now()
        kept = self._shelf.get(CACHE, id_)
        if kept is not None and now_ns < kept["until_ns"]:
            return _restored(kept, (now_ns - kept["since_ns"]) // SECOND_NS)
        answer = look_up(self.zone(PRIMARY), name, rdtype)
        if answer.rcode in (Rcode.NOERROR, Rcode.NXDOMAIN):
            self._keep(id_, answer, now_ns)
        return answer._replace(is_authoritative=False)

    def _keep(self, id_: str, answer: Answer, now_ns: int) -> None:
        found = (*answer.answer, *answer.authority)
        ttl = min([TTL_KEPT_MAX_S, *(each.rrset.ttl for each in found)])
        self._shelf.remove(CACHE, id_)
        if not ttl or not found:
            return
        kept = self._shelf.all(CACHE)
        while len(kept) >= CACHE_MAX:
            self._shelf.remove(CACHE, next(iter(kept)))
        sections = {"answer": _kept(answer.answer), "authority": _kept(answer.authority)}
        until_ns = now_ns + ttl * SECOND_NS
        self._shelf.put(CACHE, id_, {"rcode": int(answer.rcode), "since_ns": now_ns, "until_ns": until_ns, **sections})

    def cached(self) -> list[str]:
        """What the resolver still keeps, as `name type`."""
        now_ns = self._now()
        return [id_ for id_, kept in self._shelf.all(CACHE).items() if now_ns < kept["until_ns"]]


def _kept(found: tuple[Found, ...]) -> list[Any]:
    return [[text_of(f.name), type_text(f.rdtype), f.rrset.ttl, [value_of(r) for r in f.rrset.rdatas]] for f in found]


def _restored(kept: dict[str, Any], age_s: int) -> Answer:
    """What was kept, its TTLs counted down."""

    def found(section: list[Any]) -> tuple[Found, ...]:
        return tuple([_found(name, rdtype, ttl, values, age_s) for name, rdtype, ttl, values in section])

    return Answer(Rcode(kept["rcode"]), False, found(kept["answer"]), found(kept["authority"]))


def _found(name: str, type_name: str, ttl: int, values: list[str], age_s: int) -> Found:
    rdtype = type_of(type_name)
    return Found(name_of(name), rdtype, RRset(ttl - age_s, tuple([rdata_of(rdtype, value) for value in values])))
