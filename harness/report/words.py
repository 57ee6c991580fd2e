"""Plain words for a person: times, places, actions and faults, without event jargon.

Here: literal tables and small functions from values to words. Never here: choosing what is worth saying (that is
`facts`), or layout.
"""

from __future__ import annotations

import re

from harness.model.boundary import UNDO_PREFIX, Boundary
from harness.model.fault import FAULTS, Fault

SECOND = 1_000_000_000
_HOPS_MAX = 3

EXIT_MEANINGS: dict[int, str] = {
    0: "every guarantee that could be judged holds",
    1: "a guarantee is violated",
    2: "the scenario, the options or the candidate's answers cannot be used",
    3: "inconclusive: it cannot be said that the guarantees hold",
    4: "something on this machine is missing (a server, a port, a program)",
    5: "nothing was selected",
    130: "interrupted",
}

ENDINGS: dict[str, str] = {
    "complete": "the campaign ran to its end",
    "interrupted": "the campaign was interrupted before its end",
    "max-failures": "the campaign stopped at its limit of failures",
    "max-time": "the campaign stopped at its time limit",
    "max-schedules": "the campaign stopped at its limit of schedules",
    "fail-fast": "the campaign stopped at the first failure",
    "control-failed": "the control run failed, so nothing was injected",
}

STRUCK: dict[Fault, str] = {
    Fault.CRASH: "the worker died",
    Fault.LOST_REQUEST: "the request was lost on its way",
    Fault.LOST_RESPONSE: "the response was lost after the provider had committed",
    Fault.CONNECTION_REFUSED: "the connection was refused",
    Fault.CONNECTION_RESET: "the connection was reset after the provider had committed",
    Fault.TRUNCATED_RESPONSE: "the response broke off half-way",
    Fault.SLOW_RESPONSE: "the response came only after the caller had given up",
    Fault.DUPLICATE_DELIVERY: "the network delivered the request twice",
    Fault.LATE_DELIVERY: "the request was held up, to be delivered much later",
    Fault.UNAVAILABLE: "the provider answered 503 and did nothing",
    Fault.ERROR_AFTER_COMMIT: "the provider committed and then answered 500",
    Fault.RATE_LIMITED: "the provider answered 429 and did nothing",
    Fault.DECLINED: "the provider declined",
    Fault.REJECTS_DUPLICATE_KEY: "the provider rejected the key because it had seen it before",
    Fault.KEY_REUSED: "the key had been used by somebody else",
    Fault.KEY_IN_USE: "the provider was still busy with this key",
    Fault.FALSE_SUCCESS: "the provider said success and did nothing",
    Fault.PENDING_THEN_SUCCEEDED: "the provider accepted the request, to commit it later",
    Fault.PENDING_THEN_FAILED: "the provider accepted the request, to give up on it later",
    Fault.WEBHOOK_LATE: "the webhook came late",
    Fault.WEBHOOK_TWICE: "the webhook came twice",
    Fault.WEBHOOK_OUT_OF_ORDER: "the webhooks overtook each other",
    Fault.LOOKUP_UNAVAILABLE: "the look-up was answered 503",
    Fault.STALE_LOOKUP: "the look-up said `not found` although the effect stood",
    Fault.PARTIAL_LOOKUP: "the look-up answered an empty first page",
    Fault.CANCEL: "a person cancelled the intent",
    Fault.SUPERSEDE: "another intent superseded this one",
    Fault.DOUBLE_SUBMIT: "the same intent was submitted a second time",
    Fault.APPROVAL_DENIED: "the person denied the approval",
    Fault.APPROVAL_EXPIRES: "the approval expired between its check and its use",
    Fault.APPROVAL_REVOKED: "the person took the approval back after it had been read",
    Fault.APPROVAL_FOR_CHANGED_PARAMETERS: "the approval was spent on changed parameters",
    Fault.EXTERNAL_CHANGE: "an outside actor undid the effect first",
    Fault.OPERATOR_ANSWERS_TWICE: "a person answered the same question twice",
    Fault.ZOMBIE_WORKER: "the worker stood still until another one had taken its work over, then went on",
    Fault.LEASE_LOST_IN_RECONCILIATION: "the worker lost its lease while it was reconciling",
    Fault.RECOVERY_ADOPTS_LIVE_RUN: "a recovery started while the worker was alive",
    Fault.RECOVERY_NEVER_COMES: "nobody came to recover the work",
    Fault.CLOCK_JUMP: "25 hours passed at once",
    Fault.COMMIT_UNACKNOWLEDGED: "the ledger's store committed and did not say so",
    Fault.COMMIT_LOST: "the ledger's store lost the commit and did not say so",
    Fault.SERIALIZATION_FAILURE: "the ledger's store rolled the transaction back",
    Fault.STORE_LOCKED: "the ledger's store was locked",
    Fault.STORE_FULL: "the ledger's store was full",
    Fault.STORE_CONNECTION_LOST: "the connection to the ledger's store broke before the commit",
    Fault.OVERLOAD: "there was more work than capacity",
}
assert set(STRUCK) == set(Fault), "every fault has its words"

