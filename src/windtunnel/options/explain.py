"""The options of explaining a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

Method = Literal["occlusion", "grad-cam"]
Cover = Literal["mean", "blur"]
ScoreKind = Literal["probability", "logit"]


@options_record
class ExplainOptions(Options):
    """The options of `explain`."""

    method: Method = option_field(
        default="occlusion",
        help="occlusion, for any model, or grad-cam, for torch modules.",
        choices=get_args(Method),
    )
    cover: Cover = option_field(
        default="mean",
        help="For occlusion: a patch is covered with the image's mean colour, or with a blur of the image.",
        choices=get_args(Cover),
    )
    score: ScoreKind = option_field(
        default="probability",
        help="For occlusion: the score of the class whose change is mapped.",
        choices=get_args(ScoreKind),
    )
    layer: str | None = option_field(
        default=None,
        help="For grad-cam: the layer whose feature maps are used; default: the last convolution.",
        metavar="NAME",
    )
    preprocess: str | Path | None = same_field(RunOptions, "preprocess")
    device: str = same_field(RunOptions, "device")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
