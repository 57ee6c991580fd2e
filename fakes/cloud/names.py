"""Names of record sets: their one form, their order, and what values a type takes.

Never here: what stands under a name.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from fakes.cloud.words import AwsRefusal

NAME_LENGTH_MAX = 255
LABEL_LENGTH_MAX = 63
TYPES = ("A", "AAAA", "CAA", "CNAME", "DS", "MX", "NAPTR", "NS", "PTR", "SOA", "SPF", "SRV", "TXT")
_PLAIN = re.compile(r"[a-z0-9_-]")
_ESCAPED = re.compile(r"\\[0-7]{3}")
_QUOTED = re.compile(r'("(?:[^"\\]|\\.)*")(\s+"(?:[^"\\]|\\.)*")*')


class Key(NamedTuple):
    """What a record set is found by."""

    zone: str
    name: str
    type: str
    set: str
    """The set identifier of a routing policy, or ""."""


def shown_type(key: Key) -> str:
    """The type, with the set identifier if there is one."""
    return f"{key.type} {key.set}" if key.set else key.type


def normal(name: str) -> str:
    """A name as it is listed: small letters, a last dot, and everything unusual as an octal escape. Raises AwsRefusal."""
    text = name.strip().removesuffix(".").lower()
    labels = [_label(label) for label in text.split(".")]
    if not text or len(text) > NAME_LENGTH_MAX or not text.isascii() or not all(labels):
        raise AwsRefusal("InvalidDomainName", f"The domain name '{name[:80]}' is not valid.")
    return ".".join(labels) + "."


def _label(label: str) -> str:
    """ "" for what is no label."""
    parts = re.findall(r"\\[0-7]{3}|.", label, re.DOTALL)
    if not 0 < len(parts) <= LABEL_LENGTH_MAX:
        return ""
    return "".join(
        part if _PLAIN.fullmatch(part) or _ESCAPED.fullmatch(part) else f"\\{ord(part):03o}" for part in parts
    )


def sort_key(key: Key) -> tuple[list[str], str, str]:
    """Record sets are listed by their names' labels from the last to the first, then by type."""
    return key.name.removesuffix(".").split(".")[::-1], key.type, key.set


def check_value(type_: str, value: str) -> str:
    """What is wrong with a value, in the provider's manner, or ""."""
    if type_ in ("A", "AAAA"):
        try:
            is_right = ipaddress.ip_address(value).version == (4 if type_ == "A" else 6)
        except ValueError:
            is_right = False
        kind = "IPv4" if type_ == "A" else "IPv6"
        return "" if is_right else f"Value is not a valid {kind} address"
    if type_ in ("TXT", "SPF"):
        return "" if _QUOTED.fullmatch(value) else "Value should be enclosed in quotation marks"
    if type_ == "MX":
        return "" if re.fullmatch(r"\d{1,5}\s+\S+", value, re.ASCII) else "Value is not a preference and a host name"
    if type_ in ("CNAME", "NS", "PTR"):
        return "" if re.fullmatch(r"[!-~]{1,255}", value) else "Value is not a domain name"
    return "" if value else "Value is empty"
