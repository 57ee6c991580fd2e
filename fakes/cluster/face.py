"""A cluster's API server over HTTP, in JSON: namespaces, config maps, secrets, deployments, jobs, leases.

The target of an effect is `Kind/namespace/name`. Its operation is the annotation `knownstate/operation` of the body
(of a patch: what the patch says); a deletion, which has no annotations, says it in the header `X-Operation`. There are
no keys and no deadlines, so of the cell only `lookup` is spoken of: `eventual` shows every read as it was a little
earlier, `absent` forbids reads. Success is what the status says later (SETTLE), not the 200.

Points: RECEIVED, PARSED, BEFORE_COMMIT, AFTER_COMMIT, RESPONDING, RESPONDED of every change (`what=object.apply`,
`object.delete`, `object.status`); PARSED and READ of every read (`object.get`, `object.list`, `object.watch`); EVENT of
every line of a watch; SETTLE of every controller. KEY_CLAIMED is crossed with no key.
Values of secrets are in the kept state and in answers, and nowhere else.
Never here: what each route does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import orjson
from pydantic import Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from fakes.cluster.asking import located
from fakes.cluster.changing import PROTECTED, Changing
from fakes.cluster.effects import Effects
from fakes.cluster.kinds import KINDS, NAMESPACE, SECRET, Kind, Object
from fakes.cluster.ownership import UPDATE, Manager
from fakes.cluster.reading import Reading
from fakes.cluster.settling import Settling, utc
from fakes.cluster.statuses import Refused, status_data
from fakes.cluster.store import MARK, Place, Store, place_of, target_of
from fakes.cluster.watching import Watching
from fakes.cluster.writing import Write, created
from fakes.core.kernel import OUTSIDE
from fakes.wire.clock import MANUAL_START_NS
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Options
from fakes.wire.fake import Place as Address
from fakes.wire.http import HttpFake, Refusal, json_refusal
from fakes.wire.journal_file import Document
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.errors import ERRORS, ProviderFailure

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
OPEN = ("/version", "/healthz", "/livez", "/readyz")
"""Paths that need no token."""
VERSION = {"major": "1", "minor": "33", "gitVersion": "v1.33.0", "platform": "linux/amd64"}
SEEDED = "seeded"


class ClusterOptions(Options):
    """What can be configured."""

    token: str = Field("test-token-of-the-cluster", min_length=1, max_length=200)
    """The only token that is let in. It is a test credential and opens nothing."""
    settle_delay_ns: int = Field(200_000_000, ge=-1, le=10**18)
    """How long after a change its controller acts; -1: never."""
    events_max: int = Field(1000, ge=1, le=100_000)
    """How many changes a watch or a continued list may go back."""


class ClusterFake(HttpFake):
    """The API server, hosted."""

    name: ClassVar[str] = "cluster"
    title: ClassVar[str] = "Cluster: objects, watches and controllers in the manner of the Kubernetes API"
    options_class: ClassVar[type[Options]] = ClusterOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "edit": "Somebody else edits the object: it has another resourceVersion.",
        "delete": "Somebody else deletes the object.",
        "create": "Somebody else creates an object of this name.",
        "compact": "The server forgets the past: watches and continued lists from before are answered 410.",
    }
    user: ClassVar[str] = "system:serviceaccount:default:test"
    options: ClusterOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        self.shelf = Shelf()
        self.store = Store(self.shelf, self.options.events_max)
        cell = options.provider_cell
        self.effects = Effects(cell, now=desk.clock.now_ns, record=desk.record, later=desk.later)
        self.settling = Settling(desk, self.shelf, self.store, self.effects, self.options.settle_delay_ns)
        self.reading = Reading(self)
        self.changing = Changing(self)
        self.watching = Watching(self)
        self.state = _ClusterState(self)

    def application(self) -> Starlette:
        async def refuse(http: HttpRequest, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            return self.answer(status_data(error.status_code), error.status_code)

        route = Route("/{path:path}", self._route, methods=METHODS)
        return Starlette(routes=[route], exception_handlers={HTTPException: refuse})

    async def _route(self, http: HttpRequest) -> Response:
        path = http.scope["path"]
        if path not in OPEN:
            self._admit(http)
        asked = located(path)
        if asked is None:
            return await self._about(http, path)
        match http.method, bool(asked.name):
            case (("GET" | "HEAD"), True):
                return await self.reading.get(http, asked)
            case (("GET" | "HEAD"), False):
                return await self.reading.list(http, asked)
            case "POST", False:
                return await self.changing.create(http, asked)
            case "PUT", True:
                return await self.changing.replace(http, asked)
            case "PATCH", True:
                return await self.changing.patch(http, asked)
            case "DELETE", True if not asked.part:
                return await self.changing.delete(http, asked)
            case "DELETE", False if asked.namespace or not asked.kind.is_namespaced:
                return await self.changing.delete_all(http, asked)
        raise Refused(405, "the server does not allow this method on the requested resource")

    def _admit(self, http: HttpRequest) -> None:
        scheme, _, token = http.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token.strip() != self.options.token:
            raise Refused(401, "Unauthorized")

    async def _about(self, http: HttpRequest, path: str) -> Response:
        """What the server says of itself."""
        if http.method in ("GET", "HEAD"):
            if path in OPEN[1:]:
                return Response("ok", media_type="text/plain")
            told = VERSION if path == OPEN[0] else _discovery(path.rstrip("/"))
            if told is not None:
                return self.answer(told)
        raise Refused(404, "the server could not find the requested resource")

    def answer(self, data: Any, status: int = 200) -> Response:
        """A JSON response."""
        return Response(orjson.dumps(data), status, media_type="application/json")

    # Words.

    def refusal(self, code: int, call: Call) -> Refusal:
        return json_refusal(status_data(code))

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        if isinstance(failed, Refused):
            return failed.status, json_refusal(failed.as_data())
        spec = ERRORS.get(failed.code)
        status = spec.status if spec is not None and spec.status else 500
        return status, json_refusal(status_data(status, str(failed)))

    # For those who host it.

    def entry(self, places: Mapping[str, Address]) -> dict[str, Any]:
        url, token = places[self.port].url, self.options.token
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": url}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
            "current-context": "test",
        }
        env = {"CLUSTER_API_BASE": url, "CLUSTER_TOKEN": token}
        return {"url": url, "token": token, "kubeconfig": config, "env": env}

    def view(self) -> Any:
        shown = {}
        for kind in KINDS:
            for place, value in self.store.all(kind).items():
                shown[target_of(kind, place.namespace, place.name)] = _public(kind, value)
        return {"version": self.store.version, "compacted": self.store.compacted, "objects": shown}

    def seed(self) -> None:
        """The namespaces there are from the beginning, if they never were."""
        if self.shelf.get(MARK, SEEDED) is not None:
            return
        write = Write(Manager("kube-apiserver", UPDATE), utc(MANUAL_START_NS))
        for name in PROTECTED:
            place = place_of(NAMESPACE, "", name)
            if self.store.get(place) is None:
                self.store.put(place, created(NAMESPACE, {}, "", name, self.store.new_uid(), write), MANUAL_START_NS)
        self.shelf.put(MARK, SEEDED, True)

    def compete(self, what: str, facts: Facts) -> None:
        if what not in self.competitors:
            super().compete(what, facts)
        if what == "compact":
            self.store.compact()
            return
        kind, place = _aimed(facts.target)
        self.changing.outside(what, kind, place, OUTSIDE)


def _aimed(target: str) -> tuple[Kind, Place]:
    """The kind and place of a target. Raises LookupError for one that names no object."""
    name, *rest = target.split("/")
    kind = next((each for each in KINDS if each.kind == name), None)
    if kind is None or len(rest) != (2 if kind.is_namespaced else 1) or rest[-1] in ("", "*"):
        raise LookupError(f"{target!r} is no object to act on")
    return kind, Place(kind.plural, rest[0] if kind.is_namespaced else "", rest[-1])


def _public(kind: Kind, value: Object) -> Object:
    """For people: of a secret only the names of its entries, and no account of who owns which field."""
    metadata = {name: each for name, each in value["metadata"].items() if name != "managedFields"}
    if kind != SECRET:
        return {**value, "metadata": metadata}
    annotations = {
        name: each for name, each in metadata.get("annotations", {}).items() if name.startswith("knownstate/")
    }
    return {
        "metadata": {**metadata, "annotations": annotations},
        "type": value.get("type", ""),
        "data": sorted(value.get("data") or {}),
    }


def _discovery(path: str) -> dict[str, Any] | None:
    """The documents from which dynamic clients learn what there is."""
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    groups = {kind.group: kind.version for kind in KINDS if kind.group}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*each) for each in groups.items()]}
    for kind in KINDS:
        if path == (f"/apis/{kind.api_version}" if kind.group else "/api/v1"):
            listed = [_resource(each) for each in KINDS if each.api_version == kind.api_version]
            return {"kind": "APIResourceList", "groupVersion": kind.api_version, "resources": listed}
    return None


def _group(name: str, version: str) -> dict[str, Any]:
    only = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [only], "preferredVersion": only}


def _resource(kind: Kind) -> dict[str, Any]:
    verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    named = {"name": kind.plural, "singularName": kind.kind.lower(), "kind": kind.kind}
    return {**named, "namespaced": kind.is_namespaced, "verbs": verbs}


class _ClusterState(ProviderState):
    """The effects and the shelf; after a restart, controllers go on and watches begin anew."""

    def __init__(self, fake: ClusterFake) -> None:
        super().__init__(fake.effects, fake.shelf)
        self._fake = fake

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        super().load(documents)
        self._fake.seed()
        self._fake.settling.go_on()
        self._fake.watching.end_all()
