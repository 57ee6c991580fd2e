"""Each provider fault at its point: what is answered, what has happened, and that the counts say so."""

from __future__ import annotations

import pytest

from fakes.core.journal import Counts
from fakes.core.kernel import PENDING_NS, Provider
from fakes.tenant.domain import Tenants
from harness.model.boundary import Phase, Purpose
from harness.model.fault import Fault
from tests.fakes.stage import Stage, effect, found, standing, undo

REFUSALS = [
    (Fault.UNAVAILABLE, "unavailable"),
    (Fault.RATE_LIMITED, "rate-limited"),
    (Fault.DECLINED, "declined"),
    (Fault.REJECTS_DUPLICATE_KEY, "duplicate-key"),
    (Fault.KEY_REUSED, "key-reused"),
    (Fault.KEY_IN_USE, "key-in-use"),
]


def tally(provider: Provider) -> tuple[int, int, int]:
    return provider.arrivals, provider.commits, provider.responses


@pytest.mark.parametrize(("fault", "code"), REFUSALS)
def test_refusing_fault_answers_its_code_and_commits_nothing(stage: Stage, fault: Fault, code: str) -> None:
    provider = stage.provider()
    assert stage.refusal(provider, effect(key="k-1"), {Phase.DELIVERED: fault}) == code
    assert stage.data("responded") == [{"call": "call-1", "code": code}]
    assert tally(provider) == (1, 0, 1)
    assert stage.crossed == [Phase.DELIVERED]


@pytest.mark.parametrize("fault", [fault for fault, _ in REFUSALS])
def test_the_next_request_after_a_refusing_fault_is_executed(stage: Stage, fault: Fault) -> None:
    provider = stage.provider()
    stage.refusal(provider, effect(key="k-1"), {Phase.DELIVERED: fault})
    assert not stage.send(provider, effect(key="k-1")).replayed
    assert standing(stage, provider) == [True]


@pytest.mark.parametrize("fault", [Fault.LOST_RESPONSE, Fault.CONNECTION_RESET, Fault.CRASH])
def test_message_fault_is_left_to_the_rig(stage: Stage, fault: Fault) -> None:
    provider = stage.provider()
    assert stage.send(provider, effect(), {Phase.COMMITTED: fault}).reference
    assert tally(provider) == (1, 1, 1)


def test_error_after_commit_answers_an_error_and_the_effect_stands(stage: Stage) -> None:
    provider = stage.provider()
    assert stage.refusal(provider, effect(), {Phase.COMMITTED: Fault.ERROR_AFTER_COMMIT}) == "internal-error"
    assert tally(provider) == (1, 1, 1)
    assert stage.data("responded") == [{"call": "call-1", "code": "internal-error"}]
    assert standing(stage, provider) == [True]


def test_false_success_answers_a_reference_to_nothing(stage: Stage) -> None:
    provider = stage.provider()
    reply = stage.send(provider, effect(), {Phase.DELIVERED: Fault.FALSE_SUCCESS})
    assert reply.reference
    assert not reply.pending
    assert tally(provider) == (1, 0, 1)
    assert stage.data("effect") == []
    assert found(stage, provider) == []


