"""Candidates that break the contract in one way each."""

from __future__ import annotations

import sqlite3
from typing import Any

from harness.candidates.contract import Handles, Traits
from harness.model.claim import LedgerView
from harness.model.workflow import Workflow


class Idle:
    """Does nothing, and says so."""

    def __init__(self, handles: Handles) -> None:
        self.handles = handles

    def submit(self, workflow: Workflow) -> None: ...

    def work(self) -> None: ...

    def recover(self) -> None: ...

    def ledger(self, workflow_id: str) -> Any:
        return LedgerView("RUNNING", {})


class Candidate:
    def __init__(self, worker: type[Idle], prepare_raises: Exception | None = None) -> None:
        self.traits = Traits(name="odd", lease_ns=0)
        self.start = worker
        self._prepare_raises = prepare_raises

    def prepare(self, connection: sqlite3.Connection) -> None:
        if self._prepare_raises:
            raise self._prepare_raises


class AnswersAMap(Idle):
    def ledger(self, workflow_id: str) -> Any:
        return {"everything": "fine"}


class RaisesInLedger(Idle):
    def ledger(self, workflow_id: str) -> Any:
        raise ValueError("no ledger today")


class RaisesInStart(Idle):
    def __init__(self, handles: Handles) -> None:
        raise RuntimeError("cannot start")


def idle() -> Candidate:
    return Candidate(Idle)


def answers_a_map() -> Candidate:
    return Candidate(AnswersAMap)


def raises_in_ledger() -> Candidate:
    return Candidate(RaisesInLedger)


def raises_in_start() -> Candidate:
    return Candidate(RaisesInStart)


def raises_in_prepare() -> Candidate:
    return Candidate(Idle, RuntimeError("no tables today"))


def raises_itself() -> Candidate:
    raise RuntimeError("out of order")


def no_candidate() -> int:
    return 7
