"""Deployments: every request deploys once more, and a rollback takes one deployment back.

There is no key and no identity: what was asked twice was done twice. A rollback says which deployment it is about by
`reference`, or means the oldest that stands at the target.
Never here: HTTP, refs, files, and what became of a deployment (`book.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider


class Deployments(Provider):
    """Deployments by business target."""

    __slots__ = ()

    name: ClassVar[str] = "deployment"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "deploy": ActionSpec(undoes=None, again=Again.NEW),
        "deploy.rollback": ActionSpec(undoes="deploy", again=Again.REFUSED),
    }
