"""Rules between keys: names exist, no order goes in a circle, no two effects are alike, a pinned schedule is ours."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.registry import PROVIDERS
from harness.scenario_files import load_text
from harness.scenario_files.checks import find_cycle
from harness.scenario_files.known import KNOWN_ACTIONS
from tests.scenario_files.texts import GOOD, PATH, assert_refused, line_of, refusal, spoilt

# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "what", "next_step"),
    [
        (
            "provider: payment",
            "provider: paymnt",
            "no provider 'paymnt'",
            "Did you mean `payment`? Providers: payment, dns",
        ),
        ("action: charge", "action: charg", "no action of payment 'charg'", "Did you mean `charge`? Its actions:"),
        ("undo: refund", "undo: refunds", "no undo of payment charge 'refunds'", "Did you mean `refund`?"),
        ("undo: refund", "undo: customer.delete", "no undo of payment charge", "Its undo: refund."),
        ("after: [first]", "after: [frist]", "in `after` of `second`) 'frist'", "Did you mean `first`?"),
        ("undo-before: [second]", "undo-before: [third]", "in `undo-before` of `first`) 'third'", "Operations: first"),
        ("always-declined: [undo.first]", "always-declined: [undo.frist]", "'undo.frist'", "Operations: first, second"),
        ("guarantees: all", "guarantees: [settels]", "no guarantee 'settels'", "Did you mean `settles`?"),
        ("  payment: honoured", "  email: honoured.absent.late\n  payment: honoured", "'email'", "Providers it uses:"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(old: str, new: str, what: str, next_step: str) -> None:
    text = spoilt(old, new)
    assert_refused(text, what=what, line=line_of(new.splitlines()[0], text), next_step=next_step)


def test_an_undo_for_what_has_none_is_refused() -> None:
    text = (
        GOOD.replace("provider: payment", "provider: email")
        .replace("action: charge", "action: send")
        .replace("  payment: ", "  email: ")
    )
    assert_refused(text, what="no undo of email send", line=line_of("undo: refund"), next_step="Its undo: none.")


def test_an_irreversible_operation_with_an_undo_is_refused() -> None:
    text = spoilt("recovery: compensatable", "recovery: irreversible")
    assert_refused(text, what="cannot be both", line=line_of("undo: refund"), next_step="Remove the undo")


def test_a_compensatable_operation_may_lack_its_undo() -> None:
    text = GOOD.replace("      undo: refund\n", "").replace("[undo.first]", "[first]")
    assert load_text(text, PATH).workflow.operation("first").undo is None


def test_a_provider_without_a_cell_is_refused() -> None:
    text = spoilt("  cloud: {key: expires, lookup: eventual}\n", "")
    assert_refused(text, what="`cells` says nothing of", line=line_of("cells:"), next_step="Add `cloud: ")


def test_declining_an_undo_that_is_not_there_is_refused() -> None:
    text = spoilt("      undo: refund\n", "")
    assert_refused(text, what="has no undo", line=line_of("always-declined", text), next_step="Give `first` an undo")


@pytest.mark.parametrize("name", ["workflow", "undo.first"])
def test_an_operation_id_with_a_meaning_in_paths_is_refused(name: str) -> None:
    text = spoilt("    second:", f"    {name}:")
    assert_refused(text, what=f"operation id {name!r} is taken", line=line_of("    second:"), next_step="another id")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[crash, lost-response]", "[crash, crash]"),
        ("after: [first]", "after: [first, first]"),
        ("rigs: [simulation]", "rigs: [fork, fork]"),
        ("guarantees: all", "guarantees: [settles, settles]"),
        ("[undo.first]", "[second, second]"),
    ],
)
def test_a_name_that_stands_twice_in_a_list_is_refused(old: str, new: str) -> None:
    text = spoilt(old, new)
    assert_refused(text, what="stands twice in `", line=line_of(new, text), next_step="Remove one")


def test_the_known_actions_are_those_of_the_fakes() -> None:
    found: dict[str, dict[str, str | None]] = {}
    for name, provider in PROVIDERS.items():
        undos = {spec.undoes: action for action, spec in provider.actions.items() if spec.undoes is not None}
        found[name] = {action: undos.get(action) for action, spec in provider.actions.items() if spec.undoes is None}
    assert {name: dict(actions) for name, actions in KNOWN_ACTIONS.items()} == found


# --- circles -------------------------------------------------------------------------------------------------------


def test_a_circle_of_dependencies_is_refused_by_name() -> None:
    text = spoilt("      undo-before: [second]", "      after: [second]")
    assert_refused(
        text,
        what="`after` goes in a circle: first -> second -> first.",
        line=line_of("after:", text),
        next_step="Remove",
    )


def test_a_circle_of_undo_orders_is_refused_by_name() -> None:
    text = spoilt("      after: [first]", "      undo-before: [first]")
    assert_refused(
        text,
        what="`undo-before` goes in a circle: first -> second -> first.",
        line=line_of("undo-before"),
        next_step="",
    )


def test_an_operation_that_waits_for_itself_is_a_circle() -> None:
    text = spoilt("after: [first]", "after: [second]")
    assert_refused(text, what="circle: second -> second.", line=line_of("after:", text), next_step="Remove")


def test_the_two_orders_may_oppose_each_other() -> None:
    """Undoing first the parent is what `undo-before` is for."""
    first, second = load_text(GOOD, PATH).workflow.operations
    assert first.must_compensate_before == ("second",)
    assert second.depends_on == ("first",)


def test_a_chain_is_no_circle_however_long_it_is() -> None:
    chain = {str(n): [str(n + 1)] for n in range(10_000)} | {"10000": []}
    assert find_cycle(chain) == ()


def test_a_diamond_is_no_circle() -> None:
    assert find_cycle({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}) == ()


def test_a_circle_behind_a_tail_is_told_without_the_tail() -> None:
    assert find_cycle({"a": ["b"], "b": ["c"], "c": ["d"], "d": ["b"]}) == ("b", "c", "d", "b")


def _has_cycle(edges: Mapping[str, Sequence[str]]) -> bool:
    """By taking away what has nothing left to wait for, until nothing changes."""
    left = dict(edges)
    while free := [name for name, targets in left.items() if not any(t in left for t in targets)]:
        for name in free:
            del left[name]
    return bool(left)


@given(st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefg"), unique=True)))
def test_a_circle_is_found_exactly_when_there_is_one(drawn: dict[str, list[str]]) -> None:
    edges = {name: [t for t in targets if t in drawn] for name, targets in drawn.items()}
    cycle = find_cycle(edges)
    assert bool(cycle) == _has_cycle(edges)
    assert all(after in edges[before] for before, after in itertools.pairwise(cycle))
    assert not cycle or cycle[0] == cycle[-1]


# --- effects -------------------------------------------------------------------------------------------------------

TWO_CHARGES = (
    GOOD.replace("provider: cloud", "provider: payment")
    .replace("action: resource.create", "action: charge")
    .replace("undo: resource.terminate", "undo: refund")
    .replace("  cloud: {key: expires, lookup: eventual}\n", "")
)


def test_two_operations_that_do_the_same_to_one_target_are_refused() -> None:
    text = TWO_CHARGES.replace("target: host-1", "target: ORD-1")
    assert_refused(
        text,
        what="`first` and `second` both do payment charge to 'ORD-1'",
        line=len(text[: text.rindex("target: ORD-1")].splitlines()),
        next_step="target of its own",
    )


def test_two_operations_that_do_the_same_to_two_targets_are_read() -> None:
    assert len(load_text(TWO_CHARGES, PATH).workflow.operations) == 2


# --- the pinned schedule -------------------------------------------------------------------------------------------

PINNED = "small:seed=0:small/first/attempt-1/committed=lost-response"


@pytest.mark.parametrize(
    ("line", "what", "next_step"),
    [
        ("nonsense", "does not have the form", "Copy the whole line"),
        ("small:seed=x:", "'seed=x' is not seed=N", "Copy the whole line"),
        (PINNED.replace("lost-response", "lost-answer"), "'lost-answer' is no fault", "list faults"),
        (PINNED.replace("committed", "commited"), "'commited' is no phase", "Copy the whole line"),
        (PINNED.replace("small:", "other:"), "names the scenario 'other', and this one is 'small'", "Pin a schedule"),
        (PINNED.replace(":small/", ":other/"), "names the workflow 'other', and this one is 'small'", "Pin a schedule"),
        (PINNED.replace("/first/", "/frist/"), "no operation (in `schedule`) 'frist'", "Did you mean `first`?"),
    ],
)
def test_a_pinned_schedule_that_is_not_ours_is_refused(line: str, what: str, next_step: str) -> None:
    text = spoilt(PINNED, f'"{line}"')
    assert_refused(text, what=what, line=line_of("schedule:"), next_step=next_step)


@pytest.mark.parametrize("subject", ["second", "undo.first", "workflow"])
def test_a_schedule_may_name_an_operation_an_undo_or_the_workflow(subject: str) -> None:
    line = PINNED.replace("/first/", f"/{subject}/")
    assert load_text(spoilt(PINNED, line), PATH).schedule == line


def test_a_refusal_reads_as_one_message_with_three_parts() -> None:
    text = str(refusal(spoilt("provider: payment", "provider: paymnt")))
    assert text.startswith(
        f"There is no provider 'paymnt'. Where: {PATH}:{line_of('provider:')}. Next: Did you mean `payment`?"
    )
