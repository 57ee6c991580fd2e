"""Routes that change objects: create, replace, patch, apply, delete.

Each looks, decides and writes in one step. A request that changes nothing (an apply of what stands, a deletion of what
is being deleted) is answered like one that does, keeps the resourceVersion, and is no effect.
Never here: what a write makes of an object (`writing.py`), reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from fakes.cluster.asking import (
    APPLY,
    MERGE,
    OPERATION_LENGTH_MAX,
    PATCHES,
    STEPS,
    STRATEGIC,
    Deletion,
    Resource,
    as_object,
    body_of,
    deletion_of,
    is_dry,
    is_yes,
    manager_name,
    object_of,
    operation_in,
)
from fakes.cluster.kinds import NAMESPACE, Kind, Object
from fakes.cluster.ownership import APPLY as BY_APPLY
from fakes.cluster.ownership import UPDATE, Manager, applied, written
from fakes.cluster.patches import PatchError, merged, stepped
from fakes.cluster.settling import marked, utc
from fakes.cluster.statuses import (
    Refused,
    already_exists,
    bad,
    field_conflict,
    forbidden,
    invalid,
    not_found,
    success_data,
)
from fakes.cluster.store import Place, place_of, shown, target_of
from fakes.cluster.writing import (
    Write,
    check_version,
    checked,
    created,
    is_gone,
    operation_of,
    updated,
    wanted_name,
    with_content,
    with_status,
)
from fakes.wire.http import call_of

if TYPE_CHECKING:
    from fakes.cluster.face import ClusterFake

PROTECTED = ("default", "kube-system")


class Changing:
    """The routes that change something."""

    def __init__(self, fake: ClusterFake) -> None:
        self._fake = fake
        self._store = fake.store

    # Routes.

    async def create(self, http: HttpRequest, asked: Resource) -> Response:
        """POST to a collection."""
        kind, namespace = asked.kind, asked.namespace
        said = checked(kind, await object_of(http), namespace)
        name, prefix = wanted_name(kind, said)
        write, is_dry_run = self._write(http), is_dry(http.query_params)
        call, operation = call_of(http), operation_of(said) or operation_in(http)
        call.about(what="object.apply", target=target_of(kind, namespace, name or prefix), operation=_short(operation))

        def execute() -> Object:
            chosen = name or prefix + self._store.new_suffix()
            place = place_of(kind, namespace, chosen)
            self._check_namespace(kind, namespace)
            if self._store.get(place) is not None:
                raise already_exists(kind, chosen)
            uid = "" if is_dry_run else self._store.new_uid()
            made = created(kind, said, namespace, chosen, uid, write)
            return (
                made if is_dry_run else self._put("object.apply", kind, place, made, call.facts.operation, call.number)
            )

        return self._fake.answer(shown(kind, await self._fake.desk.treat(call, execute)), 201)

    async def replace(self, http: HttpRequest, asked: Resource) -> Response:
        """PUT an object, or its status."""
        said = checked(asked.kind, await object_of(http), asked.namespace, asked.name)
        return await self._update(http, asked, lambda old: said, operation_of(said))

    async def patch(self, http: HttpRequest, asked: Resource) -> Response:
        """PATCH an object, or its status, in the way its media type says."""
        said, media = await body_of(http, PATCHES)
        if media == APPLY:
            return await self._apply(http, asked, checked(asked.kind, as_object(said), asked.namespace, asked.name))
        if media != STEPS:
            as_object(said)

        def change(old: Object) -> Object:
            try:
                whole = shown(asked.kind, old)
                made = stepped(whole, said) if media == STEPS else merged(whole, said, is_strategic=media == STRATEGIC)
            except PatchError as error:
                code = 422 if error.is_unfulfilled or media in (STEPS, MERGE) else 400
                raise Refused(
                    code, f"the server rejected our request due to an error in our request: {error}"
                ) from None
            return checked(asked.kind, as_object(made), asked.namespace, asked.name)

        return await self._update(http, asked, change, operation_of(said))

    async def delete(self, http: HttpRequest, asked: Resource) -> Response:
        """DELETE an object."""
        options, target = await deletion_of(http), target_of(asked.kind, asked.namespace, asked.name)
        call = call_of(http).about(what="object.delete", target=target, operation=operation_in(http))
        place = place_of(asked.kind, asked.namespace, asked.name)

        def execute() -> dict[str, Any]:
            return self._delete(asked.kind, place, options, call.facts.operation, call.number)

        return self._fake.answer(await self._fake.desk.treat(call, execute))

    async def delete_all(self, http: HttpRequest, asked: Resource) -> Response:
        """DELETE what a collection holds and the selectors mean."""
        options, is_meant = await deletion_of(http), self._fake.reading.selected(http)
        target = target_of(asked.kind, asked.namespace, "*")
        call = call_of(http).about(what="object.delete", target=target, operation=operation_in(http))

        def execute() -> list[Object]:
            found = {p: v for p, v in self._store.all(asked.kind, asked.namespace).items() if is_meant(v)}
            for place in found:
                self._delete(asked.kind, place, options, call.facts.operation, call.number)
            return list(found.values())

        gone = await self._fake.desk.treat(call, execute)
        return self._fake.answer(self._fake.reading.listed(asked.kind, gone, self._store.version))

    # What they have in common.

    async def _update(
        self, http: HttpRequest, asked: Resource, change: Callable[[Object], Object], operation: str
    ) -> Response:
        kind, place = asked.kind, place_of(asked.kind, asked.namespace, asked.name)
        write, is_dry_run = self._write(http), is_dry(http.query_params)
        call = call_of(http).about(
            what="object.status" if asked.part else "object.apply",
            target=target_of(kind, asked.namespace, asked.name),
            operation=_short(operation or operation_in(http)),
        )

        def execute() -> Object:
            old = self._found(kind, place)
            said = change(old)
            new = with_status(kind, old, said) if asked.part else updated(kind, old, said, write)
            if new is old or is_dry_run:
                return new
            return self._put(call.facts.what, kind, place, new, call.facts.operation, call.number)

        return self._fake.answer(shown(kind, await self._fake.desk.treat(call, execute)))

    async def _apply(self, http: HttpRequest, asked: Resource, said: Object) -> Response:
        """Server-side apply: what is not there is created."""
        kind, place = asked.kind, place_of(asked.kind, asked.namespace, asked.name)
        if not http.query_params.get("fieldManager"):
            raise invalid(kind, asked.name, ("fieldManager", "Required value: is required for apply patch"))
        if asked.part:
            raise Refused(415, "a status is not applied here: replace or patch it")
        manager, time = Manager(manager_name(http), BY_APPLY), utc(self._fake.desk.clock.now_ns())
        is_forced, is_dry_run = is_yes(http.query_params, "force"), is_dry(http.query_params)
        call = call_of(http).about(
            what="object.apply",
            target=target_of(kind, asked.namespace, asked.name),
            operation=_short(operation_of(said) or operation_in(http)),
        )

        def execute() -> tuple[Object, bool]:
            old = self._store.get(place)
            if old is None:
                self._check_namespace(kind, asked.namespace)
                uid = "" if is_dry_run else self._store.new_uid()
                new = created(kind, said, asked.namespace, asked.name, uid, Write(manager, time))
            else:
                new = _applied(kind, old, said, Write(manager, time), is_forced)
            if new is old or is_dry_run:
                return new, old is None
            return self._put("object.apply", kind, place, new, call.facts.operation, call.number), old is None

        made, is_new = await self._fake.desk.treat(call, execute)
        return self._fake.answer(shown(kind, made), 201 if is_new else 200)

    def _put(self, action: str, kind: Kind, place: Place, value: Object, operation: str, call: str) -> Object:
        """Write it, as an effect. Returns the object as it stands, or as it went."""
        old, now_ns = self._store.get(place), self._fake.desk.clock.now_ns()
        if old is not None and old["metadata"].get("deletionTimestamp") and action == "object.apply":
            action = "object.finalize"
        self._effect(action, kind, place, operation, call)
        made = self._store.put(place, value, now_ns)
        if is_gone(made):
            gone = self._store.remove(place, now_ns)
            self._fake.settling.removed(place)
            return gone
        generations = [each["metadata"].get("generation") for each in (old, made) if each is not None]
        if len(set(generations)) > 1 or old is None:
            self._fake.settling.changed(place, made)
        return made

    def _delete(self, kind: Kind, place: Place, options: Deletion, operation: str, call: str) -> dict[str, Any]:
        old = self._found(kind, place)
        check_version(kind, old, options.version, options.uid)
        if kind == NAMESPACE and place.name in PROTECTED:
            raise forbidden(kind, place.name, "this namespace may not be deleted")
        if options.is_dry or old["metadata"].get("deletionTimestamp"):
            return shown(kind, old)
        now_ns = self._fake.desk.clock.now_ns()
        self._effect("object.delete", kind, place, operation, call)
        if kind == NAMESPACE or old["metadata"].get("finalizers"):
            kept = self._store.put(place, marked(kind, old, utc(now_ns)), now_ns)
            if kind == NAMESPACE:
                self._fake.settling.changed(place, kept)
            return shown(kind, kept)
        self._store.remove(place, now_ns)
        self._fake.settling.removed(place)
        return success_data(kind, place.name, old["metadata"]["uid"])

    def _effect(self, action: str, kind: Kind, place: Place, operation: str, call: str) -> None:
        target = target_of(kind, place.namespace, place.name)
        version = str(self._store.version + 1)
        self._fake.effects.do(call, action, target=target, operation=operation, version=version)

    def _found(self, kind: Kind, place: Place) -> Object:
        value = self._store.get(place)
        if value is None:
            raise not_found(kind, place.name)
        return value

    def _check_namespace(self, kind: Kind, namespace: str) -> None:
        """Raise Refused unless something can be created there."""
        if not kind.is_namespaced:
            return
        if not namespace:
            raise bad("an empty namespace may not be set during creation")
        holder = self._found(NAMESPACE, place_of(NAMESPACE, "", namespace))
        if holder["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind, "", why)

    def _write(self, http: HttpRequest) -> Write:
        return Write(Manager(manager_name(http), UPDATE), utc(self._fake.desk.clock.now_ns()))

    # Others.

    def outside(self, what: str, kind: Kind, place: Place, operation: str) -> None:
        """Somebody else edits, deletes or creates the object. Raises ProviderFailure if that cannot be."""
        write = Write(Manager(operation, UPDATE), utc(self._fake.desk.clock.now_ns()))
        if what == "delete":
            self._delete(kind, place, Deletion("", "", False), operation, "")
            return
        old = self._store.get(place)
        if what == "create":
            if old is not None:
                raise already_exists(kind, place.name)
            made = created(kind, _minimal(kind), place.namespace, place.name, self._store.new_uid(), write)
        else:
            old = self._found(kind, place)
            edits = int(old["metadata"].get("annotations", {}).get("knownstate/edits", 0)) + 1
            mark = {"metadata": {"annotations": {"knownstate/edits": str(edits)}}}
            made = updated(kind, old, merged(old, mark), write)
        self._put("object.apply", kind, place, made, operation, "")


def _applied(kind: Kind, old: Object, said: Object, write: Write, is_forced: bool) -> Object:
    """What an apply makes of an object that stands; the same object if it changes nothing. Raises Refused."""
    metadata = said.get("metadata") or {}
    check_version(kind, old, metadata.get("resourceVersion"), metadata.get("uid"))
    wanted = {name: value for name, value in said.items() if name != "status"}
    made, owned, conflicts = applied(old, wanted, write.manager, is_forced=is_forced)
    if conflicts:
        raise field_conflict(conflicts)
    new = written(with_content(kind, old, made), owned, kind.api_version, write.time)
    return (
        old if orjson.dumps(new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(old, option=orjson.OPT_SORT_KEYS) else new
    )


def _minimal(kind: Kind) -> Object:
    """The least that can be created of a kind."""
    container = {"name": "main", "image": "scratch"}
    labels = {"app": "outside"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    match kind.kind:
        case "Deployment":
            return {"spec": {"selector": {"matchLabels": labels}, "template": template}}
        case "Job":
            return {"spec": {"template": template}}
    return {}


def _short(operation: str) -> str:
    return operation[:OPERATION_LENGTH_MAX]
