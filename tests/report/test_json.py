"""result.json and its schema."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import orjson
import pytest

from harness.model.errors import UsageError
from harness.model.result import CampaignResult
from harness.report import schema
from harness.report.json import from_json, to_json
from harness.report.redact import redacted
from tests.report import examples

RESULTS = [examples.campaign(), examples.holding(), examples.inconclusive()]


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_comes_back_as_it_was_but_for_its_secrets(result: CampaignResult) -> None:
    assert from_json(to_json(result)) == redacted(result)


def test_equal_results_give_equal_bytes_whatever_the_order_of_their_mappings() -> None:
    result = examples.campaign()
    turned = replace(result, environment=dict(reversed(result.environment.items())))
    assert to_json(turned) == to_json(result)


@pytest.mark.parametrize("result", RESULTS)
def test_results_are_valid_by_the_shipped_schema(result: CampaignResult) -> None:
    shipped = orjson.loads(schema.PATH.read_bytes())
    jsonschema.Draft7Validator.check_schema(shipped)
    jsonschema.Draft7Validator(shipped).validate(orjson.loads(to_json(result)))


def test_the_schema_refuses_an_outcome_that_is_none() -> None:
    data = orjson.loads(to_json(examples.campaign()))
    data["rows"][0]["outcome"] = "passed"
    with pytest.raises(jsonschema.ValidationError, match="passed"):
        jsonschema.Draft7Validator(schema.draw()).validate(data)


def test_the_schema_refuses_a_field_nobody_declared() -> None:
    data = orjson.loads(to_json(examples.campaign())) | {"mood": "good"}
    with pytest.raises(jsonschema.ValidationError, match="mood"):
        jsonschema.Draft7Validator(schema.draw()).validate(data)


def test_the_shipped_schema_is_fresh() -> None:
    assert schema.is_fresh()
    assert schema.main(["--check"]) == 0


def test_bytes_of_another_version_are_refused_by_name() -> None:
    data = orjson.loads(to_json(examples.campaign())) | {"schema": 99}
    with pytest.raises(UsageError, match="schema version is 99"):
        from_json(orjson.dumps(data))


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"schema": 1}'])
def test_bytes_that_are_no_result_are_a_usage_error(data: bytes) -> None:
    with pytest.raises(UsageError):
        from_json(data)


def test_a_violation_without_a_witness_is_refused() -> None:
    data = orjson.loads(to_json(examples.campaign()))
    data["failures"][0]["verdicts"][0]["witness"] = []
    with pytest.raises(UsageError, match="has a witness"):
        from_json(orjson.dumps(data))
