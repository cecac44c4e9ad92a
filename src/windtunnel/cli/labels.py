"""windtunnel labels: map a model's outputs to the classes of a dataset."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.printing import print_lines

SHOWN = 5


@click.group()
def command() -> None:
    """Map a model's outputs to the classes of your data."""


@command.command("map", short_help="Map ImageNet's 1,000 classes to your classes.")
@click.argument("targets", metavar="TARGETS")
@click.argument("is_a", metavar="IS_A_TABLE")
@click.option("--out", required=True, metavar="FILE.csv", help="The label map to write, for --map.")
def map_command(targets: str, is_a: str, out: str) -> None:
    """Map ImageNet's 1,000 classes to TARGETS, broader classes given by WordNet id.

    TARGETS has lines wnid[,name]. IS_A_TABLE has lines "parent child", like WordNet's published
    wordnet.is_a.txt. A class below two targets is mapped to the nearest.

    \b
    Example:
      windtunnel labels map targets.csv wordnet.is_a.txt --out map.csv
    """
    imagenet_map = api.map_imagenet_classes(targets, is_a)
    imagenet_map.write(out)
    print_lines(Console(), [*_lines(imagenet_map), ("written", out)])


def _lines(imagenet_map: api.ImagenetMap) -> list[tuple[str, str]]:
    mapping, targets = imagenet_map.mapping, len(imagenet_map.targets)
    lines = [
        (
            "map",
            f"{len(mapping.classes):,} of 1,000 ImageNet classes are mapped to "
            f"{targets - len(mapping.empty):,} of {targets:,} targets",
        )
    ]
    ambiguous = list(imagenet_map.ambiguous.items())
    if ambiguous:
        shown = "; ".join(f"{name} to {to[0]}, not {', '.join(to[1:])}" for name, to in ambiguous[:SHOWN])
        more = " ..." if len(ambiguous) > SHOWN else ""
        lines.append(
            (
                "nearest",
                f"{len(ambiguous):,} classes below several targets are mapped to the nearest: {shown}{more}",
            )
        )
    if mapping.empty:
        lines.append(("empty", f"no ImageNet class is mapped to {', '.join(mapping.empty)}"))
    return lines
