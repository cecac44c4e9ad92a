"""Groups of commands whose sub-commands are the modules of a package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

import click

from windtunnel.core.errors import unknown_name


class SubCommands(click.Group):
    """The commands of the modules in a package, each imported when it is used.

    A module whose name is a keyword of Python ends in an underscore; other underscores are hyphens.
    """

    def __init__(self, package: str, path: Iterable[str], group: str, help: str) -> None:
        super().__init__(group, help=help)
        self._package, self._path = package, list(path)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of the modules."""
        return sorted(self._modules())

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """The command of a module."""
        modules = self._modules()
        if name not in modules:
            return None
        module = importlib.import_module(f"{self._package}.{modules[name]}")
        return module.command if isinstance(module.command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; refuses an unknown one."""
        if args and args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            hint = f"windtunnel {self.name} --help"
            raise unknown_name("sub-command", args[0], self.list_commands(ctx), hint)
        return super().resolve_command(ctx, args)

    def _modules(self) -> dict[str, str]:
        """The module of each sub-command."""
        names = (module.name for module in pkgutil.iter_modules(self._path))
        return {name.rstrip("_").replace("_", "-"): name for name in names}
