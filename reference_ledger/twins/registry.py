"""The registry of twins: what is planted, which guarantee it breaks first, and the predicate that says the bad state is in the world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import reference_ledger.twins.control as control
import reference_ledger.twins.doubt as doubt
import reference_ledger.twins.identity as identity
import reference_ledger.twins.undoing as undoing
from reference_ledger.twins.base import TwinRules, TwinWorker, build


@dataclass(frozen=True, slots=True)
class Twin:
    """One twin. `triggered` names a predicate of `harness.judge.triggered`, independent of the guarantees."""

    name: str
    bug: type[TwinRules] | type[TwinWorker]
    triggered: str
    scenario: str = "drill"
    cell: str = ""
    """The provider cell of the pinned run; "" for the scenario's own."""

    @property
    def statement(self) -> str:
        """What is planted, in one sentence."""
        return (self.bug.__doc__ or "").strip()

    def build(self) -> Any:
        """The candidate."""
        if issubclass(self.bug, TwinRules):
            return build(self.name, rules=self.bug)
        return build(self.name, worker=self.bug)


_ROWS = (
    Twin("blind_retry", doubt.BlindRetry, "two-standing-effects"),
    Twin("timeout_is_failure", doubt.TimeoutIsFailure, "orphan-effect"),
    Twin("conflict_is_failure", doubt.ConflictIsFailure, "orphan-effect", cell="honoured.absent.prompt"),
    Twin("not_found_is_proof", doubt.NotFoundIsProof, "two-standing-effects", cell="ignored.authoritative.late"),
    Twin("assumes_committed", doubt.AssumesCommitted, "claim-without-effect"),
    Twin("two_is_fine", doubt.TwoIsFine, "two-standing-effects"),
    Twin("incomplete_is_absent", doubt.IncompleteIsAbsent, "two-standing-effects"),
    Twin("new_key_per_attempt", identity.NewKeyPerAttempt, "key-changed"),
    Twin("key_of_worker", identity.KeyOfWorker, "key-changed"),
    Twin("records_before_sending", identity.RecordsBeforeSending, "claim-without-effect"),
    Twin("sends_before_recording", identity.SendsBeforeRecording, "two-standing-effects"),
    Twin("trusts_200", identity.Trusts200, "claim-without-effect"),
    Twin("pending_is_done", identity.PendingIsDone, "claim-without-effect"),
    Twin("retries_too_often", identity.RetriesTooOften, "sent-too-often"),
    Twin("verifies_nothing", identity.VerifiesNothing, "claim-without-effect"),
    Twin("reverse_time_order", undoing.ReverseTimeOrder, "undone-out-of-order"),
    Twin("forgets_failed_compensation", undoing.ForgetsFailedCompensation, "orphan-effect"),
    Twin(
        "goes_on_after_failed_compensation",
        undoing.GoesOnAfterFailedCompensation,
        "acted-after-failed-compensation",
        scenario="rollback",
    ),
    Twin("halts_silently", undoing.HaltsSilently, "nobody-called"),
    Twin("restarts_rollback", undoing.RestartsRollback, "undo-sent-again"),
    Twin("clean_with_standing_effect", undoing.CleanWithStandingEffect, "standing-though-failed"),
    Twin("undoes_only_the_last", undoing.UndoesOnlyTheLast, "standing-though-failed"),
    Twin("declined_undo_is_done", undoing.DeclinedUndoIsDone, "orphan-effect"),
    Twin("ignores_lease_loss", control.IgnoresLeaseLoss, "write-after-lease-lost"),
    Twin("no_deadlines", control.NoDeadlines, "effect-under-bad-approval"),
    Twin("uses_expired_approval", control.UsesExpiredApproval, "effect-under-bad-approval"),
    Twin("ignores_cancellation", control.IgnoresCancellation, "effect-after-cancel"),
    Twin("drops_cancelled_workflow", control.DropsCancelledWorkflow, "record-lost"),
    Twin("stuck_in_flight", control.StuckInFlight, "left-in-doubt"),
    Twin("child_does_not_wait", control.ChildDoesNotWait, "effect-before-parent"),
    Twin("completes_in_doubt", control.CompletesInDoubt, "complete-in-doubt"),
)

TWINS: dict[str, Twin] = {row.name: row for row in _ROWS}
assert len(TWINS) == len(_ROWS), "each twin has a name of its own"
