"""The options of making frame sets from videos."""

from __future__ import annotations

from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

# Frames on each side of an anchor, as in ImageNet-Vid-Robust.
FRAMES = 10


@options_record
class VideoOptions(Options):
    """The options of `curate video` and `make_frame_sets`."""

    labels: str | Path | None = option_field(
        default=None,
        help="Table with the columns video and label, and optionally start, end, x1, y1, x2, y2, licence and "
        "source. Anchors are drawn only inside its segments.",
        metavar="TABLE",
        path="file",
    )
    anchors: int = option_field(default=1, help="Frame sets for each video, if they fit.", minimum=1)
    gap: str = option_field(
        default="2s", help="Smallest distance of two anchors of one video.", metavar="SECONDS"
    )
    frames: int | None = option_field(
        default=None, help=f"Frames on each side of an anchor. Default {FRAMES}.", minimum=1
    )
    seconds: str | None = option_field(
        default=None,
        help="Seconds on each side of an anchor instead of a number of frames.",
        metavar="SECONDS",
    )
    seed: int = option_field(default=0, help="Seed of the anchors.")
    source: str = option_field(default="", help="Source of videos for which the table names none.")
    licence: str = option_field(default="", help="Licence of videos for which the table names none.")
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
