"""What a shop does with a payment provider, in few words: clients, payments, and raw requests.

Never here: what should come of it.
"""

from __future__ import annotations

import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

import stripe

from fakes.core.journal import Journal
from fakes.payment.account import Account, Habits
from fakes.payment.api import Answer, Http, StripeApi, answer_of
from fakes.payment.domain import CardPayment
from fakes.payment.keeping import POLICIES
from fakes.payment.refusals import StripeRefusal
from fakes.wire.hosting import Hosted
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf
from harness.model.cell import Cell

SECRET = "sk_test_knownstate"
SECOND_NS = 1_000_000_000
PAY = {"amount": 1000, "currency": "eur", "payment_method": "pm_card_visa", "confirm": True}


def client(hosted: Hosted, retries: int | None = None) -> stripe.StripeClient:
    """The library's client; without `retries` its own default."""
    more: dict[str, Any] = {} if retries is None else {"max_network_retries": retries}
    return stripe.StripeClient(SECRET, base_addresses={"api": hosted.places["http"].url}, **more)


class Said(NamedTuple):
    """An answer over a raw connection."""

    status: int
    headers: dict[str, str]
    data: Any

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.data["error"]
        return error


def form(params: dict[str, Any]) -> str:
    """A form with nested names."""
    return urlencode(list(_pairs("", params)))


def _pairs(prefix: str, value: Any) -> Any:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _pairs(f"{prefix}[{name}]" if prefix else name, inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _pairs(f"{prefix}[{place}]", inner)
    else:
        yield prefix, str(value).lower() if isinstance(value, bool) else value


class Shop:
    """Requests to a hosted fake over one kept connection."""

    def __init__(self, hosted: Hosted) -> None:
        self._connection = http.client.HTTPConnection(*hosted.places["http"], timeout=10)

    def ask(
        self, method: str, path: str, params: dict[str, Any] | None = None, secret: str = SECRET, **headers: str
    ) -> Said:
        """One request; `idempotency_key=...` and the like are headers."""
        sent = {"authorization": f"Bearer {secret}"} | {name.replace("_", "-"): text for name, text in headers.items()}
        body = None
        if method == "POST":
            body, sent["content-type"] = form(params or {}), "application/x-www-form-urlencoded"
        elif params:
            path += "?" + form(params)
        self._connection.request(method, path, body, sent)
        response = self._connection.getresponse()
        text = response.read()
        data = json.loads(text) if text[:1] == b"{" else text.decode()
        return Said(response.status, {name.lower(): value for name, value in response.getheaders()}, data)

    def post(self, path: str, params: dict[str, Any] | None = None, **headers: str) -> Said:
        return self.ask("POST", path, params, **headers)

    def get(self, path: str, params: dict[str, Any] | None = None, **headers: str) -> Said:
        return self.ask("GET", path, params, **headers)

    def pay(self, **more: Any) -> Any:
        """A payment that succeeds unless `more` says otherwise; the object."""
        headers = {"idempotency_key": more.pop("key")} if "key" in more else {}
        return self.post("/v1/payment_intents", {**PAY, **more}, **headers).data

    def close(self) -> None:
        self._connection.close()


class Desk:
    """The API in process: a clock that only moves when told, timers, and a journal."""

    def __init__(self, cell: str = "honoured.authoritative.prompt", idempotency: str = "v1", **habits: Any) -> None:
        self.now_ns = 1_800_000_000 * SECOND_NS
        self.journal = Journal(lambda: self.now_ns)
        self.timers: list[tuple[int, Facts, Any]] = []
        self.fails: set[str] = set()
        """What is to fail when it settles."""
        parsed = Cell.parse(cell)
        domain = CardPayment(
            parsed,
            now=lambda: self.now_ns,
            record=self.journal.recorder("payment"),
            later=lambda delay_ns, action: None,
        )
        self.account = Account(domain, Shelf(), lambda: self.now_ns, self._later, Habits(**habits))
        self.api = StripeApi(
            self.account,
            POLICIES[idempotency],
            api_key=SECRET,
            lookup=parsed.lookup,
            search_lag_ns=60 * SECOND_NS,
        )
        self._numbers = 0

    def _later(self, delay_ns: int, facts: Facts, settle: Any) -> None:
        self.timers.append((self.now_ns + delay_ns, facts, settle))

    def pass_s(self, seconds: float) -> None:
        """Let time pass, and settle what falls due."""
        self.now_ns += round(seconds * SECOND_NS)
        for timer in [timer for timer in self.timers if timer[0] <= self.now_ns]:
            self.timers.remove(timer)
            timer[2](timer[1].what not in self.fails)

    def ask(self, method: str, path: str, params: dict[str, Any] | None = None, **headers: str) -> Said:
        """One request and its answer."""
        text = form(params or {}).encode()
        sent = {"authorization": f"Bearer {SECRET}"} | {name.replace("_", "-"): text for name, text in headers.items()}
        is_post = method == "POST"
        http_ = Http(method, path, b"" if is_post else text, sent, text if is_post else b"")
        answer = self._answer(http_)
        return Said(answer.status, dict(answer.headers), json.loads(answer.body))

    def _answer(self, http_: Http) -> Answer:
        self._numbers += 1
        try:
            order = self.api.prepare(http_)
            if order.is_change:
                return self.api.execute(order, call=f"call-{self._numbers}", request_id=f"req_{self._numbers}")
            return self.api.look(order)
        except StripeRefusal as refused:
            return answer_of(refused)

    def post(self, path: str, params: dict[str, Any] | None = None, **headers: str) -> Said:
        return self.ask("POST", path, params, **headers)

    def get(self, path: str, params: dict[str, Any] | None = None, **headers: str) -> Said:
        return self.ask("GET", path, params, **headers)

    def pay(self, **more: Any) -> Any:
        """A payment that succeeds unless `more` says otherwise; the object."""
        headers = {"idempotency_key": more.pop("key")} if "key" in more else {}
        return self.post("/v1/payment_intents", {**PAY, **more}, **headers).data

    def effects(self) -> list[tuple[str, str, str]]:
        """Action, target and operation of all effects."""
        told = [event.data for event in self.journal.events if event.kind == "effect"]
        return [(data["action"], data["target"], data["operation"]) for data in told]

    def kinds(self) -> list[str]:
        """Types of all events, oldest first."""
        return [event["type"] for event in reversed(list(self.account.records.newest_first("event")))]
