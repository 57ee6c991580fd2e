"""The house rules as functions: each takes source files as values and yields what is wrong, as `path:line what to do`.

`tests/test_house.py` applies every rule to this repository, and shows for every rule a small text it refuses.
Never here: reading files outside `read_house`, and importing the code that is judged: a rule sees text and syntax only.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

ROOMS = ("harness", "fakes", "reference_ledger", "scenarios", "tests", "reports", "benchmarks")
PAPERS = (".md", ".yaml", ".yml", ".toml", ".sh", ".html", ".j2", ".css", ".js", ".sql", "")
"""Endings of the files, besides `.py`, that rules on text look at; the scripts have none."""
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
EXCUSE = "lines because"


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its path from the root with forward slashes, and its text."""

    path: str
    text: str

    @property
    def module(self) -> str:
        """Its dotted name; a package's `__init__.py` is the package itself."""
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    @property
    def room(self) -> str:
        return self.path.split("/")[0]


Rule = Callable[[Source], Iterator[str]]


@functools.cache
def tree_of(source: Source) -> ast.Module:
    return ast.parse(source.text, source.path)


def read_house(root: Path) -> list[Source]:
    """Every text file of the house, sorted by path: rooms, docs, scripts and the papers at the top; no caches."""
    places = [root / name for name in (*ROOMS, "docs", "scripts", ".ci") if name != "reports"]
    paths = [p for place in places for p in place.rglob("*") if p.is_file() and not _is_cached(p.relative_to(place))]
    paths += [p for p in root.iterdir() if p.is_file() and p.name != "uv.lock" and not p.name.startswith(".")]
    paths += (root / "reports").glob("README.md")
    wanted = sorted(p for p in paths if p.suffix == ".py" or p.suffix in PAPERS)
    return [Source(p.relative_to(root).as_posix(), p.read_text(encoding="utf-8")) for p in wanted]


def _is_cached(path: Path) -> bool:
    """Does a tool keep it there? Tools leave `.ruff_cache` and the like wherever they are started."""
    return any(part == "__pycache__" or part.startswith(".") for part in path.parent.parts)


# --- imports -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Door:
    """What a room may import: prefixes of our own modules, and third-party packages (None: any)."""

    ours: tuple[str, ...]
    foreign: tuple[str, ...] | None = ()


_LOWER = ("harness.model", "harness.explore", "harness.judge", "harness.inject", "harness.candidates")
_MIDDLE = Door((*_LOWER, "harness.rigs", "harness.store", "harness.scenario_files", "fakes"), None)
_ANY = Door(("harness", "fakes", "reference_ledger", "scenarios"), None)

DOORS: Mapping[str, Door] = {
    "harness.model": Door(("harness.model",)),
    "harness.rooms": Door(("harness.model",)),
    "harness.explore": Door(("harness.model", "harness.explore")),
    "harness.judge": Door(("harness.model", "harness.judge")),
    "harness.report": Door(("harness.model", "harness.report"), ("jinja2", "rich", "orjson")),
    "harness.scenario_files": Door(
        ("harness.model", "harness.judge", "harness.scenario_files", "fakes", "scenarios"),
        ("pydantic", "ruamel", "orjson"),
    ),
    "harness.inject": _MIDDLE,
    "harness.candidates": _MIDDLE,
    "harness.rigs": _MIDDLE,
    "harness.store": _MIDDLE,
    "harness.bootstrap": _ANY,
    "harness.campaign": _ANY,
    "harness.catalogue": _ANY,
    "harness.cli": _ANY,
    "harness.commands": _ANY,
    "harness.pytest_plugin": _ANY,
    "harness.selftest": _ANY,
    "harness.stateful": _ANY,
    "fakes": Door(("harness.model", "fakes"), None),
    "reference_ledger": Door(
        ("harness.model", "harness.candidates.contract", "reference_ledger"), ("sqlalchemy", "alembic")
    ),
    "scenarios": Door(()),
}
"""The longest prefix of a module's name decides. DESIGN: imports run one way."""

KEEPERS: Mapping[str, str] = {"toxiproxy": "harness/inject/network.py", "docker": "harness/inject/container.py"}
"""Tool -> the only file that may know it."""


