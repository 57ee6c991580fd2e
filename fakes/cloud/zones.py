"""Hosted zones and their record sets: batches that are applied wholly or not at all, and changes that become INSYNC.

Theory. A record set is what stands under (zone, name, type, set identifier). A batch is applied in its order to a copy;
if one change is not possible nothing is. CREATE wants that nothing stands, DELETE that exactly this stands, UPSERT
wants nothing. An effect is recorded for every record set that is another one after the batch than before: `put`, or
`remove`, which undoes the put of what stood. A put of exactly what stood before the present one is `restore`: it undoes
the present one, and what it replaced stands again. A batch after which all is as before makes a change without effects.

Every record set keeps what it was and since when, so that a stale view is a look at an earlier moment. A caller
reference stays taken after its zone is deleted.
Never here: XML, hooks, and when a timer is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fakes.cloud.account import Account, said_in, zone_key
from fakes.cloud.names import Key, shown_type, sort_key
from fakes.cloud.words import AwsRefusal
from fakes.core.kernel import OUTSIDE
from fakes.wire.shelf import Shelf

ZONE, CHANGE, RECORDS = "zone", "change", "records"
NAME_SERVERS = ("ns-1.fake-dns.example.", "ns-2.fake-dns.example.")
SOA = "ns-1.fake-dns.example. hostmaster.fake-dns.example. 1 7200 900 1209600 86400"


class Body(NamedTuple):
    """What a record set says. `more` are its other elements (`Weight`, `AliasTarget/DNSName`, ...)."""

    ttl: int
    values: tuple[str, ...]
    more: tuple[tuple[str, str], ...] = ()

    def is_as(self, other: Body) -> bool:
        """Do both say the same? The order of values says nothing."""
        return (self.ttl, sorted(self.values), self.more) == (other.ttl, sorted(other.values), other.more)


class Wanted(NamedTuple):
    """One change of a batch."""

    action: str
    key: Key
    body: Body


class Zone(NamedTuple):
    """One hosted zone as it looked at some moment."""

    id: str
    name: str
    caller_reference: str
    comment: str
    is_private: bool
    records: int


class Zones:
    """All zones of an account."""

    def __init__(self, account: Account, shelf: Shelf, now: Callable[[], int]) -> None:
        self._account = account
        self._shelf = shelf
        self._now = now

    # Zones.

    def create(self, call: str, name: str, caller_reference: str, comment: str, is_private: bool) -> tuple[Zone, str]:
        """A new zone, and the change that brings it. Raises AwsRefusal."""
        if self._account.is_bound(key := zone_key(caller_reference)):
            message = f"A hosted zone has already been created with the specified caller reference: {caller_reference}"
            raise AwsRefusal("HostedZoneAlreadyExists", message, 409)
        said, id_ = said_in(comment), f"ZFAKE{self._shelf.number(ZONE):015d}"
        target, operation = said.get("target") or name.removesuffix("."), said.get("operation", "")
        params = {"zone": id_}
        reference = self._account.make(call, "zone.create", target, operation=operation, params=params, key=key)
        made = {
            "id": id_,
            "name": name,
            "reference": reference,
            "caller_reference": caller_reference,
            "comment": comment,
            "is_private": is_private,
            "created_ns": self._now(),
            "deleted_ns": None,
        }
        self._shelf.put(ZONE, id_, made)
        for type_, body in (("NS", Body(172_800, NAME_SERVERS)), ("SOA", Body(900, (SOA,)))):
            self._keep(Key(id_, name, type_, ""), body, "")
        return self.zone(id_), self._change(id_, comment)

    def delete(self, call: str, id_: str) -> str:
        """Delete a zone that has nothing but what it began with; the change. Raises AwsRefusal."""
        zone = self.zone(id_)
        if any(not _is_own(zone, key) for key, _ in self.records(id_)):
            message = "The specified hosted zone contains non-required resource record sets and so cannot be deleted."
            raise AwsRefusal("HostedZoneNotEmpty", message)
        made = self._shelf.get(ZONE, id_)
        self._account.undo(call, "zone.delete", made["reference"])
        self._shelf.put(ZONE, id_, {**made, "deleted_ns": self._now()})
        return self._change(id_, "")

    def zone(self, id_: str, at_ns: int | None = None) -> Zone:
        """The zone (at that moment). Raises AwsRefusal."""
        moment_ns, made = self._now() if at_ns is None else at_ns, self._shelf.get(ZONE, id_)
        if made is None or not made["created_ns"] <= moment_ns < (made["deleted_ns"] or moment_ns + 1):
            raise AwsRefusal("NoSuchHostedZone", f"No hosted zone found with ID: {id_[:100]}", 404)
        facts = (made["name"], made["caller_reference"], made["comment"], made["is_private"])
        return Zone(id_, *facts, len(self.records(id_, moment_ns)))

    def zones(self, at_ns: int) -> list[Zone]:
        """All of that moment, oldest first."""
        made = self._shelf.all(ZONE).values()
        return [self.zone(each["id"], at_ns) for each in made if _is_there(each, at_ns)]

    # Records.

    def apply(self, call: str, zone_id: str, batch: Sequence[Wanted], comment: str) -> str:
        """Apply a batch; the id of the change. Raises AwsRefusal, and then nothing was changed."""
        zone = self.zone(zone_id)
        before = dict(self.records(zone_id))
        after, problems = dict(before), []
        for wanted in batch:
            problem = _problem(zone, after, wanted)
            if problem:
                problems.append(problem)
            elif wanted.action == "DELETE":
                del after[wanted.key]
            else:
                after[wanted.key] = wanted.body
        if problems:
            raise AwsRefusal("InvalidChangeBatch", f"[{', '.join(problems)}]")
        said = said_in(comment)
        for key in dict.fromkeys(wanted.key for wanted in batch):
            self._move(call, key, before.get(key), after.get(key), said)
        return self._change(zone_id, comment)

    def _move(self, call: str, key: Key, before: Body | None, after: Body | None, said: Mapping[str, str]) -> None:
        """From what stood to what stands, as at most one effect."""
        if before == after or (before is not None and after is not None and before.is_as(after)):
            return
        operation = said.get("operation", "")
        target = said.get("target") or f"{key.name.removesuffix('.')} {shown_type(key)}"
        standing = self._history(key)
        present = standing[-1][2] if standing else ""
        if after is None:
            self._remove(call, key, present, operation)
        elif previous := self._restored(standing, after):
            self._account.undo(call, "record-set.restore", present, operation=operation)
            self._keep(key, after, previous)
        else:
            params: dict[str, str | int] = {"record": f"{key.zone} {key.name} {shown_type(key)}"}
            self._keep(
                key, after, self._account.make(call, "record-set.put", target, operation=operation, params=params)
            )

    def _remove(self, call: str, key: Key, present: str, operation: str) -> None:
        # What a zone begins with is nobody's effect, and stays: `_problem` refuses its removal.
        assert present, f"{key} was put by nobody"
        self._account.undo(call, "record-set.remove", present, operation=operation)
        for _, _, reference in self._history(key):
            if reference:
                self._account.close(reference)
        self._keep(key, None, "")

    def _restored(self, history: Sequence[Sequence[Any]], after: Body) -> str:
        """The effect that stands again if `after` is what stood before the present one; or ""."""
        if len(history) < 2 or history[-1][1] is None or history[-2][1] is None:
            return ""
        present, (_, previous, reference) = history[-1][2], history[-2]
        if not (present and reference and self._account.row(reference).is_standing):
            return ""
        return str(reference) if _body(previous).is_as(after) else ""

    def put_from_outside(self, key: Key, body: Body) -> None:
        """Somebody else puts a record set there."""
        self._move_from_outside(key, body)

    def _move_from_outside(self, key: Key, body: Body | None) -> None:
        before = dict(self.records(key.zone)).get(key)
        self._move("", key, before, body, {"operation": OUTSIDE})
        self._change(key.zone, "")

    def remove_from_outside(self, key: Key) -> None:
        """Somebody else removes what is there. Raises LookupError if nothing is."""
        if key not in dict(self.records(key.zone)):
            raise LookupError(f"there is no record set {key}")
        self._move_from_outside(key, None)

    def records(self, zone_id: str, at_ns: int | None = None) -> list[tuple[Key, Body]]:
        """What stands in a zone (at that moment), in the order in which it is listed."""
        moment_ns = self._now() if at_ns is None else at_ns
        found = []
        for made in self._shelf.all(RECORDS).values():
            key = Key(*made["key"])
            past = [body for since_ns, body, _ in made["history"] if since_ns <= moment_ns]
            if key.zone == zone_id and past and past[-1] is not None:
                found.append((key, _body(past[-1])))
        return sorted(found, key=lambda each: sort_key(each[0]))

    def _history(self, key: Key) -> list[list[Any]]:
        made = self._shelf.get(RECORDS, "|".join(key))
        return made["history"] if made else []

    def _keep(self, key: Key, body: Body | None, reference: str) -> None:
        said = None if body is None else [body.ttl, list(body.values), [list(each) for each in body.more]]
        history = [*self._history(key), [self._now(), said, reference]]
        self._shelf.put(RECORDS, "|".join(key), {"key": list(key), "history": history})

    # Changes.

    def _change(self, zone_id: str, comment: str) -> str:
        id_ = f"CFAKE{self._shelf.number(CHANGE):015d}"
        made = {"id": id_, "zone": zone_id, "comment": comment, "submitted_ns": self._now(), "insync_ns": None}
        self._shelf.put(CHANGE, id_, made)
        return id_

    def change(self, id_: str, at_ns: int | None = None) -> Mapping[str, Any]:
        """A change, with its `status` (at that moment). Raises AwsRefusal."""
        moment_ns, made = self._now() if at_ns is None else at_ns, self._shelf.get(CHANGE, id_)
        if made is None or made["submitted_ns"] > moment_ns:
            raise AwsRefusal("NoSuchChange", f"Could not find resource with ID: {id_[:100]}", 404)
        is_insync = made["insync_ns"] is not None and made["insync_ns"] <= moment_ns
        return {**made, "status": "INSYNC" if is_insync else "PENDING"}

    def pending(self) -> list[str]:
        """Changes that are not INSYNC."""
        return [id_ for id_, made in self._shelf.all(CHANGE).items() if made["insync_ns"] is None]

    def is_pending(self, id_: str) -> bool:
        """Is there such a change, and is it not INSYNC?"""
        made = self._shelf.get(CHANGE, id_)
        return made is not None and made["insync_ns"] is None

    def settle(self, id_: str, is_done: bool) -> None:
        """A change has come to every server, or it never does."""
        made = self._shelf.get(CHANGE, id_)
        if is_done and self.is_pending(id_):
            self._shelf.put(CHANGE, id_, {**made, "insync_ns": self._now()})


def _is_there(made: Mapping[str, Any], at_ns: int) -> bool:
    return bool(made["created_ns"] <= at_ns < (made["deleted_ns"] or at_ns + 1))


def _is_own(zone: Zone, key: Key) -> bool:
    return key.name == zone.name and key.type in ("NS", "SOA")


def _body(said: Iterable[Any]) -> Body:
    ttl, values, more = said
    return Body(ttl, tuple(values), tuple((name, value) for name, value in more))


def _problem(zone: Zone, standing: Mapping[Key, Body], wanted: Wanted) -> str:
    """Why this change is not possible, or ""."""
    key, there = wanted.key, standing.get(wanted.key)
    said = f"resource record set [name='{key.name}', type='{key.type}'{_set_said(key)}]"
    if key.name != zone.name and not key.name.endswith(f".{zone.name}"):
        return f"RRSet with DNS name {key.name} is not permitted in zone {zone.name}"
    if wanted.action == "DELETE":
        if _is_own(zone, key):
            return f"A HostedZone must contain at least one {key.type} record for the zone itself."
        if there is None:
            return f"Tried to delete {said} but it was not found"
        return "" if there.is_as(wanted.body) else f"Tried to delete {said} but the values provided do not match"
    if wanted.action == "CREATE" and there is not None:
        return f"Tried to create {said} but it already exists"
    return _conflict(zone, standing, wanted)


def _conflict(zone: Zone, standing: Mapping[Key, Body], wanted: Wanted) -> str:
    """Why this cannot stand beside the others of its name, or ""."""
    key = wanted.key
    types = {each.type for each in standing if each.name == key.name and each != key}
    if (key.type == "CNAME" and types - {"CNAME"}) or (key.type != "CNAME" and "CNAME" in types):
        return (
            f"RRSet of type {key.type} with DNS name {key.name} is not permitted as it conflicts"
            f" with other records with the same DNS name in zone {zone.name}"
        )
    if key.type == "CNAME" and key.name == zone.name:
        return f"RRSet of type CNAME with DNS name {key.name} is not permitted at apex in zone {zone.name}"
    sets = {bool(each.set) for each in standing if each[:3] == key[:3] and each != key}
    if sets and sets != {bool(key.set)}:
        return f"RRSet with DNS name {key.name}, type {key.type} cannot be both simple and of a routing policy"
    return ""


def _set_said(key: Key) -> str:
    return f", set-identifier='{key.set}'" if key.set else ""


__all__ = ["NAME_SERVERS", "Body", "Key", "Wanted", "Zone", "Zones"]
