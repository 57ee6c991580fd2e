"""The JSON schema of a scenario file, for editors: draft 7, made from the forms.

It is kept in `scenarios/scenario.schema.json`: `python -m harness.scenario_files.schema --write` writes it, `--check`
says whether the kept one is fresh. Here: the way from pydantic's 2020-12 dialect to draft 7, which editors read, and
the closed lists of names. Never here: a rule the forms do not have. The schema admits more than the loader does, which
also knows the rules between keys.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.scenario_files.known import KNOWN_ACTIONS, guarantee_ids
from harness.scenario_files.loader import shipped_folder
from harness.scenario_files.writer import SCHEMA_NAME

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
_NEW_REF, _OLD_REF = "#/$defs/", "#/definitions/"
_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "definitions"})
"""Keys below which names are the author's, not the dialect's."""


def scenario_schema() -> dict[str, Any]:
    """The schema as data; equal inputs give equal data, in one order."""
    from harness.scenario_files.models import ScenarioForm

    schema = draft_7(ScenarioForm.model_json_schema(by_alias=True))
    _close_names(schema)
    return {"$schema": DRAFT_7, "title": "knownstate scenario", **schema}


def schema_text() -> str:
    """The schema as the text of its file."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


def schema_path() -> Path:
    """Where the shipped schema is."""
    return shipped_folder() / SCHEMA_NAME


def draft_7(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A 2020-12 schema, as pydantic writes it, in draft 7.

    Definitions move, tuples get their old name, and a `$ref` with neighbours goes into `allOf`, since draft 7 ignores
    the neighbours. Generated titles are dropped: they repeat the key.
    """
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"title", "discriminator"}:
            continue
        new_key = {"$defs": "definitions", "prefixItems": "items"}.get(key, key)
        if new_key in _MAPS_OF_SCHEMAS:
            found[new_key] = {name: draft_7(child) for name, child in value.items()}
        else:
            found[new_key] = _draft_7_value(new_key, value)
    if "$ref" in found and len(found) > 1:
        found = {"allOf": [{"$ref": found.pop("$ref")}], **found}
    return found


def _draft_7_value(key: str, value: Any) -> Any:
    if key == "$ref":
        return str(value).replace(_NEW_REF, _OLD_REF)
    if key in {"default", "const", "enum", "examples"}:
        return value
    if isinstance(value, Mapping):
        return draft_7(value)
    if isinstance(value, list):
        return [draft_7(item) if isinstance(item, Mapping) else item for item in value]
    return value


def _close_names(schema: dict[str, Any]) -> None:
    """Put in the names the forms leave open, so that an editor offers them: providers, actions, undos, guarantees."""
    providers = list(KNOWN_ACTIONS)
    actions = list(dict.fromkeys(action for known in KNOWN_ACTIONS.values() for action in known))
    undos = list(dict.fromkeys(undo for known in KNOWN_ACTIONS.values() for undo in known.values() if undo))
    operation = schema["definitions"]["OperationForm"]["properties"]
    operation["provider"]["enum"] = providers
    operation["action"]["enum"] = actions
    operation["undo"] = {"enum": [*undos, None], "default": None, "description": operation["undo"]["description"]}
    schema["definitions"]["WorkflowForm"]["properties"]["operations"]["additionalProperties"] = False
    schema["properties"]["cells"]["propertyNames"] = {"enum": providers}
    listed = schema["properties"]["guarantees"]["oneOf"][1]
    listed["items"]["enum"] = list(guarantee_ids())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the shipped schema. 0: done or fresh; 1: stale."""
    parser = argparse.ArgumentParser(prog="python -m harness.scenario_files.schema", description=__doc__.split("\n")[0])
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--write", action="store_true", help=f"write {SCHEMA_NAME}")
    choice.add_argument("--check", action="store_true", help=f"exit with 1 if {SCHEMA_NAME} is stale")
    options = parser.parse_args(arguments)
    path = schema_path()
    if options.write:
        path.write_text(schema_text(), encoding="utf-8")
        return 0
    return _check(path)


def _check(path: Path) -> int:
    if path.is_file() and path.read_text(encoding="utf-8") == schema_text():
        return 0
    print(f"{path} is stale. Next: python -m harness.scenario_files.schema --write", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
