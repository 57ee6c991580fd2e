"""A small realistic campaign, made by hand: one violated run, one unknown, several that hold.

The failing history: a charge is committed, its response is lost, the caller times out, a second worker sends the charge
again without looking and under another key, the provider charges twice, and the ledger claims VERIFIED.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.model.cell import Cell
from harness.model.event import Event, Header, History
from harness.model.plain import to_plain
from harness.model.result import CampaignResult, Coverage, Failure, RunRow
from harness.model.verdict import Outcome, Verdict
from harness.model.workflow import Operation, RecoveryClass, Scenario, ScenarioKind, Workflow
from harness.report.story import story

MS = 1_000_000
SECRET = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
CALL = "onboarding/billing.charge/attempt-"
STRUCK = CALL + "1/committed"


class Recorder:
    """Writes events down with rising indices."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, time_ms: int, actor: str, kind: str, where: str = "", **data: Any) -> int:
        self.events.append(Event(len(self.events), time_ms * MS, actor, kind, where, data))
        return len(self.events) - 1

    def call(self, time_ms: int, actor: str, path: str, **request: Any) -> int:
        """A call that is sent and arrives. Returns the index of its sending."""
        sent = self.add(time_ms, actor, "call-sent", path, call=path, **request)
        self.add(time_ms + 3, request["provider"], "arrived", path, call=path, delivery=1)
        return sent

    def effect(self, time_ms: int, effect: str, path: str, **data: Any) -> int:
        data = {"key": "", "undoes": None, "delivery": 1} | data
        return self.add(time_ms, data["provider"], "effect", path, effect=effect, call=path, **data)


def scenario() -> Scenario:
    charge = Operation(
        "billing.charge",
        "billing",
        "charge",
        "ORD-1",
        {"amount": 4200, "api_key": SECRET},
        RecoveryClass.COMPENSATABLE,
        "refund",
    )
    record = Operation(
        "dns.record", "dns", "create-record", "a.example.test", {"ttl": 60}, RecoveryClass.REVERSIBLE, "delete-record",
        depends_on=("billing.charge",),
    )  # fmt: skip
    flow = Workflow("onboarding", (charge, record))
    cells = {"billing": Cell(), "dns": Cell()}
    return Scenario(
        "onboarding",
        "A customer is charged, then named",
        "The oldest story there is.",
        ScenarioKind.WORKFLOW,
        flow,
        cells,
    )


def failing_events() -> tuple[Event, ...]:
    log = Recorder()
    charge = {
        "operation": "billing.charge", "provider": "billing", "action": "charge", "purpose": "effect",
        "target": "ORD-1", "params": {"amount": 4200, "api_key": SECRET}, "not_after": 0, "fence": 1, "approval": "",
    }  # fmt: skip
    done = {"provider": "billing", "action": "charge", "target": "ORD-1", "operation": "billing.charge"}
    log.add(0, "rig", "submitted", "onboarding")
    log.add(0, "worker-1", "worker-started", incarnation=1, verb="work")
    log.add(1, "worker-1", "crossed", "onboarding/billing.charge/prepare/before-commit")
    log.add(2, "worker-1", "wrote", "onboarding/billing.charge/prepare")
    log.add(2, "worker-1", "claimed", "billing.charge", subject="billing.charge", to="PREPARED")
    log.add(2, "worker-1", "claimed", "workflow", subject="workflow", to="RUNNING")
    log.add(
        4, "worker-1", "claimed", "billing.charge", subject="billing.charge", to="COMMITTING", **{"from": "PREPARED"}
    )
    log.add(5, "worker-1", "crossed", CALL + "1/intent-recorded")
    log.call(6, "worker-1", CALL + "1", key="k-1", **charge)
    log.effect(12, "e1", CALL + "1", key="k-1", **done)
    log.add(12, "rig", "fault-armed", STRUCK, fault="lost-response")
    log.add(12, "rig", "fault-fired", STRUCK, fault="lost-response")
    log.add(13, "billing", "responded", CALL + "1", call=CALL + "1", code="ok")
    log.add(10_006, "worker-1", "caller-saw", CALL + "1", call=CALL + "1", outcome="indefinite", code="timeout")
    log.add(10_006, "worker-1", "worker-died", cause="the lease ran out while it waited")
    _second_worker(log, charge, done)
    return tuple(log.events)


