"""`knownstate fakes`: the fakes as servers, useful alone: a Stripe or a DNS server that loses responses on demand."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.model.errors import EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from fakes.wire.fake import Options
    from fakes.wire.journal_file import Entry
    from fakes.wire.street import Plot

LOOPBACK = "127.0.0.1"
POLL_S = 0.1


@click.group("fakes", short_help="Start the fake providers as servers.")
def command() -> None:
    """The fake providers as servers that real client libraries use unmodified.

    \b
    knownstate fakes up           all of them, on free ports
    knownstate fakes up --only payment --hook "payment: after-commit = reset"
    knownstate fakes journal      what arrives, commits, is answered
    knownstate fakes hook payment "responding#2 = truncate:40"
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_them(as_json: bool) -> int:
    """Show the fakes, what each speaks, and its settings."""
    from fakes.catalogue import faces

    rows = [_described(name, kind) for name, kind in faces().items()]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        click.secho(str(row["name"]), bold=True)
        click.echo(f"    {row['title']}")
        for setting in row["settings"]:
            click.echo(f"    --set {row['name']}.{setting['name']}={setting['default']}")
        for what, does in row["competitors"].items():
            click.echo(f"    compete:{what}  {does}")
    return 0


@command.command("up")
@click.option("--only", multiple=True, metavar="NAME", help="Only these fakes (may be given again).")
@click.option("--port", "ports", multiple=True, metavar="NAME[.PORT]=N", help="A fixed port, such as payment=8420.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME.FIELD=VALUE", help="A setting; `fakes list` shows them."
)
@click.option("--hook", "hooks", multiple=True, metavar="'NAME: HOOK'", help="A hook to arm at the start.")
@click.option("--state", type=click.Path(path_type=Path), help="Keep the journals in this folder, and go on from them.")
@click.option("--clock", type=click.Choice(["real", "manual"]), default="real", show_default=True, help="Time.")
@click.option(
    "--host", default=LOOPBACK, show_default=True, help="Where to listen. Anything but loopback is open to others."
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when all are ready.")
def up(
    only: tuple[str, ...],
    ports: tuple[str, ...],
    settings: tuple[str, ...],
    hooks: tuple[str, ...],
    state: Path | None,
    clock: str,
    host: str,
    as_json: bool,
) -> int:
    """Start the fakes, print what a client needs, and stay until Ctrl-C or SIGTERM."""
    from fakes.catalogue import faces
    from fakes.wire.street import Street

    kinds = faces(only)
    plots = [_plot(name, kind, settings, ports, hooks) for name, kind in kinds.items()]
    _all_are_for((*settings, *ports, *hooks), kinds)
    with _folder(state) as folder, _stopping() as is_over:
        told = _to_stderr
        with Street(plots, folder, host=host, is_manual=clock == "manual", told=told) as street:
            if as_json:
                click.echo(json.dumps(street.entries()))
                sys.stdout.flush()
            else:
                _print_street(street.entries(), folder, host)
            street.watch(is_over)
    if not as_json:
        click.echo("The fakes are gone." + (f" Their journals are in {state}." if state else ""))
    return 0


@command.command("journal")
@click.argument("names", nargs=-1)
@click.option("--state", type=click.Path(path_type=Path), help="The fakes' state folder (default: those that are up).")
@click.option("--follow/--no-follow", default=None, help="Go on showing (default: on a terminal, while they are up).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def journal(names: tuple[str, ...], state: Path | None, follow: bool | None, as_json: bool) -> int:
    """Show arrivals, commits, responses and caller views, as they happen."""
    from fakes.wire.journal_file import read_entries

    folder = state or _place_of_living()
    files = {name: folder / f"{name}.sqlite" for name in (names or _journals_in(folder))}
    last = dict.fromkeys(files, 0)
    goes_on = follow if follow is not None else sys.stdout.isatty()
    with _stopping() as is_over:
        while True:
            fresh = [(e, name) for name, path in files.items() for e in read_entries(path, last[name])]
            for entry, name in sorted(fresh, key=lambda pair: pair[0].time_ns):
                last[name] = max(last[name], entry.number)
                click.echo(_entry_line(name, entry, as_json))
            sys.stdout.flush()
            if not goes_on or is_over():
                break
            time.sleep(POLL_S)
    if not as_json and not goes_on:
        _print_counts(files)
    return 0


@command.command("hook")
@click.argument("name")
@click.argument("hook", required=False)
@click.option("--state", type=click.Path(path_type=Path), help="The fakes' state folder (default: those that are up).")
@click.option("--release", metavar="ID", help="Let those hanging at this hook go on.")
@click.option("--clear", is_flag=True, help="Take all hooks of this fake off.")
def hook_command(name: str, hook: str | None, state: Path | None, release: str | None, clear: bool) -> int:
    """Arm a hook on a fake that is up, or show its hooks."""
    import httpx

    control = _control(state or _place_of_living(), name)
    with httpx.Client(base_url=control, timeout=10) as client:
        if clear:
            _said(client.delete("/hooks"))
        if release:
            click.echo(f"{_said(client.post(f'/hooks/{release}/release'))['released']} released")
        if hook:
            click.echo(_said(client.post("/hooks", json={"hook": hook}))["id"])
        if not (hook or release or clear):
            for row in _said(client.get("/hooks")):
                click.echo(f"{row['id']}  {row['hook']}  fired {row['fired']}, hanging {len(row['hanging'])}")
    return 0


# --- reading what was asked ----------------------------------------------------------------------------------------


def _described(name: str, kind: Any) -> dict[str, Any]:
    settings = [{"name": f, "default": value} for f, value in kind.options_class().model_dump(mode="json").items()]
    return {"name": name, "title": kind.title, "settings": settings, "competitors": dict(kind.competitors)}


def _plot(name: str, kind: Any, settings: Sequence[str], ports: Sequence[str], hooks: Sequence[str]) -> Plot:
    from fakes.wire.points import parse_hook
    from fakes.wire.street import Plot

    chosen = dict(_pairs(settings, name, "--set", "NAME.FIELD=VALUE"))
    numbers = {rest or kind.ports[0].name: value for rest, value in _pairs(ports, name, "--port", "NAME[.PORT]=N")}
    known = [port.name for port in kind.ports] + ["control"]
    for port, number in numbers.items():
        if port not in known or not number.isdecimal() or not 0 < int(number) < 65536:
            raise UsageError(
                f"{port}={number} is no port of {name}.",
                where="--port",
                next_step=f"Name one of {', '.join(known)} and a number from 1 to 65535.",
            )
    own = [text.partition(":")[2].strip() for text in hooks if text.partition(":")[0].strip() == name]
    return Plot(
        kind,
        _options(kind, chosen),
        tuple(map(parse_hook, own)),
        {port: int(number) for port, number in numbers.items()},
    )


def _pairs(texts: Sequence[str], name: str, option: str, form: str) -> Iterator[tuple[str, str]]:
    """(what follows the fake's name, value) of the texts that are for this fake."""
    for text in texts:
        left, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} has not the form {form}.", where=option, next_step="Correct it.")
        of, _, rest = left.strip().partition(".")
        if of == name:
            yield rest, value.strip()


def _all_are_for(texts: Sequence[str], kinds: Mapping[str, Any]) -> None:
    """Raise UsageError for a text that is for none of the fakes that are started."""
    for text in texts:
        name = text.replace(":", "=", 1).partition("=")[0].partition(".")[0].strip()
        if name not in kinds:
            raise UsageError(
                f"{text!r} is for a fake that is not started: {name!r}.",
                where=f"started: {', '.join(kinds)}",
                next_step="Begin it with one of these names.",
            )


def _options(kind: Any, chosen: Mapping[str, str]) -> Options:
    from pydantic import ValidationError

    try:
        options: Options = kind.options_class.model_validate_strings(dict(chosen))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{kind.name}.{field} cannot be set: {first['msg']}.",
            where="--set",
            next_step=f"Fields are {', '.join(kind.options_class.model_fields)}.",
        ) from None
    return options