_STEPS = {"attempt": "attempt", "lookup": "look-up", "verify": "verification", "approval": "approval"}
_PAST = {
    "buy": "bought", "cancel": "cancelled", "drop": "dropped", "give": "gave", "hold": "held", "make": "made",
    "pay": "paid", "put": "put", "send": "sent", "set": "set", "ship": "shipped", "stop": "stopped",
    "submit": "submitted", "take": "took", "transfer": "transferred", "undo": "undid", "withdraw": "withdrew",
    "write": "wrote",
}  # fmt: skip
_ORDINALS = ("", "", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def seconds(time_ns: int) -> str:
    """Virtual time as ` 0.012s`."""
    return f"{time_ns / SECOND:6.3f}s"


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 run`, `2 runs`, `1,204 runs`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def again(nth: int) -> str:
    """` a second time` for the second of its kind, nothing for the first."""
    if nth < 2:
        return ""
    return f" a {_ORDINALS[nth]} time" if nth < len(_ORDINALS) else f" for time number {nth}"


def imperative(action: str) -> str:
    """`charge`, or `create record` for `create-record`, or `create charge` for `charge.create`."""
    noun, _, verb = action.rpartition(".")
    return " ".join(filter(None, [*re.split(r"[-_]", verb), *noun.split(".")]))


def past(action: str) -> str:
    """What a provider did: `charged` for `charge`."""
    verb, *rest = imperative(action).split(" ")
    return " ".join([_past_of(verb), *rest])


def _past_of(verb: str) -> str:
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if re.search(r"[^aeiou]y$", verb) else verb + "ed"


def operation(subject: str) -> str:
    """`billing.charge`, `the undo of billing.charge`, `the workflow`."""
    if subject == "workflow":
        return "the workflow"
    return f"the undo of {subject.removeprefix(UNDO_PREFIX)}" if subject.startswith(UNDO_PREFIX) else subject


def step(name: str) -> str:
    """`attempt 2` for `attempt-2`."""
    kind, _, number = name.rpartition("-")
    return f"{_STEPS.get(kind, kind)} {number}" if kind and number.isdigit() else name


def place(path: str) -> str:
    """Where, for a person: `attempt 1 of billing.charge` for a boundary's or a call's path; other texts as they are."""
    parts = path.split("/")
    if len(parts) not in (3, 4):
        return operation(path) if path else "the run"
    return f"{step(parts[2])} of {operation(parts[1])}"


def struck(fault: str) -> str:
    """What the fault did, or its bare name for one that is not in the alphabet."""
    try:
        return STRUCK[Fault(fault)]
    except ValueError:
        return fault


def survival(fault: str) -> str:
    """How a sound ledger survives this fault, "" for a stranger. A fault the table refers to has its text added."""
    if fault not in set(Fault):
        return ""
    own = FAULTS[Fault(fault)].survivable
    text, names = own, {member.value.replace("-", " "): member for member in Fault}
    for _ in range(_HOPS_MAX):
        referred = re.search(r"[Aa]s for an? ([a-z -]+?)[.:]", text)
        if not referred or referred.group(1) not in names:
            break
        text = FAULTS[names[referred.group(1)]].survivable
    return own if text == own else f"{own} {text}"


def boundary_or_none(path: str) -> Boundary | None:
    """The boundary this path names, or None when it is no boundary's path."""
    try:
        return Boundary.parse(path)
    except ValueError:
        return None


def reasoning(explanation: str) -> tuple[tuple[str, str], ...]:
    """A verdict's explanation as (word, text) with the words `let`, `then`, `but`.

    One pair with the word "" when it has none.
    """
    text = explanation.strip()
    lines = re.split(r"\s*(?:/|\n)\s*(?=(?:let|then|but)\b)", text)
    parts = lines if len(lines) > 1 else re.split(r"[;.,]\s+(?=(?:let|then|but)\b)", text)
    return tuple(_lead(part) for part in parts if part.strip())


def argument(explanation: str) -> str:
    """An explanation as one line for a person: `let a, then b, but c`, without event numbers and the closing word."""
    text = ", ".join(f"{word} {text}".strip() for word, text in reasoning(explanation))
    text = re.sub(r"\s*\(events? [\d, ]+\)", "", text)
    return " ".join(re.sub(r"\s*[:,]?\s*a contradiction\.?$", "", text).split())


def _lead(part: str) -> tuple[str, str]:
    found = re.match(r"(let|then|but)\b[\s:,]*", part)
    return (found.group(1), part[found.end() :].strip()) if found else ("", part.strip())
