"""The shop as its pages see it: desk, options, sessions and orders together, and what every page needs.

Never here: one page's rule, and what serves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from fakes.checkout import pages
from fakes.checkout.forms import read_form
from fakes.checkout.options import ShopOptions
from fakes.checkout.orders import Orders
from fakes.checkout.sessions import Session, Sessions
from fakes.wire.desk import Desk
from fakes.wire.http import call_of
from fakes.wire.points import Facts, duration_ns
from fakes.wire.shelf import Shelf
from harness.model.errors import ProviderFailure

COOKIE = "shop_session"
T = TypeVar("T")
_OWN_PATH = re.compile(r"/(?:[A-Za-z0-9_?&=%.,:~-][A-Za-z0-9/_?&=%.,:~-]*)?")


class SignedOut(Exception):
    """Whoever asks is not signed in (any more)."""


class Who(NamedTuple):
    """Whom a page greets. `user` is None where the page does not know."""

    user: str | None
    basket_count: int


NOBODY = Who(None, 0)


class Shop:
    """What the pages share."""

    def __init__(self, desk: Desk, options: ShopOptions) -> None:
        self.desk = desk
        self.options = options
        self.shelf = Shelf()
        self.sessions = Sessions(self.shelf, desk.clock.now_ns, duration_ns(options.session_life))
        self.orders = Orders(desk, self.shelf, options)

    # Who asks, and what they sent.

    def session_of(self, request: Request) -> Session | None:
        """The session of the request's cookie, if it still lasts."""
        return self.sessions.of(request.cookies.get(COOKIE, ""))

    def signed_in(self, request: Request) -> Session:
        """The session of somebody signed in. Raises SignedOut."""
        session = self.session_of(request)
        if session is None or not session.user:
            raise SignedOut
        return session

    async def form(self, request: Request) -> dict[str, str]:
        """The form that was sent. Raises FormUnreadable."""
        return read_form(await request.body(), request.headers.get("content-type", ""))

    async def treat(self, request: Request, what: str, execute: Callable[[], T], target: str = "") -> T:
        """Change something that is no order: every hook point is crossed."""
        return await self.desk.treat(call_of(request).about(what=what, target=target), execute)

    async def read(self, request: Request, what: str, target: str = "") -> int:
        """Cross the points of a page that changes nothing; how stale its view must be, in ns."""
        return await self.desk.read(call_of(request).about(what=what, target=target))

    def month(self) -> tuple[int, int]:
        """The present (year, month)."""
        now = datetime.fromtimestamp(self.desk.clock.now_s(), UTC)
        return now.year, now.month

    # Mail.

    def mail(self, id_: str) -> None:
        """Send the message about an order, as hooks at EVENT let it go."""
        row = self.orders.domain.row(id_)
        facts = Facts(what="order.mail", target=row.target, operation=row.operation)
        self.desk.go(self._mail(id_, facts))

    async def _mail(self, id_: str, facts: Facts) -> None:
        async def send() -> None:
            self.orders.mail_came(id_)
            self.desk.note("mailed", "", {"order": id_, "target": facts.target})

        await self.desk.deliver(facts, send)
        self.orders.mail_handed_over(id_)
        self.desk.commit()

    def mail_again(self) -> None:
        """After a restart: send what had not left yet."""
        for id_ in self.orders.unsent():
            self.desk.later(0, lambda id_=id_: self.mail(id_))  # type: ignore[misc]

    # Answers.

    def show(
        self,
        name: str,
        session: Session | None,
        *,
        code: int = 200,
        headers: Mapping[str, str] | None = None,
        **shown: Any,
    ) -> Response:
        """A page for whoever has this session."""
        who = Who(session.user, sum(session.basket.values())) if session is not None else Who("", 0)
        return pages.page(name, code, headers, who=who, **shown)

    def go(self, path: str, **asked: str) -> RedirectResponse:
        """Send the browser on; always with GET."""
        told = {name: value for name, value in asked.items() if value}
        return RedirectResponse(f"{path}?{urlencode(told)}" if told else path, 303, {"cache-control": "no-store"})

    def let_in(self, path: str, session: Session) -> RedirectResponse:
        """Send the browser on with this session's cookie."""
        answer = self.go(path)
        answer.set_cookie(COOKIE, session.cookie, httponly=True, samesite="lax", path="/")
        return answer


def own_path(text: str) -> str:
    """The text if it is a path in this shop, else the catalogue: a sign-in leads to nobody else's page."""
    return text if _OWN_PATH.fullmatch(text) and len(text) < 500 else "/"


def not_found() -> ProviderFailure:
    """What is not there, and what is somebody else's."""
    return ProviderFailure("not-found")
