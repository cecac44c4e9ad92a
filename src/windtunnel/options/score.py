"""The options of scoring predictions made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.core.labels import DECLARABLE
from windtunnel.options.record import Options, option_field, options_record

OUTPUTS = ("logits", "probabilities", "top-k")


@options_record
class ScoreOptions(Options):
    """The options of `score_predictions`, and of `score` with `--predictions`."""

    clean: Any = option_field(
        default=None,
        help="With --predictions: the clean images of a finished or natural set.",
        metavar="DATA",
        path="maybe",
    )
    outputs: str | None = option_field(
        default=None, help="With --predictions: what they are, if their columns do not say.", choices=OUTPUTS
    )
    label_map: str | Path | None = option_field(
        default=None,
        help="With --predictions: columns output,class.",
        metavar="FILE.csv",
        flag_name="map",
        path="file",
    )
    mask: bool = option_field(
        default=False, help="With --predictions: restrict predictions to classes present in the dataset."
    )
    labels_are_outputs: bool = option_field(
        default=False, help="With --predictions: trust the data's class indices."
    )
    labels: str | None = option_field(
        default=None,
        help="What the data's class indices are; default: ImageNet-1k's if the model declares its classes or "
        "exactly 0 to 999 occur.",
        choices=DECLARABLE,
    )
    seed: int = option_field(default=0, help="With --predictions: the seed the images were made with.")
    partial: bool = option_field(
        default=False,
        help="With --predictions: score only images that have a prediction under every condition.",
    )
    out: str | Path | None = option_field(
        default=None, help="With --predictions: the run folder to write.", metavar="FOLDER", path="file"
    )
    group: str | None = option_field(
        default=None,
        help="A column of the data's table; intervals are clustered by its values (such as one patient).",
        metavar="COLUMN",
    )
    include: Sequence[str | Path] = option_field(
        default=(),
        help="A Python file with plug-ins of your own, a suite (TOML), or a folder of both; may be repeated.",
        metavar="FILE",
        path="file",
    )
