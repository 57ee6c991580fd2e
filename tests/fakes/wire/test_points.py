from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.wire.points import ALLOWED, FIELDS, Act, Action, Facts, Hook, Point, duration_ns, parse_hook
from harness.model.errors import UsageError

_NS = st.integers(1, 10**15)
_ACTIONS = {
    Act.DELAY: st.builds(lambda n: Action(Act.DELAY, duration_ns=n), _NS),
    Act.LATE: st.builds(lambda n: Action(Act.LATE, duration_ns=n), _NS),
    Act.STALE: st.builds(lambda n: Action(Act.STALE, duration_ns=n), st.integers(0, 10**15)),
    Act.STATUS: st.builds(
        lambda c, r: Action(Act.STATUS, code=c, retry_after_s=r), st.integers(100, 599), st.integers(-1, 99)
    ),
    Act.TRUNCATE: st.builds(
        lambda n, r: Action(Act.TRUNCATE, bytes_count=n, by_reset=r), st.integers(0, 9999), st.booleans()
    ),
    Act.COMPETE: st.builds(lambda w: Action(Act.COMPETE, what=w), st.from_regex(r"[a-z-]{1,9}", fullmatch=True)),
    Act.SIGNAL: st.builds(lambda p: Action(Act.SIGNAL, what="KILL", pid=p), st.integers(2, 9999)),
}
_GLOBS = st.text("abc*? /-", min_size=1, max_size=9).map(str.strip).filter(bool)


@st.composite
def hooks(draw: st.DrawFn) -> Hook:
    point = draw(st.sampled_from(Point))
    act = draw(st.sampled_from(sorted(ALLOWED[point])))
    action = draw(_ACTIONS.get(act, st.just(Action(act))))
    match = draw(st.dictionaries(st.sampled_from(FIELDS), _GLOBS, max_size=3))
    return Hook(point, action, draw(st.integers(1, 99)), draw(st.integers(1, 99)), match)


@given(hooks())
def test_a_hook_reads_back_from_its_text(hook: Hook) -> None:
    assert parse_hook(str(hook)) == hook


def test_the_documented_examples_are_read() -> None:
    assert parse_hook("after-commit = reset") == Hook(Point.AFTER_COMMIT, Action(Act.RESET))
    assert parse_hook("responding#2 what=charge = truncate:40").nth == 2
    assert parse_hook("before-commit x3 line=POST* = status:503").times == 3
    assert parse_hook("read target=shop-* x99 = stale:5s").action.duration_ns == 5_000_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "form POINT"),
        ("nowhere = reset", "is no point; points are connect"),
        ("after-commit = explode", "is no action; actions are pass"),
        ("after-commit = stale", "cannot be done at after-commit"),
        ("after-commit colour=red = reset", "is no condition"),
        ("after-commit = status:7", "write status:503"),
        ("after-commit = delay", "write delay:200ms"),
        ("responding = truncate:-1", "write truncate:40"),
        ("parsed = signal:KILL:1", "write signal:KILL:4711"),
        ("after-commit#0 = reset", "from 1"),
    ],
)
def test_a_hook_that_is_none_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_hook(text)


def test_every_field_that_is_named_must_fit() -> None:
    hook = parse_hook("parsed what=charge target=cus-* = fin")
    facts = Facts(what="charge", target="cus-1")
    assert hook.fits(Point.PARSED, facts)
    assert not hook.fits(Point.PARSED, facts._replace(target="shop-1"))
    assert not hook.fits(Point.RECEIVED, facts)


def test_durations_have_units() -> None:
    assert duration_ns("1.5s") == 1_500_000_000
    with pytest.raises(ValueError, match="no duration"):
        duration_ns("5")
