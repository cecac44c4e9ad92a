"""windtunnel curate export: a natural set from a project."""

from __future__ import annotations

import shlex
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.curate.video import export_json, export_lines
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.errors import unknown_name
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options import ExportOptions

# The step whose frame sets are exported in another layout.
FRAME_SETS = "video"


@click.command("export", short_help="Write a natural set that windtunnel run reads.")
@click.argument("project")
@click.option("--out", metavar="SET", required=True, help="The set's folder.")
@record_options(ExportOptions)
@AS_JSON
@LOG
def command(project: str, out: str, as_json: bool, console: Console, **options: Any) -> None:
    """Write the shortlist of PROJECT as a set: class folders, manifest, datasheet, declaration, checksums.

    With --reviewed only accepted candidates are written, and their labels are confirmed. The manifest has
    every candidate with its stage, verdict, licence and source. The same command continues after a stop and
    gives the same bytes. Frame sets (--step video, or a project that has nothing else) are written in the
    layout of ImageNet-Vid-Robust; their verdicts have the columns set, frame and verdict.

    \b
    Examples:
      windtunnel curate export birds --out birds-hard-unreviewed
      windtunnel curate export birds --out birds-hard --reviewed verdicts.csv
      windtunnel curate export street --step video --out street-set
      windtunnel run resnet50.onnx birds-hard --clean ./val
    """
    _check_step(project, options["step"])
    if _has_only_frame_sets(project) if options["step"] is None else options["step"] == FRAME_SETS:
        with Bar(console, "writing frames") as bar:
            exported = api.export_frame_sets(project, out, ExportOptions(**options), progress=bar)
        if as_json:
            print_json(export_json(exported))
        else:
            print_lines(Console(), export_lines(exported))
        return
    with Bar(console, "writing images") as bar:
        made = api.export_set(project, out, ExportOptions(**options), progress=bar)
    images = len(made.exported)
    if as_json:
        print_json(
            {
                "folder": str(made.folder),
                "name": made.own.name,
                "title": made.own.title,
                "images": images,
                "reviewed": made.reviewed,
                "outcomes": made.outcomes,
                "reviewed_outside_shortlist": made.reviewed_outside,
            }
        )
        return
    clean = ["--clean", "DATA"]
    outcomes = ", ".join(f"{name} {count:,}" for name, count in made.outcomes.items())
    outside = f"{counted(made.reviewed_outside, 'candidate')} with verdicts not in the shortlist, left out"
    print_lines(
        Console(),
        [
            ("set", f"{out}   {made.own.title}, {counted(images, 'image')}"),
            ("candidates", outcomes),
            *([("note", outside)] if made.reviewed_outside else []),
            ("score", shlex.join(["windtunnel", "run", "MODEL", out, *clean])),
        ],
    )


def _check_step(project: str, step: str | None) -> None:
    """Refuse a step that the project has not finished; frame sets have a check of their own."""
    if step is not None and step != FRAME_SETS:
        status = api.project_status(project)
        known = [*status.stages, *(name for name in status.steps if name == FRAME_SETS)]
        if step not in known:
            raise unknown_name("step", step, known, "windtunnel curate status PROJECT")


def _has_only_frame_sets(project: str) -> bool:
    status = api.project_status(project)
    return FRAME_SETS in status.steps and not status.candidates
