"""What is run and what is reported: a selection is exactly the part of the whole campaign that it names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.options import Options
from harness.model.errors import UsageError
from harness.model.result import CampaignResult
from harness.model.schedule import Schedule
from harness.model.workflow import Expectation
from harness.store.history_file import read_all
from tests.campaign.stage import LOST, TWIN, explored, lines, matching, tiny

pytestmark = pytest.mark.slow


def test_the_whole_campaign_explores_what_it_knows_to_apply(whole: CampaignResult) -> None:
    cover = whole.coverage
    assert cover.total == cover.explored == cover.fired == len(whole.rows) > 50
    assert (whole.exit_code, whole.ended, cover.rounds) == (0, "complete", 2)
    assert any(row.trigger for row in whole.rows), "recovery paths are among them"


def test_rows_do_not_depend_on_the_number_of_processes(whole: CampaignResult, tmp_path: Path) -> None:
    found = explored(tmp_path / "out", jobs=2)
    assert (found.rows, found.coverage) == (whole.rows, whole.coverage)


def test_shards_together_are_the_whole_and_none_is_reported_twice(whole: CampaignResult, tmp_path: Path) -> None:
    shards = [explored(tmp_path / str(i), shard=(i, 3)) for i in (1, 2, 3)]
    together = [row for shard in shards for row in shard.rows]
    assert sorted(together, key=str) == sorted(whole.rows, key=str)
    assert all(shard.coverage.total == whole.coverage.total for shard in shards)
    assert all("to find the recovery paths" in shard.coverage.left_out[0] for shard in shards)


@pytest.mark.parametrize("pattern", ["*=lost-response", "undo.", "*/lookup-1/*", "recorded=crash"])
def test_only_reports_what_matches_in_the_whole_campaign(whole: CampaignResult, tmp_path: Path, pattern: str) -> None:
    found = explored(tmp_path / "out", only=(pattern,))
    wanted = [row.schedule for row in whole.rows if Options(tmp_path, only=(pattern,)).selects(_parsed(row.schedule))]
    assert lines(found.rows) == wanted
    assert found.exit_code == (0 if wanted else 5)


def test_only_finds_a_boundary_that_exists_on_recovery_paths_alone(whole: CampaignResult, tmp_path: Path) -> None:
    found = explored(tmp_path / "out", only=("lookup-1/sent=crash",))
    assert lines(found.rows) == matching(whole.rows, "lookup-1/sent=crash")
    assert all(row.trigger for row in found.rows)
    assert found.rows


def test_what_is_excluded_is_never_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = explored(out, exclude=("*=crash",))
    assert found.rows
    assert not matching(found.rows, "=crash")
    assert found.coverage.total > found.coverage.explored
    assert len(_stored(out)) == len(found.rows) + 1, "the control run and what is reported, nothing else"


def test_without_recovery_paths_nothing_is_run_but_what_is_selected(whole: CampaignResult, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = explored(out, only=("*=lost-response",), skip_recovery_paths=True)
    assert lines(found.rows) == [line for line in matching(whole.rows, "=lost-response") if "," not in line]
    assert len(_stored(out)) == len(found.rows) + 1
    assert (found.coverage.rounds, found.exit_code) == (1, 0)
    assert any("recovery paths were left out" in sentence for sentence in found.coverage.left_out)


def test_nothing_selected_is_an_outcome_of_its_own(tmp_path: Path) -> None:
    found = explored(tmp_path / "out", only=("no-such-boundary",))
    assert (found.exit_code, found.outcome.value, found.rows) == (5, "unknown", ())


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("count", [1, 7, 30])
def test_max_schedules_runs_exactly_so_many(whole: CampaignResult, tmp_path: Path, count: int, jobs: int) -> None:
    found = explored(tmp_path / "out", max_schedules=count, jobs=jobs)
    assert lines(found.rows) == lines(whole.rows)[:count]
    assert (found.ended, found.exit_code) == ("max-schedules", 3)


def test_max_schedules_that_is_not_reached_changes_nothing(whole: CampaignResult, tmp_path: Path) -> None:
    found = explored(tmp_path / "out", max_schedules=len(whole.rows))
    assert (found.rows, found.ended, found.exit_code) == (whole.rows, "complete", 0)


def test_max_time_begins_no_schedule_after_so_long_but_makes_the_control_run(tmp_path: Path) -> None:
    found = explored(tmp_path / "out", max_time_s=1e-9)
    assert (found.control.value, found.rows, found.ended, found.exit_code) == ("holds", (), "max-time", 3)


def test_a_limit_of_failures_stops_at_the_first_violation(failing: CampaignResult, tmp_path: Path) -> None:
    found = explored(tmp_path / "out", TWIN, max_failures=1)
    assert [row.outcome.value for row in found.rows].count("violated") == 1
    assert found.rows[-1].outcome.value == "violated"
    assert lines(found.rows) == lines(failing.rows)[: len(found.rows)]
    assert (found.ended, found.exit_code) == ("max-failures", 1)


def test_a_violation_of_another_share_is_not_reported(failing: CampaignResult, tmp_path: Path) -> None:
    bad = [row.schedule for row in failing.rows if row.outcome.value == "violated"]
    shards = [explored(tmp_path / str(i), TWIN, shard=(i, 40)) for i in (1, 2, 3)]
    for i, shard in enumerate(shards, start=1):
        mine = [line for line in bad if Options(tmp_path, shard=(i, 40)).in_shard(_parsed(line))]
        assert [row.schedule for row in shard.rows if row.outcome.value == "violated"] == mine
        assert shard.exit_code == (1 if mine else 0 if shard.rows else 5)


def test_a_pinned_scenario_makes_the_control_run_and_the_pinned_one(tmp_path: Path) -> None:
    found = explored(tmp_path / "out", TWIN, tiny(f"schedule: {LOST}\n"))
    assert (lines(found.rows), found.exit_code, found.control.value) == ([LOST], 1, "holds")
    assert (found.coverage.total, found.coverage.rounds) == (1, 1)


@pytest.mark.parametrize(("candidate", "code"), [(TWIN, 0), ("reference_ledger:factory", 1)])
def test_a_pinned_scenario_that_expects_a_violation_succeeds_by_one(tmp_path: Path, candidate: str, code: int) -> None:
    pinned = replace(tiny(f"schedule: {LOST}\n"), expect=Expectation.VIOLATION)
    found = explored(tmp_path / "out", candidate, pinned)
    assert found.exit_code == code


def test_a_pinned_schedule_without_a_fault_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without a fault"):
        explored(tmp_path / "out", scenario=tiny("schedule: 'tiny:seed=0:'\n"))


@pytest.mark.parametrize("shard", [(0, 1), (5, 4), (1, 10**9)])
def test_a_shard_that_cannot_be_is_refused(tmp_path: Path, shard: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="no shard"):
        Options(tmp_path, shard=shard)


def test_not_a_number_is_no_time_limit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no time"):
        Options(tmp_path, max_time_s=float("nan"))


def _parsed(line: str) -> Schedule:
    return Schedule.parse(line)


def _stored(out: Path) -> list[bytes]:
    return [history.header.schedule.encode() for part in out.glob("histories/*") for history in read_all(part)]
