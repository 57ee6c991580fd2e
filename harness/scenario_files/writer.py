"""A `Scenario` as a scenario file: used to export a failing schedule, pinned, for a person to keep.

Here: a small YAML writer for exactly this form (ids and words plain, anything doubtful in double quotes), which
cannot write what the reader refuses. Keys that have their default are left out. Never here: file access.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from harness.model.errors import UsageError
from harness.model.workflow import Approver, Limits, Operation, RecoveryPolicy, Scenario
from harness.scenario_files.durations import duration_text

SCHEMA_NAME = "scenario.schema.json"
LINE_WIDTH = 100

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._@/-]*( [A-Za-z0-9._@/-]+)*\Z")
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words some YAML reader takes for something else; quoted, all agree."""
_PARAGRAPH = re.compile(r"\S+( \S+)*\Z")
_POLICY_KEYS = {
    "attempts_max": "attempts",
    "automatic_compensation_allowed": "automatic-compensation",
    "human_approval_required": "approval",
    "compensation_attempts_max": "compensation-attempts",
    "reconciliation_required_after_timeout": "reconcile-after-timeout",
}
assert set(_POLICY_KEYS) == {field.name for field in fields(RecoveryPolicy)}, "every policy field has its key"


def dump(scenario: Scenario, *, schema: str = SCHEMA_NAME) -> str:
    """A file that `load_text(..., seed=scenario.seed)` reads back as an equal scenario, but for `path`.

    Business targets stand in it as text. `schema` is the schema's address in the modeline. Raises UsageError for a
    workflow whose id is not the scenario's, since the file has one id for both.
    """
    if scenario.workflow.id != scenario.id:
        raise UsageError(
            f"The workflow {scenario.workflow.id!r} of the scenario {scenario.id!r} has an id of its own.",
            where=f"scenario {scenario.id!r}",
            next_step="Give both the same id; a scenario file has one.",
        )
    return "\n".join(_lines(scenario, schema)) + "\n"


def _lines(scenario: Scenario, schema: str) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={schema}"
    yield "version: 1"
    yield f"id: {_scalar(scenario.id)}"
    yield from _prose("title", scenario.title)
    yield from _prose("why", scenario.why)
    if scenario.source:
        yield from _prose("source", scenario.source)
    yield f"kind: {scenario.kind.value}"
    yield f"rigs: {_list(scenario.rigs)}"
    yield "cells:"
    yield from (f"  {_scalar(provider)}: {cell}" for provider, cell in scenario.cells.items())
    yield from _workflow_lines(scenario)
    yield from _circumstance_lines(scenario)


def _workflow_lines(scenario: Scenario) -> Iterator[str]:
    workflow = scenario.workflow
    yield "workflow:"
    if (workflow.intent_id, workflow.intent_version) != ("intent", 1):
        yield f"  intent: {{id: {_scalar(workflow.intent_id)}, version: {workflow.intent_version}}}"
    yield "  operations:"
    for operation in workflow.operations:
        yield f"    {_scalar(operation.id)}:"
        yield from (f"      {line}" for line in _operation_lines(operation))


def _operation_lines(operation: Operation) -> Iterator[str]:
    yield f"provider: {_scalar(operation.provider)}"
    yield f"action: {_scalar(operation.action)}"
    yield f"target: {_scalar(operation.target)}"
    if operation.params:
        yield f"params: {_map(operation.params)}"
    yield f"recovery: {operation.recovery_class.value}"
    if operation.undo is not None:
        yield f"undo: {_scalar(operation.undo)}"
    if operation.depends_on:
        yield f"after: {_list(operation.depends_on)}"
    if operation.must_compensate_before:
        yield f"undo-before: {_list(operation.must_compensate_before)}"
    if operation.policy != RecoveryPolicy():
        yield f"policy: {_map(_policy(operation.policy))}"


def _circumstance_lines(scenario: Scenario) -> Iterator[str]:
    if scenario.always_declined:
        yield f"always-declined: {_list(scenario.always_declined)}"
    if scenario.approver != Approver():
        yield f"approver: {_map(_approver(scenario.approver))}"
    yield f"faults: {_list(sorted(scenario.faults)) if scenario.faults else 'all'}"
    yield f"guarantees: {_list(scenario.guarantees) if scenario.guarantees else 'all'}"
    if scenario.limits != Limits():
        yield f"limits: {_map(_limits(scenario.limits))}"
    if scenario.schedule:
        yield f"schedule: {_quoted(scenario.schedule)}"
    yield f"expect: {scenario.expect.value}"


def _policy(policy: RecoveryPolicy) -> dict[str, str | int]:
    default = RecoveryPolicy()
    pairs = ((key, getattr(policy, name), getattr(default, name)) for name, key in _POLICY_KEYS.items())
    return {key: value for key, value, usual in pairs if value != usual}


def _approver(approver: Approver) -> dict[str, str | int]:
    return {
        "decision": approver.decision,
        "thinks": duration_text(approver.think_ns),
        "valid": duration_text(approver.valid_ns),
    }


def _limits(limits: Limits) -> dict[str, str | int]:
    return {
        "crossings": limits.crossings_max,
        "virtual-time": duration_text(limits.virtual_time_max_ns),
        "settle-rounds": limits.settle_rounds_max,
    }


def _map(entries: Mapping[str, str | int]) -> str:
    return "{" + ", ".join(f"{_scalar(key)}: {_scalar(value)}" for key, value in entries.items()) + "}"


def _list(items: Iterable[str]) -> str:
    return "[" + ", ".join(map(_scalar, items)) + "]"


def _prose(key: str, text: str) -> Iterator[str]:
    """On one line if it fits or if folding would not give the same text back, else folded over lines."""
    is_short = len(key) + len(text) < LINE_WIDTH
    if is_short or not (_PARAGRAPH.match(text) and text.isprintable()):
        yield f"{key}: {_scalar(text)}"
        return
    yield f"{key}: >"
    lines = textwrap.wrap(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (f"  {line}" for line in lines)


def _scalar(value: str | int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return value if _PLAIN.match(value) and value.lower() not in _NOT_TEXT else _quoted(value)


def _quoted(text: str) -> str:
    if '"' in text and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
