"""The JSON schema: fresh, valid draft 7, true to the forms, and obeyed by every shipped file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from harness.scenario_files import dump, load, shipped
from harness.scenario_files import schema as schema_module
from harness.scenario_files.models import (
    ApproverForm,
    CellForm,
    FakerForm,
    IntentForm,
    LimitsForm,
    OperationForm,
    PolicyForm,
    ScenarioForm,
    WorkflowForm,
    keys_of,
)
from harness.scenario_files.schema import draft_7, main, scenario_schema, schema_path, schema_text
from harness.scenario_files.yaml_text import Plain, read_yaml
from tests.scenario_files.texts import GOOD, spoilt


def problems(text: str) -> list[str]:
    return [error.message for error in Draft7Validator(scenario_schema()).iter_errors(read_yaml(text, "x.yaml").data)]


def test_the_shipped_schema_is_fresh() -> None:
    assert schema_path().read_text(encoding="utf-8") == schema_text(), "python -m harness.scenario_files.schema --write"


def test_the_schema_is_valid_draft_7() -> None:
    schema = json.loads(schema_path().read_text(encoding="utf-8"))
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.name)
def test_a_shipped_file_and_its_export_obey_the_schema(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []
    assert problems(dump(load(path))) == []


def test_the_schema_accepts_what_the_loader_accepts() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: workflow", "kind: workflo"),
        ("undo-before:", "undo_before:"),
        ("[crash, lost-response]", "[crash, lost-respons]"),
        ("[crash, lost-response]", "[crash, crash]"),
        ("[crash, lost-response]", "[]"),
        ("guarantees: all", "guarantees: [settels]"),
        ("provider: payment", "provider: paymnt"),
        ("undo: refund", "undo: refunds"),
        ("thinks: 250ms", "thinks: 250"),
        ("attempts: 2", "attempts: 0"),
        ("honoured.authoritative.late", "honoured.late"),
        ("{key: expires,", "{kee: expires,"),
        ("  cloud: {", "  clouds: {"),
        ("    second:", "    Second:"),
        ("target: ORD-1", "target: {faker: emails}"),
        ("title: Two steps", "title: 12"),
    ],
)
def test_the_schema_refuses_what_one_key_may_not_say(old: str, new: str) -> None:
    assert problems(spoilt(old, new))


# --- from one dialect to the other ---------------------------------------------------------------------------------


def every_map(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for item in value for found in every_map(item)]
    if not isinstance(value, dict):
        return []
    return [value, *(found for child in value.values() for found in every_map(child))]


def test_nothing_of_the_newer_dialect_is_left() -> None:
    assert "$defs" not in schema_text()
    assert all("prefixItems" not in found for found in every_map(scenario_schema()))


def test_no_reference_has_neighbours_and_each_leads_somewhere() -> None:
    schema = scenario_schema()
    references = [found for found in every_map(schema) if "$ref" in found]
    assert references
    for found in references:
        assert set(found) == {"$ref"}, "draft 7 ignores what stands beside a $ref"
        assert found["$ref"].removeprefix("#/definitions/") in schema["definitions"]


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ({"$defs": {"A": {"type": "null"}}}, {"definitions": {"A": {"type": "null"}}}),
        ({"$ref": "#/$defs/A"}, {"$ref": "#/definitions/A"}),
        ({"$ref": "#/$defs/A", "default": 1}, {"allOf": [{"$ref": "#/definitions/A"}], "default": 1}),
        ({"prefixItems": [{"$ref": "#/$defs/A"}]}, {"items": [{"$ref": "#/definitions/A"}]}),
        (
            {"properties": {"title": {"title": "Title", "type": "string"}}},
            {"properties": {"title": {"type": "string"}}},
        ),
        ({"const": {"$defs": 1}, "default": {"title": 1}}, {"const": {"$defs": 1}, "default": {"title": 1}}),
    ],
)
def test_a_piece_of_schema_becomes_draft_7(newer: dict[str, Any], older: dict[str, Any]) -> None:
    assert draft_7(newer) == older


FORMS = (
    ApproverForm,
    CellForm,
    FakerForm,
    IntentForm,
    LimitsForm,
    OperationForm,
    PolicyForm,
    ScenarioForm,
    WorkflowForm,
)


@pytest.mark.parametrize("form", FORMS)
def test_every_key_of_a_form_is_in_the_schema_and_no_other(form: type[ScenarioForm]) -> None:
    schema = scenario_schema()
    described = schema if form is ScenarioForm else schema["definitions"][form.__name__]
    assert tuple(described["properties"]) == keys_of(form)
    assert described["additionalProperties"] is False


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command works on the shipped file; here it gets another one to spoil."""
    path = tmp_path / "scenario.schema.json"
    monkeypatch.setattr(schema_module, "schema_path", lambda: path)
    return path


def test_check_passes_after_write_and_fails_after_a_change(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 1
    assert main(["--write"]) == 0
    assert main(["--check"]) == 0
    elsewhere.write_text(elsewhere.read_text() + " ")
    assert main(["--check"]) == 1
    assert "is stale. Next: python -m harness.scenario_files.schema --write" in capsys.readouterr().err


def test_equal_inputs_give_equal_text() -> None:
    assert schema_text() == schema_text()
    data: Plain = json.loads(schema_text())
    assert data == scenario_schema()
