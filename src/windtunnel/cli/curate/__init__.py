"""windtunnel curate: natural sets from your own images; one file for each sub-command."""

from __future__ import annotations

import importlib
import pkgutil

import click

from windtunnel.core.errors import unknown_name


class _SubCommands(click.Group):
    """The commands of the modules in this folder, each imported when it is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise unknown_name("sub-command", args[0], self.list_commands(ctx), "windtunnel curate --help")
        return super().resolve_command(ctx, args)


@click.group(cls=_SubCommands)
def command() -> None:
    """Build a natural benchmark from your own images: collect candidates, filter, export.

    A curation project is a folder. Every step can be repeated: the same command continues after a stop.
    """
