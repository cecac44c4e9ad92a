"""The options of a study of subtype robustness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.overlap import OverlapOptions
from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

# The published types, as a hierarchy of ImageNet-1k's classes and as types of a WordNet table.
PUBLISHED_TYPES = "imagenet-types"


@options_record
class SubtypeOptions(Options):
    """The options of `subtypes`."""

    hierarchy: str | Path | None = option_field(
        default=None,
        help="The type of every class: a CSV file with the columns class and type (and part, seen or "
        "unseen), or child and parent; WordNet's table of pairs; or imagenet-types, the 25 types of "
        "Hendrycks and Dietterich.",
        metavar="FILE|imagenet-types",
        path="maybe",
    )
    types: Sequence[str] = option_field(
        default=(),
        help="A type in a hierarchy of children and parents, or imagenet-types; may be repeated. Default: "
        "the classes without a parent.",
        metavar="CLASS",
    )
    seen: str | Path | None = option_field(
        default=None,
        help="The seen subtypes: imagenet-1k, as in the paper, or a file with a class in every line. "
        "Default: those that the hierarchy marks, else a random share.",
        metavar="FILE|imagenet-1k",
        path="maybe",
    )
    seen_share: float = option_field(
        default=0.5, help="The share of each type's subtypes that are seen, if they are chosen at random."
    )
    held_out: float = option_field(
        default=0.2, help="The share of each seen subtype's images that no model is trained on."
    )
    split_seed: int = option_field(
        default=0, help="Seed of the choice of seen subtypes and of held-out images.", minimum=0
    )
    network: Sequence[str] = option_field(
        default=(),
        help="A network that is first trained to classify the seen subtypes; may be repeated. Default: the "
        "protocol's.",
        metavar="NAME|FILE.py:factory",
    )
    module: Sequence[str] = option_field(
        default=(),
        help="A function(classes, side_px) that returns a pretrained torch module with a new last layer; may "
        "be repeated.",
        metavar="FILE.py:factory",
    )
    protocol: str = option_field(
        default="small",
        help="Preprocessing and training of networks: small (32 pixels, a few CPU cores), paper (224 pixels) "
        "or a TOML file.",
        metavar="NAME|FILE.toml",
    )
    epochs: int | None = option_field(
        default=None, help="Epochs of networks on the seen subtypes, instead of the protocol's.", minimum=1
    )
    last_epochs: int = option_field(default=5, help="Epochs of the last layer on the types.", minimum=1)
    last_rate: float = option_field(default=0.01, help="The learning rate of the last layer at the start.")
    seeds: int = option_field(default=1, help="Number of trainings per model.", minimum=1)
    device: str = same_field(OverlapOptions, "device")
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
