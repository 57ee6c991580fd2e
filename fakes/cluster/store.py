"""All objects, the one counter of versions, and the events from which watches and looks into the past are answered.

Theory. Every write gets the next resourceVersion, and leaves an event with the object before and after it. The state
at an earlier version is the present one with the later events taken back. Only so many events are kept; what lies
before the oldest of them is compacted, and whoever asks for it is answered 410.
Never here: validation, HTTP, effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from fakes.cluster.kinds import Kind, Object
from fakes.wire.shelf import Shelf

OBJECT, EVENT, VERSION, UID, MARK = "object", "event", "version", "uid", "mark"
COMPACTED = "compacted"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_UIDS = UUID("6f1c0a5e-5d0b-5f5c-9d63-3f2f6f0d7a11")


class Place(NamedTuple):
    """What an object is and where: its identity, until it is deleted."""

    plural: str
    namespace: str
    name: str

    @property
    def id(self) -> str:
        return "/".join(self)

    @classmethod
    def parse(cls, id_: str) -> Place:
        """The inverse of `id`."""
        return cls(*id_.split("/"))


class Event(NamedTuple):
    """One write. `before` is None for an addition; `after` of a deletion is the object as it went."""

    version: int
    moment_ns: int
    type: str
    place: str
    before: Object | None
    after: Object


class Store:
    """The cluster on a shelf. `listeners` hear of every event after it was written."""

    def __init__(self, shelf: Shelf, events_max: int) -> None:
        self._shelf = shelf
        self._events_max = events_max
        self.listeners: list[Callable[[Event], None]] = []

    # The present.

    def get(self, place: Place) -> Object | None:
        """The object there. Not to be changed."""
        found: Object | None = self._shelf.get(OBJECT, place.id)
        return found

    def all(self, kind: Kind, namespace: str = "") -> dict[Place, Object]:
        """All of a kind in a namespace ("": in all), sorted by namespace and name."""
        return self._chosen(self._shelf.all(OBJECT).items(), kind, namespace)

    def inside(self, namespace: str) -> dict[Place, Object]:
        """Everything in a namespace."""
        all_ = ((Place.parse(id_), value) for id_, value in self._shelf.all(OBJECT).items())
        return {place: value for place, value in sorted(all_) if place.namespace == namespace}

    @property
    def version(self) -> int:
        """The newest resourceVersion."""
        return int(self._shelf.get(MARK, VERSION) or 0)

    @property
    def compacted(self) -> int:
        """The oldest version that can still be asked for."""
        return int(self._shelf.get(MARK, COMPACTED) or 0)

    # Writing.

    def new_uid(self) -> str:
        """A uid that no object ever had; equal in equal runs."""
        return str(uuid5(_UIDS, str(self._shelf.number(UID))))

    def new_suffix(self) -> str:
        """What `generateName` appends."""
        number, text = self._shelf.number("suffix"), ""
        for _ in range(5):
            number, digit = divmod(number, len(_LETTERS))
            text = _LETTERS[digit] + text
        return text

    def put(self, place: Place, value: Object, now_ns: int) -> Object:
        """Write it under the next version. Returns the object as it stands."""
        before = self.get(place)
        return self._write("ADDED" if before is None else "MODIFIED", place, before, value, now_ns)

    def remove(self, place: Place, now_ns: int) -> Object:
        """Take it away. Returns the object as it went."""
        before = self.get(place)
        assert before is not None, f"{place.id} is removed after it was found"
        return self._write("DELETED", place, before, before, now_ns)

    def compact(self) -> None:
        """Forget all events."""
        for id_ in list(self._shelf.all(EVENT)):
            self._forget(id_)

    def _write(self, type_: str, place: Place, before: Object | None, value: Object, now_ns: int) -> Object:
        version = self.version + 1
        self._shelf.put(MARK, VERSION, version)
        after = {**value, "metadata": {**value["metadata"], "resourceVersion": str(version)}}
        if type_ == "DELETED":
            self._shelf.remove(OBJECT, place.id)
        else:
            self._shelf.put(OBJECT, place.id, after)
        event = Event(version, now_ns, type_, place.id, before, after)
        self._shelf.put(EVENT, str(version), list(event))
        events = self._shelf.all(EVENT)
        while len(events) > self._events_max:
            self._forget(next(iter(events)))
        for listener in list(self.listeners):
            listener(event)
        return after

    def _forget(self, id_: str) -> None:
        self._shelf.put(MARK, COMPACTED, int(id_))
        self._shelf.remove(EVENT, id_)

    # The past.

    def events_after(self, version: int) -> list[Event]:
        """Events above a version, oldest first. It must not lie before `compacted`."""
        if version >= self.version:
            return []
        return [Event(*value) for id_, value in self._shelf.all(EVENT).items() if int(id_) > version]

    def version_at(self, moment_ns: int) -> int:
        """The version at a moment; the oldest known one for a moment before it."""
        past = [
            event.version
            for event in (Event(*v) for v in self._shelf.all(EVENT).values())
            if event.moment_ns <= moment_ns
        ]
        return max(past, default=self.compacted)

    def all_at(self, version: int, kind: Kind, namespace: str = "") -> dict[Place, Object]:
        """All of a kind in a namespace as it was at a version that is not compacted."""
        state = dict(self._shelf.all(OBJECT))
        for event in reversed(self.events_after(version)):
            if event.before is None:
                state.pop(event.place, None)
            else:
                state[event.place] = event.before
        return self._chosen(state.items(), kind, namespace)

    def _chosen(self, items: Iterable[tuple[str, Object]], kind: Kind, namespace: str) -> dict[Place, Object]:
        found = ((Place.parse(id_), value) for id_, value in items)
        wanted = [(p, v) for p, v in found if p.plural == kind.plural and namespace in ("", p.namespace)]
        return dict(sorted(wanted, key=lambda each: each[0]))


def place_of(kind: Kind, namespace: str, name: str) -> Place:
    """Where an object of a kind is."""
    return Place(kind.plural, namespace if kind.is_namespaced else "", name)


def target_of(kind: Kind, namespace: str, name: str) -> str:
    """The business target of effects on it: `ConfigMap/default/app`, `Namespace/app`."""
    return "/".join((kind.kind, namespace, name) if kind.is_namespaced else (kind.kind, name))


def shown(kind: Kind, value: Object) -> dict[str, Any]:
    """The object as it is answered."""
    return {"kind": kind.kind, "apiVersion": kind.api_version, **value}
