"""The options of correlating benchmarks over many models, and of effective robustness."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.options.record import Options, option_field, options_record, same_field
from windtunnel.options.run import RunOptions

AXES = ("logit", "probit")


@options_record
class PredictivityOptions(Options):
    """The options of `predictivity`."""

    synthetic: Sequence[str] = option_field(
        default=(),
        help="A benchmark that is to predict: columns or corruptions separated by commas, a suite, or a CSV "
        "file with the columns benchmark,corruption; default: the corruptions of each table or suite.",
        metavar="COLUMNS|SUITE|FILE.csv",
        path="maybe",
    )
    natural: Sequence[str] = option_field(
        default=(),
        help="Columns to be predicted, separated by commas; default: columns named after natural sets.",
        metavar="COLUMNS",
    )
    clean: str | None = option_field(
        default=None,
        help="The column of clean accuracies; default: recognised by its name. `none` correlates errors.",
        metavar="COLUMN",
    )
    unit: Sequence[str] = option_field(
        default=(),
        help="The unit of accuracies in CSV files, fraction by default, or of one column as in fog=percent.",
        metavar="fraction|percent",
    )
    by: str | None = option_field(
        default=None,
        help="Resample families of models: a column of the table, or `prefix` for the letters of a name.",
        metavar="COLUMN",
    )
    scores: Sequence[str] = option_field(
        default=(),
        flag_name="score",
        help="A score used in place of a drop: a metric of the runs (mfr), or a column as in mFR:lower.",
        metavar="METRIC|COLUMN:lower",
    )
    ignore: Sequence[str] = option_field(
        default=(), help="A column of a CSV file to leave out.", metavar="COLUMN"
    )
    exclude: Sequence[str] = option_field(
        default=(), help="Leave out models whose name matches a pattern such as 'debug*'.", metavar="PATTERN"
    )
    seed: int = option_field(default=0, help="Seed of the bootstrap and of permutations.")
    out: str | Path | None = option_field(
        default=None, help="Write a page with plots.", metavar="FILE.html", path="file"
    )
    include: Sequence[str | Path] = same_field(RunOptions, "include")


@options_record
class EffectiveRobustnessOptions(Options):
    """The options of `effective_robustness`."""

    shifted: Sequence[str] = option_field(
        default=(),
        help="The column of shifted accuracies, or a corruption or suite whose conditions are averaged; "
        "default: every natural set.",
        metavar="COLUMN",
    )
    clean: str | None = option_field(
        default=None,
        help="The column of clean accuracies; default: recognised by its name.",
        metavar="COLUMN",
    )
    axis: str = option_field(default="logit", help="The scale of both accuracies.", choices=AXES)
    pieces: int = option_field(
        default=0,
        help="1 fits a line, 2 two continuous pieces; 0 fits two for sets that a network filtered.",
        minimum=0,
    )
    breakpoint: str | None = option_field(
        default=None,
        help="Clean accuracy at which the second piece begins, as a fraction; default: estimated.",
        metavar="FRACTION",
    )
    reference: Sequence[str] = option_field(
        default=(),
        help="Models that are fitted, by a pattern of names; default: all but networks that filtered it.",
        metavar="PATTERN",
    )
    unit: Sequence[str] = same_field(PredictivityOptions, "unit")
    by: str | None = same_field(PredictivityOptions, "by")
    ignore: Sequence[str] = same_field(PredictivityOptions, "ignore")
    exclude: Sequence[str] = same_field(PredictivityOptions, "exclude")
    seed: int = option_field(default=0, help="Seed of the bootstrap.")
    out: str | Path | None = same_field(PredictivityOptions, "out")
    include: Sequence[str | Path] = same_field(RunOptions, "include")
