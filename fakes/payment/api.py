"""The API without a network: a request is prepared, and then executed in one step. Pure; the face and the in-process
transport share it.

    prepare    whose key, which endpoint, which parameters; what is refused here is never kept under an idempotency key
    execute    the kept answer if there is one, otherwise the operation; its answer is kept
    look       a question, of a view as stale as it is told

Never here: a socket, a hook, a thread.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any, NamedTuple

import orjson

from fakes.payment import intents, outbox, refunds
from fakes.payment.account import EVENT_LIFE_NS, Account, Asking
from fakes.payment.customers import Ids
from fakes.payment.endpoints import Endpoint, find
from fakes.payment.forms import Malformed, Tree, decode
from fakes.payment.keeping import KEY_LENGTH_MAX, Keeping, Kept, Policy, fingerprint
from fakes.payment.lookups import View, check_expansion, expanded, found, listed, retrieve
from fakes.payment.parameters import Params, read
from fakes.payment.records import Object, kind_of
from fakes.payment.refusals import SHOWN_MAX, StripeRefusal, by_status
from fakes.payment.shapes import API_VERSION
from harness.model.boundary import UNDO_PREFIX
from harness.model.cell import READ_LAG_NS, Lookup

MARKER_LENGTH_MAX = 500
OPERATION, TARGET = "x-operation", "x-target"
_JSON = "application/json"


class Http(NamedTuple):
    """A request. Names of headers are lower case; the path is decoded and without its query."""

    method: str
    path: str
    query: bytes
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """An answer; `headers` without those that every answer has."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Order:
    """A prepared request."""

    endpoint: Endpoint
    ids: Ids
    params: Params
    path: str
    what: str
    target: str
    operation: str
    key: str
    """The idempotency key, "" if this account does not heed it."""
    said: Asking
    """What the headers say, to be completed by who executes it."""
    print: str
    about: str
    """The object it is about: what a competitor acts on."""

    @property
    def is_change(self) -> bool:
        return self.endpoint.run is not None


