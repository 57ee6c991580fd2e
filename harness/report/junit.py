"""JUnit XML: one testcase per boundary x fault, for servers that compare builds by name.

Here: the XML. Never here: words of its own about a run. A testcase's name carries no seed, so that it is the same in
every build; runs that differ only in seed or cell are one testcase with the worst of their outcomes, since servers drop
duplicate names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from harness.model.result import CampaignResult, Failure, RunRow
from harness.model.verdict import Outcome, Verdict
from harness.report import summary, words
from harness.report.redact import redacted

CONTROL_NAME = "control run"
MESSAGE_CHARS_MAX = 400
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot carry, not even escaped."""


def to_junit(result: CampaignResult) -> bytes:
    """The whole campaign as one testsuite."""
    result = redacted(result)
    classname = f"knownstate.{_segment(summary.scenario_id(result))}.{_segment(result.candidate)}"
    cases = [_control(result), *_cases(result)]
    for case in cases:
        case.set("classname", classname)
    root = Element("testsuites", name="knownstate")
    suite = SubElement(root, "testsuite", name=classname)
    for element in (root, suite):
        _total(element, cases, result.seconds)
    _properties(
        suite,
        {
            "command": result.command,
            "rig": result.rig,
            "cell": result.cell,
            "seed": str(result.seed),
            "ended": result.ended,
        },
    )
    suite.extend(cases)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def clean(text: str) -> str:
    """The text without characters XML cannot carry."""
    return _FORBIDDEN.sub("", text)


def _segment(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or "unnamed"


def _total(element: Element, cases: Sequence[Element], seconds: float) -> None:
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", f"{seconds:.3f}")


def _control(result: CampaignResult) -> Element:
    case = Element("testcase", name=CONTROL_NAME)
    _judge(case, result.control, result.control_verdicts, "\n".join(_explanations(result.control_verdicts)))
    return case


def _cases(result: CampaignResult) -> Iterable[Element]:
    failures = summary.failures_by_schedule(result)
    groups: dict[str, list[RunRow]] = {}
    for row in result.rows:
        if row.fault:
            groups.setdefault(_name(row), []).append(row)
    for name, rows in groups.items():
        outcome = summary.worst([row.outcome for row in rows])
        shown = next(row for row in rows if row.outcome is outcome)
        yield _case(result, name, shown, failures.get(shown.schedule))


def _name(row: RunRow) -> str:
    after = f" after {row.trigger}" if row.trigger else ""
    return clean(f"{row.boundary}={row.fault}{after}")


def _case(result: CampaignResult, name: str, row: RunRow, failure: Failure | None) -> Element:
    case = Element("testcase", name=name)
    replay = summary.replay_of(result, row)
    _properties(case, {"seed": str(result.seed), "schedule": row.schedule, "replay": replay})
    lines = [*(failure.story if failure else ()), *_explanations(row.verdicts), f"replay: {replay}" if replay else ""]
    _judge(case, row.outcome, row.verdicts, "\n".join(filter(None, lines)))
    return case


def _judge(case: Element, outcome: Outcome, verdicts: Sequence[Verdict], text: str) -> None:
    if outcome is Outcome.HOLDS:
        return
    first = next((v for v in verdicts if v.outcome is outcome), None)
    message = words.argument(first.explanation) if first else "no guarantee was judged"
    tag = "failure" if outcome is Outcome.VIOLATED else "error"
    mark = SubElement(case, tag, type=clean(first.guarantee if first else "known-state"), message=_one_line(message))
    mark.text = clean(text)


def _one_line(text: str) -> str:
    return clean(" ".join(text.split()))[:MESSAGE_CHARS_MAX]


def _explanations(verdicts: Iterable[Verdict]) -> list[str]:
    return [f"{v.guarantee} {v.outcome.value}: {v.explanation}" for v in verdicts if v.outcome is not Outcome.HOLDS]


def _properties(parent: Element, values: dict[str, str]) -> None:
    properties = SubElement(parent, "properties")
    for name, value in values.items():
        if value:
            SubElement(properties, "property", name=name, value=clean(value))
