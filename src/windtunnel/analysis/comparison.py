"""Comparison of runs: scores side by side, differences with confidence intervals, and flipped images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.pairing import Joined, Key, join_runs, open_runs, why_different_benchmarks
from windtunnel.analysis.plausibility import implausible_runs
from windtunnel.analysis.relative_error import against_first
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import metric_of
from windtunnel.core.scores import Score
from windtunnel.metrics.comparability import arithmetic_note, why_outputs_differ
from windtunnel.metrics.families import FAMILY_ERROR
from windtunnel.metrics.headlines import natural_head
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure
from windtunnel.stats.multiple_tests import SIGNIFICANT, holm
from windtunnel.stats.paired import Difference, no_difference, paired_difference, unpaired_difference
from windtunnel.stats.ranks import Rank, rank_models

# Candidates for the headline score, by which models are ranked; the first available one is used.
HEADLINES: tuple[Key, ...] = (
    ("mce", ""),
    ("mean_error", ""),
    ("mfr", ""),
    ("mfp", ""),
    ("top1_error", "clean"),
    ("top1_error", "native"),
    ("mpc", ""),
    ("ap", "clean"),
)
# Metrics of a single condition: errors and AP for corruptions, flips for sequences.
PER_CONDITION = ("top1_error", "flip_probability", "ap")


@dataclass(frozen=True)
class Column:
    """One run as a column of the comparison: its model, settings and rank."""

    run: str
    model: str
    family: str
    parameters: int
    tags: tuple[str, ...]
    trained_with: tuple[str, ...]
    recipe: str
    made_by: str
    rank: Rank | None


@dataclass(frozen=True)
class Change:
    """One score of one run against the first run's.

    Attributes:
        metric, condition: which score.
        other: index of the run among those compared, 1 for the second.
        difference: new - old.
        holm_p: p adjusted over all conditions of that run and metric; p itself for scores over several.
    """

    metric: str
    condition: str
    other: int
    difference: Difference
    holm_p: float


@dataclass(frozen=True)
class Flips:
    """Images that one run predicts incorrectly and the first run correctly, and the reverse.

    Attributes:
        other: index of the run.
        conditions: by condition, the number of images (broken, repaired): now wrong, now correct.
        images: id, conditions broken, conditions repaired; flipped images only, the most broken first.
    """

    other: int
    conditions: dict[str, tuple[int, int]]
    images: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Comparison:
    """Several runs compared with the first.

    Attributes:
        columns: the runs.
        headline: the score that orders the models.
        images: number of images compared; for runs that cannot be paired, that of the smallest run.
        unpaired_because: why images could not be paired, or "".
        scores: by metric and condition, one score per run, all over the same images if paired.
        against_first: by run, corruption errors or flips of sequences normalised by the first run's.
        changes: every shared score of every other run against the first.
        flips: per other run; empty where images could not be paired.
        warnings: warnings for the reader.
    """

    columns: tuple[Column, ...]
    headline: Key
    images: int
    unpaired_because: str
    scores: dict[Key, tuple[Score, ...]]
    against_first: dict[int, Score]
    changes: tuple[Change, ...]
    flips: tuple[Flips, ...]
    warnings: tuple[str, ...]

    def by_condition(self, other: int = 1) -> list[Change]:
        """Change of every condition's top-1 error (flip probability for sequences) from the first run."""
        return [change for change in self.changes if change.other == other and change.metric in PER_CONDITION]

    def changed(self, other: int = 1) -> list[Change]:
        """Conditions that changed significantly (Holm over all conditions of a metric), the worst first."""
        significant = [change for change in self.by_condition(other) if change.holm_p <= SIGNIFICANT]
        return sorted(significant, key=lambda change: -change.difference.value)


