"""Reports: pure renderers of one CampaignResult, and the story of a failing run.

Here: the table of renderers, each imported only when it is used. Never here: files, clocks, judging. `story` and
`console` are imported by their own names: the first is needed before there is a result, the second prints instead of
returning.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from harness.model.result import CampaignResult

Renderer = Callable[[CampaignResult], str | bytes]


def _lazy(module: str, function: str) -> Renderer:
    def render(result: CampaignResult) -> str | bytes:
        rendered = getattr(import_module(f"harness.report.{module}"), function)(result)
        assert isinstance(rendered, (str, bytes)), f"{module}.{function} gives text or bytes"
        return rendered

    return render


RENDERERS: dict[str, tuple[str, Renderer]] = {
    "json": (".json", _lazy("json", "to_json")),
    "junit": (".xml", _lazy("junit", "to_junit")),
    "html": (".html", _lazy("html", "to_html")),
    "md": (".md", _lazy("markdown", "to_markdown")),
}
"""Format -> (suffix of its file, renderer). `job_summary` of `markdown` is the bounded variant for a job page."""
