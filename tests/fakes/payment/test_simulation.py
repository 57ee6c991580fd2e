"""The unmodified client library in a simulation: message faults, provider faults, and equal runs."""

from __future__ import annotations

from typing import Any

import pytest
import stripe

from fakes.core.endpoint import Endpoint
from fakes.payment.in_process import StripeAccount
from fakes.payment.transport import SimulatedClient
from harness.model.boundary import Phase, Purpose
from harness.model.cell import SECOND_NS
from harness.model.errors import ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import Reply, Request
from tests.fakes.payment.customer import PAY
from tests.fakes.stage import Stage, effect, found

TIMEOUT_NS = 5 * SECOND_NS
LOST = {
    Fault.LOST_RESPONSE: "timeout",
    Fault.CONNECTION_RESET: "connection-reset",
    Fault.TRUNCATED_RESPONSE: "truncated-response",
}
BILL = {"operation": "bill", "target": "cus-1"}


class Handles:
    """A worker's handles on a stage: each call meets the next fault of its plan, as on the rig."""

    def __init__(
        self, stage: Stage, plan: list[Fault | None] | None = None, cell: str = "honoured.authoritative.prompt"
    ) -> None:
        self.stage = stage
        self.account: Endpoint = stage.provider(cell, StripeAccount)
        self.plan = plan or []
        self.requests: list[Request] = []
        self.replies: list[Reply] = []

    def call(self, request: Request) -> Reply:
        self.requests.append(request)
        fault = self.plan.pop(0) if self.plan else None
        if fault is Fault.CONNECTION_REFUSED:
            raise ProviderFailure("connection-refused")
        if fault is Fault.LOST_REQUEST:
            self.stage.pass_ns(TIMEOUT_NS)
            raise ProviderFailure("timeout")
        phase = Phase.COMMITTED if fault is Fault.ERROR_AFTER_COMMIT else Phase.DELIVERED
        faults = {phase: fault} if fault is not None and fault not in LOST else {}
        try:
            reply = self.stage.send(self.account, request, faults)
        except ProviderFailure as failure:
            raise ProviderFailure(failure.code) from None  # as the rig does: what the caller saw is a code
        if fault in LOST:
            self.stage.pass_ns(TIMEOUT_NS if fault is Fault.LOST_RESPONSE else 0)
            raise ProviderFailure(LOST[fault])
        self.replies.append(reply)
        return reply

    def sleep_ns(self, duration_ns: int) -> None:
        self.stage.pass_ns(duration_ns)


def shop(handles: Handles, retries: int = 2, name: str = "w1-1") -> stripe.StripeClient:
    return stripe.StripeClient("sk_test_any", http_client=SimulatedClient(handles, name), max_network_retries=retries)


def pay(client: stripe.StripeClient, key: str = "") -> stripe.PaymentIntent:
    options: Any = {"idempotency_key": key} if key else {}
    return client.v1.payment_intents.create({**PAY, "metadata": BILL}, options)  # type: ignore[typeddict-item]


def charges(stage: Stage) -> list[str]:
    return [data["operation"] for data in stage.data("effect") if data["action"] == "charge"]


def test_a_payment_is_a_request_of_its_operation_at_its_target(stage: Stage) -> None:
    handles = Handles(stage)
    assert pay(shop(handles), "k-1").status == "succeeded"
    (request,) = handles.requests
    assert request[:5] == ("payment", "charge", Purpose.EFFECT, "bill", "cus-1")
    assert (request.key, request.params["path"]) == ("k-1", "/v1/payment_intents")
    (data,) = stage.data("effect")
    assert (data["operation"], data["target"], data["key"], data["call"]) == ("bill", "cus-1", "k-1", "call-1")
    assert stage.crossed == [Phase.DELIVERED, Phase.COMMITTED]
    assert [record.standing for record in found(stage, handles.account)] == [True]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "arrivals", "effects"),
    [
        (Fault.LOST_REQUEST, 1, 1),
        (Fault.CONNECTION_REFUSED, 1, 1),
        (Fault.LOST_RESPONSE, 2, 1),
        (Fault.CONNECTION_RESET, 2, 1),
        (Fault.UNAVAILABLE, 2, 1),
        (Fault.KEY_IN_USE, 2, 1),
    ],
)
def test_the_library_sends_again_under_its_key_and_pays_once(
    stage: Stage, fault: Fault, arrivals: int, effects: int
) -> None:
    handles = Handles(stage, [fault])
    assert pay(shop(handles)).status == "succeeded"
    assert [request.key for request in handles.requests] == ["auto-w1-1-1"] * 2
    assert stage.counts(handles.account).arrivals == arrivals
    assert len(charges(stage)) == effects
    assert stage.now_ns >= SECOND_NS // 2, "it waited in virtual time"


