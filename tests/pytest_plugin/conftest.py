"""A folder with one scenario file and one broken twin, and runs of pytest in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reference_ledger.ledger  # noqa: F401 (imported here, they are not imported again by every run inside a run)

SCENARIO = """\
version: 1
id: one-charge
title: One charge
why: The smallest scenario in which an answer can be lost.
kind: workflow
rigs: [simulation]
cells:
  payment: honoured.authoritative.prompt
workflow:
  operations:
    billing.charge:
      provider: payment
      action: charge
      target: {faker: order}
      params: {amount: 4900, currency: eur}
      recovery: compensatable
      undo: refund
faults: [lost-response, lost-request]
guarantees: all
expect: holds
"""

TWIN = """\
from reference_ledger.ledger import ReferenceLedger
from reference_ledger.rules import Refusal, Rules


class Hasty(Rules):
    def refusal(self, record, failure):
        if failure.code == "timeout":
            return Refusal(for_good=True)
        return super().refusal(record, failure)


def factory():
    return ReferenceLedger("hasty", Hasty())
"""

PLAIN_TEST = """\
import pytest


@pytest.mark.knownstate(scenario="one-charge", candidate="{candidate}")
def test_my_ledger(knownstate_run):
    knownstate_run.check()
"""

TWIN_SPEC = "hasty_twin:factory"
BROKEN = f"--knownstate-candidate={TWIN_SPEC}"


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    """The scenario file `one-charge` and the twin `hasty_twin`."""
    write_scenario(pytester, SCENARIO)
    (pytester.path / "hasty_twin.py").write_text(TWIN, encoding="utf-8")
    return pytester


def write_scenario(pytester: pytest.Pytester, text: str) -> Path:
    path = pytester.path / "one-charge.scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def node_ids(result: pytest.RunResult) -> list[str]:
    """What a run with `--collect-only -q` printed."""
    return [line for line in result.outlines if re.match(r"\S+::", line)]
