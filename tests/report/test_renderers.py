"""The table of renderers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from harness.model.result import CampaignResult
from harness.report import RENDERERS
from harness.report.summary import exit_sentence, left_out, untold_sentence, verdict_sentence
from tests.report import examples

RESULTS = [examples.campaign(), examples.holding(), examples.inconclusive()]


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("result", RESULTS)
def test_a_renderer_gives_the_same_for_the_same_result(name: str, result: CampaignResult) -> None:
    suffix, render = RENDERERS[name]
    assert suffix.startswith(".")
    assert render(result) == render(result) != b""


def test_the_table_imports_no_renderer_before_it_is_used() -> None:
    heavy = "{'jinja2', 'rich', 'orjson', 'xml.etree.ElementTree'}"
    code = f"import sys, harness.report, harness.report.story; sys.exit(len({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_verdict_sentences_differ_by_outcome() -> None:
    assert verdict_sentence(examples.holding()) == "All 3 guarantees that could be judged hold in 11 runs."
    assert verdict_sentence(examples.inconclusive()).startswith(
        "Inconclusive: no violation was found, and 1 of 11 runs"
    )


def test_an_expected_violation_is_not_called_a_success_of_guarantees() -> None:
    assert exit_sentence(replace(examples.campaign(), exit_code=0)) == (
        "Exit code 0: the violation the scenario expects was found."
    )


def test_failing_runs_no_failure_stands_for_are_counted() -> None:
    alone = replace(examples.failure(), rows=1)
    assert untold_sentence(replace(examples.campaign(), failures=(alone,))).startswith(
        "The failures told here stand for 1 of 2"
    )
    assert untold_sentence(examples.campaign()) == ""


def test_a_campaign_cut_short_says_so_among_what_was_left_out() -> None:
    assert "time limit" in left_out(replace(examples.holding(), ended="max-time"))[0]
    assert left_out(examples.holding()) == ("Nothing: every schedule known to apply was run.",)