def compare(*runs: ScoredRun | str | Path) -> Comparison:
    """Compare runs with the first of them.

    Args:
        runs: run folders or runs, two or more, over the same data.

    Returns:
        Scores side by side, differences with intervals, changed conditions, flipped images, warnings.

    Raises:
        UserError: a folder is no finished run, or the runs are of different benchmarks, or share no image or
            no score.
    """
    opened = open_runs(runs)
    if why := why_different_benchmarks(opened):
        raise UserError(
            f"{opened[0].path} and {opened[-1].path} cannot be compared: {why}. Use `windtunnel report` to "
            "show them side by side."
        )
    joined = join_runs(opened)
    scores: dict[Key, tuple[Score, ...]] = {
        key: tuple(
            measures[key].score(run.digest)
            for run, measures in zip(joined.runs, joined.measures, strict=True)
        )
        for key in joined.measures[0]
    }
    others = range(1, len(joined.runs))
    ratios = {other: against_first(joined, other) for other in others}
    shifted = [part.name for part in joined.runs[0].parts if part.role == "shifted"]
    usual = next((key for key in HEADLINES if key in scores), next(iter(scores)))
    headline = natural_head(scores, shifted) or usual
    return Comparison(
        _columns(joined, headline),
        headline,
        min(len(rows) for rows in joined.rows),
        joined.unpaired_because,
        scores,
        {
            other: measure.score(joined.runs[other].digest)
            for other, (measure, _) in ratios.items()
            if measure
        },
        tuple(change for other in others for change in _changes(joined, other)),
        tuple(_flips(joined, other) for other in others) if joined.paired else (),
        (*_warnings(joined, scores), *_undivided({other: why for other, (_, why) in ratios.items()}, joined)),
    )


def _columns(joined: Joined, headline: Key) -> tuple[Column, ...]:
    ranks: Sequence[Rank | None] = [None] * len(joined.runs)
    if joined.paired and len(joined.runs) > 2:
        metric = metric_of(headline[0])
        ranks = rank_models(
            [measures[headline] for measures in joined.measures],
            lower_is_better=metric is None or metric.direction != "higher",
        )
    return tuple(
        Column(
            str(run.path),
            model.name,
            model.family,
            model.parameters,
            model.tags,
            model.trained_with,
            run.digest,
            _made_by(run),
            rank,
        )
        for run, rank in zip(joined.runs, ranks, strict=True)
        for model in [run.info.model]
    )


def _made_by(run: ScoredRun) -> str:
    """Settings of a run as text: suite, images, seed, codec, preprocessing, competing outputs."""
    recipe = run.recipe
    codecs = (
        ", ".join(dict.fromkeys(condition.codec for condition in run.conditions if condition.unit)) or "none"
    )
    counted = "all outputs" if recipe.projection.projection.counts_all else "masked or mapped outputs"
    return (
        f"{run.info.suite}, {recipe.data.count:,} of {recipe.data.of:,} images, "
        f"seed {recipe.seed}, codec {codecs}, preprocessing {run.info.model.preprocess_from}, {counted}"
    )


def _changes(joined: Joined, other: int) -> list[Change]:
    """Change of every shared score from the first run; p is adjusted over the conditions of each metric."""
    differences: dict[Key, Difference] = {}
    for key, old in joined.measures[0].items():
        new = joined.measures[other][key]
        if joined.paired:
            known = no_difference() if joined.same_model(other) and _equal(old, new) else None
            differences[key] = paired_difference(old, new, estimate=known)
        else:
            differences[key] = unpaired_difference(old, new)
    adjusted: dict[Key, float] = {}
    for metric in {metric for metric, _ in differences}:
        keys = [key for key in differences if key[0] == metric and key[1]]
        adjusted |= dict(zip(keys, holm([differences[key].p for key in keys]), strict=True))
    return [
        Change(*key, other, difference, adjusted.get(key, difference.p))
        for key, difference in differences.items()
    ]


def _equal(old: Measure, new: Measure) -> bool:
    return bool(np.array_equal(old.columns, new.columns, equal_nan=old.columns.dtype.kind == "f"))


