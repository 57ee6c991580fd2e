"""What a write makes of an object, and when it is refused: functions from values to values.

The system's part of the metadata is never the caller's: uid, creation, deletion, generation and the account of owners
stay as they are. A resourceVersion that is given must be the present one, and so must a uid.
Never here: the store, HTTP, effects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from fakes.cluster.kinds import NAMESPACE, Kind, Object, causes, completed
from fakes.cluster.ownership import Manager, after_update, owned_in, written
from fakes.cluster.statuses import bad, conflict, invalid, modified

OPERATION = "knownstate/operation"
"""The annotation that says which logical operation a write belongs to."""
NAME_LENGTH_MAX = 253
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9][-a-z0-9.]{0,200}")
_LABEL = re.compile(r"(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_KEPT = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion")
_MINE = ("name", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "generateName")


class Write(NamedTuple):
    """Who writes, and when (as the API words moments)."""

    manager: Manager
    time: str


def checked(kind: Kind, said: Object, namespace: str, name: str = "") -> Object:
    """The body of a write: of the right kind, and about the object the URL names. Raises Refused."""
    for field, wanted in (("kind", kind.kind), ("apiVersion", kind.api_version)):
        given = said.get(field)
        if given not in (None, "", wanted):
            raise bad(f"the {field} in the data does not match the expected {field} ({wanted})")
    metadata = said.get("metadata", {})
    if not isinstance(metadata, dict):
        raise bad("metadata is not an object")
    if name and metadata.get("name") not in (None, "", name):
        raise bad("the name of the object does not match the name on the URL")
    if kind.is_namespaced and metadata.get("namespace") not in (None, "", namespace):
        raise bad("the namespace of the provided object does not match the namespace sent on the request")
    return said


def _cleaned(kind: Kind, said: Object, namespace: str, name: str) -> Object:
    """The caller's part of an object. Raises Refused for metadata that cannot be stored."""
    metadata = said.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise bad("metadata is not an object")
    mine = {each: metadata[each] for each in _MINE if metadata.get(each) not in (None, {}, [], "")}
    mine["name"] = name
    mine.pop("namespace", None)
    if kind.is_namespaced:
        mine["namespace"] = namespace
    wrong = list(_metadata_causes(mine))
    if wrong:
        raise invalid(kind, name, *wrong)
    rest = {each: value for each, value in said.items() if each not in ("kind", "apiVersion", "metadata")}
    return {"metadata": mine, **{each: value for each, value in rest.items() if value is not None}}


def _metadata_causes(metadata: Object) -> Iterable[tuple[str, str]]:
    name = metadata["name"]
    if len(name) > NAME_LENGTH_MAX or not _NAME.fullmatch(name):
        yield (
            "metadata.name",
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
        )
    for field in ("labels", "annotations"):
        said = metadata.get(field, {})
        if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
            yield f"metadata.{field}", "must be a map of strings"
        elif not all(_LABEL.fullmatch(key) for key in said):
            yield f"metadata.{field}", "a key must be a qualified name"
        elif field == "labels" and not all(_LABEL_VALUE.fullmatch(value) for value in said.values()):
            yield (
                "metadata.labels",
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.'",
            )
    finalizers = metadata.get("finalizers", [])
    if not isinstance(finalizers, list) or not all(isinstance(each, str) and each for each in finalizers):
        yield "metadata.finalizers", "must be a list of names"
    owners = metadata.get("ownerReferences", [])
    if not isinstance(owners, list) or not all(isinstance(each, dict) and each.get("uid") for each in owners):
        yield "metadata.ownerReferences", "every owner has a uid"
    if not isinstance(metadata.get("generateName", ""), str):
        yield "metadata.generateName", "must be a string"


def wanted_name(kind: Kind, said: Object) -> tuple[str, str]:
    """(name, prefix of a generated one) of an object to be created; one of them is "". Raises Refused."""
    metadata = said.get("metadata") or {}
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not isinstance(name, str) or not isinstance(prefix, str):
        raise bad("metadata.name and metadata.generateName are strings")
    if name:
        return name, ""
    if not prefix:
        raise invalid(kind, "", ("metadata.name", "Required value: name or generateName is required"))
    if not _PREFIX.fullmatch(prefix):
        raise invalid(kind, prefix, ("metadata.generateName", "must be the beginning of a lowercase name"))
    return "", prefix


def created(kind: Kind, said: Object, namespace: str, name: str, uid: str, write: Write) -> Object:
    """A new object. Raises Refused."""
    if (said.get("metadata") or {}).get("resourceVersion"):
        raise bad("resourceVersion should not be set on objects to be created")
    made = _valid(kind, _cleaned(kind, said, namespace, name))
    metadata = {**made["metadata"], "uid": uid, "creationTimestamp": write.time}
    if kind.has_status:
        made = {**made, "status": {"phase": "Active"} if kind == NAMESPACE else {}}
        metadata["generation"] = 1
    made = {**made, "metadata": metadata}
    return written(made, after_update({}, write.manager, {}, made), kind.api_version, write.time)


