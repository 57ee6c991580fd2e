"""Histories in few lines: `H().done("charge").sent("ship").timed_out("ship").end("UNKNOWN")`.

Each method appends one event (or the few it names) and returns the builder; `note("retry")` names the event just
written and `at("retry")` gives its index, so that a test can pin a witness without counting.
Never here: a rule of the judge.

The workflow is a shop: `charge` a card, then `ship`, which depends on it and must be undone before it.
"""

from __future__ import annotations

from typing import Any

from harness.judge.judge import judge
from harness.model.cell import SECOND_NS, Cell
from harness.model.event import Event, Header, History
from harness.model.lifecycle import Resolution
from harness.model.verdict import Outcome, Verdict
from harness.model.workflow import (
    Operation,
    RecoveryClass,
    RecoveryPolicy,
    Scenario,
    ScenarioKind,
    Workflow,
)

DEADLINE_NS = 5 * SECOND_NS
"""How long after its send a call may still be applied, unless a test says otherwise."""


def shop(
    cell: str = "honoured.authoritative.prompt",
    *,
    policy: RecoveryPolicy | None = None,
    ship_undo: str | None = "recall",
    guarantees: tuple[str, ...] = (),
) -> Scenario:
    """The shop with one cell for both providers and one policy for both operations."""
    rules = policy or RecoveryPolicy()
    kind = RecoveryClass.COMPENSATABLE
    charge = Operation("charge", "payment", "charge", "order-1", {"amount": 100}, kind, "refund", policy=rules)
    ship = Operation(
        "ship", "parcels", "ship", "parcel-1", {}, kind if ship_undo else RecoveryClass.IRREVERSIBLE, ship_undo,
        depends_on=("charge",), must_compensate_before=("charge",), policy=rules,
    )  # fmt: skip
    cells = {"payment": Cell.parse(cell), "parcels": Cell.parse(cell)}
    return Scenario(
        "shop",
        "A shop",
        "To judge",
        ScenarioKind.WORKFLOW,
        Workflow("shop", (charge, ship)),
        cells,
        guarantees=guarantees,
    )


