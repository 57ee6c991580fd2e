"""What was done is kept, whatever ends a campaign; and resuming it gives what an uninterrupted one gives."""

from __future__ import annotations

import gzip
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.campaign import bench, engine
from harness.campaign.interrupt import Interrupt
from harness.campaign.runner import Campaign
from harness.model.errors import CandidateError, EnvironmentMissing, HarnessBug, KnownstateError, UsageError
from harness.model.event import History
from harness.model.result import CampaignResult
from harness.model.verdict import Verdict
from harness.model.workflow import Scenario
from harness.store.history_file import read_all
from tests.campaign.stage import LOST, TWIN, campaign, explored, tiny

pytestmark = pytest.mark.slow
FOREIGN = CandidateError("It answered 7.", where="the ledger", next_step="Mend it.")


def schedules_on_disk(out: Path) -> Counter[str]:
    return Counter(history.header.schedule for part in out.glob("histories/*") for history in read_all(part))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that something is left to do when a campaign with several processes is stopped."""
    monkeypatch.setattr(engine, "BATCH_MAX", 4)


def interrupted(out: Path, after: int, **options: object) -> CampaignResult:
    stopping = campaign(out, **options)
    stopping.interrupt = Interrupt()

    def progress(done: int, total: int, violated: int) -> None:
        stopping.interrupt.asked = done >= after

    return stopping.run(progress)


@pytest.mark.parametrize("after", [3, 40])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_campaign_keeps_what_was_done_and_resumes_to_the_same_rows(
    whole: CampaignResult, tmp_path: Path, after: int, jobs: int
) -> None:
    out = tmp_path / "out"
    stopped = interrupted(out, after, jobs=jobs)
    assert (stopped.ended, stopped.exit_code) == ("interrupted", 130)
    assert after <= len(stopped.rows) < len(whole.rows)
    assert set(stopped.rows) <= set(whole.rows)
    resumed = explored(out, jobs=jobs, resume=True)
    assert (resumed.rows, resumed.coverage, resumed.exit_code) == (whole.rows, whole.coverage, 0)
    assert set(schedules_on_disk(out).values()) == {1}, "nothing was done twice"


def test_resuming_a_finished_campaign_runs_nothing(
    whole: CampaignResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explored(tmp_path / "out")
    monkeypatch.setattr(bench.Bench, "examine", None)
    assert explored(tmp_path / "out", resume=True).rows == whole.rows


def test_what_a_killed_campaign_left_half_written_is_cut_off(whole: CampaignResult, tmp_path: Path) -> None:
    """Killed between a history and its row, and in the middle of a history: both runs are made again, neither is kept twice."""
    out = tmp_path / "out"
    interrupted(out, 20)
    part = next(out.glob("histories/*"))
    with open(part, "ab") as file:
        file.write(gzip.compress(next(iter(read_all(part))) and b"a run that has no row"))
        file.write(gzip.compress(b"a torn one" * 100)[:-9])
    resumed = explored(out, resume=True)
    assert resumed.rows == whole.rows
    assert schedules_on_disk(out).keys() == {"tiny:seed=0:", *(row.schedule for row in whole.rows)}
    assert set(schedules_on_disk(out).values()) == {1}


def test_a_row_whose_history_is_gone_is_run_again(whole: CampaignResult, tmp_path: Path) -> None:
    out = tmp_path / "out"
    explored(out)
    for part in out.glob("histories/*"):
        part.unlink()
    assert explored(out, resume=True).rows == whole.rows
    assert len(schedules_on_disk(out)) == len(whole.rows) + 1


@pytest.mark.parametrize(
    ("what", "change"),
    [("seed", {"seed": 1}), ("exclude", {"exclude": ("crash",)}), ("candidate", {"candidate": TWIN})],
)
def test_another_campaign_is_not_resumed(tmp_path: Path, what: str, change: dict[str, object]) -> None:
    explored(tmp_path / "out", max_schedules=1)
    with pytest.raises(UsageError, match=f"another campaign: its {what}"):
        explored(tmp_path / "out", resume=True, **change)  # type: ignore[arg-type]  # whatever the row says


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    first = campaign(tmp_path / "out", max_schedules=1)
    refused: list[UsageError] = []

    def second(text: str) -> None:
        with pytest.raises(UsageError, match="at work in this folder") as caught:
            explored(tmp_path / "out")
        refused.append(caught.value)

    first.say = second
    assert first.run().coverage.explored == 1
    assert refused, "while the first was at work"


def test_a_damaged_campaign_file_is_named(tmp_path: Path) -> None:
    explored(tmp_path / "out", max_schedules=1)
    (tmp_path / "out" / "campaign.sqlite").write_bytes(b"rubbish " * 1000)
    with pytest.raises(EnvironmentMissing, match="not a database") as caught:
        explored(tmp_path / "out", resume=True)
    assert caught.value.where.endswith("campaign.sqlite")
    assert explored(tmp_path / "out", max_schedules=1).coverage.explored == 1, "without --resume it starts anew"


# -- errors in the middle -----------------------------------------------------------------------------------------------------


def judge_that(raises: Exception, on: str = LOST) -> Callable[[History, Scenario], tuple[Verdict, ...]]:
    def judge(history: History, scenario: Scenario) -> tuple[Verdict, ...]:
        if history.header.schedule == on:
            raise raises
        return bench_judge(history, scenario)

    bench_judge = bench.judge
    return judge


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (FOREIGN, CandidateError, ("It answered 7.", "the ledger", "Mend it.")),
        (ZeroDivisionError("by zero"), HarnessBug, ("ZeroDivisionError: by zero", LOST, "report the line")),
    ],
)
def test_an_error_in_mid_campaign_arrives_whole_and_loses_nothing(
    whole: CampaignResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    jobs: int,
    raised: Exception,
    kind: type[KnownstateError],
    words: tuple[str, ...],
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(bench, "judge", judge_that(pickle.loads(pickle.dumps(raised))))
        with pytest.raises(kind) as caught:
            explored(out, jobs=jobs)
    for word in (*words, "kept in", "--resume"):
        assert word in str(caught.value)
    assert not (out / "result.json").exists()
    resumed = explored(out, jobs=jobs, resume=True)
    assert resumed.rows == whole.rows
    twice = {line for line, times in schedules_on_disk(out).items() if times > 1}
    assert twice <= {LOST}, "the history that nobody could judge stays as evidence; no other run is made twice"


def test_the_evidence_is_on_disk_before_it_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "judge", judge_that(ZeroDivisionError()))
    with pytest.raises(HarnessBug):
        explored(tmp_path / "out")
    assert LOST in schedules_on_disk(tmp_path / "out")


@pytest.mark.parametrize("error", [CandidateError, EnvironmentMissing, HarnessBug, UsageError])
def test_an_error_keeps_its_three_parts_between_processes(error: type[KnownstateError]) -> None:
    there = pickle.loads(pickle.dumps(error("What.", where="here", next_step="Go.")))
    assert (type(there), str(there), there.exit_code) == (error, "What. Where: here. Next: Go.", error.exit_code)


def test_a_control_run_that_fails_ends_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = (Verdict("settles", bench.Outcome.UNKNOWN, (), "nobody knows"),)
    monkeypatch.setattr(bench, "judge", lambda history, scenario: unknown)
    said: list[str] = []
    found = Campaign(tiny(), TWIN, campaign(tmp_path / "out").options, say=said.append).run()
    assert (found.ended, found.exit_code, found.rows) == ("control-failed", 3, ())
    assert "nothing can be concluded" in said[0]
    assert [f.id for f in found.failures] == ["001-control-settles"]
