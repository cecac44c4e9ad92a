"""windtunnel make: a corrupted or perturbed data set as files, in the published layouts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.conditions import grid_text, is_uneven
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options import MakeOptions
from windtunnel.options.make import STEPS_LAYOUT


@click.command()
@click.argument("suite")
@click.argument("data")
@click.argument("out")
@record_options(MakeOptions)
@AS_JSON
def command(suite: str, data: str, out: str, as_json: bool, **options: Any) -> None:
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
    target = Path(out)
    with Bar(console, "looking at the images") as bar:
        prepared = api.prepare_set(suite, data, out, MakeOptions(**options), bar)
    plan, workers = prepared.plan, prepared.workers
    print_lines(console, _lines(plan, target, workers))
    with Bar(console, "checking what is there") as checking, Bar(console, "making") as making:
        manifest = prepared.make(workers, making, checking)
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


def _lines(plan: api.MakePlan, target: Path, workers: int) -> list[tuple[str, str]]:
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


def _contents(plan: api.MakePlan) -> str:
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
