"""Finding and reading scenario files.

Here: the way from a name or a path to a `Scenario`. Never here: what a file may say (models, checks). Everything
refused is a `UsageError` with what, where (file and line) and what to do next. pydantic and ruamel.yaml are imported
by the first file read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.model.errors import UsageError
from harness.model.workflow import Scenario
from harness.scenario_files.known import advice
from harness.scenario_files.yaml_text import Document, is_regular, read_bounded, read_yaml

if TYPE_CHECKING:
    from harness.scenario_files.models import ScenarioForm

SUFFIX = ".scenario.yaml"


def load(path: Path, seed: int | None = None) -> Scenario:
    """Read a scenario file. `seed` makes the business targets; None: the pinned schedule's seed, or 0 without one."""
    return load_text(read_bounded(path), path, seed)


def load_text(text: str, path: Path, seed: int | None = None) -> Scenario:
    """Read a scenario from text. `path` is only for messages and for `Scenario.path`."""
    from pydantic import ValidationError

    from harness.scenario_files.models import ScenarioForm
    from harness.scenario_files.problems import usage_error

    document = read_yaml(text, str(path))
    _refuse_other_shapes(document)
    try:
        form = ScenarioForm.model_validate(document.data)
    except ValidationError as error:
        raise usage_error(error, document) from None
    return _resolved(form, document, seed)


def find(name_or_path: str, folders: Sequence[Path] = ()) -> Path:
    """The file of a scenario id, in `folders` before the shipped ones, or of a path. Raises UsageError for neither."""
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"} or len(path.parts) != 1:
        return _existing(path)
    known = {_id_of(file): file for folder in reversed([*folders, shipped_folder()]) for file in _files(folder)}
    if name_or_path in known:
        return known[name_or_path]
    if is_regular(path):
        return path
    raise UsageError(
        f"There is no scenario {name_or_path!r}.",
        where=f"scenario name {name_or_path!r}",
        next_step=advice(name_or_path, sorted(known), noun="Scenarios") + " A path to a file works too.",
    )


def shipped() -> list[Path]:
    """The scenario files of the `scenarios` package, by name."""
    return _files(shipped_folder())


def shipped_folder() -> Path:
    """The folder of the `scenarios` package beside this one."""
    import scenarios

    assert scenarios.__file__ is not None, "scenarios is a package with an __init__"
    return Path(scenarios.__file__).parent


def _resolved(form: ScenarioForm, document: Document, seed: int | None) -> Scenario:
    from harness.model.schedule import Schedule
    from harness.scenario_files.checks import check_effects_differ, check_form
    from harness.scenario_files.resolve import scenario_of, targets_of

    check_form(form, document)
    if seed is None:
        seed = Schedule.parse(form.schedule).seed if form.schedule else 0
    targets = targets_of(form, seed)
    check_effects_differ(targets, form, document)
    return scenario_of(form, targets=targets, seed=seed, path=document.name)


def _refuse_other_shapes(document: Document) -> None:
    if document.data is None:
        raise UsageError(
            "The file is empty.", where=f"{document.name}:1", next_step="Start from a copy of a shipped scenario."
        )
    if not isinstance(document.data, dict):
        held = "a list" if isinstance(document.data, list) else "one value"
        raise UsageError(
            f"A scenario is a map of keys, and the file holds {held}.",
            where=document.where(),
            next_step="Begin with `version: 1`, `id: ...` and the other keys, one a line.",
        )


def _existing(path: Path) -> Path:
    if is_regular(path):
        return path
    if path.is_dir():
        raise UsageError(f"{str(path)!r} is a directory.", where=str(path), next_step=f"Name one *{SUFFIX} file in it.")
    siblings = [file.name for file in _files(path.parent)]
    raise UsageError(
        f"There is no file {str(path)!r}.", where=str(path), next_step=advice(path.name, siblings, noun="Files there")
    )


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SUFFIX}"))


def _id_of(file: Path) -> str:
    return file.name.removesuffix(SUFFIX)