def test_false_success_of_an_undo_leaves_the_effect_standing(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    stage.send(provider, undo(), {Phase.DELIVERED: Fault.FALSE_SUCCESS})
    assert standing(stage, provider) == [True]


def test_pending_request_is_visible_as_pending_and_does_not_stand(stage: Stage) -> None:
    provider = stage.provider()
    reply = stage.send(provider, effect(), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    stage.pass_ns(PENDING_NS - 1)
    assert reply.pending
    assert [(r.reference, r.pending, r.standing) for r in found(stage, provider)] == [(reply.reference, True, False)]
    assert provider.commits == 0
    assert provider.circumstances(effect()) == (False, False)


def test_pending_request_that_succeeds_becomes_the_effect_it_was_promised_as(stage: Stage) -> None:
    provider = stage.provider()
    reply = stage.send(provider, effect(), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    stage.pass_ns(PENDING_NS)
    assert [(r.reference, r.pending, r.standing) for r in found(stage, provider)] == [(reply.reference, False, True)]
    [written] = stage.data("effect")
    assert (written["effect"], written["call"], written["operation"]) == (reply.reference, "call-1", "bill")
    assert provider.commits == 1


@pytest.mark.parametrize(("age_ns", "left"), [(PENDING_NS - 1, 1), (PENDING_NS, 0)])
def test_pending_request_that_fails_vanishes_without_an_effect(stage: Stage, age_ns: int, left: int) -> None:
    provider = stage.provider()
    stage.send(provider, effect(), {Phase.DELIVERED: Fault.PENDING_THEN_FAILED})
    stage.pass_ns(age_ns)
    assert len(found(stage, provider)) == left
    assert stage.data("effect") == []


def test_pending_undo_undoes_when_it_settles_and_not_before(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    stage.send(provider, undo(), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    assert standing(stage, provider) == [True]
    stage.pass_ns(PENDING_NS)
    assert standing(stage, provider) == [False]
    assert stage.data("effect")[-1]["undoes"] == charge


def test_pending_request_the_rule_refuses_when_it_settles_vanishes(stage: Stage) -> None:
    tenants = stage.provider(kind=Tenants)
    create = effect("tenant.create", "acme", "first")
    stage.send(tenants, create, {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    second = stage.send(tenants, create._replace(operation="second")).reference
    stage.pass_ns(PENDING_NS)
    assert [record.reference for record in found(stage, tenants, "tenant.create", "acme")] == [second]
    assert len(stage.data("effect")) == 1


def test_pending_request_settles_with_the_parameters_it_was_sent_with(stage: Stage) -> None:
    provider = stage.provider()
    params = {"amount": 100}
    stage.send(provider, effect(params=params), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    params["amount"] = 5
    stage.pass_ns(PENDING_NS)
    assert stage.refusal(provider, undo(params={"amount": 100})) == "ok"


def test_operation_that_is_always_declined_has_no_effect_and_others_are_served(stage: Stage) -> None:
    provider = stage.provider(declined="bill")
    assert stage.refusal(provider, effect()) == "declined"
    assert stage.refusal(provider, effect(operation="other")) == "ok"


def test_undo_can_be_the_operation_that_is_declined(stage: Stage) -> None:
    provider = stage.provider(declined="undo.bill")
    stage.send(provider, effect())
    assert stage.refusal(provider, undo()) == "declined"
    assert standing(stage, provider) == [True]


@pytest.mark.parametrize("purpose", [Purpose.APPROVE, Purpose.WRITE])
def test_request_of_a_purpose_no_provider_serves_is_invalid(stage: Stage, purpose: Purpose) -> None:
    assert stage.refusal(stage.provider(), effect()._replace(purpose=purpose)) == "invalid"


def test_action_the_provider_does_not_have_is_invalid(stage: Stage) -> None:
    assert stage.refusal(stage.provider(), effect("levitate")) == "invalid"


def test_effect_is_recorded_between_arrival_and_response_with_all_it_is(stage: Stage) -> None:
    stage.send(stage.provider(), effect(key="k-1"), delivery=2)
    assert [(event.actor, event.kind, event.where) for event in stage.journal.events] == [
        ("payment", "arrived", "flow/bill/call-1"),
        ("payment", "effect", "flow/bill/call-1"),
        ("payment", "responded", "flow/bill/call-1"),
    ]
    assert stage.data("arrived") == [{"call": "call-1", "delivery": 2}]
    assert stage.data("effect") == [
        {
            "effect": "payment-1",
            "provider": "payment",
            "action": "charge",
            "target": "cus-1",
            "operation": "bill",
            "key": "k-1",
            "call": "call-1",
            "delivery": 2,
            "undoes": None,
        }
    ]


def test_arrivals_commits_and_responses_of_the_journal_are_those_of_the_provider(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect(key="k-1"))
    stage.send(provider, effect(key="k-1"))
    stage.refusal(provider, effect(), {Phase.DELIVERED: Fault.UNAVAILABLE})
    assert tally(provider) == (3, 1, 3)
    assert stage.counts(provider) == Counts(arrivals=3, commits=1, responses=3)