@pytest.mark.parametrize(
    ("fault", "kind", "effects"),
    [
        (Fault.TRUNCATED_RESPONSE, stripe.APIConnectionError, 1),
        (Fault.RATE_LIMITED, stripe.RateLimitError, 0),
        (Fault.DECLINED, stripe.CardError, 0),
        (Fault.KEY_REUSED, stripe.IdempotencyError, 0),
    ],
)
def test_what_the_library_does_not_send_again_its_caller_sees(
    stage: Stage, fault: Fault, kind: type[Exception], effects: int
) -> None:
    handles = Handles(stage, [fault])
    with pytest.raises(kind) as seen:
        pay(shop(handles))
    assert type(seen.value) is kind
    assert (len(handles.requests), len(charges(stage))) == (1, effects)


def test_a_500_after_the_commit_is_kept_and_only_a_look_up_tells(stage: Stage) -> None:
    handles = Handles(stage, [Fault.ERROR_AFTER_COMMIT])
    client = shop(handles)
    for _ in range(2):
        with pytest.raises(stripe.APIError) as seen:
            pay(client, "k-1")
        assert seen.value.http_status == 500
    assert len(charges(stage)) == 1
    (intent,) = client.v1.payment_intents.list().data
    assert (intent.status, intent.metadata["operation"]) == ("succeeded", "bill")
    (record,) = handles.replies[-1].found
    assert (record.operation, record.action, record.standing) == ("bill", "charge", True)


def test_a_decline_is_the_cards_and_kept_under_the_key(stage: Stage) -> None:
    handles = Handles(stage, [Fault.DECLINED])
    client = shop(handles)
    for _ in range(2):
        with pytest.raises(stripe.CardError):
            pay(client, "k-1")
    assert charges(stage) == []
    (intent,) = client.v1.payment_intents.list().data
    assert intent.status == "requires_payment_method"


def test_an_operation_that_is_always_declined_is_declined_here_too(stage: Stage) -> None:
    handles = Handles(stage)
    handles.account = stage.provider(kind=StripeAccount, declined="bill")
    with pytest.raises(stripe.CardError):
        pay(shop(handles))
    assert charges(stage) == []


@pytest.mark.parametrize(
    ("fault", "status", "effects"),
    [(Fault.PENDING_THEN_SUCCEEDED, "succeeded", 1), (Fault.PENDING_THEN_FAILED, "requires_payment_method", 0)],
)
def test_what_is_pending_is_an_effect_when_it_settles_or_never(
    stage: Stage, fault: Fault, status: str, effects: int
) -> None:
    handles = Handles(stage, [fault])
    client = shop(handles)
    intent = pay(client)
    assert (intent.status, charges(stage), handles.replies[0].pending) == ("processing", [], True)
    stage.pass_ns(5 * SECOND_NS)
    assert client.v1.payment_intents.retrieve(intent.id).status == status
    assert len(charges(stage)) == effects


def test_an_untrue_success_is_answered_kept_and_nowhere_to_be_found(stage: Stage) -> None:
    handles = Handles(stage, [Fault.FALSE_SUCCESS])
    client = shop(handles)
    untrue = pay(client, "k-1")
    assert (untrue.status, charges(stage)) == ("succeeded", [])
    assert client.v1.payment_intents.list().data == []
    assert pay(client, "k-1").id == untrue.id
    assert pay(client, "k-2").id != untrue.id
    assert len(charges(stage)) == 1


def test_look_ups_may_be_stale_partial_or_refused(stage: Stage) -> None:
    handles = Handles(stage)
    client = shop(handles, retries=0)
    made = [pay(client).id for _ in range(3)]
    handles.plan = [Fault.STALE_LOOKUP]
    assert client.v1.payment_intents.list().data == []
    handles.plan = [Fault.PARTIAL_LOOKUP]
    page = client.v1.payment_intents.list()
    assert (len(page.data), page.has_more, handles.replies[-1].complete) == (2, True, False)
    handles.plan = [Fault.LOOKUP_UNAVAILABLE]
    with pytest.raises(stripe.APIError):
        client.v1.payment_intents.list()
    assert [intent.id for intent in client.v1.payment_intents.list()] == made[::-1]


