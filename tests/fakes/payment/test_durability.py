"""What a fake that comes back still knows; what a snapshot brings back; equal runs; and what is written nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.payment.face import PaymentFake
from fakes.payment.options import PaymentOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.payment.customer import PAY, SECOND_NS, Desk, Shop

PAN, CVC = "4000056655665556", "737"


def everything(shop: Shop) -> list[Any]:
    """All that the API shows."""
    kinds = ("customers", "payment_intents", "charges", "refunds", "events", "webhook_endpoints")
    return [shop.get(f"/v1/{kind}", {"limit": 100}).data for kind in kinds]


def purchase(shop: Shop) -> str:
    """Things of every kind, some of them not settled yet; a pending refund's id."""
    customer = shop.post("/v1/customers", {"email": "ann@shop.example"}, idempotency_key="c").data["id"]
    shop.post("/v1/payment_methods/pm_card_visa/attach", {"customer": customer})
    shop.pay(key="p", customer=customer, metadata={"operation": "bill", "target": "acme"})
    shop.pay(capture_method="manual")
    shop.pay(payment_method="pm_card_visa_chargeDeclined", key="d")
    charge = shop.pay(payment_method="pm_card_pendingRefund")["latest_charge"]
    shop.post("/v1/webhook_endpoints", {"url": "http://127.0.0.1:9/", "enabled_events": ["customer.deleted"]})
    return str(shop.post("/v1/refunds", {"charge": charge}).data["id"])


@pytest.mark.slow
def test_a_fake_that_comes_back_on_its_folder_has_lost_nothing(tmp_path: Path) -> None:
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        shop = Shop(hosted)
        refund = purchase(shop)
        before = everything(shop)
        effects = [entry.data for entry in hosted.entries("effect")]
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        shop = Shop(hosted)
        assert everything(shop) == before
        assert [entry.data for entry in hosted.entries("effect")] == effects
        again = shop.post(
            "/v1/payment_intents", {**PAY, "customer": before[0]["data"][0]["id"], **_bill()}, idempotency_key="p"
        )
        assert again.headers["idempotent-replayed"] == "true"
        hosted.advance(60 * SECOND_NS)
        assert hosted.wait_for("effect", len(effects) + 1)[-1].data["action"] == "refund"
        assert shop.get(f"/v1/refunds/{refund}").data["status"] == "succeeded"
        hosted.advance(7 * 24 * 3600 * SECOND_NS)
        assert hosted.wait_for("effect", len(effects) + 2)[-1].data["action"] == "authorization.cancel"
        assert hosted.entries("bug") == []


def _bill() -> dict[str, Any]:
    return {"metadata": {"operation": "bill", "target": "acme"}}


def test_a_snapshot_brings_the_old_state_back_and_what_it_had_still_to_settle() -> None:
    with Hosted(PaymentFake, clock=Clock(is_manual=True)) as hosted:
        shop = Shop(hosted)
        refund = purchase(shop)
        before, kept = everything(shop), hosted.call(hosted.desk.snapshot)
        later = shop.post(
            "/v1/refunds", {"payment_intent": shop.pay(payment_method="pm_card_pendingRefund")["id"]}
        ).data["id"]
        hosted.call(lambda: hosted.desk.restore(kept))
        assert everything(shop) == before
        assert shop.get(f"/v1/refunds/{later}").status == 404
        effects = len(hosted.entries("effect"))
        hosted.advance(61 * SECOND_NS)
        hosted.wait_for("effect", effects + 1)
        assert shop.get(f"/v1/refunds/{refund}").data["status"] == "succeeded"
        assert len(hosted.entries("effect")) == effects + 1
        assert hosted.entries("bug") == []


def test_equal_requests_to_equal_fakes_get_equal_bytes() -> None:
    def run() -> str:
        with Hosted(PaymentFake, clock=Clock(is_manual=True)) as hosted:
            shop = Shop(hosted)
            purchase(shop)
            hosted.advance(5 * SECOND_NS)
            said = [everything(shop), [[e.time_ns, e.kind, e.call, dict(e.data)] for e in hosted.entries("effect")]]
            return json.dumps(said)

    assert run() == run()


def test_the_api_is_the_same_in_process_and_on_the_wire() -> None:
    def deals(said: Any) -> list[Any]:
        customer = said.post("/v1/customers", {"name": "Ann"}).data
        paid = said.pay(customer=customer["id"], expand=["latest_charge"])
        return [
            customer,
            paid,
            said.pay(payment_method="pm_card_visa_chargeDeclined"),
            said.post("/v1/refunds", {"payment_intent": paid["id"], "amount": 400}).data,
            said.post("/v1/refunds", {"payment_intent": paid["id"], "amount": 700}).data,
            said.get("/v1/payment_intents", {"customer": customer["id"]}).data,
            said.get("/v1/charges/ch_9").data,
        ]

    desk = Desk()
    with Hosted(PaymentFake, clock=Clock(is_manual=True, start_ns=desk.now_ns)) as hosted:
        assert deals(Shop(hosted)) == deals(desk)


def test_secrets_are_in_no_entry_no_view_and_no_refusal() -> None:
    secret = "sk_test_a_secret_of_its_own"
    with Hosted(PaymentFake, PaymentOptions(api_key=secret)) as hosted:
        shop = Shop(hosted)
        card = {"type": "card", "card": {"number": PAN, "exp_month": 4, "exp_year": 2031, "cvc": CVC}}
        said = [
            shop.ask("POST", "/v1/payment_methods", card, secret),
            shop.ask("POST", "/v1/payment_methods", {**card, "colour": PAN}, secret),
            shop.ask("POST", "/v1/payment_methods", {**card, "card": {"number": PAN[:-1] + "7"}}, secret),
            shop.ask("POST", "/v1/payment_intents", {**PAY, "payment_method_data": card, "amount": PAN}, secret),
            shop.ask("POST", "/v1/payment_methods", card, secret + "x"),
            shop.ask("GET", "/v1/payment_methods", {"type": "card"}, secret),
        ]
        assert [each.status for each in said] == [200, 400, 402, 400, 401, 200]
        intent = shop.ask("POST", "/v1/payment_intents", PAY, secret).data
        shown = repr((hosted.entries(), hosted.call(hosted.fake.view), [each.data for each in said]))
        for hidden in (PAN, PAN[:-1], CVC + "'", secret, intent["client_secret"]):
            assert hidden not in shown


def test_a_card_number_is_in_no_document_either() -> None:
    desk = Desk()
    data = {"type": "card", "card": {"number": PAN, "exp_month": 4, "exp_year": 2031, "cvc": CVC}}
    desk.post(
        "/v1/payment_intents",
        {"amount": 5, "currency": "eur", "confirm": True, "payment_method_data": data},
        idempotency_key="k",
    )
    assert PAN not in repr(desk.account.shelf.__dict__)
