"""windtunnel make: write a corrupted copy of a dataset in the published layouts."""

from __future__ import annotations

import shlex
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.conditions import grid_text, is_uneven, levels_text
from windtunnel.core.locations import Location
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options import MakeOptions
from windtunnel.options.make import COPIES_LAYOUT, STEPS_LAYOUT

# Unreadable images that are listed.
LEFT_OUT_SHOWN = 5


@click.command()
@click.argument("suite")
@click.argument("data")
@click.argument("out")
@record_options(MakeOptions)
@AS_JSON
@LOG
def command(suite: str, data: str, out: str, as_json: bool, console: Console, **options: Any) -> None:
    """Write DATA corrupted by SUITE to the folder OUT, together with the clean images.

    SUITE is a suite's name or TOML file. imagenet-c contains the fifteen corruptions and the four extra ones,
    as published; imagenet-p contains the ten sequences and the four extra ones. imagenet-s contains three
    decoders and six resizes, an .npy file per image, for other programs: windtunnel run does not read them.
    Annotated data (COCO, Pascal VOC, YOLO) is copied at its own sizes, with a COCO file for every condition.
    The same command continues an unfinished set and repairs a damaged one.

    \b
    Example:
      windtunnel make imagenet-c ./val ./ImageNet-C-of-mine
      windtunnel run resnet50.onnx ./ImageNet-C-of-mine
      windtunnel make coco-c ./instances.json ./COCO-C-of-mine --only fog
      windtunnel make imagenet-p ./val ./ImageNet-P-of-mine --layout videos
    """
    with Bar(console, "reading image headers") as bar:
        prepared = api.prepare_set(suite, data, out, MakeOptions(**options), bar)
    plan, workers = prepared.plan, prepared.workers
    print_lines(console, _lines(plan, prepared.folder, workers))
    with Bar(console, "checking stored images") as checking, Bar(console, "making images") as making:
        manifest = prepared.make(workers, making, checking)
    if as_json:
        print_json(
            {
                "folder": str(prepared.folder),
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
            ("made", f"{prepared.folder}   {plan.files:,} images, recipe {manifest.digest[:8]}"),
            ("verify", shlex.join(["windtunnel", "data", "verify", out])),
            *([("score", shlex.join(["windtunnel", "run", "MODEL", out]))] if _is_scored_whole(plan) else []),
        ],
    )


def _is_scored_whole(plan: api.MakePlan) -> bool:
    """Whether `windtunnel run` takes the whole set."""
    return plan.layout not in (STEPS_LAYOUT, COPIES_LAYOUT)


def _lines(plan: api.MakePlan, target: Location, workers: int) -> list[tuple[str, str]]:
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
    left_out = list(plan.left_out.items())
    if left_out:
        lines.append(("left out", f"{counted(len(left_out), 'image')} that cannot be read"))
        lines += [("", f"{sample_id}: {reason}") for sample_id, reason in left_out[:LEFT_OUT_SHOWN]]
    return lines


def _contents(plan: api.MakePlan) -> str:
    """The contents of the set in a few words."""
    if plan.layout == STEPS_LAYOUT:
        pairs = len(plan.conditions)
        return f"{pairs} pairs of decoder and resize, an .npy per image, {plan.recipe.split}"
    modified = [condition for condition in plan.conditions if condition.unit]
    units = len({condition.unit for condition in modified})
    levels = sorted({condition.level for condition in modified if condition.level})
    is_clip = modified[-1].is_sequence
    grid = [(condition.unit, condition.level) for condition in modified]
    if not is_clip and is_uneven(grid):
        contents = f"{len(grid)} conditions: {grid_text(grid)}"
    else:
        contents = counted(units, "sequence" if is_clip else "corruption")
        if levels:
            numbers = ", ".join(map(str, levels))
            contents += f" x {f'difficulty {numbers}' if is_clip else levels_text(levels)}"
    return f"{contents}, {plan.layout}, codec {modified[-1].codec}"
