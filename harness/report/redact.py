"""Secrets never reach a report: values that look like keys are replaced by `[redacted:HASH8]` before anything is
rendered.

Here: what looks like a secret, and the walk over a result that replaces it. Never here: rendering, or a way to switch
it off. The hash (first 8 hex digits of SHA-256) lets a reader see that two redacted values are equal; it is too short
to be the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Any, TypeVar, cast

from harness.model.event import Event

_T = TypeVar("_T")

_MARK = re.compile(r"\[redacted:[0-9a-f]{8}\]")
_SECRET_WORDS = (
    r"(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token)"
)
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_.-]){_SECRET_WORDS}$|^(?:authorization|token|credentials?|cookie)$")
_SECRET = re.compile(
    r"""
    \b(?:sk|rk|pk)_(?:live|test)_\w+                      # payment keys
    | \bwhsec_\w+                                         # webhook signing secrets
    | \bgh[opusr]_\w{16,} | \bgithub_pat_\w{16,}          # forge tokens
    | \bxox[abprs]-[\w-]{8,}                              # chat tokens
    | \bAKIA[0-9A-Z]{12,}                                 # cloud access keys
    | \beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*                   # signed web tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<=://)[^\s/@:]*:[^\s/@]+(?=@)                     # user:pass@ in a URL
    | (?i:(?<=bearer\ )|(?<=basic\ ))[A-Za-z0-9._~+/-]{8,}=*
    """,
    re.VERBOSE | re.DOTALL,
)
_ASSIGNED = re.compile(rf"(?i)\b({_SECRET_WORDS}|token)(=|['\"]\s*:\s*['\"]|(?<=\w)\s+(?=\S))([^\s'\"&,;]+)")
_OPTION = re.compile(rf"(?i)(--[\w-]*?(?:{_SECRET_WORDS}|token))([= ])(\S+)")


def mark(secret: str) -> str:
    """What stands in a report instead of a secret. A secret that is replaced already stays so."""
    return secret if _MARK.fullmatch(secret) else f"[redacted:{sha256(secret.encode()).hexdigest()[:8]}]"


def redact(text: str) -> str:
    """The text with everything that looks like a secret replaced. Half characters (lone surrogates) become escapes."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    text = _SECRET.sub(lambda found: mark(found.group()), text)
    if "=" in text or '"' in text or "'" in text:
        text = _ASSIGNED.sub(_assigned, text)
    return _OPTION.sub(_assigned, text) if "--" in text else text


def redacted(value: _T) -> _T:
    """The same value (result, event, mapping, ...) without secrets.

    Also what stands under a name such as `password`.
    """
    return cast(_T, _clean(value))


def _assigned(found: re.Match[str]) -> str:
    name, between, secret = found.groups()
    if between.isspace() and not name.startswith("--"):
        return found.group()
    return name + between + mark(secret)


def _clean(value: Any, name: str = "") -> Any:
    if isinstance(value, Enum) or value is None or isinstance(value, bool):
        return value
    if name and _SECRET_NAME.search(name) and isinstance(value, (str, int)) and value != "":
        return mark(str(value))
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Event):
        return value._replace(actor=redact(value.actor), where=redact(value.where), data=_clean(value.data))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _clean(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, Mapping):
        return {redact(str(key)): _clean(item, str(key)) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_clean(item, field) for item, field in zip(value, value._fields, strict=True)))
    if isinstance(value, (list, tuple)):
        return type(value)(_clean(item) for item in value)
    return value
