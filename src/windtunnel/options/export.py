"""The options of exporting a natural set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record


@options_record
class ExportOptions(Options):
    """The options of `curate export` and `export_set`."""

    step: str | None = option_field(
        default=None,
        help="The step whose shortlist is exported, such as hard, ood or video. Default: the only shortlist; "
        "without any, all stored candidates.",
    )
    reviewed: str | Path | None = option_field(
        default=None,
        help="CSV file with the columns id, verdict (accept, reject or unsure), and optionally reviewer and "
        "note. Only candidates that most reviewers accept are exported. Default: a version without review.",
        metavar="FILE",
        path="file",
    )
    name: str | None = option_field(
        default=None, help="Name of the set in scores; default: project and step."
    )
    title: str | None = option_field(default=None, help="Name of the set for readers.")
    role: str | None = option_field(
        default=None,
        help="shifted: images with labels; out: out of distribution. Default: out for the step ood.",
        choices=("shifted", "out"),
    )
    not_trained_on: Sequence[str] = option_field(
        default=(),
        help="A dataset that invalidates the score of a model trained on it; may be repeated.",
        metavar="DATASET",
    )
    notes: Sequence[str] = option_field(
        default=(), help="A note for readers; may be repeated.", flag_name="note", metavar="TEXT"
    )
    mask: bool = option_field(
        default=False,
        help="Only outputs of the set's classes compete, as in ImageNet-A. Default: as in the filtration, "
        "which masks if it was given classes.",
    )
