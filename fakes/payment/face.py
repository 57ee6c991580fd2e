"""The payment fake: Stripe's API over HTTP.

    /v1/customers            create, retrieve, update, delete, list, search; their payment_methods
    /v1/payment_methods      create with test cards or test IBANs, retrieve, update, attach, detach, list
    /v1/payment_intents      create, confirm, capture, cancel, retrieve, update, list, search (which lags)
    /v1/charges, /v1/events  retrieve, list; charges can be searched
    /v1/refunds              create, retrieve, update, cancel, list
    /v1/webhook_endpoints    create, retrieve, list, delete; signed deliveries
    /authenticate/ID         the customer's page of a payment that requires action (`?outcome=fail`: it fails)

Effects: `customer.create`, `customer.delete`, `charge`, `authorize`, `capture`, `authorization.cancel`, `refund`. Their
operation and target are `metadata[operation]` and `metadata[target]`, or the headers `X-Operation` and `X-Target` for
requests without metadata; without a target it is the customer's id, or the object's own.

Hook points: all of a request's way; READ for questions; EVENT for a webhook's try (`line` is the event's type); SETTLE
for `what=payment`, `refund` and `expiry`. A status at BEFORE_COMMIT or AFTER_COMMIT is kept under the idempotency key,
since execution had begun; at the points before it is not, and 401, 409 and 429 never are.
Never here: the rule (`api.py` and what it uses).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fakes.payment import intents, refunds
from fakes.payment.account import Account, Asking
from fakes.payment.api import Answer, Http, Order, StripeApi, answer_of, common_headers
from fakes.payment.customers import delete_customer
from fakes.payment.domain import CardPayment
from fakes.payment.keeping import POLICIES
from fakes.payment.options import PaymentOptions
from fakes.payment.records import Object
from fakes.payment.refusals import StripeRefusal, by_status, key_in_use
from fakes.payment.webhooks import Postman
from fakes.wire.board import Interrupted
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Options, Place
from fakes.wire.http import HttpFake, Refusal, call_of
from fakes.wire.journal_file import Document
from fakes.wire.points import Act, Facts, Point
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.errors import ProviderFailure

METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]
SHOWN = (
    *(
        "id",
        "status",
        "amount",
        "amount_received",
        "amount_refunded",
        "currency",
        "customer",
        "email",
        "payment_intent",
    ),
    *(
        "charge",
        "metadata",
        "captured",
        "refunded",
        "failure_code",
        "failure_reason",
        "type",
        "url",
        "deleted",
        "created",
    ),
)
"""What people see of an object: no secrets."""
VIEWED = ("customer", "payment_method", "payment_intent", "charge", "refund", "webhook_endpoint")
VIEWED_MAX = 1000


class PaymentFake(HttpFake):
    """The payment provider, hosted."""

    name: ClassVar[str] = "payment"
    title: ClassVar[str] = "Payments: the Stripe API (customers, payment intents, refunds, events), HTTP"
    options_class: ClassVar[type[Options]] = PaymentOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "refund": "Somebody refunds, wholly, what the held request is about.",
        "cancel": "Somebody cancels the payment that the held request is about.",
        "authenticate": "The customer authenticates the payment that the held request is about.",
        "delete-customer": "Somebody deletes the customer that the held request is about.",
    }
    options: PaymentOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        cell, clock = options.provider_cell, desk.clock
        domain = CardPayment(cell, now=clock.now_ns, record=desk.record, later=_no_timer)
        shelf = Shelf()
        self.account = Account(domain, shelf, clock.now_ns, self._settle_later, self.options.habits())
        self.api = StripeApi(
            self.account,
            POLICIES[self.options.idempotency],
            api_key=self.options.api_key,
            lookup=cell.lookup,
            search_lag_ns=self.options.search_lag_ns,
        )
        self.postman = Postman(desk, self.account, self.options.webhook_hosts)
        self.account.send = self.postman.send
        self.state = _State(ProviderState(domain, shelf), self.account)
        self._about: dict[str, str] = {}
        """Call on its way -> the object it is about: what a competitor acts on."""

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        url, key = places[self.port].url, self.options.api_key
        return {"url": url, "api_key": key, "env": {"STRIPE_API_BASE": url, "STRIPE_API_KEY": key}}

    def view(self) -> Any:
        return {f"{kind}s": self._viewed(kind) for kind in VIEWED}

    def _viewed(self, kind: str) -> list[Object]:
        newest = self.account.records.newest_first(kind)
        some = [each for each, _ in zip(newest, range(VIEWED_MAX), strict=False)]
        return [{name: each[name] for name in SHOWN if name in each} for each in reversed(some)]

    async def close(self) -> None:
        await super().close()
        await self.postman.close()

    def application(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/authenticate/{id}", self._authenticate, methods=["GET", "POST"]),
                Route("/{path:path}", self._answer, methods=METHODS),
            ]
        )

    def refusal(self, code: int, call: Call) -> Refusal:
        answer = answer_of(by_status(code))
        return Refusal({**self._headers_of(code), "request-id": _request_id(call)}, answer.body)

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        status = 409 if failed.code == "key-in-use" else 400
        return status, self.refusal(status, call)

    def _headers_of(self, code: int) -> dict[str, str]:
        """Of a status that a hook answers with."""
        headers = {"content-type": "application/json"}
        if self.options.should_retry != "unsaid" and code >= 400:
            headers["stripe-should-retry"] = self.options.should_retry
        return headers

    # A request.

    async def _answer(self, request: HttpRequest) -> Response:
        call, scope = call_of(request), request.scope
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        http = Http(scope["method"], scope["path"], scope["query_string"], headers, await request.body())
        try:
            order = self.api.prepare(http)
            answer = await (self._change(call, order) if order.is_change else self._read(call, order))
        except StripeRefusal as refused:
            answer = answer_of(refused)
        return Response(answer.body, answer.status, {**common_headers(http, _request_id(call)), **answer.headers})

    async def _read(self, call: Call, order: Order) -> Answer:
        call.about(what=order.what, target=order.target, operation=order.operation)
        return self.api.look(order, await self.desk.read(call))

    async def _change(self, call: Call, order: Order) -> Answer:
        call.about(what=order.what, target=order.target, operation=order.operation, key=order.key)
        self._about[call.number] = order.about
        request_id = _request_id(call)

        def execute() -> Answer:
            return self.api.execute(order, request_id=request_id)

        try:
            return await self.desk.treat(call, execute, is_replay=self.api.is_replay(order))
        except Interrupted as cut:
            if cut.action.act is not Act.STATUS or cut.point not in (Point.BEFORE_COMMIT, Point.AFTER_COMMIT):
                raise
            return self._stand_in(order, cut, request_id)
        except ProviderFailure as failed:
            if failed.code != "key-in-use":
                raise
            raise key_in_use() from None
        finally:
            del self._about[call.number]

    def _stand_in(self, order: Order, cut: Interrupted, request_id: str) -> Answer:
        """Execution had begun, so this status is kept."""
        answer = self.api.stand_in(order, cut.action.code, request_id)
        self.desk.commit()
        headers = self._headers_of(cut.action.code)
        if cut.action.retry_after_s >= 0:
            headers["retry-after"] = str(cut.action.retry_after_s)
        return answer._replace(headers=headers)

    async def _authenticate(self, request: HttpRequest) -> Response:
        call = call_of(request).about(what="authenticate", target=request.path_params["id"])
        succeeds = request.query_params.get("outcome") != "fail"
        back: list[str] = []

        def execute() -> None:
            id_ = request.path_params["id"]
            waiting = self.account.need("payment_intent", id_)["next_action"] or {}
            back.append((waiting.get("redirect_to_url") or {}).get("return_url", ""))
            intents.authenticate(self.account, id_, succeeds=succeeds)

        try:
            await self.desk.treat(call, execute)
        except StripeRefusal as refused:
            return Response(answer_of(refused).body, refused.status, {"content-type": "application/json"})
        return RedirectResponse(back[0], 303) if back[0] else Response("The payment goes on.\n")

    # Who acts besides, and what comes later.

    def compete(self, what: str, facts: Facts) -> None:
        id_ = self._about.get(facts.call, "")
        account, account_asking = self.account, self.account.asking
        account.asking = Asking()
        try:
            self._compete(what, facts, id_)
        except StripeRefusal as refused:
            raise LookupError(str(refused)) from None
        finally:
            account.asking = account_asking

    def _compete(self, what: str, facts: Facts, id_: str) -> None:
        account = self.account
        match what:
            case "refund" if id_.startswith(("pi_", "ch_")):
                refunds.create_refund(account, (), {"payment_intent" if id_[0] == "p" else "charge": id_})
            case "cancel":
                intents.cancel_intent(account, (id_,), {})
            case "authenticate":
                intents.authenticate(account, id_, succeeds=True)
            case "delete-customer":
                customer = (account.records.get("payment_intent", id_) or {}).get("customer") or id_
                delete_customer(account, (customer,), {})
            case _:
                super().compete(what, facts)

    def _settle_later(self, delay_ns: int, facts: Facts, settle: Any) -> None:
        """Cross SETTLE when it is due, unless the state has been restored since."""
        generation = self.account.generation

        def due() -> None:
            if generation == self.account.generation:
                self.desk.settle_later(0, facts, settle)

        self.desk.clock.later(delay_ns, due)


class _State:
    """The account's state as documents; when it was loaded, its timers are set again."""

    def __init__(self, kept: ProviderState, account: Account) -> None:
        self._kept = kept
        self._account = account

    def take_changes(self) -> Iterable[Document]:
        return self._kept.take_changes()

    def load(self, documents: Iterable[Document]) -> None:
        self._kept.load(documents)
        self._account.take_up()


def _request_id(call: Call) -> str:
    return f"req_{call.number.rpartition('-')[2] or 0}"


def _no_timer(delay_ns: int, action: Any) -> None:
    """The account keeps its own timers, which outlive the process."""
