"""The page on which a person decides: what is asked, exactly; two buttons; and what came of it.

Everything a requester said is data and is escaped. The page loads nothing, runs no script, and a browser is told so.
Never here: deciding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from fakes.wire.json_api import utc

HEADERS: Mapping[str, str] = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}

_NAMES = ("frame.html.j2", "approval.html.j2", "listing.html.j2", "error.html.j2")
_TEMPLATES = {name: (files("fakes.approval") / "templates" / name).read_text(encoding="utf-8") for name in _NAMES}
_ROOM = Environment(loader=DictLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
_ROOM.filters["utc"] = utc
_ROOM.filters["plain"] = lambda value: (
    value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
)


def approval(view: Mapping[str, Any]) -> str:
    """One approval: to be decided, or with what was decided."""
    return _ROOM.get_template("approval.html.j2").render(view=view, late=None)


def refused(view: Mapping[str, Any], code: str, *, by: str, decision: str) -> str:
    """What a person is told whose decision was not taken, and what stands instead."""
    stands = view["decision"]
    is_own = stands is not None and (stands["by"], stands["decision"]) == (by, decision)
    late = {"code": code, "by": by, "decision": decision, "is_own": is_own}
    return _ROOM.get_template("approval.html.j2").render(view=view, late=late)


def listing(views: Sequence[Mapping[str, Any]]) -> str:
    """All approvals: those that wait, oldest first, then the others, newest first."""
    waiting = [view for view in views if view["state"] == "pending"]
    others = [view for view in reversed(views) if view["state"] != "pending"]
    return _ROOM.get_template("listing.html.j2").render(waiting=waiting, others=others)


def error(message: str) -> str:
    """Something else."""
    return _ROOM.get_template("error.html.j2").render(message=message)
