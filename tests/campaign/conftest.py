"""One whole campaign each, made once: tests compare with it and leave it as it is."""

from __future__ import annotations

import pytest

from harness.model.result import CampaignResult
from tests.campaign.stage import TWIN, explored


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> CampaignResult:
    """The reference ledger on the small scenario: holds."""
    return explored(tmp_path_factory.mktemp("whole") / "out")


@pytest.fixture(scope="package")
def failing(tmp_path_factory: pytest.TempPathFactory) -> CampaignResult:
    """The twin on it: violated."""
    return explored(tmp_path_factory.mktemp("failing") / "out", TWIN)
