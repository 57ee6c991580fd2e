"""What the shop's tests share: hosted shops, each kept for a module and put back to its beginning after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fakes.checkout.driver import chromium
from fakes.checkout.face import ShopFake
from fakes.checkout.options import ShopOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.checkout.visitor import Visitor, bugs

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def shops() -> Iterator[Callable[..., Hosted]]:
    """Give a hosted shop for these options, the same one each time within a module."""
    opened: dict[str, Hosted] = {}
    with ExitStack() as stack:

        def shop(**options: Any) -> Hosted:
            wanted = ShopOptions(**options)
            name = wanted.model_dump_json()
            if name not in opened:
                opened[name] = stack.enter_context(Hosted(ShopFake, wanted, clock=Clock(is_manual=True)))
            return opened[name]

        yield shop


@pytest.fixture
def open_shop(shops: Callable[..., Hosted]) -> Iterator[Callable[..., Hosted]]:
    """The same, with nothing in it at first. No test may leave a bug or an armed hook behind."""
    used: list[Hosted] = []

    def shop(**options: Any) -> Hosted:
        hosted = shops(**options)
        if hosted not in used:
            hosted.call(lambda: hosted.desk.restore([]))
            used.append(hosted)
        return hosted

    yield shop
    for hosted in used:
        hosted.call(hosted.desk.board.clear)
        assert not bugs(hosted)


@pytest.fixture
def visit(open_shop: Callable[..., Hosted]) -> Iterator[Callable[..., tuple[Hosted, Visitor]]]:
    """Open a shop with these options and send a visitor in."""
    with ExitStack() as stack:

        def visiting(**options: Any) -> tuple[Hosted, Visitor]:
            hosted = open_shop(**options)
            return hosted, stack.enter_context(Visitor(hosted))

        yield visiting


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for a module; each test opens windows of its own."""
    with chromium() as opened:
        yield opened
