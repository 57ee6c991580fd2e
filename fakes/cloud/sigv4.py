"""Who signs: verification of Signature Version 4, as the signing process of AWS documents it.

The date is part of the scope that is signed, but it is not compared with the clock: the clock of a fake may stand
still. Bodies are signed by what they are, or not at all (`UNSIGNED-PAYLOAD`).
Never here: how a refusal is worded.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote

ALGORITHM = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    rf"{ALGORITHM} +Credential=([^/, ]+)/(\d{{8}})/([\w-]+)/([\w-]+)/aws4_request, *"
    r"SignedHeaders=([a-z0-9;-]+), *Signature=([0-9a-f]{64})"
)


class Signed(NamedTuple):
    """The parts of a request that are signed: path and query as they were on the wire."""

    method: str
    path: str
    query: str
    headers: Iterable[tuple[str, str]]
    """Names in lower case."""
    body: bytes


class NotSigned(Exception):
    """Why the sender is not known: `missing`, `incomplete`, `unknown-key` or `wrong`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def verify(signed: Signed, secrets: Mapping[str, str]) -> str:
    """The access key that signed this. `secrets`: access key -> its secret. Raises NotSigned."""
    headers = _gathered(signed.headers)
    if "authorization" not in headers:
        raise NotSigned("missing")
    found = _AUTHORIZATION.fullmatch(headers["authorization"])
    if found is None or "x-amz-date" not in headers:
        raise NotSigned("incomplete")
    access_key, day, region, service, names, signature = found.groups()
    if access_key not in secrets:
        raise NotSigned("unknown-key")
    scope = f"{day}/{region}/{service}/aws4_request"
    canonical = hashlib.sha256(_canonical(signed, headers, names.split(";")).encode()).hexdigest()
    wanted = "\n".join((ALGORITHM, headers["x-amz-date"], scope, canonical))
    key = f"AWS4{secrets[access_key]}".encode()
    for part in (day, region, service, "aws4_request", wanted):
        key = hmac.digest(key, part.encode(), "sha256")
    if not hmac.compare_digest(key.hex(), signature):
        raise NotSigned("wrong")
    return access_key


def _gathered(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    gathered: dict[str, str] = {}
    for name, value in headers:
        trimmed = " ".join(value.split())
        gathered[name] = f"{gathered[name]},{trimmed}" if name in gathered else trimmed
    return gathered


def _canonical(signed: Signed, headers: Mapping[str, str], names: list[str]) -> str:
    query = "&".join(sorted(pair if "=" in pair else f"{pair}=" for pair in signed.query.split("&") if pair))
    lines = "".join(f"{name}:{headers.get(name, '')}\n" for name in names)
    payload = headers.get("x-amz-content-sha256", "")
    if payload != "UNSIGNED-PAYLOAD":
        payload = hashlib.sha256(signed.body).hexdigest()
    # A path is encoded once more for signing: what was %20 on the wire is signed as %2520.
    return "\n".join((signed.method, quote(signed.path, safe="/~"), query, lines, ";".join(names), payload))
