"""Deadlines: a prompt cell never applies a request after its `not_after`, a late cell does."""

from __future__ import annotations

import pytest

from harness.model.boundary import Phase
from tests.fakes.stage import Stage, effect, standing

PROMPT, LATE = "honoured.authoritative.prompt", "honoured.authoritative.late"


def test_request_is_applied_at_its_deadline(stage: Stage) -> None:
    provider = stage.provider(PROMPT)
    stage.pass_ns(10)
    stage.send(provider, effect(not_after_ns=10))
    assert standing(stage, provider) == [True]


def test_request_past_its_deadline_expires_in_a_prompt_cell(stage: Stage) -> None:
    provider = stage.provider(PROMPT)
    stage.pass_ns(11)
    assert stage.refusal(provider, effect(not_after_ns=10)) == "expired"
    assert standing(stage, provider) == []


def test_request_past_its_deadline_is_applied_in_a_late_cell(stage: Stage) -> None:
    provider = stage.provider(LATE)
    stage.pass_ns(11)
    stage.send(provider, effect(not_after_ns=10))
    assert standing(stage, provider) == [True]


def test_request_without_a_deadline_never_expires(stage: Stage) -> None:
    provider = stage.provider(PROMPT)
    stage.pass_ns(10**18)
    assert stage.refusal(provider, effect()) == "ok"


@pytest.mark.parametrize(("stall_ns", "code"), [(10, "ok"), (11, "expired")])
def test_time_that_passes_in_the_crossing_counts_against_the_deadline(stage: Stage, stall_ns: int, code: str) -> None:
    stage.stall_ns = stall_ns
    assert stage.refusal(stage.provider(PROMPT), effect(not_after_ns=10)) == code


def test_expired_request_crosses_nothing_after_its_delivery(stage: Stage) -> None:
    stage.pass_ns(11)
    stage.refusal(stage.provider(PROMPT), effect(not_after_ns=10))
    assert stage.crossed == [Phase.DELIVERED]


def test_expired_request_does_not_bind_its_key(stage: Stage) -> None:
    provider = stage.provider(PROMPT)
    stage.pass_ns(11)
    stage.refusal(provider, effect(key="k-1", not_after_ns=10))
    assert not stage.send(provider, effect(key="k-1")).replayed


def test_deadline_comes_before_the_key(stage: Stage) -> None:
    provider = stage.provider(PROMPT)
    stage.send(provider, effect(key="k-1", not_after_ns=10))
    stage.pass_ns(11)
    assert stage.refusal(provider, effect(key="k-1", not_after_ns=10)) == "expired"
