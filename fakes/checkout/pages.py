"""The shop's pages: templates of this package, made into HTML with everything escaped.

What other programs may rely on, in every page: `body[data-page]` names it, and the last element is `#page-end`, so that a
page that broke off can be told from a whole one. Where a page is about an order, that carries `data-order-id`, and
`data-reference` with the merchant's reference. Styles are in the page itself: one page is one request.
Never here: what is shown to whom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import HTMLResponse

from fakes.checkout.forms import ADDRESS_FIELDS, CARDS, COUNTRIES, address_lines
from fakes.checkout.goods import QUANTITY_MAX, money

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_HEADERS: Mapping[str, str] = {
    "cache-control": "private, no-cache",
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}
NOT_KEPT: Mapping[str, str] = {"cache-control": "no-store"}
"""For pages with a form that must be fetched anew each time."""


def page(name: str, code: int = 200, headers: Mapping[str, str] | None = None, **shown: Any) -> HTMLResponse:
    """The page of this name."""
    return HTMLResponse(html(name, **shown), status_code=code, headers={**_HEADERS, **(headers or {})})


def html(name: str, **shown: Any) -> str:
    """The page's text."""
    return _environment().get_template(f"{name}.html.j2").render(page=name, **shown)


def day(time_ns: int) -> str:
    """`12 March 2026, 14:05`."""
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000, UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M}"


def _asset(name: str) -> str | None:
    path = files("fakes.checkout") / "templates" / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"money": money, "day": day, "address_lines": address_lines}
    environment.globals |= {
        "address_fields": ADDRESS_FIELDS,
        "cards": [" ".join(re.findall("....", number)) for number in CARDS],
        "countries": COUNTRIES,
        "quantity_max": QUANTITY_MAX,
    }
    return environment
