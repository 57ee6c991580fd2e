"""Scenario files: the YAML form of a `Scenario`, read strictly and written back.

Here: the form (models), the bounded YAML reader, the checks, the loader, the writer, the JSON schema. Never here:
running, judging or exploring a scenario, and code that comes out of a file. Importing this package is cheap: pydantic
and ruamel.yaml are imported by the first file that is read.
"""

from harness.scenario_files.loader import find, load, load_text, shipped
from harness.scenario_files.writer import dump

__all__ = ["dump", "find", "load", "load_text", "shipped"]
