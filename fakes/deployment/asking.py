"""What a request of the forge says, read: its JSON body field by field, and its paging.

Never here: what is done with it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson
from starlette.requests import Request as HttpRequest

from fakes.core import wire_format as wire
from fakes.deployment.wording import Refused, unprocessable

DEPTH_MAX = 64
TEXT_LENGTH_MAX = 65_536
PAGE_SIZE, PAGE_SIZE_MAX = 30, 100
PAGES_MAX = 1_000_000
PATH_LENGTH_MAX = 1000
OPERATION_LENGTH_MAX = 255
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{1,200}")


class Fields:
    """A JSON object, read field by field. Every reader raises Refused for what has the wrong type."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said

    def raw(self, name: str) -> Any:
        """Whatever is there; None if nothing is."""
        return self._said.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """A text. Without a default it is required."""
        value = self._said.get(name)
        if value is None:
            if default is None:
                raise unprocessable(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
            return default
        if not isinstance(value, str) or (len(value) > TEXT_LENGTH_MAX and name != "content"):
            raise _wrong(name, "a string")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no."""
        value = self._said.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise _wrong(name, "a boolean")
        return value

    def texts(self, name: str) -> list[str] | None:
        """A list of texts, or None."""
        value = self._said.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _wrong(name, "an array of strings")
        return value


async def fields_of(http: HttpRequest) -> Fields:
    """The body. Raises Refused for what is no JSON object."""
    body = await http.body()
    if not body:
        return Fields({})
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refused(400, "Problems parsing JSON") from None
    if not isinstance(said, dict) or _is_deeper(said, DEPTH_MAX):
        raise Refused(400, "Body should be a JSON object")
    return Fields(said)


def _is_deeper(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_is_deeper(each, left - 1) for each in inner)


class Marks(NamedTuple):
    """What a caller says of itself: the logical operation, the business target, and the deployment it rolls back."""

    operation: str = ""
    target: str = ""
    undoes: int = 0


def marks_in(payload: Any, http: HttpRequest) -> Marks:
    """Marks from a deployment's payload or a workflow's inputs; the operation from the header if there is none."""
    if isinstance(payload, str):
        try:
            payload = orjson.loads(payload)
        except orjson.JSONDecodeError:
            payload = None
    said = payload if isinstance(payload, dict) else {}
    texts = {name: said[name] for name in ("operation", "target") if isinstance(said.get(name), str)}
    undoes = said.get("undoes")
    return Marks(
        (texts.get("operation") or operation_in(http))[:OPERATION_LENGTH_MAX],
        texts.get("target", "")[:OPERATION_LENGTH_MAX],
        undoes if isinstance(undoes, int) and not isinstance(undoes, bool) else 0,
    )


class About(NamedTuple):
    """What a request on its way is about, for those who compete with it."""

    ref: str = ""
    environment: str = ""
    deployment: int = 0


def operation_in(http: HttpRequest) -> str:
    """The operation that the header says, or ""."""
    return unquote(http.headers.get(wire.OPERATION, ""))[:OPERATION_LENGTH_MAX]


class Page(NamedTuple):
    """Which part of a list is asked for."""

    number: int
    size: int


def page_of(http: HttpRequest) -> Page:
    """The page asked for; whatever cannot be one is the first, as it is there."""
    number, size = _whole(http, "page", 1), _whole(http, "per_page", PAGE_SIZE)
    return Page(min(number, PAGES_MAX), min(size, PAGE_SIZE_MAX))


def _whole(http: HttpRequest, name: str, default: int) -> int:
    text = http.query_params.get(name, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    return number or default


def base_url(http: HttpRequest) -> str:
    """The address the caller used, so that what it is told to follow leads through the same proxy."""
    host = http.headers.get("host", "")
    return f"http://{host if _HOST.fullmatch(host) else 'localhost'}"


def _wrong(name: str, kind: str) -> Refused:
    return unprocessable(f"Invalid request.\n\nFor 'properties/{name}', the value is not {kind}.")


def checked_path(path: str) -> str:
    """A path inside the repository. Raises Refused."""
    parts = path.split("/")
    if len(path) > PATH_LENGTH_MAX or any(part in ("", ".", "..", ".git") for part in parts) or not path.isprintable():
        raise unprocessable("path contains a malformed path component")
    return path
