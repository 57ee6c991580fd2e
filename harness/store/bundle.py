"""The failure bundle: everything one needs to understand and repeat one failing run, in a folder that can be attached to a ticket."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import orjson

from harness.model.plain import to_plain
from harness.model.result import Failure
from harness.model.workflow import Expectation, Scenario
from harness.scenario_files.writer import dump
from harness.store.atomic import write_whole


def write_bundle(folder: Path, failure: Failure, scenario: Scenario, history: bytes) -> None:
    """Write `scenario.yaml` (pinned), `schedule.txt`, `history.jsonl`, `verdict.json`, `story.txt`, `REPLAY.txt`."""
    pinned = replace(scenario, schedule=failure.schedule, expect=Expectation.VIOLATION, faults=frozenset())
    write_whole(folder / f"{scenario.id}.scenario.yaml", dump(pinned))
    write_whole(folder / "schedule.txt", failure.schedule + "\n")
    write_whole(folder / "history.jsonl", history)
    write_whole(
        folder / "verdict.json", orjson.dumps([to_plain(v) for v in failure.verdicts], option=orjson.OPT_INDENT_2)
    )
    write_whole(folder / "story.txt", "\n".join(failure.story) + "\n")
    write_whole(folder / "REPLAY.txt", failure.replay + "\n")


def clear_bundles(folder: Path) -> None:
    """Remove the bundles of an earlier campaign in the same folder, and nothing else: the folder may be somebody's own."""
    for bundle in folder.glob("[0-9][0-9][0-9]-*"):
        if (bundle / "schedule.txt").is_file():
            shutil.rmtree(bundle)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