# --- places --------------------------------------------------------------------------------------------------------


def _runs() -> Path:
    return Path(tempfile.gettempdir()) / f"knownstate-fakes-{os.getuid()}"


@contextmanager
def _folder(state: Path | None) -> Iterator[Path]:
    """The folder for the journals: the given one stays, one of our own goes."""
    if state is None:
        _runs().mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_runs()) as folder:
            yield Path(folder)
        return
    try:
        state.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentMissing(
            f"The state folder cannot be made: {error.strerror}.", where=str(state), next_step="Give another --state."
        ) from None
    if place := _living(state):
        raise UsageError(
            f"These fakes are up already (process {place['pid']}).", where=str(state), next_step="Give another --state."
        )
    yield state


def _living(folder: Path) -> dict[str, Any] | None:
    """The place file of a street that is up, or None."""
    from fakes.wire.street import PLACE_FILE

    try:
        place: dict[str, Any] = json.loads((folder / PLACE_FILE).read_text(encoding="utf-8"))
        os.kill(int(place["pid"]), 0)
    except (OSError, ValueError, KeyError):
        return None
    return place


def _place_of_living() -> Path:
    """The folder of the fakes that are up. Raises UsageError when there are none, or several."""
    living = sorted(folder for folder in _runs().glob("*") if _living(folder))
    if len(living) != 1:
        raise UsageError(
            f"{len(living) or 'No'} sets of fakes are up without a --state of their own.",
            where=str(_runs()),
            next_step="Name the one you mean with --state FOLDER."
            if living
            else "Start them with `knownstate fakes up`, or name their --state folder.",
        )
    return living[0]


