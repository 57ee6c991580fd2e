"""The cloud as a thing on the wire: who may ask, the points, restarts, snapshots, secrets, and garbage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from fakes.cloud.face import CloudFake
from fakes.cloud.options import FAKE_ACCESS_KEY, FAKE_SECRET, CloudOptions
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.http import Front
from tests.fakes.cloud.clients import ONCE, S, apply, change, client, found, refusal, run, values
from tests.fakes.wire.garbage import ODD, Shot, fire
from tests.fakes.wire.way import CUTS, ORDER

OPEN = CloudOptions(are_signatures_checked=False)
XML = "https://route53.amazonaws.com/doc/2013-04-01/"


def signed(url: str, *, key: str = FAKE_ACCESS_KEY, secret: str = FAKE_SECRET, path: str = "/") -> dict[str, str]:
    """The headers of a signed GET, by botocore."""
    asked = AWSRequest("GET", url + path)
    SigV4Auth(Credentials(key, secret), "ec2", "us-east-1").add_auth(asked)
    return dict(asked.headers.items())


@pytest.mark.parametrize(
    ("path", "key", "secret", "status", "code"),
    [
        ("/?Action=DescribeInstances", "AKIAOTHER", FAKE_SECRET, 401, "AuthFailure"),
        ("/?Action=DescribeInstances", FAKE_ACCESS_KEY, "guessed", 401, "AuthFailure"),
        ("/2013-04-01/hostedzone", "AKIAOTHER", FAKE_SECRET, 403, "InvalidClientTokenId"),
        ("/2013-04-01/hostedzone", FAKE_ACCESS_KEY, "guessed", 403, "SignatureDoesNotMatch"),
        ("/?Action=DescribeInstances", FAKE_ACCESS_KEY, FAKE_SECRET, 200, ""),
        ("/2013-04-01/hostedzone/%2e%20x?b=2&a=1", FAKE_ACCESS_KEY, FAKE_SECRET, 404, "NoSuchHostedZone"),
    ],
)
def test_who_asks_is_known_by_the_signature(
    hosted: Hosted, path: str, key: str, secret: str, status: int, code: str
) -> None:
    url = hosted.places["http"].url
    answer = httpx.get(url + path, headers=signed(url, key=key, secret=secret, path=path), trust_env=False)
    assert answer.status_code == status
    assert f"<Code>{code}</Code>" in answer.text or not code


def test_what_was_changed_after_signing_is_refused(hosted: Hosted) -> None:
    url = hosted.places["http"].url
    headers = signed(url, path="/?Action=DescribeInstances")
    assert httpx.get(f"{url}/?Action=CreateTags", headers=headers, trust_env=False).status_code == 401


@pytest.mark.parametrize(
    ("headers", "code"), [({}, "MissingAuthenticationToken"), ({"authorization": "x"}, "IncompleteSignature")]
)
def test_a_request_that_is_not_signed_is_refused(hosted: Hosted, headers: dict[str, str], code: str) -> None:
    for path in ("/?Action=DescribeInstances", "/2013-04-01/hostedzone"):
        answer = httpx.get(hosted.places["http"].url + path, headers=headers, trust_env=False)
        assert f"<Code>{code}</Code>" in answer.text


def test_an_unknown_path_is_refused_in_the_protocol_it_looks_like() -> None:
    with Hosted(CloudFake, OPEN) as hosted:
        for path, root in (("/nowhere", "<Response>"), ("/2013-04-01/nowhere", "<ErrorResponse")):
            answer = httpx.get(hosted.places["http"].url + path, trust_env=False)
            assert answer.status_code == 404
            assert root in answer.text
            assert answer.headers["x-amzn-requestid"] in answer.text


def test_the_points_are_crossed_in_their_order(hosted: Hosted, ec2: Any) -> None:
    for point in ("connect", *ORDER):
        hosted.arm(f"{point} = pass")
    run(ec2)
    hosted.wait_for("responded")
    assert [e.data["point"] for e in hosted.wait_for("hook-fired", len(ORDER) + 1)] == ["connect", *ORDER]


def test_a_look_up_and_a_replay_cross_no_commit(hosted: Hosted, ec2: Any) -> None:
    run(ec2, "token-1")
    hosted.wait_for("responded")
    for point in (*ORDER, *ORDER, "read"):
        hosted.arm(f"{point} = pass")
    run(ec2, "token-1")
    hosted.wait_for("responded", 2)
    replay = [e.data["point"] for e in hosted.wait_for("hook-fired", 5)]
    assert replay == [point for point in ORDER if "commit" not in point]
    found(ec2)
    hosted.wait_for("responded", 3)
    looked = [e.data["point"] for e in hosted.wait_for("hook-fired", 10)][5:]
    assert looked == ["received", "parsed", "read", "responding", "responded"]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.hook)
def test_a_launch_cut_on_its_way_commits_where_the_row_says(hosted: Hosted, ec2: Any, cut: Any) -> None:
    hosted.arm(cut.hook)
    try:
        run(ec2)
        saw = "200"
    except ClientError as error:
        saw = str(error.response["ResponseMetadata"]["HTTPStatusCode"])
    except Exception as error:  # which one it is depends on the moment: what must not be is a success
        saw = type(error).__name__
    assert saw == ("200" if cut.outcome == "201" else cut.outcome if cut.outcome.isdigit() else saw)
    assert (saw == "200") == (cut.outcome == "201")
    hosted.wait_for("hook-fired")
    counts = hosted.counts()
    assert (counts["arrivals"], counts["commits"], counts["responses"]) == (cut.arrivals, cut.commits, cut.responses)


@pytest.mark.slow
def test_a_restart_loses_nothing_and_what_is_open_goes_on(tmp_path: Path) -> None:
    with Hosted(CloudFake, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        ec2, route53 = client(hosted, "ec2", ONCE), client(hosted, "route53", ONCE)
        (booting,), (ended,) = run(ec2, "token-1", operation="a"), run(ec2)
        ec2.terminate_instances(InstanceIds=[ended])
        zone = route53.create_hosted_zone(Name="example.test", CallerReference="ref-1")["HostedZone"]["Id"]
        pending = apply(route53, zone, change("CREATE"))
        before = hosted.call(hosted.fake.view)
    with Hosted(CloudFake, folder=tmp_path, clock=Clock(is_manual=True)) as hosted:
        ec2, route53 = client(hosted, "ec2", ONCE), client(hosted, "route53", ONCE)
        assert json.dumps(hosted.call(hosted.fake.view)) == json.dumps(before)
        assert run(ec2, "token-1", operation="a") == [booting]
        hosted.advance(2 * S)
        assert found(ec2) == {booting: "running", ended: "terminated"}
        assert route53.get_change(Id=pending)["ChangeInfo"]["Status"] == "INSYNC"
        assert refusal(lambda: apply(route53, zone, change("CREATE"))) == (400, "InvalidChangeBatch")
        apply(route53, zone, change("DELETE"))
        assert hosted.entries("effect")[-1].data["undoes"]
        assert not hosted.entries("bug")


def test_a_snapshot_brings_the_old_state_back_and_timers_of_the_past_are_void(
    hosted: Hosted, ec2: Any, route53: Any, zone: str
) -> None:
    (id_,) = run(ec2)
    kept, before = hosted.call(hosted.desk.snapshot), json.dumps(hosted.call(hosted.fake.view))
    run(ec2)
    ec2.terminate_instances(InstanceIds=[id_])
    apply(route53, zone, change("CREATE"))
    hosted.arm("settle what=boot x9 = pass")
    hosted.call(lambda: hosted.desk.restore(kept))
    assert json.dumps(hosted.call(hosted.fake.view)) == before
    hosted.advance(2 * S)
    assert found(ec2) == {id_: "running"}
    assert values(route53, zone) == []
    assert len(hosted.entries("hook-fired")) == 1


def test_equal_requests_give_equal_answers() -> None:
    def story() -> list[bytes]:
        with Hosted(CloudFake, OPEN, clock=Clock(is_manual=True)) as hosted:
            with httpx.Client(base_url=hosted.places["http"].url, trust_env=False) as http:
                zone = (
                    f'<CreateHostedZoneRequest xmlns="{XML}"><Name>a.test</Name><CallerReference>c</CallerReference>'
                    "</CreateHostedZoneRequest>"
                )
                launch = {"Action": "RunInstances", "ImageId": "ami-1", "MinCount": "1", "MaxCount": "2"}
                answers = [
                    http.post("/", data=launch),
                    http.get("/?Action=DescribeInstances"),
                    http.post("/2013-04-01/hostedzone", content=zone),
                    http.get("/2013-04-01/hostedzone"),
                ]
            return [answer.content for answer in answers]

    first = story()
    assert first == story()
    assert all(b"<Code>" not in answer for answer in first)


def test_no_secret_is_kept_or_shown(tmp_path: Path) -> None:
    options = CloudOptions(secret_access_key="a-very-private-secret")
    with Hosted(CloudFake, options, folder=tmp_path) as hosted:
        run(client(hosted, "ec2", ONCE))
        url = hosted.places["http"].url
        refused = httpx.get(url, headers=signed(url, secret="another-private-secret"), trust_env=False)
        shown = json.dumps(hosted.call(hosted.fake.view)) + refused.text
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in ("a-very-private-secret", "another-private-secret", "AWS4-HMAC"):
        assert secret not in shown
        assert secret.encode() not in kept


@pytest.mark.slow
def test_an_entry_has_what_boto3_reads_from_the_environment(monkeypatch: pytest.MonkeyPatch, hosted: Hosted) -> None:
    import boto3

    for name, value in hosted.call(hosted.host.entry)["env"].items():
        monkeypatch.setenv(name, value)
    assert boto3.session.Session().client("ec2", config=ONCE).describe_instances()["Reservations"] == []


# Garbage.

_FORMS: tuple[dict[str, str], ...] = (
    {"Action": "RunInstances", "ImageId": "ami-1", "MinCount": "1", "MaxCount": "1", "ClientToken": "t"},
    {
        "Action": "RunInstances",
        "ImageId": "ami-1",
        "MinCount": "1",
        "MaxCount": "1",
        "TagSpecification.1.ResourceType": "instance",
        "TagSpecification.1.Tag.1.Key": "operation",
        "TagSpecification.1.Tag.1.Value": "x",
    },
    {"Action": "DescribeInstances", "Filter.1.Name": "tag:operation", "Filter.1.Value.1": "x*", "MaxResults": "5"},
    {"Action": "DescribeInstances", "InstanceId.1": "i-00000000000000001", "NextToken": "page-1"},
    {"Action": "TerminateInstances", "InstanceId.1": "i-00000000000000001"},
    {"Action": "CreateTags", "ResourceId.1": "i-00000000000000001", "Tag.1.Key": "a", "Tag.1.Value": "b"},
)
_SET = (
    "<ResourceRecordSet><Name>www.example.test</Name><Type>A</Type><TTL>60</TTL><ResourceRecords><ResourceRecord>"
    "<Value>192.0.2.1</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>"
)
_CHANGE = f"<Change><Action>UPSERT</Action>{_SET}</Change>"
_BATCH = (
    f'<ChangeResourceRecordSetsRequest xmlns="{XML}"><ChangeBatch><Comment>operation=x</Comment><Changes>{_CHANGE}'
    "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>"
)
_NEW_ZONE = (
    f'<CreateHostedZoneRequest xmlns="{XML}"><Name>example.test</Name><CallerReference>c</CallerReference>'
    "<HostedZoneConfig><Comment>target=x</Comment></HostedZoneConfig></CreateHostedZoneRequest>"
)
_ZONE = "/2013-04-01/hostedzone/ZFAKE000000000000001"
_PATHS = (
    ("POST", "/2013-04-01/hostedzone", _NEW_ZONE),
    ("POST", f"{_ZONE}/rrset/", _BATCH),
    ("POST", f"{_ZONE}/rrset/", _BATCH.replace("UPSERT", "DELETE")),
    ("GET", f"{_ZONE}/rrset?name=www.example.test&type=A&maxitems=2", ""),
    ("GET", "/2013-04-01/hostedzonesbyname?dnsname=example.test", ""),
    ("GET", "/2013-04-01/hostedzone?marker=x&maxitems=1", ""),
    ("GET", "/2013-04-01/change/CFAKE000000000000001", ""),
    ("DELETE", _ZONE, ""),
)
_BOMB = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><CreateHostedZoneRequest>&c;</CreateHostedZoneRequest>'


def garbage(seed: int, count: int) -> Iterator[Shot]:
    """Requests near valid ones, of both protocols."""
    random = Random(seed)
    for _ in range(count):
        yield _bent_form(random) if random.random() < 0.5 else _bent_xml(random)


def _bent_form(random: Random) -> Shot:
    form: dict[str, Any] = dict(random.choice(_FORMS))
    for _ in range(random.randrange(3)):
        name = random.choice([*form, "Action", "Tag.1.Key", "Filter.0.Name", "Filter.1.Value.99", "InstanceId", "."])
        form[name] = str(random.choice(ODD))[:6000] if random.random() < 0.5 else "\x00\ufffe\u0665*?[" * 3
    body = bytearray(urlencode(form).encode(errors="replace"))
    for _ in range(random.randrange(2)):
        body[random.randrange(len(body))] = random.randrange(256)
    method = random.choice(("POST", "POST", "POST", "GET", "PUT"))
    query = bytes(byte for byte in body if 0x21 <= byte < 0x7F) if method == "GET" else b""
    return Shot(method, "/", query, [], bytes(body))


def _bent_xml(random: Random) -> Shot:
    method, target, text = random.choice(_PATHS)
    path, _, query = target.partition("?")
    body = bytearray(text.encode())
    match random.randrange(6):
        case 0 if body:
            for _ in range(random.randrange(1, 4)):
                body[random.randrange(len(body))] = random.randrange(256)
        case 1:
            body = bytearray(random.randbytes(40))
        case 2 if text:
            words = ("192.0.2.1", "A", "60", "UPSERT", "www.example.test", "operation=x", "c")
            odd = str(random.choice(ODD)).replace("<", "&lt;").replace("\x00", "&#0;")[:6000]
            body = bytearray(text.replace(random.choice(words), odd).encode(errors="replace"))
        case 3:
            body = bytearray(random.choice((_BOMB, "<a>" * 5000, '<?xml version="1.0" encoding="x"?><a/>')).encode())
        case 4:
            query = random.choice(
                ("name=%ff&type=\x7f", "maxitems=99999999999", "maxitems=\u0665", "name=..", "type=A")
            )
    if random.random() < 0.1:
        path = path[: random.randrange(1, len(path))] + random.choice(("%00", "//", "\u00e9", "x" * 300))
    raw = b"\xff=\xfe" if random.random() < 0.05 else query.encode(errors="replace")
    return Shot(method, path, raw, [], bytes(body))


@pytest.mark.slow
def test_garbage_is_answered_and_breaks_nothing() -> None:
    with Hosted(CloudFake, OPEN, clock=Clock(is_manual=True)) as hosted:
        front = Front(hosted.desk, hosted.fake.application(), hosted.fake)  # type: ignore[attr-defined, arg-type]
        statuses = fire(hosted, front, garbage(11, 3000))
        assert not hosted.entries("bug"), hosted.entries("bug")[0].data["error"]
        assert sum(statuses.values()) == 3000
        assert {0, 500} & statuses.keys() == set()
        assert statuses[200] > 300
        assert statuses[400] > 500
        ec2, route53 = client(hosted, "ec2", ONCE), client(hosted, "route53", ONCE)
        assert run(ec2)
        zone = route53.create_hosted_zone(Name="after.test", CallerReference="after")["HostedZone"]["Id"]
        apply(route53, zone, change("CREATE", name="www.after.test"))
        json.dumps(hosted.call(hosted.fake.view))


@pytest.mark.parametrize("odd", ["\x01", "\ufffe"])
def test_characters_that_xml_cannot_say_are_refused_in_a_tag(ec2: Any, odd: str) -> None:
    assert refusal(lambda: run(ec2, operation=odd)) == (400, "InvalidParameterValue")


@pytest.mark.parametrize("odd", ["<&>\"'", "\U0001f600", "a\nb", "]]>"])
def test_odd_characters_of_a_tag_come_back(ec2: Any, odd: str) -> None:
    ids = run(ec2, operation=odd)
    (reservation,) = ec2.describe_instances(InstanceIds=ids)["Reservations"]
    assert reservation["Instances"][0]["Tags"] == [{"Key": "operation", "Value": odd}]
