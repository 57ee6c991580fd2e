"""The page on which a person decides: its words, asked with httpx."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from fakes.approval.face import ApprovalFake, ApprovalOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.approval.test_face import DENY, GRANT, ID, SPEND, S, ask, client_of, do, state

EVIL = "<script>alert('x')</script>\" onload=\"x"


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted(ApprovalFake, ApprovalOptions(is_self_review_barred=True), clock=Clock(is_manual=True)) as host:
        yield host
        assert not host.entries("bug")


@pytest.fixture
def client(hosted: Hosted) -> Iterator[httpx.Client]:
    with client_of(hosted) as it:
        yield it


def decide(client: httpx.Client, decision: str = "grant", by: str = "Ana", digest: str = "sha256:11") -> httpx.Response:
    return client.post(f"/review/{ID}", data={"decision": decision, "by": by, "digest": digest})


def test_it_shows_exactly_what_is_asked_and_its_digest(client: httpx.Client) -> None:
    ask(client)
    page = client.get(f"/review/{ID}").text
    for said in ("refund agent", "Refund order 7", "4200", "&#34;cup&#34;", "sha256:11", "order.refund"):
        assert said in page


def test_what_a_requester_says_is_escaped(client: httpx.Client) -> None:
    ask(client, description=EVIL, requester=EVIL[:90], digest=EVIL, parameters={EVIL: EVIL, "deep": {"a": EVIL}})
    for path in ("/review", f"/review/{ID}"):
        page = client.get(path).text
        assert "<script" not in page
        assert '" onload' not in page
        assert "&lt;script" in page


def test_a_browser_is_told_to_run_and_load_nothing(client: httpx.Client) -> None:
    policy = client.get("/review").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy


def test_a_decision_leads_to_the_page_with_its_result(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    answer = decide(client)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/review/{ID}")
    page = client.get(answer.headers["location"]).text
    assert "granted by Ana" in page
    assert "<form" not in page
    assert hosted.entries("approval-granted")[0].data["by"] == "Ana"


def test_a_late_decision_is_told_that_it_is_late_and_what_stands(client: httpx.Client) -> None:
    ask(client)
    do(client, "decide", DENY)
    late = decide(client)
    assert late.status_code == 409
    assert "Too late: your decision was not taken" in late.text
    assert "You chose: granted" in late.text
    assert late.text.count("denied by Ben") == 2


def test_ones_own_decision_sent_twice_is_told_that_it_stands(client: httpx.Client) -> None:
    ask(client)
    decide(client)
    again = decide(client)
    assert again.status_code == 409
    assert "You have decided this already" in again.text
    assert "Too late" not in again.text


@pytest.mark.parametrize("rival", ["withdraw", "expire", "deny"])
def test_somebody_is_faster_than_the_person_at_the_page(hosted: Hosted, client: httpx.Client, rival: str) -> None:
    ask(client)
    hosted.arm(f"before-commit what=decide = compete:{rival}")
    late = decide(client)
    assert late.status_code == 409
    assert "Too late" in late.text
    assert state(client) in ("withdrawn", "expired", "denied")
    assert len(hosted.entries("hook-fired")) == 1


def test_a_decision_for_another_action_is_not_taken(client: httpx.Client) -> None:
    ask(client)
    answer = decide(client, digest="sha256:99")
    assert answer.status_code == 409
    assert "This is not the action you looked at" in answer.text
    assert "<form" in answer.text


def test_who_asked_is_told_that_others_decide(client: httpx.Client) -> None:
    ask(client)
    answer = decide(client, by="refund agent")
    assert answer.status_code == 403
    assert "Who asked for an approval does not decide it." in answer.text


@pytest.mark.parametrize("body", [b"", b"%%%", b"\xff\xfe", b"by=&decision=grant", b"by=Ana&decision=perhaps", b"a&b"])
def test_a_form_that_is_none_is_refused_as_a_page(client: httpx.Client, body: bytes) -> None:
    ask(client)
    answer = client.post(f"/review/{ID}", content=body)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert state(client) == "pending"


def test_a_hooks_status_is_a_page_to_a_person(hosted: Hosted, client: httpx.Client) -> None:
    hosted.arm("parsed = status:503")
    answer = client.get("/review")
    assert answer.status_code == 503
    assert "<h1>This was not done</h1>" in answer.text


def test_an_unknown_approval_has_a_page_too(client: httpx.Client) -> None:
    answer = client.get("/review/approval-none")
    assert answer.status_code == 404
    assert "there is no approval" in answer.text


def test_every_end_has_words(hosted: Hosted, client: httpx.Client) -> None:
    ask(client)
    do(client, "decide", GRANT)
    do(client, "consume", SPEND)
    assert "worker-1" in client.get(f"/review/{ID}").text
    ask(client, id="c-2", valid_s=1)
    do(client, "decide", GRANT, "approval-c-2")
    ask(client, id="c-3", decide_within_s=1)
    ask(client, id="c-4")
    do(client, "withdraw", id_="approval-c-4")
    hosted.advance(2 * S)
    assert "Its grant was not spent in time." in client.get("/review/approval-c-2").text
    assert "Nobody decided it in time" in client.get("/review/approval-c-3").text
    assert "withdrawn by refund agent" in client.get("/review/approval-c-4").text
    assert "Nothing waits." in client.get("/review").text
