"""The options of making a corrupted set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.labels import DECLARABLE
from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

# The layouts for each kind of set, the default first; 32-pixel images are arrays, like CIFAR-10-C and -P.
IMAGE_LAYOUTS = ("folders", "arrays", "webdataset")
# The layouts of corruptions with one strength.
ONE_STRENGTH_LAYOUTS = ("folders", "webdataset")
# Copies of whole images under their own names, with COCO annotations; the default for annotated data.
COPIES_LAYOUT = "copies"
CLIP_LAYOUTS = ("frames", "arrays", "videos")
# The layout of sets of pipeline steps, for other programs.
STEPS_LAYOUT = "npy"
LAYOUTS = tuple(dict.fromkeys(("auto", *IMAGE_LAYOUTS, COPIES_LAYOUT, *CLIP_LAYOUTS, STEPS_LAYOUT)))
# Crops of imagenet-s: centre crops, or random resized crops.
SPLITS = ("val", "train")


@options_record
class MakeOptions(Options):
    """The options of `make` and `make_set`."""

    layout: str = option_field(
        default="auto",
        help="How the set is stored: images as folders, arrays, webdataset (tar shards) or copies (whole "
        "images under their own names, with annotations); sequences as frames (PNG), arrays or videos; "
        "imagenet-s as npy, which windtunnel run does not read. auto: copies for annotated data, arrays for "
        "32-pixel images, else folders or frames.",
        choices=LAYOUTS,
    )
    shard_size: int = option_field(
        default=1000,
        help="With --layout webdataset: the largest number of images in a shard. Small sets have smaller "
        "shards, so that workers share the work.",
    )
    only: Sequence[str] = option_field(
        default=(), help="Make only this corruption or sequence; may be repeated.", metavar="UNIT[:LEVEL]"
    )
    split: str = option_field(
        default=SPLITS[0],
        help="For imagenet-s: centre crops (val), or random resized crops for training (train).",
        choices=SPLITS,
    )
    seed: int = same_field(RunOptions, "seed")
    subset: int | None = same_field(RunOptions, "subset")
    classes: str | Path | None = option_field(
        default=None,
        help="Use only images of some classes: every:10 for every tenth in the order of WordNet ids, or a "
        "file with a class name or WordNet id in every line.",
        metavar="every:N|FILE",
        path="maybe",
    )
    edition: int | None = option_field(
        default=None, help="32, 64, 224 or 299; default: by the size of the images."
    )
    difficulty: int | None = option_field(
        default=None, help="Difficulty of sequences: 1, 2 or 3; higher means stronger noise."
    )
    codec: str | None = option_field(
        default=None, help="How images are stored; default: as published.", metavar="none|png|jpeg:85|h264"
    )
    settings: Sequence[str] = same_field(RunOptions, "settings")
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    labels: str | None = option_field(
        default=None,
        help="What the data's class indices are; imagenet-1k names class folders by WordNet id. Default: "
        "indices.",
        choices=DECLARABLE,
    )
    include: Sequence[str | Path] = same_field(RunOptions, "include")
