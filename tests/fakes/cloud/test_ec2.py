"""Instances: tokens, states, filters, lag, tags."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from fakes.cloud.face import CloudFake
from fakes.cloud.options import CloudOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.cloud.clients import ONCE, S, actions, client, found, refusal, run

HOUR = 3600 * S


def hosting(cell: str, **options: Any) -> Hosted:
    return Hosted(CloudFake, CloudOptions(cell=cell, **options), clock=Clock(is_manual=True))


def test_an_instance_boots_and_is_terminated(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2)
    assert found(ec2) == {id_: "pending"}
    hosted.advance(2 * S)
    assert found(ec2) == {id_: "running"}
    (change,) = ec2.terminate_instances(InstanceIds=[id_])["TerminatingInstances"]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("running", "shutting-down")
    hosted.advance(2 * S)
    assert found(ec2) == {id_: "terminated"}
    hosted.advance(HOUR)
    assert found(ec2) == {}
    assert actions(hosted) == ["resource.create", "resource.terminate"]


def test_boto3_waits_until_an_instance_runs(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2)
    hosted.advance(2 * S)
    ec2.get_waiter("instance_running").wait(InstanceIds=[id_], WaiterConfig={"MaxAttempts": 1})


def test_a_token_gives_the_first_result_again_with_the_present_state(hosted: Hosted, ec2: Any) -> None:
    ids = run(ec2, "token-1", count=2)
    hosted.advance(2 * S)
    again = ec2.run_instances(ImageId="ami-1", MinCount=2, MaxCount=2, ClientToken="token-1")["Instances"]
    assert [each["InstanceId"] for each in again] == ids
    assert {each["State"]["Name"] for each in again} == {"running"}
    assert [each["AmiLaunchIndex"] for each in again] == [0, 1]
    assert len(hosted.entries("effect")) == 2


@pytest.mark.parametrize(
    "other",
    [{"ImageId": "ami-2"}, {"MaxCount": 2}, {"InstanceType": "t3.micro"}, {"UserData": "x"}],
    ids=lambda other: next(iter(other)),
)
def test_a_token_with_other_parameters_is_a_mismatch(hosted: Hosted, ec2: Any, other: dict[str, Any]) -> None:
    run(ec2, "token-1")
    asked = {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1, "ClientToken": "token-1", **other}
    assert refusal(lambda: ec2.run_instances(**asked)) == (400, "IdempotentParameterMismatch")
    assert len(hosted.entries("effect")) == 1


def test_a_token_of_an_instance_that_is_no_longer_shown_says_that_it_was_terminated(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2, "token-1")
    ec2.terminate_instances(InstanceIds=[id_])
    hosted.advance(2 * S)
    assert run(ec2, "token-1") == [id_]
    hosted.advance(HOUR)
    assert refusal(lambda: run(ec2, "token-1")) == (400, "IdempotentInstanceTerminated")


@pytest.mark.parametrize("token", ["x" * 65, "schlüssel"])
def test_a_token_is_of_at_most_64_ascii_characters(ec2: Any, token: str) -> None:
    assert refusal(lambda: run(ec2, token)) == (400, "InvalidParameterValue")


def test_a_token_expires_where_the_cell_says_so() -> None:
    with hosting("expires.authoritative.prompt") as hosted:
        ec2 = client(hosted, "ec2", ONCE)
        first = run(ec2, "token-1")
        hosted.advance(24 * HOUR)
        assert run(ec2, "token-1") == first
        hosted.advance(1)
        assert run(ec2, "token-1") != first


def test_a_token_means_nothing_where_the_cell_ignores_keys() -> None:
    with hosting("ignored.authoritative.prompt") as hosted:
        ec2 = client(hosted, "ec2", ONCE)
        assert run(ec2, "token-1") != run(ec2, "token-1")
        assert found(ec2, ("client-token", "token-1")).keys() == found(ec2).keys()


def test_a_token_whose_first_request_is_running_is_answered_with_something_to_repeat(hosted: Hosted, ec2: Any) -> None:
    hook = hosted.arm("before-commit key=token-1 = hang")
    first = threading.Thread(target=run, args=(ec2, "token-1"))
    first.start()
    hosted.wait_until_hanging(hook)
    assert refusal(lambda: run(ec2, "token-1")) == (503, "Unavailable")
    hosted.release(hook)
    first.join(10)
    assert len(hosted.entries("effect")) == 1


def test_terminating_is_idempotent_and_all_or_nothing(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2)
    unknown = "i-0000000000000ffff"
    assert refusal(lambda: ec2.terminate_instances(InstanceIds=[id_, unknown])) == (400, "InvalidInstanceID.NotFound")
    assert found(ec2) == {id_: "pending"}
    for _ in range(2):
        ec2.terminate_instances(InstanceIds=[id_])
    assert actions(hosted) == ["resource.create", "resource.terminate"]
    assert hosted.entries("effect")[-1].data["undoes"] == hosted.entries("effect")[0].data["effect"]


def test_a_new_instance_cannot_be_found_for_the_lag_but_terminated() -> None:
    with hosting("honoured.eventual.prompt") as hosted:
        ec2 = client(hosted, "ec2", ONCE)
        (id_,) = run(ec2)
        assert refusal(lambda: found(ec2, InstanceIds=[id_])) == (400, "InvalidInstanceID.NotFound")
        assert found(ec2) == {}
        hosted.advance(2 * S)
        assert found(ec2) == {id_: "pending"}
        (second,) = run(ec2)
        assert ec2.terminate_instances(InstanceIds=[second])["TerminatingInstances"]
        hosted.advance(2 * S)
        assert found(ec2) == {id_: "running", second: "shutting-down"}


def test_a_stale_look_up_shows_an_earlier_world(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2)
    hosted.advance(10 * S)
    hosted.arm("read x2 = stale:9s")
    assert found(ec2) == {id_: "pending"}
    run(ec2)
    assert found(ec2) == {id_: "pending"}
    assert len(found(ec2)) == 2


def test_nobody_may_look_where_the_cell_has_no_look_ups() -> None:
    with hosting("honoured.absent.prompt") as hosted:
        ec2 = client(hosted, "ec2", ONCE)
        run(ec2)
        assert refusal(lambda: found(ec2)) == (403, "UnauthorizedOperation")


def test_filters_narrow_what_is_found(hosted: Hosted, ec2: Any) -> None:
    (web,) = run(ec2, "token-1", operation="web.create", target="web")
    (other,) = run(ec2, "token-2", operation="db.create")
    hosted.advance(2 * S)
    ec2.terminate_instances(InstanceIds=[other])
    assert list(found(ec2, ("tag:operation", "web.create"))) == [web]
    assert list(found(ec2, ("tag:operation", "*.create"))) == [web, other]
    assert list(found(ec2, ("tag-key", "target"))) == [web]
    assert list(found(ec2, ("client-token", "token-2"))) == [other]
    assert list(found(ec2, ("instance-state-name", "running"))) == [web]
    assert list(found(ec2, ("instance-id", other), ("instance-state-name", "running"))) == []
    assert list(found(ec2, ("tag:operation", "[w]eb.create"))) == []
    assert refusal(lambda: found(ec2, ("colour", "red"))) == (400, "InvalidParameterValue")


def test_what_is_found_comes_in_pages(ec2: Any) -> None:
    ids = run(ec2, count=12)
    pages = list(ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5}))
    assert [sum(len(each["Instances"]) for each in page["Reservations"]) for page in pages] == [5, 5, 2]
    assert sorted(found(ec2, PaginationConfig={"PageSize": 5})) == ids


def test_an_effect_names_operation_and_target_from_the_tags(hosted: Hosted, ec2: Any) -> None:
    run(ec2, "token-1", operation="site.create", target="site-7")
    (plain,) = run(ec2)
    first, second = (entry.data for entry in hosted.entries("effect"))
    assert (first["operation"], first["target"], first["key"]) == ("site.create", "site-7", "token-1")
    assert (second["operation"], second["target"]) == ("", plain)


def test_tags_are_set_and_setting_them_again_is_no_effect(hosted: Hosted, ec2: Any) -> None:
    ids = run(ec2, count=2)
    tags = [{"Key": "operation", "Value": "late.tag"}]
    for _ in range(2):
        ec2.create_tags(Resources=ids, Tags=tags)
    assert actions(hosted) == ["resource.create"] * 2 + ["tags.set"] * 2
    assert list(found(ec2, ("tag:operation", "late.tag"))) == ids
    many = [{"Key": f"k{number}", "Value": ""} for number in range(50)]
    assert refusal(lambda: ec2.create_tags(Resources=ids, Tags=many)) == (400, "TagLimitExceeded")
    reserved = [{"Key": "aws:x", "Value": ""}]
    assert refusal(lambda: ec2.create_tags(Resources=ids, Tags=reserved)) == (400, "InvalidParameterValue")


def test_a_launch_that_fails_later_ends_terminated_with_a_reason(hosted: Hosted, ec2: Any) -> None:
    hosted.arm("settle what=boot = fail")
    (id_,) = run(ec2)
    hosted.advance(2 * S)
    hosted.wait_for("settle-failed")
    (reservation,) = ec2.describe_instances(InstanceIds=[id_])["Reservations"]
    assert reservation["Instances"][0]["State"]["Name"] == "terminated"
    assert reservation["Instances"][0]["StateReason"]["Code"] == "Server.InternalError"
    assert hosted.entries("effect")[-1].data["operation"] == "outside"
    assert len(hosted.entries("hook-fired")) == 1


def test_a_termination_that_fails_later_stays_shutting_down(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2)
    hosted.arm("settle what=shutdown = fail")
    ec2.terminate_instances(InstanceIds=[id_])
    hosted.advance(HOUR)
    hosted.wait_for("settle-failed")
    assert found(ec2) == {id_: "shutting-down"}


def test_somebody_else_terminates_what_a_request_is_about(hosted: Hosted, ec2: Any) -> None:
    (id_,) = run(ec2, target="web")
    hosted.arm("before-commit what=resource.terminate = compete:terminate")
    ec2.terminate_instances(InstanceIds=[id_])
    effects = [entry.data for entry in hosted.entries("effect")]
    assert [(each["action"], each["operation"]) for each in effects] == [
        ("resource.create", ""),
        ("resource.terminate", "outside"),
    ]
    assert len(hosted.entries("drifted")) == 1


def test_an_account_has_a_limit_of_instances(monkeypatch: pytest.MonkeyPatch, ec2: Any) -> None:
    monkeypatch.setattr("fakes.cloud.instances.INSTANCES_MAX", 3)
    run(ec2, count=2)
    assert refusal(lambda: run(ec2, count=2)) == (400, "InstanceLimitExceeded")
    assert len(ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=2)["Instances"]) == 1


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda ec2: ec2.describe_instances(InstanceIds=["i-1"]), "InvalidInstanceID.Malformed"),
        (lambda ec2: ec2.run_instances(ImageId="ami-1", MinCount=2, MaxCount=1), "InvalidParameterValue"),
        (lambda ec2: ec2.run_instances(ImageId="ami-1", MinCount=0, MaxCount=1), "InvalidParameterValue"),
        (lambda ec2: ec2.run_instances(MinCount=1, MaxCount=1), "MissingParameter"),
        (lambda ec2: ec2.describe_instances(NextToken="nonsense"), "InvalidPaginationToken"),
        (lambda ec2: ec2.describe_vpcs(), "InvalidAction"),
        (
            lambda ec2: ec2.describe_instances(InstanceIds=["i-00000001"], MaxResults=5),
            "InvalidParameterCombination",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_words_of_ec2(hosted: Hosted, ec2: Any, ask: Any, code: str) -> None:
    assert refusal(lambda: ask(ec2)) == (400, code)
    assert hosted.counts()["commits"] == 0


def test_a_dry_run_changes_nothing(hosted: Hosted, ec2: Any) -> None:
    dry = {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1, "DryRun": True}
    assert refusal(lambda: ec2.run_instances(**dry)) == (412, "DryRunOperation")
    assert hosted.counts()["commits"] == 0
