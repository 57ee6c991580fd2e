"""The commands of `knownstate`, one module each. Here: the group they belong to, which loads a command when it is used."""

from __future__ import annotations

from importlib import import_module

import click

from harness import __version__

COMMANDS = {
    "run": "Explore a scenario: every fault at every boundary, judged.",
    "replay": "Make one run again, from a schedule line or a file.",
    "judge": "Judge a recorded history again, without running anything.",
    "list": "Show scenarios, faults, boundaries, guarantees or twins.",
    "fakes": "Start the fake providers as servers, and see what reaches them.",
    "selftest": "Prove that the alarm rings: sound ledgers pass, planted bugs are found.",
}


class Lazy(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"harness.commands.{cmd_name}_command").command
        assert isinstance(command, click.Command), f"{cmd_name}_command.command is one"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(
                f"There is no command {args[0]!r}.{hint} The commands are {', '.join(COMMANDS)}.", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="knownstate %(version)s")
def cli() -> None:
    """Fault injection for the transaction layer of agents and workflows.

    knownstate drives a ledger against fake providers, injects a fault at every boundary, and judges whether every side effect reached
    a known verified state, a protected recovery path, or an explicit unresolved state that cannot silently progress.

    \b
    Exit codes:  0 all hold        1 a violation    2 usage, scenario, contract
                 3 inconclusive    4 environment    5 nothing selected
                 130 interrupted
    """
    from harness.rooms import check_rooms

    check_rooms()
    for room in ("fakes", "reference_ledger", "scenarios"):
        import_module(room)  # now: a candidate's folder comes first on the path, and may have folders of these names
