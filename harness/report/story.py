"""The failing run as a story of at most ten lines for a person.

Here: choosing the events that matter and telling each in one sentence. Never here: markup, or reading anything but the
history. A story is a selection; the whole history lies beside it in the failure's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.boundary import Purpose
from harness.model.event import EVENT_KINDS, Event, History
from harness.model.verdict import Outcome, Verdict
from harness.model.workflow import Scenario
from harness.report import words
from harness.report.facts import NEVER, Facts, echoes, said, subjects_of, weight
from harness.report.redact import redact, redacted

LINES_MAX = 10


def story(history: History, scenario: Scenario, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """The run in at most LINES_MAX lines, each starting with its virtual time.

    The last one states the contradiction.
    """
    events = [redacted(event) for event in history.events]
    bad = [v for v in verdicts if v.outcome is not Outcome.HOLDS]
    facts = Facts.of(events)
    fallback = scenario.workflow.operations[0].id if scenario.workflow.operations else ""
    told = _choose(facts, subjects_of(bad, _struck_operation(facts) or fallback), _witness(bad), LINES_MAX - 1)
    lines = [(event.time_ns, sentence(event, facts)) for event in told]
    lines.append((max([_moment(events, bad), *(time for time, _ in lines)]), _conclusion(bad)))
    width = max(len(words.seconds(time)) for time, _ in lines)
    return tuple(f"{words.seconds(time):>{width}}  {text}" for time, text in lines)


def _choose(facts: Facts, subjects: frozenset[str], witness: frozenset[int], room: int) -> list[Event]:
    """The weightiest events, in order. Of the class that does not fit as a whole its beginning and its end are kept."""
    classes: dict[int, list[Event]] = {}
    said_already = echoes(facts.events)
    for event in facts.events:
        if event.index not in said_already:
            classes.setdefault(weight(event, facts, subjects, witness), []).append(event)
    chosen: list[Event] = []
    for rank in sorted(classes.keys() - {NEVER}):
        left = room - len(chosen)
        members = classes[rank]
        chosen += members if len(members) <= left else members[: left // 2] + members[len(members) - (left + 1) // 2 :]
    return sorted(chosen, key=lambda event: event.index)


def _witness(verdicts: Sequence[Verdict]) -> frozenset[int]:
    return frozenset(index for verdict in verdicts[:1] for index in verdict.witness)


def _struck_operation(facts: Facts) -> str:
    struck = [facts.operation_of(e) for e in facts.events if e.kind == "fault-fired"]
    return next((name for name in reversed(struck) if name and name != "workflow"), "")


def _moment(events: Sequence[Event], bad: Sequence[Verdict]) -> int:
    """The time at which the contradiction is complete: that of the last witness event, else the end of the run."""
    last = bad[0].witness[-1] if bad and bad[0].witness else len(events) - 1
    return events[last].time_ns if 0 <= last < len(events) else 0


def _conclusion(bad: Sequence[Verdict]) -> str:
    if not bad:
        return "nothing is contradicted: every guarantee holds"
    first = bad[0]
    more = f" (and {words.plural(len(bad) - 1, 'more guarantee')})" if len(bad) > 1 else ""
    if first.outcome is Outcome.UNKNOWN:
        return f"{first.guarantee} cannot be judged: {redact(words.argument(first.explanation))}{more}"
    return f"{first.guarantee} is broken: {redact(words.argument(first.explanation))}{more}"


def sentence(event: Event, facts: Facts) -> str:
    """What one event means to a person."""
    teller = _TELLERS.get(event.kind)
    return teller(event, facts) if teller else f"{event.actor}: {EVENT_KINDS.get(event.kind, event.kind)}"


def _fault(event: Event, _: Facts) -> str:
    return f"FAULT: {words.struck(str(event.data.get('fault', '')))} ({words.place(event.where)})"


def _sent(event: Event, _: Facts) -> str:
    data = event.data
    who, provider, target = event.actor, data.get("provider", ""), data.get("target", "")
    attempt = words.step(event.where.split("/")[2]) if event.where.count("/") >= 2 else ""
    match data.get("purpose"):
        case Purpose.LOOKUP.value:
            return f"{who} looked {target} up at {provider}"
        case Purpose.VERIFY.value:
            return f"{who} asked {provider} whether {target} stands"
        case _:
            again = "" if attempt.endswith(" 1") else f" ({attempt})"
            return f"{who} asked {provider} to {words.imperative(str(data.get('action', '')))} {target}{again}"


def _arrived(event: Event, facts: Facts) -> str:
    nth = event.data.get("delivery", 1)
    return f"the provider {facts.provider_of(event)} received the request{words.again(nth)}"


def _effect(event: Event, facts: Facts) -> str:
    data = event.data
    who = f"the provider {facts.provider_of(event)}" if data.get("call") else "an outside actor"
    did = f"{who} {facts.change(event)}"
    return did + (f", which undid effect {data['undoes']}" if data.get("undoes") else "")


def _saw(event: Event, facts: Facts) -> str:
    data, who = event.data, event.actor
    match data.get("outcome"):
        case "indefinite":
            return f"{who} got no answer to rely on ({data.get('code', '')}): the outcome was open"
        case "definite":
            return f"{who} was refused ({data.get('code', '')}): nothing was done"
    if "found" in data:
        return f"{who} {_found(data['found'], bool(data.get('complete', True)))}"
    return f"{who} heard from {facts.provider_of(event)} that it was done"


def _found(found: object, complete: bool) -> str:
    count = len(found) if isinstance(found, (list, tuple)) else int(found) if isinstance(found, int) else 0
    seen = f"found {words.plural(count, 'record')}" if count else "found nothing"
    return seen + ("" if complete else ", in an answer that was not complete")


def _claimed(event: Event, _: Facts) -> str:
    data = event.data
    resolution = f", {data['resolution']}" if data.get("resolution") else ""
    return f"the ledger said {words.operation(str(data.get('subject', '')))} is {data.get('to', '')}{resolution}"


def _audited(event: Event, _: Facts) -> str:
    """The workflow's last word, and the operations that ended otherwise than most."""
    rows = {name: said(row) for name, row in event.data.get("operations", {}).items()}
    end = f"in the end the ledger said: the workflow {event.data.get('workflow', '')}"
    if len(rows) < 3:
        return "; ".join([end, *(f"{words.operation(name)} {state}" for name, state in rows.items())])
    usual = max(set(rows.values()), key=lambda state: (list(rows.values()).count(state), state))
    others = [f"{words.operation(name)} {state}" for name, state in rows.items() if state != usual]
    count = len(rows) - len(others)
    most = f"{'all ' if not others else ''}{words.plural(count, 'operation')} {usual}"
    rest = f" and {len(others) - 2} more" if len(others) > 2 else ""
    return f"{end}; {', '.join([most, *others[:2]])}{rest}"


