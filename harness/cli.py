"""The command `knownstate`. Only wiring and words: what it does is done elsewhere; every import that costs time is made when needed."""

from __future__ import annotations

import sys

from harness import __version__


def main() -> None:
    """Entry point of the console script."""
    if sys.argv[1:] == ["--version"]:
        print(f"knownstate {__version__}")
        return
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code. Errors a person can act on are one paragraph on stderr, never a traceback."""
    import click

    from harness.commands import cli
    from harness.model.errors import KnownstateError

    try:
        outcome = cli.main(args=arguments, prog_name="knownstate", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Abort:
        return say("Interrupted. Nothing was running that keeps results.", 130)
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return 2
    except KnownstateError as error:
        return say(f"knownstate: {error}", error.exit_code)
    except BrokenPipeError:
        _close_quietly()
        return 0
    except KeyboardInterrupt:
        return say("Interrupted.", 130)


def say(text: str, code: int) -> int:
    """One paragraph on stderr."""
    print(text, file=sys.stderr)
    return code


def _close_quietly() -> None:
    """The reader of our output went away (a pager, `head`): say nothing about it."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
