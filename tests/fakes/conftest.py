"""The stage every test of this room plays on."""

from __future__ import annotations

import pytest

from tests.fakes.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()
