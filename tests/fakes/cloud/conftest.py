"""A hosted cloud whose clock only moves when told, and boto3 clients that ask once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fakes.cloud.face import CloudFake
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.cloud.clients import ONCE, client


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted(CloudFake, clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def ec2(hosted: Hosted) -> Any:
    return client(hosted, "ec2", ONCE)


@pytest.fixture
def route53(hosted: Hosted) -> Any:
    return client(hosted, "route53", ONCE)


@pytest.fixture
def zone(route53: Any) -> str:
    """A new hosted zone, example.test."""
    answer = route53.create_hosted_zone(Name="example.test", CallerReference="ref-1")
    return str(answer["HostedZone"]["Id"])