def updated(kind: Kind, old: Object, said: Object, write: Write) -> Object:
    """What a replacement or a patch makes of it; the same object if it changes nothing. Raises Refused."""
    new = with_content(kind, old, said)
    if _bare(new) == _bare(old):
        return old
    account = after_update(owned_in(old), write.manager, old, new)
    return written(new, account, kind.api_version, write.time)


def with_content(kind: Kind, old: Object, said: Object) -> Object:
    """The object with the caller's part as it says now, owners not accounted for. Raises Refused."""
    mine, name = old["metadata"], old["metadata"]["name"]
    metadata = said.get("metadata") or {}
    if isinstance(metadata, dict):
        check_version(kind, old, metadata.get("resourceVersion"), metadata.get("uid"))
    made = _valid(kind, _cleaned(kind, said, mine.get("namespace", ""), name))
    _check_finalizers(kind, old, made)
    _check_immutable(kind, old, made)
    kept = {each: mine[each] for each in _KEPT if each in mine}
    if kind.has_status:
        made = {**made, "status": old.get("status", {})}
        kept["generation"] = kept["generation"] + (made.get("spec") != old.get("spec"))
    return {**made, "metadata": {**made["metadata"], **kept, "managedFields": mine.get("managedFields", [])}}


def with_status(kind: Kind, old: Object, said: Object) -> Object:
    """The object with the status as it says now. Raises Refused."""
    metadata, status = said.get("metadata") or {}, said.get("status", {})
    if not isinstance(metadata, dict) or not isinstance(status, dict):
        raise bad("metadata and status are objects")
    check_version(kind, old, metadata.get("resourceVersion"), metadata.get("uid"))
    return old if status == old.get("status") else {**old, "status": status}


def check_version(kind: Kind, old: Object, version: Any, uid: Any) -> None:
    """Raise Refused 409 unless the object is the one the caller means; what is not given is not compared."""
    mine = old["metadata"]
    if uid and uid != mine["uid"]:
        given = str(uid)[:64]
        raise conflict(
            kind,
            mine["name"],
            f"Precondition failed: UID in precondition: {given}, UID in object meta: {mine['uid']}",
        )
    if version and version != mine["resourceVersion"]:
        raise modified(kind, mine["name"])


def is_gone(value: Object) -> bool:
    """Is nothing left that keeps an object which is being deleted?"""
    metadata = value["metadata"]
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers") and not _holds(value)


def _holds(value: Object) -> bool:
    """A namespace is kept by its own finalizer, which is in its spec."""
    return value.get("status", {}).get("phase") == "Terminating" and bool(value.get("spec", {}).get("finalizers"))


def operation_of(said: Any) -> str:
    """The operation that a body says by its annotation (a JSON patch: by what it adds there), or ""."""
    if isinstance(said, list):
        pointer = f"/metadata/annotations/{OPERATION.replace('/', '~1')}"
        values = [step.get("value") for step in said if isinstance(step, dict) and step.get("path") == pointer]
        return next((value for value in values if isinstance(value, str)), "")
    metadata = said.get("metadata") if isinstance(said, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    value = annotations.get(OPERATION) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else ""


def _valid(kind: Kind, said: Object) -> Object:
    made = completed(kind, said)
    if kind == NAMESPACE:
        made = {each: made[each] for each in ("metadata", "spec")}
    wrong = list(causes(kind, made))
    if wrong:
        raise invalid(kind, made["metadata"]["name"], *wrong)
    return made


def _check_finalizers(kind: Kind, old: Object, new: Object) -> None:
    before, after = old["metadata"].get("finalizers", []), new["metadata"].get("finalizers", [])
    if old["metadata"].get("deletionTimestamp") and set(after) - set(before):
        why = "Forbidden: no new finalizers can be added if the object is being deleted"
        raise invalid(kind, old["metadata"]["name"], ("metadata.finalizers", why))


def _check_immutable(kind: Kind, old: Object, new: Object) -> None:
    name = old["metadata"]["name"]
    if old.get("immutable") is True and any(
        new.get(each) != old.get(each) for each in ("data", "binaryData", "immutable")
    ):
        raise invalid(kind, name, ("data", "Forbidden: field is immutable when `immutable` is set"))
    selectors = [each["spec"].get("selector") if isinstance(each.get("spec"), dict) else None for each in (old, new)]
    if selectors[0] is not None and selectors[0] != selectors[1]:
        raise invalid(kind, name, ("spec.selector", "field is immutable"))
    if kind == NAMESPACE and new["spec"] != old["spec"]:
        new["spec"] = old["spec"]


def _bare(value: Object) -> Object:
    return {**value, "metadata": {**value["metadata"], "managedFields": None}}
