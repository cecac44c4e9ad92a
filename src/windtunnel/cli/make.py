"""windtunnel make: a corrupted or perturbed data set as files, in the published layouts."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.cli.summary import print_lines
from windtunnel.core.conditions import grid_text, is_uneven
from windtunnel.core.progress import Bar
from windtunnel.core.registry import included_files
from windtunnel.core.wording import counted
from windtunnel.data import open_dataset
from windtunnel.data.label_spaces import DECLARABLE
from windtunnel.make.executor import check_target, make
from windtunnel.make.imagenet_s import SPLITS
from windtunnel.make.plan import LAYOUTS, STEPS_LAYOUT, MakePlan, plan_make


@click.command()
@click.argument("suite")
@click.argument("data")
@click.argument("out")
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="auto",
    show_default=True,
    help="Images as folders of files or arrays; sequences as PNG frames, arrays or videos; imagenet-s as "
    "npy, which training programs read and windtunnel run does not. auto takes arrays for 32-pixel images, "
    "else folders or frames.",
)
@click.option("--only", multiple=True, metavar="UNIT[:LEVEL]", help="Make only this; may be repeated.")
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    default=SPLITS[0],
    show_default=True,
    help="Of imagenet-s: centre crops, or random resized crops for training, the same by every decoder.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of every random draw.")
@click.option(
    "--subset",
    type=click.IntRange(min=0),
    help="Only this many images, each class in proportion; 0 for all, default as the suite says.",
)
@click.option("--edition", type=int, help="32, 64, 224 or 299, if not as the images' size says.")
@click.option("--difficulty", type=int, help="1, 2 or 3, of sequences: noise is stronger.")
@click.option("--codec", metavar="none|png|jpeg:85|h264", help="How images are stored, if not as published.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="UNIT.SETTING=VALUE",
    help="Give a unit something of your own, such as frost.textures=DIR; may be repeated.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Worker processes; by default one per processor core."
)
@click.option(
    "--labels",
    type=click.Choice(DECLARABLE),
    help="What the data's class indices are; imagenet-1k writes folders of WordNet ids. Default: indices.",
)
@INCLUDE
@AS_JSON
def command(
    suite: str,
    data: str,
    out: str,
    workers: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write DATA corrupted by SUITE to the folder OUT, with the clean images beside it.

    SUITE is imagenet-c (the fifteen corruptions and the four extra ones, as published), imagenet-p (the ten
    sequences and the four extra ones), imagenet-s (three decoders and six resizes, an .npy per image, for
    other programs: windtunnel run makes these on the fly and does not read them),
    another suite, or a suite's TOML file. The same command continues what was stopped and repairs what was
    damaged.

    \b
    Example:
      windtunnel make imagenet-c ./val ./ImageNet-C-of-mine
      windtunnel run resnet50.onnx ./ImageNet-C-of-mine
      windtunnel make imagenet-p ./val ./ImageNet-P-of-mine --layout videos
    """
    console = Console(stderr=True)
    dataset = open_dataset(data)
    target = Path(out)
    with Bar(console, "looking at the images") as bar:
        plan = plan_make(suite, dataset, **options, advance=bar.look)
    check_target(plan, target)
    count = min(workers or os.cpu_count() or 1, len(plan.chunks)) if dataset.portable else 1
    print_lines(console, _lines(plan, target, count))
    with Bar(console, "checking what is there") as checking, Bar(console, "making", plan.files) as making:
        manifest = make(
            plan,
            target,
            workers=count,
            includes=included_files(),
            look=checking.look,
            advance=making.advance,
        )
    if as_json:
        print_json(
            {
                "folder": str(target),
                "images": len(plan.images),
                "conditions": [condition.name for condition in plan.conditions],
                "files": plan.files,
                "left_out": plan.left_out,
                "remarks": plan.info.remarks,
                "recipe_digest": manifest.digest,
                "recipe": manifest.recipe.to_json(),
            }
        )
        return
    print_lines(
        Console(),
        [
            ("made", f"{target}   {plan.files:,} images, recipe {manifest.digest[:8]}"),
            ("check", shlex.join(["windtunnel", "data", "verify", out])),
            *([("score", shlex.join(["windtunnel", "run", "MODEL", out]))] if plan.layout != "npy" else []),
        ],
    )


def _lines(plan: MakePlan, target: Path, workers: int) -> list[tuple[str, str]]:
    canvas = plan.canvas.geometry.describe() + (f"; {plan.canvas.note}" if plan.canvas.note else "")
    lines = [
        ("data", f"{plan.dataset.location}   {counted(len(plan.images), 'image')}"),
        ("set", _contents(plan)),
        *(("note", remark) for remark in plan.info.remarks),
        ("canvas", f"edition {plan.canvas.edition}, {canvas}"),
        (
            "work",
            f"{counted(plan.files, 'image')} in {counted(len(plan.chunks), 'chunk')} on "
            f"{counted(workers, 'worker')}",
        ),
        ("out", str(target)),
    ]
    shown = list(plan.left_out.items())
    if shown:
        lines.append(("left out", f"{counted(len(shown), 'image')} that cannot be read"))
        lines += [("", f"{id_}: {reason}") for id_, reason in shown[:5]]
    return lines


def _contents(plan: MakePlan) -> str:
    """What the set will hold, in a few words."""
    if plan.layout == STEPS_LAYOUT:
        pairs = len(plan.conditions)
        return f"{pairs} pairs of decoder and resize, an .npy per image, {plan.recipe.split}"
    modified = [one for one in plan.conditions if one.unit]
    units = len({one.unit for one in modified})
    levels = ", ".join(map(str, sorted({one.level for one in modified if one.level})))
    is_clip = modified[-1].is_sequence
    places = [(one.unit, one.level) for one in modified]
    if not is_clip and is_uneven(places):
        return f"{len(places)} conditions: {grid_text(places)}, {plan.layout}, codec {modified[-1].codec}"
    what = counted(units, "sequence" if is_clip else "corruption")
    what += f" x {'difficulty' if is_clip else 'severities'} {levels}" if levels else ""
    return f"{what}, {plan.layout}, codec {modified[-1].codec}"
