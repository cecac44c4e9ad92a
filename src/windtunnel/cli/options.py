"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from windtunnel.core.errors import UserError
from windtunnel.data.label_spaces import DECLARABLE

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _register(_context: click.Context, _option: click.Parameter, files: tuple[str, ...]) -> None:
    from windtunnel.suites.units import include_units

    include_units(map(Path, files))


# The plug-ins of these files are registered before the command starts; workers get them too.
INCLUDE = click.option(
    "--include",
    multiple=True,
    metavar="FILE.py",
    expose_value=False,
    callback=_register,
    help="A Python file with plug-ins of your own, such as a corruption or a metric; may be repeated.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

GROUP = click.option(
    "--group",
    metavar="COLUMN",
    help="A column of the data's table; images alike in it (one patient) stay together in intervals.",
)

LABELS = click.option(
    "--labels",
    type=click.Choice(DECLARABLE),
    help="What the data's class indices are; default: ImageNet-1k's if the model declares its classes or "
    "exactly 0 to 999 occur.",
)

_PLAN: tuple[Decorator, ...] = (
    click.argument("model"),
    click.argument("data"),
    click.option(
        "--suite",
        help="A suite's name or TOML file; default imagenet-c-quick, or what a finished or natural set is.",
    ),
    click.option(
        "--clean",
        metavar="DATA",
        help="The clean images a finished set was made from, or a natural one is compared with.",
    ),
    click.option(
        "--only",
        multiple=True,
        metavar="UNIT[:LEVEL]",
        help="Run only this corruption or sequence, of the suite or not; may be repeated.",
    ),
    click.option(
        "--preprocess",
        metavar="PRESET|FILE.toml",
        help="How the model wants its images; else MODEL.toml beside the model, else preset imagenet.",
    ),
    click.option("--seed", default=0, show_default=True, help="Seed of every random draw."),
    click.option(
        "--subset",
        type=click.IntRange(min=0),
        help="Only this many images, each class in proportion; 0 for all.",
    ),
    click.option("--mask", is_flag=True, help="Count only outputs of classes that occur in the data."),
    click.option(
        "--keep",
        default="auto",
        show_default=True,
        metavar="auto|logits|summary",
        help="Full outputs for clean and native, for all conditions, or for none.",
    ),
    click.option("--chunk", type=int, help="Images per shard; by default about 2,048 predictions."),
    click.option(
        "--labels-are-outputs",
        is_flag=True,
        help="Trust the data's class indices although the model has more outputs.",
    ),
    LABELS,
    click.option(
        "--map",
        "label_map",
        metavar="FILE.csv",
        help="Which outputs stand for which class of the data: columns output,class; a class has its best.",
    ),
    click.option("--edition", type=int, help="32, 64, 224 or 299, if not as the suite says."),
    click.option(
        "--difficulty", type=int, help="1, 2 or 3: of sequences, stronger noise and frames further apart."
    ),
    click.option(
        "--codec",
        metavar="none|png|jpeg:85|h264",
        help="How images are stored before the model sees them, if not as the suite says; h264: sequences.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="UNIT.SETTING=VALUE",
        help="Give a unit something of your own, such as frost.textures=DIR; may be repeated.",
    ),
    GROUP,
    click.option("--out", metavar="FOLDER", help="The run folder; default windtunnel-runs/<names>-<recipe>."),
    INCLUDE,
)


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options that decide a run's recipe."""
    for decorate in reversed(_PLAN):
        function = decorate(function)
    return function


def folder_for(out: str | None, default: Path) -> Path:
    """The run folder to use."""
    if out == "":
        raise UserError("--out is empty; give a folder, or leave it away for the default.")
    return Path(out) if out else default


def print_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
