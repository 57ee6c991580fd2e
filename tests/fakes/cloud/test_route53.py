"""Hosted zones: batches, changes, undoing, competition."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from fakes.cloud.face import CloudFake
from fakes.cloud.options import CloudOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from tests.fakes.cloud.clients import ONCE, S, actions, apply, change, client, refusal, run, values


def test_a_record_is_created_changed_and_deleted(hosted: Hosted, route53: Any, zone: str) -> None:
    apply(route53, zone, change("CREATE"))
    assert values(route53, zone) == ["192.0.2.1"]
    apply(route53, zone, change("UPSERT", "192.0.2.2"))
    assert values(route53, zone) == ["192.0.2.2"]
    apply(route53, zone, change("DELETE", "192.0.2.2"))
    assert values(route53, zone) == []
    assert actions(hosted) == ["zone.create", "record-set.put", "record-set.put", "record-set.remove"]


def test_creating_what_exists_is_an_invalid_batch(hosted: Hosted, route53: Any, zone: str) -> None:
    apply(route53, zone, change("CREATE"))
    with pytest.raises(route53.exceptions.InvalidChangeBatch, match=r"name='www\.example\.test\.'.*already exists"):
        apply(route53, zone, change("CREATE"))
    assert actions(hosted) == ["zone.create", "record-set.put"]


def test_a_batch_is_applied_wholly_or_not_at_all(hosted: Hosted, route53: Any, zone: str) -> None:
    apply(route53, zone, change("CREATE"))
    new, taken = change("CREATE", name="api.example.test"), change("CREATE", "192.0.2.9")
    assert refusal(lambda: apply(route53, zone, new, taken)) == (400, "InvalidChangeBatch")
    assert values(route53, zone, "api.example.test.") == []
    apply(route53, zone, new, change("DELETE"), change("CREATE", "192.0.2.9"))
    assert values(route53, zone) == ["192.0.2.9"]
    assert values(route53, zone, "api.example.test.") == ["192.0.2.1"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (change("DELETE", "192.0.2.9"), "values provided do not match"),
        (change("DELETE", name="api.example.test"), "was not found"),
        (change("CREATE", name="www.other.test"), "not permitted in zone"),
        (change("CREATE", "not an address", name="api.example.test"), "not a valid IPv4 address"),
        (
            change("CREATE", Type="CNAME", ResourceRecords=[{"Value": "a.example."}]),
            "conflicts with other records",
        ),
    ],
    ids=["other values", "absent", "other zone", "bad value", "cname beside"],
)
def test_an_impossible_change_is_refused_with_its_reason(
    route53: Any, zone: str, wanted: dict[str, Any], words: str
) -> None:
    apply(route53, zone, change("CREATE"))
    with pytest.raises(route53.exceptions.InvalidChangeBatch, match=words):
        apply(route53, zone, wanted)
    assert values(route53, zone) == ["192.0.2.1"]


def test_an_upsert_of_what_stands_is_a_change_without_an_effect(hosted: Hosted, route53: Any, zone: str) -> None:
    first = apply(route53, zone, change("UPSERT"))
    second = apply(route53, zone, change("UPSERT"))
    assert first != second
    assert actions(hosted) == ["zone.create", "record-set.put"]


def test_a_delete_undoes_what_put_the_record_there(hosted: Hosted, route53: Any, zone: str) -> None:
    apply(route53, zone, change("CREATE"), comment="operation=point target=site-7")
    apply(route53, zone, change("DELETE"), comment="operation=undo.point")
    put, removed = (entry.data for entry in hosted.entries("effect")[-2:])
    assert (put["operation"], put["target"], removed["operation"]) == ("point", "site-7", "undo.point")
    assert (removed["target"], removed["undoes"]) == ("site-7", put["effect"])


def test_an_upsert_back_to_what_stood_before_undoes_the_one_between(hosted: Hosted, route53: Any, zone: str) -> None:
    apply(route53, zone, change("CREATE"))
    apply(route53, zone, change("UPSERT", "192.0.2.2"))
    apply(route53, zone, change("UPSERT"))
    effects = [entry.data for entry in hosted.entries("effect")]
    assert [each["action"] for each in effects[1:]] == ["record-set.put", "record-set.put", "record-set.restore"]
    assert effects[3]["undoes"] == effects[2]["effect"]
    apply(route53, zone, change("DELETE"))
    assert hosted.entries("effect")[-1].data["undoes"] == effects[1]["effect"]


def test_a_change_is_pending_and_then_insync(hosted: Hosted, route53: Any, zone: str) -> None:
    id_ = apply(route53, zone, change("CREATE"))
    assert route53.get_change(Id=id_)["ChangeInfo"]["Status"] == "PENDING"
    hosted.advance(2 * S)
    assert route53.get_change(Id=id_)["ChangeInfo"]["Status"] == "INSYNC"
    route53.get_waiter("resource_record_sets_changed").wait(Id=id_, WaiterConfig={"MaxAttempts": 1})
    hosted.arm("read what=change = stale:1s")
    assert route53.get_change(Id=id_)["ChangeInfo"]["Status"] == "PENDING"
    assert refusal(lambda: route53.get_change(Id="CNONE")) == (404, "NoSuchChange")


def test_a_change_that_does_not_settle_stays_pending(hosted: Hosted, route53: Any, zone: str) -> None:
    hosted.advance(2 * S)
    hosted.arm("settle what=insync = fail")
    id_ = apply(route53, zone, change("CREATE"))
    hosted.advance(100 * S)
    hosted.wait_for("settle-failed")
    assert route53.get_change(Id=id_)["ChangeInfo"]["Status"] == "PENDING"


def test_a_caller_reference_makes_one_zone_for_ever(hosted: Hosted, route53: Any, zone: str) -> None:
    for name in ("example.test", "other.test"):
        asked = {"Name": name, "CallerReference": "ref-1"}
        assert refusal(lambda asked=asked: route53.create_hosted_zone(**asked)) == (409, "HostedZoneAlreadyExists")
    second = route53.create_hosted_zone(Name="example.test", CallerReference="ref-2")["HostedZone"]["Id"]
    listed = route53.list_hosted_zones_by_name(DNSName="example.test")["HostedZones"]
    assert [each["Id"] for each in listed] == [zone, second]
    assert [each["CallerReference"] for each in listed] == ["ref-1", "ref-2"]
    route53.delete_hosted_zone(Id=second)
    asked = {"Name": "example.test", "CallerReference": "ref-2"}
    assert refusal(lambda: route53.create_hosted_zone(**asked)) == (409, "HostedZoneAlreadyExists")


def test_a_caller_reference_and_a_client_token_are_not_the_same(hosted: Hosted, route53: Any, zone: str) -> None:
    run(client(hosted, "ec2", ONCE), "ref-1")
    run(client(hosted, "ec2", ONCE), "ref-2")
    route53.create_hosted_zone(Name="example.test", CallerReference="ref-2")
    assert actions(hosted).count("zone.create") == actions(hosted).count("resource.create") == 2


def test_only_an_empty_zone_is_deleted(hosted: Hosted, route53: Any, zone: str) -> None:
    apply(route53, zone, change("CREATE"))
    assert refusal(lambda: route53.delete_hosted_zone(Id=zone)) == (400, "HostedZoneNotEmpty")
    apply(route53, zone, change("DELETE"))
    route53.delete_hosted_zone(Id=zone)
    assert refusal(lambda: route53.get_hosted_zone(Id=zone)) == (404, "NoSuchHostedZone")
    assert refusal(lambda: apply(route53, zone, change("CREATE"))) == (404, "NoSuchHostedZone")
    assert hosted.entries("effect")[-1].data["undoes"] == hosted.entries("effect")[0].data["effect"]


def test_a_zone_keeps_its_own_records(route53: Any, zone: str) -> None:
    ns = change("DELETE", name="example.test", Type="NS", TTL=172800)
    ns["ResourceRecordSet"]["ResourceRecords"] = [{"Value": name} for name in ("a.example.", "b.example.")]
    assert refusal(lambda: apply(route53, zone, ns)) == (400, "InvalidChangeBatch")
    assert len(values(route53, zone, "example.test.")) == 3


def test_records_are_listed_by_labels_from_the_last_in_pages(route53: Any, zone: str) -> None:
    names = ["b.a.example.test", "a.example.test", "z.example.test", "*.example.test"]
    apply(route53, zone, *(change("CREATE", name=name) for name in names))
    pages = list(
        route53.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone, PaginationConfig={"PageSize": 2})
    )
    listed = [each["Name"] for page in pages for each in page["ResourceRecordSets"] if each["Type"] == "A"]
    assert listed == ["\\052.example.test.", "a.example.test.", "b.a.example.test.", "z.example.test."]
    assert len(pages) == 3


def test_record_sets_of_one_name_differ_by_their_identifier(route53: Any, zone: str) -> None:
    blue, green = ({"SetIdentifier": colour, "Weight": 10} for colour in ("blue", "green"))
    apply(route53, zone, change("CREATE", "192.0.2.1", **blue), change("CREATE", "192.0.2.2", **green))
    assert values(route53, zone) == ["192.0.2.1", "192.0.2.2"]
    assert refusal(lambda: apply(route53, zone, change("CREATE", "192.0.2.3"))) == (400, "InvalidChangeBatch")
    apply(route53, zone, change("DELETE", "192.0.2.1", **blue))
    assert values(route53, zone) == ["192.0.2.2"]


def test_a_change_on_its_way_refuses_others_of_its_zone(hosted: Hosted, route53: Any, zone: str) -> None:
    hook = hosted.arm("before-commit what=record-set.change = hang")
    first = threading.Thread(target=apply, args=(route53, zone, change("CREATE")))
    first.start()
    hosted.wait_until_hanging(hook)
    other = change("CREATE", name="api.example.test")
    assert refusal(lambda: apply(route53, zone, other)) == (400, "PriorRequestNotComplete")
    hosted.release(hook)
    first.join(10)
    assert values(route53, zone) == ["192.0.2.1"]


def test_somebody_else_creates_the_record_first(hosted: Hosted, route53: Any, zone: str) -> None:
    hosted.arm("before-commit what=record-set.change = compete:put-record")
    assert refusal(lambda: apply(route53, zone, change("CREATE"), comment="operation=point")) == (
        400,
        "InvalidChangeBatch",
    )
    assert values(route53, zone) == ["198.51.100.1"]
    assert [entry.data["operation"] for entry in hosted.entries("effect")] == ["", "outside"]
    hosted.arm("before-commit what=record-set.change = compete:remove-record")
    apply(route53, zone, change("CREATE"))
    assert values(route53, zone) == ["192.0.2.1"]


def test_records_are_seen_through_the_lag_of_the_cell() -> None:
    options = CloudOptions(cell="honoured.eventual.prompt")
    with Hosted(CloudFake, options, clock=Clock(is_manual=True)) as hosted:
        route53 = client(hosted, "route53", ONCE)
        zone = route53.create_hosted_zone(Name="example.test", CallerReference="ref-1")["HostedZone"]["Id"]
        assert refusal(lambda: values(route53, zone)) == (404, "NoSuchHostedZone")
        hosted.advance(2 * S)
        apply(route53, zone, change("CREATE"))
        assert values(route53, zone) == []
        hosted.advance(2 * S)
        assert values(route53, zone) == ["192.0.2.1"]


def test_nobody_may_look_where_the_cell_has_no_look_ups() -> None:
    with Hosted(CloudFake, CloudOptions(cell="honoured.absent.prompt"), clock=Clock(is_manual=True)) as hosted:
        route53 = client(hosted, "route53", ONCE)
        zone = route53.create_hosted_zone(Name="example.test", CallerReference="ref-1")["HostedZone"]["Id"]
        assert refusal(lambda: values(route53, zone)) == (403, "AccessDenied")


def test_an_alias_has_a_target_and_neither_values_nor_a_lifetime(route53: Any, zone: str) -> None:
    target = {"HostedZoneId": "Z2FAKE", "DNSName": "lb.example.", "EvaluateTargetHealth": False}
    alias = {"Name": "lb.example.test", "Type": "A", "AliasTarget": target}
    apply(route53, zone, {"Action": "CREATE", "ResourceRecordSet": alias})
    sets = route53.list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
    assert [each["AliasTarget"] for each in sets if "AliasTarget" in each] == [target]
    apply(route53, zone, {"Action": "DELETE", "ResourceRecordSet": alias})
