"""What programs say to the approval queue, as pydantic models. Never here: what it means."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue

from fakes.wire.json_api import Body

DEPTH_MAX = 16
WHOLE_MAX = 1 << 63
SECONDS_MAX = 10 * 366 * 24 * 3600

Word = Annotated[str, Field(min_length=1, max_length=200)]
"""A name, a digest: something that people and programs compare."""
Person = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
Seconds = Annotated[int, Field(ge=0, le=SECONDS_MAX)]


def _plain(value: Any) -> Any:
    """JSON that every reader can hold. Raises ValueError for what is too deep, too large or no number."""
    _check(value, DEPTH_MAX)
    return value


def _check(value: Any, depth_left: int) -> None:
    if depth_left < 0:
        raise ValueError(f"nested more than {DEPTH_MAX} deep")
    match value:
        case dict():
            for each in value.values():
                _check(each, depth_left - 1)
        case list():
            for each in value:
                _check(each, depth_left - 1)
        case float() if not math.isfinite(value):
            raise ValueError("a number that is none")
        case int() if abs(value) > WHOLE_MAX:
            raise ValueError(f"a whole number beyond {WHOLE_MAX}")


class RequestBody(Body):
    """POST /requests."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$")]
    """The client's own: asking again under it names the same approval."""
    digest: Word
    """Of the exact action, by whatever rule the requester and the consumer share."""
    requester: Annotated[str, Field(max_length=100)] = ""
    description: Annotated[str, Field(max_length=4000)] = ""
    """The action in words, for the person who decides."""
    parameters: Annotated[dict[str, JsonValue], AfterValidator(_plain)] = {}
    """The action's parameters, for the same person."""
    operation: Annotated[str, Field(max_length=200)] = ""
    decide_within_s: Seconds | None = None
    valid_s: Seconds | None = None


class Decision(Body):
    """POST /requests/{id}/decide."""

    decision: Literal["grant", "deny"]
    by: Person
    digest: Word


class Consumption(Body):
    """POST /requests/{id}/consume."""

    digest: Word
    consumer: Word


class Revocation(Body):
    """POST /requests/{id}/revoke."""

    by: Person


class Nothing(Body):
    """POST /requests/{id}/withdraw."""
