"""One cluster per module with a clock that stands still, empty again for every test."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from fakes.cluster.face import ClusterFake
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.cluster.visitor import caller, fresh


@pytest.fixture(scope="module")
def running() -> Iterator[Hosted]:
    with Hosted(ClusterFake, clock=Clock(is_manual=True)) as hosted:
        yield hosted


@pytest.fixture
def hosted(running: Hosted) -> Hosted:
    return fresh(running)


@pytest.fixture
def api(hosted: Hosted) -> Iterator[httpx.Client]:
    with caller(hosted) as client:
        yield client
