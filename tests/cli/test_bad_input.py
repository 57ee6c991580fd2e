"""Whatever is given to the command that it cannot use: one paragraph that says what, where and what next, and the right exit code."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from harness import cli
from tests.campaign.stage import LOST, TINY
from tests.cli.conftest import Command, Said

OWN = "tiny.scenario.yaml"


def refused(said: Said, code: int, *words: str) -> None:
    assert said.code == code, said.err
    assert said.err.count("\n") == 1, "one paragraph"
    assert re.fullmatch(r"knownstate: .+ Where: .+\. Next: .+\n", said.err), said.err
    for word in words:
        assert word in said.err


# -- scenarios ----------------------------------------------------------------------------------------------------------------


def test_an_unknown_scenario_names_the_nearest_one(knownstate: Command) -> None:
    refused(knownstate("run", "onbording"), 2, "'onbording'", "Did you mean `onboarding`?")


def test_a_scenario_file_that_is_not_there_names_the_nearest_one(knownstate: Command) -> None:
    refused(knownstate("run", "tny.scenario.yaml"), 2, "tny.scenario.yaml", OWN)


CYCLE = TINY.replace("      undo: refund\n", "      undo: refund\n      after: [billing.charge]\n")
LAUGHS = "a: &a [ha, ha]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\n"
FILES = {
    "tabs": (TINY.replace("  payment:", "\tpayment:"), ("tab", ":7")),
    "duplicate-keys": (TINY + "title: Again\n", ("title", ":20")),
    "aliases": (LAUGHS, ("bad.scenario.yaml:1",)),
    "ten-megabytes": (TINY + "# " + "x" * 10_000_000, ("bad.scenario.yaml",)),
    "cycle": (CYCLE, ("billing.charge", ":17")),
    "unknown-key": (TINY.replace("faults:", "fauts:"), ("fauts", "faults")),
    "unknown-fault": (TINY.replace("crash,", "crush,"), ("crush", "crash")),
    "empty": ("", ("empty",)),
    "binary": ("\x00\x01", ("bad.scenario.yaml",)),
    "pins-another": (TINY + f"schedule: '{LOST.replace('tiny', 'other')}'\n", ("'other'",)),
    "pins-an-unknown-fault": (TINY + f"schedule: '{LOST.replace('lost-response', 'explode')}'\n", ("explode",)),
    "pins-no-fault": (TINY + "schedule: 'tiny:seed=0:'\n", ("without a fault",)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_scenario_file_that_cannot_be_used_is_refused(knownstate: Command, here: Path, name: str) -> None:
    text, words = FILES[name]
    (here / "bad.scenario.yaml").write_text(text)
    refused(knownstate("run", "bad.scenario.yaml", "--out", "out"), 2, *words)


# -- candidates ---------------------------------------------------------------------------------------------------------------


CANDIDATES = {
    "nosuchmodule:factory": ("no module 'nosuchmodule'",),
    "json:factory": ("json has no callable 'factory'",),
    "json": ("not of the form module:factory",),
    "tests.cli.candidates:raises_itself": ("RuntimeError: out of order",),
    "tests.cli.candidates:no_candidate": ("not a candidate", "'traits'"),
    "tests.cli.candidates:raises_in_prepare": ("prepare an empty store", "no tables today"),
    "tests.cli.candidates:raises_in_start": ("cannot start",),
    "tests.cli.candidates:raises_in_ledger": ("no ledger today",),
    "tests.cli.candidates:answers_a_map": ("answered dict instead of a LedgerView", "schedule tiny:seed=0:"),
}


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_a_candidate_that_cannot_be_used_is_refused(knownstate: Command, candidate: str) -> None:
    said = knownstate("run", OWN, "--candidate", candidate, "--out", "out")
    refused(said, 2, candidate, *CANDIDATES[candidate])


def test_a_candidate_that_fails_without_any_fault_makes_it_inconclusive(knownstate: Command) -> None:
    said = knownstate("run", OWN, "--candidate", "tests.cli.candidates:idle", "--out", "out")
    assert said.code == 3
    assert "control: the run without any fault does not hold" in said.out


# -- schedule lines and histories ---------------------------------------------------------------------------------------------


LINES = {
    "pair:seed=0:pair/first/attempt-1/committed=explode": ("'explode' is no fault", "list faults"),
    "pair:seed=0:pair/first/attempt-1/commited=crash": ("'commited' is no phase", "committed"),
    "pair:seed=x:": ("'seed=x'",),
    "pair:seed=0": ("SCENARIO:seed=N",),
    "pair:seed=0:cell=a.b.c:": ("honoured",),
    LOST: ("no scenario 'tiny'", "--scenario FILE"),
    "pair:seed=0:tiny/billing.charge/attempt-1/committed=crash": ("not one of the scenario pair", "first"),
    "pair:seed=0:" + "x" * 5000: ("cannot be read",),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_cannot_be_replayed_is_refused(knownstate: Command, line: str) -> None:
    refused(knownstate("replay", line), 2, *LINES[line])


def test_a_line_of_another_scenario_is_refused(knownstate: Command) -> None:
    said = knownstate("replay", LOST, "--scenario", "pair")
    refused(said, 2, "belongs to the scenario 'tiny', not to 'pair'")


def test_a_scenario_that_pins_nothing_cannot_be_replayed(knownstate: Command) -> None:
    refused(knownstate("replay", "pair"), 2, "pins no schedule", "knownstate run")


@pytest.mark.parametrize("command", ["judge", "replay"])
@pytest.mark.parametrize("name", ["gone.jsonl", "cut.jsonl", "garbled.jsonl.gz", "torn.jsonl.gz", "other.jsonl", "."])
def test_a_history_that_cannot_be_read_is_refused(knownstate: Command, here: Path, command: str, name: str) -> None:
    assert knownstate("replay", LOST, "--scenario", OWN, "--out", "whole.jsonl").code == 0
    whole = (here / "whole.jsonl").read_bytes()
    (here / "cut.jsonl").write_bytes(whole[:-30])
    (here / "garbled.jsonl.gz").write_bytes(b"\x1f\x8b\x08" + b"\xff" * 50)
    (here / "torn.jsonl.gz").write_bytes(gzip.compress(whole)[:-20])
    (here / "other.jsonl").write_bytes(whole.replace(b'"schema":1', b'"schema":99', 1))
    refused(knownstate(command, name), 2)


def test_a_history_without_its_end_is_inconclusive(knownstate: Command, here: Path) -> None:
    knownstate("replay", LOST, "--scenario", OWN, "--out", "whole.jsonl")
    lines = (here / "whole.jsonl").read_bytes().splitlines(keepends=True)
    (here / "short.jsonl").write_bytes(b"".join(lines[:-1]))
    said = knownstate("judge", "short.jsonl")
    assert said.code == 3
    assert "the history has no end" in said.out


# -- places and options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["/dev/null/out", "/proc/self/out", OWN])
def test_a_folder_that_cannot_be_written_is_named(knownstate: Command, out: str) -> None:
    refused(knownstate("run", OWN, "--out", out), 4, f"Cannot write {out}", "--out DIR")


def test_a_damaged_campaign_is_named(knownstate: Command, here: Path) -> None:
    (here / "out").mkdir()
    (here / "out" / "campaign.sqlite").write_bytes(b"rubbish " * 100)
    refused(knownstate("run", OWN, "--out", "out", "--resume"), 4, "campaign.sqlite", "not a database")


def test_another_campaign_is_not_resumed(knownstate: Command) -> None:
    knownstate("run", OWN, "--out", "out", "--max-schedules", 1)
    refused(knownstate("run", "pair", "--out", "out", "--resume"), 2, "another campaign", "'tiny'")


OPTIONS = {
    ("--shard", "5/4"): ("no shard 5/4",),
    ("--shard", "0/4"): ("no shard 0/4",),
    ("--shard", "two/4"): ("'two/4' is not a shard",),
    ("--shard", "²/4"): ("is not a shard",),
    ("--cell", "honoured"): ("key.lookup.late",),
    ("--cell", "ignored.never.late"): ("'never'", "authoritative"),
    ("--report", "pdf"): ("no report format 'pdf'", "junit"),
    ("--run-limit", "nan"): ("nan is no limit for a run", "86400"),
    ("--run-limit", "inf"): ("inf is no limit for a run", "86400"),
    ("--rig", "process"): ("does not run on the process rig", "simulation"),
}


@pytest.mark.parametrize("options", OPTIONS)
def test_an_option_that_cannot_be_is_refused(knownstate: Command, options: tuple[str, str]) -> None:
    refused(knownstate("run", OWN, *options), 2, *OPTIONS[options])


def test_a_report_in_an_impossible_place_is_refused_before_the_campaign(knownstate: Command, here: Path) -> None:
    refused(knownstate("run", OWN, "--report", "md=/dev/null/x.md"), 4, "Cannot write /dev/null/x.md")
    assert not (here / "reports").exists()


def test_a_seed_beside_a_pinned_schedule_is_refused(knownstate: Command, here: Path) -> None:
    (here / "pinned.scenario.yaml").write_text(f"{TINY}schedule: '{LOST}'\n")
    refused(knownstate("run", "pinned.scenario.yaml", "--seed", 3), 2, "its own seed and cell")


WORDS = {
    ("runn",): "Did you mean 'run'?",
    ("run",): "Missing argument 'SCENARIO'",
    ("run", "pair", "--jobs", "0"): "not in the range",
    ("run", "pair", "--max-schedules", "0"): "not in the range",
    ("run", "pair", "--colour"): "--colour",
    ("list", "fault"): "'scenarios', 'faults'",
    ("list", "scenarios", "pair"): "leave out 'pair'",
}


@pytest.mark.parametrize("words", WORDS)
def test_a_misused_command_shows_its_usage(knownstate: Command, words: tuple[str, ...]) -> None:
    said = knownstate(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Usage: knownstate")
    assert WORDS[words] in said.err


def test_an_unknown_guarantee_is_refused(knownstate: Command) -> None:
    knownstate("replay", LOST, "--scenario", OWN, "--out", "whole.jsonl")
    said = knownstate("judge", "whole.jsonl", "--only", "no-such")
    assert said.code == 2
    assert "no guarantee 'no-such'" in said.err


def test_a_fault_of_our_own_is_neither_success_nor_violation(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from harness.selftest import pins

    monkeypatch.setattr(pins, "pins", None)
    assert cli.run(["list", "twins"]) == 3
    said = capfd.readouterr().err
    assert "Traceback" in said
    assert "This is a fault of knownstate" in said
