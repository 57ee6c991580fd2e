"""The self-test: every twin is caught for its own reason, a surviving one fails it, and so does an accused sound ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness import cli
from harness.candidates.loading import REFERENCE
from harness.model.errors import UsageError
from harness.selftest import pins, run
from harness.selftest.hunt import Hunt, hunt
from harness.selftest.pins import Pin
from reference_ledger.twins.registry import TWINS
from tests.campaign.stage import TINY

BLIND, TRUSTS = TWINS["blind_retry"], TWINS["trusts_200"]
IGNORED = "ignored.authoritative.prompt"


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts pins in the place of the shipped ones."""

    def put(*rows: Pin) -> None:
        file = tmp_path / "pins.json"
        file.write_text("[]")
        monkeypatch.setattr(pins, "PINS_FILE", file)
        pins.save(rows)

    return put


def shipped(name: str) -> Pin:
    return pins.pins()[name]


# -- one twin -----------------------------------------------------------------------------------------------------------------


def test_a_twin_is_reached_triggered_and_detected_where_its_pin_says() -> None:
    row = run.check_twin(BLIND, shipped("blind_retry"))
    assert (row.reached, row.triggered, row.detected, row.surprise) == (True, True, True, "")


def test_a_twin_survives_a_schedule_that_does_not_touch_its_bug() -> None:
    harmless = replace(shipped("blind_retry"), schedule="drill:seed=0:drill/first/attempt-1/sent=connection-refused")
    row = run.check_twin(BLIND, harmless)
    assert (row.detected, "the twin survives" in row.surprise) == (False, True)


def test_a_twin_that_breaks_another_guarantee_than_its_pin_says_survives() -> None:
    row = run.check_twin(BLIND, replace(shipped("blind_retry"), guarantee="compensation-order"))
    assert "compensation-order was not found broken (found: no-duplicate-effect" in row.surprise


def test_a_conviction_without_the_planted_harm_is_a_surprise() -> None:
    row = run.check_twin(replace(BLIND, triggered="record-lost"), shipped("blind_retry"))
    assert (row.detected, row.triggered, "the conviction is wrong" in row.surprise) == (True, False, True)


def test_a_pin_whose_fault_does_not_fire_is_a_surprise() -> None:
    never = replace(shipped("blind_retry"), schedule="drill:seed=0:drill/first/attempt-9/sent=crash")
    assert "did not fire" in run.check_twin(BLIND, never).surprise


def test_a_twin_without_a_pin_is_a_surprise() -> None:
    assert "no pin" in run.check_twin(BLIND, None).surprise


def test_every_twin_has_a_pin_and_no_pin_is_for_nobody() -> None:
    assert pins.pins().keys() == TWINS.keys()


def test_pins_of_some_twins_leave_those_of_others(pinned: Callable[..., None]) -> None:
    one, two = shipped("blind_retry"), shipped("trusts_200")
    pinned(one, two)
    pins.save([replace(two, explored=1)])
    assert pins.pins() == {"blind_retry": one, "trusts_200": replace(two, explored=1)}


# -- hunts --------------------------------------------------------------------------------------------------------------------


def test_a_hunt_says_what_the_first_detection_cost() -> None:
    found = hunt("trusts_200", "reference_ledger.twins:trusts_200", TRUSTS.scenario, TRUSTS.cell)
    pin = shipped("trusts_200")
    assert (found.schedule, found.violated[0], found.explored) == (pin.schedule, pin.guarantee, pin.explored)
    assert found.milliseconds > 0


@pytest.mark.slow
def test_a_hunt_that_finds_nothing_has_explored_everything(tmp_path: Path) -> None:
    (tmp_path / "tiny.scenario.yaml").write_text(TINY)
    found = hunt("reference", REFERENCE, str(tmp_path / "tiny.scenario.yaml"), IGNORED)
    assert (found.schedule, found.violated, found.control) == ("", (), "holds")
    assert found.explored == 69


