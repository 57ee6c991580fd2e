from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from fakes.wire.board import HOOKS_MAX, Board
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.points import Act, Facts, Point, parse_hook
from harness.model.errors import UsageError
from tests.fakes.wire.echo import Echo
from tests.fakes.wire.test_http import outcome


@pytest.fixture
def board() -> Board:
    return Board(Clock(is_manual=True), lambda *entry: None, lambda: None, lambda what, facts: None)


def acts(board: Board, point: Point, count: int) -> list[Act]:
    return [board.draw(point, Facts())[0].act for _ in range(count)]


def test_a_hook_fires_from_its_nth_crossing_on_as_often_as_it_says(board: Board) -> None:
    board.arm(parse_hook("parsed#2x2 = fin"))
    assert acts(board, Point.PARSED, 5) == [Act.PASS, Act.FIN, Act.FIN, Act.PASS, Act.PASS]


def test_the_first_hook_whose_turn_it_is_decides_and_the_others_count_on(board: Board) -> None:
    board.arm(parse_hook("parsed = fin"))
    board.arm(parse_hook("parsed#2 = reset"))
    assert acts(board, Point.PARSED, 3) == [Act.FIN, Act.RESET, Act.PASS]


def test_a_view_of_the_moment_of_arming_is_as_old_as_that(board: Board) -> None:
    board.arm(parse_hook("readx9 = stale"))
    board._clock.advance_ns(7)
    assert board.draw(Point.READ, Facts())[0].duration_ns == 7


def test_disarmed_it_does_nothing(board: Board) -> None:
    name = board.arm(parse_hook("parsed = fin"))
    board.disarm(name)
    assert acts(board, Point.PARSED, 1) == [Act.PASS]
    with pytest.raises(UsageError, match="There is no hook"):
        board.disarm(name)


def test_there_is_a_limit_to_hooks(board: Board) -> None:
    for _ in range(HOOKS_MAX):
        board.arm(parse_hook("parsed = pass"))
    with pytest.raises(UsageError, match="hooks already"):
        board.arm(parse_hook("parsed = pass"))


@pytest.mark.slow
def test_the_candidate_is_killed_when_its_request_has_been_committed() -> None:
    waiting = subprocess.Popen([sys.executable, "-c", "import signal; print(1, flush=True); signal.pause()"], stdout=-1)
    assert waiting.stdout is not None
    waiting.stdout.readline()
    with Hosted(Echo) as echo:
        echo.arm(f"after-commit = signal:KILL:{waiting.pid}")
        assert outcome(echo) == "200"
        assert waiting.wait(10) == -signal.SIGKILL
        echo.arm(f"after-commit = signal:KILL:{waiting.pid}")
        assert outcome(echo) == "200"
        assert echo.entries("hook-failed")
