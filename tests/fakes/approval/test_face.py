"""The approval queue over its protocol, asked with httpx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.approval.face import ApprovalFake, ApprovalOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from tests.fakes.wire.garbage import fire, shots
from tests.fakes.wire.way import CUTS, ORDER, Cut, check_cut, outcome_of, seen

S = 1_000_000_000
ID = "approval-c-1"
ASK = {
    "id": "c-1",
    "digest": "sha256:11",
    "requester": "refund agent",
    "description": "Refund order 7",
    "parameters": {"amount": 4200, "lines": [1, {"sku": "cup"}]},
    "operation": "order.refund",
}
GRANT = {"decision": "grant", "by": "Ana", "digest": "sha256:11"}
DENY = {**GRANT, "decision": "deny", "by": "Ben"}
SPEND = {"digest": "sha256:11", "consumer": "worker-1"}


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted(ApprovalFake, clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def client(hosted: Hosted) -> Iterator[httpx.Client]:
    with client_of(hosted) as it:
        yield it


def client_of(hosted: Hosted) -> httpx.Client:
    return httpx.Client(base_url=hosted.places["http"].url, trust_env=False)


def do(client: httpx.Client, verb: str, body: Any = None, id_: str = ID) -> httpx.Response:
    return client.post(f"/requests/{id_}/{verb}", json=body or {})


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def state(client: httpx.Client, id_: str = ID) -> Any:
    return client.get(f"/requests/{id_}").json()["state"]


def ask(client: httpx.Client, **more: Any) -> httpx.Response:
    return client.post("/requests", json={**ASK, **more})


def kinds(hosted: Hosted) -> list[str]:
    return [entry.kind for entry in hosted.entries() if entry.kind.startswith("approval-")]


def test_an_approval_is_asked_for_decided_and_spent(hosted: Hosted, client: httpx.Client) -> None:
    assert ask(client).status_code == 201
    assert do(client, "decide", GRANT).json()["state"] == "granted"
    spent = do(client, "consume", SPEND).json()
    assert (spent["state"], spent["consumer"]) == ("consumed", "worker-1")
    assert kinds(hosted) == ["approval-requested", "approval-granted", "approval-consumed"]


def test_the_same_id_and_digest_name_the_same_approval_and_another_digest_is_refused(
    hosted: Hosted, client: httpx.Client
) -> None:
    first, again = ask(client), ask(client)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert code(ask(client, digest="sha256:22")) == (409, "already-exists")
    assert len(kinds(hosted)) == 1


def test_the_first_decision_wins_and_later_ones_are_told_who_decided_and_when(
    hosted: Hosted, client: httpx.Client
) -> None:
    ask(client)
    do(client, "decide", GRANT)
    decided_ns = hosted.call(hosted.desk.clock.now_ns)
    hosted.advance(5 * S)
    for later in (DENY, GRANT):
        refused = do(client, "decide", later)
        assert code(refused) == (409, "already-decided")
        stands = refused.json()["error"]["approval"]["decision"]
        assert stands == {"decision": "granted", "by": "Ana", "at_ns": decided_ns}
    assert state(client) == "granted"


def test_a_decision_whose_answer_was_lost_conflicts_with_itself_although_it_counted(
    hosted: Hosted, client: httpx.Client
) -> None:
    ask(client)
    hosted.arm("after-commit what=decide = reset")
    with pytest.raises(httpx.ReadError):
        do(client, "decide", GRANT)
    refused = do(client, "decide", GRANT)
    assert code(refused) == (409, "already-decided")
    assert refused.json()["error"]["approval"]["decision"]["by"] == "Ana"
    assert len(hosted.entries("hook-fired")) == len(hosted.entries("approval-granted")) == 1


def test_a_decision_and_a_consumption_are_for_one_digest(client: httpx.Client) -> None:
    ask(client)
    assert code(do(client, "decide", {**GRANT, "digest": "sha256:22"})) == (409, "digest-mismatch")
    do(client, "decide", GRANT)
    assert code(do(client, "consume", {**SPEND, "digest": "sha256:22"})) == (409, "digest-mismatch")
    assert state(client) == "granted"


def test_who_asked_may_not_decide_where_that_is_barred() -> None:
    barred = ApprovalOptions(is_self_review_barred=True)
    with Hosted(ApprovalFake, barred) as hosted, client_of(hosted) as client:
        ask(client)
        assert code(do(client, "decide", {**GRANT, "by": "refund agent"})) == (403, "self-review")
        assert do(client, "decide", GRANT).status_code == 200


def test_who_asked_may_decide_where_nothing_bars_it(client: httpx.Client) -> None:
    ask(client)
    assert do(client, "decide", {**GRANT, "by": "refund agent"}).status_code == 200


def test_an_approval_is_spent_once_and_its_own_consumer_is_told_so_again(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    do(client, "decide", GRANT)
    first, again = do(client, "consume", SPEND), do(client, "consume", SPEND)
    assert first.json() == again.json()
    other = do(client, "consume", {**SPEND, "consumer": "worker-2"})
    assert code(other) == (409, "already-consumed")
    assert other.json()["error"]["approval"]["consumer"] == "worker-1"
    assert len(hosted.entries("approval-consumed")) == 1


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], "pending"),
        ([("decide", DENY)], "denied"),
        ([("withdraw", None)], "withdrawn"),
        ([("decide", GRANT), ("revoke", {"by": "Ben"})], "revoked"),
    ],
)
def test_what_is_not_granted_is_not_spent(client: httpx.Client, steps: list[tuple[str, Any]], expected: str) -> None:
    ask(client)
    for verb, body in steps:
        assert do(client, verb, body).status_code == 200
    assert code(do(client, "consume", SPEND)) == (409, expected)
    assert state(client) == expected


def test_a_withdrawal_may_be_said_twice_and_comes_too_late_after_the_consumption(client: httpx.Client) -> None:
    ask(client)
    assert [do(client, "withdraw").status_code for _ in range(2)] == [200, 200]
    assert code(do(client, "decide", GRANT)) == (409, "withdrawn")
    ask(client, id="c-2")
    do(client, "decide", GRANT, "approval-c-2")
    do(client, "consume", SPEND, "approval-c-2")
    assert code(do(client, "withdraw", id_="approval-c-2")) == (409, "consumed")


def test_only_a_grant_is_revoked(client: httpx.Client) -> None:
    ask(client)
    assert code(do(client, "revoke", {"by": "Ben"})) == (409, "pending")
    do(client, "decide", GRANT)
    closed = do(client, "revoke", {"by": "Ben"}).json()["closed"]
    assert (closed["how"], closed["by"]) == ("revoked", "Ben")
    assert code(do(client, "revoke", {"by": "Ben"})) == (409, "revoked")


def test_a_request_nobody_decides_in_time_expires(hosted: Hosted, client: httpx.Client) -> None:
    ask(client, decide_within_s=60)
    hosted.advance(60 * S)
    assert state(client) == "pending"
    hosted.advance(1)
    assert state(client) == "expired"
    assert code(do(client, "decide", GRANT)) == (409, "expired")
    assert code(do(client, "withdraw")) == (409, "expired")


def test_a_grant_nobody_spends_in_time_expires(hosted: Hosted, client: httpx.Client) -> None:
    ask(client, valid_s=60)
    do(client, "decide", GRANT)
    hosted.advance(60 * S + 1)
    assert state(client) == "expired"
    assert code(do(client, "consume", SPEND)) == (409, "expired")
    assert code(do(client, "revoke", {"by": "Ben"})) == (409, "expired")
    assert code(do(client, "decide", DENY)) == (409, "already-decided")


def test_lists_are_narrowed_by_state_and_by_the_clients_id(client: httpx.Client) -> None:
    ask(client)
    ask(client, id="c-2")
    do(client, "decide", GRANT)

    def ids(**query: str) -> list[str]:
        return [each["client_id"] for each in client.get("/requests", params=query).json()["requests"]]

    assert ids() == ["c-1", "c-2"]
    assert ids(state="pending") == ["c-2"]
    assert ids(client_id="c-1") == ["c-1"]
    assert client.get("/requests?state=odd").status_code == 400


@pytest.mark.parametrize(
    ("rival", "verb", "body", "expected"),
    [
        ("grant", "decide", DENY, (409, "already-decided")),
        ("deny", "decide", GRANT, (409, "already-decided")),
        ("withdraw", "decide", GRANT, (409, "withdrawn")),
        ("expire", "decide", GRANT, (409, "expired")),
        ("withdraw", "consume", SPEND, (409, "withdrawn")),
        ("revoke", "consume", SPEND, (409, "revoked")),
        ("expire", "consume", SPEND, (409, "expired")),
    ],
)
def test_somebody_else_comes_first(
    hosted: Hosted, client: httpx.Client, rival: str, verb: str, body: Any, expected: tuple[int, str]
) -> None:
    ask(client)
    if verb == "consume":
        do(client, "decide", GRANT)
    hosted.arm(f"before-commit what={verb} = compete:{rival}")
    assert code(do(client, verb, body)) == expected
    assert len(hosted.entries("hook-fired")) == 1
    assert not hosted.entries("hook-failed")


def test_a_competitor_who_can_do_nothing_is_noted(hosted: Hosted, client: httpx.Client) -> None:
    hosted.arm("before-commit = compete:grant")
    hosted.arm("before-commit#2 = compete:nobody")
    ask(client)
    ask(client)
    assert len(hosted.entries("hook-failed")) == 2
    assert state(client) == "pending"


def test_a_stale_read_shows_the_past(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    hosted.advance(10 * S)
    do(client, "decide", GRANT)
    hosted.arm("readx2 = stale:5s")
    assert state(client) == "pending"
    assert client.get("/requests").json()["requests"][0]["decision"] is None
    assert state(client) == "granted"


@pytest.mark.parametrize(
    ("approver", "hook", "expected"),
    [("approves", "", "granted"), ("denies", "", "denied"), ("approves", "settle what=decide = fail", "denied")],
)
def test_an_approver_decides_after_having_thought(approver: Any, hook: str, expected: str) -> None:
    options = ApprovalOptions(approver=approver, think_ns=2 * S)
    with Hosted(ApprovalFake, options, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        if hook:
            hosted.arm(hook)
        ask(client)
        hosted.advance(2 * S)
        hosted.wait_for(f"approval-{expected}")
        assert client.get(f"/requests/{ID}").json()["decision"]["by"] == "approver"


def test_the_approver_comes_too_late_for_what_a_person_decided() -> None:
    options = ApprovalOptions(approver="approves", think_ns=2 * S)
    with Hosted(ApprovalFake, options, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
        hook = hosted.arm("settle = hang")
        ask(client)
        hosted.advance(2 * S)
        hosted.wait_until_hanging(hook)
        do(client, "decide", DENY)
        hosted.release(hook)
        hosted.advance(1)
        assert state(client) == "denied"
        assert not hosted.entries("approval-granted")


def test_nobody_decides_by_himself(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    hosted.advance(3600 * S)
    assert state(client) == "pending"


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_request_cut_on_its_way(hosted: Hosted, cut: Cut) -> None:
    before = seen(hosted)
    hosted.arm(cut.hook)
    check_cut(hosted, cut, outcome_of(f"{hosted.places['http'].url}/requests", ASK), before)


def test_the_points_are_crossed_in_their_order(hosted: Hosted, client: httpx.Client) -> None:
    for point in ORDER:
        hosted.arm(f"{point} = pass")
    ask(client)
    assert [entry.data["point"] for entry in hosted.wait_for("hook-fired", len(ORDER))] == list(ORDER)


def test_entries_carry_the_operation_the_call_and_who_did_it(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    do(client, "decide", GRANT)
    do(client, "consume", SPEND)
    asked, granted, consumed = (e for e in hosted.entries() if e.kind in kinds(hosted))
    calls = [entry.call for entry in hosted.entries("arrived")]
    assert [asked.call, granted.call, consumed.call] == calls
    assert (asked.data["operation"], granted.data["by"], consumed.data["operation"]) == (
        "order.refund",
        "Ana",
        "worker-1",
    )


@pytest.mark.slow
def test_a_restart_loses_nothing_and_the_approver_thinks_on(tmp_path: Path) -> None:
    options = ApprovalOptions(approver="approves", think_ns=100 * S)
    with (
        Hosted(ApprovalFake, options, folder=tmp_path, clock=Clock(is_manual=True)) as hosted,
        client_of(hosted) as client,
    ):
        for number in range(1, 4):
            ask(client, id=f"c-{number}")
        do(client, "decide", GRANT)
        do(client, "consume", SPEND)
        do(client, "decide", DENY, "approval-c-2")
        before = hosted.call(hosted.fake.view)
    with (
        Hosted(ApprovalFake, options, folder=tmp_path, clock=Clock(is_manual=True)) as hosted,
        client_of(hosted) as client,
    ):
        assert hosted.call(hosted.fake.view) == before
        assert do(client, "consume", SPEND).status_code == 200
        hosted.advance(100 * S)
        hosted.wait_for("approval-granted", 2)
        assert state(client, "approval-c-3") == "granted"


def test_a_snapshot_brings_the_old_state_back(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    kept, before = hosted.call(hosted.desk.snapshot), hosted.call(hosted.fake.view)
    do(client, "decide", GRANT)
    ask(client, id="c-2")
    hosted.call(lambda: hosted.desk.restore(kept))
    assert hosted.call(hosted.fake.view) == before
    assert do(client, "decide", DENY).json()["state"] == "denied"


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with Hosted(ApprovalFake, clock=Clock(is_manual=True)) as hosted, client_of(hosted) as client:
            answers = [
                ask(client),
                do(client, "decide", GRANT),
                do(client, "decide", DENY),
                do(client, "consume", SPEND),
            ]
            answers += [client.get("/requests"), client.get("/review"), client.get(f"/review/{ID}")]
            return [answer.content for answer in answers]

    assert story() == story()


def test_what_a_requester_says_stays_out_of_the_journal(hosted: Hosted, client: httpx.Client) -> None:
    ask(client, parameters={"card": "4242424242424242"}, description="a description")
    client.post("/requests", content=b'{"digest": ["4242424242424242"]}')
    said = json.dumps([entry._asdict() for entry in hosted.entries()])
    assert "4242424242424242" not in said
    assert "a description" not in said


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"id": "c-1"}',
        b'{"id": "c 1", "digest": "d"}',
        b'{"id": "c-1", "digest": 7}',
        b'{"id": "c-1", "digest": "d", "parameters": {"a": NaN}}',
        b'{"id": "c-1", "digest": "d", "parameters": {"a": 1e999}}',
        b'{"id": "c-1", "digest": "d", "parameters": {"a": ' + b"9" * 3000 + b"}}",
        b'{"id": "c-1", "digest": "d", "parameters": {"a": ' + b"[" * 30 + b"]" * 30 + b"}}",
        b'{"id": "c-1", "digest": "\\ud800"}',
        b'{"id": "c-1", "digest": "d", "valid_s": -1}',
    ],
)
def test_what_cannot_be_understood_is_refused(client: httpx.Client, body: bytes) -> None:
    assert code(client.post("/requests", content=body)) == (400, "invalid")
    assert client.get("/requests").json()["requests"] == []


def test_an_entry_names_what_a_client_needs(hosted: Hosted) -> None:
    entry = hosted.call(hosted.host.entry)
    assert entry["page"] == f"{hosted.places['http'].url}/review"
    assert entry["env"] == {"APPROVAL_API_BASE": hosted.places["http"].url}


@pytest.mark.slow
def test_garbage_is_answered_and_breaks_nothing(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    valid = [
        ("POST", "/requests", {**ASK, "valid_s": 1, "decide_within_s": 1}),
        ("POST", f"/requests/{ID}/decide", GRANT),
        ("POST", f"/requests/{ID}/consume", SPEND),
        ("POST", f"/requests/{ID}/withdraw", {"a": 1}),
        ("POST", f"/requests/{ID}/revoke", {"by": "Ben"}),
        ("POST", f"/review/{ID}", GRANT),
        ("GET", f"/review/{ID}", GRANT),
        ("GET", "/review", GRANT),
        ("GET", "/requests", GRANT),
    ]
    front = Front(hosted.desk, hosted.fake.application(), hosted.fake)  # type: ignore[attr-defined, arg-type]
    statuses = fire(hosted, front, shots(3, 3000, valid))
    assert not hosted.entries("bug")
    assert sum(statuses.values()) == 3000
    assert 500 not in statuses
    assert 0 not in statuses
    assert statuses[200] > 100
    assert statuses[400] > 500
    assert ask(client, id="after").status_code == 201
