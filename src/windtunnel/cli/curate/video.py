"""windtunnel curate video: frame sets from videos."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options.video import VideoOptions

# Videos with damage or without sets that are printed.
ROWS_SHOWN = 20


@click.command("video", short_help="Make frame sets from videos, for pm-k.")
@click.argument("project")
@click.argument("videos", nargs=-1, required=True, metavar="VIDEO|FOLDER...")
@record_options(VideoOptions)
@click.option("--out", metavar="SET", help="Export the sets in the layout of ImageNet-Vid-Robust.")
@click.option(
    "--reviewed",
    metavar="FILE",
    help="With --out: table with the columns set, frame and verdict (accept, reject, unsure); only accepted "
    "frames are exported.",
)
@AS_JSON
@LOG
def command(
    project: str,
    videos: tuple[str, ...],
    out: str | None,
    reviewed: str | None,
    as_json: bool,
    console: Console,
    **options: Any,
) -> None:
    """Draw anchor frames from videos and store them with the frames around them in PROJECT.

    Frames are decoded in the order of presentation, turned upright, and stored as PNG files. Frames that
    repeat their neighbour and cuts between scenes are flagged. Labels are copied to the frames around an
    anchor and marked as propagated. A video that cannot be used is a row with a reason. The same command
    continues after a stop.

    \b
    Examples:
      windtunnel curate video cars ./clips --labels segments.csv
      windtunnel curate video cars ./clips --labels segments.csv --anchors 3 --gap 5s --seconds 0.5
      windtunnel curate video cars ./clips --labels segments.csv --out cars-set --reviewed verdicts.csv
    """
    if reviewed is not None and out is None:
        raise UserError("--reviewed is given without --out; give a folder for the set, --out SET.")
    prepared = api.prepare_frame_sets(project, videos, VideoOptions(**options))
    with Bar(console, "decoding videos", unit="video") as bar:
        made = prepared.make(prepared.workers, bar)
    exported = None
    if out is not None:
        with Bar(console, "writing frames") as bar:
            exported = api.export_frame_sets(project, out, reviewed=reviewed, progress=bar)
    if as_json:
        content = asdict(made) | {"project": str(made.project)}
        if exported is not None:
            content["export"] = export_json(exported)
        print_json(content)
        return
    _print(Console(), made, exported)


def export_json(exported: api.FrameSetExport) -> dict[str, Any]:
    """An exported set as JSON."""
    return {
        "folder": str(exported.folder),
        "name": exported.own.name,
        "title": exported.own.title,
        "sets": exported.sets,
        "frames": exported.neighbours,
        "reviewed": exported.reviewed,
        "outcomes": exported.outcomes,
    }


def export_lines(exported: api.FrameSetExport) -> list[tuple[str, str]]:
    """An exported set as lines for a terminal."""
    outcomes = ", ".join(f"{name} {count:,}" for name, count in exported.outcomes.items())
    return [
        (
            "set",
            f"{exported.folder}   {exported.own.title}, {counted(exported.sets, 'anchor')}, "
            f"{counted(exported.neighbours, 'neighbour')}",
        ),
        ("candidates", outcomes),
        ("score", shlex.join(["windtunnel", "run", "MODEL", str(exported.folder)])),
    ]


def _print(console: Console, made: api.FrameSets, exported: api.FrameSetExport | None) -> None:
    damaged = [video for video in made.videos if video.status != "ok"]
    used = sum(video.sets > 0 for video in made.videos)
    flags = ", ".join(f"{name} {count:,}" for name, count in made.flags.items())
    lines = [
        ("project", str(made.project)),
        ("videos", f"{used:,} of {len(made.videos):,} used"),
        ("sets", f"{made.sets:,} with {counted(made.frames, 'frame')}, {made.cut_off:,} cut off"),
        ("flags", flags or "none"),
        *(("note", f"{video.path}: {video.notes}") for video in made.videos if video.notes),
    ]
    if exported is not None:
        lines += export_lines(exported)
    print_lines(console, lines)
    if damaged:
        print_table(
            console,
            ["video", "status", "reason"],
            [[video.path, video.status, video.reason] for video in damaged[:ROWS_SHOWN]],
        )
        if len(damaged) > ROWS_SHOWN:
            console.print(f"and {len(damaged) - ROWS_SHOWN} more (--json)")
