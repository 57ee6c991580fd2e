"""What a request to the API server says, read: which resource its path names, its body, its options.

Never here: what is done with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import Request as HttpRequest

from fakes.cluster.kinds import KINDS, NAMESPACE, Kind, Object
from fakes.cluster.statuses import Refused, bad
from fakes.core import wire_format as wire

DEPTH_MAX = 64
OPERATION_LENGTH_MAX = 255
MANAGER_LENGTH_MAX = 128
JSON = ("application/json", "")
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
STEPS, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
PATCHES = (STEPS, MERGE, STRATEGIC, APPLY)


class Resource(NamedTuple):
    """What a path names: a collection (no name), an object, or a part of one. `namespace` "" means all, or none."""

    kind: Kind
    namespace: str
    name: str
    part: str


def located(path: str) -> Resource | None:
    """The resource of a path, or None if it names none."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if "" in rest:
        return None
    namespace = ""
    if rest[0] == NAMESPACE.plural and len(rest) > 2 and not (len(rest) == 3 and not group and rest[2] == "status"):
        namespace, rest = rest[1], rest[2:]
    kind = next((k for k in KINDS if (k.group, k.version, k.plural) == (group, version, rest[0])), None)
    if kind is None or len(rest) > 3 or (namespace and not kind.is_namespaced):
        return None
    name, part = (*rest[1:], "", "")[:2]
    if (name and kind.is_namespaced and not namespace) or (part and not (part == "status" and kind.has_status)):
        return None
    return Resource(kind, namespace, name, part)


async def body_of(http: HttpRequest, accepted: tuple[str, ...]) -> tuple[Any, str]:
    """The body, and its media type. Raises Refused 400 for what is no JSON, 415 for a type that is not taken."""
    media = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in accepted:
        shown = ", ".join(each for each in accepted if each)
        raise Refused(415, f"the body of the request was in an unknown format - accepted media types include: {shown}")
    try:
        said = orjson.loads(await http.body())
    except orjson.JSONDecodeError:
        raise bad("the object provided is unrecognized: the body is not JSON") from None
    if is_deeper(said, DEPTH_MAX):
        raise bad("the object provided is unrecognized: it is nested too deeply")
    return said, media


async def object_of(http: HttpRequest) -> Object:
    """A body that is one object. Raises Refused."""
    said, _ = await body_of(http, JSON)
    return as_object(said)


def as_object(said: Any) -> Object:
    """Raises Refused for what is no object."""
    if not isinstance(said, dict):
        raise bad("the object provided is unrecognized: it is not an object")
    return said


def is_deeper(value: Any, left: int) -> bool:
    """Is there anything below so many levels?"""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return left == 0 or any(is_deeper(each, left - 1) for each in inner)


class Deletion(NamedTuple):
    """What a deletion asks for."""

    uid: str
    version: str
    is_dry: bool


async def deletion_of(http: HttpRequest) -> Deletion:
    """DeleteOptions, from the body if there is one, and from the query."""
    said = as_object((await body_of(http, (*JSON, "application/yaml")))[0]) if await http.body() else {}
    if said.get("kind") not in (None, "", "DeleteOptions"):
        raise bad("the kind in the data does not match the expected kind (DeleteOptions)")
    preconditions = said.get("preconditions") or {}
    if not isinstance(preconditions, dict):
        raise bad("preconditions is not an object")
    uid, version = preconditions.get("uid") or "", preconditions.get("resourceVersion") or ""
    if not isinstance(uid, str) or not isinstance(version, str):
        raise bad("uid and resourceVersion are strings")
    return Deletion(uid, version, is_dry(http.query_params) or said.get("dryRun") == ["All"])


def is_dry(query: QueryParams) -> bool:
    """Is it only asked whether it could be done? Raises Refused for another value than All."""
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise Refused(422, 'dryRun: Unsupported value: supported values: "All"')
    return value == "All"


def manager_name(http: HttpRequest) -> str:
    """Who writes: as the query says, else the program's name. Raises Refused for a name that is too long."""
    name = http.query_params.get("fieldManager") or http.headers.get("user-agent", "").partition("/")[0] or "unknown"
    if len(name) > MANAGER_LENGTH_MAX or not name.isprintable():
        raise Refused(422, f"fieldManager: Invalid value: may not be longer than {MANAGER_LENGTH_MAX} characters")
    return name


def operation_in(http: HttpRequest) -> str:
    """The operation that the header says, for requests whose body cannot: deletions. Or ""."""
    return unquote(http.headers.get(wire.OPERATION, ""))[:OPERATION_LENGTH_MAX]


def whole(query: QueryParams, name: str) -> int | None:
    """A whole number of the query, None if it says none. Raises Refused for anything else."""
    text = query.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise bad(f"{name}: Invalid value: must be a whole number")
    return int(text)


def is_yes(query: QueryParams, name: str) -> bool:
    """A flag of the query."""
    return query.get(name, "").lower() in ("1", "true", "t")
