"""Refusals in the API's form: `{"error": {"type", "code", "param", "message", ...}}`, as values that are raised.

Never here: when something is refused. Messages name the parameter and never repeat a card number or a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN_MAX = 100
TYPES: Mapping[int, str] = {402: "card_error"}
"""Status -> type; other 4xx are `invalid_request_error`, 5xx `api_error`."""
STATUS_WORDS: Mapping[int, tuple[str | None, str]] = {
    400: (None, "The request was not accepted."),
    401: (None, "The API key is not accepted."),
    402: ("card_declined", "The card was declined."),
    403: (None, "The API key may not do this."),
    404: ("resource_missing", "There is no such object."),
    409: ("idempotency_key_in_use", "A request with this idempotency key is being processed."),
    413: (None, "The request is too large."),
    429: ("rate_limit", "Too many requests hit the API too quickly."),
    431: (None, "The request's headers are too large."),
    500: (None, "Something went wrong on the provider's side."),
    503: (None, "The provider is not available now."),
}
"""Status -> code and message, for what is not worded where it is refused."""


class StripeRefusal(Exception):
    """An answer that is not a success."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        type_: str = "",
        **more: Any,
    ) -> None:
        """`more` are further fields of the error, such as `decline_code` and `payment_intent`."""
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.type = type_ or type_of(status)
        self.more = more

    def body(self) -> dict[str, Any]:
        """The answer's body as JSON data."""
        said: dict[str, Any] = {"type": self.type, "message": str(self)}
        if self.code is not None:
            said["code"] = self.code
        if self.param is not None:
            said["param"] = self.param
        return {"error": {**said, **self.more}}


def type_of(status: int) -> str:
    """The error type that goes with a status."""
    return TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def by_status(status: int) -> StripeRefusal:
    """A refusal that only has a status: a hook's, or a bound's."""
    code, message = STATUS_WORDS.get(status, (None, f"The provider answers {status}."))
    return StripeRefusal(status, message, code=code)


def missing(kind: str, id_: str, param: str = "id") -> StripeRefusal:
    """There is no object of this id: 404 for the object that is asked for itself, 400 for one that is only named."""
    status = 404 if param == "id" else 400
    return StripeRefusal(status, f"No such {kind}: '{id_[:SHOWN_MAX]}'", code="resource_missing", param=param)


def wrong(param: str, message: str, code: str | None = None) -> StripeRefusal:
    """A parameter cannot be accepted."""
    return StripeRefusal(400, message, code=code, param=param)


def key_in_use() -> StripeRefusal:
    """Another request with this idempotency key is on its way."""
    return by_status(409)


def key_reused(key: str) -> StripeRefusal:
    """The idempotency key belongs to another request."""
    return StripeRefusal(
        400,
        "An idempotency key belongs to one endpoint and one set of parameters, and this one was used with others. "
        f"Try using a key other than '{key}' for another request.",
        type_="idempotency_error",
    )
