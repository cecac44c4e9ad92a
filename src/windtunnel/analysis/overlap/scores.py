"""The overlapping score of two corruptions, with its interval (Laugros et al. 2021).

R(m, c) is the accuracy of model m on corruption c, divided by its accuracy on clean images. The gain of
training is g(m, c) = R(m, c) - R(standard, c). With m1 and m2 trained on c1 and c2, the score is

    O(c1, c2) = max(0, (g(m1, c2) / g(m2, c2) + g(m2, c1) / g(m1, c1)) / 2)

It is 1 for equal effects and 0 for none; values above 1 are possible and kept. A corruption on which its own
training gains nothing has no usable denominator: its scores are undefined.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.overlap.accuracies import COLUMNS as ACCURACY_COLUMNS
from windtunnel.analysis.overlap.accuracies import Accuracies
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.core.wording import counted, listed
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.stats.bootstrap import replicated_means
from windtunnel.stats.intervals import CONFIDENCE

Ratio = Literal["clean", "raw"]
RATIOS: tuple[Ratio, ...] = ("clean", "raw")
# The smallest gain of a corruption's own training that is used as a denominator.
MINIMUM_GAIN = 0.02
REPLICATES = 1000
# Predictions that are resampled together: drawing images takes longest, and few parts draw seldom.
MOST_NUMBERS = 8_000_000
COLUMNS = ("candidate", "other", "overlap", "low", "high")
SCHEMA = 1
# The largest difference of a score in both orders of its pair, for files with rounded numbers.
SAME_SCORE = 1e-3
# Candidates and pairs that a note lists by name.
MOST_LISTED = 6

Rows = tuple[tuple[float | None, ...], ...]


class OwnGain(Record, frozen=True):
    """How much a model gains on the corruption that it was trained on.

    Attributes:
        candidate: the corruption.
        gain: g(m, c) of its own model, with its interval.
        why_undefined: why its overlaps are undefined; "" if they are defined.
    """

    candidate: str
    gain: float
    low: float
    high: float
    why_undefined: str = ""


class OverlapMatrix(Record, frozen=True):
    """The overlapping scores of all pairs of candidates.

    Attributes:
        candidates: the corruptions, in the order of rows and columns.
        scores, low, high: the scores and their intervals; None where they are undefined.
        ratio: `clean` if accuracies are divided by the model's clean accuracy, `raw` if not; "" if unknown.
        seeds: the seeds of the trainings.
        images: the smallest number of test images of a cell.
        own_gains: the denominators, by candidate; empty if they are unknown.
        minimum_gain: the smallest gain that was used as a denominator.
        confidence: confidence level of the intervals.
        notes: notes for the reader.
    """

    candidates: tuple[str, ...]
    scores: Rows
    low: Rows
    high: Rows
    ratio: str = ""
    seeds: tuple[int, ...] = ()
    images: int = 0
    own_gains: tuple[OwnGain, ...] = ()
    minimum_gain: float = MINIMUM_GAIN
    confidence: float = CONFIDENCE
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> NDArray[np.float64]:
        """The scores, (candidates, candidates); NaN where they are undefined."""
        return np.array(self.scores, np.float64)

    @property
    def defined(self) -> tuple[str, ...]:
        """The candidates whose overlaps are defined."""
        return tuple(
            name for name, own in zip(self.candidates, self.values.diagonal(), strict=True) if own == own
        )

    @property
    def undefined(self) -> tuple[str, ...]:
        """The candidates whose overlaps are undefined."""
        return tuple(name for name in self.candidates if name not in self.defined)

    def to_json_text(self) -> str:
        """The text of `overlap.json`."""
        content = {"schema": SCHEMA, **self.to_json()}
        return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"

    def to_csv(self) -> str:
        """The text of `overlap.csv`: one row per ordered pair; undefined scores are empty."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row, first in enumerate(self.candidates):
            for column, second in enumerate(self.candidates):
                values = (part[row][column] for part in (self.scores, self.low, self.high))
                writer.writerow((first, second, *("" if value is None else repr(value) for value in values)))
        return text.getvalue()


