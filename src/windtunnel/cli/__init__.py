"""The command line: one file per command; each parses, calls `windtunnel.api` and prints."""

from __future__ import annotations

import errno
import importlib
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.interruption import Interrupted, raise_on_termination
from windtunnel.core.option_names import Value, spelled_by

# The module of each command, imported when the command is used, and its line in the help.
COMMANDS = {
    "benchmarks": ("windtunnel.cli.benchmarks", "Generate or select benchmarks from an overlap study."),
    "categories": ("windtunnel.cli.categories", "Group the corruptions of an overlap study."),
    "compare": ("windtunnel.cli.compare", "Compare finished runs with the first, image by image."),
    "completion": ("windtunnel.cli.completion", "Print the completion script of a shell."),
    "curate": ("windtunnel.cli.curate", "Build a natural benchmark from your own images."),
    "data": ("windtunnel.cli.data", "Inspect datasets and verify made ones."),
    "demo": ("windtunnel.cli.demo", "Run a small network on scanned digits, with a report."),
    "dev": ("windtunnel.cli.dev", "Tools for adding corruptions and sequences."),
    "distance": ("windtunnel.cli.distance", "Measure the Fréchet distance between two datasets."),
    "doctor": ("windtunnel.cli.doctor", "Check whether preprocessing and label order are right."),
    "effective-robustness": (
        "windtunnel.cli.effective_robustness",
        "Fit shifted to clean accuracy over many models.",
    ),
    "env": ("windtunnel.cli.env", "Print versions and the machine for a bug report."),
    "experiment": ("windtunnel.cli.experiment", "Compare training remedies and wrappers."),
    "explain": ("windtunnel.cli.explain", "Draw the image regions that a prediction depends on."),
    "gate": ("windtunnel.cli.gate", "Exit with 1 if a run is worse than a baseline run."),
    "labels": ("windtunnel.cli.labels", "Map a model's outputs to the classes of your data."),
    "leaderboard": ("windtunnel.cli.leaderboard", "Write a sortable page of own models."),
    "list": ("windtunnel.cli.list_", "List corruptions, suites, metrics and other plug-ins."),
    "log": ("windtunnel.cli.log", "Log runs to MLflow, Weights & Biases or model cards."),
    "make": ("windtunnel.cli.make", "Write a corrupted copy of a dataset."),
    "overlap": ("windtunnel.cli.overlap", "Measure how far corruptions overlap, by training."),
    "plan": ("windtunnel.cli.plan", "Show how much work a run is, without running it."),
    "predictivity": (
        "windtunnel.cli.predictivity",
        "Test whether benchmarks predict natural shifts.",
    ),
    "report": ("windtunnel.cli.report", "Write the report of one or more finished runs."),
    "review": ("windtunnel.cli.review", "Let people judge images and frame pairs in the browser."),
    "run": ("windtunnel.cli.run", "Run a suite on a model and write scores and a report."),
    "score": ("windtunnel.cli.score", "Print a run's scores, or score a file of predictions."),
    "serve": ("windtunnel.cli.serve", "Browse runs in a web browser."),
    "show": ("windtunnel.cli.show", "Write sample images of a corruption or sequence."),
    "slices": ("windtunnel.cli.slices", "Score a run by class, image size or metadata column."),
    "subtypes": ("windtunnel.cli.subtypes", "Train on some subtypes of broad types, test on others."),
    "temperature": ("windtunnel.cli.temperature", "Fit a model's temperature to a finished run."),
    "warmup": ("windtunnel.cli.warmup", "Compile and cache all corruptions ahead of time."),
}

# The environment variable by which shells request completions.
COMPLETION = "_WINDTUNNEL_COMPLETE"

EXIT_USER_ERROR = 2
EXIT_CRASH = 70
EXIT_SIGNAL = 128  # plus the number of the signal

# Errors of the operating system that another path may solve.
PATH_ERRORS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENOENT)

# Errors of the operating system that more space solves.
FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)


