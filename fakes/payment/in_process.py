"""The account as an endpoint of a simulation: the API without sockets, crossing boundaries like every other call.

A `Request` whose params say `method` and `path` is an HTTP request; it is answered as the API answers it. Every other
request is the domain's. Faults at DELIVERED are done in the API's terms: a limit or an outage answers before anything
is read; a decline is the card's; what is accepted now and settled later is `processing` or `pending` (customers
and held money, which the API never accepts for later, are made at once); an untrue success answers from a state that is
taken back. A partial look-up is a page that ends early and says so, or an outage where there is less than two to show.
An error after the commit is kept under the idempotency key, as the API keeps its own 500s.

    status 2xx     a `Reply` with `values`: status, body, headers
    any other      `Unsuccessful`, a ProviderFailure with the code of the table of errors that fits, and the answer

Never here: a client (`transport.py`), sockets, real time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import orjson

from fakes.core.endpoint import Arrival, At, Later, Record, refuse
from fakes.core.kernel import LOOKUP_REFUSALS, REFUSALS
from fakes.core.rows import Row
from fakes.payment.account import DUE, OUTBOX, Account, Habits
from fakes.payment.api import OPERATION, TARGET, Answer, Http, Order, StripeApi, answer_of
from fakes.payment.cards import Outcome
from fakes.payment.domain import CardPayment
from fakes.payment.keeping import KEPT, POLICIES
from fakes.payment.records import PREFIX
from fakes.payment.refusals import StripeRefusal, by_status, key_reused
from fakes.wire.journal_file import Document
from fakes.wire.points import Facts
from fakes.wire.shelf import NUMBERS, Shelf
from harness.model.boundary import OBSERVING, Phase
from harness.model.cell import SECOND_NS, Cell
from harness.model.errors import ERRORS, ProviderFailure
from harness.model.fault import Fault
from harness.model.wire import Reply, Request

METHOD, PATH, QUERY, BODY, TYPE = "method", "path", "query", "body", "content_type"
"""What the params of an HTTP request say."""
API_KEY = "sk_test_knownstate"
SEARCH_LAG_NS = 60 * SECOND_NS
HABITS = Habits(refunds_may_fail=False, authorizations_last_ns=0)
"""A run ends when nothing is left to settle, so nothing is settled that need not be."""

CODES: Mapping[int, str] = {
    400: "invalid",
    401: "invalid",
    402: "declined",
    403: "invalid",
    404: "not-found",
    409: "key-in-use",
    429: "rate-limited",
    500: "internal-error",
    503: "unavailable",
}
"""Status -> code of the table of errors; the API's own `idempotency_error` is `key-reused`, `charge_already_refunded`
`already-undone`."""
_OWN_CODES: Mapping[str, str] = {"charge_already_refunded": "already-undone"}
_WANTED: Mapping[Fault, str] = {
    Fault.DECLINED: Outcome.DECLINED.value,
    Fault.PENDING_THEN_SUCCEEDED: Outcome.SETTLES.value,
    Fault.PENDING_THEN_FAILED: Outcome.BOUNCES.value,
}
_KINDS = (*PREFIX, KEPT, DUE, OUTBOX, NUMBERS)
_EARLY: Mapping[Fault, str] = {fault: code for fault, code in REFUSALS.items() if fault is not Fault.DECLINED}
_LOOKUP_EARLY: Mapping[Fault, str] = LOOKUP_REFUSALS


class Unsuccessful(ProviderFailure):
    """An answer that is not 2xx, with the answer itself."""

    def __init__(self, code: str, answer: Answer, message: str = "") -> None:
        super().__init__(code, message)
        self.answer = answer


class StripeAccount(CardPayment):
    """The payment provider of a simulation, with its API. The same constructor as every provider's."""

    __slots__ = ("account", "api")

    idempotency: ClassVar[str] = "v1"

    def __init__(
        self,
        cell: Cell,
        *,
        now: Callable[[], int],
        record: Record,
        later: Later,
        declined: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(cell, now=now, record=record, later=later, declined=declined)

        def settle_later(delay_ns: int, facts: Facts, settle: Callable[[bool], None]) -> None:
            later(delay_ns, lambda: settle(True))

        self.account = Account(self, Shelf(), now, settle_later, HABITS)
        self.api = StripeApi(
            self.account,
            POLICIES[self.idempotency],
            api_key=API_KEY,
            lookup=cell.lookup,
            search_lag_ns=SEARCH_LAG_NS,
        )

    # What a rig asks besides `handle`.

    def circumstances(self, request: Request) -> tuple[bool, bool]:
        seen, stands = super().circumstances(request)
        return seen or self.api.keeping.under(request.key, self._now()) is not None, stands

    def snapshot(self) -> object:
        shelf = self.account.shelf
        kept = tuple((kind, id_, orjson.dumps(value)) for kind in _KINDS for id_, value in shelf.all(kind).items())
        return super().snapshot(), kept

    def restore(self, snapshot: object) -> None:
        assert isinstance(snapshot, tuple), f"{self.name} cannot go back to {snapshot!r}"
        domain, kept = snapshot
        super().restore(domain)
        self.account.shelf.load(Document(kind, id_, orjson.loads(value)) for kind, id_, value in kept)

    # HTTP.

    def _answer(self, arrival: Arrival, at: At) -> Reply:
        if METHOD not in arrival.request.params:
            return super()._answer(arrival, at)
        fault = at(Phase.DELIVERED)
        is_question = arrival.request.purpose in OBSERVING
        try:
            refuse(fault, _LOOKUP_EARLY if is_question else _EARLY)
        except ProviderFailure as refusal:
            raise Unsuccessful(refusal.code, answer_for(refusal.code)) from None
        try:
            order = self.api.prepare(http_of(arrival.request))
            answer = self._do(order, arrival, at, fault) if order.is_change else self._look(order, fault)
        except StripeRefusal as refused:
            answer = answer_of(refused)
        return self._said(order if answer.status < 400 else None, answer, fault)

    def _do(self, order: Order, arrival: Arrival, at: At, fault: Fault | None) -> Answer:
        if fault is Fault.DECLINED and order.what not in ("charge", "authorize"):
            raise by_status(402)
        call, where, request_id = arrival.call, arrival.where, self._request_id()
        wanted = _WANTED.get(fault, "") if fault is not None else ""
        if fault is Fault.FALSE_SUCCESS:
            answer = self._untrue(order, request_id)
        else:
            answer = self.api.execute(
                order, call=call, where=where, request_id=request_id, delivery=arrival.delivery, wanted=wanted
            )
        if answer.status < 400 and at(Phase.COMMITTED) is Fault.ERROR_AFTER_COMMIT:
            return self.api.stand_in(order, 500, request_id)
        return answer

    def _untrue(self, order: Order, request_id: str) -> Answer:
        """The answer of a change that is not made. Its ids are used up, and it is kept under its key."""
        before, record = self.snapshot(), self._record
        self._record = lambda kind, where, data: None
        try:
            answer = self.api.execute(order, request_id=request_id)
        finally:
            self._record = record
        shelf = self.account.shelf
        numbers, kept = dict(shelf.all(NUMBERS)), shelf.get(KEPT, order.key)
        used = self._table.number()
        self.restore(before)
        while self._table.number() < used:
            continue
        for name, number in numbers.items():
            shelf.put(NUMBERS, name, number)
        if kept is not None:
            shelf.put(KEPT, order.key, kept)
        return answer

    def _look(self, order: Order, fault: Fault | None) -> Answer:
        if fault is Fault.PARTIAL_LOOKUP:
            page = orjson.loads(self.api.look(order).body)
            if len(page.get("data", ())) < 2:
                raise by_status(503)  # less than this cannot be a part
            return Answer(200, orjson.dumps({**page, "data": page["data"][:-1], "has_more": True}))
        return self.api.look(order, self._now() + 1 if fault is Fault.STALE_LOOKUP else 0)

    def _said(self, order: Order | None, answer: Answer, fault: Fault | None) -> Reply:
        """The answer as a reply. Raises Unsuccessful."""
        said = orjson.loads(answer.body)
        if order is None:
            raise Unsuccessful(code_of(answer.status, said), answer, said["error"]["message"])
        headers = {**answer.headers, "request-id": f"req_{self.arrivals}"}
        values: dict[str, str | int] = {
            "status": answer.status,
            "body": answer.body.decode(),
            "headers": orjson.dumps(headers).decode(),
        }
        rows = self._rows_of(said)
        if not order.is_change:
            return Reply(found=self._visible(rows), complete=fault is not Fault.PARTIAL_LOOKUP, values=values)
        reference = rows[0].reference if rows else str(said["id"])
        is_pending = bool(rows) and rows[0].is_pending
        return Reply(reference, pending=is_pending, replayed="idempotent-replayed" in headers, values=values)

    def _rows_of(self, said: Mapping[str, Any]) -> list[Row]:
        """The domain's rows behind what an answer shows."""
        found = []
        for object_ in said.get("data", [said]):
            shown = object_.get("latest_charge") or object_.get("id", "")
            facts = self.account.records.facts(shown["id"] if isinstance(shown, dict) else str(shown))
            row = self._table.get(str(facts.get("effect") or facts.get("accepted") or ""))
            if row is not None:
                found.append(row)
        return found

    def _request_id(self) -> str:
        return f"req_{self.arrivals}"


def http_of(request: Request) -> Http:
    """The HTTP request that a request is. Its key, operation and target travel in headers."""
    said = {name: str(value) for name, value in request.params.items()}
    headers = {"authorization": f"Bearer {API_KEY}"}
    if said.get(TYPE):
        headers["content-type"] = said[TYPE]
    for name, value in (("idempotency-key", request.key), (OPERATION, request.operation), (TARGET, request.target)):
        if value:
            headers[name] = value
    return Http(said[METHOD], said.get(PATH, ""), said.get(QUERY, "").encode(), headers, said.get(BODY, "").encode())


def code_of(status: int, said: Mapping[str, Any]) -> str:
    """The code of the table of errors for an answer that is not a success."""
    error = said["error"]
    if error["type"] == "idempotency_error":
        return "key-reused"
    return _OWN_CODES.get(error.get("code", ""), CODES.get(status, "invalid" if status < 500 else "internal-error"))


def answer_for(code: str) -> Answer:
    """The API's answer for a code of the table of errors, where nothing else is known of it."""
    if code == "key-reused":
        return answer_of(key_reused("of another request"))
    if code in ("duplicate-key", "already-exists", "already-undone"):
        return answer_of(StripeRefusal(409, "This was asked for before."))
    spec = ERRORS.get(code)
    return answer_of(by_status(spec.status if spec is not None and spec.status else 500))
