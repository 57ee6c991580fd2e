"""How the cloud words its refusals: codes and statuses per protocol, and the two shapes of an error.

    query     <Response><Errors><Error><Code/><Message/></Error></Errors><RequestID/></Response>
    REST-XML  <ErrorResponse><Error><Type/><Code/><Message/></Error><RequestId/></ErrorResponse>

Codes are those of the error pages of the EC2 and Route 53 references. Two have no model there: a token whose first
request is still running is answered `Unavailable` 503 here, which clients repeat; and a fake without look-ups is one
whose caller may not read.
Never here: when something is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from fakes.cloud.xml import document
from fakes.wire.http import Refusal
from harness.model.errors import ProviderFailure

EC2_VERSION = "2016-11-15"
EC2_NAMESPACE = f"http://ec2.amazonaws.com/doc/{EC2_VERSION}/"
ZONES_VERSION = "2013-04-01"
ZONES_NAMESPACE = f"https://route53.amazonaws.com/doc/{ZONES_VERSION}/"
ZONES_PREFIX = f"/{ZONES_VERSION}/"

_Worded = Mapping[int, tuple[str, str]]
QUERY_STATUSES: _Worded = {
    400: ("InvalidRequest", "The request received was invalid."),
    401: ("AuthFailure", "AWS was not able to validate the provided access credentials"),
    403: ("UnauthorizedOperation", "You are not authorized to perform this operation."),
    404: ("InvalidAction", "There is nothing at this path."),
    405: ("InvalidAction", "The action is asked for by GET or POST."),
    429: ("RequestLimitExceeded", "Request limit exceeded."),
    500: ("InternalError", "An internal error has occurred"),
    503: ("RequestLimitExceeded", "Request limit exceeded."),
}
REST_STATUSES: _Worded = {
    400: ("Throttling", "Rate exceeded"),
    401: ("AccessDenied", "The credentials are not accepted"),
    403: ("AccessDenied", "User is not authorized to perform this operation"),
    404: ("InvalidInput", "There is nothing at this path."),
    405: ("InvalidInput", "The method is not allowed here."),
    429: ("Throttling", "Rate exceeded"),
    500: ("InternalFailure", "The request processing has failed because of an unknown error"),
    503: ("ServiceUnavailable", "The request has failed due to a temporary failure of the server"),
}
_QUERY_FAILURES: Mapping[str, tuple[int, str, str]] = {
    "key-reused": (
        400,
        "IdempotentParameterMismatch",
        "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
    ),
    "key-in-use": (503, "Unavailable", "The first request with this client token is still running."),
}
_REST_FAILURES: Mapping[str, tuple[int, str, str]] = {
    "key-in-use": (400, "PriorRequestNotComplete", "The request was rejected because Route 53 was still processing"),
}
_QUERY_SIGNATURES: Mapping[str, tuple[int, str, str]] = {
    "missing": (403, "MissingAuthenticationToken", "The request must contain valid (registered) credentials."),
    "incomplete": (400, "IncompleteSignature", "The request signature does not conform to AWS standards."),
    "unknown-key": (401, "AuthFailure", QUERY_STATUSES[401][1]),
    "wrong": (401, "AuthFailure", QUERY_STATUSES[401][1]),
}
_REST_SIGNATURES: Mapping[str, tuple[int, str, str]] = {
    "missing": (403, "MissingAuthenticationToken", "Missing Authentication Token"),
    "incomplete": (400, "IncompleteSignature", "The request signature does not conform to AWS standards."),
    "unknown-key": (403, "InvalidClientTokenId", "The security token included in the request is invalid."),
    "wrong": (403, "SignatureDoesNotMatch", "The request signature we calculated does not match yours."),
}


class AwsRefusal(ProviderFailure):
    """A refusal in the provider's own words."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(code, message)
        self.status = status


def is_rest(path: str) -> bool:
    """Which of the two protocols does this path speak?"""
    return path.startswith(ZONES_PREFIX)


def request_id(call: str) -> str:
    """The request id of an arrival: equal in equal runs."""
    text = blake2b(call.encode(), digest_size=16).hexdigest()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def unsigned(why: str, path: str) -> AwsRefusal:
    """The refusal of somebody who is not known."""
    status, code, message = (_REST_SIGNATURES if is_rest(path) else _QUERY_SIGNATURES)[why]
    return AwsRefusal(code, message, status)


def may_not_read(path: str) -> AwsRefusal:
    """The refusal of a look-up where there are none."""
    code, message = (REST_STATUSES if is_rest(path) else QUERY_STATUSES)[403]
    return AwsRefusal(code, message, 403)


def status_refusal(status: int, path: str) -> AwsRefusal:
    """A status that nothing in here came to: a hook's, or a bound's."""
    table = REST_STATUSES if is_rest(path) else QUERY_STATUSES
    code, message = table.get(status) or table[500 if status >= 500 else 403]
    return AwsRefusal(code, message, status)


def refusal_of(failed: ProviderFailure, path: str) -> AwsRefusal:
    """Any refusal, in the provider's words."""
    if isinstance(failed, AwsRefusal):
        return failed
    known = (_REST_FAILURES if is_rest(path) else _QUERY_FAILURES).get(failed.code)
    if known is None:
        return status_refusal(500, path)
    status, code, message = known
    return AwsRefusal(code, message, status)


def worded(refused: AwsRefusal, path: str, call: str) -> Refusal:
    """The answer as it is written."""
    id_ = request_id(call)
    error = {"Code": refused.code, "Message": str(refused)}
    if is_rest(path):
        kind = "Sender" if refused.status < 500 else "Receiver"
        body = document("ErrorResponse", ZONES_NAMESPACE, {"Error": {"Type": kind, **error}, "RequestId": id_})
    else:
        body = document("Response", "", {"Errors": {"Error": error}, "RequestID": id_})
    return Refusal({"content-type": "text/xml", "x-amzn-requestid": id_}, body)
