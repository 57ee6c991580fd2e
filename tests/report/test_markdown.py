"""Markdown reports."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from harness.report import picture
from harness.report.markdown import FAILURES_MAX, MESSAGES_MAX, failure_report, job_summary, sequence, to_markdown
from tests.report import examples


def _many(count: int) -> tuple[examples.Failure, ...]:
    return tuple(examples.failure(number) for number in range(count))


def _fences(text: str) -> list[str]:
    return re.findall(r"^`{3,}", text, re.MULTILINE)


def test_observed_inferred_and_suggested_are_kept_apart() -> None:
    report = failure_report(examples.campaign(), examples.failure())
    heads = re.findall(r"^#### (.*)$", report, re.MULTILINE)
    assert heads == ["Observed", "Inferred", "Suggested"]
    observed = report.split("#### Inferred")[0]
    assert "a second time" in observed
    assert "attempt 2 was sent under another key" not in observed


def test_the_replay_command_stands_in_a_block_of_its_own() -> None:
    report = failure_report(examples.campaign(), examples.failure())
    assert f"```sh\n{examples.failure().replay}\n```" in report


def test_every_block_that_opens_is_closed() -> None:
    assert len(_fences(to_markdown(examples.campaign()))) % 2 == 0


def test_a_story_with_backticks_does_not_break_out_of_its_block() -> None:
    failure = replace(examples.failure(), story=(" 0.000s  ```\n# not a head",))
    report = failure_report(examples.campaign(), failure)
    assert "````text\n 0.000s  ```\n# not a head\n````" in report


def test_a_candidates_words_are_not_markup() -> None:
    head = to_markdown(replace(examples.holding(), scenario={"id": "a<b>|*c*"})).splitlines()[0]
    assert r"a\<b\>\|\*c\*" in head


def test_a_lost_response_is_a_crossed_arrow_and_its_neighbour_is_whole() -> None:
    events = examples.failing_events()
    text = sequence(picture.draw(events, examples.failing_verdicts(events)))
    assert "p3--xp0: ok (lost)" in text
    assert "p3-->>p1: ok" in text
    assert "broken here" not in text.split("p1->>p3: charge")[0]


def test_the_sequence_has_at_most_sixty_messages_and_says_what_is_missing() -> None:
    events = examples.failing_events()
    image = picture.draw(events, examples.failing_verdicts(events))
    lines = sequence(image, messages_max=5).splitlines()
    assert len([line for line in lines[1:] if "participant" not in line]) == 5
    assert re.search(r"\d+ more left out", lines[-1])
    assert len(sequence(image).splitlines()) <= 1 + len(image.lanes) + MESSAGES_MAX


def test_words_mermaid_reads_as_its_own_are_taken_from_labels() -> None:
    log = examples.Recorder()
    log.add(1, "worker;1", "claimed", "a", subject="a", to="end; #35;")
    text = sequence(picture.draw(log.events, ()))
    assert "Note over p0: a: END" in text
    assert ";" not in text


@pytest.mark.parametrize("bytes_max", [900_000, 60_000, 20_000, 6_000, 2_000])
def test_the_job_summary_keeps_within_its_bound_and_keeps_the_verdict(bytes_max: int) -> None:
    text = job_summary(replace(examples.campaign(), failures=_many(FAILURES_MAX)), bytes_max=bytes_max)
    assert len(text.encode()) <= bytes_max
    assert "are broken in 2 of 11 runs" in text
    assert len(_fences(text)) % 2 == 0


def test_detail_is_dropped_before_failures_are() -> None:
    result = replace(examples.campaign(), failures=_many(FAILURES_MAX))
    assert job_summary(result).count("```mermaid") == FAILURES_MAX
    smaller = job_summary(result, bytes_max=40_000)
    assert "```mermaid" not in smaller
    assert smaller.count("<details>") == FAILURES_MAX


def test_what_does_not_fit_is_counted() -> None:
    result = replace(examples.campaign(), failures=_many(FAILURES_MAX))
    text = job_summary(result, bytes_max=6_000)
    shown = text.count("<details>")
    assert 0 < shown < FAILURES_MAX
    assert f"{FAILURES_MAX - shown} more failure" in text


def test_the_whole_report_counts_failures_beyond_its_limit() -> None:
    assert "3 more failures" in to_markdown(replace(examples.campaign(), failures=_many(FAILURES_MAX + 3)))