def _second_worker(log: Recorder, charge: dict[str, object], done: dict[str, str]) -> None:
    """The worker that takes over, charges again and finishes."""
    log.add(40_100, "worker-1", "lease-lost", taken_by="worker-2")
    log.add(40_100, "worker-2", "worker-started", incarnation=2, verb="recover")
    log.add(40_102, "worker-2", "wrote", "onboarding/workflow/write-3")
    log.add(40_102, "worker-2", "claimed", "workflow", subject="workflow", to="RECOVERING", **{"from": "RUNNING"})
    log.call(40_105, "worker-2", CALL + "2", key="k-2", **charge | {"fence": 2})
    log.effect(40_111, "e2", CALL + "2", key="k-2", **done)
    log.add(40_112, "billing", "responded", CALL + "2", call=CALL + "2", code="ok")
    log.add(40_115, "worker-2", "caller-saw", CALL + "2", call=CALL + "2", outcome="ok", code="ok")
    log.add(
        40_116,
        "worker-2",
        "claimed",
        "billing.charge",
        subject="billing.charge",
        to="COMMITTED",
        **{"from": "COMMITTING"},
    )
    verify = "onboarding/billing.charge/verify-1"
    look = charge | {"purpose": "verify", "action": "read"}
    log.call(40_118, "worker-2", verify, key="", **look)
    log.add(40_122, "billing", "responded", verify, call=verify, code="ok")
    log.add(
        40_125, "worker-2", "caller-saw", verify, call=verify, outcome="ok", code="ok", found=["ch_2"], complete=True
    )
    log.add(
        40_126,
        "worker-2",
        "claimed",
        "billing.charge",
        subject="billing.charge",
        to="VERIFIED",
        **{"from": "COMMITTED"},
    )
    record = "onboarding/dns.record/attempt-1"
    named = {"provider": "dns", "action": "create-record", "target": "a.example.test", "operation": "dns.record"}
    log.call(
        40_130,
        "worker-2",
        record,
        key="k-3",
        purpose="effect",
        params={"ttl": 60},
        not_after=0,
        fence=2,
        approval="",
        **named,
    )
    log.effect(40_136, "e3", record, key="k-3", **named)
    log.add(40_137, "dns", "responded", record, call=record, code="ok")
    log.add(40_140, "worker-2", "caller-saw", record, call=record, outcome="ok", code="ok")
    log.add(40_142, "worker-2", "claimed", "dns.record", subject="dns.record", to="VERIFIED", **{"from": "COMMITTED"})
    log.add(40_143, "worker-2", "claimed", "workflow", subject="workflow", to="COMPLETED", **{"from": "RECOVERING"})
    log.add(40_144, "worker-2", "worker-finished", incarnation=2)
    log.add(40_144, "rig", "healed")
    log.add(40_200, "rig", "settled", rounds=2, quiet=True)
    said = {name: {"state": "VERIFIED", "resolution": ""} for name in ("billing.charge", "dns.record")}
    log.add(40_200, "rig", "audited", operations=said, workflow="COMPLETED", timers_left=0)
    log.add(40_200, "rig", "run-ended", cut_short="")


def index_of(events: tuple[Event, ...], kind: str, nth: int = 0) -> int:
    return [e.index for e in events if e.kind == kind][nth]


def failing_verdicts(events: tuple[Event, ...]) -> tuple[Verdict, ...]:
    first, second = index_of(events, "effect"), index_of(events, "effect", 1)
    return (
        Verdict(
            "no-duplicate-effect", Outcome.VIOLATED, (first, second),
            "let billing.charge have one standing effect, e1 / then nobody undid e1 / "
            "but the provider billing charged ORD-1 again as e2: a contradiction",
            "billing.charge",
        ),
        Verdict(
            "no-blind-retry", Outcome.VIOLATED, (index_of(events, "caller-saw"), index_of(events, "call-sent", 1)),
            "let the outcome of attempt 1 be open / then nobody observed the provider / "
            f"but attempt 2 was sent under another key (Authorization: Bearer {SECRET}): a contradiction",
            "billing.charge",
        ),
    )  # fmt: skip


