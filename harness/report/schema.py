"""The JSON schema (draft 7) of `result.json`, drawn from the classes of `harness.model.result`.

Here: the drawing and its freshness check. Never here: hand-written shapes. `python -m harness.report.schema` writes
`result.schema.json` beside this file; with `--check` it only says whether that file is fresh (exit 1 when it is not).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from harness.model.event import Event
from harness.model.result import RESULT_SCHEMA_VERSION, CampaignResult

PATH = Path(__file__).with_name("result.schema.json")
_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    object: {},
    Any: {},
}


def draw() -> dict[str, Any]:
    """The schema as a value. Every class is a definition; no field may be missing and none may be added."""
    definitions: dict[str, Any] = {}
    _define(CampaignResult, definitions)
    root = definitions.pop(CampaignResult.__name__)
    version = {"const": RESULT_SCHEMA_VERSION, "description": "version of this schema"}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "knownstate campaign result",
        **root,
        "required": ["schema", *root["required"]],
        "properties": {"schema": version} | root["properties"],
        "definitions": dict(sorted(definitions.items())),
    }


def text() -> str:
    return json.dumps(draw(), indent=2) + "\n"


def is_fresh() -> bool:
    """Does the file beside this module say what the classes say now?"""
    return PATH.is_file() and PATH.read_text(encoding="utf-8") == text()


def _define(kind: type, definitions: dict[str, Any]) -> None:
    hints = get_type_hints(kind)
    names = [f.name for f in fields(kind)] if is_dataclass(kind) else list(kind._fields)  # type: ignore[attr-defined] # a NamedTuple
    definitions[kind.__name__] = {
        "description": (kind.__doc__ or "").strip().split("\n")[0],
        "type": "object",
        "additionalProperties": False,
        "required": names,
        "properties": {name: _shape(hints[name], definitions) for name in names},
    }


def _shape(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _shape(get_args(hint)[0], definitions)}
    if get_origin(hint) is Mapping:
        return {"type": "object", "additionalProperties": _shape(get_args(hint)[1], definitions)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    assert isinstance(hint, type), f"{hint} has no shape in JSON"
    assert is_dataclass(hint) or hint is Event, f"{hint} has no shape in JSON"
    if hint.__name__ not in definitions:
        definitions[hint.__name__] = {}
        _define(hint, definitions)
    return {"$ref": f"#/definitions/{hint.__name__}"}


def main(arguments: list[str]) -> int:
    if "--check" not in arguments:
        PATH.write_text(text(), encoding="utf-8")
    elif not is_fresh():
        print(f"{PATH.name} is stale. Next: python -m harness.report.schema", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
