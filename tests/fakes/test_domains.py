"""What is special about each provider: a second request for the same thing, and the rules of money and names."""

from __future__ import annotations

import pytest

from fakes.access.domain import Access
from fakes.checkout.domain import Checkout
from fakes.cloud.domain import Cloud
from fakes.core.kernel import Provider
from fakes.dns.domain import Dns
from fakes.email.domain import Email
from fakes.payment.domain import Payment
from fakes.tenant.domain import Tenants
from harness.model.boundary import Phase
from harness.model.fault import Fault
from harness.model.wire import Request
from tests.fakes.stage import Stage, effect, standing, undo

ADD = effect("record.add", "www", "point", params={"value": "192.0.2.1"})
GRANT = effect("grant", "ann@board", "let-in", params={"role": "reader"})


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        (Payment, "customer.create"),
        (Payment, "charge"),
        (Email, "send"),
        (Checkout, "order"),
        (Cloud, "resource.create"),
    ],
)
def test_asking_again_makes_another_one(stage: Stage, kind: type[Provider], action: str) -> None:
    provider = stage.provider(kind=kind)
    first, second = (stage.send(provider, effect(action)).reference for _ in range(2))
    assert first != second
    assert standing(stage, provider, action) == [True, True]


@pytest.mark.parametrize(("kind", "request_"), [(Dns, ADD), (Access, GRANT)])
def test_asking_for_what_stands_changes_nothing_and_names_it(
    stage: Stage, kind: type[Provider], request_: Request
) -> None:
    provider = stage.provider(kind=kind)
    first, second = (stage.send(provider, request_) for _ in range(2))
    assert (second.reference, second.replayed) == (first.reference, False)
    assert (provider.arrivals, provider.commits, provider.responses) == (2, 1, 2)


@pytest.mark.parametrize(
    ("kind", "asked", "other"),
    [
        (Dns, ADD, ADD._replace(params={"value": "192.0.2.2"})),
        (Access, GRANT, GRANT._replace(params={"role": "owner"})),
        (Tenants, effect("tenant.create", "acme"), effect("tenant.create", "acme")),
    ],
    ids=["another value", "another role", "the same name"],
)
def test_asking_for_a_taken_identity_is_a_conflict(
    stage: Stage, kind: type[Provider], asked: Request, other: Request
) -> None:
    provider = stage.provider(kind=kind)
    assert stage.refusal(provider, asked) == "ok"
    assert stage.refusal(provider, other) == "already-exists"
    assert provider.commits == 1


@pytest.mark.parametrize(
    ("kind", "action", "undoing"),
    [
        (Payment, "customer.create", "customer.delete"),
        (Dns, "record.add", "record.remove"),
        (Checkout, "order", "order.cancel"),
        (Tenants, "tenant.create", "tenant.delete"),
        (Cloud, "resource.create", "resource.terminate"),
        (Access, "grant", "revoke"),
    ],
)
def test_what_was_undone_can_be_made_anew_as_another_effect(
    stage: Stage, kind: type[Provider], action: str, undoing: str
) -> None:
    provider = stage.provider(kind=kind)
    first = stage.send(provider, effect(action)).reference
    stage.send(provider, undo(undoing))
    assert stage.send(provider, effect(action)).reference != first
    assert standing(stage, provider, action) == [False, True]


def test_record_keeps_the_owner_who_added_it(stage: Stage) -> None:
    dns = stage.provider(kind=Dns)
    stage.send(dns, ADD)
    stage.send(dns, ADD._replace(operation="competitor"))
    assert [data["operation"] for data in stage.data("effect")] == ["point"]


def test_serial_moves_with_every_effective_change_and_no_other(stage: Stage) -> None:
    dns = stage.provider(kind=Dns)
    assert isinstance(dns, Dns)
    remove = undo("record.remove", "www")
    serials = [dns.serial]
    for request, faults in (
        (ADD, {}),
        (ADD, {}),
        (ADD._replace(target="api"), {Phase.DELIVERED: Fault.FALSE_SUCCESS}),
        (remove, {}),
    ):
        stage.send(dns, request, faults)
        serials.append(dns.serial)
    assert serials == [1, 2, 2, 2, 3]


def test_mail_cannot_be_called_back(stage: Stage) -> None:
    email = stage.provider(kind=Email)
    stage.send(email, effect("send"))
    assert stage.refusal(email, undo("unsend")) == "invalid"


@pytest.mark.parametrize("amount", [0, -1, "100", None])
def test_charge_of_no_positive_whole_amount_is_invalid(stage: Stage, amount: object) -> None:
    params = {} if amount is None else {"amount": amount}
    assert stage.refusal(stage.provider(), effect(params=params)) == "invalid"


def test_partial_refund_leaves_the_charge_standing(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    stage.send(provider, undo(params={"amount": 99}))
    assert isinstance(provider, Payment)
    assert provider.refunded(charge) == 99
    assert standing(stage, provider) == [True]


def test_refunds_that_sum_to_the_amount_undo_the_charge(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    for amount in (60, 40):
        stage.send(provider, undo(params={"amount": amount}))
    assert standing(stage, provider) == [False]
    assert standing(stage, provider, "refund") == [True, True]
    assert [data["undoes"] for data in stage.data("effect")] == [None, charge, charge]


def test_refund_beyond_what_is_left_is_invalid_and_changes_nothing(stage: Stage) -> None:
    provider = stage.provider()
    stage.send(provider, effect())
    stage.send(provider, undo(params={"amount": 60}))
    assert stage.refusal(provider, undo(params={"amount": 41})) == "invalid"
    assert standing(stage, provider, "refund") == [True]
    assert stage.refusal(provider, undo(params={"amount": 40})) == "ok"


def test_refund_without_an_amount_gives_back_what_is_left(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    stage.send(provider, undo(params={"amount": 30}))
    stage.send(provider, undo())
    assert isinstance(provider, Payment)
    assert provider.refunded(charge) == 100
    assert standing(stage, provider) == [False]


def test_outside_actor_refunds_all_that_is_left(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    stage.send(provider, undo(params={"amount": 30}))
    assert provider.external_undo(undo(params={"amount": 10}))
    assert isinstance(provider, Payment)
    assert provider.refunded(charge) == 100


def test_pending_refund_is_no_refund_yet(stage: Stage) -> None:
    provider = stage.provider()
    charge = stage.send(provider, effect()).reference
    stage.send(provider, undo(), {Phase.DELIVERED: Fault.PENDING_THEN_FAILED})
    assert isinstance(provider, Payment)
    assert provider.refunded(charge) == 0
