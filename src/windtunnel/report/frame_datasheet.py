"""The datasheet of exported frame sets: their videos, how anchors were drawn, and their limits."""

from __future__ import annotations

from collections import Counter

from windtunnel.core.wording import counted
from windtunnel.curate.export_folder import CHECKSUMS, MANIFEST
from windtunnel.curate.frame_boxes import boxes_content
from windtunnel.curate.frame_set_export import BOXES, VIDEOS, FrameSetExport
from windtunnel.curate.frame_tables import VideoRow
from windtunnel.curate.project import counts
from windtunnel.report.datasheet import NOT_STATED, ROWS_SHOWN, class_name, count_table, reviewer_rows
from windtunnel.report.page import render_page

OUTCOMES = {
    "exported": "in the set",
    "rejected": "rejected by reviewers",
    "no_majority": "neither accepted nor rejected by most of their reviewers",
    "not_reviewed": "without a verdict",
    "anchor_rejected": "the anchor of their set is rejected",
    "anchor_no_majority": "the anchor of their set has no majority",
    "set_not_reviewed": "in a set without a verdict",
}
CUT_OFF = {
    "": "none: complete",
    "start": "at the start of the video",
    "end": "at its end",
    "both": "at its start and its end",
}


def render_frame_datasheet(made: FrameSetExport) -> str:
    """The HTML page of exported frame sets."""
    rows = made.exported
    anchors = [row for row in rows if not row.frame.offset]
    sizes = Counter(counts(row.frame.set for row in rows).values())
    return render_page(
        "frame_datasheet.html.j2",
        {},
        own=made.own,
        role="frame sets of videos",
        unit="frames",
        size_text=f"{counted(made.sets, 'set')} with {counted(len(rows), 'frame')}",
        review="reviewed" if made.reviewed else "without review",
        outcomes=count_table((OUTCOMES[name], count) for name, count in made.outcomes.items()),
        classes=count_table(
            counts(class_name(label) for row in anchors for label in row.frame.labels).items()
        ),
        sizes=count_table((f"{size:,}", count) for size, count in sorted(sizes.items())),
        cut_off=count_table(counts(CUT_OFF[row.frame.cut_off] for row in anchors).items()),
        flags=count_table(counts(flag for row in rows for flag in row.frame.flags or ("none",)).items()),
        videos=_videos(made),
        label_statuses=count_table(counts(row.frame.label_status for row in rows).items()),
        licences=count_table(counts(row.video.licence or NOT_STATED for row in rows).items()),
        sources=count_table(counts(row.video.source or NOT_STATED for row in rows).items()),
        statuses=count_table(counts(video.status for video in made.videos).items()),
        samplings=count_table(counts(video.sampling for video in made.videos).items()),
        reviewers=reviewer_rows(row.votes for row in made.rows),
        boxes=BOXES if boxes_content({row.file: row.frame for row in rows}) else "",
        manifest=f"{MANIFEST}.parquet, {MANIFEST}.csv",
        videos_file=VIDEOS,
        checksums=CHECKSUMS,
    )


def _videos(made: FrameSetExport) -> list[list[str]]:
    """The videos of the set with codec, size, frame rate and number of sets."""
    exported = counts(row.frame.video for row in made.exported if not row.frame.offset)
    used = {row.video.id: row.video for row in made.exported}
    shown = [
        [video.name, video.codec, f"{video.width}x{video.height}", _rate(video), f"{exported[id_]:,}"]
        for id_, video in used.items()
    ]
    more = len(shown) - ROWS_SHOWN
    return [*shown[:ROWS_SHOWN], *([[f"and {more:,} more", "", "", "", ""]] if more > 0 else [])]


def _rate(video: VideoRow) -> str:
    """The mean number of frames a second."""
    if not video.duration:
        return ""
    rate = f"{(video.frames - 1) / video.duration:.4g}"
    return f"{rate}, variable" if video.variable_rate else rate
