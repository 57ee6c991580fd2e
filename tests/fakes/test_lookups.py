"""Look-ups: what each cell shows, how far an eventual one lags, and what a faulty one says."""

from __future__ import annotations

import pytest

from fakes.checkout.domain import Checkout
from fakes.core.kernel import PENDING_NS
from harness.model.boundary import Phase, Purpose
from harness.model.cell import READ_LAG_NS
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import FoundRecord, Reply
from tests.fakes.stage import Stage, effect, found, lookup, standing, undo

EVENTUAL, ABSENT = "honoured.eventual.prompt", "honoured.absent.prompt"


def test_authoritative_lookup_finds_the_record_at_once_with_its_owner(stage: Stage) -> None:
    provider = stage.provider()
    reference = stage.send(provider, effect()).reference
    assert found(stage, provider) == [FoundRecord(reference, "bill", "charge", standing=True)]


def test_lookup_is_by_target_and_action(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    assert found(stage, provider, target="cus-2") == []
    assert found(stage, provider, action="customer.create") == []


def test_records_are_found_oldest_first_undone_ones_too(stage: Stage) -> None:
    provider = stage.provider()
    references = [stage.send(provider, effect(operation=name)).reference for name in ("one", "two")]
    stage.send(provider, undo())
    assert [(record.reference, record.standing) for record in found(stage, provider)] == [
        (references[0], False),
        (references[1], True),
    ]


def test_verification_reads_as_a_lookup_does(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    verified = stage.send(provider, lookup(purpose=Purpose.VERIFY))
    assert verified == stage.send(provider, lookup())


@pytest.mark.parametrize(("age_ns", "seen"), [(READ_LAG_NS - 1, []), (READ_LAG_NS, [True])])
def test_eventual_lookup_does_not_see_a_record_younger_than_the_lag(
    stage: Stage, age_ns: int, seen: list[bool]
) -> None:
    provider = stage.provider(EVENTUAL)
    stage.pass_ns(7)
    stage.send(provider, effect())
    stage.pass_ns(age_ns)
    assert standing(stage, provider) == seen


@pytest.mark.parametrize(("age_ns", "seen"), [(READ_LAG_NS - 1, [True]), (READ_LAG_NS, [False])])
def test_eventual_lookup_shows_an_undone_record_as_standing_until_the_lag_is_over(
    stage: Stage, age_ns: int, seen: list[bool]
) -> None:
    provider = stage.provider(EVENTUAL)
    stage.send(provider, effect())
    stage.pass_ns(READ_LAG_NS)
    stage.send(provider, undo())
    stage.pass_ns(age_ns)
    assert standing(stage, provider) == seen


@pytest.mark.parametrize(("age_ns", "pending"), [(READ_LAG_NS - 1, True), (READ_LAG_NS, False)])
def test_eventual_lookup_shows_a_settled_record_as_pending_until_the_lag_is_over(
    stage: Stage, age_ns: int, pending: bool
) -> None:
    provider = stage.provider(EVENTUAL)
    stage.send(provider, effect(), {Phase.DELIVERED: Fault.PENDING_THEN_SUCCEEDED})
    stage.pass_ns(PENDING_NS + age_ns)
    assert [(record.pending, record.standing) for record in found(stage, provider)] == [(pending, not pending)]


def test_where_nothing_can_be_looked_up_a_lookup_is_invalid(stage: Stage) -> None:
    provider = stage.provider(ABSENT)
    stage.send(provider, effect())
    assert stage.refusal(provider, lookup()) == "invalid"
    assert stage.data("responded")[-1] == {"call": "call-2", "code": "invalid"}


def test_lookup_of_an_action_the_provider_does_not_have_is_invalid(stage: Stage) -> None:
    assert stage.refusal(stage.provider(), lookup(action="levitate")) == "invalid"


def test_lookup_crosses_only_its_delivery(stage: Stage) -> None:
    stage.send(stage.provider(), lookup())
    assert stage.crossed == [Phase.DELIVERED]


@pytest.mark.parametrize(
    ("fault", "code"), [(Fault.LOOKUP_UNAVAILABLE, "unavailable"), (Fault.RATE_LIMITED, "rate-limited")]
)
def test_faulty_lookup_is_refused_with_its_own_code(stage: Stage, fault: Fault, code: str) -> None:
    with pytest.raises(ProviderFailure, match=code):
        stage.send(stage.provider(), lookup(), {Phase.DELIVERED: fault})


def test_stale_lookup_claims_that_nothing_is_there(stage: Stage) -> None:
    provider = stage.provider(EVENTUAL)
    stage.send(provider, effect())
    stage.pass_ns(READ_LAG_NS)
    assert stage.send(provider, lookup(), {Phase.DELIVERED: Fault.STALE_LOOKUP}) == Reply(found=(), complete=True)
    assert standing(stage, provider) == [True]


def test_partial_lookup_says_that_it_is_incomplete(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    assert stage.send(provider, lookup(), {Phase.DELIVERED: Fault.PARTIAL_LOOKUP}) == Reply(found=(), complete=False)


def test_an_undo_can_be_looked_up_by_its_own_action(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    reference = stage.send(provider, undo()).reference
    assert found(stage, provider, "refund") == [FoundRecord(reference, "undo.bill", "refund", standing=True)]


def test_order_history_lists_every_order_oldest_first_and_lags_with_its_cell(stage: Stage) -> None:
    shop = stage.provider(EVENTUAL, Checkout)
    assert isinstance(shop, Checkout)
    for reference in ("ORD-1", "ORD-2"):
        stage.send(shop, effect("order", reference, f"buy-{reference}"))
    stage.send(shop, undo("order.cancel", "ORD-1"))
    assert shop.history() == ()
    stage.pass_ns(READ_LAG_NS)
    assert [(order.operation, order.standing) for order in shop.history()] == [
        ("buy-ORD-1", False),
        ("buy-ORD-2", True),
    ]