def test_the_marker_of_requests_that_carry_none_is_named_by_their_caller(stage: Stage) -> None:
    handles = Handles(stage)
    transport = SimulatedClient(handles)
    client = stripe.StripeClient("sk_test_any", http_client=transport)
    customer = client.v1.customers.create({"metadata": {"operation": "join", "target": "acme"}})
    with transport.about("undo.join", "acme"):
        client.v1.customers.delete(customer.id)
    assert handles.requests[-1][1:5] == ("customer.delete", Purpose.UNDO, "undo.join", "acme")
    assert stage.data("effect")[-1]["operation"] == "undo.join"


def test_a_refund_is_an_undo_at_the_charges_target(stage: Stage) -> None:
    handles = Handles(stage)
    client = shop(handles)
    intent = pay(client)
    about = {"operation": "undo.bill", "target": "cus-1"}
    client.v1.refunds.create({"payment_intent": intent.id, "metadata": about})
    assert handles.requests[-1][1:5] == ("refund", Purpose.UNDO, "undo.bill", "cus-1")
    assert stage.data("effect")[-1]["undoes"] == stage.data("effect")[0]["effect"]


def test_the_account_is_still_the_domain_for_those_who_ask_it_so(stage: Stage) -> None:
    account = stage.provider(kind=StripeAccount)
    reference = stage.send(account, effect("charge", "cus-1", "bill", key="k")).reference
    assert stage.send(account, effect("charge", "cus-1", "bill", key="k")) == Reply(reference, replayed=True)


def test_a_snapshot_brings_objects_keys_and_effects_back(stage: Stage) -> None:
    handles = Handles(stage)
    client = shop(handles)
    first = pay(client, "k-1")
    before = handles.account.snapshot()
    assert hash(before) == hash(handles.account.snapshot())
    pay(client, "k-2")
    after = handles.account.snapshot()
    handles.account.restore(before)
    assert handles.account.snapshot() == before != after
    assert [intent.id for intent in client.v1.payment_intents.list()] == [first.id]
    assert pay(client, "k-1").id == first.id


def test_whether_a_key_was_seen_and_something_stands_is_known_of_the_api_too(stage: Stage) -> None:
    handles = Handles(stage)
    pay(shop(handles), "k-1")
    (request,) = handles.requests
    assert handles.account.circumstances(request) == (True, True)
    assert handles.account.circumstances(request._replace(key="k-2", target="cus-2")) == (False, False)


# A candidate that recovers by look-up, and one that does not.


def careful(client: stripe.StripeClient) -> None:
    """Pay once under a key of its own; when the outcome is open, look before it gives up."""
    try:
        pay(client, "bill/1")
    except (stripe.APIConnectionError, stripe.APIError):
        if not any(
            each.metadata["operation"] == "bill" for each in client.v1.payment_intents.list().auto_paging_iter()
        ):
            pay(client, "bill/1")


def hasty(client: stripe.StripeClient) -> None:
    """Pay again, under whatever key the library makes up."""
    try:
        pay(client)
    except (stripe.APIConnectionError, stripe.APIError):
        pay(client)


@pytest.mark.parametrize("fault", [*LOST, Fault.LOST_REQUEST, Fault.ERROR_AFTER_COMMIT, Fault.UNAVAILABLE])
@pytest.mark.parametrize("retries", [0, 2])
def test_who_looks_pays_once_under_every_fault(stage: Stage, fault: Fault, retries: int) -> None:
    handles = Handles(stage, [fault])
    careful(shop(handles, retries))
    assert charges(stage) == ["bill"]
    assert handles.plan == [], "the fault was met"


def test_who_does_not_look_pays_twice_when_the_library_does_not_send_again(stage: Stage) -> None:
    hasty(shop(Handles(stage, [Fault.TRUNCATED_RESPONSE])))
    assert charges(stage) == ["bill", "bill"]


def test_equal_runs_are_equal_byte_for_byte() -> None:
    def run() -> bytes:
        stage = Stage()
        handles = Handles(stage, [Fault.LOST_RESPONSE, None, Fault.CONNECTION_RESET, Fault.PENDING_THEN_SUCCEEDED])
        for name in ("w1-1", "w2-2"):
            hasty(shop(handles, name=name))
        stage.pass_ns(60 * SECOND_NS)
        return repr((stage.journal.events, handles.requests, handles.replies, stage.now_ns)).encode()

    assert run() == run()
