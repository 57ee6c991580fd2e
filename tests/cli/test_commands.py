"""What the commands do for somebody who uses them rightly."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.commands import COMMANDS
from tests.campaign.stage import LOST, TINY, TWIN
from tests.cli.conftest import Command

OWN = "tiny.scenario.yaml"


def data(text: str) -> Any:
    return json.loads(text)


# -- list ---------------------------------------------------------------------------------------------------------------------


LISTS = {
    "scenarios": ("id", "onboarding", {"kind", "rigs", "title", "why", "expect"}),
    "faults": ("fault", "late-delivery", {"family", "certainty", "statement", "rigs"}),
    "guarantees": ("id", "known-state", {"statement", "level", "source"}),
    "twins": ("twin", "blind_retry", {"bug", "guarantee", "schedule", "candidate"}),
    "boundaries": ("boundary", "onboarding/billing.charge/attempt-1/committed", {"provider", "faults"}),
}


@pytest.mark.parametrize("what", LISTS)
def test_a_catalogue_lists_every_entry_once_for_people_and_for_programs(knownstate: Command, what: str) -> None:
    key, example, keys = LISTS[what]
    rows = data(knownstate("list", what, "--json").out)
    names = [row[key] for row in rows]
    assert example in names
    assert len(set(names)) == len(names)
    assert all(keys <= row.keys() for row in rows)
    shown = knownstate("list", what)
    assert shown.code == 0
    assert set(names) <= set(shown.out.splitlines())


def test_a_scenario_states_its_kind_and_its_rigs(knownstate: Command) -> None:
    rows = {row["id"]: row for row in data(knownstate("list", "scenarios", "--json").out)}
    assert rows["charge-mail"]["rigs"] == ["simulation", "process"]
    assert {row["kind"] for row in rows.values()} == {"workflow", "boundary", "story"}
    assert "[workflow; simulation, process]" in knownstate("list", "scenarios").out


def test_the_boundaries_of_a_file_are_listed_with_the_faults_it_allows(knownstate: Command) -> None:
    rows = data(knownstate("list", "boundaries", OWN, "--json").out)
    faults = {row["boundary"]: row["faults"] for row in rows}
    assert faults["tiny/billing.charge/attempt-1/committed"] == ["crash", "lost-response"]


def test_a_catalogue_fits_the_terminal(knownstate: Command) -> None:
    assert max(map(len, knownstate("list", "faults").out.splitlines())) <= 80


# -- help ---------------------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_every_exit_code(knownstate: Command) -> None:
    said = " ".join(knownstate("--help").out.split())
    assert all(name in said and text in said for name, text in COMMANDS.items())
    assert all(f"{code} " in said for code in (0, 1, 2, 3, 4, 5, 130))


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)])
def test_help_fits_80_columns(knownstate: Command, words: tuple[str, ...]) -> None:
    assert max(map(len, knownstate(*words, "--help").out.splitlines())) <= 80


def test_the_help_of_run_explains_every_flag(knownstate: Command) -> None:
    said = knownstate("run", "--help").out
    flags = "seed only exclude max-schedules max-time max-failures fail-fast shard jobs out report dry-run json resume"
    assert all(f"--{flag}" in said for flag in flags.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(knownstate: Command, name: str) -> None:
    said = knownstate(name, "-h")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: knownstate {name} ")


def test_the_version_is_said(knownstate: Command) -> None:
    from harness import __version__

    assert knownstate("--version").out == f"knownstate {__version__}\n"


# -- run ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_sound_ledger_gives_a_green_run_that_says_where_everything_is(knownstate: Command, here: Path) -> None:
    said = knownstate("run", OWN)
    assert said.code == 0
    assert said.out.startswith("control: holds")
    assert "Explored 69 of 69 schedules; every fault fired." in said.out
    for name in ("result.json", "report.html", "junit.xml"):
        file = f"reports/tiny-reference/{name}"
        assert f": {file}\n" in said.out
        assert (here / file).is_file()


@pytest.mark.slow
def test_progress_is_said_in_both_rounds(knownstate: Command) -> None:
    said = knownstate("run", OWN).out.splitlines()
    progress = [line for line in said if "%: " in line]
    assert 5 < len(progress) < 25
    assert progress[-1].startswith(("100 %", "9"))


@pytest.mark.slow
def test_a_broken_ledger_gives_a_red_run_with_a_story_and_its_replay(knownstate: Command, here: Path) -> None:
    said = knownstate("run", OWN, "-c", TWIN, "--out", "out")
    assert said.code == 1
    assert "VIOLATED" in said.out
    assert f"replay: knownstate replay {LOST} --candidate {TWIN} --scenario tiny.scenario.yaml" in said.out
    assert (here / "out" / "failures").is_dir()


@pytest.mark.slow
def test_the_result_as_json_fits_its_schema_and_is_all_there_is_on_stdout(knownstate: Command) -> None:
    said = knownstate("run", OWN, "--json", "--max-schedules", 3)
    schema = Path(sys.modules["harness"].__file__ or "").parent / "report" / "result.schema.json"
    result = data(said.out)
    jsonschema.validate(result, data(schema.read_text()))
    assert (said.code, len(result["rows"]), result["ended"]) == (3, 3, "max-schedules")
    assert said.err.startswith("control: holds")


def test_the_result_says_the_command_that_made_it(knownstate: Command) -> None:
    said = knownstate("run", OWN, "--json", "--max-schedules", 1, "--only", "a b")
    assert data(said.out)["command"] == "knownstate run tiny.scenario.yaml --json --max-schedules 1 --only 'a b'"


def test_a_dry_run_says_what_would_run_and_leaves_nothing(knownstate: Command, here: Path) -> None:
    planned = data(knownstate("run", OWN, "--dry-run", "--json", "--only", "=lost-response").out)["schedules"]
    assert planned[0] == LOST
    assert knownstate("run", OWN, "--dry-run", "--only", "=lost-response").out.count("tiny:seed=0:") == len(planned)
    assert [p.name for p in here.iterdir()] == [OWN]


def test_a_dry_run_of_nothing_selects_nothing(knownstate: Command) -> None:
    assert knownstate("run", OWN, "--dry-run", "--only", "nowhere").code == 5


def test_nothing_selected_has_an_exit_code_of_its_own(knownstate: Command) -> None:
    said = knownstate("run", OWN, "--exclude", "*")
    assert said.code == 5
    assert "Exit code 5" in said.out


@pytest.mark.slow
def test_fail_fast_stops_at_the_first_violation(knownstate: Command) -> None:
    result = data(knownstate("run", OWN, "-c", TWIN, "--fail-fast", "--json").out)
    assert [row["outcome"] for row in result["rows"]].count("violated") == 1
    assert result["rows"][-1]["outcome"] == "violated"


@pytest.mark.parametrize(("candidate", "code"), [(TWIN, 0), ("reference_ledger:factory", 1)])
def test_a_pinned_violation_succeeds_when_it_is_violated(
    knownstate: Command, here: Path, candidate: str, code: int
) -> None:
    text = TINY.replace("expect: holds", "expect: violation") + f"schedule: '{LOST}'\n"
    (here / "pinned.scenario.yaml").write_text(text)
    assert knownstate("run", "pinned.scenario.yaml", "-c", candidate).code == code
    assert knownstate("replay", "pinned.scenario.yaml", "-c", candidate).code == code


@pytest.mark.parametrize(("expect", "code"), [("violation", 0), ("holds", 1)])
def test_what_success_means_can_be_said_on_the_command_line(knownstate: Command, expect: str, code: int) -> None:
    said = knownstate("run", OWN, "-c", TWIN, "--only", "lost-response", "--expect", expect, "--fail-fast")
    assert said.code == code


def test_a_pinned_schedule_brings_its_own_seed_and_cell(knownstate: Command, here: Path) -> None:
    line = LOST.replace("seed=0", "seed=7:cell=honoured.authoritative.late")
    (here / "pinned.scenario.yaml").write_text(f"{TINY}schedule: '{line}'\n")
    result = data(knownstate("run", "pinned.scenario.yaml", "--json").out)
    assert [row["schedule"] for row in result["rows"]] == [line]
    assert (result["seed"], result["cell"]) == (7, "honoured.authoritative.late")
    assert result["exit_code"] == 0


def test_another_seed_gives_other_targets_in_the_same_plan(knownstate: Command) -> None:
    one, two = (data(knownstate("run", OWN, "--seed", s, "--json", "--max-schedules", 2).out) for s in (1, 2))
    targets = [result["scenario"]["workflow"]["operations"][0]["target"] for result in (one, two)]
    assert targets[0] != targets[1]
    assert [r["boundary"] for r in one["rows"]] == [r["boundary"] for r in two["rows"]]


# -- replay and judge ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def bundle(knownstate: Command, here: Path) -> Path:
    assert (
        knownstate("run", OWN, "-c", TWIN, "--out", "out", "--only", "committed=lost-response", "--fail-fast").code == 1
    )
    (found,) = (here / "out" / "failures").iterdir()
    return found


@pytest.mark.slow
def test_every_way_of_replaying_gives_the_same_run(knownstate: Command, bundle: Path) -> None:
    ways = [
        (LOST, "--scenario", OWN, "-c", TWIN),
        (bundle,),
        (bundle / "history.jsonl",),
        (bundle / "tiny.scenario.yaml", "-c", TWIN),
        shlex.split((bundle / "REPLAY.txt").read_text())[2:],
    ]
    found = [data(knownstate("replay", *way, "--json").out) for way in ways]
    assert {row["outcome"] for row in found} == {"violated"}
    assert len({row["trace"] for row in found}) == 1
    judged = data(knownstate("judge", bundle / "history.jsonl", "--json").out)
    assert judged == found[0]


@pytest.mark.slow
def test_replay_tells_the_story_and_the_trace(knownstate: Command, bundle: Path) -> None:
    said = knownstate("replay", bundle)
    assert said.code == 1
    assert said.out.startswith("VIOLATED: ")
    assert "no-duplicate-effect is violated:" in said.out
    assert said.out.splitlines()[-1].startswith("trace ")
    assert " call-sent " in knownstate("replay", bundle, "--events").out


@pytest.mark.slow
def test_a_replay_can_be_written_and_judged(knownstate: Command, bundle: Path, here: Path) -> None:
    knownstate("replay", bundle, "--out", "again.jsonl")
    assert (here / "again.jsonl").read_bytes() == (bundle / "history.jsonl").read_bytes()
    said = knownstate("judge", "again.jsonl", "--only", "settles")
    assert (said.code, said.out) == (0, "HOLDS: 1 of 1 guarantees hold\n")


@pytest.mark.slow
def test_a_whole_campaign_is_judged_again_with_the_same_verdicts(knownstate: Command, here: Path) -> None:
    result = data(knownstate("run", OWN, "-c", TWIN, "--out", "out", "--json").out)
    said = knownstate("judge", "out", "--json")
    again = {row["schedule"]: row["outcome"] for row in data(said.out)}
    assert again.pop("tiny:seed=0:") == "holds"
    assert again == {row["schedule"]: row["outcome"] for row in result["rows"]}
    assert said.code == 1
    assert knownstate("judge", "out").out.splitlines()[-1] == _counts(again)


def _counts(outcomes: dict[str, str]) -> str:
    holds = list(outcomes.values()).count("holds") + 1
    return f"{len(outcomes) + 1} runs: {holds} holds, {len(outcomes) + 1 - holds} violated"


@pytest.mark.slow
def test_a_torn_end_does_not_keep_the_rest_from_being_judged(knownstate: Command, here: Path) -> None:
    knownstate("run", OWN, "--out", "out", "--max-schedules", 3)
    (part,) = (here / "out" / "histories").iterdir()
    part.write_bytes(part.read_bytes()[:-20])
    said = knownstate("judge", "out")
    assert said.code == 2
    assert said.out == "3 runs: 3 holds\n"
    assert "break off" in said.err


def test_a_folder_without_a_history_names_one_that_has_it(knownstate: Command, bundle: Path) -> None:
    said = knownstate("replay", "out")
    assert said.code == 2
    assert f"for instance out/failures/{bundle.name}" in said.err


# -- other places -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_candidate_in_the_current_folder_is_found(knownstate: Command, here: Path) -> None:
    (here / "my_own_ledger.py").write_text("from reference_ledger import factory as made\n")
    said = knownstate("run", OWN, "-c", "my_own_ledger:made", "--max-schedules", 1)
    assert (said.code, "Explored 1 of" in said.out) == (3, True)
    assert (here / "reports" / "tiny-my_own_ledger.made" / "result.json").is_file()
