"""Small candidates for the state machine: the reference ledger with one decision replaced, each importable by name."""

from __future__ import annotations

from harness.candidates.contract import Handles
from harness.model.errors import ProviderFailure
from harness.model.workflow import Workflow
from reference_ledger.ledger import LedgerWorker, ReferenceLedger
from reference_ledger.records import Record
from reference_ledger.rules import Refusal, Rules


class FreshKeyEachTime(Rules):
    """Takes an open outcome for a failure and sends again, each time under a key nobody has seen."""

    def key_to_send(self, record: Record) -> str:
        return f"{record.key}:{record.attempts}"

    def refusal(self, record: Record, failure: ProviderFailure) -> Refusal:
        if record.attempts < record.attempts_max and not failure.is_definite:
            return Refusal(try_again=True)
        return super().refusal(record, failure)


class NothingToUndo(Rules):
    """Calls a failed workflow clean whatever stands."""

    def must_undo(self, record: Record) -> bool:
        return False


class Forgetful(LedgerWorker):
    """Cannot be started twice in the same way: it counts its incarnations in the class, outside any store."""

    started = 0

    def __init__(self, ledger: ReferenceLedger, handles: Handles) -> None:
        super().__init__(ledger, handles)
        Forgetful.started += 1

    def submit(self, workflow: Workflow) -> None:
        self.handles.sleep_ns(Forgetful.started)
        super().submit(workflow)


class DiesOfSubmission(LedgerWorker):
    """Accepts nothing: its first submissions end in an error of its own."""

    def submit(self, workflow: Workflow) -> None:
        if self.handles.incarnation < 3:
            self.handles.sleep_ns(1)
            raise RuntimeError("not today")
        super().submit(workflow)


class NeverReady(LedgerWorker):
    """Fails half-way through every submission, after the workflow has become durable."""

    def submit(self, workflow: Workflow) -> None:
        super().submit(workflow)
        raise RuntimeError("so near")


def blind() -> ReferenceLedger:
    return ReferenceLedger("blind", FreshKeyEachTime())


def clean() -> ReferenceLedger:
    return ReferenceLedger("clean", NothingToUndo())


def blind_and_forgetful() -> ReferenceLedger:
    return ReferenceLedger("forgetful", FreshKeyEachTime(), Forgetful)


def dies_of_submission() -> ReferenceLedger:
    return ReferenceLedger("dies-of-submission", worker_type=DiesOfSubmission)


def never_ready() -> ReferenceLedger:
    return ReferenceLedger("never-ready", worker_type=NeverReady)
