"""Instances over the query protocol: RunInstances, DescribeInstances, TerminateInstances, CreateTags.

    POST /  or  GET /?...        Action=..., and the fields of the action

Changes act on the truth; only look-ups are seen through the cell's lag, so that an instance may not be found yet
(`InvalidInstanceID.NotFound`) that can be terminated already.
Never here: what becomes of an instance.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from fakes.cloud import query
from fakes.cloud.instances import Instance, Instances, matches
from fakes.cloud.query import Fields, read_fields
from fakes.cloud.seat import Seat, answered, query_of
from fakes.cloud.words import EC2_NAMESPACE, AwsRefusal
from fakes.cloud.xml import Value, document
from fakes.wire.desk import Call
from fakes.wire.http import call_of

_INSTANCE_ID = re.compile(r"i-[0-9a-f]{8}(?:[0-9a-f]{9})?")


class Ec2:
    """The actions. `expect(id)` is called when something will become of an instance."""

    def __init__(self, seat: Seat, instances: Instances, region: str, expect: Callable[[str], None]) -> None:
        self._seat = seat
        self._instances = instances
        self._region = region
        self._expect = expect
        self._actions: Mapping[str, Callable[[Call, Fields], Awaitable[Mapping[str, Value]]]] = {
            "RunInstances": self._run,
            "DescribeInstances": self._describe,
            "TerminateInstances": self._terminate,
            "CreateTags": self._create_tags,
        }

    async def answer(self, http: HttpRequest, body: bytes) -> Response:
        """Answer one request. Raises ProviderFailure."""
        asked = body.decode("utf-8", "replace") if http.method == "POST" else query_of(http)
        fields, call = read_fields(asked), call_of(http)
        name = fields.get("Action", "")
        if not name:
            raise AwsRefusal("MissingAction", "The request is missing an action or a required parameter.")
        action = self._actions.get(name)
        if action is None:
            raise AwsRefusal("InvalidAction", f"The action {name[:80]} is not valid for this web service.")
        said = await action(call, fields)
        return answered(call, lambda id_: document(f"{name}Response", EC2_NAMESPACE, {"requestId": id_, **said}))

    async def _run(self, call: Call, fields: Fields) -> Mapping[str, Value]:
        launch = query.read_launch(fields)
        _refuse_dry_run(fields)
        tags, key = launch.tags, self._seat.claimed(launch.token)
        call.about(what="resource.create", target=tags.get("target", ""), operation=tags.get("operation", ""), key=key)

        def execute() -> list[Instance]:
            found = self._instances.run(call.number, launch)
            for each in found:
                self._expect(each.id)
            return found

        found = await self._seat.desk.treat(call, execute, is_replay=self._seat.account.is_bound(launch.token))
        return query.reservation(found[0].reservation, found, self._region)

    async def _terminate(self, call: Call, fields: Fields) -> Mapping[str, Value]:
        ids = _ids(fields, "InstanceId")
        _refuse_dry_run(fields)
        self._about(call, "resource.terminate", ids)

        def execute() -> list[tuple[str, str, str]]:
            changes = self._instances.terminate(call.number, ids)
            for id_, before, now in changes:
                if before != now:
                    self._expect(id_)
            return changes

        return {"instancesSet": query.terminated(await self._seat.desk.treat(call, execute))}

    async def _create_tags(self, call: Call, fields: Fields) -> Mapping[str, Value]:
        ids, tags = _ids(fields, "ResourceId"), query.read_tags(fields, "Tag")
        if not tags:
            raise AwsRefusal("MissingParameter", "The request must contain the parameter Tag")
        _refuse_dry_run(fields)
        self._about(call, "tags.set", ids)
        await self._seat.desk.treat(call, lambda: self._instances.set_tags(call.number, ids, tags))
        return {"return": True}

    async def _describe(self, call: Call, fields: Fields) -> Mapping[str, Value]:
        ids = fields.listed("InstanceId")
        _check_form(ids)
        filters, page = query.read_filters(fields), query.read_page(fields, bool(ids))
        at_ns = await self._seat.moment(call, "instances", self._about_text(ids))
        self._instances.check(ids, at_ns)
        found = [each for each in self._instances.at(at_ns) if not ids or each.id in ids]
        for filter_ in filters:
            found = [each for each in found if matches(each, filter_.name, filter_.globs)]
        said: dict[str, Any] = {}
        if page.size and len(found) > page.start + page.size:
            said = {"nextToken": f"page-{page.start + page.size}"}
        shown = found[page.start : page.start + page.size] if page.size else found[page.start :]
        return {"reservationSet": query.reservations(shown, self._region), **said}

    def _about(self, call: Call, what: str, ids: list[str]) -> None:
        target, operation = self._instances.about(ids[0])
        call.about(what=what, target=target or ids[0], operation=operation)

    def _about_text(self, ids: list[str]) -> str:
        return (self._instances.about(ids[0])[0] or ids[0]) if ids else ""


def _refuse_dry_run(fields: Fields) -> None:
    if fields.get("DryRun") == "true":
        raise AwsRefusal("DryRunOperation", "Request would have succeeded, but DryRun flag is set.", 412)


def _ids(fields: Fields, prefix: str) -> list[str]:
    ids = fields.listed(prefix)
    if not ids:
        raise AwsRefusal("MissingParameter", f"The request must contain the parameter {prefix}")
    _check_form(ids)
    return ids


def _check_form(ids: list[str]) -> None:
    for id_ in ids:
        if not _INSTANCE_ID.fullmatch(id_):
            raise AwsRefusal("InvalidInstanceID.Malformed", f'Invalid id: "{id_[:80]}"')
