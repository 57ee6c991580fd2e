"""`result.json`: a campaign's result as bytes and back.

Here: the two directions, nothing else. Never here: the shape (it follows from `harness.model.result`; `schema` draws
it) or files. Fields stand in the order in which the classes declare them, keys of free mappings are sorted: equal
results give equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import orjson

from harness.model.errors import UsageError
from harness.model.event import Event
from harness.model.result import RESULT_SCHEMA_VERSION, CampaignResult, Coverage, Failure, RunRow
from harness.model.verdict import Outcome, Verdict
from harness.report.redact import redacted

_COPY_AGAIN = "Make it again with the campaign's own command, or read it with the version that wrote it."


def to_json(result: CampaignResult) -> bytes:
    """The result as indented UTF-8 JSON, `schema` first, without secrets."""
    return orjson.dumps({"schema": RESULT_SCHEMA_VERSION} | plain(redacted(result)), option=orjson.OPT_INDENT_2) + b"\n"


def from_json(data: bytes) -> CampaignResult:
    """The inverse of `to_json`. Raises UsageError when the bytes are not a result of this schema version."""
    try:
        read = orjson.loads(data)
        version = read.get("schema") if isinstance(read, dict) else None
        if version != RESULT_SCHEMA_VERSION:
            raise _bad(f"its schema version is {version!r}, this program reads {RESULT_SCHEMA_VERSION}")
        return _result(read)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise _bad(f"{type(error).__name__}: {error}") from error


def plain(value: Any) -> Any:
    """A value of a result as dicts, lists and scalars; an event as an object with named fields."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Event):
        return {name: plain(item) for name, item in value._asdict().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _bad(why: str) -> UsageError:
    return UsageError(f"The campaign's result cannot be read: {why}.", where="result.json", next_step=_COPY_AGAIN)


def _result(data: Mapping[str, Any]) -> CampaignResult:
    read = {f.name: data[f.name] for f in fields(CampaignResult)}
    read["control"], read["outcome"] = Outcome(data["control"]), Outcome(data["outcome"])
    read["control_verdicts"] = _verdicts(data["control_verdicts"])
    read["coverage"] = Coverage(**data["coverage"] | {"left_out": tuple(data["coverage"]["left_out"])})
    read["rows"] = tuple(_row(row) for row in data["rows"])
    read["failures"] = tuple(_failure(failure) for failure in data["failures"])
    return CampaignResult(**read)


def _row(data: Mapping[str, Any]) -> RunRow:
    return RunRow(**dict(data) | {"outcome": Outcome(data["outcome"]), "verdicts": _verdicts(data["verdicts"])})


def _failure(data: Mapping[str, Any]) -> Failure:
    events = tuple(Event(**event) for event in data["events"])
    read = {"verdicts": _verdicts(data["verdicts"]), "story": tuple(data["story"]), "events": events}
    return Failure(**dict(data) | read)


def _verdicts(rows: list[dict[str, Any]]) -> tuple[Verdict, ...]:
    return tuple(
        Verdict(row["guarantee"], Outcome(row["outcome"]), tuple(row["witness"]), row["explanation"], row["subject"])
        for row in rows
    )
