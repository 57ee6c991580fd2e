"""The names a scenario file may use, and the nearest one to a misspelt name.

Here: providers with their actions and undos, fault names, guarantee ids. Never here: what any of them does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

KNOWN_ACTIONS: Mapping[str, Mapping[str, str | None]] = {
    "payment": {"customer.create": "customer.delete", "charge": "refund"},
    "dns": {"record.add": "record.remove"},
    "email": {"send": None},
    "checkout": {"order": "order.cancel"},
    "tenant": {"tenant.create": "tenant.delete"},
    "cloud": {"resource.create": "resource.terminate"},
    "access": {"grant": "revoke"},
    "flag": {"flag.set": "flag.restore"},
    "inventory": {"reserve": "release", "stock.commit": "restock"},
    "shipment": {"label.buy": "label.void"},
    "deployment": {"deploy": "deploy.rollback"},
    "cluster": {"object.apply": "object.delete"},
}
"""Provider -> action -> the action that undoes it, or None. A literal, so that reading a file does not import the
fakes; a test holds it equal to their registry."""


def guarantee_ids() -> tuple[str, ...]:
    """The ids the judge knows, in its order. Imported here, since most files say `all` and need no judge."""
    from harness.judge.judge import GUARANTEES

    return tuple(GUARANTEES)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name closest to `name`, or "" when none is close."""
    matches = get_close_matches(name, list(known), n=1)
    return matches[0] if matches else ""


def advice(name: str, known: Iterable[str], *, noun: str) -> str:
    """The third part of a message about an unknown name: the nearest known one, then all of them."""
    names = list(known)
    close = nearest(name, names)
    question = f"Did you mean `{close}`? " if close else ""
    return f"{question}{noun}: {', '.join(names) or 'none'}."
