"""Writes what a campaign leaves in its folder, and the reports asked for elsewhere."""

from __future__ import annotations

from pathlib import Path

from harness.model.result import CampaignResult
from harness.report import RENDERERS
from harness.store.atomic import write_whole

ALWAYS = {"json": "result.json", "html": "report.html", "junit": "junit.xml"}
NAMES = {"json": "result", "html": "page", "junit": "junit", "md": "markdown"}


def write_outputs(
    result: CampaignResult, folder: Path, formats: list[tuple[str, Path | None]]
) -> list[tuple[str, Path]]:
    """Render and write; returns (what, where) of each file, the result and the page first."""
    wanted = [(name, folder / file) for name, file in ALWAYS.items()]
    wanted += [
        (name, path or folder / f"report{RENDERERS[name][0]}") for name, path in formats if path or name not in ALWAYS
    ]
    for name, path in wanted:
        write_whole(path, RENDERERS[name][1](result))
    return [(NAMES[name], path) for name, path in wanted]
