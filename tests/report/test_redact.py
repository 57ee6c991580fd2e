"""Secrets never reach a report."""

from __future__ import annotations

import pytest

from harness.model.verdict import Outcome
from harness.model.wire import FoundRecord
from harness.report import RENDERERS
from harness.report.redact import redact, redacted
from tests.report import examples

SECRETS = [
    examples.SECRET,
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "AKIAIOSFODNN7EXAMPLE",
    "whsec_0123456789abcdef",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_value_that_looks_like_a_key_is_replaced(secret: str) -> None:
    told = redact(f"sent with {secret}, then retried")
    assert secret not in told
    assert told.startswith("sent with [redacted:")
    assert told.endswith("], then retried")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abc.def-12345", "abc.def-12345"),
        ("https://bob:hunter2@example.test/x", "bob:hunter2"),
        ("postgres://u:p@db/x", "u:p"),
        ("run --api-key tops3cret --seed 4", "tops3cret"),
        ("password=hunter2&x=1", "hunter2"),
        ('{"secret": "hunter2"}', "hunter2"),
    ],
)
def test_a_secret_beside_its_name_is_replaced_and_the_rest_stays(text: str, secret: str) -> None:
    told = redact(text)
    assert secret not in told
    assert told.startswith(text.split(secret)[0])
    assert told.endswith(text.split(secret)[1])


@pytest.mark.parametrize(
    "text",
    [
        "onboarding:seed=0:onboarding/billing.charge/attempt-1/committed=lost-response",
        "https://example.test:8080/a?b=c",
        "the fencing token 3 is older than 4",
        "the bearer of this approval",
        "password policy",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_equal_secrets_keep_being_equal_and_others_do_not() -> None:
    assert redact(SECRETS[0]) == redact(SECRETS[0]) != redact(SECRETS[1])


def test_redacting_twice_changes_nothing_more() -> None:
    once = redacted(examples.campaign())
    assert redacted(once) == once


def test_what_stands_under_a_secrets_name_is_replaced_whatever_it_is() -> None:
    assert redacted({"password": "x", "amount": 3})["password"].startswith("[redacted:")
    assert redacted({"password": "x", "amount": 3})["amount"] == 3


def test_found_records_and_outcomes_keep_their_types() -> None:
    record = FoundRecord(examples.SECRET, "billing.charge", "charge", True)
    cleaned = redacted((record, Outcome.HOLDS))
    assert isinstance(cleaned[0], FoundRecord)
    assert cleaned[0].reference.startswith("[redacted:")
    assert cleaned[1] is Outcome.HOLDS


@pytest.mark.parametrize("name", RENDERERS)
def test_no_renderer_lets_a_secret_through(name: str) -> None:
    _, render = RENDERERS[name]
    rendered = render(examples.campaign())
    text = rendered if isinstance(rendered, str) else rendered.decode()
    assert examples.SECRET not in text
    assert "hunter2" not in text
    assert "[redacted:" in text
