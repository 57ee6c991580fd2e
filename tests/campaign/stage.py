"""A small scenario and shorthands for campaigns on it.

One charge at a provider that ignores keys, under three kinds of fault: 70 schedules in two rounds, all of which the
reference ledger survives, and on which the twin `blind_retry` charges twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.campaign.options import Options
from harness.campaign.runner import Campaign
from harness.candidates.loading import REFERENCE
from harness.model.result import CampaignResult, RunRow
from harness.model.schedule import Schedule
from harness.model.workflow import Scenario
from harness.scenario_files.loader import load_text

TWIN = "reference_ledger.twins:blind_retry"
TINY = """\
version: 1
id: tiny
title: Charge a card
why: The smallest workflow that can hurt.
kind: workflow
cells:
  payment: ignored.authoritative.prompt
workflow:
  operations:
    billing.charge:
      provider: payment
      action: charge
      target: {faker: order}
      params: {amount: 100, currency: eur}
      recovery: compensatable
      undo: refund
faults: [crash, lost-response, lost-request]
guarantees: all
expect: holds
"""
LOST = "tiny:seed=0:tiny/billing.charge/attempt-1/committed=lost-response"
"""The schedule on which the twin charges twice."""


def tiny(extra: str = "") -> Scenario:
    return load_text(TINY + extra, Path("tiny.scenario.yaml"))


def campaign(folder: Path, candidate: str = REFERENCE, scenario: Scenario | None = None, **options: object) -> Campaign:
    return Campaign(scenario or tiny(), candidate, Options(folder, **options))  # type: ignore[arg-type]  # any of them


def explored(
    folder: Path, candidate: str = REFERENCE, scenario: Scenario | None = None, **options: object
) -> CampaignResult:
    return campaign(folder, candidate, scenario, **options).run()


def lines(rows: Iterable[RunRow]) -> list[str]:
    return [row.schedule for row in rows]


def matching(rows: Iterable[RunRow], part: str) -> list[str]:
    return [row.schedule for row in rows if any(part in str(i) for i in Schedule.parse(row.schedule).injections)]