def _journals_in(folder: Path) -> list[str]:
    from fakes.catalogue import FACES

    names = sorted(path.stem for path in folder.glob("*.sqlite") if path.stem in FACES)
    if not names:
        raise UsageError("There is no journal.", where=str(folder), next_step="Name the --state folder of some fakes.")
    return names


def _control(folder: Path, name: str) -> str:
    place = _living(folder)
    if place is None:
        raise UsageError(
            "These fakes are not up.", where=str(folder), next_step="Start them with `knownstate fakes up`."
        )
    control: str | None = place["controls"].get(name)
    if control is None:
        raise UsageError(
            f"There is no fake {name!r} up.",
            where=f"up: {', '.join(place['controls'])}",
            next_step="Name one of these.",
        )
    return control


def _said(response: Any) -> Any:
    if response.status_code >= 400:
        raise UsageError(response.json()["error"])
    return response.json()


# --- showing -------------------------------------------------------------------------------------------------------


def _to_stderr(text: str) -> None:
    click.echo(f"knownstate: {text}", err=True)


@contextmanager
def _stopping() -> Iterator[Callable[[], bool]]:
    """SIGINT, SIGTERM and SIGHUP end the wait instead of the process."""
    asked: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, lambda number, frame: asked.append(number)) for number in numbers]
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _print_street(entries: Mapping[str, Any], folder: Path, host: str) -> None:
    if host not in (LOOPBACK, "::1", "localhost"):
        _to_stderr(f"warning: the fakes listen on {host}, where others may reach them.")
    for name, entry in entries.items():
        click.secho(name, bold=True, nl=False)
        where = entry.get("url") or f"{entry.get('host', '')}:{entry.get('port', '')}"
        click.echo(f"  {where}  (control {entry['control']})")
        for variable, value in entry.get("env", {}).items():
            click.echo(f"    export {variable}={shlex.quote(str(value))}")
    click.echo(f"Journals: {folder}")
    click.echo("See them live: knownstate fakes journal. Stop: Ctrl-C.")
    sys.stdout.flush()


_SIGNS = {"arrived": "->", "effect": "**", "responded": "<-", "cut": "x ", "hook-fired": "! ", "caller-saw": "@ "}


def _entry_line(name: str, entry: Entry, as_json: bool) -> str:
    if as_json:
        return json.dumps({"fake": name, **entry._asdict(), "data": dict(entry.data)})
    moment = time.strftime("%H:%M:%S", time.gmtime(entry.time_ns // 1_000_000_000))
    told = " ".join(f"{key}={value}" for key, value in entry.data.items() if value not in (None, "", {}))
    sign = _SIGNS.get(entry.kind, "  ")
    line = f"{moment}.{entry.time_ns // 1_000_000 % 1000:03} {sign} {entry.call or name:<14} {entry.kind:<11} {told}"
    return line.rstrip()


def _print_counts(files: Mapping[str, Path]) -> None:
    from collections import Counter

    from fakes.catalogue import FACES, face
    from fakes.wire.control import counts
    from fakes.wire.fake import Fake
    from fakes.wire.journal_file import read_entries

    for name, path in files.items():
        kinds = (face(name) if name in FACES else Fake).commit_kinds
        four = counts(Counter(entry.kind for entry in read_entries(path)), kinds)
        click.echo(f"{name}: " + ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in four.items()))
