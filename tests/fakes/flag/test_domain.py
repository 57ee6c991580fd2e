"""The rule of flags: the newest standing set, versions, compare-and-set."""

from __future__ import annotations

import pytest

from fakes.flag.domain import Flags, value_of
from fakes.registry import check_catalogue
from harness.model.wire import Request
from tests.fakes.stage import Stage, effect, standing, undo


@pytest.fixture
def flags(stage: Stage) -> Flags:
    provider = stage.provider(kind=Flags)
    assert isinstance(provider, Flags)
    return provider


def put(value: str | int, operation: str = "switch", **more: int) -> Request:
    return effect("flag.set", "beta", operation, params={"value": value, **more})


def restore(**params: str | int) -> Request:
    return undo("flag.restore", "beta", "undo.switch", params=params)


def value(flags: Flags, at_ns: int | None = None) -> str | int | None:
    row = flags.setting("beta", at_ns)
    return None if row is None else value_of(row)


def test_the_newest_set_is_the_value_and_every_change_a_version(stage: Stage, flags: Flags) -> None:
    assert (value(flags), flags.version("beta")) == (None, 0)
    for number, each in enumerate(("on", "off", "on"), 1):
        stage.send(flags, put(each))
        assert (value(flags), flags.version("beta")) == (each, number)


def test_setting_the_value_that_is_there_changes_nothing(stage: Stage, flags: Flags) -> None:
    first, second = (stage.send(flags, put("on")).reference for _ in range(2))
    assert first == second
    assert (flags.commits, flags.version("beta")) == (1, 1)


def test_a_restore_brings_the_value_before_back(stage: Stage, flags: Flags) -> None:
    stage.send(flags, put("on"))
    stage.send(flags, put("off"))
    stage.send(flags, restore())
    assert (value(flags), flags.version("beta")) == ("on", 3)
    stage.send(flags, restore())
    assert (value(flags), flags.version("beta")) == (None, 4)
    assert stage.refusal(flags, restore()) == "already-undone"
    assert standing(stage, flags, "flag.set", "beta") == [False, False]


def test_a_restore_of_an_older_set_does_not_touch_what_was_set_since(stage: Stage, flags: Flags) -> None:
    first = stage.send(flags, put("on")).reference
    stage.send(flags, put("off", "competitor"))
    stage.send(flags, restore(reference=first))
    assert value(flags) == "off"
    assert standing(stage, flags, "flag.set", "beta") == [False, True]
    assert [data["undoes"] for data in stage.data("effect")] == [None, None, first]


def test_a_set_wants_the_version_it_believes_in(stage: Stage, flags: Flags) -> None:
    assert stage.refusal(flags, put("on", if_version=1)) == "already-exists"
    assert stage.refusal(flags, put("on", if_version=0)) == "ok"
    assert stage.refusal(flags, put("off", if_version=0)) == "already-exists"
    assert stage.refusal(flags, put("off", if_version=1)) == "ok"
    assert stage.refusal(flags, restore(if_version=1)) == "already-exists"
    assert stage.refusal(flags, restore(if_version=2)) == "ok"
    assert value(flags) == "on"


def test_a_flag_whose_every_set_was_restored_can_be_made_anew(stage: Stage, flags: Flags) -> None:
    stage.send(flags, put("on"))
    stage.send(flags, restore())
    assert stage.refusal(flags, put("on", if_version=0)) == "ok"
    assert flags.version("beta") == 3


def test_a_set_without_a_value_is_invalid(stage: Stage, flags: Flags) -> None:
    assert stage.refusal(flags, effect("flag.set", "beta", params={})) == "invalid"


def test_a_past_moment_is_read_like_the_present(stage: Stage, flags: Flags) -> None:
    for each in ("on", "off"):
        stage.send(flags, put(each))
        stage.pass_ns(10)
    stage.send(flags, restore())
    assert [value(flags, at_ns) for at_ns in (5, 15, 25)] == ["on", "off", "on"]
    assert [flags.version("beta", at_ns) for at_ns in (5, 15, 25)] == [1, 2, 3]


def test_an_outside_actor_restores_the_newest_set(stage: Stage, flags: Flags) -> None:
    stage.send(flags, put("on"))
    stage.send(flags, put("off"))
    assert flags.external_undo(restore())
    assert value(flags) == "on"


def test_a_snapshot_brings_value_and_version_back(stage: Stage, flags: Flags) -> None:
    stage.send(flags, put("on"))
    kept = flags.snapshot()
    stage.send(flags, put("off"))
    flags.restore(kept)
    assert (value(flags), flags.version("beta")) == ("on", 1)


def test_its_names_are_no_other_providers(stage: Stage) -> None:
    from fakes.registry import PROVIDERS

    check_catalogue((*(kind for kind in PROVIDERS.values() if kind is not Flags), Flags))
