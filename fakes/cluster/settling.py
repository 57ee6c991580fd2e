"""When controllers act: the timers of what is not settled yet, and what then happens to the object.

A deployment or job gets its status. A namespace that is being deleted loses everything in it, and then goes itself; an
object with finalizers keeps it until they are removed. What becomes of an object here is no effect of anybody's
request: it is noted as `settled` or `object-gone`.
Never here: requests, and what a status looks like (`controllers.py`).
"""

from __future__ import annotations

from datetime import UTC, datetime

from fakes.cluster.controllers import settled_status
from fakes.cluster.effects import Effects
from fakes.cluster.kinds import KINDS, NAMESPACE, Kind, Object
from fakes.cluster.store import Place, Store, target_of
from fakes.cluster.writing import OPERATION, is_gone
from fakes.wire.desk import Desk
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf
from harness.model.cell import SECOND_NS

DUE = "due"
KIND_OF = {kind.plural: kind for kind in KINDS}


class Settling:
    """The controllers of one cluster."""

    def __init__(self, desk: Desk, shelf: Shelf, store: Store, effects: Effects, delay_ns: int) -> None:
        self._desk = desk
        self._shelf = shelf
        self._store = store
        self._effects = effects
        self._delay_ns = delay_ns
        self._timers: dict[Place, int] = {}

    def go_on(self) -> None:
        """After a restart: set the timers again."""
        self._timers.clear()
        for id_, (due_ns, _) in self._shelf.all(DUE).items():
            self._set_timer(Place.parse(id_), due_ns)

    def changed(self, place: Place, value: Object) -> None:
        """What is wanted of this object changed: its controller acts on it later, once."""
        kind = KIND_OF[place.plural]
        if not kind.has_controller or self._delay_ns < 0:
            return
        if kind == NAMESPACE and not value["metadata"].get("deletionTimestamp"):
            return
        due_ns = self._desk.clock.now_ns() + self._delay_ns
        self._shelf.put(DUE, place.id, [due_ns, value["metadata"]["uid"]])
        self._set_timer(place, due_ns)

    def removed(self, place: Place) -> None:
        """An object went: its namespace may have waited for that."""
        self._shelf.remove(DUE, place.id)
        self._desk.note("object-gone", "", {"target": target_of(KIND_OF[place.plural], place.namespace, place.name)})
        above = Place(NAMESPACE.plural, "", place.namespace)
        if place.namespace and self._shelf.get(DUE, above.id) is None:
            self._end_namespace(above)

    def _set_timer(self, place: Place, due_ns: int) -> None:
        """A timer of a past that a restore took back finds that it is not awaited, and does nothing."""
        self._timers[place] = due_ns
        clock = self._desk.clock

        def due() -> None:
            if self._timers.get(place) != due_ns:
                return
            del self._timers[place]
            if value := self._store.get(place):
                self._desk.settle_later(
                    0, self._facts(place, value), lambda is_done: self._settle(place, due_ns, is_done)
                )

        clock.later(due_ns - clock.now_ns(), due)

    def _facts(self, place: Place, value: Object) -> Facts:
        kind = KIND_OF[place.plural]
        what = "object.delete" if value["metadata"].get("deletionTimestamp") else "object.apply"
        operation = value["metadata"].get("annotations", {}).get(OPERATION, "")
        return Facts(what=what, target=target_of(kind, place.namespace, place.name), operation=operation)

    def _settle(self, place: Place, due_ns: int, is_done: bool) -> None:
        awaited, value = self._shelf.get(DUE, place.id), self._store.get(place)
        if awaited is None or awaited[0] != due_ns:
            return
        self._shelf.remove(DUE, place.id)
        if value is None or value["metadata"]["uid"] != awaited[1]:
            return
        kind, now_ns = KIND_OF[place.plural], self._desk.clock.now_ns()
        self._desk.note("settled", "", {"target": self._facts(place, value).target, "is_done": is_done})
        if kind == NAMESPACE:
            if is_done:
                self._empty(place)
            return
        status = settled_status(kind, value, utc(now_ns), is_done=is_done)
        self._store.put(place, {**value, "status": status}, now_ns)

    # Namespaces.

    def _empty(self, place: Place) -> None:
        """Delete everything in a namespace that is being deleted, and then the namespace."""
        now_ns = self._desk.clock.now_ns()
        for inner, value in self._store.inside(place.name).items():
            kind = KIND_OF[inner.plural]
            if not value["metadata"].get("deletionTimestamp"):
                value = self._store.put(inner, marked(kind, value, utc(now_ns)), now_ns)
                self._effects.vanish(target_of(kind, inner.namespace, inner.name))
            if is_gone(value):
                self._store.remove(inner, now_ns)
                self._shelf.remove(DUE, inner.id)
        self._end_namespace(place)

    def _end_namespace(self, place: Place) -> None:
        value = self._store.get(place)
        if value is None or value["status"].get("phase") != "Terminating" or self._store.inside(place.name):
            return
        now_ns = self._desk.clock.now_ns()
        ended = self._store.put(place, {**value, "spec": {"finalizers": []}}, now_ns)
        if is_gone(ended):
            self._store.remove(place, now_ns)
            self._desk.note("object-gone", "", {"target": target_of(NAMESPACE, "", place.name)})


def marked(kind: Kind, value: Object, time: str) -> Object:
    """The object as one that is being deleted."""
    metadata = {**value["metadata"], "deletionTimestamp": time, "deletionGracePeriodSeconds": 0}
    if kind.has_status:
        metadata["generation"] = metadata["generation"] + 1
    if kind == NAMESPACE:
        return {**value, "metadata": metadata, "status": {"phase": "Terminating"}}
    return {**value, "metadata": metadata}


def utc(moment_ns: int) -> str:
    """A moment as the API words it: to the second."""
    return datetime.fromtimestamp(moment_ns // SECOND_NS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
