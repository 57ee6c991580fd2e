"""The examples do what the papers say of them, and the papers say only what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from harness.campaign.bench import Bench, BenchSpec
from harness.campaign.options import Options
from harness.campaign.runner import Campaign
from harness.commands import COMMANDS
from harness.explore.singles import Singles
from harness.model.cell import ALL_CELLS, Cell
from harness.model.result import CampaignResult
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome
from harness.scenario_files.loader import find, load, load_text

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("*/README.md")),
]
PAGES += sorted(ROOT.glob("harness/*/README.md")) + sorted(ROOT.glob("reference_ledger/*/README.md"))


@pytest.fixture(autouse=True)
def _examples_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def campaign(candidate: str, out: Path) -> CampaignResult:
    return Campaign(load(find("pair")), candidate, Options(out=out)).run()


# --- the two ledgers -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_minimal_ledger_keeps_every_guarantee_of_its_level_on_recovery_paths_too(tmp_path: Path) -> None:
    result = campaign("minimal_ledger:Ledger", tmp_path)
    assert result.outcome is Outcome.HOLDS
    assert result.coverage.recovery_boundaries > 0
    assert result.traits["level"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("cell", ALL_CELLS, ids=str)
def test_the_minimal_ledger_is_sound_in_every_provider_cell(cell: Cell) -> None:
    bench = Bench(BenchSpec("minimal_ledger:Ledger", load(find("pair")), cell, "simulation", ""))
    try:
        singles = Singles(bench.scenario, bench.rig.cells, Schedule("pair", cell=cell), bench.abilities)
        planned = singles.first_round(bench.rig.run(singles.base).sites)
        outcomes = {str(p.schedule): bench.examine(p.schedule).outcome for p in [singles.control(), *planned]}
    finally:
        bench.close()
    assert len(outcomes) > 50
    assert [line for line, outcome in outcomes.items() if outcome != "holds"] == []


@pytest.mark.slow
def test_the_naive_ledger_holds_without_faults_and_charges_twice_with_them(tmp_path: Path) -> None:
    result = campaign("naive_ledger:Ledger", tmp_path)
    broken = {verdict.guarantee for row in result.rows for verdict in row.verdicts}
    assert result.control is Outcome.HOLDS
    assert result.exit_code == 1
    assert {"no-duplicate-effect", "no-blind-retry", "stable-identity"} <= broken


def test_the_minimal_ledger_uses_sqlite3_and_the_contract_alone() -> None:
    tree = ast.parse((EXAMPLES / "minimal_ledger.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"json", "sqlite3"}
    ours = {
        module
        for module in modules
        if module == "harness.candidates.contract" or str(module).startswith("harness.model.")
    }
    assert modules - ours == {"collections.abc"}


# --- the papers ------------------------------------------------------------------------------------------------------


def test_the_scenario_in_the_readme_is_one() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert load_text(text, "README.md").id == "one-charge"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_in_a_page_leads_to_something(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    gone = [t for t in targets if not t.startswith("http") and not (page.parent / t).exists()]
    assert gone == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = [*re.findall(r"^ *```.*?^ *```", text, re.MULTILINE | re.DOTALL), *re.findall(r"`[^`\n]+`", text)]
    said = {name for piece in code for name in re.findall(r"(?<![-\w.])knownstate ([a-z][a-z-]*)", piece)}
    assert said <= set(COMMANDS)
