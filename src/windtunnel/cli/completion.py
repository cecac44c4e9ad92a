"""windtunnel completion: the completion script of a shell, and the completions that it asks for.

A shell starts windtunnel anew for every completion, so it must answer fast. Modules that commands only
compute and print with are replaced by empty ones; libraries such as SciPy are then not imported.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from windtunnel.cli import COMPLETION, cli

SHELLS = ("bash", "zsh", "fish")
UNNEEDED = ("rich", "windtunnel.api.comparing", "windtunnel.report", "windtunnel.runs")
# The kinds of names that the words of a metavar or of a parameter's name stand for.
KINDS = {
    "executor": ("executors",),
    "metric": ("metrics",),
    "preset": ("presets",),
    "suite": ("suites",),
    "unit": ("corruptions", "sequences"),
}


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(windtunnel completion bash)"       in ~/.bashrc
      eval "$(windtunnel completion zsh)"        in ~/.zshrc
      windtunnel completion fish | source        in ~/.config/fish/config.fish
    """
    click.echo(_completer(shell).source())


def complete(instruction: str) -> int:
    """Print what a shell asks for, `bash_source` or `bash_complete`; returns the exit code."""
    shell, _, request = instruction.partition("_")
    if shell not in SHELLS or request not in ("source", "complete"):
        return 1
    sys.meta_path.insert(0, _Unneeded())
    completer = _completer(shell)
    click.echo(completer.source() if request == "source" else completer.complete())
    return 0


def _completer(shell: str) -> ShellComplete:
    """The completer of a shell, which also completes names of plug-ins and paths."""
    base = get_completion_class(shell)
    if base is None:
        raise click.UsageError(f"No completion for {shell}; give one of {', '.join(SHELLS)}.")

    class Completer(base):  # type: ignore[misc,valid-type]
        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
            for parameter in _command_of(self.cli, args).params:
                if parameter.type is click.STRING:
                    parameter.type = _Text()
            items: list[CompletionItem] = super().get_completions(args, incomplete)
            return items

    made: ShellComplete = Completer(cli, {}, "windtunnel", COMPLETION)
    return made


def _command_of(group: click.Group, words: Sequence[str]) -> click.Command:
    """The command that typed words lead to."""
    command: click.Command = group
    for word in words:
        inner = (
            command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        )
        if inner is None:
            break
        command = inner
    return command


class _Text(click.types.StringParamType):
    """A text that completes to names of plug-ins or paths, by the words of its metavar and its name."""

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,
        incomplete: str,
    ) -> list[CompletionItem]:
        """Paths, which shells complete themselves if no name fits, and names that begin with the text."""
        from windtunnel import api

        words = re.split(r"[^a-z]+", f"{param.metavar or ''} {param.name}".lower())
        kinds = dict.fromkeys(kind for word in words for kind in KINDS.get(word.removesuffix("s"), ()))
        names = [name for kind in kinds for name in api.plugin_names(kind) if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *map(CompletionItem, names)]


class _Unneeded(MetaPathFinder, Loader):
    """Finds an empty module in place of one that completions do not need."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """The specification of an empty package, if the name is one of UNNEEDED or inside it."""
        unneeded = any(fullname == name or fullname.startswith(f"{name}.") for name in UNNEEDED)
        return ModuleSpec(fullname, self, is_package=True) if unneeded else None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module a class for every name that is imported from it."""

        def placeholder(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

        module.__getattr__ = placeholder  # type: ignore[method-assign]
