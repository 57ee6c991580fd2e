"""Sessions and order forms: who is at the other end, what is in their basket, and which form was given to them.

A cookie, a form's nonce and a mail's link are a number and its signature, so that nothing secret needs to be kept and equal
runs have equal ones. Never here: orders, pages, HTTP.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from fakes.checkout.goods import QUANTITY_MAX, Line, as_text, read_lines
from fakes.wire.shelf import Shelf

SESSION, FORM = "session", "form"
_SIGNING_KEY = b"knownstate's test shop"
"""Guards nothing of value. It makes a neighbour's number useless to whoever guesses it, as in a real shop."""


def signed(number: str, kind: str) -> str:
    """`NUMBER.SIGNATURE`."""
    mark = blake2b(f"{kind}:{number}".encode(), key=_SIGNING_KEY, digest_size=12).hexdigest()
    return f"{number}.{mark}"


def number_in(text: str, kind: str) -> str | None:
    """The number a signed text carries, or None if nobody here signed it."""
    number = text.partition(".")[0]
    return number if hmac.compare_digest(signed(number, kind).encode(), text.encode("utf-8", "replace")) else None


class Session(NamedTuple):
    """One browser's session. `user` is "" before signing in, `address` empty before it was given."""

    number: str
    user: str
    basket: Mapping[str, int]
    address: Mapping[str, str]
    since_ns: int

    @property
    def cookie(self) -> str:
        return signed(self.number, SESSION)


class OrderForm(NamedTuple):
    """A payment page that was given out: to which session, for which goods and address, and when.

    `is_of_basket` says that the goods were the basket's, which an order empties.
    """

    number: str
    session: str
    lines: tuple[Line, ...]
    is_of_basket: bool
    address: Mapping[str, str]
    since_ns: int

    @property
    def nonce(self) -> str:
        return signed(self.number, FORM)


class Sessions:
    """All sessions and order forms, on a shelf."""

    def __init__(self, shelf: Shelf, now: Callable[[], int], life_ns: int) -> None:
        self._shelf = shelf
        self._now = now
        self._life_ns = life_ns

    def of(self, cookie: str) -> Session | None:
        """The session of this cookie, if it still lasts."""
        number = number_in(cookie, SESSION)
        kept = self._shelf.get(SESSION, number) if number is not None else None
        if kept is None or self._now() - kept["since_ns"] > self._life_ns:
            return None
        return Session(number or "", **kept)

    def begin(self, user: str = "", basket: Mapping[str, int] | None = None) -> Session:
        """A new session."""
        number = str(self._shelf.number(SESSION))
        return self._keep(Session(number, user, dict(basket or {}), {}, self._now()))

    def sign_in(self, session: Session | None, user: str) -> Session:
        """Begin a session of this user with the basket of the one before, which ends."""
        if session is not None:
            self.end(session)
        return self.begin(user, session.basket if session is not None else {})

    def end(self, session: Session) -> None:
        """Sign out."""
        self._shelf.remove(SESSION, session.number)

    def end_all(self) -> int:
        """Every session is lost; how many there were."""
        numbers = list(self._shelf.all(SESSION))
        for number in numbers:
            self._shelf.remove(SESSION, number)
        return len(numbers)

    def count(self) -> int:
        return len(self._shelf.all(SESSION))

    def put(self, session: Session, sku: str, quantity: int) -> Session:
        """Let so many of this product be in the basket; none takes it out."""
        basket = {**session.basket, sku: min(quantity, QUANTITY_MAX)}
        return self._keep(session._replace(basket={name: n for name, n in basket.items() if n > 0}))

    def empty(self, session: Session) -> Session:
        """Nothing is in the basket any more."""
        return self._keep(session._replace(basket={}))

    def send_to(self, session: Session, address: Mapping[str, str]) -> Session:
        """Remember the address."""
        return self._keep(session._replace(address=dict(address)))

    def _keep(self, session: Session) -> Session:
        kept: dict[str, Any] = session._asdict()
        kept.pop("number")
        self._shelf.put(SESSION, session.number, kept)
        return session

    def give_form(self, session: Session, lines: tuple[Line, ...], *, is_of_basket: bool) -> OrderForm:
        """A new order form for these goods, to the session's address."""
        number = str(self._shelf.number(FORM))
        form = OrderForm(number, session.number, lines, is_of_basket, session.address, self._now())
        kept: dict[str, Any] = {**form._asdict(), "lines": as_text(lines)}
        kept.pop("number")
        self._shelf.put(FORM, number, kept)
        return form

    def form_of(self, nonce: str, session: Session) -> OrderForm | None:
        """The order form of this nonce, if it was given to this session."""
        number = number_in(nonce, FORM)
        kept = self._shelf.get(FORM, number) if number is not None else None
        if kept is None or kept["session"] != session.number:
            return None
        return OrderForm(number or "", **{**kept, "lines": read_lines(kept["lines"])})
