"""Pairs and deeper: what is planned after what, what is left out, and that a bug that needs two faults is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.explore.deeper import FAULTS_MAX, is_in_audit
from harness.model.errors import UsageError
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario
from harness.scenario_files.loader import load_text
from tests.campaign.stage import TINY, TWIN, campaign, explored, lines


def injections(line: str) -> list[str]:
    return [str(injection) for injection in Schedule.parse(line).injections]


@pytest.mark.slow
def test_pairs_are_every_single_and_every_single_with_one_more_fault_after_it(tmp_path: Path) -> None:
    singles = explored(tmp_path / "1", skip_recovery_paths=True)
    pairs = explored(tmp_path / "2", faults=2)
    ones = [line for line in lines(pairs.rows) if len(injections(line)) == 1]
    twos = [line for line in lines(pairs.rows) if len(injections(line)) == 2]
    assert ones == lines(singles.rows)
    assert lines(pairs.rows) == ones + twos
    assert {injections(line)[0] for line in twos} <= {injections(line)[0] for line in ones}
    assert len(twos) == len(set(twos)) > 5 * len(ones)
    assert all(row.fired for row in pairs.rows)


@pytest.mark.slow
def test_pairs_hold_all_that_singles_find_on_recovery_paths(tmp_path: Path) -> None:
    """Singles reach a recovery path by the first trigger that shows it, so its schedules are among the pairs."""
    singles, pairs = explored(tmp_path / "1"), explored(tmp_path / "2", faults=2)
    assert set(lines(singles.rows)) <= set(lines(pairs.rows))
    assert pairs.coverage.boundaries >= singles.coverage.boundaries


@pytest.mark.slow
def test_the_first_counterexample_has_the_fewest_faults(tmp_path: Path) -> None:
    found = explored(tmp_path, TWIN, faults=2, max_failures=1)
    violated = [row.schedule for row in found.rows if row.outcome.value == "violated"]
    assert len(violated) == 1
    assert len(injections(violated[0])) == 1


@pytest.mark.slow
def test_the_reduction_keeps_to_one_operation_and_says_what_it_left_out(tmp_path: Path) -> None:
    whole = explored(tmp_path / "1", scenario=two_charges(), faults=2, reduce="never")
    reduced = explored(tmp_path / "2", scenario=two_charges(), faults=2, reduce="always")
    kept = set(lines(reduced.rows))
    assert kept < set(lines(whole.rows))
    for line in set(lines(whole.rows)) - kept:
        owners = {item.split("/")[1] for item in injections(line)}
        assert len(owners) == 2
        assert not is_in_audit(Schedule.parse(line))
    assert any("left out (--reduce)" in text for text in reduced.coverage.left_out)
    assert "more were run as an audit" in " ".join(reduced.coverage.left_out)


def two_charges() -> Scenario:
    again = """\
    billing.second:
      provider: payment
      action: charge
      target: {faker: order}
      params: {amount: 100, currency: eur}
      recovery: compensatable
      undo: refund
faults: [lost-response]
"""
    text = TINY.replace("faults: [crash, lost-response, lost-request]\n", again)
    return load_text(text, Path("tiny.scenario.yaml"))


def test_more_faults_than_can_be_explored_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--faults"):
        campaign(tmp_path, faults=FAULTS_MAX + 1)


@pytest.mark.slow
def test_a_campaign_of_pairs_is_not_resumed_as_one_of_singles(tmp_path: Path) -> None:
    explored(tmp_path, faults=2, max_schedules=3)
    with pytest.raises(UsageError):
        explored(tmp_path, resume=True)
    again = explored(tmp_path, faults=2, resume=True)
    assert again.ended == "complete"
    assert lines(again.rows) == lines(explored(tmp_path / "other", faults=2).rows)
