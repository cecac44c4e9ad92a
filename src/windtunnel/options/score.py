"""The options of scoring predictions made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

OUTPUTS = ("logits", "probabilities", "top-k")


@options_record
class ScoreOptions(Options):
    """The options of `score_predictions`, and of `score` with `--predictions`."""

    clean: Any = option_field(
        default=None,
        help="With --predictions: the clean images of a precomputed or natural set.",
        metavar="DATA",
        path="maybe",
    )
    outputs: str | None = option_field(
        default=None,
        help="With --predictions: the kind of scores, if their columns do not state it.",
        choices=OUTPUTS,
    )
    label_map: str | Path | None = option_field(
        default=None,
        help="With --predictions: label map from outputs to the data's classes, columns output,class.",
        metavar="FILE.csv",
        flag_name="map",
        path="file",
    )
    mask: bool = option_field(
        default=False, help="With --predictions: restrict predictions to classes present in the dataset."
    )
    labels_are_outputs: bool = option_field(
        default=False, help="With --predictions: use the data's class indices as output indices."
    )
    labels: str | None = same_field(RunOptions, "labels")
    seed: int = option_field(default=0, help="With --predictions: the seed of the corrupted images.")
    partial: bool = option_field(
        default=False,
        help="With --predictions: score only images with a prediction under every condition.",
    )
    out: str | Path | None = option_field(
        default=None, help="With --predictions: the run folder to write.", metavar="FOLDER", path="file"
    )
    group: str | None = same_field(RunOptions, "group")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
