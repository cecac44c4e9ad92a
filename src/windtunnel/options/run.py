"""The options of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.core.labels import DECLARABLE
from windtunnel.core.placement import ACCELERATOR_BATCH, AUTO, PRECISIONS
from windtunnel.options.execution import ADDRESS_HELP, EXECUTOR_HELP
from windtunnel.options.record import Options, option_field, options_record

# For which conditions all outputs of a model are stored: clean and native images, all, or none.
KEEP = ("auto", "logits", "summary")


@options_record
class RunOptions(Options):
    """The options of `run` and `plan`."""

    clean: Any = option_field(
        default=None,
        help="The clean images of a precomputed set, or for comparison with a natural set.",
        metavar="DATA",
        path="maybe",
    )
    only: Sequence[str] = option_field(
        default=(),
        help="Run only this corruption or sequence, also if the suite does not contain it; may be repeated.",
        metavar="UNIT[:LEVEL]",
    )
    preprocess: str | Path | None = option_field(
        default=None,
        help="The model's preprocessing; default: MODEL.toml next to the model, else preset imagenet.",
        metavar="PRESET|FILE.toml",
        path="maybe",
    )
    device: str = option_field(
        default=AUTO,
        help="Device of the model: auto (a CUDA device if there is one), cpu, cuda, cuda:1, mps, or ONNX "
        "Runtime's execution providers, separated by commas.",
        metavar="DEVICE",
    )
    precision: str | None = option_field(
        default=None,
        help="Precision of a torch module; half precision is torch.autocast. Default float32, its own types.",
        choices=PRECISIONS,
    )
    batch: int | None = option_field(
        default=None,
        help="Images in one call of the model; fewer if memory runs out. Default 16 (ONNX) or 32 on the CPU, "
        f"{ACCELERATOR_BATCH} on another device.",
        minimum=1,
    )
    allow_batch_dependence: bool = option_field(
        default=False,
        help="Accept a model whose scores of an image depend on the other images of its batch or on earlier "
        "calls; every report warns of it.",
    )
    seed: int = option_field(default=0, help="Seed of every random draw.")
    subset: int | None = option_field(
        default=None,
        help="Use only this many images, stratified by class; 0 for all; default: as in the suite.",
        minimum=0,
    )
    classes: str | Path | None = option_field(
        default=None,
        help="Use only images of some classes: every:10 for every tenth in the order of WordNet ids, or a "
        "file with a class name or WordNet id in every line. All outputs still compete unless mask is given.",
        metavar="every:N|FILE",
        path="maybe",
    )
    budget: str | None = option_field(
        default=None,
        help="Choose the subset by the time that the run may take; a few images are timed first.",
        metavar="90s|10m|2h",
    )
    mask: bool = option_field(default=False, help="Restrict predictions to classes present in the dataset.")
    keep: str = option_field(
        default="auto",
        help="Store all outputs for clean and native images (auto), for all conditions (logits), or for none "
        "(summary).",
        metavar="|".join(KEEP),
    )
    chunk: int | None = option_field(default=None, help="Images per shard; default: about 2,048 predictions.")
    labels_are_outputs: bool = option_field(
        default=False,
        help="Use the data's class indices as output indices although the model has more outputs.",
    )
    labels: str | None = option_field(
        default=None,
        help="What the data's class indices are; default: ImageNet-1k's if the model declares its classes or "
        "exactly 0 to 999 occur.",
        choices=DECLARABLE,
    )
    label_map: str | Path | None = option_field(
        default=None,
        help="Label map from outputs to the data's classes: columns output,class. The score of a class is "
        "the highest of its outputs.",
        metavar="FILE.csv",
        flag_name="map",
        path="file",
    )
    edition: int | None = option_field(default=None, help="32, 64, 224 or 299; default: as in the suite.")
    difficulty: int | None = option_field(
        default=None, help="Difficulty of sequences: 1, 2 or 3; higher means stronger noise and larger steps."
    )
    codec: str | None = option_field(
        default=None,
        help="Codec applied to images before the model sees them; default: as in the suite. h264: sequences.",
        metavar="none|png|jpeg:85|h264",
    )
    settings: Sequence[str] = option_field(
        default=(),
        help="Replace a setting of a unit, such as frost.textures=DIR; may be repeated.",
        metavar="UNIT.SETTING=VALUE",
        flag_name="set",
        path="maybe",
    )
    group: str | None = option_field(
        default=None,
        help="A column of the data's table, such as patient, by which confidence intervals are clustered.",
        metavar="COLUMN",
    )
    frame_sets: str | None = option_field(
        default=None,
        help="Frame sets of a COCO file with video_id and frame_index, for pm-k: k=10, anchors=apart (sets "
        "that share no frame), every:N or a file of image names, iou=0.5, absent=ignored or counted, "
        "ties=nearest or earliest, anchor=included or excluded.",
        metavar="NAME=VALUE,...",
    )
    out: str | Path | None = option_field(
        default=None,
        help="The run folder; default: windtunnel-runs/<names>-<recipe>.",
        metavar="FOLDER",
        path="file",
    )
    include: Sequence[str | Path] = option_field(
        default=(),
        help="A Python file with plug-ins of your own, a suite (TOML), or a folder of both; may be repeated.",
        metavar="FILE",
        path="file",
    )
    workers: int | None = option_field(
        default=None,
        help="Workers; default: one per processor core on the command line, 1 in Python.",
        minimum=1,
    )
    executor: str | None = option_field(default=None, help=EXECUTOR_HELP, metavar="NAME")
    address: str | None = option_field(default=None, help=ADDRESS_HELP, metavar="auto|HOST:PORT")
    strict: bool = option_field(default=False, help="Stop at the first image that cannot be scored.")


# Options of `run` that `plan` does not have.
EXECUTION = ("workers", "executor", "address", "strict")
