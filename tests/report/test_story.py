"""The story of a failing run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from harness.model.event import EVENT_KINDS, Event, History
from harness.model.verdict import Outcome, Verdict
from harness.report.facts import Facts
from harness.report.story import LINES_MAX, sentence, story
from tests.report import examples


def test_the_story_has_at_most_ten_lines_each_with_its_time() -> None:
    lines = examples.failing_story()
    assert len(lines) == LINES_MAX
    assert all(re.match(r" *\d+\.\d{3}s  \S", line) for line in lines)


def test_times_stand_in_one_column_and_never_go_back() -> None:
    times = [line.split("s  ")[0] for line in examples.failing_story()]
    assert len({len(time) for time in times}) == 1
    assert [float(time) for time in times] == sorted(float(time) for time in times)


def test_the_second_charge_is_told_as_a_second_time() -> None:
    assert any("the provider billing charged ORD-1 a second time" in line for line in examples.failing_story())


def test_the_story_names_fault_doubt_retry_and_claim() -> None:
    text = "\n".join(examples.failing_story())
    for told in ("the response was lost", "the outcome was open", "worker-2 asked billing to charge", "is VERIFIED"):
        assert told in text


def test_the_last_line_states_the_contradiction() -> None:
    last = examples.failing_story()[-1]
    assert "no-duplicate-effect is broken: let billing.charge have one standing effect" in last
    assert "but the provider billing charged ORD-1 again as e2" in last
    assert "and 1 more guarantee" in last


def test_no_event_kind_is_used_as_a_word() -> None:
    text = "\n".join(examples.failing_story())
    assert not [kind for kind in EVENT_KINDS if "-" in kind and kind in text]


def test_another_operations_steps_give_way_to_those_of_the_subject() -> None:
    assert not any("a.example.test" in line for line in examples.failing_story())


def test_an_unknown_run_says_why_it_cannot_be_judged() -> None:
    verdict = Verdict("known-state", Outcome.UNKNOWN, (), "the scheduled fault did not fire")
    lines = story(examples.failing_history(), examples.scenario(), [verdict])
    assert lines[-1].endswith("known-state cannot be judged: the scheduled fault did not fire")


def test_a_sound_run_is_not_accused() -> None:
    holds = Verdict("known-state", Outcome.HOLDS)
    assert story(examples.failing_history(), examples.scenario(), [holds])[-1].endswith("every guarantee holds")


def test_a_crash_is_told_once() -> None:
    log = examples.Recorder()
    log.add(1, "worker-1", "worker-started", verb="work")
    log.add(2, "rig", "fault-fired", examples.STRUCK, fault="crash")
    log.add(2, "worker-1", "worker-died", examples.STRUCK, cause="crash")
    verdict = Verdict("settles", Outcome.UNKNOWN, (), "cut short", "billing.charge")
    lines = story(History(examples.failing_history().header, log.events), examples.scenario(), [verdict])
    assert len([line for line in lines if "died" in line]) == 1


def test_a_death_of_its_own_is_told() -> None:
    log = examples.Recorder()
    log.add(2, "rig", "fault-fired", examples.STRUCK, fault="lost-response")
    log.add(9, "worker-1", "worker-died", cause="out of memory")
    verdict = Verdict("settles", Outcome.UNKNOWN, (), "cut short", "billing.charge")
    lines = story(History(examples.failing_history().header, log.events), examples.scenario(), [verdict])
    assert any("worker-1 died: out of memory" in line for line in lines)


def _recovered(*, calls: bool) -> tuple[str, ...]:
    """A story with one place less than there is to tell, in which a recovery worker comes and does or does not call."""
    log = examples.Recorder()
    log.add(1, "worker-9", "worker-started", verb="recover")
    for number in range(LINES_MAX - 2):
        log.add(2 + number, "worker-1", "worker-resumed")
    log.add(20, "worker-1", "worker-started", verb="work")
    if calls:
        log.add(
            21,
            "worker-9",
            "call-sent",
            "w/other/lookup-1",
            call="w/other/lookup-1",
            purpose="lookup",
            operation="other",
        )
    verdict = Verdict("settles", Outcome.UNKNOWN, (), "cut short", "billing.charge")
    return story(History(examples.failing_history().header, log.events), examples.scenario(), [verdict])


def test_a_recovery_that_calls_somebody_is_told() -> None:
    assert any("worker-9 started to recover" in line for line in _recovered(calls=True))


def test_a_recovery_that_finds_nothing_to_do_gives_way() -> None:
    assert not any("worker-9 started to recover" in line for line in _recovered(calls=False))


def test_a_witness_larger_than_the_story_keeps_its_beginning_and_end() -> None:
    events = examples.failing_events()
    verdict = replace(examples.failing_verdicts(events)[0], witness=tuple(e.index for e in events))
    lines = story(examples.failing_history(), examples.scenario(), [verdict])
    assert len(lines) == LINES_MAX
    assert lines[0].startswith(" 0.000s")


def test_an_empty_history_still_has_a_last_line() -> None:
    verdict = Verdict("known-state", Outcome.UNKNOWN, (), "the history has no end")
    lines = story(History(examples.failing_history().header, ()), examples.scenario(), [verdict])
    assert lines == (" 0.000s  known-state cannot be judged: the history has no end",)


def test_secrets_of_an_event_do_not_reach_the_story() -> None:
    log = examples.Recorder()
    log.add(
        1, "worker-1", "alerted", "billing.charge", subject="billing.charge", reason=f"key {examples.SECRET} refused"
    )
    verdict = Verdict("settles", Outcome.UNKNOWN, (), "cut short", "billing.charge")
    lines = story(History(examples.failing_history().header, log.events), examples.scenario(), [verdict])
    assert examples.SECRET not in "".join(lines)
    assert "[redacted:" in lines[0]


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_every_kind_of_event_can_be_told_even_without_data(kind: str) -> None:
    event = Event(0, 0, "worker-1", kind, "", {})
    assert sentence(event, Facts.of([event])).strip()


@pytest.mark.parametrize("row", [{"state": "RECONCILED", "resolution": "committed"}, ["RECONCILED", "committed"]])
def test_the_final_audit_is_read_as_mapping_or_as_pair(row: object) -> None:
    event = Event(0, 0, "rig", "audited", "", {"operations": {"dns.record": row}, "workflow": "COMPLETED"})
    assert sentence(event, Facts.of([event])).endswith("dns.record RECONCILED committed")
