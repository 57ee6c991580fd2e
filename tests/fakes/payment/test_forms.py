"""Forms with nested names become trees, or are refused without a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.payment.forms import DEPTH_MAX, PAIRS_MAX, Malformed, decode


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (b"", {}),
        (b"a=1&b=", {"a": "1", "b": ""}),
        (b"a=1&a=2", {"a": "2"}),
        (b"a[b]=1&a[c][d]=2", {"a": {"b": "1", "c": {"d": "2"}}}),
        (b"a[0]=x&a[1]=y", {"a": {"0": "x", "1": "y"}}),
        (b"a[]=x&a[]=y", {"a": {"0": "x", "1": "y"}}),
        (b"a[0][b]=x", {"a": {"0": {"b": "x"}}}),
        (b"a%5Bb%5D=%C3%A9+%2B", {"a": {"b": "é +"}}),
        (b"&&a=1&", {"a": "1"}),
        (b"a", {"a": ""}),
    ],
)
def test_a_form_becomes_a_tree(text: bytes, tree: object) -> None:
    assert decode(text) == tree


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"=1", "not of the form"),
        (b"a[b=1", "not of the form"),
        (b"a]b=1", "not of the form"),
        (b"[a]=1", "not of the form"),
        (b"a=1&a[b]=2", "both a value and a group"),
        (b"a[b]=2&a=1", "both a value and a group"),
        (b"a=%ff", "not UTF-8"),
        (b"\xff=1", "not UTF-8"),
        (b"a" + b"[b]" * DEPTH_MAX + b"=1", "nested more than"),
        (b"a" * 600 + b"[b]=1", "not of the form"),
        (b"&".join([b"a=1"] * (PAIRS_MAX + 1)), "more than"),
    ],
)
def test_what_is_no_form_is_refused_with_a_reason(text: bytes, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        decode(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_form_or_are_refused(text: bytes) -> None:
    try:
        tree = decode(text)
    except Malformed:
        return
    assert isinstance(tree, dict)


def test_a_deep_or_wide_form_costs_no_more_than_its_size() -> None:
    assert len(decode(b"&".join(b"m[%d]=x" % n for n in range(PAIRS_MAX)))["m"]) == PAIRS_MAX