def _flips(joined: Joined, other: int) -> Flips:
    parts = [part.name for part in joined.runs[0].parts]
    names = [name for name in (*joined.conditions, *parts) if ("top1_error", name) in joined.measures[0]]
    broken, repaired = {}, {}
    for name in names:
        old, new = (_wrong(joined, place, name) for place in (0, other))
        broken[name], repaired[name] = new & ~old, old & ~new
    by_image = [
        np.sum([flipped[name] for name in names], axis=0) if names else np.zeros(len(joined.images))
        for flipped in (broken, repaired)
    ]
    listed = sorted(
        (
            (id_, int(lost), int(won))
            for id_, lost, won in zip(joined.images, *by_image, strict=True)
            if lost or won
        ),
        key=lambda row: (-row[1], -row[2], row[0]),
    )
    counts = {name: (int(broken[name].sum()), int(repaired[name].sum())) for name in names}
    return Flips(other, counts, tuple(listed))


def _wrong(joined: Joined, place: int, condition: str) -> NDArray[np.bool_]:
    """Which of the shared images a run predicts incorrectly under a condition, or in a part."""
    measure = joined.measures[place]["top1_error", condition]
    wrong = np.zeros(len(joined.images), bool)
    wrong[slice(None) if measure.rows is None else measure.rows] = measure.columns[:, 0]
    return wrong


def _warnings(joined: Joined, scores: dict[Key, tuple[Score, ...]]) -> list[str]:
    lines = implausible_runs(joined.runs)
    if joined.unpaired_because:
        lines.append(
            f"Not paired: {joined.unpaired_because}. Differences use each run's own images and have wider "
            "confidence intervals; flips are not available."
        )
    else:
        most = max(run.recipe.data.count for run in joined.runs)
        if len(joined.images) < most:
            lines.append(
                f"{most - len(joined.images):,} of {most:,} images are left out: they differ between runs, "
                "or a run could not score them."
            )
    lines += [f"{run.info.model.name}: {caveat}." for run in joined.runs for caveat in caveats(run)]
    if note := arithmetic_note(joined.runs):
        lines.append(note)
    if why := why_outputs_differ(joined.runs):
        lines.append(f"Predictions are not over the same classes in all runs: {why}.")
    clean = next((key for key in (("top1_error", "clean"), ("top1_error", "native")) if key in scores), None)
    if clean is not None:
        first = scores[clean][0]
        for place, score in enumerate(scores[clean][1:], start=1):
            if score.low > first.high or score.high < first.low:
                names = [run.info.model.name for run in (joined.runs[0], joined.runs[place])]
                lines.append(
                    f"{clean[1].capitalize()} errors are not comparable: {names[0]} "
                    f"{100 * first.value:.1f} %, {names[1]} {100 * score.value:.1f} %, and their intervals "
                    f"do not overlap. Do not compare the drops {_shift(joined)}; compare the errors "
                    "themselves."
                )
    return [*lines, *_not_compared(joined.not_shared)]


def _shift(joined: Joined) -> str:
    """Name of the shift that clean errors are compared with."""
    return "on shifted images" if joined.runs[0].natural else "under corruptions"


def _undivided(reasons: dict[int, tuple[str, ...]], joined: Joined) -> list[str]:
    """Why errors or flips are not normalised by the first run's, each reason once."""
    every = list(dict.fromkeys(reason for run_reasons in reasons.values() for reason in run_reasons))
    if not every:
        return []
    more = f"; {len(every) - 1} more reasons like this" if len(every) > 1 else ""
    base = joined.runs[0].info.model.name
    return [f"No scores normalised by {base}: {every[0]}{more}."]


def _not_compared(not_shared: Mapping[Key, str]) -> list[str]:
    """The scores that are not compared, a line for every reason; families have lines of their own."""
    reasons: dict[str, list[str]] = {}
    families: dict[str, list[str]] = {}
    for (metric, condition), why in not_shared.items():
        if metric == FAMILY_ERROR:
            families.setdefault(why, []).append(condition)
        else:
            reasons.setdefault(why, []).append(" ".join(filter(None, (condition, metric))))
    return [
        *(f"Families not compared ({why}): {', '.join(names)}." for why, names in families.items()),
        *(
            f"Not compared ({why}): {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}."
            for why, names in reasons.items()
        ),
    ]
