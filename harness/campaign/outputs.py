"""Writes what a campaign leaves in its folder, and the reports asked for elsewhere."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from harness.model.errors import UsageError
from harness.model.result import CampaignResult
from harness.report import RENDERERS
from harness.store.atomic import unwritable, write_whole

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


def parse_reports(reports: tuple[str, ...]) -> list[tuple[str, Path | None]]:
    """`FMT[=PATH]` as (format, path). Raises UsageError for an unknown format, and EnvironmentMissing now rather than after the
    campaign for a path that cannot be written.
    """
    parsed: list[tuple[str, Path | None]] = []
    for text in reports:
        name, _, path = text.partition("=")
        if name not in RENDERERS:
            raise UsageError(
                f"There is no report format {name!r}; the formats are {', '.join(RENDERERS)}.",
                where=f"--report {text}",
                next_step="For instance --report junit=out/junit.xml.",
            )
        parsed.append((name, _writable(Path(path)) if path else None))
    return parsed


def _writable(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    if path.is_dir():
        raise unwritable(path, IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if not os.access(path.parent, os.W_OK):
        raise unwritable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    return path
