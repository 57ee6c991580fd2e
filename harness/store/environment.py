"""What a result depends on beside its inputs: interpreter, packages, platform. Recorded beside every campaign, never in a history."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

PACKAGES = (
    "knownstate",
    "greenlet",
    "sqlalchemy",
    "hypothesis",
    "faker",
    "pydantic",
    "orjson",
    "ruamel.yaml",
    "pytest",
    "starlette",
    "uvicorn",
    "toxiproxy-python",
)


def environment() -> dict[str, str]:
    """Name -> version, sorted by name."""
    found = {
        "python": sys.version.split()[0],
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
    }
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return dict(sorted(found.items()))