class _Lazy(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, short_help = COMMANDS[name]
        command = importlib.import_module(module).command
        if not isinstance(command, click.Command):
            return None
        command.short_help = short_help
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from windtunnel.core.errors import unknown_name

            raise unknown_name("command", args[0], COMMANDS, "windtunnel --help")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with: windtunnel demo",
)
@click.version_option(package_name="windtunnel", message="windtunnel %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Know how an image classifier behaves when the world is not like its test set."""
    context.with_resource(spelled_by(_as_option))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0, 2 for a user error, 70 for a crash, 130 or 143 after a signal.

    Every error is one line.
    """
    if instruction := os.environ.get(COMPLETION):
        from windtunnel.cli.completion import complete

        sys.exit(complete(instruction))
    with spelled_by(_as_option):
        _run(arguments)


def _as_option(name: str, value: Value) -> str:
    """An option as the command line spells it; the records are imported only for a message with options."""
    from windtunnel.options.command_line import as_option

    return as_option(name, value)


def _run(arguments: Sequence[str] | None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    raise_on_termination()
    try:
        with cli.make_context("windtunnel", given) as context:
            cli.invoke(context)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(EXIT_USER_ERROR)
    except UserError as error:
        _stop(f"error: {error}", EXIT_USER_ERROR, given)
    except click.ClickException as error:
        # Click's own message has three lines; the first is sufficient.
        command = getattr(getattr(error, "ctx", None), "command_path", None)
        _stop(
            f"error: {error.format_message()} ({command or _command_path(given)} --help)",
            EXIT_USER_ERROR,
            given,
        )
    except (KeyboardInterrupt, click.Abort) as error:
        _stop(f"stopped. {_stored_work(error)}{_command_line(given)}", EXIT_SIGNAL + _signal_of(error), given)
    except RunFailed as error:
        _stop(f"failed: {error}. {_stored_work(error)}{_command_line(given)}", EXIT_CRASH, given)
    except BrokenPipeError:
        # The reader closed the pipe, as in `windtunnel list | head`: not a failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:  # an unusable path, or a defect of windtunnel
        if isinstance(error, OSError) and error.errno in PATH_ERRORS:
            _stop(f"error: {error.filename}: {error.strerror}; give another path.", EXIT_USER_ERROR, given)
        if isinstance(error, OSError) and error.errno in FULL_ERRORS:
            place = f"{error.filename}: {error.strerror}"
            _stop(f"failed: {place}. {_stored_work(error)}{_command_line(given)}", EXIT_CRASH, given)
        if os.environ.get("WINDTUNNEL_TRACEBACK"):
            traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        _stop(
            f"crashed: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno}). "
            f"{_stored_work(error)}{_command_line(given)} (WINDTUNNEL_TRACEBACK=1 prints the traceback)",
            EXIT_CRASH,
            given,
        )
    sys.exit(0)


def _command_path(arguments: Sequence[str]) -> str:
    """The command in the arguments, with its group; some errors of Click's parser do not contain it."""
    path = ["windtunnel"]
    command: click.Group = cli
    for word in arguments:
        subcommand = command.get_command(click.Context(command), word)
        if subcommand is None:
            break
        path.append(word)
        if not isinstance(subcommand, click.Group):
            break
        command = subcommand
    return " ".join(path)


def _stored_work(error: BaseException) -> str:
    """What was stored before an exception, if anything, and the words before the command to repeat."""
    # Click raises its own exception for Ctrl-C; the notes belong to the exception before it.
    notes = [note for raised in (error, error.__context__) for note in getattr(raised, "__notes__", ())]
    return f"{' '.join(notes)} To continue: " if notes else "To run it again: "


def _signal_of(error: BaseException) -> int:
    """The signal that stopped the work."""
    for raised in (error, error.__context__):
        if isinstance(raised, Interrupted):
            return raised.signal
    return int(signal.SIGINT)


def _command_line(arguments: Sequence[str]) -> str:
    return shlex.join(["windtunnel", *arguments])


def _stop(message: str, code: int, arguments: Sequence[str]) -> None:
    """Print the last line on standard error and exit."""
    text = " ".join(message.split())
    if "--log-json" in arguments:
        from windtunnel.core.json_log import JsonLog

        JsonLog().event("end", text=text, exit_code=code)
    else:
        click.echo(text, err=True)
    sys.exit(code)
