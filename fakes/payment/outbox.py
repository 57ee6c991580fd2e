"""Webhook endpoints, and what is delivered to them: bodies, signatures and the times of the tries. Pure.

A delivery stands in the outbox until an endpoint has answered 2xx or its tries are used up. It is made at least once,
and in no promised order. The signature is `t=SECONDS,v1=HMAC-SHA256(secret, "SECONDS.body")`.
Never here: sending (`webhooks.py`).
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from fakes.payment import shapes
from fakes.payment.account import OUTBOX, Account
from fakes.payment.parameters import Params, merged
from fakes.payment.records import Object
from fakes.payment.refusals import wrong
from harness.model.cell import SECOND_NS

RETRY_AFTER_S = (60, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
"""How long after a try that was not answered by 2xx the next one is made: three days in all, then no more."""
ENDPOINTS_MAX = 16


class Delivery(NamedTuple):
    """One try to deliver one event to one endpoint."""

    id: str
    event: str
    type: str
    endpoint: str
    url: str
    attempt: int
    body: bytes
    signature: str


def create_endpoint(account: Account, ids: tuple[str, ...], params: Params) -> Object:
    """`POST /v1/webhook_endpoints`. Only this answer shows the secret."""
    if made := account.asking.made:
        return {**account.need("webhook_endpoint", made), "secret": secret_of(account, made)}
    try:
        url = urlsplit(params["url"])
        is_good = url.scheme in ("http", "https") and bool(url.hostname) and (url.port or 1) > 0
    except ValueError:
        is_good = False
    if not is_good:
        raise wrong("url", "This is no URL that could be called.", "url_invalid")
    if sum("deleted" not in each for each in account.records.newest_first("webhook_endpoint")) >= ENDPOINTS_MAX:
        raise wrong("url", f"There are {ENDPOINTS_MAX} webhook endpoints already.")
    id_ = account.records.new_id("webhook_endpoint")
    made_ = {**shapes.webhook_endpoint(id_, account.created(), params), "metadata": merged({}, params.get("metadata"))}
    secret = f"whsec_test_{sha256(f'knownstate {id_} {account.now()}'.encode()).hexdigest()[:32]}"
    return {**account.new(made_, secret=secret), "secret": secret}


def delete_endpoint(account: Account, ids: tuple[str, ...], params: Params) -> Object:
    """`DELETE /v1/webhook_endpoints/ID`. What was not delivered yet will not be."""
    gone = shapes.deleted("webhook_endpoint", ids[0])
    account.need("webhook_endpoint", ids[0])
    for name in [name for name, entry in account.shelf.all(OUTBOX).items() if entry[1] == ids[0]]:
        account.shelf.remove(OUTBOX, name)
    return account.change(gone)


def secret_of(account: Account, endpoint: str) -> str:
    """The endpoint's signing secret."""
    return str(account.records.facts(endpoint)["secret"])


def delivery(account: Account, name: str) -> Delivery | None:
    """The next try of this delivery, signed now; None if there is none any more."""
    entry = account.shelf.get(OUTBOX, name)
    if entry is None:
        return None
    event_id, endpoint_id, attempt, _ = entry
    event, endpoint = account.records.get("event", event_id), account.records.get("webhook_endpoint", endpoint_id)
    if event is None or endpoint is None or "deleted" in endpoint:
        return None
    body = orjson.dumps({**event, "pending_webhooks": outstanding(account, event_id)})
    signed = signature(secret_of(account, endpoint_id), account.created(), body)
    return Delivery(name, event_id, event["type"], endpoint_id, endpoint["url"], attempt, body, signed)


def signature(secret: str, moment_s: int, body: bytes) -> str:
    """The value of `Stripe-Signature`."""
    digest = hmac.new(secret.encode(), b"%d.%s" % (moment_s, body), sha256).hexdigest()
    return f"t={moment_s},v1={digest}"


def outstanding(account: Account, event: str) -> int:
    """To how many endpoints it still has to go."""
    endpoints = account.shelf.all("webhook_endpoint")
    return sum(f"{event}:{endpoint}" in account.shelf.all(OUTBOX) for endpoint in endpoints)


def due_in_ns(account: Account, name: str) -> int | None:
    """How long until the next try; None if there is none."""
    entry = account.shelf.get(OUTBOX, name)
    return None if entry is None else max(entry[3] - account.now(), 0)


def answered(account: Account, name: str, status: int) -> bool:
    """A try has ended (status 0: without an answer). Will there be another?"""
    entry = account.shelf.get(OUTBOX, name)
    if entry is None:
        return False
    event, endpoint, attempt, _ = entry
    if 200 <= status < 300 or attempt >= len(RETRY_AFTER_S):
        account.shelf.remove(OUTBOX, name)
        return False
    due_ns = account.now() + RETRY_AFTER_S[attempt] * SECOND_NS
    account.shelf.put(OUTBOX, name, [event, endpoint, attempt + 1, due_ns])
    return True