class StripeApi:
    """The API of one account."""

    def __init__(self, account: Account, policy: Policy, *, api_key: str, lookup: Lookup, search_lag_ns: int) -> None:
        self.account = account
        self.keeping = Keeping(account.shelf, policy, account.domain.cell.key)
        self._api_key = api_key
        self._lookup = lookup
        self._search_lag_ns = search_lag_ns
        intents.settlers(account)
        refunds.settlers(account)

    # Prepare.

    def prepare(self, http: Http) -> Order:
        """Read a request. Raises StripeRefusal: nothing was done, and nothing is kept."""
        self._check_key(http.headers.get("authorization", ""))
        matched = find(http.method, http.path)
        if matched is None:
            shown = f"{http.method}: {http.path}"[:SHOWN_MAX]
            raise StripeRefusal(404, f"Unrecognized request URL ({shown}).")
        endpoint, ids = matched
        tree = _tree(http)
        params = read(endpoint.table, tree, endpoint.required)
        if paths := params.get("expand"):
            check_expansion(endpoint.kind, paths, endpoint.verb in ("list", "search"))
        key = self._idempotency_key(http)
        said = Asking(
            key=key,
            operation=http.headers.get(OPERATION, "")[:MARKER_LENGTH_MAX],
            target=http.headers.get(TARGET, "")[:MARKER_LENGTH_MAX],
        )
        is_heeded = endpoint.run is not None and self.keeping.heeds(http.method)
        what, target, operation, about = self._subject(endpoint, ids, params, said)
        print_ = fingerprint(http.method, http.path, tree) if is_heeded and key else ""
        heeded = key if is_heeded else ""
        return Order(endpoint, ids, params, http.path, what, target, operation, heeded, said, print_, about)

    def is_replay(self, order: Order) -> bool:
        """Would nothing be executed for it now?"""
        kept = self.keeping.under(order.key, self.account.now())
        return kept is not None and (kept.print != order.print or self.keeping.policy.replays(kept))

    def _check_key(self, authorization: str) -> None:
        scheme, _, given = authorization.partition(" ")
        given = given.strip()
        if scheme.lower() == "basic":
            given = _user_of(given)
        if not given:
            raise StripeRefusal(
                401, "No API key was provided: it goes into the Authorization header, as a bearer token."
            )
        if not compare_digest(given.encode(), self._api_key.encode()):
            raise StripeRefusal(401, "The API key that was provided is not valid.")

    def _idempotency_key(self, http: Http) -> str:
        key = http.headers.get("idempotency-key", "")
        if len(key) > KEY_LENGTH_MAX:
            raise StripeRefusal(400, f"An idempotency key has at most {KEY_LENGTH_MAX} characters.")
        return key

    # What a request is about, for hooks and for the effects it makes.

    def _subject(self, endpoint: Endpoint, ids: Ids, params: Params, said: Asking) -> tuple[str, str, str, str]:
        """What, target, operation, and the object it is about."""
        about = (
            ids[0] if ids else str(params.get("payment_intent") or params.get("charge") or params.get("customer") or "")
        )
        object_ = self.account.records.get(kind_of(about), about) or {}
        own: Mapping[str, str] = params.get("metadata") or {}
        metadata = {**(object_.get("metadata") or {}), **own} if ids else own
        customer = params.get("customer") or object_.get("customer") or ""
        what = _what(endpoint, params, object_)
        operation = said.operation or metadata.get("operation", "")
        if operation and not said.operation and endpoint.verb in ("cancel", "delete"):
            operation = UNDO_PREFIX + operation
        target = said.target or metadata.get("target") or customer or about
        if endpoint.kind == "refund" and object_:
            target = said.target or self._place_of(object_) or target
        return what, target, operation, about

    def _place_of(self, charged: Object) -> str:
        """The target of the effect that a refund would be of."""
        charge = charged.get("latest_charge") or charged.get("charge") or charged["id"]
        reference = self.account.records.facts(charge).get("effect", "")
        return self.account.domain.row(reference).target if reference else ""

    # Execute.

    def execute(
        self,
        order: Order,
        *,
        call: str = "",
        where: str = "",
        request_id: str = "",
        delivery: int = 1,
        wanted: str = "",
    ) -> Answer:
        """Do it, or give the kept answer again. What else is said becomes the `Asking`."""
        now_ns = self.account.now()
        said = order.said
        asking = Asking(call, where, delivery, request_id, said.key, said.operation, said.target, wanted=wanted)
        try:
            kept = self.keeping.find(order.key, order.print, now_ns)
        except StripeRefusal as refused:
            return answer_of(refused)
        if kept is not None and self.keeping.policy.replays(kept):
            headers = {"idempotent-replayed": "true", "original-request": kept.request_id}
            return Answer(kept.status, kept.body.encode(), headers)
        asking.made = kept.made if kept is not None else ""
        answer = self._run(order, asking)
        first_ns = kept.first_ns if kept is not None else now_ns
        done = Kept(first_ns, order.print, answer.status, answer.body.decode(), asking.made, request_id)
        self.keeping.keep(order.key, done)
        return answer

    def stand_in(self, order: Order, status: int, request_id: str = "") -> Answer:
        """Answer with this status although execution had begun: kept instead of what it came to."""
        answer = answer_of(by_status(status))
        now_ns = self.account.now()
        kept = self.keeping.under(order.key, now_ns)
        made, first_ns = (kept.made, kept.first_ns) if kept is not None else ("", now_ns)
        self.keeping.keep(order.key, Kept(first_ns, order.print, status, answer.body.decode(), made, request_id))
        return answer

    def _run(self, order: Order, asking: Asking) -> Answer:
        account = self.account
        assert order.endpoint.run is not None, f"{order.endpoint.name} is a question"
        account.asking = asking
        try:
            object_ = order.endpoint.run(account, order.ids, order.params)
        except StripeRefusal as refused:
            return answer_of(refused)
        finally:
            account.asking = Asking()
        paths = order.params.get("expand")
        return _worded(expanded(View(account.records, None), object_, paths) if paths else object_)

    # Look.

    def look(self, order: Order, stale_ns: int = 0) -> Answer:
        """Answer a question, of the view of so long ago."""
        if self._lookup is Lookup.ABSENT:
            raise StripeRefusal(403, "The API key that was provided may not read.")
        lag_ns = self._search_lag_ns if order.endpoint.verb == "search" else 0
        if self._lookup is Lookup.EVENTUAL:
            lag_ns = max(lag_ns, READ_LAG_NS)
        lag_ns = max(lag_ns, stale_ns)
        view = View(self.account.records, self.account.now() - lag_ns if lag_ns else None)
        said = self._answer(order, view)
        return _worded(expanded(view, said, order.params.get("expand", [])))

    def _answer(self, order: Order, view: View) -> Object:
        kind, params = order.endpoint.kind, order.params
        match order.endpoint.verb:
            case "retrieve":
                return self._shown(retrieve(view, kind, order.ids[0]))
            case "search":
                return found(view, kind, order.path, params)
            case _:
                if order.ids:
                    retrieve(view, "customer", order.ids[0])
                    params = {**params, "customer": order.ids[0]}
                if kind == "event":
                    params = {**params, "created": self._recent(params.get("created"))}
                page = listed(view, kind, order.path, params)
                return {**page, "data": [self._shown(each) for each in page["data"]]}

    def _recent(self, bounds: Mapping[str, int] | None) -> dict[str, int]:
        """Events are listed for so long only."""
        oldest = max((self.account.now() - EVENT_LIFE_NS) // 1_000_000_000, 0)
        return {**(bounds or {}), "gte": max((bounds or {}).get("gte", 0), oldest)}

    def _shown(self, object_: Object) -> Object:
        if object_["object"] != "event":
            return object_
        return {**object_, "pending_webhooks": outbox.outstanding(self.account, object_["id"])}


# Reading and wording.


def _tree(http: Http) -> Tree:
    """The parameters: of the query, and of the body. Raises StripeRefusal."""
    kind = http.headers.get("content-type", "")
    if http.body and kind and not kind.lower().startswith("application/x-www-form-urlencoded"):
        raise StripeRefusal(400, "The body must be a form: application/x-www-form-urlencoded.")
    try:
        tree = decode(http.query)
        return {**tree, **decode(http.body)} if http.body else tree
    except Malformed as error:
        raise StripeRefusal(400, f"The parameters cannot be read: {error}.") from None


def _user_of(given: str) -> str:
    """The user name of basic credentials: the API key."""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


def _what(endpoint: Endpoint, params: Params, object_: Object) -> str:
    """The domain's action, or the endpoint's name where it acts on nothing."""
    match endpoint.name:
        case "payment_intent.create" if params.get("confirm"):
            return _paying(params)
        case "payment_intent.confirm":
            return _paying({**object_, **params})
        case "payment_intent.capture":
            return "capture"
        case "payment_intent.cancel" if object_.get("status") == "requires_capture":
            return "authorization.cancel"
        case "refund.create":
            return "refund"
        case name:
            return name


def _paying(said: Mapping[str, Any]) -> str:
    return "authorize" if said.get("capture_method") == intents.MANUAL else "charge"


def _worded(data: Any) -> Answer:
    return Answer(200, orjson.dumps(data))


def answer_of(refused: StripeRefusal) -> Answer:
    """A refusal as an answer."""
    return Answer(refused.status, orjson.dumps(refused.body()))


def common_headers(http: Http, request_id: str) -> dict[str, str]:
    """What every answer has."""
    headers = {"content-type": _JSON, "request-id": request_id}
    headers["stripe-version"] = http.headers.get("stripe-version", API_VERSION)[:MARKER_LENGTH_MAX].strip()
    if key := http.headers.get("idempotency-key"):
        headers["idempotency-key"] = key[:KEY_LENGTH_MAX].strip()
    return headers
