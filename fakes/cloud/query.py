"""The query protocol of EC2: form fields into values, and instances into XML.

Here: names of fields and elements. Fields of RunInstances that mean nothing here are taken, and are part of what its
client token is bound to.
Never here: what is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import parse_qsl

from fakes.cloud.instances import CODES, Instance, Launch, digest_of
from fakes.cloud.options import ACCOUNT
from fakes.cloud.words import AwsRefusal
from fakes.cloud.xml import Many, Value

FIELDS_MAX = 2000
TOKEN_LENGTH_MAX = 64
PER_CALL_MAX = 100
PAGE_MIN, PAGE_MAX = 5, 1000
KEY_LENGTH_MAX, VALUE_LENGTH_MAX = 128, 256
_UNBOUND = ("ClientToken", "Action", "Version")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class Fields(dict[str, str]):
    """The form fields of one request, by name."""

    def text(self, name: str) -> str:
        """A field that must be there. Raises AwsRefusal."""
        if not self.get(name):
            raise AwsRefusal("MissingParameter", f"The request must contain the parameter {name}")
        return self[name]

    def number(self, name: str, least: int, most: int) -> int:
        """A whole number within bounds. Raises AwsRefusal."""
        text = self.text(name)
        if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
            raise AwsRefusal("InvalidParameterValue", f"Invalid value '{text[:40]}' for {name}.")
        return int(text)

    def listed(self, prefix: str) -> list[str]:
        """`prefix.1`, `prefix.2`, ... as far as they go without a gap."""
        found: list[str] = []
        while (value := self.get(f"{prefix}.{len(found) + 1}")) is not None:
            found.append(value)
        return found

    def numbered(self, prefix: str) -> list[str]:
        """The prefixes `prefix.1`, `prefix.2`, ... that have fields of their own, as far as they go."""
        names = {name.split(".", 2)[1] for name in self if name.startswith(f"{prefix}.") and name.count(".") > 1}
        found: list[str] = []
        while str(len(found) + 1) in names:
            found.append(f"{prefix}.{len(found) + 1}")
        return found


class Filter(NamedTuple):
    """One filter of a look-up."""

    name: str
    globs: Sequence[str]


class Page(NamedTuple):
    """Which part of a look-up is asked for. `size` 0: all."""

    start: int
    size: int


def read_fields(text: str) -> Fields:
    """The fields of a form. Raises AwsRefusal."""
    try:
        return Fields(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except ValueError:
        raise AwsRefusal("MalformedQueryString", "The query string contains a syntax error") from None


def read_launch(fields: Fields) -> Launch:
    """RunInstances. Raises AwsRefusal."""
    least, most = fields.number("MinCount", 1, PER_CALL_MAX), fields.number("MaxCount", 1, PER_CALL_MAX)
    if least > most:
        raise AwsRefusal("InvalidParameterValue", "MaxCount must be at least MinCount.")
    token = fields.get("ClientToken", "")
    if len(token) > TOKEN_LENGTH_MAX or not token.isascii() or _CONTROL.search(token):
        raise AwsRefusal("InvalidParameterValue", f"ClientToken has at most {TOKEN_LENGTH_MAX} ASCII characters.")
    bound = [(name, value) for name, value in fields.items() if name not in _UNBOUND]
    image, type_ = fields.text("ImageId"), fields.get("InstanceType") or "m1.small"
    return Launch(image, type_, least, most, token, _launch_tags(fields), digest_of(bound))


def _launch_tags(fields: Fields) -> dict[str, str]:
    tags: dict[str, str] = {}
    for place in fields.numbered("TagSpecification"):
        if fields.get(f"{place}.ResourceType") == "instance":
            tags |= read_tags(fields, f"{place}.Tag")
    return tags


def read_tags(fields: Fields, prefix: str) -> dict[str, str]:
    """Tags by key. Raises AwsRefusal."""
    tags: dict[str, str] = {}
    number = 1
    while (key := fields.get(f"{prefix}.{number}.Key")) is not None:
        value = fields.get(f"{prefix}.{number}.Value", "")
        if not 0 < len(key) <= KEY_LENGTH_MAX or len(value) > VALUE_LENGTH_MAX or _CONTROL.search(key + value):
            raise AwsRefusal("InvalidParameterValue", "A tag has a key of 1 to 128 and a value of up to 256 characters")
        if key.startswith("aws:"):
            raise AwsRefusal("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
        tags[key] = value
        number += 1
    return tags


def read_filters(fields: Fields) -> list[Filter]:
    """All filters. Raises AwsRefusal."""
    places = fields.numbered("Filter")
    filters = [Filter(fields.text(f"{place}.Name"), fields.listed(f"{place}.Value")) for place in places]
    if any(len(glob) > VALUE_LENGTH_MAX for each in filters for glob in each.globs):
        raise AwsRefusal("FilterLimitExceeded", f"A filter's value has at most {VALUE_LENGTH_MAX} characters")
    return filters


def read_page(fields: Fields, has_ids: bool) -> Page:
    """Which part is asked for. Raises AwsRefusal."""
    start = 0
    if token := fields.get("NextToken", ""):
        found = re.fullmatch(r"page-(\d{1,9})", token, re.ASCII)
        if found is None:
            raise AwsRefusal("InvalidPaginationToken", "The specified pagination token is not valid or is expired.")
        start = int(found[1])
    if "MaxResults" not in fields:
        return Page(start, 0)
    if has_ids:
        message = "The parameter instancesSet cannot be used with the parameter maxResults"
        raise AwsRefusal("InvalidParameterCombination", message)
    return Page(start, fields.number("MaxResults", PAGE_MIN, PAGE_MAX))


def moment(at_ns: int) -> str:
    """A moment as EC2 writes it."""
    return datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def reservations(instances: Iterable[Instance], region: str) -> Value:
    """Instances by reservation, in their order."""
    gathered: dict[str, list[Instance]] = {}
    for instance in instances:
        gathered.setdefault(instance.reservation, []).append(instance)
    return Many("item", [reservation(id_, each, region) for id_, each in gathered.items()])


def reservation(id_: str, instances: Sequence[Instance], region: str) -> dict[str, Value]:
    """One reservation."""
    many = Many("item", [_instance(instance, region) for instance in instances])
    return {"reservationId": id_, "ownerId": ACCOUNT, "groupSet": Many("item", ()), "instancesSet": many}


def _instance(instance: Instance, region: str) -> Mapping[str, Value]:
    shown: dict[str, Value] = {
        "instanceId": instance.id,
        "imageId": instance.image,
        "instanceState": state(instance.state),
        "privateDnsName": "",
        "dnsName": "",
        "reason": instance.reason[1] if instance.reason else "",
        "amiLaunchIndex": instance.place,
        "instanceType": instance.type,
        "launchTime": moment(instance.launched_ns),
        "placement": {"availabilityZone": f"{region}a", "tenancy": "default"},
    }
    if instance.reason:
        shown["stateReason"] = {"code": instance.reason[0], "message": instance.reason[1]}
    if instance.token:
        shown["clientToken"] = instance.token
    tags: list[Value] = [{"key": key, "value": value} for key, value in instance.tags.items()]
    return {**shown, "tagSet": Many("item", tags)}


def state(name: str) -> dict[str, Value]:
    """A state with its number."""
    return {"code": CODES[name], "name": name}


def terminated(changes: Iterable[tuple[str, str, str]]) -> Value:
    """What TerminateInstances did."""
    return Many(
        "item",
        [
            {"instanceId": id_, "currentState": state(now), "previousState": state(before)}
            for id_, before, now in changes
        ],
    )