def imports_of(source: Source) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything a file imports, wherever in the file the import stands."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(source, node)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = source.path.split("/")[: -node.level]
    return ".".join([*package, *filter(None, [node.module])])


def _is_under(name: str, prefixes: Iterable[str]) -> bool:
    return any(name == p or name.startswith(p + ".") for p in prefixes)


def door_of(module: str) -> Door | None:
    fitting = [prefix for prefix in DOORS if _is_under(module, (prefix,))]
    return DOORS[max(fitting, key=len)] if fitting else None


def imports_run_one_way(source: Source) -> Iterator[str]:
    if source.room not in ("harness", "fakes", "reference_ledger", "scenarios") or source.path == "harness/__init__.py":
        return
    door = door_of(source.module)
    if door is None:
        yield f"{source.path}:1 {source.module} has no row in DOORS (tests/house_rules.py): say what it may import"
        return
    for line, name in imports_of(source):
        if not _may_pass(door, name):
            allowed = ", ".join(door.ours) or "nothing of ours"
            yield f"{source.path}:{line} imports {name}, but may import only {allowed}: move the code or pass a value"


def _may_pass(door: Door, name: str) -> bool:
    top = name.split(".")[0]
    if top in sys.stdlib_module_names:
        return True
    if top in ROOMS:
        return _is_under(name, door.ours)
    return door.foreign is None or top in door.foreign


def harness_init_imports_nothing(source: Source) -> Iterator[str]:
    if source.path == "harness/__init__.py":
        for line, name in imports_of(source):
            yield f"{source.path}:{line} imports {name}; an import here makes every import depend on order: remove it"


def one_file_knows_each_tool(source: Source) -> Iterator[str]:
    for line, name in imports_of(source):
        keeper = KEEPERS.get(name.split(".")[0])
        if keeper and source.path != keeper and source.room != "tests":
            yield f"{source.path}:{line} imports {name}; only {keeper} knows that tool: ask it instead"


# --- size and names ------------------------------------------------------------------------------------------------


def functions_fit(source: Source, exceptions: Mapping[str, str]) -> Iterator[str]:
    for name, line, lines_count in long_functions(source):
        if name not in exceptions:
            yield f"{source.path}:{line} {name} has {lines_count} lines, at most {FUNCTION_LINES_MAX}: split it"


def long_functions(source: Source) -> Iterator[tuple[str, int, int]]:
    """`path::function`, its line and its length, for each function that is too long."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines_count = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines_count > FUNCTION_LINES_MAX:
                yield f"{source.path}::{node.name}", node.lineno, lines_count


def files_fit(source: Source) -> Iterator[str]:
    lines_count = source.text.count("\n")
    if lines_count > FILE_LINES_MAX and EXCUSE not in (ast.get_docstring(tree_of(source)) or ""):
        advice = f"split it, or say in its header `N {EXCUSE} ...`"
        yield f"{source.path}:1 has {lines_count} lines, at most {FILE_LINES_MAX}: {advice}"


_EMPTY_NAMES = re.compile(r"(?:.*_)?(?:utils?|helpers?|managers?|misc)\Z")


def names_say_something(source: Source) -> Iterator[str]:
    for part in source.path.removesuffix(".py").split("/"):
        if _EMPTY_NAMES.match(part):
            yield f"{source.path}:1 {part!r} says nothing of what lives here: name it after its content"


# --- leftovers and swallowing --------------------------------------------------------------------------------------

_MARKERS = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
"""Put together from halves, so that this file passes its own rule."""


def nothing_is_left_over(source: Source) -> Iterator[str]:
    for line, text in enumerate(source.text.splitlines(), 1):
        if found := _MARKERS.search(text):
            yield f"{source.path}:{line} {found.group()}: do it, or write down where it is tracked, without the marker"


def tests_do_not_sleep(source: Source) -> Iterator[str]:
    if source.room != "tests":
        return
    for line, name in imports_of(source):
        if name == "time.sleep":
            yield f"{source.path}:{line} imports time.sleep: use the virtual clock or wait on an event with a limit"
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep":
            yield f"{source.path}:{node.lineno} time.sleep: use the virtual clock or wait on an event with a limit"


def nothing_is_swallowed(source: Source) -> Iterator[str]:
    """Everything may be caught only to be raised again or kept; `Exception` only if something is done with it."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.ExceptHandler) and (what := _swallows(node)):
            yield f"{source.path}:{node.lineno} {what}: catch the narrowest class, and record or raise what you caught"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            yield from (
                f"{source.path}:{node.lineno} suppress({ast.unparse(arg)}): suppress the narrowest class"
                for arg in node.args
                if ast.unparse(arg) in ("Exception", "BaseException")
            )