def overlap_matrix(
    accuracies: Accuracies,
    *,
    ratio: Ratio = "clean",
    minimum_gain: float = MINIMUM_GAIN,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> OverlapMatrix:
    """The overlapping scores of all pairs of candidates.

    A model's R is averaged over its seeds. Intervals are percentiles of bootstrap replicates over seeds and
    images. A candidate is undefined if the interval of its own gain is not above 0, or if that gain is below
    `minimum_gain`.
    """
    return _scored(accuracies, ratio, minimum_gain, replicates, seed)[0]


def replicated_overlaps(
    accuracies: Accuracies,
    *,
    ratio: Ratio = "clean",
    minimum_gain: float = MINIMUM_GAIN,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Bootstrap replicates of the matrix, (replicates, candidates, candidates).

    A replicate draws seeds for each model, and images for all models together. A candidate that is undefined
    in the matrix is NaN in every replicate; others are NaN in replicates without a gain of their own.
    """
    return _scored(accuracies, ratio, minimum_gain, replicates, seed)[1]


def overlaps_of(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores of gains, (..., trained on, tested on); NaN where a denominator is not positive."""
    own = np.diagonal(gains, axis1=-2, axis2=-1)
    shares = gains / np.where(own > 0, own, np.nan)[..., None, :]
    return np.maximum(0.0, (shares + np.swapaxes(shares, -1, -2)) / 2)


def gains_of(accuracy: NDArray[np.float64], ratio: Ratio) -> NDArray[np.float64]:
    """Gains over the standard model, (..., trained on, tested on) without `clean`; averaged over seeds.

    `accuracy` is (..., seeds, 1 + trained on, 1 + tested on).
    """
    return _gains(_relative(accuracy, ratio).mean(axis=-3))


def read_overlap(path: str | Path) -> OverlapMatrix:
    """Read `overlap.json` or `overlap.csv`; a CSV file has the scores and intervals only."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"No such matrix: {path}. Give overlap.json or overlap.csv of a study.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not text.strip():
            raise UserError(f"{path} is empty; give overlap.json or overlap.csv of a study.")
        matrix = _read_csv(text, path) if path.suffix.lower() == ".csv" else _read_json(text)
        _check_scores(matrix)
        return matrix
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not a text file; give overlap.json or overlap.csv of a study, or accuracies.csv."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is not a matrix of overlapping scores ({error}); give overlap.json or overlap.csv of a "
            "study."
        ) from error


def _scored(
    accuracies: Accuracies, ratio: Ratio, minimum_gain: float, replicates: int, seed: int
) -> tuple[OverlapMatrix, NDArray[np.float64]]:
    """The matrix, and its replicates."""
    _check(accuracies, ratio, minimum_gain)
    gains = gains_of(accuracies.accuracy, ratio)
    drawn = _replicated_gains(accuracies, ratio, replicates, seed)
    drawn_own = np.diagonal(drawn, axis1=-2, axis2=-1)
    own_gains = tuple(
        _own_gain(name, float(gains[number, number]), drawn_own[:, number], minimum_gain)
        for number, name in enumerate(accuracies.candidates)
    )
    usable = np.array([not own.why_undefined for own in own_gains])
    both_usable = usable[:, None] & usable
    scores = np.where(both_usable, overlaps_of(gains), np.nan)
    drawn_scores = np.where(both_usable, overlaps_of(drawn), np.nan)
    low, high = _percentiles(drawn_scores)
    matrix = OverlapMatrix(
        candidates=accuracies.candidates,
        scores=_rows(scores),
        low=_rows(low),
        high=_rows(high),
        ratio=ratio,
        seeds=accuracies.seeds,
        images=int(accuracies.images.min()),
        own_gains=own_gains,
        minimum_gain=minimum_gain,
        notes=tuple(_notes(accuracies, ratio, scores, own_gains)),
    )
    return matrix, drawn_scores


def _check(accuracies: Accuracies, ratio: str, minimum_gain: float) -> None:
    if ratio not in RATIOS:
        raise UserError(f"{option('ratio')} is '{ratio}'; give {' or '.join(RATIOS)}.")
    if not 0 < minimum_gain < math.inf:
        raise UserError(f"minimum_gain is {minimum_gain}; give a number above 0, such as 0.02.")
    if ratio == "clean" and not accuracies.accuracy[:, :, 0].all():
        number, row = np.argwhere(accuracies.accuracy[:, :, 0] == 0)[0]
        raise UserError(
            f"The model trained on {accuracies.names[row]} with seed {accuracies.seeds[number]} has a clean "
            f"accuracy of 0, so that accuracies cannot be divided by it; use {option('ratio', 'raw')}."
        )


def _relative(accuracy: NDArray[np.float64], ratio: Ratio) -> NDArray[np.float64]:
    """R(m, c): the accuracy divided by the same model's clean accuracy, or the accuracy itself."""
    if ratio == "raw":
        return accuracy
    clean = accuracy[..., :1]
    return accuracy / np.where(clean > 0, clean, np.nan)


def _gains(relative: NDArray[np.float64]) -> NDArray[np.float64]:
    gains: NDArray[np.float64] = relative[..., 1:, 1:] - relative[..., :1, 1:]
    return gains


def _replicated_gains(
    accuracies: Accuracies, ratio: Ratio, replicates: int, seed: int
) -> NDArray[np.float64]:
    """Gains in bootstrap replicates, (replicates, trained on, tested on).

    Each model's seeds are drawn with replacement, one fewer than there are: the variance of a mean of n - 1
    draws has the expected value of that of n seeds.
    """
    relative = _relative(_replicated_accuracies(accuracies, replicates, seed), ratio)
    seeds, models = relative.shape[1:3]
    drawn = max(1, seeds - 1)
    rng = np.random.default_rng([seed, 1])
    times = rng.multinomial(drawn, np.full(seeds, 1 / seeds), size=(replicates, models))
    return _gains(np.einsum("bms,bsmc->bmc", times / drawn, relative))


def _replicated_accuracies(accuracies: Accuracies, replicates: int, seed: int) -> NDArray[np.float64]:
    """Accuracies on images drawn with replacement, (replicates, seeds, trained on, tested on).

    All cells have the same images, which are drawn for all together. Without predictions, the number of
    correct images of every cell is drawn from a binomial distribution.
    """
    shape = (replicates, *accuracies.accuracy.shape)
    if accuracies.correct is None:
        rng = np.random.default_rng([seed, 2])
        return rng.binomial(accuracies.images, accuracies.accuracy, size=shape) / accuracies.images
    drawn = np.empty(shape)
    cells = drawn.reshape(replicates, -1)
    correct = accuracies.correct.reshape(cells.shape[1], -1)
    count = max(1, MOST_NUMBERS // correct.shape[1])
    for first in range(0, len(correct), count):
        columns = correct[first : first + count].T.astype(np.float64)
        means = replicated_means(columns, seed=seed, replicates=replicates)
        cells[:, first : first + count] = np.concatenate(list(means))
    return drawn


def _own_gain(candidate: str, gain: float, replicates: NDArray[np.float64], minimum_gain: float) -> OwnGain:
    low, high = (float(limit) for limit in _percentiles(replicates))
    why = ""
    if not low > 0:
        where = "includes 0" if high >= 0 else "is below 0"
        why = f"the interval of its own gain, {low:.3f} to {high:.3f}, {where}"
    elif gain < minimum_gain:
        why = f"its own gain, {gain:.3f}, is below {minimum_gain:g}"
    return OwnGain(candidate, gain, low, high, why)


def _percentiles(replicates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The limits of the interval over the first axis, without replicates that are undefined."""
    flat = replicates.reshape(len(replicates), -1)
    limits = np.full((2, flat.shape[1]), np.nan)
    defined = np.isfinite(flat).any(axis=0)
    tail = (1 - CONFIDENCE) / 2
    limits[:, defined] = np.nanquantile(flat[:, defined], (tail, 1 - tail), axis=0)
    return limits.reshape(2, *replicates.shape[1:])


def _notes(
    accuracies: Accuracies, ratio: Ratio, scores: NDArray[np.float64], own_gains: Sequence[OwnGain]
) -> Iterator[str]:
    known = CORRUPTIONS.names()
    if unknown := [name for name in accuracies.candidates if name.partition(":")[0] not in known]:
        yield (
            f"Not a corruption of windtunnel: {listed(unknown, MOST_LISTED)}. Runs and suites cannot have "
            f"{'it' if len(unknown) == 1 else 'them'}; if a name is misspelt, correct it in the table."
        )
    if ratio == "raw":
        yield "The scores are those of plain accuracies, not divided by clean accuracy (ratio raw)."
    fewest, most = int(accuracies.images.min()), int(accuracies.images.max())
    if fewest != most:
        yield f"The cells have different numbers of images, from {fewest:,} to {most:,}."
    if undefined := [f"{own.candidate} ({own.why_undefined})" for own in own_gains if own.why_undefined]:
        shown = "; ".join(undefined[:MOST_LISTED]) + _more(undefined)
        yield f"The overlaps of {counted(len(undefined), 'candidate')} are undefined: {shown}."
    rows, columns = np.nonzero(np.triu(scores > 1, 1))
    above = [
        f"{accuracies.candidates[row]} and {accuracies.candidates[column]} ({scores[row, column]:.2f})"
        for row, column in zip(rows, columns, strict=True)
    ]
    if above:
        yield (
            f"{counted(len(above), 'pair overlaps', 'pairs overlap')} above 1, training on one helping more "
            f"against the other than its own training: {listed(above, MOST_LISTED)}."
        )
    if len(accuracies.seeds) == 1:
        yield "One seed: the intervals do not include the variance between trainings."
    if accuracies.correct is None:
        yield (
            "Only accuracies are known, not the predictions: the intervals treat the images of every cell as "
            "drawn independently."
        )


def _more(names: Sequence[str]) -> str:
    left = len(names) - MOST_LISTED
    return f"; and {left} more (own_gains in the JSON)" if left > 0 else ""


def _rows(values: NDArray[np.float64]) -> Rows:
    return tuple(tuple(float(value) if math.isfinite(value) else None for value in row) for row in values)


def _check_scores(matrix: OverlapMatrix) -> None:
    """Refuse scores that are missing, negative, infinite or not symmetric; undefined candidates have none."""
    places = [matrix.candidates.index(name) for name in matrix.defined]
    scores = matrix.values[np.ix_(places, places)]
    valid = np.isfinite(scores) & (scores >= 0) & np.isclose(scores, scores.T, rtol=0, atol=SAME_SCORE)
    if not valid.all():
        row, column = np.argwhere(~valid)[0]
        first, second = matrix.defined[row], matrix.defined[column]
        raise RecordError(
            f"the score of {first} and {second} is {scores[row, column]:g}, that of {second} and {first} is "
            f"{scores[column, row]:g}; both are the same number of at least 0"
        )


def _read_json(text: str) -> OverlapMatrix:
    content: dict[str, Any] = msgspec.json.decode(text)
    version = content.pop("schema")
    if version != SCHEMA:
        raise RecordError(f"schema {version}; this windtunnel reads schema {SCHEMA}")
    matrix = read_record(content, OverlapMatrix)
    size = len(matrix.candidates)
    for part in (matrix.scores, matrix.low, matrix.high):
        if len(part) != size or any(len(row) != size for row in part):
            raise RecordError(f"the rows do not fit {counted(size, 'candidate')}")
    return matrix


def _read_csv(text: str, path: Path) -> OverlapMatrix:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if lacking := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
        raise UserError(
            f"{path} lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}; give "
            f"overlap.csv of a study ({', '.join(COLUMNS)}), or a table of accuracies "
            f"({', '.join(ACCURACY_COLUMNS)})."
        )
    rows = list(reader)
    cells = {(row["candidate"], row["other"]): row for row in rows}
    candidates = tuple(dict.fromkeys(row["candidate"] for row in rows))
    if len(cells) != len(rows) or len(cells) != len(candidates) ** 2 or not rows:
        raise UserError(f"{path} needs one row for every ordered pair of candidates.")

    def part(column: str) -> Rows:
        return tuple(
            tuple(float(text) if (text := cells[first, second][column]) else None for second in candidates)
            for first in candidates
        )

    return OverlapMatrix(candidates, part("overlap"), part("low"), part("high"))
