"""Refusals as the API server words them: `Status` objects, with a reason a program can go by.

Two different things are answered 409: `AlreadyExists` (the name is taken) and `Conflict` (the object is not the one the
request speaks of any more).
Never here: when something is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakes.cluster.kinds import Kind
from harness.model.errors import ProviderFailure

REASONS: Mapping[int, str] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
MESSAGES: Mapping[int, str] = {
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    413: "Request entity too large: limit is 1048576",
    429: "the server has received too many requests and has asked us to try again later",
    500: "Internal error occurred",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
VALUE_LENGTH_MAX = 200


class Refused(ProviderFailure):
    """A refusal of the API server's."""

    def __init__(self, code: int, message: str, *, reason: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__("refused", message)
        self.status = code
        self.reason = reason or REASONS.get(code, "")
        self.details = details

    def as_data(self) -> dict[str, Any]:
        """The Status object."""
        return status_data(self.status, str(self), self.reason, self.details)


def status_data(
    code: int, message: str = "", reason: str = "", details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A Status object that says Failure."""
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    said["message"] = message or MESSAGES.get(code, f"the server responded with the status code {code}")
    said["reason"] = reason or REASONS.get(code, "")
    return {**said, **({"details": dict(details)} if details else {}), "code": code}


def success_data(kind: Kind, name: str, uid: str) -> dict[str, Any]:
    """The answer to a deletion that left nothing."""
    details = {"name": name, **_group(kind), "kind": kind.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def not_found(kind: Kind, name: str) -> Refused:
    """There is no such object."""
    shown = name[:VALUE_LENGTH_MAX]
    return Refused(404, f'{kind.qualified} "{shown}" not found', details=_details(kind, shown))


def already_exists(kind: Kind, name: str) -> Refused:
    """The name is taken."""
    message = f'{kind.qualified} "{name}" already exists'
    return Refused(409, message, reason="AlreadyExists", details=_details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refused:
    """The object is not what the request takes it for."""
    message = f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}'
    return Refused(409, message, details=_details(kind, name))


def modified(kind: Kind, name: str) -> Refused:
    """It has another resourceVersion by now."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why)


def invalid(kind: Kind, name: str, *causes: tuple[str, str]) -> Refused:
    """It cannot be stored so: (field, what is wrong with it). Values are never repeated: they may be secrets."""
    told = [{"reason": "FieldValueInvalid", "message": why, "field": field} for field, why in causes]
    listed = ", ".join(f"{field}: {why}" for field, why in causes)
    shown = name[:VALUE_LENGTH_MAX]
    message = f'{kind.kind}{f".{kind.group}" if kind.group else ""} "{shown}" is invalid: {listed}'
    details = {"name": shown, **_group(kind), "kind": kind.kind, "causes": told}
    return Refused(422, message, details=details)


def forbidden(kind: Kind, name: str, why: str) -> Refused:
    """It may not be done."""
    message = f'{kind.qualified} "{name}" is forbidden: {why}'
    return Refused(403, message, details=_details(kind, name))


def bad(message: str) -> Refused:
    """The request cannot be understood."""
    return Refused(400, message)


def field_conflict(conflicts: Sequence[tuple[str, str]]) -> Refused:
    """A server-side apply wants fields that others own: (manager, field)."""
    count = len(conflicts)
    told = [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{manager}"', "field": field}
        for manager, field in conflicts
    ]
    listed = "; ".join(f'conflict with "{manager}": {field}' for manager, field in conflicts)
    message = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: {listed}"
    return Refused(409, message, details={"causes": told})


def _details(kind: Kind, name: str) -> dict[str, Any]:
    return {"name": name, **_group(kind), "kind": kind.plural}


def _group(kind: Kind) -> dict[str, str]:
    return {"group": kind.group} if kind.group else {}
