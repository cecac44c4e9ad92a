"""The options of filtering candidates and of measuring transfer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

PAIR_FROM = ("centre", "most-confident")
KEEP_FIRST = ("least-true", "most-wrong")


@options_record
class HardOptions(Options):
    """The options of `curate hard`; the thresholds of ImageNet-A are the defaults."""

    classes: str | Path | None = option_field(
        default=None,
        help="Only these classes are candidates and compete: a file with a class name or WordNet id in every "
        "line. Default: all outputs compete.",
        metavar="FILE",
        path="file",
    )
    max_true_confidence: float = option_field(
        default=0.15,
        help="Drop a candidate if any crop of any model has a higher confidence in its class.",
        metavar="SHARE",
    )
    pair_cap: int = option_field(
        default=15,
        help="Candidates of one confusion (true class, predicted class) that are kept; 0 for all.",
        minimum=0,
    )
    pair_from: str = option_field(
        default="centre",
        help="The predicted class of a confusion: of the first model's centre crop, or of the most confident "
        "crop of any model.",
        choices=PAIR_FROM,
    )
    keep_first: str = option_field(
        default="least-true",
        help="The candidates of a confusion that are kept: lowest confidence in the true class, or highest "
        "confidence in the predicted class. Equal ones by id.",
        choices=KEEP_FIRST,
    )
    duplicate_bits: int = option_field(
        default=6,
        help="Bits of 64 in which the perceptual hashes of near-duplicates differ at most, up to 7. They are "
        "listed, not dropped.",
        minimum=0,
    )
    duplicate_cosine: float = option_field(
        default=0.9,
        help="Least cosine of the features of near-duplicates: what the last layer of the first filter model "
        "receives, minus the mean of the candidates. 0 compares no features.",
        metavar="COSINE",
    )
    hierarchy: str | Path | None = option_field(
        default=None,
        help="A CSV file with the columns child and parent, or WordNet's wordnet.is_a.txt: classes above or "
        "below each other are listed.",
        metavar="FILE",
        path="file",
    )
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    include: Sequence[str | Path] = same_field(RunOptions, "include")


@options_record
class OodOptions(Options):
    """The options of `curate ood`."""

    min_confidence: float = option_field(
        default=0.5,
        help="Keep a candidate if the highest softmax probability of the centre crop is at least this, by "
        "every model.",
        metavar="SHARE",
    )
    classes: str | Path | None = option_field(
        default=None,
        help="The classes that compete for the confidence: a file with a class name or WordNet id in every "
        "line. All other classes of the models stay in distribution. Default: all outputs.",
        metavar="FILE",
        path="file",
    )
    hierarchy: str | Path | None = option_field(
        default=None,
        help="A CSV file with the columns child and parent, or WordNet's wordnet.is_a.txt: candidates of "
        "classes above or below an in-distribution class are dropped.",
        metavar="FILE",
        path="file",
    )
    duplicate_bits: int = same_field(HardOptions, "duplicate_bits")
    duplicate_cosine: float = same_field(HardOptions, "duplicate_cosine")
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    include: Sequence[str | Path] = same_field(RunOptions, "include")


@options_record
class TransferOptions(Options):
    """The options of `curate transfer`."""

    seed: int = option_field(default=0, help="Seed of the random candidates.")
    workers: int | None = same_field(RunOptions, "workers")
    executor: str | None = same_field(RunOptions, "executor")
    address: str | None = same_field(RunOptions, "address")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
