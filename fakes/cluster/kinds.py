"""The kinds of objects there are: a table, and what each adds to the common rules (defaults, and what must be there).

Validation is a part of the real one: enough to refuse what no client means. It names fields and never repeats values.
Never here: metadata, versions, HTTP.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Object = dict[str, Any]
Causes = Iterator[tuple[str, str]]
REPLICAS_MAX = 1_000_000
DEADLINE_S = 600


class Kind(NamedTuple):
    """One kind. `has_status`: there is a status, written apart, and a generation that counts changes of the spec."""

    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool = True
    has_status: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As messages name it: `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_controller(self) -> bool:
        """Does somebody act on it later?"""
        return self in (DEPLOYMENT, JOB, NAMESPACE)


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", is_namespaced=False, has_status=True)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
SECRET = Kind("", "v1", "Secret", "secrets")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", has_status=True)
JOB = Kind("batch", "v1", "Job", "jobs", has_status=True)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
KINDS = (NAMESPACE, CONFIG_MAP, SECRET, DEPLOYMENT, JOB, LEASE)


def completed(kind: Kind, said: Object) -> Object:
    """The object with its defaults. What is not understood stays as it is, and is found by `causes`."""
    match kind:
        case k if k == SECRET:
            return _secret(said)
        case k if k == NAMESPACE:
            return {**said, "spec": {"finalizers": ["kubernetes"]}}
        case k if k == DEPLOYMENT and isinstance(said.get("spec"), dict):
            strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
            return _defaulted(said, replicas=1, strategy=strategy, progressDeadlineSeconds=DEADLINE_S)
        case k if k == JOB and isinstance(said.get("spec"), dict):
            return _defaulted(said, completions=1, parallelism=1, backoffLimit=6)
    return said


def _defaulted(said: Object, **defaults: Any) -> Object:
    spec = {name: value for name, value in said["spec"].items() if value is not None}
    return {**said, "spec": {**defaults, **spec}}


def _secret(said: Object) -> Object:
    """`stringData` is written only: it goes into `data`."""
    plain = said.get("stringData")
    if not isinstance(plain, dict) or not all(isinstance(each, str) for each in plain.values()):
        return {"type": "Opaque", **said}
    encoded = {name: b64encode(text.encode()).decode() for name, text in plain.items()}
    rest = {name: value for name, value in said.items() if name != "stringData"}
    return {"type": "Opaque", **rest, "data": {**(said.get("data") or {}), **encoded}}


def causes(kind: Kind, said: Object) -> Causes:
    """What is wrong with the content, as (field, why); nothing if it can be stored."""
    checks: dict[Kind, Callable[[Object], Causes]] = {
        CONFIG_MAP: _config_map,
        SECRET: _secret_causes,
        DEPLOYMENT: _deployment,
        JOB: _job,
    }
    if check := checks.get(kind):
        yield from check(said)


def _config_map(said: Object) -> Causes:
    for field in ("data", "binaryData"):
        yield from _texts(said, field)


def _secret_causes(said: Object) -> Causes:
    yield from _texts(said, "data")
    if "stringData" in said:
        yield "stringData", "must be a map of strings"
    data = said.get("data")
    for name, value in data.items() if isinstance(data, dict) else ():
        try:
            b64decode(value, validate=True)
        except (TypeError, ValueError, binascii.Error):
            yield f"data[{str(name)[:63]}]", "must be base64"


def _texts(said: Object, field: str) -> Causes:
    value = said.get(field)
    if value is not None and not (isinstance(value, dict) and all(isinstance(each, str) for each in value.values())):
        yield field, "must be a map of strings"


def _deployment(said: Object) -> Causes:
    spec = said.get("spec")
    if not isinstance(spec, dict):
        yield "spec", "Required value"
        return
    if not _is_count(spec.get("replicas")):
        yield "spec.replicas", "must be a whole number that is not negative"
    selector = spec.get("selector")
    labels = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not isinstance(labels, dict) or not labels:
        yield "spec.selector", "Required value"
    yield from _template(spec, labels if isinstance(labels, dict) else {})


def _job(said: Object) -> Causes:
    spec = said.get("spec")
    if not isinstance(spec, dict):
        yield "spec", "Required value"
        return
    for name in ("completions", "parallelism", "backoffLimit"):
        if not _is_count(spec.get(name)):
            yield f"spec.{name}", "must be a whole number that is not negative"
    yield from _template(spec, {})


def _template(spec: Object, labels: Object) -> Causes:
    template = spec.get("template")
    inner = template.get("spec") if isinstance(template, dict) else None
    containers = inner.get("containers") if isinstance(inner, dict) else None
    if not isinstance(template, dict) or not isinstance(containers, list) or not containers:
        yield "spec.template.spec.containers", "Required value"
        return
    if not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in containers):
        yield "spec.template.spec.containers", "every container has a name"
    metadata = template.get("metadata") or {}
    carried = metadata.get("labels") if isinstance(metadata, dict) else None
    if labels and not (isinstance(carried, dict) and labels.items() <= carried.items()):
        yield "spec.template.metadata.labels", "`selector` does not match template `labels`"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= REPLICAS_MAX
