"""The options of making a corrupted set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.labels import DECLARABLE
from windtunnel.options.execution import ADDRESS_HELP, EXECUTOR_HELP
from windtunnel.options.record import Options, option_field, options_record

# The layouts for each kind of set, the default first; 32-pixel images are arrays, like CIFAR-10-C and -P.
IMAGE_LAYOUTS = ("folders", "arrays")
CLIP_LAYOUTS = ("frames", "arrays", "videos")
# The layout of sets of pipeline steps; other programs read only this one.
STEPS_LAYOUT = "npy"
LAYOUTS = tuple(dict.fromkeys(("auto", *IMAGE_LAYOUTS, *CLIP_LAYOUTS, STEPS_LAYOUT)))
# Crops of imagenet-s: centre crops, or random resized crops.
SPLITS = ("val", "train")


@options_record
class MakeOptions(Options):
    """The options of `make` and `make_set`."""

    layout: str = option_field(
        default="auto",
        help="Images as folders of files or arrays; sequences as PNG frames, arrays or videos; imagenet-s as "
        "npy, which training programs read and windtunnel run does not. auto takes arrays for 32-pixel "
        "images, else folders or frames.",
        choices=LAYOUTS,
    )
    only: Sequence[str] = option_field(
        default=(), help="Make only this corruption or sequence; may be repeated.", metavar="UNIT[:LEVEL]"
    )
    split: str = option_field(
        default=SPLITS[0],
        help="Of imagenet-s: centre crops, or random resized crops for training, the same by every decoder.",
        choices=SPLITS,
    )
    seed: int = option_field(default=0, help="Seed of every random draw.")
    subset: int | None = option_field(
        default=None,
        help="Only this many images, in proportion to class frequency; 0 for all, default as the suite says.",
        minimum=0,
    )
    edition: int | None = option_field(
        default=None, help="32, 64, 224 or 299, if not as the images' size says."
    )
    difficulty: int | None = option_field(default=None, help="1, 2 or 3, of sequences: noise is stronger.")
    codec: str | None = option_field(
        default=None, help="How images are stored, if not as published.", metavar="none|png|jpeg:85|h264"
    )
    settings: Sequence[str] = option_field(
        default=(),
        help="Replace a setting of a unit, such as frost.textures=DIR; may be repeated.",
        metavar="UNIT.SETTING=VALUE",
        flag_name="set",
        path="maybe",
    )
    workers: int | None = option_field(
        default=None,
        help="Workers; by default one per processor core on the command line, and 1 in Python.",
        minimum=1,
    )
    executor: str | None = option_field(default=None, help=EXECUTOR_HELP, metavar="NAME")
    address: str | None = option_field(default=None, help=ADDRESS_HELP, metavar="auto|HOST:PORT")
    labels: str | None = option_field(
        default=None,
        help="What the data's class indices are; imagenet-1k writes folders of WordNet ids. Default indices.",
        choices=DECLARABLE,
    )
    include: Sequence[str | Path] = option_field(
        default=(),
        help="A Python file with plug-ins of your own, such as a corruption or a metric; may be repeated.",
        metavar="FILE.py",
        path="file",
    )
