"""The options of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.core.labels import DECLARABLE
from windtunnel.core.placement import ACCELERATOR_BATCH, AUTO, PRECISIONS
from windtunnel.options.execution import ADDRESS_HELP, EXECUTOR_HELP
from windtunnel.options.record import Options, option_field, options_record

# What may be kept of a model's outputs: of clean and native images, of all conditions, or of none.
KEEP = ("auto", "logits", "summary")


@options_record
class RunOptions(Options):
    """The options of `run` and `plan`."""

    clean: Any = option_field(
        default=None,
        help="The clean images a finished set was made from, or a natural one is compared with.",
        metavar="DATA",
        path="maybe",
    )
    only: Sequence[str] = option_field(
        default=(),
        help="Run only this corruption or sequence, of the suite or not; may be repeated.",
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
    seed: int = option_field(default=0, help="Seed of every random draw.")
    subset: int | None = option_field(
        default=None,
        help="Only this many images, in proportion to class frequency; 0 for all, default as the suite says.",
        minimum=0,
    )
    budget: str | None = option_field(
        default=None,
        help="Choose the subset by the time that the run may take; a few images are timed first.",
        metavar="90s|10m|2h",
    )
    mask: bool = option_field(default=False, help="Restrict predictions to classes present in the dataset.")
    keep: str = option_field(
        default="auto",
        help="Keep full outputs for clean and native images, for all conditions, or for none.",
        metavar="|".join(KEEP),
    )
    chunk: int | None = option_field(
        default=None, help="Images per shard; by default about 2,048 predictions."
    )
    labels_are_outputs: bool = option_field(
        default=False, help="Trust the data's class indices although the model has more outputs."
    )
    labels: str | None = option_field(
        default=None,
        help="What the data's class indices are; default: ImageNet-1k's if the model declares its classes or "
        "exactly 0 to 999 occur.",
        choices=DECLARABLE,
    )
    label_map: str | Path | None = option_field(
        default=None,
        help="Which outputs stand for which class of the data: columns output,class; a class gets the "
        "highest score of its outputs.",
        metavar="FILE.csv",
        flag_name="map",
        path="file",
    )
    edition: int | None = option_field(default=None, help="32, 64, 224 or 299, if not as the suite says.")
    difficulty: int | None = option_field(
        default=None, help="1, 2 or 3: of sequences, stronger noise and frames further apart."
    )
    codec: str | None = option_field(
        default=None,
        help="How images are stored before the model sees them, if not as the suite says; h264: sequences.",
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
        help="A column of the data's table; intervals are clustered by its values (such as one patient).",
        metavar="COLUMN",
    )
    out: str | Path | None = option_field(
        default=None,
        help="The run folder; default windtunnel-runs/<names>-<recipe>.",
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
        help="Workers; by default one per processor core on the command line, and 1 in Python.",
        minimum=1,
    )
    executor: str | None = option_field(default=None, help=EXECUTOR_HELP, metavar="NAME")
    address: str | None = option_field(default=None, help=ADDRESS_HELP, metavar="auto|HOST:PORT")
    strict: bool = option_field(default=False, help="Stop at the first image that cannot be scored.")


# `plan` does no work: it takes every option of `run` but these.
EXECUTION = ("workers", "executor", "address", "strict")
