"""A sweep's cases are the schedules of a campaign, no more and no fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.campaign.options import Options
from harness.campaign.runner import Campaign
from harness.candidates.loading import REFERENCE
from harness.pytest_plugin.sweeps import Sweep
from harness.scenario_files.loader import load_text
from tests.pytest_plugin.conftest import SCENARIO


def schedules_of(folder: Path, items: str, shard: tuple[int, int] = (1, 1)) -> list[str]:
    scenario = load_text(SCENARIO.replace("[lost-response, lost-request]", "[lost-response, crash]"), Path("a.yaml"))
    sweep = Sweep(scenario, REFERENCE, folder, shard, items)
    try:
        return [str(schedule) for case in sweep.cases() for schedule in case.schedules()]
    finally:
        sweep.bench.close()


def campaign_of(folder: Path) -> set[str]:
    scenario = load_text(SCENARIO.replace("[lost-response, lost-request]", "[lost-response, crash]"), Path("a.yaml"))
    campaign = Campaign(scenario, REFERENCE, Options(folder))
    campaign.run()
    return set(campaign.rows)


@pytest.mark.parametrize("items", ["boundary", "family"])
def test_the_cases_are_the_schedules_of_a_campaign_each_once(tmp_path: Path, items: str) -> None:
    lines = schedules_of(tmp_path / "sweep", items)
    assert set(lines) == campaign_of(tmp_path / "campaign")
    assert len(lines) == len(set(lines)) > 20


def test_the_shards_lose_nothing_on_recovery_paths(tmp_path: Path) -> None:
    shares = [schedules_of(tmp_path / str(i), "boundary", (i, 3)) for i in (1, 2, 3)]
    whole = schedules_of(tmp_path / "whole", "boundary")
    assert sorted({line for share in shares for line in share}) == sorted(whole)
    assert sum(len(share) - 1 for share in shares) == len(whole) - 1, "only the control run is in every share"
