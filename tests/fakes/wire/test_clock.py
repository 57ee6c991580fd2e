from __future__ import annotations

import asyncio

from fakes.wire.clock import MANUAL_START_NS, Clock


def test_a_manual_clock_stands_still_and_fires_what_is_due_at_its_own_moment() -> None:
    clock, fired = Clock(is_manual=True), []
    clock.later(20, lambda: fired.append(("b", clock.now_ns() - MANUAL_START_NS)))
    clock.later(10, lambda: fired.append(("a", clock.now_ns() - MANUAL_START_NS)))
    clock.advance_ns(9)
    assert fired == []
    clock.advance_ns(20)
    assert fired == [("a", 10), ("b", 20)]
    assert clock.now_ns() == MANUAL_START_NS + 29


def test_a_timer_may_set_another_that_is_due_on_the_way() -> None:
    clock, fired = Clock(is_manual=True), []
    clock.later(10, lambda: clock.later(5, lambda: fired.append(clock.now_ns() - MANUAL_START_NS)))
    clock.advance_ns(100)
    assert fired == [15]


def test_a_real_clock_that_is_advanced_fires_at_once() -> None:
    async def scene() -> None:
        clock, over = Clock(), asyncio.Event()
        clock.attach(asyncio.get_running_loop())
        before_ns = clock.now_ns()
        clock.later(3_600_000_000_000, over.set)
        clock.advance_ns(3_600_000_000_001)
        assert over.is_set()
        assert clock.now_ns() - before_ns >= 3_600_000_000_000
        clock.detach()

    asyncio.run(scene())


def test_a_real_clock_wakes_the_loop_by_itself() -> None:
    async def scene() -> None:
        clock = Clock()
        clock.attach(asyncio.get_running_loop())
        async with asyncio.timeout(5):
            await clock.sleep(1_000_000)
        clock.detach()

    asyncio.run(scene())
