"""The command `knownstate`. Only wiring and words: what it does is done elsewhere; every import that costs time is made when needed."""

from __future__ import annotations

import io
import os
import sys

from harness import __version__


def main() -> None:
    """Entry point of the console script."""
    if sys.argv[1:] == ["--version"]:
        print(f"knownstate {__version__}")
        return
    _listen_to_nobody()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(1)
        code = code if code == 4 else _cannot_write(error)  # 4: it was said already
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code. Errors a person can act on are one paragraph on stderr, never a traceback."""
    import click

    from harness.commands import cli
    from harness.model.errors import KnownstateError

    colour = False if os.environ.get("NO_COLOR") else None
    try:
        outcome = cli.main(args=arguments, prog_name="knownstate", standalone_mode=False, color=colour, obj=arguments)
        return outcome if isinstance(outcome, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        return say("knownstate: Interrupted.", 130)
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return 2
    except KnownstateError as error:
        return say(f"knownstate: {error}", error.exit_code)
    except OSError as error:
        return _cannot_write(error) if error.filename is None else _bug()
    except Exception:  # whatever is left is ours: never 0, and never 1, which says that a guarantee is violated
        return _bug()


def say(text: str, code: int) -> int:
    """One paragraph on stderr."""
    print(text, file=sys.stderr)
    return code


def _bug() -> int:
    import traceback

    traceback.print_exc()
    return say("knownstate: This is a fault of knownstate, and no verdict. Next: report it with what stands above.", 3)


def _cannot_write(error: OSError) -> int:
    why = error.strerror or str(error)
    return say(f"knownstate: The output cannot be written: {why}. Where: standard output. Next: give it room.", 4)


class _Pipe(io.FileIO):
    """A pipe whose reader may go away (a pager, `head`): then the rest is said to nobody, and the command goes on.

    What a command leaves behind, files and exit code, does not depend on who reads along.
    """

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]  # any buffer, as in io.FileIO; its name for it is typeshed's alone
        except BrokenPipeError:
            return len(memoryview(data))  # type: ignore[arg-type]  # the same


def _listen_to_nobody() -> None:
    """Make stdout and stderr survive that their reader goes away, or never was there (`>&-`)."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # else the next file we open would be stdout
            os.open(os.devnull, os.O_RDWR)
    sys.stdout, sys.stderr = _open(1), _open(2)


def _open(descriptor: int) -> io.TextIOWrapper:
    raw = _Pipe(descriptor, "w", closefd=False)
    encoding = getattr(sys.stdout, "encoding", "utf-8")
    is_prompt = descriptor == 2 or raw.isatty()
    errors = "backslashreplace"  # a letter the terminal does not have is no reason to fail
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=is_prompt)


def _discard(descriptor: int) -> None:
    """What is left in the buffer goes nowhere: Python would try to write it once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
