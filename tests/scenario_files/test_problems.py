"""What one key may not say: the message names the key, its value, what is allowed, and the line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.errors import UsageError
from harness.scenario_files import load_text
from tests.scenario_files.texts import GOOD, PATH, assert_refused, line_of, refusal, spoilt


@pytest.mark.parametrize(
    ("old", "new", "noun", "close"),
    [
        ("always-declined:", "always-decline:", "a scenario", "always-declined"),
        ("  operations:", "  operation:", "a workflow", "operations"),
        ("      undo-before: [second]", "      undo_before: [second]", "an operation", "undo-before"),
        ("{attempts: 2,", "{attemps: 2,", "a policy", "attempts"),
        ("{key: expires,", "{kee: expires,", "a provider cell", "key"),
        ("thinks: 250ms", "think: 250ms", "the approver", "thinks"),
        ("virtual-time: 3d", "virtual_time: 3d", "the limits", "virtual-time"),
        ("target: ORD-1", "target: {fake: order}", "a made-up target", "faker"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(old: str, new: str, noun: str, close: str) -> None:
    text = spoilt(old, new)
    assert_refused(text, what=f"is not a key of {noun}", line=line_of(new, text), next_step=f"Did you mean `{close}`?")


def test_an_unknown_key_in_the_form_of_an_inner_tag_is_refused_too() -> None:
    text = GOOD + "<map>: 1\n"
    assert_refused(text, what="`<map>` is not a key of a scenario", line=line_of("<map>", text), next_step="Its keys")


def test_an_unknown_key_like_no_other_lists_the_keys_there_are() -> None:
    text = GOOD + "zzz: 1\n"
    assert_refused(text, what="`zzz`", line=line_of("zzz", text), next_step="Its keys: version, id, title,")


@pytest.mark.parametrize("key", ["version", "id", "title", "kind"])
def test_a_missing_key_is_refused(key: str) -> None:
    text = "".join(line for line in GOOD.splitlines(keepends=True) if not line.startswith(f"{key}:"))
    assert_refused(text, what=f"The key `{key}` is missing", line=1, next_step=f"Add `{key}:`")


def test_a_missing_key_of_an_operation_is_refused_at_the_operation() -> None:
    text = spoilt("      recovery: compensatable\n", "")
    assert_refused(
        text, what="`recovery` is missing: an operation", line=line_of("first:"), next_step="Add `recovery:`"
    )


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("title: Two steps", "title: 12", "`title` must be text, not 12"),
        ("title: Two steps", "title: [a]", "`title` must be text, not a list"),
        ("title: Two steps", "title:", "`title` must be text, not empty"),
        ("attempts: 2", "attempts: '2'", "`attempts` must be a whole number, not '2'"),
        ("attempts: 2", "attempts: 2.0", "`attempts` must be a whole number, not 2.0"),
        ("attempts: 2", "attempts: true", "`attempts` must be a whole number, not true"),
        ("approval: true", "approval: yes", "`approval` must be true or false, not 'yes'"),
        ("approval: true", "approval: 1", "`approval` must be true or false, not 1"),
        ("after: [first]", "after: first", "`after` must be a list, not 'first'"),
        ("after: [first]", "after: [7]", "Item 1 of `after` must be text, not 7"),
        ("amount: 4900", "amount: 49.5", "`amount` must be text or a whole number, not 49.5"),
        ("amount: 4900", "amount: [1]", "`amount` must be text or a whole number, not a list"),
        ("{crossings: 100, virtual-time: 3d, settle-rounds: 2}", "many", "`limits` must be a map, not 'many'"),
        ("target: ORD-1", "target: [ORD-1]", "`target` must be text or a map, not a list"),
        ("honoured.authoritative.late", "[honoured]", "`payment` must be text or a map, not a list"),
    ],
)
def test_a_wrong_type_is_refused_and_never_converted(old: str, new: str, what: str) -> None:
    text = spoilt(old, new)
    assert_refused(text, what=what, line=line_of(new, text), next_step="")
    assert refusal(text).next_step


def test_a_number_where_text_is_meant_is_told_about_quotes() -> None:
    assert "quotes" in refusal(spoilt("target: ORD-1", "target: 4900")).next_step


@pytest.mark.parametrize(
    ("old", "new", "close"),
    [
        ("kind: workflow", "kind: workflo", "workflow"),
        ("recovery: reversible", "recovery: reversable", "reversible"),
        ("[crash, lost-response]", "[crash, lost-respons]", "lost-response"),
        ("rigs: [simulation]", "rigs: [simulaton]", "simulation"),
        ("decision: denies", "decision: denied", "denies"),
        ("expect: violation", "expect: violations", "violation"),
        ("lookup: eventual", "lookup: eventually", "eventual"),
        ("target: ORD-1", "target: {faker: emails}", "email"),
    ],
)
def test_a_word_that_is_not_allowed_is_refused_with_the_nearest_one(old: str, new: str, close: str) -> None:
    text = spoilt(old, new)
    assert_refused(text, what="is not allowed", line=line_of(new, text), next_step=f"Did you mean `{close}`? Allowed: ")


def test_another_version_is_refused() -> None:
    assert_refused(spoilt("version: 1", "version: 2"), what="`version` is 2", line=1, next_step="Allowed: 1.")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("id: small", "id: Small", "'Small' is not a name"),
        ("    first:", "    First Step:", "'First Step' is not a name"),
        ("thinks: 250ms", "thinks: 250", "must be text"),
        ("thinks: 250ms", "thinks: 3 weeks", "'3 weeks' is not a duration"),
        ("valid: 2h", "valid: 0s", "'0s' is too short"),
        ("virtual-time: 3d", "virtual-time: 99999d", "longer than 3650d"),
        ("honoured.authoritative.late", "honoured.late", "is not key.lookup.late"),
        ("honoured.authoritative.late", "honoured.sometimes.late", "'sometimes' is not one of authoritative"),
        ("attempts: 2", "attempts: 0", "greater than or equal to 1"),
        ("crossings: 100", "crossings: 100000000", "less than or equal to 1000000"),
        ("faults: [crash, lost-response]", "faults: []", "at least 1 item"),
        ("title: Two steps", "title: ' '", "at least 1 character"),
    ],
)
def test_a_value_outside_its_bounds_is_refused(old: str, new: str, what: str) -> None:
    text = spoilt(old, new)
    assert_refused(text, what=what, line=line_of(new, text), next_step="")


def test_200_operations_are_read_and_201_are_refused() -> None:
    def text(count: int) -> str:
        head, _ = spoilt("  cloud: {key: expires, lookup: eventual}\n", "").split("    first:")
        rows = (
            f"    op-{n}: {{provider: payment, action: charge, target: T-{n}, recovery: unknown}}\n"
            for n in range(count)
        )
        return head + "".join(rows)

    assert len(load_text(text(200), PATH).workflow.operations) == 200
    assert_refused(text(201), what="at most 200 items", line=line_of("  operations:", text(1)), next_step="")


def test_no_operations_at_all_are_refused() -> None:
    head, _ = GOOD.split("    first:")
    text = head.replace("  operations:\n", "  operations: {}\n")
    assert_refused(text, what="`operations`", line=line_of("operations", text), next_step="")


def test_the_first_of_several_problems_is_told_in_full_and_the_others_by_line() -> None:
    text = spoilt("title: Two steps", "title: 12").replace("attempts: 2", "attempts: two").replace("kind: w", "kind: x")
    assert_refused(
        text,
        what=f"`title` must be text, not 12. (Further problems on lines {line_of('kind')}, {line_of('attempts')}.)",
        line=line_of("title"),
        next_step="quotes",
    )


def test_a_very_long_value_is_cut_in_the_message() -> None:
    assert len(refusal(spoilt("kind: workflow", "kind: " + "x" * 100_000)).what) < 300


def test_a_lone_surrogate_is_refused() -> None:
    assert refusal(spoilt("title: Two steps", 'title: "\\ud800"')).where.endswith(f":{line_of('title')}")


# --- whatever the text ---------------------------------------------------------------------------------------------

PIECES = [
    "*a",
    "&a ",
    "!!x ",
    "\t",
    "- ",
    ": ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    "|\n",
    ">\n",
    '"',
    "'",
    "---\n",
    "~",
    "\ud7ff",
    "1",
    "#",
]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """GOOD with up to four places cut out or overwritten."""
    text = GOOD
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + draw(st.sampled_from(["", *PIECES]) | st.text(max_size=5)) + text[end:]
    return text


@pytest.mark.slow
@given(damaged())
def test_a_damaged_file_is_read_or_refused_with_all_three_parts(text: str) -> None:
    try:
        load_text(text, PATH)
    except UsageError as refused:
        lacking = [not refused.what, not refused.where.startswith(f"{PATH}:"), not refused.next_step]
    else:
        lacking = []
    assert not any(lacking)
