"""One account: its objects, its domain, its events, and what is settled later. What all its operations share.

Effects are the domain's: operations ask `effect` (now) or `accept` (settled later), and keep its reference among an
object's facts. What is to be settled stands on the shelf with its moment, so that a restarted account sets its timers
again; a timer of a past that a restore took back finds nothing to settle.
Never here: one kind of object, HTTP, idempotency.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fakes.core.endpoint import Arrival
from fakes.payment import shapes
from fakes.payment.domain import CardPayment
from fakes.payment.records import Object, Records, kind_of
from fakes.payment.refusals import StripeRefusal, by_status, missing
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf
from harness.model.boundary import UNDO_PREFIX, Purpose
from harness.model.cell import SECOND_NS
from harness.model.errors import ProviderFailure
from harness.model.wire import Request

SettleLater: TypeAlias = Callable[[int, Facts, Callable[[bool], None]], None]
"""(delay_ns, facts, settle): call `settle(True)` then, or `settle(False)` if it is to fail."""
DUE = "due"
"""Kind of the documents that say what is still to be settled: `[what, object, due_ns]`."""
OUTBOX = "outbox"
"""Kind of the documents that say which event still has to go where: `[event, endpoint, attempt, due_ns]`."""
EVENT_LIFE_NS = 30 * 24 * 3600 * SECOND_NS


@dataclass(slots=True)
class Asking:
    """One execution of one request: who asks, and what it has made so far."""

    call: str = ""
    where: str = ""
    delivery: int = 1
    request_id: str = ""
    key: str = ""
    operation: str = ""
    """Said in a header, for requests whose parameters cannot say it."""
    target: str = ""
    made: str = ""
    """The first object this request has made, now or when it was tried before under the same key."""
    wanted: str = ""
    """What shall come of it whatever the instrument says: `declined`, `settles`, `bounces`, or ""."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How the account behaves where the provider leaves it open. Times in ns."""

    payments_settle_ns: int = 5 * SECOND_NS
    refunds_settle_ns: int = 60 * SECOND_NS
    refunds_begin: str = "succeeded"
    """`succeeded`, `pending` or `requires_action`: what refunds of ordinary cards are at first."""
    refunds_may_fail: bool = True
    """Is every succeeded refund settled once more, so that it may turn out to have failed?"""
    authorizations_last_ns: int = 7 * 24 * 3600 * SECOND_NS
    """0: for ever."""


