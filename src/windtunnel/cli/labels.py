"""windtunnel labels: maps from a model's outputs to the classes of your data."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from windtunnel.cli.summary import print_lines
from windtunnel.core.errors import UserError
from windtunnel.data.wordnet import LeafMap, map_leaves, read_is_a, read_targets
from windtunnel.published.imagenet import imagenet_names
from windtunnel.store.files import write_whole

SHOWN = 5


@click.group()
def command() -> None:
    """Make maps from a model's outputs to the classes of your data."""


@command.command("map", short_help="Map ImageNet's 1,000 classes to your classes.")
@click.argument("targets", metavar="TARGETS")
@click.argument("is_a", metavar="IS_A_TABLE")
@click.option("--out", required=True, metavar="FILE.csv", help="Where the map is written, for --map.")
def map_command(targets: str, is_a: str, out: str) -> None:
    """Map ImageNet's 1,000 classes to TARGETS, wider classes by WordNet id.

    TARGETS has lines wnid[,name]; IS_A_TABLE has lines "parent child", as WordNet's published
    wordnet.is_a.txt. A class below two targets goes to the nearest.

    \b
    Example:
      windtunnel labels map targets.csv wordnet.is_a.txt --out map.csv
    """
    wanted = read_targets(Path(targets))
    found = map_leaves(wanted, read_is_a(Path(is_a)))
    if not found.classes:
        raise UserError(f"None of ImageNet's classes is below a target of {targets}; check the WordNet ids.")
    write_whole(Path(out), found.to_csv().encode())
    print_lines(Console(), _lines(found, len(wanted), out))


def _lines(found: LeafMap, targets: int, out: str) -> list[tuple[str, str]]:
    names = imagenet_names()
    lines = [
        (
            "map",
            f"{len(found.classes):,} of 1,000 ImageNet classes stand for {targets - len(found.empty):,} of "
            f"{targets:,} targets",
        )
    ]
    if found.between:
        shown = "; ".join(
            f"{names[leaf]} to {to[0]}, not {', '.join(to[1:])}"
            for leaf, to in list(found.between.items())[:SHOWN]
        )
        more = " ..." if len(found.between) > SHOWN else ""
        lines.append(
            (
                "nearest",
                f"{len(found.between):,} classes below several targets go to the nearest: {shown}{more}",
            )
        )
    if found.empty:
        lines.append(("without", f"no ImageNet class stands for {', '.join(found.empty)}"))
    return [*lines, ("written", out)]
