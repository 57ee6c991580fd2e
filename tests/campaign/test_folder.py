"""A campaign's folder holds exactly what reports/README.md says, and everything in it fits together."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.outputs import parse_reports, write_outputs
from harness.judge.judge import judge
from harness.model.errors import EnvironmentMissing, UsageError
from harness.model.result import CampaignResult
from harness.model.verdict import overall
from harness.store.history_file import encode, hash_of, read, read_all, scenario_of
from tests.campaign.stage import LOST, TWIN, explored, tiny

pytestmark = pytest.mark.slow
README = Path(__file__).parents[2] / "reports" / "README.md"


@pytest.fixture(scope="module")
def folder(failing: CampaignResult) -> Path:
    write_outputs(failing, Path(failing.out), [])
    return Path(failing.out)


def as_documented(name: str) -> str:
    """A file's name as the README writes it."""
    name = re.sub(r"part-\d+", "part-N", name)
    name = re.sub(r"failures/\d{3}-[^/]+", "failures/NNN-slug", name)
    return name.replace("tiny.scenario", "SCENARIO.scenario").removeprefix("failures/NNN-slug/")


def test_it_holds_what_is_documented_and_nothing_else(folder: Path) -> None:
    there = {as_documented(str(p.relative_to(folder))) for p in folder.rglob("*") if p.is_file()}
    documented = set(re.findall(r"^\| `([^`]+)`", README.read_text(), re.MULTILINE)) - {"failures/NNN-slug/"}
    assert there == documented
    assert not [p for p in folder.rglob("*") if p.is_dir() and not any(p.iterdir())]


def test_the_bundles_are_the_failures_of_the_result(failing: CampaignResult, folder: Path) -> None:
    assert [p.name for p in sorted((folder / "failures").iterdir())] == [f.id for f in failing.failures]
    assert json.loads((folder / "result.json").read_bytes())["exit_code"] == 1


def test_an_old_history_is_judged_as_it_was_then(failing: CampaignResult, folder: Path) -> None:
    again = {
        history.header.schedule: overall(judge(history, scenario_of(history)))
        for part in folder.glob("histories/*")
        for history in read_all(part)
    }
    control = again.pop("tiny:seed=0:")
    assert control.value == "holds"
    assert again == {row.schedule: row.outcome for row in failing.rows}


def test_a_bundle_holds_the_history_that_was_judged(failing: CampaignResult, folder: Path) -> None:
    failure = failing.failures[0]
    bundle = folder / "failures" / failure.id
    history = read(bundle / "history.jsonl")
    assert history.header.schedule == failure.schedule == (bundle / "schedule.txt").read_text().strip()
    assert history.events == list(failure.events)
    in_parts = [hash_of(data) for data in _members(folder)]
    assert in_parts.count(hash_of((bundle / "history.jsonl").read_bytes())) == 1


def test_a_new_campaign_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_outputs(explored(out, TWIN), out, [("md", None)])
    assert (out / "failures").is_dir()
    explored(out, max_schedules=1)
    assert sorted(p.name for p in out.iterdir()) == ["campaign.sqlite", "env.json", "histories"]


def test_what_a_killed_campaign_kept_for_its_rig_is_cleared(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "state" / "process-rig-x1" / "run-1").mkdir(parents=True)
    explored(out, max_schedules=1)
    assert not (out / "state").exists()


def test_strangers_files_in_the_folder_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mine = [out / "notes.txt", out / "failures" / "2024-report.txt", out / "failures" / "001-mine" / "a.txt"]
    for file in mine:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
    explored(out, TWIN)
    explored(out, max_schedules=1)
    assert [file.read_text() for file in mine] == ["mine"] * 3


def test_a_history_does_not_depend_on_where_the_scenario_lies_or_what_it_expects(tmp_path: Path) -> None:
    one = explored(tmp_path / "one", max_schedules=1)
    two = explored(tmp_path / "two", scenario=replace(tiny(f"schedule: {LOST}\n"), path="/elsewhere/x.yaml"))
    first, second = _members(Path(one.out))[0], _members(Path(two.out))[0]
    assert first == second


def test_reports_go_where_they_are_wanted(failing: CampaignResult, tmp_path: Path) -> None:
    formats = parse_reports((f"md={tmp_path / 'new' / 'summary.md'}", f"junit={tmp_path / 'j.xml'}", "html"))
    write_outputs(failing, Path(failing.out), formats)
    assert (tmp_path / "new" / "summary.md").read_text().count("tiny") > 0
    assert (tmp_path / "j.xml").read_bytes() == (Path(failing.out) / "junit.xml").read_bytes()


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="no report format 'pdf'; the formats are json, junit, html, md"):
        parse_reports(("pdf",))


@pytest.mark.parametrize("place", ["/dev/null/x.md", "."])
def test_a_report_that_cannot_be_written_is_known_before_the_campaign(place: str) -> None:
    with pytest.raises(EnvironmentMissing, match="Cannot write"):
        parse_reports((f"md={place}",))


def _members(folder: Path) -> list[bytes]:
    return [encode(history) for part in sorted(folder.glob("histories/*")) for history in read_all(part)]