def test_a_full_hunt_that_agrees_with_the_pins_has_no_surprise() -> None:
    own, masked = hunted(), replace(hunted(), cell=IGNORED, schedule="", violated=())
    found = {"blind_retry": [own, own, masked]}
    pin = run.pin_of(found["blind_retry"])
    assert (pin.guarantee, pin.schedule, pin.masked) == ("settles", "x:seed=0:", (IGNORED,))
    assert run.surprises(found, {"blind_retry": pin}) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"violated": (), "schedule": ""}, "survives in its own cells"),
        ({"schedule": "y:seed=0:"}, "the pin says otherwise"),
        ({"control": "violated"}, "without any fault"),
        ({"control": "unknown"}, "without any fault"),
    ],
)
def test_a_full_hunt_that_differs_is_a_surprise(change: dict[str, object], words: str) -> None:
    pin = run.pin_of([hunted()])
    changed = replace(hunted(), **change)  # type: ignore[arg-type]  # whatever the row says
    assert words in run.surprises({"blind_retry": [changed]}, {"blind_retry": pin})[0]


def test_a_twin_without_a_pin_is_a_surprise_of_the_full_hunt() -> None:
    assert run.surprises({"blind_retry": [hunted()]}, {}) == ["blind_retry has no pin"]


def hunted() -> Hunt:
    return Hunt("blind_retry", "", "x:seed=0:", ("settles",), 3, 4.5, "holds")


def test_an_unknown_twin_names_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="Did you mean 'blind_retry'"):
        run.twins_named(["blind_rety"])


# -- the command --------------------------------------------------------------------------------------------------------------


def test_the_table_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["selftest", "--only", "blind_retry", "--only", "goes_on_after_failed_compensation"]) == 0
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 80
    assert "2 of 2 twins are caught." in said


def test_a_row_of_the_longest_names_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    from harness.commands.selftest_command import _print_twin
    from harness.judge.judge import GUARANTEES

    twin, guarantee = max(TWINS, key=len), max(GUARANTEES, key=len)
    _print_twin(run.TwinRow(twin, guarantee, True, True, False, "", ""))
    assert len(capsys.readouterr().out.rstrip("\n")) <= 80


def test_a_surviving_twin_fails_it(pinned: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    harmless = "drill:seed=0:drill/first/attempt-1/sent=connection-refused"
    pinned(replace(shipped("blind_retry"), schedule=harmless))
    assert cli.run(["selftest", "--only", "blind_retry"]) == 1
    said = capsys.readouterr().out
    assert "0 of 1 twins are caught." in said
    assert "surprise: blind_retry: no-duplicate-effect was not found broken" in said


def test_an_accused_sound_ledger_fails_it(
    pinned: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def accused(full: bool) -> Iterator[run.SoundRow]:
        yield run.SoundRow("drill", "", 7, "drill:seed=0: breaks settles")

    monkeypatch.setattr(run, "check_sound", accused)
    monkeypatch.setattr(run, "twins_named", lambda names: [BLIND])
    assert cli.run(["selftest"]) == 1
    assert "surprise: the sound ledger is accused: drill:seed=0: breaks settles" in capsys.readouterr().out


def test_a_ledger_with_a_bug_in_the_place_of_the_sound_one_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "REFERENCE", "reference_ledger.twins:trusts_200")
    assert "breaks honest-claim" in next(run.check_sound()).accused


@pytest.mark.slow
def test_the_hunts_of_the_full_form_are_in_its_json(
    pinned: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "ALL_CELLS", (IGNORED,))
    pinned()
    assert cli.run(["selftest", "--full", "--update", "--only", "trusts_200", "--json", "--jobs", "2"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [hunt["cell"] for hunt in said["hunts"]] == ["", IGNORED]
    assert all(hunt["explored"] > 0 and hunt["milliseconds"] > 0 for hunt in said["hunts"])
    assert said["twins"][0]["detected"] is True
    assert pins.pins()["trusts_200"].guarantee == "honest-claim"


def test_update_needs_the_full_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["selftest", "--update"]) == 2
    assert "--update needs --full" in capsys.readouterr().err


@pytest.mark.slow
def test_every_planted_bug_is_found_and_no_sound_run_accused(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole quick form, as everybody runs it."""
    assert cli.run(["selftest"]) == 0, capsys.readouterr().out
    assert f"{len(TWINS)} of {len(TWINS)} twins are caught." in capsys.readouterr().out