@dataclass(slots=True)
class Account:
    """The account. `now` in ns; `send` is told of every event that has to be delivered (the id in the outbox)."""

    domain: CardPayment
    shelf: Shelf
    now: Callable[[], int]
    settle_later: SettleLater
    habits: Habits = field(default_factory=Habits)
    send: Callable[[str], None] = lambda delivery: None
    settlers: dict[str, Callable[[str, bool], None]] = field(default_factory=dict)
    """What is settled -> who settles it: called with the object's id and whether it succeeds."""
    records: Records = field(init=False)
    asking: Asking = field(default_factory=Asking)
    generation: int = 0
    """Counts how often the state was taken up: timers of an earlier one are void."""

    def __post_init__(self) -> None:
        self.records = Records(self.shelf)

    # Objects.

    def created(self) -> int:
        """The present moment as the API says it."""
        return self.now() // SECOND_NS

    def need(self, kind: str, id_: str, param: str = "id") -> Object:
        """The object as it is. Raises StripeRefusal."""
        object_ = self.records.get(kind, id_)
        if object_ is None or "deleted" in object_:
            raise missing(kind, id_, param)
        return object_

    def new(self, object_: Object, **facts: str | int) -> Object:
        """Keep a new object; the request's first one is what it has made."""
        self.asking.made = self.asking.made or object_["id"]
        return self.records.put(object_, self.now(), **facts)

    def change(self, object_: Object, facts: Mapping[str, str | int] | None = None, /, **fields: Any) -> Object:
        """Keep a new version of an object."""
        return self.records.put({**object_, **fields}, self.now(), **(facts or {}))

    # Effects.

    def marker(self, metadata: Mapping[str, str], *, undoes: bool = False) -> str:
        """The logical operation: the header's word, or the metadata's; an undo that cannot carry one has its object's."""
        if self.asking.operation:
            return self.asking.operation
        operation = metadata.get("operation", "")
        return UNDO_PREFIX + operation if operation and undoes else operation

    def target(self, metadata: Mapping[str, str], *others: str | None) -> str:
        """The business target: the header's word, or the metadata's, or the first of the others that there is."""
        return self.asking.target or metadata.get("target") or next((other for other in others if other), "")

    def effect(self, action: str, target: str, operation: str, **params: str | int) -> str:
        """Do it; the effect's reference. Raises StripeRefusal when the domain refuses."""
        try:
            return self.domain.do(self._arrival(action, target, operation, params))
        except ProviderFailure as failed:
            if failed.code == "declined":
                raise by_status(402) from None
            raise StripeRefusal(400, str(failed)) from None

    def accept(self, action: str, target: str, operation: str, **params: str | int) -> dict[str, str | int]:
        """Accept it for later. The facts by which it is settled."""
        reference = self.domain.accept(self._arrival(action, target, operation, params))
        asking = self.asking
        return {"accepted": reference, "call": asking.call, "where": asking.where, "key": asking.key}

    def settle(self, object_: Object, *, succeeds: bool) -> str:
        """What was accepted for this object becomes an effect or not: its reference, or ""."""
        facts = self.records.facts(object_["id"])
        reference = str(facts["accepted"])
        done = self.domain.settle(facts["call"], facts["where"], reference, facts["key"], succeeds=succeeds)
        return reference if done else ""

    def _arrival(self, action: str, target: str, operation: str, params: Mapping[str, str | int]) -> Arrival:
        asking = self.asking
        purpose = Purpose.EFFECT if self.domain.actions[action].undoes is None else Purpose.UNDO
        request = Request(self.domain.name, action, purpose, operation, target, params, asking.key)
        return Arrival(asking.call, asking.where, request, asking.delivery)

    # Later.

    def later(self, what: str, id_: str, delay_ns: int) -> None:
        """Settle it when so much time has passed."""
        self.shelf.put(DUE, f"{what}:{id_}", [what, id_, self.now() + delay_ns])
        self._set_timer(f"{what}:{id_}")

    def forget(self, what: str, id_: str) -> None:
        """It need not be settled any more."""
        self.shelf.remove(DUE, f"{what}:{id_}")

    def take_up(self) -> None:
        """After a state was loaded: set all timers, and send what was not delivered."""
        self.generation += 1
        self.asking = Asking()
        for name in list(self.shelf.all(DUE)):
            self._set_timer(name)
        for delivery in list(self.shelf.all(OUTBOX)):
            self.send(delivery)

    def _set_timer(self, name: str) -> None:
        what, id_, due_ns = self.shelf.get(DUE, name)
        generation = self.generation
        metadata = (self.records.get(kind_of(id_), id_) or {}).get("metadata") or {}
        facts = Facts(line=id_, what=what, target=self.target(metadata), operation=metadata.get("operation", ""))

        def settle(succeeds: bool) -> None:
            if generation == self.generation and self.shelf.get(DUE, name) is not None:
                self.shelf.remove(DUE, name)
                self.asking = Asking()
                self.settlers[what](id_, succeeds)

        self.settle_later(max(due_ns - self.now(), 0), facts, settle)

    # Events.

    def tell(self, type_: str, object_: Object) -> None:
        """An event: it is listed, and goes to every endpoint that wants it."""
        asking = self.asking
        request = {"id": asking.request_id or None, "idempotency_key": asking.key or None}
        id_ = self.records.new_id("event")
        self.records.put(shapes.event(id_, self.created(), type_, object_, request), self.now())
        for endpoint in self.shelf.all("webhook_endpoint").values():
            shown = endpoint[-1][1]
            if shown.get("status") == "enabled" and wants(shown["enabled_events"], type_):
                delivery = f"{id_}:{shown['id']}"
                self.shelf.put(OUTBOX, delivery, [id_, shown["id"], 0, self.now()])
                self.send(delivery)


def wants(enabled: list[str], type_: str) -> bool:
    """Does an endpoint that enabled these want events of this type?"""
    return "*" in enabled or type_ in enabled
