"""One hosted fake for a module, and for each test the state it had when it was new."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakes.payment.face import PaymentFake
from fakes.wire.hosting import Hosted
from tests.fakes.payment.customer import Desk, Shop


@pytest.fixture(scope="module")
def standing() -> Iterator[Hosted]:
    with Hosted(PaymentFake) as hosted:
        yield hosted


@pytest.fixture
def hosted(standing: Hosted) -> Iterator[Hosted]:
    before = standing.call(standing.desk.snapshot)
    yield standing
    standing.call(standing.desk.board.clear)
    standing.call(lambda: standing.desk.restore(before))
    assert standing.entries("bug") == []


@pytest.fixture
def shop(hosted: Hosted) -> Iterator[Shop]:
    shop = Shop(hosted)
    yield shop
    shop.close()


@pytest.fixture
def desk() -> Desk:
    return Desk()
