"""What boto3 re-sends by itself with its defaults, and what becomes of it. Arrivals, commits and responses are counted."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from fakes.wire.hosting import Hosted
from tests.fakes.cloud.clients import ONCE, apply, change, client, found, run, values

pytestmark = pytest.mark.slow


def counted(hosted: Hosted) -> tuple[int, int, int]:
    counts = hosted.counts()
    return counts["arrivals"], counts["commits"], counts["responses"]


def test_a_launch_that_is_never_answered_arrives_three_times_under_one_token(hosted: Hosted) -> None:
    hosted.arm("after-commit x9 = reset")
    hosted.arm("responding x9 = reset")
    with pytest.raises(ConnectionClosedError):
        run(client(hosted, "ec2"))
    assert counted(hosted) == (3, 1, 0)
    assert len(hosted.entries("hook-fired")) == 3


def test_a_launch_that_is_cut_before_it_is_done_arrives_three_times_and_is_never_done(hosted: Hosted) -> None:
    hosted.arm("before-commit x9 = reset")
    with pytest.raises(ConnectionClosedError):
        run(client(hosted, "ec2"))
    assert counted(hosted) == (3, 0, 0)


def test_the_older_way_of_retrying_sends_five_times(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 0.01)  # how long it waits in between is drawn
    hosted.arm("received x9 = reset")
    with pytest.raises(ConnectionClosedError):
        run(client(hosted, "ec2", Config(retries={"mode": "legacy"})))
    assert counted(hosted) == (5, 0, 0)


def test_a_lost_answer_is_repaired_by_the_client_itself(hosted: Hosted) -> None:
    hosted.arm("after-commit = reset")
    ec2 = client(hosted, "ec2")
    (id_,) = run(ec2)
    assert len(hosted.entries("hook-fired")) == 1
    assert counted(hosted) == (2, 1, 1)
    assert list(found(ec2)) == [id_]


def test_two_calls_have_two_tokens_of_their_own_and_make_two_instances(hosted: Hosted) -> None:
    hosted.arm("after-commit = reset")
    with pytest.raises(ConnectionClosedError):
        run(client(hosted, "ec2", ONCE), operation="site.create")
    restarted = client(hosted, "ec2")
    run(restarted, operation="site.create")
    assert len(found(restarted, ("tag:operation", "site.create"))) == 2
    tokens = [entry.data["key"] for entry in hosted.entries("effect")]
    assert len(set(tokens)) == 2
    assert all(tokens)


def test_the_same_token_of_two_calls_makes_one_instance(hosted: Hosted) -> None:
    hosted.arm("after-commit = reset")
    with pytest.raises(ConnectionClosedError):
        run(client(hosted, "ec2", ONCE), "site.create-1")
    run(client(hosted, "ec2"), "site.create-1")
    assert counted(hosted) == (2, 1, 1)


def test_a_created_record_whose_answer_is_lost_is_reported_as_existing(hosted: Hosted, route53: Any, zone: str) -> None:
    hosted.arm("after-commit what=record-set.change = reset")
    with pytest.raises(ClientError, match=r"InvalidChangeBatch.*already exists") as raised:
        apply(client(hosted, "route53"), zone, change("CREATE"), comment="operation=point")
    assert raised.value.response["ResponseMetadata"]["RetryAttempts"] == 1
    assert values(route53, zone) == ["192.0.2.1"]
    made = [entry for entry in hosted.entries("effect") if entry.data["operation"] == "point"]
    assert len(made) == len(hosted.entries("hook-fired")) == 1


def test_an_upsert_whose_answer_is_lost_is_repaired_by_the_client_itself(hosted: Hosted, zone: str) -> None:
    before = counted(hosted)
    hosted.arm("after-commit what=record-set.change = reset")
    apply(client(hosted, "route53"), zone, change("UPSERT"))
    assert tuple(b - a for a, b in zip(before, counted(hosted), strict=True)) == (2, 1, 1)


def test_a_zone_whose_answer_is_lost_is_reported_as_existing(hosted: Hosted) -> None:
    hosted.arm("after-commit = reset")
    asked = {"Name": "example.test", "CallerReference": "ref-1"}
    with pytest.raises(ClientError, match="HostedZoneAlreadyExists"):
        client(hosted, "route53").create_hosted_zone(**asked)
    assert counted(hosted) == (2, 1, 1)


@pytest.mark.parametrize(
    ("status", "code", "arrivals"),
    [(503, "RequestLimitExceeded", 3), (500, "InternalError", 3), (403, "UnauthorizedOperation", 1)],
)
def test_a_status_is_repeated_if_it_may_pass(hosted: Hosted, status: int, code: str, arrivals: int) -> None:
    hosted.arm(f"received x9 = status:{status}")
    with pytest.raises(ClientError) as raised:
        run(client(hosted, "ec2"))
    assert raised.value.response["Error"]["Code"] == code
    assert counted(hosted) == (arrivals, 0, arrivals)
    assert len(hosted.entries("hook-fired")) == arrivals


def test_an_error_after_the_commit_is_repaired_by_the_client_itself(hosted: Hosted) -> None:
    hosted.arm("after-commit = status:500")
    run(client(hosted, "ec2"))
    assert len(hosted.entries("hook-fired")) == 1
    assert counted(hosted) == (2, 1, 2)


@pytest.mark.parametrize(
    ("hook", "code", "arrivals"),
    [("received x9 = status:400", "Throttling", 3), ("received x9 = status:503", "ServiceUnavailable", 3)],
)
def test_a_status_of_the_zones_is_repeated(hosted: Hosted, hook: str, code: str, arrivals: int) -> None:
    hosted.arm(hook)
    with pytest.raises(ClientError, match=code):
        client(hosted, "route53").list_hosted_zones()
    assert hosted.counts()["arrivals"] == arrivals


def test_a_silent_launch_is_sent_again_while_the_first_is_running(hosted: Hosted) -> None:
    hook = hosted.arm("before-commit = hang")
    impatient = Config(read_timeout=0.2)
    with pytest.raises(ClientError, match="Unavailable") as raised:
        run(client(hosted, "ec2", impatient), "token-1")
    assert raised.value.response["ResponseMetadata"]["RetryAttempts"] == 2
    hosted.release(hook)
    hosted.wait_for("effect")
    assert run(client(hosted, "ec2", ONCE), "token-1")
    assert len(hosted.entries("effect")) == 1


def test_a_launch_that_is_never_heard_of_ends_in_a_timeout(hosted: Hosted) -> None:
    hosted.arm("received x9 = hang")
    with pytest.raises(ReadTimeoutError):
        run(client(hosted, "ec2", Config(read_timeout=0.1)))
    assert counted(hosted) == (3, 0, 0)


@pytest.mark.parametrize("cut", ["0", "5", "0:reset", "40:reset", "200:reset", "600:reset"])
def test_an_answer_that_breaks_off_is_asked_for_again_and_nothing_is_done_twice(hosted: Hosted, cut: str) -> None:
    hosted.arm(f"responding = truncate:{cut}")
    run(client(hosted, "ec2"))
    assert len(hosted.entries("cut")) == 1
    assert counted(hosted) == (2, 1, 1)


@pytest.mark.parametrize("bytes_count", [13, 40, 120, 200, 600], ids=lambda count: f"{count} bytes")
def test_an_answer_that_ends_orderly_after_its_status_is_an_unreadable_success(
    hosted: Hosted, bytes_count: int
) -> None:
    """Neither a refusal nor a network's error, not repeated, and the token that boto3 made up is lost with it."""
    hosted.arm(f"responding = truncate:{bytes_count}")
    with pytest.raises(ResponseParserError):
        run(client(hosted, "ec2"))
    assert len(hosted.entries("cut")) == 1
    assert counted(hosted) == (1, 1, 0)