def _swallows(handler: ast.ExceptHandler) -> str:
    caught = ast.unparse(handler.type) if handler.type else ""
    inner = [node for statement in handler.body for node in ast.walk(statement)]
    if not caught:
        return "bare except"
    if "BaseException" in caught:
        kept = any(isinstance(n, ast.Name) and n.id == handler.name for n in inner)
        return "" if kept or any(isinstance(n, ast.Raise) for n in inner) else "except BaseException that swallows"
    is_idle = all(isinstance(s, ast.Pass | ast.Continue) or _is_constant(s) for s in handler.body)
    return "except Exception that does nothing" if caught == "Exception" and is_idle else ""


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# --- network -------------------------------------------------------------------------------------------------------

_FETCHING = frozenset(
    (
        *("get", "post", "put", "patch", "delete", "head", "request", "stream"),
        *("urlopen", "urlretrieve", "Request", "Client", "AsyncClient", "create_connection"),
    )
)
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d+){3}|::1|(?:.*\.)?(?:test|invalid|example|localhost))\Z")
"""Loopback, and the names reserved for never leading anywhere."""
_LOADING = re.compile(
    r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)\s*=\s*[\"']?(?:https?:)?//|url\(\s*[\"']?(?:https?:)?//|@import\b",
    re.IGNORECASE,
)


def nothing_is_fetched_from_afar(source: Source) -> Iterator[str]:
    """No call of a fetching function with a distant address, and no page that loads anything from one."""
    if source.path.endswith((".html", ".j2", ".css", ".js")):
        for line, text in enumerate(source.text.splitlines(), 1):
            if _LOADING.search(text):
                yield f"{source.path}:{line} loads something from the network: put it into the page"
    if source.path.endswith(".py"):
        for node in ast.walk(tree_of(source)):
            if isinstance(node, ast.Call) and (address := _distant(node)):
                yield f"{source.path}:{node.lineno} fetches {address}: only loopback addresses are ever contacted"


def _distant(call: ast.Call) -> str:
    """The distant address a fetching call is given, or ""."""
    if ast.unparse(call.func).split(".")[-1] not in _FETCHING:
        return ""
    for value in [*call.args, *(k.value for k in call.keywords)]:
        text = "".join(
            str(n.value) for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        )
        if text.startswith(("http://", "https://")):
            host = urlsplit(text).hostname
            if host and not _LOOPBACK.match(host):
                return text
    return ""


# --- rooms ---------------------------------------------------------------------------------------------------------


def rooms_have_signs(sources: Iterable[Source]) -> Iterator[str]:
    """Every folder with Python files, and every room, has a README.md or an `__init__.py` with a docstring."""
    by_path = {source.path: source for source in sources}
    folders = {path.rpartition("/")[0] for path in by_path if path.endswith(".py") and "/" in path}
    for folder in sorted(folders | set(ROOMS)):
        init = by_path.get(f"{folder}/__init__.py")
        if f"{folder}/README.md" not in by_path and not (init and ast.get_docstring(tree_of(init))):
            yield f"{folder}/:1 has no sign: write a README.md or a docstring in __init__.py saying what is here"


def folders_of_tests_are_packages(sources: Iterable[Source]) -> Iterator[str]:
    paths = {source.path for source in sources}
    folders = {p.rpartition("/")[0] for p in paths if p.startswith("tests/") and p.endswith(".py")}
    for folder in sorted(folders):
        if f"{folder}/__init__.py" not in paths:
            yield f"{folder}/:1 has no __init__.py: without it two tests of one name, or a room's name, hide each other"