def failing_history() -> History:
    plain = to_plain(scenario())
    header = Header(
        1, plain, f"onboarding:seed=0:{STRUCK}=lost-response", 0, "acme.ledger:create", "simulation", {"level": 3}
    )
    return History(header, failing_events())


def failing_story() -> tuple[str, ...]:
    history = failing_history()
    return story(history, scenario(), failing_verdicts(tuple(history.events)))


def row(boundary: str, fault: str, outcome: Outcome = Outcome.HOLDS, *verdicts: Verdict, trigger: str = "") -> RunRow:
    injected = ",".join(filter(None, [trigger, f"{boundary}={fault}" if fault else ""]))
    return RunRow(
        f"onboarding:seed=0:{injected}",
        boundary,
        fault,
        trigger,
        outcome,
        outcome is not Outcome.UNKNOWN,
        verdicts,
        40,
        41,
    )


def failure(number: int = 1) -> Failure:
    events = failing_events()
    line = f"onboarding:seed=0:{STRUCK}=lost-response"
    return Failure(
        f"{number:03d}-no-duplicate-effect", line, STRUCK, "lost-response", failing_verdicts(events), failing_story(),
        f"knownstate replay acme.ledger:create '{line}'", 2, events,
    )  # fmt: skip


def rows() -> tuple[RunRow, ...]:
    events = failing_events()
    unknown = Verdict("known-state", Outcome.UNKNOWN, (), "the scheduled fault did not fire")
    return (
        row("", ""),
        row(CALL + "1/sent", "lost-request"),
        row(CALL + "1/sent", "crash"),
        row(CALL + "1/delivered", "unavailable"),
        row(STRUCK, "lost-response", Outcome.VIOLATED, *failing_verdicts(events)),
        row(STRUCK, "connection-reset", Outcome.VIOLATED, failing_verdicts(events)[0]),
        row(STRUCK, "crash"),
        row("onboarding/dns.record/attempt-1/sent", "lost-request"),
        row("onboarding/dns.record/attempt-1/committed", "lost-response"),
        row("onboarding/dns.record/attempt-1/committed", "crash", trigger=f"{STRUCK}=crash"),
        row("onboarding/workflow/write-3/in-commit", "commit-lost", Outcome.UNKNOWN, unknown),
    )


def campaign() -> CampaignResult:
    return CampaignResult(
        scenario=to_plain(scenario()),
        candidate="acme.ledger:create",
        traits={"name": "acme", "promise": "at-most-once", "level": 3},
        rig="simulation",
        seed=0,
        cell="honoured.authoritative.prompt",
        guarantees={
            "known-state": "every effect belongs to an operation in a known state",
            "no-duplicate-effect": "one logical operation has at most one standing effect",
            "no-blind-retry": "after an indefinite outcome nothing is sent again before an authoritative observation",
        },
        not_observable={"compensation-once": "needs level L4; the candidate declares L3"},
        control=Outcome.HOLDS,
        control_verdicts=(),
        outcome=Outcome.VIOLATED,
        exit_code=1,
        coverage=Coverage(14, 11, 10, 6, 2, ("3 schedules of the fault overload: no rig does it yet.",)),
        rows=rows(),
        failures=(failure(),),
        command=f"knownstate run acme.ledger:create --env BILLING=https://bob:hunter2@billing.test --token {SECRET}",
        ended="complete",
        environment={"python": "3.11.7", "platform": "linux", "api_key": SECRET},
        seconds=1.25,
        out="reports/example",
    )


def holding() -> CampaignResult:
    """The same campaign with a sound candidate: everything holds."""
    good = tuple(replace(r, outcome=Outcome.HOLDS, verdicts=(), fired=True) for r in rows())
    coverage = Coverage(11, 11, 11, 6, 2)
    return replace(campaign(), rows=good, failures=(), outcome=Outcome.HOLDS, exit_code=0, coverage=coverage)


def inconclusive() -> CampaignResult:
    """No violation, and one run whose fault did not fire."""
    base = holding()
    return replace(
        base,
        rows=(*base.rows[:-1], rows()[-1]),
        outcome=Outcome.UNKNOWN,
        exit_code=3,
        coverage=replace(base.coverage, fired=10),
    )
