"""The unmodified client library on the simulation rig itself: an account stands where the payment provider stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
import stripe

from fakes.payment.transport import SimulatedClient
from harness.candidates.contract import Handles
from harness.model.boundary import Purpose
from harness.model.cell import Cell
from harness.model.errors import UsageError
from harness.model.event import History
from harness.model.fault import FAULTS, Circumstances, Family, Fault, applicable
from harness.rigs.simulation import Explored, Run
from tests.rigs.candidates import Candidate
from tests.rigs.simulated import begun, effects, fired, scenario_of

FIRST = scenario_of("pair").workflow.operation("first")
NOTHING_PAID = {Fault.FALSE_SUCCESS.value, Fault.DECLINED.value, Fault.PENDING_THEN_FAILED.value}
PAY = {"amount": 1000, "currency": "eur", "payment_method": "pm_card_visa", "confirm": True}


def client(handles: Handles) -> stripe.StripeClient:
    transport = SimulatedClient(handles, f"{handles.worker}-{handles.incarnation}")
    return stripe.StripeClient("sk_test_any", http_client=transport, max_network_retries=2)


def pay_and_look(handles: Handles) -> None:
    """Pay under a key; if the outcome is open, look, and pay under the same key if nothing is there."""
    shop = client(handles)
    metadata = {"operation": FIRST.id, "target": FIRST.target}
    try:
        shop.v1.payment_intents.create({**PAY, "metadata": metadata}, {"idempotency_key": "pay/1"})  # type: ignore[typeddict-item]
    except stripe.StripeError:
        seen = shop.v1.payment_intents.list()
        if not any(intent.metadata["operation"] == FIRST.id for intent in seen.auto_paging_iter()):
            shop.v1.payment_intents.create({**PAY, "metadata": metadata}, {"idempotency_key": "pay/2"})  # type: ignore[typeddict-item]


def on_account(line: str, act: Callable[[Handles], None]) -> AbstractContextManager[Run]:
    """A run of a candidate that says that it reaches the payment provider by its API."""
    candidate = Candidate("shop", act)
    candidate.interfaces = {"payment": "stripe"}  # type: ignore[attr-defined]
    return begun(candidate, line)


def played(line: str) -> Explored:
    with on_account(line, pay_and_look) as run:
        return run.execute()


def faults_of_calls() -> Iterator[str]:
    """Schedule lines: every message and provider fault at every boundary of the first payment."""
    for path, (phase, purpose, provider, *_) in played("pair:seed=1:").sites.items():
        if provider != "payment" or purpose is not Purpose.EFFECT:
            continue
        for fault in applicable(phase, purpose, Circumstances(Cell())):
            if FAULTS[fault].family in (Family.MESSAGE, Family.PROVIDER):
                yield f"pair:seed=1:{path}={fault.value}"


def outcomes(history: History) -> list[str]:
    return [event.data["code"] for event in history.of_kind("caller-saw")]


def test_a_payment_by_the_library_is_the_operations_attempt() -> None:
    history = played("pair:seed=1:").history
    assert effects(history) == [("first", "charge", 1)]
    (sent,) = history.of_kind("call-sent")
    assert (sent.data["operation"], sent.data["key"], sent.data["call"]) == ("first", "pay/1", "pair/first/attempt-1")
    assert outcomes(history) == ["ok"]


@pytest.mark.slow
def test_under_every_fault_of_its_calls_the_run_is_the_same_twice_and_pays_once_or_says_why_not() -> None:
    lines = list(faults_of_calls())
    assert len(lines) >= 12
    for line in lines:
        first, second = played(line).history, played(line).history
        assert first.events == second.events, line
        payments = [action for _, action, _ in effects(first)]
        assert payments == ([] if fired(first).data["fault"] in NOTHING_PAID else ["charge"]), line


def test_a_candidate_that_wants_an_api_nobody_has_is_told_which_there_are() -> None:
    candidate = Candidate("shop", pay_and_look)
    candidate.interfaces = {"dns": "stripe"}  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="There is payment: stripe"):
        begun(candidate, "pair:seed=1:").__enter__()
