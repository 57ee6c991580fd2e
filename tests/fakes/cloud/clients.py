"""boto3 clients of a hosted cloud, and short forms of what they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from fakes.wire.hosting import Hosted

S = 1_000_000_000
ONCE = Config(retries={"total_max_attempts": 1, "mode": "standard"})
"""For tests of one request: whoever tests what boto3 re-sends takes its defaults."""


def client(hosted: Hosted, service: str, config: Config | None = None) -> Any:
    """A client with boto3's defaults, or this configuration."""
    entry = hosted.call(hosted.host.entry)
    return boto3.client(
        service,
        endpoint_url=entry["url"],
        region_name=entry["region"],
        aws_access_key_id=entry["access_key_id"],
        aws_secret_access_key=entry["secret_access_key"],
        config=config,
    )


def run(ec2: Any, token: str = "", count: int = 1, **tags: str) -> list[str]:
    """Launch; the ids."""
    more: dict[str, Any] = {"ClientToken": token} if token else {}
    if tags:
        said = [{"Key": key, "Value": value} for key, value in tags.items()]
        more["TagSpecifications"] = [{"ResourceType": "instance", "Tags": said}]
    launched = ec2.run_instances(ImageId="ami-1", MinCount=count, MaxCount=count, **more)["Instances"]
    return [each["InstanceId"] for each in launched]


def found(ec2: Any, *filters: tuple[str, str], **more: Any) -> dict[str, str]:
    """Instance id -> state."""
    asked = [{"Name": name, "Values": [value]} for name, value in filters]
    pages = ec2.get_paginator("describe_instances").paginate(Filters=asked, **more)
    instances = [each for page in pages for some in page["Reservations"] for each in some["Instances"]]
    return {each["InstanceId"]: each["State"]["Name"] for each in instances}


def change(action: str, value: str = "192.0.2.1", name: str = "www.example.test", **more: Any) -> dict[str, Any]:
    """One change of a record set."""
    said = {"Name": name, "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": value}], **more}
    return {"Action": action, "ResourceRecordSet": said}


def apply(route53: Any, zone: str, *changes: dict[str, Any], comment: str = "") -> str:
    """Apply a batch; the id of the change."""
    batch: dict[str, Any] = {"Changes": list(changes)}
    if comment:
        batch["Comment"] = comment
    answer = route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=batch)
    return str(answer["ChangeInfo"]["Id"])


def values(route53: Any, zone: str, name: str = "www.example.test.") -> list[str]:
    """What stands under a name."""
    pages = route53.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone)
    sets = [each for page in pages for each in page["ResourceRecordSets"] if each["Name"] == name]
    return [record["Value"] for each in sets for record in each["ResourceRecords"]]


def refusal(ask: Callable[[], object]) -> tuple[int, str]:
    """Status and code of the refusal."""
    try:
        ask()
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]
    raise AssertionError("it was not refused")


def actions(hosted: Hosted) -> list[str]:
    """The actions of all effects so far."""
    return [entry.data["action"] for entry in hosted.entries("effect")]
