"""The REST-XML protocol of Route 53: bodies into values, and values into elements.

Never here: what is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from fakes.cloud.names import TYPES, Key, check_value, normal
from fakes.cloud.query import moment
from fakes.cloud.words import AwsRefusal
from fakes.cloud.xml import Many, NotXml, Value, read, text_of
from fakes.cloud.zones import NAME_SERVERS, Body, Wanted, Zone

CHANGES_MAX = 1000
VALUES_MAX = 400
VALUE_LENGTH_MAX = 4000
TEXT_LENGTH_MAX = 128
COMMENT_LENGTH_MAX = 256
TTL_MAX = 2_147_483_647
LISTED_MAX = 300
ACTIONS = ("CREATE", "DELETE", "UPSERT")
MORE = (
    "Weight",
    "Region",
    "Failover",
    "MultiValueAnswer",
    "HealthCheckId",
    "AliasTarget/HostedZoneId",
    "AliasTarget/DNSName",
    "AliasTarget/EvaluateTargetHealth",
)
"""Elements of a record set that are kept and shown, and mean nothing here."""
_KNOWN = {"Name", "Type", "SetIdentifier", "TTL", "ResourceRecords", *(name.partition("/")[0] for name in MORE)}


class NewZone(NamedTuple):
    """CreateHostedZone."""

    name: str
    caller_reference: str
    comment: str
    is_private: bool


def invalid(message: str) -> AwsRefusal:
    """The input does not have the form it must have."""
    return AwsRefusal("InvalidInput", message)


def read_zone(body: bytes) -> NewZone:
    """Raises AwsRefusal."""
    root = _root(body, "CreateHostedZoneRequest")
    name, caller_reference = text_of(root, "Name"), text_of(root, "CallerReference")
    if not name or not caller_reference or len(caller_reference) > TEXT_LENGTH_MAX:
        raise invalid("A hosted zone has a Name, and a CallerReference of 1 to 128 characters")
    comment = _comment(root, "HostedZoneConfig/Comment")
    is_private = text_of(root, "HostedZoneConfig/PrivateZone") == "true"
    return NewZone(normal(name), caller_reference, comment, is_private)


def read_batch(zone_id: str, body: bytes) -> tuple[list[Wanted], str]:
    """The changes of a batch and its comment. Raises AwsRefusal."""
    root = _root(body, "ChangeResourceRecordSetsRequest")
    changes = root.findall("ChangeBatch/Changes/Change")
    if not 0 < len(changes) <= CHANGES_MAX:
        raise invalid(f"A batch has from 1 to {CHANGES_MAX} changes")
    wanted = [_wanted(zone_id, change) for change in changes]
    if wrong := [problem for each in wanted if (problem := _value_problem(each))]:
        raise AwsRefusal("InvalidChangeBatch", f"[{', '.join(wrong)}]")
    return wanted, _comment(root, "ChangeBatch/Comment")


def _root(body: bytes, name: str) -> Element:
    try:
        return read(body, name)
    except NotXml as error:
        raise invalid(f"The request body cannot be read: {error}") from None


def _comment(root: Element, path: str) -> str:
    comment = text_of(root, path) or ""
    if len(comment) > COMMENT_LENGTH_MAX:
        raise invalid(f"A comment has at most {COMMENT_LENGTH_MAX} characters")
    return comment


def _wanted(zone_id: str, change: Element) -> Wanted:
    action, found = text_of(change, "Action"), change.find("ResourceRecordSet")
    if action not in ACTIONS or found is None:
        raise invalid(f"A change has a ResourceRecordSet and an Action of {', '.join(ACTIONS)}")
    name, type_, set_ = text_of(found, "Name"), text_of(found, "Type"), text_of(found, "SetIdentifier") or ""
    if not name or type_ not in TYPES or len(set_) > TEXT_LENGTH_MAX or "|" in set_:
        raise invalid(
            f"A record set has a Name, a Type of {', '.join(TYPES)}, and a SetIdentifier of 0 to 128 characters"
        )
    if unknown := [each.tag for each in found if each.tag not in _KNOWN]:
        raise invalid(f"Element {unknown[0][:80]} is not known here")
    return Wanted(action, Key(zone_id, normal(name), type_, set_), _read_body(found))


def _read_body(found: Element) -> Body:
    values = [(value.text or "").strip() for value in found.findall("ResourceRecords/ResourceRecord/Value")]
    more = tuple((name, text) for name in MORE if (text := text_of(found, name)) is not None)
    is_alias = any(name == "AliasTarget/DNSName" for name, _ in more)
    ttl = text_of(found, "TTL") or ""
    if is_alias:
        if values or ttl:
            raise invalid("An alias has neither TTL nor ResourceRecords")
        return Body(0, (), more)
    if not (ttl.isascii() and ttl.isdigit() and len(ttl) <= 10 and int(ttl) <= TTL_MAX):
        raise invalid(f"A record set that is no alias has a TTL from 0 to {TTL_MAX}")
    if not 0 < len(values) <= VALUES_MAX or any(len(value) > VALUE_LENGTH_MAX for value in values):
        raise invalid(
            f"A record set that is no alias has 1 to {VALUES_MAX} values of up to {VALUE_LENGTH_MAX} characters"
        )
    return Body(int(ttl), tuple(values), more)


def _value_problem(wanted: Wanted) -> str:
    key, values = wanted.key, wanted.body.values
    for value in values:
        if problem := check_value(key.type, value):
            return f"Invalid Resource Record: '{problem}', encountered with '{value[:80]}'"
    if len(set(values)) < len(values):
        return f"Duplicate Resource Record in [name='{key.name}', type='{key.type}']"
    if key.type == "CNAME" and len(values) > 1:
        return f"RRSet of type CNAME with DNS name {key.name} has more than one value"
    return ""


# Writing.


def change_info(change: Mapping[str, Any]) -> Value:
    """A change."""
    comment: dict[str, Value] = {"Comment": change["comment"]} if change["comment"] else {}
    submitted = moment(change["submitted_ns"])
    return {"Id": f"/change/{change['id']}", "Status": change["status"], "SubmittedAt": submitted, **comment}


def zone_shown(zone: Zone) -> Value:
    """A zone."""
    comment: dict[str, Value] = {"Comment": zone.comment} if zone.comment else {}
    return {
        "Id": f"/hostedzone/{zone.id}",
        "Name": zone.name,
        "CallerReference": zone.caller_reference,
        "Config": {**comment, "PrivateZone": zone.is_private},
        "ResourceRecordSetCount": zone.records,
    }


def delegation() -> Value:
    """Where every zone is served."""
    return {"NameServers": Many("NameServer", [name.removesuffix(".") for name in NAME_SERVERS])}


def records_shown(records: Sequence[tuple[Key, Body]]) -> Value:
    """Record sets."""
    return Many("ResourceRecordSet", [_record_shown(key, body) for key, body in records])


def _record_shown(key: Key, body: Body) -> Value:
    shown: dict[str, Value] = {"Name": key.name, "Type": key.type}
    if key.set:
        shown["SetIdentifier"] = key.set
    alias: dict[str, Value] = {}
    for name, text in body.more:
        parent, _, child = name.partition("/")
        if child:
            alias[child] = text
        else:
            shown[parent] = text
    if alias:
        return {**shown, "AliasTarget": alias}
    values: list[Value] = [{"Value": value} for value in body.values]
    return {**shown, "TTL": body.ttl, "ResourceRecords": Many("ResourceRecord", values)}
