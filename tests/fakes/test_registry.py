"""The catalogue: complete, consistent, and as the README of the room tells it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

import fakes.registry
from fakes.approval.domain import ApprovalQueue
from fakes.core.kernel import ActionSpec, Again, Provider
from fakes.dns.domain import Dns
from fakes.email.domain import Email
from fakes.registry import PROVIDERS, check_catalogue, known_actions

ROOM = Path(fakes.registry.__file__).parent


def test_every_folder_with_a_domain_is_in_the_catalogue() -> None:
    folders = {path.parent.name for path in ROOM.glob("*/domain.py")}
    assert folders == {*PROVIDERS, ApprovalQueue.name}


def test_known_actions_are_those_the_providers_serve() -> None:
    assert known_actions()["email"] == Email.actions
    assert known_actions().keys() == PROVIDERS.keys()


def test_readme_names_every_action() -> None:
    text = (ROOM / "README.md").read_text(encoding="utf-8")
    actions = {action for specs in known_actions().values() for action in specs} | set(ApprovalQueue.actions)
    assert {action for action in actions if f"`{action}`" not in text} == set()


def test_two_providers_of_one_name_are_refused() -> None:
    check_catalogue((Dns, Email))
    with pytest.raises(ValueError, match="two providers are called 'dns'"):
        check_catalogue((Dns, Email, Dns))


def test_action_of_two_providers_is_refused() -> None:
    class Pigeon(Provider):
        name: ClassVar[str] = "pigeon"
        actions: ClassVar[Mapping[str, ActionSpec]] = {"send": ActionSpec(None, Again.NEW)}

    check_catalogue((Pigeon,))
    with pytest.raises(ValueError, match="action 'send' of 'pigeon' belongs to 'email' already"):
        check_catalogue((Email, Pigeon))


def test_undo_of_what_is_not_done_is_refused() -> None:
    class Eraser(Provider):
        name: ClassVar[str] = "eraser"
        actions: ClassVar[Mapping[str, ActionSpec]] = {"erase": ActionSpec("write", Again.NEW)}

    with pytest.raises(ValueError, match="'eraser' has 'erase' to undo 'write'"):
        check_catalogue((Eraser,))