class H:
    """A history under construction."""

    def __init__(self, scenario: Scenario | None = None, *, level: int = 5, schedule: str = "shop:seed=0:") -> None:
        self.scenario = scenario or shop()
        self.level = level
        self.schedule = schedule
        self.events: list[Event] = []
        self.now_ns = 0
        self._notes: dict[str, int] = {}
        self._calls: dict[str, list[str]] = {}
        self._effects: dict[str, list[str]] = {}
        self._claims: dict[str, tuple[str, str]] = {}

    # -- the bare event -----------------------------------------------------------------------------------------------

    def event(self, kind: str, actor: str = "rig", where: str = "", **data: Any) -> H:
        self.now_ns += 1
        self.events.append(Event(len(self.events), self.now_ns, actor, kind, where, data))
        return self

    def note(self, name: str) -> H:
        self._notes[name] = len(self.events) - 1
        return self

    def at(self, *names: str) -> tuple[int, ...]:
        return tuple(self._notes[name] for name in names)

    def pause(self, seconds: float) -> H:
        self.now_ns += int(seconds * SECOND_NS)
        return self

    # -- calls and effects --------------------------------------------------------------------------------------------

    def _request(self, subject: str) -> dict[str, str]:
        op = self.scenario.workflow.operation(subject.removeprefix("undo."))
        action = op.undo or "" if subject.startswith("undo.") else op.action
        return {"provider": op.provider, "action": action, "target": op.target}

    def sent(
        self, subject: str, *, worker: str = "w1", key: str | None = None, operation: str | None = None,
        deadline_ns: int | None = DEADLINE_NS, approval: str = "", target: str | None = None,
    ) -> H:  # fmt: skip
        """One attempt at `subject` leaves. `deadline_ns` None: it carries none."""
        calls = self._calls.setdefault(subject, [])
        call = f"shop/{subject}/attempt-{len(calls) + 1}"
        calls.append(call)
        request = self._request(subject) | ({"target": target} if target else {})
        return self.event(
            "call-sent", worker, call, call=call, operation=subject if operation is None else operation,
            purpose="undo" if subject.startswith("undo.") else "effect", key=f"key-{subject}" if key is None else key,
            params={}, not_after=0 if deadline_ns is None else self.now_ns + deadline_ns, fence=1, approval=approval,
            **request,
        )  # fmt: skip

    def effect(
        self,
        subject: str,
        *,
        attempt: int = 0,
        delivery: int = 1,
        operation: str | None = None,
        target: str | None = None,
    ) -> H:
        """The provider applies an attempt, the last unless given. An undo undoes its original's newest effect."""
        call = self._calls[subject][attempt - 1]
        effects = self._effects.setdefault(subject, [])
        effects.append(f"{subject}!{len(effects) + 1}")
        request = self._request(subject) | ({"target": target} if target else {})
        originals = self._effects.get(subject.removeprefix("undo."), []) if subject.startswith("undo.") else []
        return self.event(
            "effect", request["provider"], call, effect=effects[-1], call=call, delivery=delivery, key=f"key-{subject}",
            operation=subject if operation is None else operation, undoes=originals[-1] if originals else None,
            **request,
        )  # fmt: skip

    def outsider_undid(self, subject: str) -> H:
        request = self._request(f"undo.{subject}")
        return self.event(
            "effect", request["provider"], effect=f"outside-{subject}", call="", delivery=1, key="",
            operation="outside", undoes=self._effects[subject][-1], **request,
        )  # fmt: skip

    def saw(self, subject: str, outcome: str, code: str, *, attempt: int = 0, worker: str = "w1", **more: Any) -> H:
        call = self._calls[subject][attempt - 1]
        return self.event("caller-saw", worker, call, call=call, outcome=outcome, code=code, **more)

    def saw_ok(self, subject: str, attempt: int = 0) -> H:
        return self.saw(subject, "ok", "ok", attempt=attempt)

    def timed_out(self, subject: str, attempt: int = 0) -> H:
        return self.saw(subject, "indefinite", "timeout", attempt=attempt)

    def refused(self, subject: str, attempt: int = 0) -> H:
        return self.saw(subject, "definite", "rate-limited", attempt=attempt)

    def looked(
        self, subject: str, *found: tuple[str, str, str, bool, bool], complete: bool = True, outcome: str = "ok"
    ) -> H:
        """A look-up of `subject`, sent and answered; rows are [reference, operation, action, standing, pending]."""
        calls = self._calls.setdefault(f"look {subject}", [])
        call = f"shop/{subject}/lookup-{len(calls) + 1}"
        calls.append(call)
        self.event(
            "call-sent", "w1", call, call=call, operation=subject, purpose="lookup", key="", params={}, not_after=0,
            fence=1, approval="", **self._request(subject),
        )  # fmt: skip
        code = "ok" if outcome == "ok" else "unavailable"
        return self.event(
            "caller-saw",
            "w1",
            call,
            call=call,
            outcome=outcome,
            code=code,
            found=[list(f) for f in found],
            complete=complete,
        )

    # -- claims -------------------------------------------------------------------------------------------------------

    def said(self, subject: str, *states: str, was: str | None = None) -> H:
        """Claims about `subject`, one after the other; `RECONCILED/committed` carries its resolution."""
        for text in states:
            state, _, resolution = text.partition("/")
            before = self._claims.get(subject, ("", ""))[0] if was is None else was
            self._claims[subject] = (state, resolution)
            more = {"resolution": resolution} if resolution else {}
            self.event("claimed", "w1", subject, subject=subject, to=state, was=before, **more)
        return self

    def begun(self, subject: str) -> H:
        return self.said(subject, "PREPARED", "COMMITTING")

    def verified(self, subject: str) -> H:
        return self.said(subject, "COMMITTED", "VERIFYING", "VERIFIED")

    def done(self, subject: str) -> H:
        """Everything about an operation that goes well."""
        return self.begun(subject).sent(subject).effect(subject).saw_ok(subject).verified(subject)

    def compensated(self, subject: str) -> H:
        """Everything about an undo that goes well."""
        self.said(subject, "COMPENSATION_REQUIRED").said(f"undo.{subject}", "PREPARED")
        self.said(subject, "COMPENSATING").said(f"undo.{subject}", "COMMITTING")
        self.sent(f"undo.{subject}").effect(f"undo.{subject}").saw_ok(f"undo.{subject}")
        return self.verified(f"undo.{subject}").said(subject, "COMPENSATED")

    # -- the end ------------------------------------------------------------------------------------------------------

    def died(self, worker: str = "w1") -> H:
        return self.event("worker-died", worker, cause="crash")

    def alerted(self, subject: str) -> H:
        return self.event("alerted", "w1", subject, subject=subject, reason="")

    def audited(self, workflow: str, *, quiet: bool = True, **changed: list[str] | None) -> H:
        """The final ledger: what was claimed last, but for `changed` (dots in names as __; None removes)."""
        operations: dict[str, list[str]] = {
            op.id: ["PREPARED", Resolution.NONE.value] for op in self.scenario.workflow.operations
        }
        operations |= {name: list(row) for name, row in self._claims.items() if name != "workflow"}
        for name, row in changed.items():
            subject = name.replace("__", ".")
            if row is None:
                operations.pop(subject)
            else:
                operations[subject] = row
        self.event("settled", rounds=1, quiet=quiet)
        return self.event("audited", operations=operations, workflow=workflow, timers_left=0).note("audit")

    def ended(self, cut_short: str = "") -> H:
        return self.event("run-ended", cut_short=cut_short).note("end")

    def end(self, workflow: str, **changed: list[str] | None) -> H:
        return self.audited(workflow, quiet=True, **changed).ended()

    # -- what comes of it ---------------------------------------------------------------------------------------------

    def history(self) -> History:
        header = Header(1, {}, self.schedule, 0, "candidate", "simulation", {"level": self.level})
        return History(header, self.events)

    def verdict(self, guarantee: str) -> Verdict:
        (verdict,) = judge(self.history(), self.scenario, only=[guarantee])
        return verdict


def holds(h: H, guarantee: str) -> None:
    """Fail with the contradiction if it does not hold."""
    verdict = h.verdict(guarantee)
    assert verdict.outcome is Outcome.HOLDS, verdict.explanation


def violates(h: H, guarantee: str, *notes: str) -> Verdict:
    """It is violated, shown by exactly the noted events, in the three-part form."""
    verdict = h.verdict(guarantee)
    assert verdict.outcome is Outcome.VIOLATED, verdict
    assert verdict.witness == tuple(sorted(h.at(*notes))), verdict.explanation
    let, then, but = verdict.explanation.split("\n")
    assert let.startswith("let ")
    assert then.startswith("then ")
    assert but.startswith("but ")
    assert but.endswith(": a contradiction")
    return verdict


def is_unknown(h: H, guarantee: str) -> str:
    """It cannot be decided; gives the reason."""
    verdict = h.verdict(guarantee)
    assert verdict.outcome is Outcome.UNKNOWN, verdict
    return verdict.explanation
