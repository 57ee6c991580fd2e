"""The generic HTTP face: the same domains, asked over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from fakes.core import wire_format as wire
from fakes.core.endpoint import Endpoint
from fakes.core.face import Passage, app
from fakes.core.journal import Journal
from fakes.email.domain import Email
from fakes.payment.domain import Payment
from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell
from harness.model.fault import Fault
from harness.model.wire import FoundRecord, Reply, Request

CHARGE = {"target": "ORD-1", "params": {"amount": 4900}}


class Watch:
    """Hooks that write down what passes, and can have one fault done at one phase."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Request]] = []
        self.phases: list[Phase] = []
        self.fault_at: dict[Phase, Fault] = {}

    @contextmanager
    def passing(self, request: Request, call: str) -> Iterator[Passage]:
        self.requests.append((call, request))
        yield Passage("call-1", "somewhere", self._at)

    def _at(self, phase: Phase) -> Fault | None:
        self.phases.append(phase)
        return self.fault_at.get(phase)


class Http:
    """Asks the application without a socket."""

    def __init__(self, application: Any) -> None:
        self._transport = httpx.ASGITransport(application)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._ask(method, path, options))

    async def _ask(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://face.test") as client:
            return await client.request(method, path, **options)


class Stand:
    """Two providers behind the face, with a journal."""

    def __init__(self) -> None:
        self.journal = Journal(lambda: 0)
        self.watch = Watch()
        self.desks: dict[str, Endpoint] = {
            kind.name: kind(
                Cell(), now=lambda: 0, record=self.journal.recorder(kind.name), later=lambda delay_ns, action: None
            )
            for kind in (Payment, Email)
        }
        self.http = Http(app(self.desks, self.watch))

    def kinds(self) -> list[str]:
        return [event.kind for event in self.journal.events]


@pytest.fixture
def stand() -> Stand:
    return Stand()


def test_a_charge_is_an_effect_and_its_answer_names_it(stand: Stand) -> None:
    answer = stand.http.post("/payment/charge", json=CHARGE)
    assert answer.status_code == 200
    assert wire.read_reply(answer.content) == Reply("payment-1")
    assert stand.kinds() == ["arrived", "effect", "responded"]


def test_a_standing_effect_is_found_by_a_lookup(stand: Stand) -> None:
    stand.http.post("/payment/charge", json=CHARGE, headers={wire.OPERATION: "billing.charge"})
    answer = stand.http.get("/payment/lookup", params={"action": "charge", "target": "ORD-1", "for": "verify"})
    assert wire.read_reply(answer.content).found == (FoundRecord("payment-1", "billing.charge", "charge", True),)


def test_the_same_key_is_answered_again_and_nothing_new_happens(stand: Stand) -> None:
    for _ in range(2):
        answer = stand.http.post("/payment/charge", json=CHARGE, headers={wire.KEY: "k1"})
    assert wire.read_reply(answer.content).replayed
    assert stand.kinds().count("effect") == 1


def test_every_header_reaches_the_domain(stand: Stand) -> None:
    sent = Request("payment", "charge", Purpose.EFFECT, "billing.charge", "ORD-1", {"amount": 1}, "k", 9, 3, "a-1")
    written = wire.write_request(sent, "run-1-7")
    stand.http.request(written.method, written.path, headers=written.headers, content=written.body)
    assert stand.watch.requests == [("run-1-7", sent)]


def test_a_lookup_is_read_back_as_it_was_written(stand: Stand) -> None:
    sent = Request("email", "send", Purpose.LOOKUP, "mail.receipt", "a b&c=d@example.org")
    written = wire.write_request(sent, "")
    stand.http.request(written.method, written.path, headers=written.headers)
    assert stand.watch.requests == [("", sent)]


def test_an_undo_is_told_from_an_effect_by_what_the_provider_does(stand: Stand) -> None:
    stand.http.post("/payment/charge", json=CHARGE)
    stand.http.post("/payment/refund", json={"target": "ORD-1"})
    assert [request.purpose for _, request in stand.watch.requests] == [Purpose.EFFECT, Purpose.UNDO]


def test_a_change_passes_both_boundaries_of_the_provider(stand: Stand) -> None:
    stand.http.post("/payment/charge", json=CHARGE)
    assert stand.watch.phases == [Phase.DELIVERED, Phase.COMMITTED]


def test_a_refusal_carries_the_status_and_code_of_the_table(stand: Stand) -> None:
    stand.watch.fault_at[Phase.DELIVERED] = Fault.RATE_LIMITED
    answer = stand.http.post("/payment/charge", json=CHARGE)
    assert (answer.status_code, wire.read_code(answer.content)) == (429, "rate-limited")
    assert "effect" not in stand.kinds()


def test_an_accepted_request_that_is_not_done_yet_is_answered_202(stand: Stand) -> None:
    stand.watch.fault_at[Phase.DELIVERED] = Fault.PENDING_THEN_SUCCEEDED
    answer = stand.http.post("/payment/charge", json=CHARGE)
    assert answer.status_code == 202
    assert wire.read_reply(answer.content).pending


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/payment/charge", b"{"),
        ("/payment/charge", b'{"params": {}}'),
        ("/payment/charge", b'{"target": "x", "params": {"amount": 1.5}}'),
        ("/payment/charge", b'{"target": "x", "params": {"deep": {"a": 1}}}'),
        ("/payment/charge", b'{"target": "x", "more": 1}'),
    ],
)
def test_a_malformed_body_is_refused_before_it_arrives_anywhere(stand: Stand, path: str, body: bytes) -> None:
    answer = stand.http.post(path, content=body)
    assert (answer.status_code, wire.read_code(answer.content)) == (400, "invalid")
    assert stand.kinds() == []


def test_a_deadline_that_is_no_number_is_refused(stand: Stand) -> None:
    answer = stand.http.post("/payment/charge", json=CHARGE, headers={wire.NOT_AFTER: "soon"})
    assert wire.read_code(answer.content) == "invalid"


def test_an_unknown_provider_is_not_found(stand: Stand) -> None:
    answer = stand.http.post("/bank/charge", json=CHARGE)
    assert (answer.status_code, wire.read_code(answer.content)) == (404, "not-found")


def test_an_unknown_action_arrives_and_is_refused_by_the_domain(stand: Stand) -> None:
    answer = stand.http.post("/payment/lend", json=CHARGE)
    assert wire.read_code(answer.content) == "invalid"
    assert stand.kinds() == ["arrived", "responded"]


@pytest.mark.parametrize(
    "text", [b"", b"[]", b'{"reference": "x"}', b'{"reference": "x", "found": [{"a": 1}]}', b"\xff"]
)
def test_what_is_not_a_whole_reply_is_none(text: bytes) -> None:
    with pytest.raises(ValueError):
        wire.read_reply(text)
