"""One small valid scenario as text, and ways to spoil one line of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.errors import UsageError
from harness.scenario_files import load_text

PATH = Path("small.scenario.yaml")

GOOD = """\
version: 1
id: small
title: Two steps
why: >
  Two steps, so that
  something can lie between them.
kind: workflow
rigs: [simulation]
cells:
  payment: honoured.authoritative.late
  cloud: {key: expires, lookup: eventual}
workflow:
  operations:
    first:
      provider: payment
      action: charge
      target: ORD-1
      params: {amount: 4900, currency: eur}
      recovery: compensatable
      undo: refund
      undo-before: [second]
    second:
      provider: cloud
      action: resource.create
      target: host-1
      recovery: reversible
      undo: resource.terminate
      after: [first]
      policy: {attempts: 2, approval: true}
always-declined: [undo.first]
approver: {decision: denies, thinks: 250ms, valid: 2h}
faults: [crash, lost-response]
guarantees: all
limits: {crossings: 100, virtual-time: 3d, settle-rounds: 2}
schedule: small:seed=0:small/first/attempt-1/committed=lost-response
expect: violation
"""


def line_of(fragment: str, text: str = GOOD) -> int:
    """The number, from 1, of the first line that holds `fragment`."""
    return next(number for number, line in enumerate(text.splitlines(), start=1) if fragment in line)


def spoilt(old: str, new: str) -> str:
    """GOOD with one fragment replaced; the fragment must be there."""
    assert old in GOOD, f"{old!r} is not in the text"
    return GOOD.replace(old, new, 1)


def refusal(text: str) -> UsageError:
    """The error that reading `text` raises."""
    with pytest.raises(UsageError) as caught:
        load_text(text, PATH)
    return caught.value


def assert_refused(text: str, *, what: str, line: int, next_step: str) -> None:
    """Reading `text` is refused with these three parts: fragments of what and next, and the exact line."""
    error = refusal(text)
    assert what in error.what
    assert error.where == f"{PATH}:{line}"
    assert next_step in error.next_step