def _alerted(event: Event, facts: Facts) -> str:
    about = words.operation(facts.operation_of(event))
    return f"the ledger called for a person about {about}: {event.data.get('reason', '')}"


def _approval(word: str) -> Callable[[Event, Facts], str]:
    def tell(event: Event, facts: Facts) -> str:
        about = facts.operation_of(event)
        return f"approval {event.data.get('approval', '')}{' for ' + words.operation(about) if about else ''} {word}"

    return tell


_TELLERS: dict[str, Callable[[Event, Facts], str]] = {
    "crossed": lambda e, f: f"{e.actor} came to {words.place(e.where)}",
    "fault-armed": lambda e, f: f"the bench made ready: {e.data.get('fault', '')} at {words.place(e.where)}",
    "fault-fired": _fault,
    "call-sent": _sent,
    "arrived": _arrived,
    "effect": _effect,
    "responded": lambda e, f: f"the provider {f.provider_of(e)} answered {e.data.get('code', '')}",
    "caller-saw": _saw,
    "claimed": _claimed,
    "wrote": lambda e, f: "the ledger committed a transaction",
    "alerted": _alerted,
    "worker-started": lambda e, f: f"{e.actor} started{' to ' + str(e.data['verb']) if e.data.get('verb') else ''}",
    "worker-finished": lambda e, f: f"{e.actor} had nothing more to do",
    "worker-died": lambda e, f: f"{e.actor} died{': ' + str(e.data['cause']) if e.data.get('cause') else ''}",
    "worker-paused": lambda e, f: f"{e.actor} stood still",
    "worker-resumed": lambda e, f: f"{e.actor} went on",
    "lease-lost": lambda e, f: f"{e.actor} lost its lease; {e.data.get('taken_by', 'another')} took its work over",
    "dead-call": lambda e, f: f"{e.actor} tried to act although it was dead",
    "submitted": lambda e, f: "the workflow was handed to the candidate",
    "cancelled": lambda e, f: "a person cancelled the intent",
    "approval-requested": _approval("was asked for"),
    "approval-granted": _approval("was granted"),
    "approval-denied": _approval("was denied"),
    "approval-revoked": _approval("was taken back"),
    "approval-consumed": _approval("was spent"),
    "clock-jumped": lambda e, f: f"{int(e.data.get('by_ns', 0)) / words.SECOND:,.0f} seconds passed at once",
    "drifted": lambda e, f: f"an outside actor changed {e.data.get('target', 'the world')} at {f.provider_of(e)}",
    "healed": lambda e, f: "from here on nothing more went wrong",
    "settled": lambda e, f: "recovery had nothing more to do",
    "audited": _audited,
    "run-ended": lambda e, f: f"the run ended: {e.data.get('cut_short') or 'settled'}",
}  # fmt: skip
