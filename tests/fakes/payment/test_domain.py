"""The domain behind the API: money that is held, taken, settled later and given back; and the simulation's own, as it was."""

from __future__ import annotations

import pytest

from fakes.core.endpoint import Arrival
from fakes.payment.domain import CardPayment, Payment
from harness.model.wire import Request
from tests.fakes.stage import Stage, effect, standing, undo

HOLD = effect("authorize", "cus-1", "hold", params={"amount": 100})
TAKE = effect("capture", "cus-1", "take")


@pytest.fixture
def payment(stage: Stage) -> CardPayment:
    payment = stage.provider(kind=CardPayment)
    assert isinstance(payment, CardPayment)
    return payment


def arrival(request: Request) -> Arrival:
    return Arrival("call-1", "", request, 1)


def test_the_simulations_payment_knows_nothing_of_held_money() -> None:
    assert set(Payment.actions) == {"customer.create", "customer.delete", "charge", "refund"}
    assert set(CardPayment.actions) - set(Payment.actions) == {"authorize", "authorization.cancel", "capture"}


def test_held_money_is_taken_once_and_not_more_than_was_held(stage: Stage, payment: CardPayment) -> None:
    assert stage.refusal(payment, TAKE) == "not-found"
    stage.send(payment, HOLD)
    assert stage.refusal(payment, TAKE._replace(params={"amount": 101})) == "invalid"
    stage.send(payment, TAKE._replace(params={"amount": 60}))
    assert standing(stage, payment, "authorize") == [False]
    assert standing(stage, payment, "capture") == [True]
    assert stage.refusal(payment, TAKE) == "already-undone"
    assert stage.refusal(payment, undo("authorization.cancel", operation="undo.hold")) == "already-undone"


def test_what_was_taken_is_refunded_like_a_charge(stage: Stage, payment: CardPayment) -> None:
    stage.send(payment, HOLD)
    taken = stage.send(payment, TAKE._replace(params={"amount": 60})).reference
    assert stage.refusal(payment, undo(params={"amount": 61})) == "invalid"
    stage.send(payment, undo(params={"amount": 20}))
    stage.send(payment, undo())
    assert [data["undoes"] for data in stage.data("effect")[2:]] == [taken, taken]
    assert stage.refusal(payment, undo()) == "already-undone"


def test_held_money_is_released_by_a_cancel(stage: Stage, payment: CardPayment) -> None:
    stage.send(payment, HOLD)
    stage.send(payment, undo("authorization.cancel", operation="undo.hold"))
    assert stage.refusal(payment, TAKE) == "already-undone"


@pytest.mark.parametrize("succeeds", [True, False])
def test_what_was_accepted_becomes_an_effect_or_vanishes(stage: Stage, payment: CardPayment, succeeds: bool) -> None:
    reference = payment.accept(arrival(effect()))
    assert stage.data("effect") == []
    assert payment.row(reference).is_pending
    assert payment.settle("call-1", "", reference, "k", succeeds=succeeds) is succeeds
    assert [(data["effect"], data["key"]) for data in stage.data("effect")] == ([(reference, "k")] if succeeds else [])


def test_a_refund_that_failed_leaves_the_charge_as_it_was(stage: Stage, payment: CardPayment) -> None:
    charge = stage.send(payment, effect()).reference
    refund = stage.send(payment, undo()).reference
    assert payment.refunded(charge) == 100
    assert payment.take_back(refund)
    assert (payment.refunded(charge), standing(stage, payment)) == (0, [True])
    assert not payment.take_back(refund), "it is taken back once"
    assert not payment.take_back(charge), "and only a refund can be"
    assert stage.send(payment, undo()).reference != refund
